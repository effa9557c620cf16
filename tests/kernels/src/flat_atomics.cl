// OpenCL 2.0 atomics through generic pointers, which may mean LDS in one lane and global memory in the next.
// options: -cl-std=CL2.0
// min-target: gfx700
__attribute__((noinline)) void add_to(volatile atomic_uint* counter, uint value) {
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed, memory_scope_device);
}

__attribute__((noinline)) void raise_to(volatile atomic_uint* peak, uint value) {
    uint seen = atomic_load_explicit(peak, memory_order_relaxed, memory_scope_device);
    while (seen < value && !atomic_compare_exchange_weak_explicit(peak, &seen, value, memory_order_acq_rel,
                                                                  memory_order_relaxed, memory_scope_device)) {
    }
}

kernel void flat_atomics(global const uint* in, global atomic_uint* totals) {
    local atomic_uint shared[2];
    uint lane = get_local_id(0), v = in[get_global_id(0)];
    if (lane < 2) atomic_store_explicit(&shared[lane], 0u, memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);
    volatile atomic_uint* counter = &totals[0];
    volatile atomic_uint* peak = &totals[1];
    if (v & 1) counter = &shared[0];
    if (v & 2) peak = &shared[1];
    add_to(counter, v >> 4);
    raise_to(peak, v);
    atomic_fetch_xor_explicit(&totals[4], v, memory_order_seq_cst, memory_scope_device);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane != 0) return;
    add_to(&totals[2], atomic_load_explicit(&shared[0], memory_order_acquire, memory_scope_work_group));
    raise_to(&totals[3], atomic_load_explicit(&shared[1], memory_order_acquire, memory_scope_work_group));
}
