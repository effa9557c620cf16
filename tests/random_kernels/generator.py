"""Random OpenCL C kernels that are free of races and of undefined behaviour: make(seed, kind) writes one."""
import json
import math

from control import Control
from core import BYTES, FLOATS, INTS, Array, Core, Var, size_of, split, vector
from local import Local
from meeting import Meeting
from memory import Memory
from walks import Walks
from waves import Waves

OPS = {'+': 6, '-': 4, '*': 4, '&': 3, '|': 2, '^': 4, '<<': 2, '>>': 3, '~': 1, '?': 3, '<': 1, 'field': 2, 'convert': 4,
       'min': 1, 'max': 1, 'clamp': 1, 'rotate': 1, 'mul_hi': .7, 'abs_diff': .5, 'abs': .4, 'hadd': .3, 'rhadd': .2, 'clz': .4,
       'popcount': .4, 'bitselect': .5, 'add_sat': .5, 'sub_sat': .5, 'mad_hi': .3, 'mad_sat': .2, 'mul24': .4, 'mad24': .4,
       'product': .5, '/': .5, '%': .7, 'float': .3, 'call': 1}
FLOAT_OPS = {'+': 6, '-': 5, '*': 6, '/': 1, 'fma': 1, 'mad': 1, 'fmin': 2, 'fmax': 2, 'fabs': 1, 'neg': 1, 'floor': .5, 'ceil': .4,
             'trunc': .4, 'rint': .4, 'clamp': .7, 'mix': .5, '?': 2, 'convert': 3, 'bits': .5, 'copysign': .3, 'native': .5,
             'fn': .4, 'ldexp': .3, 'dot': .6, 'step': .2, 'fmod': .05, 'pow': .05, 'atan2': .05, 'hypot': .1, 'fdim': .1,
             'nextafter': .1, 'smoothstep': .1, 'maxmag': .1}
VECTOR_OPS = {'+': 5, '-': 3, '*': 3, '&': 2, '|': 2, '^': 3, '<<': 1, '>>': 2, '/': .2, '%': .2, 'min': 1, 'max': 1, 'add_sat': .7,
              'sub_sat': .7, 'mul_hi': .6, 'rotate': .5, 'hadd': .4, 'bitselect': .5, '~': .6, '<': 1.5, '?': 1, 'build': 1.5,
              'swizzle': 2, 'halves': 1, 'load': 2, 'convert': 2}

# What each kind writes. All kinds write a bit of everything in one of three kernels, since faults come from features that meet.
CONTROL = {'assign': 6, 'compound': 3, 'if': 5, 'for': 5, 'while': 2, 'leave': 3, 'switch': 1.5, 'select': 1, 'store': 2}
PRIVATE = {'array': 3, 'store': 5, 'loop_over': 3, 'pointer': 1.5, 'move': 1.5, 'swap': 1.5, 'struct': 1, 'union': 1, 'bits': 1, 'copy': 1.5}
LDS = {'lds_write': 5, 'lds_one': 1.5, 'lds_atomic': 1.5, 'lds_reduce': 1, 'lds_scan': 1, 'lds_sort': 1, 'lds_tile': 2}
WALKS = {'stencil': 3, 'row': 3, 'stride': 1, 'search': 1}
EVERYTHING = {**CONTROL, **PRIVATE, **LDS, **WALKS, 'call': 1, 'atomic': 1, 'row_of_stores': 1, 'store': 5}

