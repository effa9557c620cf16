// Loads and stores of texels of linear RGBA8 images whose descriptors are made by hand, in inline assembly.
// A workgroup copies 64 x 4 texels to an aligned place in `work`, reads them as an image, and writes a second one.
#define WIDTH 64
#define HEIGHT 4
#define TEXELS (WIDTH * HEIGHT)
#if defined(__gfx900__) || defined(__gfx906__)
#define LINEAR 0u /* swizzle mode */
#else
#define LINEAR 8u /* tiling index "linear aligned" */
#endif

// The descriptor goes to s[40:47]; words 5 to 7 are zero. s_nop: wait states from a VALU write of an SGPR to its use.
#define TO_SGPRS                                                                     \
    "v_readfirstlane_b32 s40, %[d0]\n\tv_readfirstlane_b32 s41, %[d1]\n\t"           \
    "v_readfirstlane_b32 s42, %[d2]\n\tv_readfirstlane_b32 s43, %[d3]\n\t"           \
    "v_readfirstlane_b32 s44, %[d4]\n\ts_mov_b32 s45, 0\n\ts_mov_b64 s[46:47], 0\n\ts_nop 4\n\t"
#define DESCRIPTOR(d) [d0] "v"((d).s0), [d1] "v"((d).s1), [d2] "v"((d).s2), [d3] "v"((d).s3), [d4] "v"((d).s4)
#define SGPRS "s40", "s41", "s42", "s43", "s44", "s45", "s46", "s47"

uint8 descriptor(ulong address) {
    return (uint8)((uint)(address >> 8), (uint)(address >> 40) & 0xff | 10u << 20 | 4u << 26 /* 8 8 8 8, uint */,
                   WIDTH - 1 | (HEIGHT - 1) << 14, 0xfac | LINEAR << 20 | 9u << 28 /* x y z w, 2D */,
                   (WIDTH - 1) << 13 /* pitch */, 0, 0, 0);
}

kernel __attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1))) void image_ops(global const uint* in,
                                                                              global uint* channels,
                                                                              global uint* stored,
                                                                              global uint* work) {
    uint x = get_local_id(0), y = get_local_id(1), group = get_group_id(1);
    uint at = y * WIDTH + x, i = group * TEXELS + at;
    ulong base = ((ulong)(work + group * (2 * TEXELS + 64)) + 255) & ~255ul;
    global uint* source = (global uint*)base;
    source[at] = in[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
    uint2 place = (uint2)(WIDTH - 1 - x, y ^ 1);
    uint4 texel;
    uint8 from = descriptor(base), to = descriptor(base + TEXELS * 4);
    __asm volatile(TO_SGPRS "image_load %[r], %[a], s[40:47] dmask:0xf unorm\n\ts_waitcnt vmcnt(0)"
                   : [r] "=v"(texel) : [a] "v"(place), DESCRIPTOR(from) : SGPRS, "memory");
    for (uint c = 0; c < 4; ++c) channels[4 * i + c] = texel[c];
    place = (uint2)(x, y);
    texel = texel.wzyx;
    __asm volatile(TO_SGPRS "image_store %[v], %[a], s[40:47] dmask:0xf unorm glc\n\ts_waitcnt vmcnt(0)"
                   : : [v] "v"(texel), [a] "v"(place), DESCRIPTOR(to) : SGPRS, "memory");
    barrier(CLK_GLOBAL_MEM_FENCE);
    stored[i] = source[TEXELS + at];
}
