// Work-items take tasks of very different length from a shared counter until none is left.
kernel void work_queue(uint tasks, global uint* next, global const uint* lengths, global uint* results) {
    for (uint task = atomic_inc(next); task < tasks; task = atomic_inc(next)) {
        uint value = task;
        for (uint k = 0; k < lengths[task]; ++k) value = value * 1664525u + 1013904223u;
        results[task] = value;
    }
}
