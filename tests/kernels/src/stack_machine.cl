// A stack machine that takes as many steps as it is told: programs differ from work-item to work-item, and nobody is done sooner than
// others. The stack is in scratch at -O0, in registers chosen by comparisons above.
enum { PUSH, ADD, MULTIPLY, COPY, SWAP, XOR, SKIP_IF_ODD, TAKE };

kernel void stack_machine(uint steps, global const uint* programs, global const uint* inputs, global uint* out) {
    size_t id = get_global_id(0);
    global const uint* code = programs + id % 7 * 32;
    uint stack[16], top = 3, pc = 0, taken = inputs[id];
    for (int i = 0; i < 16; ++i) stack[i] = taken + i;
    for (uint n = 0; n < steps; ++n) {
        uint word = code[pc++ & 31], operand = word >> 8;
        switch (word & 255) {
            case PUSH: stack[++top & 15] = operand; break;
            case ADD: --top; stack[top & 15] += stack[(top + 1) & 15]; break;
            case MULTIPLY: --top; stack[top & 15] *= stack[(top + 1) & 15]; break;
            case COPY: ++top; stack[top & 15] = stack[(top - 1) & 15]; break;
            case SWAP: {
                uint a = stack[top & 15];
                stack[top & 15] = stack[(top - 1) & 15];
                stack[(top - 1) & 15] = a;
                break;
            }
            case XOR: stack[top & 15] ^= operand; break;
            case SKIP_IF_ODD: pc += stack[top & 15] & 1 ? operand : 0; break;
            case TAKE: taken += stack[top-- & 15]; break;
        }
    }
    out[2 * id] = taken;
    out[2 * id + 1] = top << 16 | (stack[top & 15] & 0xffff);
}
