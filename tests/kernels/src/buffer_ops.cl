// Buffer descriptors made by hand: range checks, structured addressing, small and typed access, in inline assembly.
#define FORMAT_32_FLOAT 0x00027facu      /* destination x y z w, number format 7, data format 4 */
#define FORMAT_8_8_8_8_UNORM 0x00050facu /* number format 0, data format 10 */

// The descriptor is moved to s[40:43] here, as at -O0 it lives in VGPRs; s_nop gives the five wait states that a VALU
// write of an SGPR needs before a buffer instruction reads it.
#define DESCRIPTOR(d) [d0] "v"((d).x), [d1] "v"((d).y), [d2] "v"((d).z), [d3] "v"((d).w)
#define TO_SGPRS                                                                     \
    "v_readfirstlane_b32 s40, %[d0]\n\tv_readfirstlane_b32 s41, %[d1]\n\t"           \
    "v_readfirstlane_b32 s42, %[d2]\n\tv_readfirstlane_b32 s43, %[d3]\n\ts_nop 4\n\t"
#define LOAD(op, result, address, d, rest)                                           \
    __asm volatile(TO_SGPRS op " %[r], %[a], s[40:43], " rest "\n\ts_waitcnt vmcnt(0)" \
                   : [r] "=v"(result) : [a] "v"(address), DESCRIPTOR(d) : "s40", "s41", "s42", "s43")
#define STORE(op, value, address, d, rest)                                           \
    __asm volatile(TO_SGPRS op " %[v], %[a], s[40:43], " rest "\n\ts_waitcnt vmcnt(0)" \
                   : : [v] "v"(value), [a] "v"(address), DESCRIPTOR(d) : "s40", "s41", "s42", "s43", "memory")

uint4 descriptor(global const void* base, uint stride, uint records, uint format) {
    ulong address = (ulong)base;
    return (uint4)((uint)address, (uint)(address >> 32) & 0xffff | stride << 16, records, format);
}

kernel void buffer_ops(uint words, global const uint* in, global uint* out, global uint* limited,
                       global float4* pixels, global uint* packed) {
    uint i = get_global_id(0), r;
    uint4 raw = descriptor(in, 0, words * 4, FORMAT_32_FLOAT);
    LOAD("buffer_load_dword", r, i * 12, raw, "0 offen");
    out[5 * i] = r;
    LOAD("buffer_load_ubyte", r, i, raw, "0 offen offset:3");
    out[5 * i + 1] = r;
    LOAD("buffer_load_sshort", r, i * 2, raw, "0 offen offset:2");
    out[5 * i + 2] = r;
    uint4 pairs = descriptor(in, 8, words * 4, FORMAT_32_FLOAT);
    LOAD("buffer_load_dword", r, i % (words / 2), pairs, "0 idxen offset:4");
    out[5 * i + 3] = r;
    uint2 place = (uint2)(i % (words / 2), (i & 1) * 4);
    LOAD("buffer_load_dword", r, place, pairs, "0 idxen offen");
    out[5 * i + 4] = r;

    uint4 short_of = descriptor(limited, 0, 400, FORMAT_32_FLOAT);
    STORE("buffer_store_dword", i, i * 4, short_of, "0 offen");

    uint4 colors = descriptor(in, 4, words * 4, FORMAT_8_8_8_8_UNORM);
    float4 color;
    LOAD("buffer_load_format_xyzw", color, i % words, colors, "0 idxen");
    pixels[i] = color;
    uint4 target = descriptor(packed, 4, get_global_size(0) * 4, FORMAT_8_8_8_8_UNORM);
    color = color.wzyx * 1.5f - 0.25f;
    STORE("buffer_store_format_xyzw", color, i, target, "0 idxen");
}
