"""What a random kernel is made of: its text, its arguments, what is in scope, and expressions over that.

An expression of type T is a text whose type in C is exactly T. Nothing is undefined: numbers with a sign are added and
multiplied without it or where they cannot overflow, divisors are not 0, and every index is bounded.
"""
import contextlib
import random

INTS = ('char', 'uchar', 'short', 'ushort', 'int', 'uint', 'long', 'ulong')
FLOATS = ('half', 'float', 'double')
BYTES = {'char': 1, 'uchar': 1, 'short': 2, 'ushort': 2, 'half': 2, 'int': 4, 'uint': 4, 'float': 4,
         'long': 8, 'ulong': 8, 'double': 8}
LETTERS = 'xyzw'


def split(type_):
    """'uchar4' is ('uchar', 4), 'int' is ('int', 1)."""
    base = type_.rstrip('0123456789')
    return base, int(type_[len(base):] or 1)


def vector(base, width):
    return base if width == 1 else f'{base}{width}'


def size_of(type_):
    base, width = split(type_)
    return BYTES[base] * (4 if width == 3 else width)


def signed(base):
    return base in ('char', 'short', 'int', 'long')


def unsigned(base):
    return 'u' + base if signed(base) else base


def without_u(base):
    return base[1:] if base[0] == 'u' else base


def integer_like(base):
    """The unsigned integer as wide as `base`."""
    return {1: 'uchar', 2: 'ushort', 4: 'uint', 8: 'ulong'}[BYTES[base]]


class Var:
    """Something with a value of one type: a variable, a field. `text` has the type exactly; `lvalue` is None if it is
    not to be written."""

    def __init__(self, text, type_, lvalue=None):
        self.text, self.type, self.lvalue = text, type_, lvalue


class Array:
    """`length` elements, the i-th of which is `at(i)`. Of those that may be written no work-item sees another's.
    `pointer` leads to the first if they lie side by side."""

    def __init__(self, type_, length, at, writable, space, pointer=None):
        self.type, self.length, self.at, self.writable, self.space, self.pointer = \
            type_, length, at, writable, space, pointer
        self.buffer = None  # whose rows these are elements of


