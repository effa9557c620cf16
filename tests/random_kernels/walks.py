"""Statements that read buffers in the ways real kernels do: pictures with borders, rows, pieces, tables."""
from core import FLOATS, Var, split


class Walks:
    """A part of the generator."""

    def coordinate(self, var, size, width, reach):
        """`var`, in [0, size), moved by up to `reach`, as a coordinate in [0, width), in one of the usual ways."""
        d = self.rng.randrange(-reach, reach + 1)
        x = f'({var} + ({d}))' if d else var
        w = self.number(width)
        form = self.rng.randrange(6)
        if form == 0:
            return f'clamp({x}, 0, {w} - 1)'
        if form == 1:
            return f'(({x} + {w} * {1 + reach // width}) % {w})'
        if form == 2:
            return f'min(max({x}, 0), {w} - 1)'
        if form == 3 and size + reach <= 2 * width and reach < width:  # periodic
            return f'({x} < 0 ? {x} + {w} : {x} >= {w} ? {x} - {w} : {x})'
        if form == 4 and size - 1 + reach <= 2 * width - 2 and reach < width:  # mirrored
            return f'({x} < 0 ? -{x} : {x} >= {w} ? 2 * {w} - 2 - {x} : {x})'
        return f'(int)min((uint)({x} < 0 ? 0 : {x}), (uint){w} - 1u)'

    def do_stencil(self):
        """Neighbours in a picture, or a box, guarded in one of many forms."""
        arrays = [a for a in self.inputs if a.length >= 16]
        if self.in_function or not arrays:
            return False
        array = self.rng.choice(arrays)
        sizes = [min(g, 1 << 10) for g in self.grid]
        w = max(2, min(array.length // 2, self.pick(sizes[0], sizes[0] - 1, sizes[0] + 2, 8, 5)))
        h = max(1, min(array.length // w, self.pick(sizes[1], sizes[1] - 1, array.length // w)))
        pitch = max(w, min(array.length // h, w + self.pick(0, 0, 1, 3)))
        type_ = array.type if array.type in FLOATS or array.type in ('uint', 'ulong') or split(array.type)[1] > 1 else 'uint'
        value = lambda x, y: f'({type_}){array.at(f"({y}) * {self.number(pitch)} + {x}")}' if type_ != array.type else \
            array.at(f'({y}) * {self.number(pitch)} + {x}')
        operator = '^' if split(type_)[0] not in FLOATS and type_[0] != 'u' else '+'
        sum_ = self.declare(type_, self.leaf(type_))
        add = lambda x, y: f'{sum_.lvalue} {operator}= {value(x, y)};'
        form = self.rng.randrange(5)
        if form == 0:
            for _ in range(self.rng.randrange(1, 6)):
                self.line(add(self.coordinate('gx', sizes[0], w, 2), self.coordinate('gy', sizes[1], h, 2)))
        elif form == 1:  # within the border only
            W, H = self.number(w), self.number(h)
            r = self.pick(1, 1, 2)
            guard = self.pick(f'gx >= {r} && gx < {W} - {r} && gy < {H}', f'gx > {r - 1} && gx + {r} < {W} && gy >= 0 && gy <= {H} - 1',
                              f'(uint)(gx - {r}) < (uint)({W} - {2 * r}) && gy < {H}', f'!(gx < {r} || gx >= {W} - {r} || gy >= {H})') \
                if w > 2 * r else f'gx < 0'
            with self.block(f'if ({guard})'):
                self.uniform = False
                for d in self.rng.sample(range(-r, r + 1), self.rng.randrange(1, 2 * r + 2)):
                    self.line(add(f'gx + ({d})', 'gy'))
                self.statements(self.rng.randrange(2))
        elif form == 2:  # each neighbour for itself
            W, H = self.number(w), self.number(h)
            for guard, x, y in ((f'gx > 0 && gx <= {W}', 'gx - 1', 'gy'), (f'gx + 1 < {W}', 'gx + 1', 'gy'),
                                (f'gx < {W} && gy > 0', 'gx', 'gy - 1'), (f'gx < {W} && gy < {H} - 1', 'gx', 'gy + 1')):
                inside = f'{guard} && gy {"<=" if "- 1" in y else "<"} {H}'
                if self.chance(.5):
                    self.line(f'if ({inside}) {add(x, y)}')
                else:
                    zero = f'({type_})0'
                    self.line(f'{sum_.lvalue} {operator}= ({inside}) ? {value(x, y)} : {zero};')
        else:
            rx, ry = self.pick(1, 1, 2), self.pick(0, 1, 1)
            dx, dy, x, y = (self.name('d') for _ in range(4))
            W, H = self.number(w), self.number(h)
            with self.block(f'for (int {dy} = -{ry}; {dy} <= {ry}; {dy}++)'):
                with self.block(f'for (int {dx} = -{self.number(rx)}; {dx} <= {rx}; {dx}++)'):
                    self.line(f'int {x} = gx + {dx}, {y} = gy + {dy};')
                    inside = f'{x} >= 0 && {x} < {W} && {y} >= 0 && {y} < {H}'
                    if form == 3:
                        self.line(self.pick(f'if (!({inside})) continue;', f'if ({x} < 0 || {x} >= {W}) continue; if ({y} < 0 || {y} >= {H}) continue;'))
                    else:
                        self.line(f'{x} = clamp({x}, 0, {W} - 1); {y} = {self.pick(f"min(max({y}, 0), {H} - 1)", f"({y} + {H} * 2) % {H}")};')
                    self.line(add(x, y))

    def do_row(self):
        """Each work-item walks along a row, or a piece, of its own."""
        arrays = [a for a in self.inputs if a.length >= 2 * self.items and split(a.type)[1] == 1]
        if self.in_function or not arrays or self.trips * 4 > self.most_trips:
            return False
        array = self.rng.choice(arrays)
        length = min(array.length // self.items, self.rng.choice((2, 3, 4, 7, 8, 12, 16, 17, 24, 32, 40)))
        i, n = self.name('i'), self.number(length)
        type_ = array.type if array.type in FLOATS or array.type[0] == 'u' else 'uint'
        sum_ = self.declare(type_, f'({type_})0')
        store = self.rng.choice(self.own_arrays(lambda a: a.space == 'global ' and a.length >= length) or [None])
        form = self.rng.randrange(6)
        first = f'gid * {n}'
        if form == 0:
            head, place = f'for (int {i} = 0; {i} < {n}; {i}++)', f'{first} + {i}'
        elif form == 1:
            head, place = f'for (int {i} = 0; {i} < (int)({self.expr("uint", 1)} % {length + 1}u); {i}++)', f'{first} + {i}'
        elif form == 2:
            head, place = f'for (int {i} = {n} - 1; {i} >= 0; --{i})', f'{first} + {i}'
        elif form == 3:
            b, e = self.name('b'), self.name('e')
            self.line(f'const int {b} = {first} + {self.index(length)};')
            self.line(f'const int {e} = min({b} + (int)({self.expr("uint", 1)} % {length}u), {first} + {n});')
            head, place, store = f'for (int {i} = {b}; {i} < {e}; {i}++)', i, None
        elif form == 4:
            b, e = self.name('b'), self.name('e')
            self.line(f'const int {b} = {self.index(array.length, 2)};')
            self.line(f'const int {e} = min({b} + (int)({self.expr("uint", 1)} & 15), {array.length});')
            head, place, store = f'for ({self.pick("int", "uint")} {i} = {b}; {i} < {e}; {i}++)', i, None
        else:
            head, place = f'for (int {i} = 0; {i} < {n}; {i}++)', f'{i} * {self.number(self.items)} + gid'
        operator = self.pick('+', '-') if type_ in FLOATS else self.pick('+', '^', '-')
        with self.block(head):
            self.uniform = False
            self.trips *= max(length, 16)
            self.inside.append('loop')
            if form in (0, 1, 2, 5):
                self.add(Var(i, 'int')).bound = length
            value = array.at(place)
            if self.chance(.2):
                self.line(f'if ({value} {self.pick("==", ">", "<")} {self.leaf(array.type)}) {self.pick("break", "continue")};')
                self.exact = self.exact and array.type not in FLOATS
            if self.chance(.3) and type_ not in FLOATS:
                self.line(f'{sum_.lvalue} = ({type_})({sum_.lvalue} * {self.pick(31, 33, 5)}u + {value});')
            else:
                self.line(f'{sum_.lvalue} {operator}= {value if type_ == array.type else f"({type_}){value}"};')
            if store and self.chance(.6):
                self.line(f'{store.at(i)} = {self.convert(self.pick(sum_.text, sum_.text, self.leaf(type_)), type_, store.type) if split(store.type)[1] == 1 else self.leaf(store.type)};')
            self.statements(self.rng.randrange(2))
            self.inside.pop()

    def do_stride(self):
        """A loop that shares work out: each work-item does every so many-th element."""
        stores = self.own_arrays(lambda a: a.buffer and a.length > 1)
        if self.in_function or not stores or self.trips > 8:
            return False
        store, i = self.rng.choice(stores), self.name('i')
        total = max(0, self.items * store.length - self.pick(0, 0, 1, 5))
        with self.block(f'for ({self.pick("int", "uint")} {i} = gid; {i} < {self.number(total)}; {i} += {self.number(self.items)})'):
            self.add(Var(i, 'int')).bound = self.items * store.length
            self.uniform = False
            self.trips *= store.length
            self.inside.append('loop')
            self.statements(self.rng.randrange(2))
            self.line(f'{store.buffer}[{i}] = {self.expr(store.type, 2)};')
            self.inside.pop()

    def do_search(self):
        """Goes through a buffer until something is found, or by halves."""
        arrays = [a for a in self.inputs if split(a.type)[1] == 1 and a.type not in FLOATS]
        if self.in_function or not arrays or self.trips * 8 > self.most_trips:
            return False
        array, at = self.rng.choice(arrays), self.name('k')
        if self.chance(.5):
            low, high = self.name('b'), self.name('e')
            key = self.leaf(array.type)
            self.line(f'int {low} = 0, {high} = {self.number(array.length)};')
            with self.block(f'while ({low} < {high})'):
                self.line(f'int {at} = ({low} + {high}) {self.pick("/ 2", ">> 1")};')
                self.line(f'if ({array.at(at)} < {key}) {low} = {at} + 1; else {high} = {at};')
            self.add(Var(low, 'int')).bound = array.length + 1
        else:  # a chain
            self.line(f'int {at} = {self.index(array.length)};')
            steps = self.rng.randrange(2, 12)
            n = self.name('i')
            with self.block(f'for (int {n} = 0; {n} < {steps} && {at} != {self.rng.randrange(array.length)}; {n}++)'):
                self.line(f'{at} = (int)((uint){array.at(at)} % {array.length}u);')
            self.add(Var(at, 'int')).bound = array.length
