// Counts of the top 6 bits of each key by global atomics; many lanes meet in the same counter.
kernel void histogram_global(uint n, global const uint* keys, global uint* bins) {
    uint i = get_global_id(0);
    if (i < n) atomic_inc(&bins[keys[i] >> 26]);
}