class Core:
    """Text, arguments, scopes, expressions."""

    def __init__(self, seed, kind):
        self.seed = seed
        self.rng = random.Random(f'{seed}:{kind}')
        self.lines, self.depth = [], 0
        self.globals = []        # text in front of the kernel
        self.args = []           # (declaration, how it is filled)
        self.scope = [[]]        # lists of Var and Array
        self.names = 0
        self.uniform = True      # all work-items of the workgroup are here
        self.trips = 1           # how often this place is reached at most
        self.inside = []         # 'loop' or 'switch', from outside to inside
        self.in_function = None  # the type that it returns
        self.exact = True        # no result depends on how floats are rounded
        self.inputs = []
        self.scalars = {}        # value of a scalar argument -> its name
        self.options = {'std': self.rng.choice(('CL1.2', 'CL1.2', 'CL2.0'))}

    # Choices.

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, *choices):
        return self.rng.choice(choices)

    def weighted(self, weights):
        """A key of `weights`."""
        return self.rng.choices(list(weights), list(weights.values()))[0]

    # Text.

    def name(self, prefix='v'):
        self.names += 1
        return f'{prefix}{self.names}'

    def line(self, text):
        self.lines.append('  ' * self.depth + text)

    @contextlib.contextmanager
    def block(self, head, end='}'):
        """What is written inside is in braces behind `head`, and a scope."""
        self.line(head + ' {')
        self.depth += 1
        self.scope.append([])
        saved = self.uniform, self.trips
        yield
        self.uniform, self.trips = saved
        self.scope.pop()
        self.depth -= 1
        self.line(end)

    # Scopes.

    def visible(self, what, test=lambda _: True):
        return [x for level in self.scope for x in level if isinstance(x, what) and test(x)]

    def add(self, thing):
        if isinstance(thing, Array) and thing.writable and not thing.space and BYTES[split(thing.type)[0]] == 1:
            self.exact = False  # clang 15 stores two bytes where it makes a vector of such an array
        self.scope[-1].append(thing)
        return thing

    def declare(self, type_, value, prefix='v'):
        name = self.name(prefix)
        self.line(f'{type_} {name} = {value};')
        return self.add(Var(name, type_, name))

    # Arguments.

    def scalar_argument(self, value, type_='int'):
        """The name of an argument that has this value."""
        if (value, type_) not in self.scalars:
            name = self.name('n')
            self.args.append((f'{type_} {name}', {'value': type_, 'of': value}))
            self.scalars[value, type_] = name
        return self.scalars[value, type_]

    def number(self, value):
        """An int that is `value`, as a constant or as an argument."""
        if self.in_function or not self.chance(.4):
            return str(value)
        return self.scalar_argument(value)

    def buffer(self, prefix, type_, count, fill, const=False):
        name = self.name(prefix)
        restrict = ' restrict' if self.options.get('restrict') else ''
        self.args.append((f'global {"const " if const else ""}{type_}*{restrict} {name}',
                          {'buffer': type_, 'count': count, 'fill': fill}))
        return name

    def group_buffer(self, prefix, type_, count, fill):
        """Where the workgroup's own `count` elements of a buffer begin."""
        x, y, z = (-(-g // b) for g, b in zip(self.grid, self.shape))
        name = self.buffer(prefix, type_, x * y * z * count, fill)
        return f'{name} + ((get_group_id(2) * {y} + get_group_id(1)) * {x} + get_group_id(0)) * {count}'

    # Integers.

    def literal(self, base):
        bits = 8 * BYTES[base]
        value = self.pick(self.rng.randrange(9), self.rng.randrange(256), 1 << self.rng.randrange(bits), -1, -2,
                          (1 << self.rng.randrange(1, bits)) - 1, self.rng.getrandbits(bits)) & ((1 << bits) - 1)
        if bits == 64:
            return f'(({base}){value:#x}UL)'
        return f'{value}u' if base == 'uint' else f'(({base}){value:#x}u)'

    def index(self, length, depth=1):
        """An int in [0, length)."""
        if length == 1:
            return '0'
        # Indices that are there: counters with a bound that is small enough.
        bounded = self.visible(Var, lambda v: getattr(v, 'bound', 1 << 40) <= length)
        if bounded and self.chance(.6):
            return f'(int){self.rng.choice(bounded).text}'
        ids = self.visible(Var, lambda v: getattr(v, 'bound', 0) > 0)
        form = self.rng.randrange(7)
        n = self.number(length)
        if ids and form < 4:
            var = self.rng.choice(ids)
            c = self.rng.randrange(1, length + 1)
            if form == 0:
                return f'(int)(({var.text} + {self.number(c)}) % {n})'
            if form == 1 and var.bound < 1 << 20:
                return f'clamp((int){var.text} * {self.pick(1, 1, 2, 3)} - {self.number(c)}, 0, (int){n} - 1)'
            if form == 2 and var.bound <= length:
                return f'({n} - 1 - (int){var.text})'
            return f'min((int){var.text}, {n} - 1)'
        if length & (length - 1) == 0 and form < 6:
            return f'(int)({self.expr(self.pick("uint", "int"), depth - 1)} & {length - 1})'
        return f'(int)({self.expr("uint", depth - 1)} % (uint){n})'

    def element(self, array, depth=1):
        return array.at(self.index(array.length, depth))

    def leaf(self, type_):
        """A variable, an element, a constant."""
        base, width = split(type_)
        exactly = self.visible(Var, lambda v: v.type == type_)
        if exactly and self.chance(.6):
            return self.rng.choice(exactly).text
        arrays = self.visible(Array, lambda a: split(a.type)[1] == width and (base in FLOATS) == (split(a.type)[0] in FLOATS))
        if arrays and self.chance(.35):
            array = self.rng.choice(arrays)
            return self.convert(self.element(array), array.type, type_)
        others = self.visible(Var, lambda v: split(v.type)[1] == width and v.type != type_)
        if others and self.chance(.6):
            var = self.rng.choice(others)
            if base not in FLOATS or split(var.type)[0] not in FLOATS or self.chance(.3):
                return self.convert(var.text, var.type, type_)
        if width > 1:
            if self.chance(.5):
                return f'(({type_})({self.leaf(base)}))'
            return f'(({type_})({", ".join(self.leaf(base) for _ in range(width))}))'
        vectors = self.visible(Var, lambda v: split(v.type)[0] == base and split(v.type)[1] > 1)
        if vectors and self.chance(.5):
            var = self.rng.choice(vectors)
            return f'{var.text}.s{self.rng.randrange(split(var.type)[1]):x}'
        return self.float_literal(base) if base in FLOATS else self.literal(base)

    def convert(self, text, from_, to):
        """`text`, of type `from_`, as `to`, of the same width."""
        if from_ == to:
            return text
        (base, width), to_base = split(from_), split(to)[0]
        if base in FLOATS and to_base in INTS:
            self.exact = False
            return f'convert_{to}_sat{self.pick("", "_rtz", "_rte", "_rtp", "_rtn")}({text})'
        if to_base in FLOATS:
            self.exact = False
            if BYTES[base] == BYTES[to_base] and base in INTS and self.chance(.1):
                return f'as_{to}({text})'
            if base in FLOATS and self.chance(.3):
                return f'convert_{to}{self.pick("", "_rtz", "_rte", "_rtp", "_rtn")}({text})'
        if BYTES[base] == BYTES[to_base] and base in INTS and to_base in INTS and self.chance(.3):
            return f'as_{to}({text})'
        if base in INTS and to_base in INTS and self.chance(.15):
            return f'convert_{to}_sat({text})'
        return f'convert_{to}({text})' if width > 1 or self.chance(.1) else f'(({to}){text})'

    def expr(self, type_, depth=2):
        base, width = split(type_)
        if depth <= 0 or self.chance(.12):
            return self.leaf(type_)
        if base in FLOATS:
            return self.float_expr(base, width, depth - 1)
        return self.vector_expr(base, width, depth - 1) if width > 1 else self.int_expr(base, depth - 1)

    def divisor(self, base, depth):
        """Neither 0 nor -1."""
        form = self.rng.randrange(6)
        most = 100 if BYTES[base] == 1 else 30000
        if form == 0 and not self.in_function:
            return f'(({base}){self.scalar_argument(self.rng.randrange(1, most))})'
        if form < 3:
            value = self.pick(self.rng.randrange(1, 20), self.rng.randrange(1, most), 1 << self.rng.randrange(6))
            return f'(({base}){-value if signed(base) and value > 1 and self.chance(.2) else value})'
        if signed(base):
            mask = self.pick(7, 63, most // 2 | 1)
            text = f'(({self.expr(base, depth)} & {mask}) | 1)'
            return f'(({base})({"-1 - " if self.chance(.2) else ""}{text}))'
        return f'(({base})({self.dividend(base, 1, depth)} | 1))'

    def dividend(self, base, width, depth):
        """Something that is divided. clang 15 takes numbers without a sign whose upper bits are all set for small ones and
        divides them as such, so that what it makes of them depends on what it knows."""
        t = vector(base, width)
        if signed(base):
            return self.expr(t, depth)
        if self.chance(.1):
            self.exact = False
            return self.expr(t, depth)
        top = (1 << (8 * BYTES[base] - 1)) - 1  # a shift clang joins with the division
        return f'(({t})({self.expr(t, depth)} & ({t}){top:#x}{"UL" if BYTES[base] == 8 else ""}))'

    def int_expr(self, t, depth):
        """A scalar integer."""
        wide = 'uint' if BYTES[t] <= 4 else 'ulong'
        cast = (lambda text: f'(({t})({text}))') if t != wide else (lambda text: f'({text})')
        raw = lambda: self.expr(t, depth)
        a = lambda: raw() if t == wide else f'({wide}){raw()}'
        bits = 8 * BYTES[t]
        op = self.weighted(self.weights['ops'])
        if op in '+-*' and signed(t) and self.chance(.5):
            if op != '*':
                return cast(f'({raw()} >> {self.rng.randrange(1, bits)}) {op} ({raw()} >> {self.rng.randrange(1, bits)})')
            half = {8: 'char', 16: 'char', 32: 'short', 64: 'int'}[bits]
            return cast(f'({t}){self.expr(half, depth)} * {self.expr(half, depth)}')
        if op in ('+', '-', '*', '&', '|', '^'):
            return cast(f'{a()} {op} {a()}')
        if op in ('<<', '>>'):
            amount = self.pick(str(self.rng.randrange(bits)), self.expr('uint', depth - 1), self.expr(t, depth - 1))
            return cast(f'{raw()} {op} ({amount} & {bits - 1})')
        if op in ('/', '%'):
            return cast(f'{self.dividend(t, 1, depth)} {op} {self.divisor(t, depth)}')
        if op in ('mul_hi', 'mad_hi') and bits == 64 or op == 'product':
            self.exact = False  # clang 15 takes negative numbers of up to 24 bits for such of a product with sign
        if op in ('add_sat', 'sub_sat', 'mad_sat') and bits == 32:
            self.exact = False  # for gfx803 it forgets to clamp where the carry goes to VCC
        if op in ('rotate', 'min', 'max', 'mul_hi', 'add_sat', 'sub_sat', 'hadd', 'rhadd'):
            return f'{op}({raw()}, {raw()})'
        if op == 'abs_diff':
            return cast(f'abs_diff({raw()}, {raw()})')
        if op == 'abs':
            return cast(f'abs({raw()})')
        if op in ('mad_hi', 'mad_sat', 'bitselect'):
            return f'{op}({raw()}, {raw()}, {raw()})'
        if op == 'clamp':
            low, high = sorted((self.rng.randrange(100), self.rng.randrange(100)))
            return f'clamp({raw()}, ({t}){low}, ({t}){high})'
        if op in ('clz', 'popcount'):
            return f'{op}({raw()})'
        if op in ('mul24', 'mad24'):
            third = f', {self.expr("uint", depth)}' if op == 'mad24' else ''
            return cast(f'({t}){op}({self.expr("uint", depth)} & 0xffffff, {self.expr("uint", depth)} & 0xffffff{third})')
        if op == 'product':  # of halves, or the upper one
            return cast(f'({t})((ulong){self.expr("uint", depth)} * {self.expr("uint", depth)}{self.pick("", " >> 32", " >> 7")})')
        if op == '~':
            return cast(f'~{raw()}')
        if op == '?':
            return f'(({t})({self.condition(depth)} ? {raw()} : {raw()}))'
        if op == '<':
            return f'(({t}){self.condition(depth)})'
        if op == 'field':
            low = self.rng.randrange(bits)
            return cast(f'({raw()} >> {low}) & {(1 << self.rng.randrange(1, bits - low + 1)) - 1:#x}{"UL" if bits == 64 else ""}')
        if op == 'float':  # exact in f32
            return cast(f'({t})(int)((float)(({self.expr("uint", depth)} & 0xfff)) * {self.pick("0.5f", "3.0f", "16.0f", "0.125f")})'
                        if self.options.get('floats', True) else raw())
        if op == 'call' and self.functions_returning(t):
            return self.call(self.rng.choice(self.functions_returning(t)), depth)
        other = self.rng.choice(INTS)
        return self.convert(self.expr(other, depth), other, t)

    def condition(self, depth=1):
        """An int that is 0 or 1."""
        form = self.rng.randrange(10)
        small = self.visible(Var, lambda v: hasattr(v, 'bound'))
        if form < 3 and small:
            var = self.rng.choice(small)
            limit = self.rng.randrange(min(var.bound, 1 << 20) + 1)
            if self.chance(.3):
                return f'({var.text} % {self.pick(2, 3, 4, 5, 7, 8, 16)} {self.pick("==", "!=", "<", ">")} {self.rng.randrange(3)})'
            return f'({var.text} {self.pick("<", "<=", ">", ">=", "==", "!=")} {self.number(limit)})'
        if form == 3:
            return f'({self.condition(depth - 1)} {self.pick("&&", "||")} {self.condition(depth - 1)})'
        if form == 4:
            return f'(!{self.condition(depth - 1)})'
        if form == 5:
            mask = self.pick(1, 3, 7, 8, 128)
            return f'(({self.expr("uint", depth)} & {mask}) {self.pick("==", "!=")} {self.pick(0, mask)})'
        type_ = self.rng.choice(self.palette)
        base = split(type_)[0]
        if base in FLOATS:
            self.exact = False
            if self.chance(.1):
                return f'({self.pick("isnan", "isinf", "signbit", "isfinite")}({self.expr(base, depth)}) != 0)'
        return f'({self.expr(base, depth)} {self.pick("<", "<=", ">", ">=", "==", "!=")} {self.expr(base, depth)})'

    def uniform_condition(self):
        """One that is the same in the whole workgroup."""
        bit = self.rng.randrange(4)
        scalar = self.scalar_argument(self.rng.choice((3, 5, 6, 12)), 'uint')
        return self.pick(f'(({scalar} >> {bit}) & 1)', f'(get_group_id(0) & 1) == {self.pick(0, 1)}',
                         f'(get_group_id({self.rng.randrange(3)}) < {self.pick(1, 2)})', f'({scalar} > {self.rng.randrange(13)})',
                         f'((get_group_id(0) + {scalar}) % 3 == 0)')

    # Floats.

    def float_literal(self, base):
        self.exact = False
        value = self.pick(0.0, 1.0, -1.0, 0.5, 2.0, 3.0, self.rng.uniform(-10, 10), self.rng.uniform(0, 1),
                          10.0 ** self.rng.randrange(-4, 4), 1e-40 if base == 'float' else 1e-6)
        return f'(({base}){value!r}{"f" if base != "double" else ""})'

    def float_expr(self, base, width, depth):
        """A scalar or vector of floats."""
        self.exact = False
        t = vector(base, width)
        a = lambda: self.expr(t, depth)
        op = self.weighted(self.weights['float_ops'])
        if op in ('+', '-', '*', '/'):
            return f'({a()} {op} {a()})'
        if op in ('fma', 'mad', 'mix', 'smoothstep'):
            return f'{op}({a()}, {a()}, {a()})'
        if op in ('fmin', 'fmax', 'copysign', 'fmod', 'pow', 'atan2', 'hypot', 'step', 'fdim', 'nextafter', 'maxmag'):
            if base == 'half' and op == 'nextafter':
                op = 'fmin'
            return f'{op}({a()}, {a()})'
        if op == 'clamp':
            return f'clamp({a()}, ({t})-1, ({t}){self.pick(1, 2, 5)})'
        if op == 'neg':
            return f'(-{a()})'
        if op == '?' and width == 1:
            return f'({self.condition(depth)} ? {a()} : {a()})'
        if op == '?':
            return f'select({a()}, {a()}, {a()} < {a()})'
        if op == 'native' and base == 'float':
            return f'native_{self.pick("recip", "sqrt", "rsqrt", "sin", "cos", "exp", "log", "exp2", "log2")}({a()})'
        if op == 'ldexp':
            return f'ldexp({a()}, {self.expr(vector("int", width), depth - 1)} & 15)' if width == 1 else a()
        if op == 'dot' and width in (2, 3, 4):
            return f'(({t})({self.pick("dot", "distance") if base != "half" else "dot"}({a()}, {a()})))'
        if op == 'bits':
            return f'as_{t}(({vector(integer_like(base), width)})({self.expr(vector(integer_like(base), width), depth)}))'
        if op in ('convert', 'native', 'dot'):
            other = self.rng.choice(INTS + tuple(f for f in FLOATS if f in self.palette))
            return self.convert(self.expr(vector(other, width), depth), vector(other, width), t)
        if op == 'fn':
            op = self.pick('sqrt', 'sqrt', 'rsqrt', 'sin', 'cos', 'exp', 'log', 'exp2', 'log2', 'tan', 'cbrt', 'tanh', 'atan')
        return f'{op}({a()})'

    # Vectors of integers.

    def vector_expr(self, base, width, depth):
        t, u = vector(base, width), vector(unsigned(base), width)
        a = lambda: self.expr(t, depth)
        bits = 8 * BYTES[base]
        op = self.weighted(self.weights['vector_ops'])
        if op in ('+', '-', '*'):
            return f'as_{t}(as_{u}({a()}) {op} as_{u}({a()}))' if signed(base) else f'({a()} {op} {a()})'
        if op in ('&', '|', '^'):
            return f'({a()} {op} {a()})'
        if op in ('<<', '>>'):
            return f'({a()} {op} ({a()} & ({t}){bits - 1}))' if self.chance(.5) else f'({a()} {op} ({t}){self.rng.randrange(bits)})'
        if op in ('/', '%'):
            return f'({self.dividend(base, width, depth)} {op} (({a()} & ({t})63) | ({t})1))'
        if op in ('min', 'max', 'add_sat', 'sub_sat', 'mul_hi', 'rotate', 'hadd'):
            return f'{op}({a()}, {a()})'
        if op == 'bitselect':
            return f'bitselect({a()}, {a()}, {a()})'
        if op == '~':
            return f'(~{a()})'
        if op == '<':
            mask = f'({a()} {self.pick("<", ">", "==", "!=", "<=")} {a()})'
            if self.chance(.5):
                return f'select({a()}, {a()}, {mask})'
            return f'as_{t}({mask})'
        if op == '?':
            return f'({self.condition(depth)} ? {a()} : {a()})'
        if op == 'build':
            return f'(({t})({", ".join(self.expr(base, depth - 1) for _ in range(width))}))'
        if op == 'swizzle':
            order = ''.join(f'{self.rng.randrange(width):x}' for _ in range(width))
            return f'({a()}).s{order}'
        if op == 'halves' and width in (2, 4, 8, 16):
            return f'(({t})(({a()}).{self.pick("lo", "hi", "odd", "even")}, ({a()}).{self.pick("lo", "hi", "odd", "even")}))'
        if op == 'load':
            arrays = self.visible(Array, lambda x: x.type == base and x.pointer and x.length >= width)
            if arrays:
                array = self.rng.choice(arrays)
                return f'vload{width}(0, {array.pointer} + {self.index(array.length - width + 1)})'
        other = self.rng.choice(INTS)
        return self.convert(self.expr(vector(other, width), depth), vector(other, width), t)
