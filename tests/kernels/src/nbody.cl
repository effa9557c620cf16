// One time step of n gravitating bodies (xyz = position, w = mass), tiles of positions in dynamic LDS.
kernel void nbody(uint n, float dt, float softening, global const float4* position, global const float4* velocity,
                  global float4* new_position, global float4* new_velocity, local float4* tile) {
    uint i = get_global_id(0), lane = get_local_id(0), width = get_local_size(0);
    float4 me = position[i];
    float3 force = (float3)(0.0f);
    for (uint base = 0; base < n; base += width) {
        tile[lane] = position[base + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < width; ++j) {
            float3 d = tile[j].xyz - me.xyz;
            float inverse = rsqrt(dot(d, d) + softening);
            force += d * (tile[j].w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float4 v = velocity[i];
    v.xyz += force * dt;
    me.xyz += v.xyz * dt;
    new_velocity[i] = v;
    new_position[i] = me;
}
