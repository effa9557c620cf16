// MD5 of one message of up to 55 bytes per work-item; messages are 64-byte records, lengths are separate.
constant uint sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constant uint shifts[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

kernel void md5(uint n, global const uchar* messages, global const uint* lengths, global uint4* digests) {
    uint id = get_global_id(0);
    if (id >= n) return;
    uint length = lengths[id];
    union {
        uchar bytes[64];
        uint words[16];
    } block;
    for (uint i = 0; i < 64; ++i) block.bytes[i] = i < length ? messages[id * 64 + i] : (i == length ? 0x80 : 0);
    block.words[14] = length * 8;
    uint4 state = (uint4)(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
    uint a = state.x, b = state.y, c = state.z, d = state.w;
    for (uint i = 0; i < 64; ++i) {
        uint f, g;
        if (i < 16) {
            f = (b & c) | (~b & d);
            g = i;
        } else if (i < 32) {
            f = (d & b) | (~d & c);
            g = (5 * i + 1) & 15;
        } else if (i < 48) {
            f = b ^ c ^ d;
            g = (3 * i + 5) & 15;
        } else {
            f = c ^ (b | ~d);
            g = (7 * i) & 15;
        }
        uint rotated = rotate(a + f + sines[i] + block.words[g], shifts[(i >> 4) * 4 + (i & 3)]);
        a = d;
        d = c;
        c = b;
        b += rotated;
    }
    digests[id] = state + (uint4)(a, b, c, d);
}
