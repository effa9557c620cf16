// Counts of byte values: one histogram per workgroup by LDS atomics, then added to the result by global atomics.
#define BINS 256
kernel void histogram_lds(uint n, global const uchar* in, global uint* bins) {
    local uint mine[BINS];
    for (uint b = get_local_id(0); b < BINS; b += get_local_size(0)) mine[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = get_local_id(0); b < BINS; b += get_local_size(0))
        if (mine[b]) atomic_add(&bins[b], mine[b]);
}
