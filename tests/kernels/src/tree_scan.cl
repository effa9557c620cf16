// Exclusive prefix sum within each workgroup, two elements a work-item, up and down a tree in LDS (Blelloch): at each
// level half as many work-items take part as at the one before, with elements twice as far apart. Where a work-item
// does not take part, its elements would lie far behind the LDS.
kernel void tree_scan(uint n, global uint* data, global uint* totals, local uint* tree) {
    uint id = get_local_id(0), width = get_local_size(0);
    uint left = get_group_id(0) * 2 * width + id, right = left + width;
    tree[id] = left < n ? data[left] : 0;
    tree[id + width] = right < n ? data[right] : 0;
    uint distance = 1;
    for (uint active = width; active > 0; active >>= 1, distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id < active) {
            uint at = (2 * id + 1) * distance - 1;
            tree[at + distance] += tree[at];
        }
    }
    if (id == 0) {
        totals[get_group_id(0)] = tree[2 * width - 1];
        tree[2 * width - 1] = 0;
    }
    for (uint active = 1; active <= width; active *= 2) {
        distance >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id < active) {
            uint at = (2 * id + 1) * distance - 1;
            uint sum = tree[at];
            tree[at] = tree[at + distance];
            tree[at + distance] += sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (left < n) data[left] = tree[id];
    if (right < n) data[right] = tree[id + width];
}
