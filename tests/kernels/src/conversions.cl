// Conversions among integer and floating types, with rounding and saturation, and half storage.
kernel void conversions(global const float* in, global int* ints, global float* floats, global uchar4* bytes,
                        global half* halves) {
    size_t i = get_global_id(0);
    float x = in[i];
    ints[6 * i + 0] = convert_int_rte(x);
    ints[6 * i + 1] = convert_int_rtp(x) ^ convert_int_rtn(x);
    ints[6 * i + 2] = convert_short_sat(x);
    ints[6 * i + 3] = (int)(uint)fabs(x);
    ints[6 * i + 4] = (int)convert_uchar_sat_rte(x);
    ints[6 * i + 5] = (int)(((long)(x * 65536.0f)) >> 8);
    uint bits = as_uint(x);
    uchar4 parts = as_uchar4(bits);
    floats[4 * i + 0] = (float)parts.x + (float)parts.y * 256.0f + (float)parts.z + (float)parts.w;
    floats[4 * i + 1] = (float)(int)bits;
    floats[4 * i + 2] = (float)bits;
    floats[4 * i + 3] = (float)((ulong)bits * bits);
    bytes[i] = convert_uchar4_sat((float4)(x, -x, x * 0.5f, 255.0f - x));
    vstore_half(x, i, halves);
}
