// A permutation both ways: gathered by its table, and scattered by it.
kernel void permute(global const uint* table, global const float* in, global float* gathered, global float* scattered) {
    size_t i = get_global_id(0);
    uint at = table[i];
    gathered[i] = in[at];
    scattered[at] = in[i];
}
