// One level of a breadth-first search: unvisited neighbours of the frontier get the next level, and are counted.
#define UNVISITED 0xffffffffu
kernel void bfs_step(uint nodes, uint level, global const uint* edge_start, global const uint* edges,
                     global uint* levels, global uint* discovered) {
    uint node = get_global_id(0);
    if (node >= nodes || levels[node] != level) return;
    for (uint e = edge_start[node]; e < edge_start[node + 1]; ++e)
        if (atomic_cmpxchg(&levels[edges[e]], UNVISITED, level + 1) == UNVISITED) atomic_inc(discovered);
}
