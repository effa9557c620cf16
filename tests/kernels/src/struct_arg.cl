// A structure passed by value, with members of every size and padding between them.
typedef struct {
    char tag;
    short delta;
    int scale;
    float weights[3];
    long bias;
    uchar table[5];
} Parameters;

kernel void struct_arg(uchar flag, Parameters p, short step, global const int* in, global int* out, float4 offset) {
    uint i = get_global_id(0);
    int v = in[i] * p.scale + p.delta * step + p.tag;
    v += (int)(p.bias >> (i & 31)) + p.table[i % 5];
    v += (int)(p.weights[i % 3] * 16.0f) + (int)offset.z;
    out[i] = flag ? v : -v;
}
