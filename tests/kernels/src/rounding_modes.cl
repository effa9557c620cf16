// The four rounding modes of single and double precision, set through MODE around one instruction each.
#define IN_MODE(round, op, result, x, y)                                                                     \
    __asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), " round "\n\t" op " %0, %1, %2\n\t"         \
                   "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0"                                          \
                   : "=v"(result) : "v"(x), "v"(y))
#define IN_ALL_MODES(op, result, x, y)    \
    IN_MODE("0", op, (result)[0], x, y);  \
    IN_MODE("5", op, (result)[1], x, y);  \
    IN_MODE("10", op, (result)[2], x, y); \
    IN_MODE("15", op, (result)[3], x, y)

kernel void rounding_modes(global const float* a, global const float* b, global const double* c,
                           global const double* d, global float* singles, global double* doubles) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i], single[8];
    double u = c[i], v = d[i], twice[8];
    IN_ALL_MODES("v_add_f32", single, x, y);
    IN_ALL_MODES("v_mul_f32", single + 4, x, y);
    IN_ALL_MODES("v_add_f64", twice, u, v);
    IN_ALL_MODES("v_mul_f64", twice + 4, u, v);
    for (int k = 0; k < 8; ++k) {
        singles[8 * i + k] = single[k];
        doubles[8 * i + k] = twice[k];
    }
}
