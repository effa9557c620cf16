"""Statements around the LDS. Outside of them every array there may be read by all: each writes between two barriers what is
its own, or what commutes."""
from core import BYTES, FLOATS, Array, Var, split


class Local:
    """A part of the generator."""

    def barrier(self):
        self.line(f'barrier(CLK_LOCAL_MEM_FENCE{" | CLK_GLOBAL_MEM_FENCE" if self.shared else ""});')

    def local_array(self, type_, length):
        """In front of everything: declared, initialised, readable."""
        name, declaration, space = self.name('l'), '', 'local '
        if self.shared and self.chance(.7) and split(type_)[1] != 3:  # in global memory
            declaration, space = f'global {type_}* {name} = {self.group_buffer("sh", type_, length, "any")}; ', 'global '
        elif self.chance(.3):
            self.args.append((f'local {type_}* {name}', {'lds': length * BYTES[split(type_)[0]] *
                              (4 if split(type_)[1] == 3 else split(type_)[1])}))
        else:
            declaration = f'local {type_} {name}[{length}]; '
        i = self.name('i')
        value = f'({type_})({i} * {self.pick(1, 3, 7)} + 1)'
        if self.partial:
            self.line(f'{declaration}if (lid == 0) for (int {i} = 0; {i} < {length}; {i}++) {name}[{i}] = {value};')
        else:
            self.line(f'{declaration}for (int {i} = lid; {i} < {length}; {i} += {self.group}) {name}[{i}] = {value};')
        array = self.add(Array(type_, length, lambda i: f'{name}[{i}]', False, space, name))
        array.name = name
        self.locals.append(array)

    def local_arrays(self):
        for _ in range(self.rng.randrange(1, 4)):
            base = split(self.rng.choice(self.palette))[0] if self.chance(.8) else self.rng.choice(self.palette)
            per = self.pick(1, 1, 1, 2, 3)
            length = self.group * per + self.pick(0, 0, 0, 1, 4)
            if self.chance(.3):  # a padded tile with borders
                length = (self.shape[0] + 2) * (self.shape[1] + 2) * self.shape[2]
            self.local_array(base, max(length, self.group))
        self.barrier()

    def place(self, array):
        """Where a work-item has places of its own: a function of which of them, and how many there are."""
        g = self.group
        per = array.length // g
        form = self.rng.randrange(7)
        if form == 0 and g & (g - 1) == 0:
            return (lambda i: f'{array.name}[lid ^ {self.mask}]'), 1
        if form == 1:
            return (lambda i: f'{array.name}[{g - 1} - lid]'), 1
        if form == 2:
            return (lambda i: f'{array.name}[(lz * {self.shape[0]} + lx) * {self.shape[1]} + ly]'), 1
        if form == 3 and array.length >= (self.shape[0] + 1) * self.shape[1] * self.shape[2]:
            return (lambda i: f'{array.name}[(lz * {self.shape[1]} + ly) * {self.shape[0] + 1} + lx]'), 1
        if form == 4 and self.chance(.5):
            return (lambda i: f'{array.name}[({i}) * {g} + lid]'), per
        if form == 5:
            shift = self.rng.randrange(g)
            return (lambda i: f'{array.name}[(lid + {shift}) % {g}]'), 1
        return (lambda i: f'{array.name}[lid * {per} + {i}]' if per > 1 else f'{array.name}[lid]'), per

    def only_uniform(self):
        return self.uniform and self.barriers and not self.in_function and self.locals

    def do_lds_write(self):
        """Each work-item writes its own part, maybe several times, maybe under conditions."""
        if not self.only_uniform():
            return False
        array = self.rng.choice(self.locals)
        self.mask = self.rng.randrange(self.group)
        self.barrier()
        level = next(x for x in self.scope if array in x)
        level.remove(array)
        at, per = self.place(array)
        with self.block(''):
            self.uniform = False
            self.add(Array(array.type, per, at, True, array.space))
            for _ in range(self.rng.randrange(1, 4)):
                if self.chance(.6):
                    self.line(f'{at(self.index(per))} = {self.expr(array.type, 2)};')
                else:
                    self.pick(self.do_store, self.do_if, self.do_for, self.do_assign)()
        level.append(array)
        self.barrier()

    def do_lds_one(self):
        """One work-item, or one row of them, writes."""
        if not self.only_uniform():
            return False
        array = self.rng.choice(self.locals)
        self.barrier()
        if self.chance(.5):
            with self.block(f'if (lid == {self.rng.randrange(self.group)})'):
                self.uniform = False
                for _ in range(self.rng.randrange(1, 4)):
                    self.line(f'{self.element(array, 2)} = {self.expr(array.type, 2)};')
        else:
            self.line(f'if (lid < {self.rng.randrange(1, self.group + 1)}) {array.name}[lid] = '
                      f'{self.without(array, lambda: self.expr(array.type, 2))};')
        self.barrier()

    def without(self, array, do):
        level = next(x for x in self.scope if array in x)
        level.remove(array)
        result = do()
        level.append(array)
        return result

    def do_lds_atomic(self):
        arrays = [a for a in self.locals if a.type in ('uint', 'int')]
        if not self.only_uniform() or not arrays:
            return False
        array = self.rng.choice(arrays)
        op = self.pick('add', 'add', 'or', 'and', 'xor', 'min', 'max')
        self.barrier()

        def body():
            for _ in range(self.rng.randrange(1, 4)):
                guard = f'if ({self.condition()}) ' if self.chance(.4) else ''
                index, value = self.index(array.length, 2), self.expr(array.type, 2)
                count = op == 'add' and self.chance(.3)
                self.line(f'{guard}{"atomic_inc" if count else "atomic_" + op}(&{array.name}[{index}]{"" if count else ", " + value});')
        self.without(array, body)
        self.barrier()

    def combine(self, type_):
        """How two elements become one, in any order alike."""
        base = split(type_)[0]
        if base in FLOATS:
            self.exact = False
            return self.pick(lambda a, b: f'{a} + {b}', lambda a, b: f'fmax({a}, {b})')
        if base[0] == 'u':
            return self.pick(lambda a, b: f'({type_})({a} + {b})', lambda a, b: f'max({a}, {b})', lambda a, b: f'({type_})({a} ^ {b})')
        return self.pick(lambda a, b: f'min({a}, {b})', lambda a, b: f'({type_})({a} ^ {b})')

    def do_lds_reduce(self):
        if not self.only_uniform() or self.group & (self.group - 1) or self.partial or self.group < 2:
            return False
        array, s = self.rng.choice(self.locals), self.name('s')
        f = self.combine(array.type)
        x, y = f'{array.name}[lid]', f'{array.name}[lid + {s}]'
        down = self.chance(.7)
        self.barrier()
        with self.block(f'for (int {s} = {self.group // 2}; {s} > 0; {s} >>= 1)' if down else
                        f'for (int {s} = 1; {s} < {self.group}; {s} <<= 1)'):
            self.line(f'if ({f"lid < {s}" if down else f"lid % (2 * {s}) == 0"}) {x} = {f(x, y)};')
            self.barrier()
        self.declare(array.type, f'{array.name}[0]')

    def do_lds_scan(self):
        if not self.only_uniform() or self.partial or self.group < 2:
            return False
        array, s, t = self.rng.choice(self.locals), self.name('s'), self.name('t')
        f = self.combine(array.type)
        self.barrier()
        with self.block(f'for (int {s} = 1; {s} < {self.number(self.group)}; {s} <<= 1)'):
            self.line(f'{array.type} {t} = {array.name}[lid];')
            self.line(f'if (lid >= {s}) {t} = {f(t, f"{array.name}[lid - {s}]")};')
            self.barrier()
            self.line(f'{array.name}[lid] = {t};')
            self.barrier()
        self.declare(array.type, f'{array.name}[lid]')

    def do_lds_sort(self):
        """A step of a sort: pairs put in order."""
        arrays = [a for a in self.locals if split(a.type)[1] == 1]
        if not self.only_uniform() or self.partial or self.group < 2 or not arrays:
            return False
        array = self.rng.choice(arrays)
        if array.type in FLOATS:
            self.exact = False
        a, b, other = self.name('x'), self.name('y'), self.name('o')
        power = self.group & (self.group - 1) == 0
        self.barrier()
        k, j = self.name('k'), self.name('j')
        whole = power and self.chance(.4) and self.group <= 64 and self.trips == 1
        if whole:
            self.line(f'for (int {k} = 2; {k} <= {self.group}; {k} <<= 1)')
            head = f'for (int {j} = {k} >> 1; {j} > 0; {j} >>= 1)'
        else:
            head = f'for (int {j} = {self.rng.choice([1 << n for n in range(9) if 1 << n < max(2, self.group)])}; {j} > 0; {j} >>= 1)' \
                if power else f'for (int {j} = 0; {j} < 3; {j}++)'
        with self.block(head):
            if power:
                self.line(f'int {other} = lid ^ {j};')
                ok = f'{other} > lid'
            else:
                self.line(f'int {other} = lid + 1;')
                ok = f'(lid + {j}) % 2 == 0 && {other} < {self.group}'
            with self.block(f'if ({ok})'):
                self.line(f'{array.type} {a} = {array.name}[lid], {b} = {array.name}[{other}];')
                up = f'((lid & {k}) == 0)' if whole else self.pick('1', '((lid & 2) == 0)')
                self.line(f'if (({a} > {b}) == {up}) {{ {array.name}[lid] = {b}; {array.name}[{other}] = {a}; }}')
            self.barrier()
        self.declare(array.type, f'{array.name}[lid]')

    def do_lds_tile(self):
        """A tile with borders, loaded from a picture, then a stencil."""
        bx, by, bz = self.shape
        arrays = [a for a in self.locals if a.length >= (bx + 2) * (by + 2) * bz and split(a.type)[1] == 1]
        if not self.only_uniform() or not arrays or not self.inputs:
            return False
        array = self.rng.choice(arrays)
        pitch = bx + 2
        cell = lambda x, y: f'{array.name}[(lz * {by + 2} + {y}) * {pitch} + {x}]'
        value = lambda: self.without(array, lambda: self.expr(array.type, 2))
        self.barrier()
        self.line(f'{cell("lx + 1", "ly + 1")} = {value()};')
        self.line(f'if (lx == 0) {cell("0", "ly + 1")} = {value()};')
        self.line(f'if (lx == {bx - 1}) {cell(str(bx + 1), "ly + 1")} = {value()};')
        self.line(f'if (ly == 0) {cell("lx + 1", "0")} = {value()};')
        if self.chance(.5):
            self.line(f'if (ly == {by - 1}) {cell("lx + 1", str(by + 1))} = {value()};')
        self.barrier()
        var = self.declare(array.type, cell('lx + 1', 'ly + 1'))
        operator = '+' if array.type in FLOATS or array.type in ('uint', 'ulong') else '^'
        if self.chance(.5):
            dx, dy = self.name('d'), self.name('d')
            self.line(f'for (int {dy} = 0; {dy} < 3; {dy}++) for (int {dx} = 0; {dx} < 3; {dx}++) '
                      f'{var.lvalue} {operator}= {cell(f"lx + {dx}", f"ly + {dy}")};')
        else:
            for x, y in (('lx', 'ly + 1'), ('lx + 2', 'ly + 1'), ('lx + 1', 'ly'), ('lx + 1', 'ly + 2')):
                self.line(f'{var.lvalue} {operator}= {cell(x, y)};')
