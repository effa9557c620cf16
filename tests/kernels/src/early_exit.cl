// Nested loops with break, continue and early returns, each lane on a path of its own.
kernel void early_exit(uint n, uint limit, global const uint* in, global uint* out) {
    uint i = get_global_id(0);
    if (i >= n) return;
    uint v = in[i], steps = 0, primes = 0;
    if (v == 0) {
        out[i] = 0xdeadu;
        return;
    }
    for (uint x = v; x != 1; ++steps) {  // Collatz
        if (steps == limit) {
            out[i] = 0xbeefu;
            return;
        }
        x = (x & 1) ? 3 * x + 1 : x >> 1;
    }
    for (uint p = 2; p < (v & 63); ++p) {
        bool composite = false;
        for (uint d = 2; d * d <= p; ++d) {
            if (p % d) continue;
            composite = true;
            break;
        }
        if (composite) continue;
        if (++primes > 12) break;
    }
    out[i] = steps << 8 | primes;
}