SMALL = ('char', 'uchar', 'short', 'ushort')
WIDE = ('int', 'uint', 'long', 'ulong')
KINDS = {
    'control': dict(statements=CONTROL, types=INTS, about='nested divergent loops, breaks, early returns, switches'),
    'divide': dict(statements=CONTROL, types=WIDE + ('int', 'uint'), ops={'/': 8, '%': 8}, about='divisions and modulos by all sorts of things'),
    'bits': dict(statements=CONTROL, types=INTS + ('ulong', 'long'),
                 ops={'<<': 6, '>>': 6, 'rotate': 4, 'mul_hi': 3, 'mad_hi': 2, 'clz': 2, 'popcount': 2, 'bitselect': 3, 'add_sat': 4,
                      'sub_sat': 4, 'mad_sat': 2, 'product': 4, 'field': 6, 'mul24': 2, 'mad24': 2, 'hadd': 2, 'rhadd': 2},
                 about='64-bit products, shifts, rotations, saturation'),
    'float': dict(statements={**CONTROL, **{k: v * .3 for k, v in WALKS.items()}}, types=('float', 'float', 'double', 'int', 'uint'),
                  about='arithmetic of floats with branches on it'),
    'half': dict(statements=CONTROL, types=('half', 'half', 'float', 'short', 'ushort'), about='16-bit floats'),
    'convert': dict(statements=CONTROL, types=INTS + FLOATS, ops={'convert': 12}, float_ops={'convert': 10, 'bits': 5},
                    about='conversions between all types, NaN, infinite and denormal numbers'),
    'private': dict(statements={**CONTROL, **{k: 2 * v for k, v in PRIVATE.items()}}, types=INTS + ('uint', 'float'),
                    about='arrays, structures, unions of a work-item, indexed at run time'),
    'lds': dict(statements={**CONTROL, **{k: 2 * v for k, v in LDS.items()}}, types=INTS + ('uint', 'float'), lds=1,
                about='local memory between barriers: tiles, scans, reductions, sorts'),
    'stencil': dict(statements={**CONTROL, 'stencil': 12}, types=INTS + ('uint', 'float', 'float'), grid=2, about='neighbours with border guards of many forms'),
    'rows': dict(statements={**CONTROL, 'row': 10, 'stride': 3, 'search': 2}, types=INTS + ('uint', 'float'), long=True,
                 about='walks along rows, of known and unknown ends'),
    'bytes': dict(statements={**CONTROL, 'store': 10, 'row_of_stores': 4, 'copy': 3, 'row': 2, 'array': 1}, types=SMALL + ('uchar', 'uint'),
                  about='bytes and half-words next to each other, in ifs; records'),
    'vectors': dict(statements={**CONTROL, 'store': 6, 'array': 2, 'row_of_stores': 2}, types=INTS, vectors=True, about='vectors of 2, 3, 4, 8, 16'),
    'atomics': dict(statements={**CONTROL, 'atomic': 8, 'lds_atomic': 4, 'lds_write': 1}, types=WIDE, lds=.5, about='atomics without results'),
    'calls': dict(statements={**CONTROL, 'call': 10, 'array': 2, 'pointer': 2}, types=INTS + ('uint',), functions=3, about='functions, also not inlined, with arrays by pointer'),
    'waves': dict(statements={**CONTROL, 'look': 6, 'wave_sum': 2, 'waterfall': 3, 'group_sum': 2, 'ticket': 2}, types=WIDE + ('uint', 'uint'), lds=.5, std='CL2.0',
                  about='lanes that look at one another, in ifs and loops; sums over waves and workgroups'),
    'tickets': dict(statements={**CONTROL, 'ticket': 8, 'lds_write': 1}, types=WIDE + ('uint', 'uint'), lds=.5, about='atomics whose results are used'),
    'shared': dict(statements={**CONTROL, **{k: 2 * v for k, v in LDS.items()}}, types=INTS + ('uint', 'float'), lds=1, shared=True,
                   about='global memory that workgroups share between barriers, beside the LDS'),
    'machines': dict(statements={**CONTROL, 'machine': 5, 'goto': 3, 'pointed_call': 2, 'recursion': 2, 'array': 2}, types=INTS + ('uint', 'float'), std='CL2.0', volatile=.3,
                     about='state machines, gotos, function pointers, recursion, volatile arrays'),
    'meeting': dict(statements={**CONTROL, 'meet': 8, 'meet_move': 4, 'meet_range': 3, 'look': 1, 'ticket': .5}, types=INTS + ('uint', 'float'), meets=True,
                    about='lanes of a wave that store where others load and store'),
    'any': dict(statements=EVERYTHING, types=INTS + ('uint', 'float', 'double', 'half'), lds=.5, mixed=1, about='everything'),
}

BLOCKS = {1: ((64,), (64,), (128,), (256,), (32,), (16,), (8,), (4,), (2,), (1,), (3,), (37,), (100,), (96,), (192,)),
          2: ((8, 8), (8, 8), (16, 16), (32, 2), (4, 16), (8, 3), (5, 7), (16, 4), (64, 2), (32, 8), (4, 4), (16, 2), (2, 32), (8, 16), (4, 32), (33, 3), (1, 64)),
          3: ((4, 4, 4), (8, 4, 2), (3, 5, 2), (16, 2, 2), (2, 2, 2), (8, 8, 2), (4, 8, 2), (8, 2, 8), (1, 8, 8))}


