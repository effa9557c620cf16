// Arithmetic on char and short vectors, with saturation and conversion.
kernel void small_vectors(global const char4* a, global const char4* b, global char4* bytes, global short4* shorts,
                          global uchar4* unsigneds) {
    size_t i = get_global_id(0);
    char4 x = a[i], y = b[i];
    short4 wide = convert_short4(x) * convert_short4(y);
    bytes[i] = add_sat(x, y) - (x & y) + (y >> (char4)(2)) * (char4)(3);
    shorts[i] = (wide + (short4)(100)) / (short4)(7) - (wide >> (short4)(3));
    unsigneds[i] = convert_uchar4_sat(wide) + as_uchar4(max(x, y));
}
