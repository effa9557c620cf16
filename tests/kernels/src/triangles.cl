// Work-items that store along rows of their own, as long as they are below a diagonal, above another one, or between
// both: who stores are lanes side by side, and one fewer or more in each round.
kernel void triangles(uint n, global uint* words, global ushort* halves, global uchar* bytes, global float* outside) {
    local float tile[64 * 17];
    local ushort corner[64 * 19];
    uint id = get_global_id(0), lane = get_local_id(0);
    for (uint k = 0; k < 17; ++k) tile[lane * 17 + k] = (float)(lane + k);
    for (uint k = 0; k < 19; ++k) corner[lane * 19 + k] = (ushort)(lane * k);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < n; ++k) {
        float first = tile[k * 17];
        if (lane > k) {
            words[id * 21 + k] = id * k;
            tile[lane * 17 + (k & 15)] += first;
        }
        if (lane < k) halves[id * 23 + k] = (ushort)(id + k);
        if (lane >= k && lane < k + 5) bytes[id * 65 + k] = (uchar)(id ^ k);
        if ((lane ^ k) & 4) corner[lane * 19 + (k & 15)] += (ushort)k; // With gaps.
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float sum = 0;
    for (uint k = 0; k < 17; ++k) sum += tile[lane * 17 + k] * (float)(k + 1);
    for (uint k = 0; k < 19; ++k) sum += (float)corner[lane * 19 + k];
    outside[id] = sum;
}
