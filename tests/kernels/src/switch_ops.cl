// A switch with dense, sparse and fall-through cases, taken differently by every lane.
kernel void switch_ops(uint n, global const uint* op, global const int* a, global const int* b, global int* out) {
    uint i = get_global_id(0);
    if (i >= n) return;
    int x = a[i], y = b[i], r = 0;
    switch (op[i]) {
        case 0: r = x + y; break;
        case 1: r = x - y; break;
        case 2: r = x * y; break;
        case 3: r = x & y; break;
        case 4: r = x | y; break;
        case 5: r = x ^ y; break;
        case 6: r = x << (y & 31); break;
        case 7: r = x >> (y & 31); break;
        case 8: r = max(x, y); break;
        case 9: r = min(x, y); break;
        case 10: r = 1;  // falls through
        case 11: r += x; // falls through
        case 12: r += y; break;
        case 13:
            for (int k = 0; k < (y & 7); ++k) r = r * 3 + x;
            break;
        case 100: r = (int)abs(x); break;
        case 1000: r = mul_hi(x, y); break;
        case 100000: r = mad24(x & 0xffff, y & 0xffff, 7); break;
        default: r = -1;
    }
    out[i] = r;
}
