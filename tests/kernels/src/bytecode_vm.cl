// A stack machine: every work-item interprets one of several programs on its own input. The stack is in scratch at -O0, in
// registers indexed at run time above.
enum { HALT, PUSH, ADD, SUB, MUL, DUP, SWAP, OVER, JUMP_NONZERO, MOD, DROP };

kernel void bytecode_vm(uint limit, global const uchar* programs, global const uint* inputs, global uint* out) {
    size_t id = get_global_id(0);
    global const uchar* code = programs + id % 4 * 32;
    uint stack[8], top = 0, pc = 0, steps = 0;
    stack[0] = inputs[id];
    for (; steps < limit; ++steps) {
        uchar op = code[pc++];
        if (op == HALT) break;
        uint a = stack[top & 7];
        switch (op) {
            case PUSH: stack[++top & 7] = code[pc++]; break;
            case ADD: stack[--top & 7] += a; break;
            case SUB: stack[--top & 7] -= a; break;
            case MUL: stack[--top & 7] *= a; break;
            case DUP: stack[++top & 7] = a; break;
            case SWAP:
                stack[top & 7] = stack[(top - 1) & 7];
                stack[(top - 1) & 7] = a;
                break;
            case OVER:
                a = stack[(top - 1) & 7];
                stack[++top & 7] = a;
                break;
            case JUMP_NONZERO:
                --top;
                pc = a ? code[pc] : pc + 1;
                break;
            case MOD:
                --top;
                if (a) stack[top & 7] %= a;
                break;
            case DROP: --top; break;
        }
    }
    out[2 * id] = stack[top & 7];
    out[2 * id + 1] = steps;
}
