"""Statements around memory: arrays and structures of a work-item, buffers in which each has its own part, atomics."""
from core import BYTES, FLOATS, INTS, Array, Var, size_of, split, vector


class Memory:
    """A part of the generator."""

    # Private memory.

    def private_array(self, type_, length):
        name = self.name('a')
        volatile = 'volatile ' if self.chance(self.spec.get('volatile', 0)) else ''
        if length <= 8 and self.chance(.5):
            self.line(f'{volatile}{type_} {name}[{length}] = {{{", ".join(self.leaf(type_) for _ in range(length))}}};')
        else:
            i = self.name('i')
            value = self.leaf(type_)
            if split(type_)[1] == 1 and type_ not in FLOATS:
                value = f'({type_})((uint){value} * 3u + (uint){i})'
            # On one line, so that the reducer does not take the initialisation alone.
            self.line(f'{volatile}{type_} {name}[{length}]; for (int {i} = 0; {i} < {length}; {i}++) {name}[{i}] = {value};')
        return self.add(Array(type_, length, lambda i: f'{name}[{i}]', True, '', None if volatile else name))

    def do_array(self):
        self.private_array(self.rng.choice(self.palette), self.rng.choice((2, 3, 4, 5, 8, 8, 16, 20, 32)))

    def own_arrays(self, test=lambda _: True):
        return self.visible(Array, lambda a: a.writable and test(a))

    def do_store(self):
        """An element of an array that is the work-item's own."""
        arrays = self.own_arrays()
        if not arrays:
            return False
        array = self.rng.choice(arrays)
        form = self.rng.randrange(6)
        if form == 0 and array.length > 1:  # neighbours
            first = self.rng.randrange(array.length - 1)
            for i in range(first, min(array.length, first + self.rng.randrange(2, 9))):
                guard = f'if ({self.condition()}) ' if self.chance(.3) else ''
                self.line(f'{guard}{array.at(str(i))} = {self.expr(array.type, 1)};')
        elif form == 1:
            place = self.element(array)
            base = split(array.type)[0]
            operator = '+' if base in FLOATS or base[0] == 'u' else '^'
            self.line(f'{place} {operator}= {self.expr(array.type, 2)};')
        else:
            self.line(f'{self.element(array, 2)} = {self.expr(array.type, 3)};')

    def do_loop_over(self):
        """All elements of an array, up or down, by index or pointer."""
        arrays = self.own_arrays(lambda a: 1 < a.length <= 40)
        if not arrays or self.trips * 8 > self.most_trips:
            return False
        array = self.rng.choice(arrays)
        i, n = self.name('i'), self.number(array.length)
        if array.pointer and self.chance(.35):
            end = f'{array.pointer} + {n}'
            head = f'for ({array.space}{array.type}* {i} = {array.pointer}; {i} != {end}; ++{i})'
            place = f'*{i}'
        else:
            head = self.pick(f'for (int {i} = 0; {i} < {n}; {i}++)', f'for (int {i} = {n} - 1; {i} >= 0; --{i})',
                             f'for (uint {i} = 0; {i} < {n}; {i} += {self.pick(1, 2, 3)})')
            place = array.at(i)
        accumulator = None
        if split(array.type)[1] == 1 and array.type not in FLOATS:
            accumulator = self.declare('uint', self.leaf('uint'))
        with self.block(head):
            self.uniform = False
            self.trips *= array.length
            if '*' not in place:
                self.add(Var(i, 'uint' if 'uint' in head else 'int')).bound = array.length
            self.inside.append('loop')
            if accumulator and self.chance(.6):
                self.line(f'{accumulator.lvalue} {self.pick("+", "^", "*")}= (uint){place};')
            if self.chance(.6):
                self.line(f'{place} = {self.expr(array.type, 2)};')
            self.statements(self.rng.randrange(2))
            self.inside.pop()

    def do_pointer(self):
        """A pointer into one array or another."""
        arrays = self.own_arrays(lambda a: a.pointer and a.length > 3)
        if not arrays:
            return False
        array = self.rng.choice(arrays)
        others = [a for a in arrays if a.type == array.type and (a.space == array.space or self.generic())]
        name = self.name('q')
        other = self.rng.choice(others)
        space = array.space if other.space == array.space else ''
        reach = self.rng.randrange(1, 4)
        one = f'{array.pointer} + {self.index(array.length - reach + 1)}'
        two = f'{other.pointer} + {self.index(other.length - reach + 1)}'
        self.line(f'{space}{array.type}* {name} = {one};' if self.chance(.5) else
                  f'{space}{array.type}* {name} = {self.condition()} ? {one} : {two};')
        self.add(Array(array.type, reach, lambda i: f'{name}[{i}]', True, space, name))

    def do_move(self):
        """Shifts an array by some elements within itself, or reverses it."""
        arrays = self.own_arrays(lambda a: 2 < a.length <= 40)
        if not arrays or self.trips * 8 > self.most_trips:
            return False
        a, i = self.rng.choice(arrays), self.name('i')
        d = self.rng.randrange(1, min(4, a.length))
        n = a.length
        if self.chance(.3):
            t = self.name('t')
            with self.block(f'for (int {i} = 0; {i} < {n // 2}; {i}++)'):
                self.line(f'{a.type} {t} = {a.at(i)};')
                self.line(f'{a.at(i)} = {a.at(f"{n - 1} - {i}")};')
                self.line(f'{a.at(f"{n - 1} - {i}")} = {t};')
        elif self.chance(.5):
            self.line(f'for (int {i} = 0; {i} < {n - d}; {i}++) {a.at(i)} = {a.at(f"{i} + {d}")};')
        else:
            self.line(f'for (int {i} = {n} - 1; {i} >= {d}; {i}--) {a.at(i)} = {a.at(f"{i} - {d}")};')

    def do_swap(self):
        arrays = self.own_arrays(lambda a: a.length > 1)
        if not arrays:
            return False
        a = self.rng.choice(arrays)
        i, j, t = self.name('i'), self.name('i'), self.name('t')
        self.line(f'int {i} = {self.index(a.length, 2)}, {j} = {self.index(a.length, 2)};')
        guard = f'if ({a.at(i)} > {a.at(j)}) ' if split(a.type)[1] == 1 else ''
        self.exact = self.exact and split(a.type)[0] not in FLOATS
        self.line(f'{guard}{{ {a.type} {t} = {a.at(i)}; {a.at(i)} = {a.at(j)}; {a.at(j)} = {t}; }}')

    # Structures.

    def structure(self, aligned=False):
        """A type with some fields, all of whose bytes are fields', each where its size is aligned if wanted."""
        name = self.name('S')
        fields = []
        for _ in range(self.rng.randrange(2, 7)):
            type_ = self.rng.choice(self.storable() if self.chance(.7) else INTS)
            fields.append((self.name('m'), type_, self.pick(0, 0, 0, 2, 3, 5)))
        if aligned:
            fields.sort(key=lambda field: -BYTES[split(field[1])[0]])
        text = ' '.join(f'{t} {f}{f"[{n}]" if n else ""};' for f, t, n in fields)
        self.globals.append(f'typedef struct __attribute__((packed)) {{ {text} }} {name};')
        size = sum(size_of(t) * max(n, 1) for _, t, n in fields)
        return {'name': name, 'fields': fields, 'size': size}

    def add_fields(self, structure, place, space):
        for field, type_, count in structure['fields']:
            at = f'{place}.{field}'
            if count:
                self.add(Array(type_, count, lambda i, at=at: f'{at}[{i}]', True, space))
            else:
                self.add(Var(at, type_, at))

    def declare_bytes(self, type_, name, size):
        i, pointer = self.name('i'), f'((uchar*)&{name})'
        self.line(f'{type_} {name}; for (int {i} = 0; {i} < {size}; {i}++) {pointer}[{i}] = (uchar)({self.leaf("uint")} + (uint){i});')

    def do_struct(self):
        # clang 15 loads half-words that are not aligned as a whole, which private memory leaves open (docs/SEMANTICS.md).
        s = self.structure(aligned=True)
        if any(split(t)[0] in FLOATS for _, t, _ in s['fields']):
            self.exact = False
        name = self.name('s')
        self.declare_bytes(s['name'], name, s['size'])
        self.add_fields(s, name, '')
        self.add(Array('uchar', s['size'], lambda i: f'((uchar*)&{name})[{i}]', True, '', f'((uchar*)&{name})'))

    def do_union(self):
        name, type_ = self.name('u'), self.pick('uint', 'ulong', 'uint2', 'uint4')
        size = size_of(type_)
        members = {t: self.name('m') for t in ('uchar', 'ushort', 'uint', 'char', 'short')}
        text = ' '.join(f'{t} {m}[{size // BYTES[t]}];' for t, m in members.items())
        self.line(f'union {{ {type_} all; {text} }} {name} = {{{self.expr(type_, 2)}}};')
        self.add(Var(f'{name}.all', type_, f'{name}.all'))
        for t in self.rng.sample(sorted(members), 2):
            at = f'{name}.{members[t]}'
            self.add(Array(t, size // BYTES[t], lambda i, at=at: f'{at}[{i}]', True, ''))

    def do_bits(self):
        """Bit fields."""
        name, left, fields = self.name('b'), 64, []
        while left > 0:
            bits = min(left, self.rng.randrange(1, 24))
            fields.append((self.name('m'), self.pick('uint', 'int'), bits))
            left -= bits
        self.globals.append(f'typedef struct {{ {" ".join(f"{t} {f}:{b};" for f, t, b in fields)} }} B{name};')
        self.line(f'B{name} {name} = {{{", ".join(self.expr(t, 1) for _, t, _ in fields)}}};')
        for field, type_, _ in fields:
            self.add(Var(f'(({type_}){name}.{field})', type_, f'{name}.{field}'))

    def do_copy(self):
        """memcpy, byte by byte or word by word."""
        targets = self.own_arrays(lambda a: a.pointer)
        sources = self.visible(Array, lambda a: a.pointer and a.space != 'constant')
        if not targets or not sources or self.trips * 16 > self.most_trips:
            return False
        to, from_ = self.rng.choice(targets), self.rng.choice(sources)
        if any(split(x.type)[0] in FLOATS for x in (to, from_)):
            self.exact = False
        if any(split(x.type)[1] == 3 for x in (to, from_)) or to is from_:
            return False
        sizes = [size_of(x.type) for x in (to, from_)]
        unit = self.rng.choice([t for t in ('uchar', 'ushort', 'uint', 'ulong') if BYTES[t] <= min(sizes)])
        start = f'({from_.pointer}{"" if from_.length > 64 else " + 0"})'
        bytes_ = min(to.length * sizes[0], from_.length * sizes[1], 96)
        if from_.length * sizes[1] >= bytes_ * 2 and self.chance(.6):
            start = f'({from_.pointer} + {self.index(from_.length - bytes_ // sizes[1])})'
        const = 'const ' if not from_.writable else ''
        count = bytes_ // BYTES[unit]
        i = self.name('i')
        bound = self.number(count) if self.chance(.7) else f'(int)({self.expr("uint", 1)} % {count + 1}u)'
        self.line(f'for (int {i} = 0; {i} < {bound}; {i}++) ((({to.space}{unit}*){to.pointer}))[{i}] = '
                  f'(({const}{from_.space}{unit}*){start})[{i}];')

    # Buffers.

    def own_part(self, type_, per):
        """A buffer in which each work-item has `per` elements, side by side or a row apart."""
        name = self.buffer('out', type_, self.items * per, 'any')
        if self.chance(.6):
            at = (lambda i: f'{name}[gid]') if per == 1 else (lambda i: f'{name}[gid * {per} + {i}]')
            return self.add(Array(type_, per, at, True, 'global ', f'({name} + gid * {per})'))
        rows = self.number(self.items)
        array = self.add(Array(type_, per, lambda i: f'{name}[({i}) * {rows} + gid]', True, 'global '))
        array.buffer = name
        return array

    def own_records(self):
        s = self.structure()
        if any(split(t)[0] in FLOATS for _, t, _ in s['fields']):
            self.exact = False
        name = self.name('rec')
        self.args.append((f'global {s["name"]}* {name}',
                          {'buffer': 'uchar', 'count': s['size'] * self.items, 'fill': 'any'}))
        self.add_fields(s, f'{name}[gid]', 'global ')

    def do_row_of_stores(self):
        """Several neighbours of an own part, as records are written."""
        arrays = self.own_arrays(lambda a: a.space == 'global ' and a.length > 1)
        if not arrays:
            return False
        a = self.rng.choice(arrays)
        values = self.name('r')
        self.line(f'{a.type} {values} = {self.expr(a.type, 2)};')
        self.add(Var(values, a.type, values))
        for i in range(min(a.length, 24)):
            self.line(f'{a.at(str(i))} = {self.leaf(a.type)};')

    def do_atomic(self):
        """On counters that nobody reads. All atomics on one array commute."""
        if self.in_function:
            return False
        type_ = self.pick('uint', 'uint', 'int', 'ulong')
        if not self.counters or self.chance(.3):
            count = self.pick(1, 4, 16, 64, 256)
            name = self.buffer('cnt', type_, count, 'any')
            self.counters.append((name, type_, count, self.pick('add', 'or', 'and', 'xor', 'min', 'max')))
        name, type_, count, op = self.rng.choice(self.counters)
        prefix = 'atom_' if type_ == 'ulong' else 'atomic_'
        place = f'&{name}[{self.index(count, 2)}]'
        if op == 'add' and self.chance(.4):
            self.line(f'{prefix}{self.pick("inc", "dec")}({place});')
        else:
            self.line(f'{prefix}{self.pick("add", "sub") if op == "add" else op}({place}, {self.expr(type_, 2)});')
