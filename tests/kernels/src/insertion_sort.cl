// Each work-item sorts 24 keys in a private array, which is indexed at run time and therefore lives in scratch.
#define COUNT 24
kernel void insertion_sort(uint n, global const int* in, global int* out) {
    uint id = get_global_id(0);
    if (id >= n) return;
    int keys[COUNT];
    for (uint i = 0; i < COUNT; ++i) {
        int key = in[id * COUNT + i];
        uint at = i;
        while (at > 0 && keys[at - 1] > key) {
            keys[at] = keys[at - 1];
            --at;
        }
        keys[at] = key;
    }
    for (uint i = 0; i < COUNT; ++i) out[id * COUNT + i] = keys[i];
}
