// One time step of heat in a box: 7-point stencil in three dimensions, the surface is copied.
kernel void heat3d(uint nx, uint ny, uint nz, float rate, global const float* in, global float* out) {
    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny || z >= nz) return;
    uint plane = nx * ny, i = z * plane + y * nx + x;
    float v = in[i];
    if (x > 0 && y > 0 && z > 0 && x + 1 < nx && y + 1 < ny && z + 1 < nz) {
        float around = (in[i - 1] + in[i + 1]) + (in[i - nx] + in[i + nx]) + (in[i - plane] + in[i + plane]);
        v = fma(rate, fma(-6.0f, v, around), v);
    }
    out[i] = v;
}