class Generator(Control, Memory, Local, Walks, Waves, Meeting, Core):
    """One kernel of a kind."""

    def __init__(self, seed, kind):
        super().__init__(seed, kind)
        spec = KINDS[kind]
        self.spec = spec
        self.functions, self.counters, self.locals, self.constants = [], [], [], []
        self.meetings = []
        self.shared, self.tickets_ready = spec.get('shared', False), None
        self.options['std'] = spec.get('std', self.options['std'])
        self.mixed = spec.get('mixed') or self.chance(.33)
        self.weights = {'ops': {**OPS, **spec.get('ops', {})}, 'float_ops': {**FLOAT_OPS, **spec.get('float_ops', {})},
                        'vector_ops': VECTOR_OPS, 'statements': dict(spec['statements'])}
        if self.mixed:
            for statement, weight in EVERYTHING.items():
                self.weights['statements'].setdefault(statement, weight * .5)
        self.barriers = self.chance(spec.get('lds', .4 if self.mixed else 0))
        self.most_trips, self.budget = 64, 0
        self.choose_types()
        self.choose_grid()

    def choose_types(self):
        types = [self.rng.choice(self.spec['types']) for _ in range(self.rng.randrange(2, 5))]
        if self.mixed and self.chance(.5):
            types.append(self.rng.choice(INTS + FLOATS))
        self.options['floats'] = not self.chance(.3)
        if self.spec.get('vectors') or self.mixed and self.chance(.3):
            types += [vector(self.rng.choice(types), self.pick(2, 3, 4, 4, 8, 16)) for _ in range(2)]
        self.palette = types

    def storable(self):
        """Types all of whose bytes are stored: what is behind three elements might be anything."""
        return [t for t in self.palette if split(t)[1] != 3]

    def choose_grid(self):
        dimensions = self.weighted({1: 4, 2: 3, 3: 1}) if self.spec.get('grid') != 2 else self.pick(1, 2, 2, 3)
        whole = [b for b in BLOCKS[dimensions] if not self.spec.get('meets') or math.prod(b) <= 64]  # one wave
        block = self.rng.choice(whole)
        groups = [self.rng.choice((1, 1, 2, 3, 4, 5) if i == 0 else (1, 1, 2, 3)) for i in range(dimensions)]
        grid = [b * g for b, g in zip(block, groups)]
        while grid[0] * (grid[1] if dimensions > 1 else 1) * (grid[2] if dimensions > 2 else 1) > 900:
            i = grid.index(max(grid))
            grid[i] = max(block[i], grid[i] // 2 // block[i] * block[i])
            if grid == list(block):
                break
        self.partial = self.options['std'] == 'CL2.0' and self.chance(.35)
        if self.partial:
            grid[0] = max(1, grid[0] - self.rng.randrange(1, block[0] + 1) + (1 if block[0] == 1 else 0))
        self.shape = tuple(block) + (1,) * (3 - dimensions)
        self.grid = tuple(grid) + (1,) * (3 - dimensions)
        self.group = self.shape[0] * self.shape[1] * self.shape[2]
        self.items = self.grid[0] * self.grid[1] * self.grid[2]

    def make_inputs(self):
        for _ in range(self.rng.randrange(1, 4)):
            type_ = self.rng.choice(self.storable() or ['uint'])
            each = self.pick(1, 1, 2, 3, 4, 8, 16, 17) if not self.spec.get('long') else self.pick(1, 3, 4, 8, 16, 17, 32, 40)
            count = self.items * each + self.pick(0, 0, 0, 1, 7)
            if self.chance(.15):
                count = 1 << self.rng.randrange(4, 10)
            fill = self.pick('any', 'small', 'mixed', 'any') if split(type_)[0] not in FLOATS else self.pick('number', 'number', 'special')
            name = self.buffer('in', type_, count, fill, const=True)
            array = Array(type_, count, lambda i, name=name: f'{name}[{i}]', False, 'global ', name)
            self.inputs.append(array)

    def make_constant(self):
        base = self.rng.choice([split(t)[0] for t in self.palette])
        length = self.pick(4, 8, 16, 16, 64, 100, 256)
        name = self.name('c')
        values = ', '.join(self.float_literal(base) if base in FLOATS else self.literal(base) for _ in range(length))
        self.globals.append(f'constant {base} {name}[{length}] = {{{values}}};')
        self.constants.append(Array(base, length, lambda i: f'{name}[{i}]', False, 'constant'))

    def ids(self):
        """Where the work-item is."""
        type_ = self.pick('int', 'int', 'const int')
        for d, axis in enumerate('xyz'):
            self.line(f'{type_} l{axis} = get_local_id({d}), g{axis} = get_global_id({d});')
            self.add(Var(f'l{axis}', 'int')).bound = self.shape[d]
            self.add(Var(f'g{axis}', 'int')).bound = self.grid[d]
        sizes = [self.pick(f'(int)get_global_size({d})', self.number(self.grid[d])) for d in range(2)]
        if self.grid[1] == self.grid[2] == 1 and self.chance(.7):
            self.line(f'{type_} gid = {self.pick("gx", "get_global_id(0)")};')
        else:
            self.line(f'{type_} gid = (gz * {sizes[1]} + gy) * {sizes[0]} + gx;')
        sizes = [str(self.shape[d]) if self.partial else self.pick(f'(int)get_local_size({d})', self.number(self.shape[d])) for d in range(2)]
        self.line(f'{type_} lid = lx;' if self.shape[1] == self.shape[2] == 1 else f'{type_} lid = (lz * {sizes[1]} + ly) * {sizes[0]} + lx;')
        for _ in range(2):  # they are what most is addressed by
            self.add(Var('gid', 'int')).bound = self.items
            self.add(Var('lid', 'int')).bound = self.group

    def make(self):
        self.options['restrict'] = self.chance(.4)
        self.make_inputs()
        if self.chance(.3):
            self.make_constant()
        base_scope = list(self.constants)
        self.scope = [base_scope]
        for _ in range(self.spec.get('functions', 1 if self.mixed and self.chance(.5) else 0)):
            self.make_function()
        self.scope = [base_scope + self.inputs]
        self.depth = 1
        self.ids()
        for _ in range(self.rng.randrange(3)):
            type_ = self.rng.choice(INTS + ('float',) if self.options['floats'] and split(self.palette[0])[0] in FLOATS else WIDE)
            value = self.pick(self.rng.randrange(10), self.rng.randrange(1 << 7))
            self.add(Var(self.scalar_argument(value, type_), type_)).bound = value + 1
        for _ in range(self.rng.randrange(1, 4)):
            self.own_part(self.rng.choice(self.storable() or ['uint']), self.pick(1, 1, 2, 3, 4, 4, 8, 16, 24))
        if self.chance(.25):
            self.own_records()
        for _ in range(self.rng.randrange(2, 5)):
            type_ = self.rng.choice(self.palette)
            self.declare(type_, self.expr(type_, 2))
        if self.barriers:
            if 'ticket' in self.spec['statements']:
                self.make_tickets()
            self.local_arrays()
        if self.spec.get('meets'):
            self.meeting_arrays()
        self.budget = self.rng.randrange(6, 40)
        while self.budget > 0:
            self.statement()
        self.results()
        return self

    def results(self):
        """What variables are in the end."""
        variables = self.visible(Var, lambda v: v.lvalue)
        for i, var in enumerate(self.rng.sample(variables, min(len(variables), 5))):
            base, width = split(var.type)
            name = self.buffer('res', base if width == 3 else var.type, self.items * (3 if width == 3 else 1), 'zero')
            self.line(f'vstore3({var.text}, gid, {name});' if width == 3 else f'{name}[gid] = {var.text};')

    def text(self):
        """The kernel, behind a line that says how it is launched."""
        about = {'grid': self.grid, 'block': self.shape, 'args': [a for _, a in self.args], 'exact': self.exact,
                 'std': self.options['std'], 'data': self.seed}
        head = ['// case: ' + json.dumps(about), '#pragma OPENCL EXTENSION cl_khr_fp16 : enable',
                '#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable',
                '#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable',
                '#pragma OPENCL EXTENSION __cl_clang_bitfields : enable', '#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable', '']
        attribute = f'__attribute__((reqd_work_group_size{self.shape})) ' if self.chance(.2) and not self.partial else ''
        signature = f'{attribute}kernel void k({", ".join(d for d, _ in self.args)}) {{'
        return '\n'.join(head + self.globals + [signature] + self.lines + ['}']) + '\n'


def make(seed, kind):
    """The source of the kernel of this number and kind, always the same."""
    return Generator(seed, kind).make().text()
