// Hough transform: pixels on an edge, of which there are few, vote for the lines that they may lie on, and remember the one
// that is farthest from the corner.
kernel void hough_votes(uint width, uint angles, global const uchar* image, global const int2* directions,
                        global uint* votes, global int* farthest) {
    uint id = get_global_id(0);
    int x = id % width, y = id / width, far = -1;
    if (image[id] >= 230) {
        for (uint a = 0; a < angles; ++a) {
            int distance = (x * directions[a].x + y * directions[a].y) >> 8;
            atomic_inc(&votes[a * 128 + (distance & 127)]);
            far = max(far, distance);
        }
    }
    farthest[id] = far;
}
