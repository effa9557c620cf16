// Every work-item writes the runs of equal bytes in a row of its own, each as a length of up to 255 and the byte.
kernel void run_lengths(uint rows, uint bytes, global const uchar* in, global uchar* out, global uint* runs) {
    int row = get_global_id(0);
    if (row >= (int)rows) return;
    int at = row * bytes, end = at + bytes, to = at * 2;
    while (at < end) {
        uchar c = in[at];
        int length = 1;
        while (at + length < end && length < 255 && in[at + length] == c) ++length;
        out[to++] = length;
        out[to++] = c;
        at += length;
    }
    runs[row] = (to - row * bytes * 2) / 2;
}
