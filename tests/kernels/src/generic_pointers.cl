// Functions that take generic pointers, called with global, local and private memory (flat instructions).
// options: -cl-std=CL2.0
// min-target: gfx700
__attribute__((noinline)) uint sum_of(const uint* values, uint count) {
    uint sum = 0;
    for (uint i = 0; i < count; ++i) sum = sum * 31 + values[i];
    return sum;
}

__attribute__((noinline)) void fill(uint* values, uint count, uint seed) {
    for (uint i = 0; i < count; ++i) values[i] = seed + i * i;
}

kernel void generic_pointers(global const uint* in, global uint* out) {
    local uint shared[64 * 4];
    uint mine[4];
    uint lane = get_local_id(0), i = get_global_id(0);
    fill(mine, 4, i);
    fill(shared + lane * 4, 4, lane);
    fill(out + i * 4, 4, 7 * i);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint other = (lane + 1) % get_local_size(0);
    const uint* chosen = (i & 1) ? (const uint*)(shared + other * 4) : (const uint*)(in + i * 4);
    if (i % 3 == 0) chosen = mine;
    out[i * 4] = sum_of(chosen, 4) + sum_of(mine, 3);
}
