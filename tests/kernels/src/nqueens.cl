// Counts the ways to finish placing 8 queens: each work-item has the first three rows given, and a mask of columns
// forbidden in the last row. Backtracking with its own stack.
#define SIZE 8
#define GIVEN 3
kernel void nqueens(global const uint* forbidden, global uint* count) {
    uint id = get_global_id(0), start = id % (SIZE * SIZE * SIZE);
    uint columns = 0, left = 0, right = 0, ways = 0;
    for (int row = 0; row < GIVEN; ++row, start /= SIZE) {
        uint queen = 1u << start % SIZE;
        if (queen & (columns | left | right)) {
            count[id] = 0;
            return;
        }
        columns |= queen;
        left = (left | queen) << 1;
        right = (right | queen) >> 1;
    }
    const uint all = (1u << SIZE) - 1, blocked = forbidden[id / (SIZE * SIZE * SIZE)];
    uint free_at[SIZE], columns_at[SIZE], left_at[SIZE], right_at[SIZE];
    int row = GIVEN;
    free_at[row] = all & ~(columns | left | right);
    columns_at[row] = columns;
    left_at[row] = left;
    right_at[row] = right;
    while (row >= GIVEN) {
        if (free_at[row] == 0) {
            --row;
            continue;
        }
        uint queen = free_at[row] & (0 - free_at[row]);
        free_at[row] ^= queen;
        columns = columns_at[row] | queen;
        left = (left_at[row] | queen) << 1;
        right = (right_at[row] | queen) >> 1;
        if (row == SIZE - 1) {
            ++ways;
            continue;
        }
        ++row;
        free_at[row] = all & ~(columns | left | right);
        if (row == SIZE - 1) free_at[row] &= ~blocked;
        columns_at[row] = columns;
        left_at[row] = left;
        right_at[row] = right;
    }
    count[id] = ways;
}
