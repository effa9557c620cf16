"""Statements that only compute: assignments, branches, loops, switches, functions."""
from core import BYTES, FLOATS, INTS, Array, Var, split, vector


class Control:
    """A part of the generator. A method `do_NAME` writes a statement of that kind."""

    def statements(self, count):
        for _ in range(count):
            self.statement()

    def statement(self):
        """One of the kernel's kinds that is possible here."""
        self.budget -= 1
        for _ in range(5):
            kind = self.weighted(self.weights['statements'])
            if self.budget <= 0 or (self.depth > 4 and kind not in ('assign', 'store', 'compound')):
                kind = 'assign'
            if getattr(self, 'do_' + kind)() is not False:
                return

    def targets(self):
        """Variables that may be written here."""
        return self.visible(Var, lambda v: v.lvalue)

    def do_assign(self):
        targets = self.targets()
        if not targets or self.chance(.3):
            type_ = self.rng.choice(self.palette)
            self.declare(type_, self.expr(type_, 3))
            return
        var = self.rng.choice(targets)
        self.line(f'{var.lvalue} = {self.expr(var.type, 3)};')

    def do_compound(self):
        targets = [v for v in self.targets() if split(v.type)[0] not in ('char', 'short', 'int', 'long')]
        if not targets:
            return False
        var = self.rng.choice(targets)
        base = split(var.type)[0]
        operator = self.pick('+', '-', '*') if base in FLOATS else self.pick('+', '-', '*', '^', '|', '&')
        narrow = BYTES[base] == 2 and operator == '*'  # would overflow an int
        self.line(f'{var.lvalue} {"^" if narrow and base not in FLOATS else operator}= {self.expr(var.type, 2)};')

    def do_if(self):
        uniform = self.chance(.25) and not self.in_function
        with self.block(f'if ({self.uniform_condition() if uniform else self.condition(2)})'):
            self.uniform = self.uniform and uniform
            self.statements(self.rng.randrange(1, 4))
        if self.chance(.4):
            with self.block('else' if self.chance(.7) else f'else if ({self.condition()})'):
                self.uniform = False
                self.statements(self.rng.randrange(1, 3))

    def do_select(self):
        """Nested branches around one small thing each, as compilers make selects of."""
        type_ = self.rng.choice(self.palette)
        var = self.declare(type_, self.expr(type_, 1))
        for _ in range(self.rng.randrange(1, 4)):
            self.line(f'if ({self.condition()}) {var.lvalue} = {self.expr(type_, 1)};')

    def do_for(self):
        rounds = self.rng.choice((2, 3, 4, 4, 7, 8, 13, 16, 33))
        if self.trips * rounds > self.most_trips:
            return False
        name = self.name('i')
        type_ = self.pick('int', 'int', 'uint', 'uint', 'ulong', 'short')
        form = self.rng.randrange(6)
        breaks = True
        if form < 2:  # the same number of rounds in all work-items
            head = f'for ({type_} {name} = 0; {name} < {self.number(rounds)}; {name}++)'
            breaks = self.chance(.4)
        elif form == 2:
            head = f'for (int {name} = {self.number(rounds)} - 1; {name} >= 0; {name}--)'
            breaks = self.chance(.4)
        elif form == 3:
            step = self.rng.randrange(2, 4)
            head = f'for ({type_} {name} = 0; {name} < {self.number(rounds)}; {name} += {step})'
            breaks = self.chance(.4)
        elif form == 4:
            head = f'for (int {name} = 0; {name} < (int)({self.expr("uint", 2)} % {rounds}u); {name}++)'
        else:
            end = self.name('e')
            self.line(f'const int {end} = (int)({self.expr("uint", 2)} % {rounds}u);')
            head = f'for ({type_} {name} = {self.index(max(1, rounds // 2))}; {name} < {end}; {name}++)'
        if self.chance(.15):
            self.line(f'#pragma unroll {self.pick(1, 2, 4, "")}')
        with self.block(head):
            counter = self.add(Var(name, 'int' if form in (2, 4) else type_))
            counter.bound = rounds
            self.uniform = self.uniform and form < 4 and not breaks
            self.trips *= rounds
            self.inside.append('loop' if breaks else 'uniform loop')
            self.statements(self.rng.randrange(1, 5))
            self.inside.pop()

    def do_while(self):
        """Ends when data says so, or after some rounds."""
        rounds = self.rng.choice((3, 5, 8, 20))
        if self.trips * rounds > self.most_trips:
            return False
        turns = self.name('t')
        self.line(f'int {turns} = 0;')
        do = self.chance(.3)
        condition = f'{turns} < {rounds} && {self.condition(2)}'
        with self.block('do' if do else f'while ({condition})', f'}} while ({condition});' if do else '}'):
            self.add(Var(turns, 'int')).bound = rounds + 1
            self.uniform = False
            self.trips *= rounds
            self.line(f'{turns}++;')
            self.inside.append('loop')
            self.statements(self.rng.randrange(1, 4))
            self.inside.pop()

    def do_leave(self):
        """break, continue, return."""
        if self.uniform and not self.in_function and self.barriers:
            return False
        if self.in_function and self.chance(.4):
            self.line(f'if ({self.condition(2)}) return {self.expr(self.in_function, 2)};')
            return
        if self.inside and self.inside[-1] == 'loop':
            self.line(f'if ({self.condition(2)}) {self.pick("break", "break", "continue")};')
            return
        if self.in_function or self.barriers or not self.chance(.5):
            return False
        with self.block(f'if ({self.condition(2)})'):
            self.do_store()
            self.line('return;')

    def do_switch(self):
        cases = self.rng.choice((2, 3, 5, 8))
        with self.block(f'switch ({self.index(cases, 2) if self.chance(.8) else self.expr("int", 1) + " & 15"})'):
            self.uniform = False
            self.inside.append('switch')
            for case in self.rng.sample(range(cases), self.rng.randrange(1, cases + 1)):
                self.line(f'case {case}:')
                with self.block(''):
                    self.statements(self.rng.randrange(1, 3))
                if self.chance(.8):
                    self.line('  break;')
            if self.chance(.5):
                self.line('default:')
                with self.block(''):
                    self.statements(1)
            self.inside.pop()

    def do_machine(self):
        """A loop around a switch that says how to go on, as in interpreters."""
        rounds, states = self.pick(4, 8, 16), self.pick(2, 3, 5)
        if self.trips * rounds > self.most_trips:
            return False
        turns, state = self.name('t'), self.name('z')
        self.line(f'int {turns} = 0; uint {state} = {self.expr("uint", 1)} % {states}u;')
        with self.block(f'while ({turns}++ < {rounds})'):
            self.uniform = False
            self.trips *= rounds
            self.add(Var(state, 'uint')).bound = states
            self.inside.append('loop')
            with self.block(f'switch ({state})'):
                self.inside.append('switch')
                for case in range(states):
                    with self.block(f'case {case}:'):
                        self.statements(self.rng.randrange(1, 3))
                        after = self.rng.randrange(states)
                        self.line(self.pick(f'{state} = {after}; continue;', f'{state} = {self.condition()} ? {after} : {case}; break;',
                                            f'{state} = ({state} + {self.leaf("uint")}) % {states}u; break;', f'if ({self.condition()}) {turns} += 3;'))
                self.inside.pop()
            self.line(f'{state} = ({state} + 1) % {states}u;')
            self.inside.pop()

    def do_goto(self):
        """Jumps out of loops and into what follows."""
        if self.barriers or self.in_function or self.trips * 20 > self.most_trips:
            return False
        out, over, i, j = self.name('out'), self.name('over'), self.name('i'), self.name('j')
        with self.block(''):
            with self.block(f'for (int {i} = 0; {i} < {self.number(4)}; {i}++)'):
                self.uniform = False
                self.trips *= 20
                self.inside.append('uniform loop')
                with self.block(f'for (int {j} = 0; {j} < {self.number(5)}; {j}++)'):
                    self.do_assign()
                    self.line(f'if ({self.condition()}) goto {out};')
                    self.line(f'if ({self.condition()}) goto {over};')
                    self.statements(1)
                self.line(f'{over}:;')
                self.statements(1)
                self.inside.pop()
            self.do_store()
            self.line(f'{out}:;')

    # Functions.

    def do_pointed_call(self):
        """One of some functions, called through a pointer."""
        if self.in_function:
            return False
        names = [self.name('g') for _ in range(self.pick(2, 3, 4))]
        for n in names:
            body = self.pick('return a * 7u + b;', 'return a > b ? a - b : a ^ b;', 'uint t[4] = {a, b, a ^ b, a + b}; return t[b & 3] * t[a & 3];',
                             'for (uint i = 0; i < (a & 7); i++) b = b * 5u + i; return b;')
            self.globals.append(f'{self.pick("", "__attribute__((noinline)) ")}uint {n}(uint a, uint b) {{ {body} }}')
        table = self.name('q')
        if self.chance(.5):
            self.line(f'uint (*{table})(uint, uint) = {self.condition()} ? {names[0]} : {names[1]};')
            called = table
        else:
            self.line(f'uint (*{table}[{len(names)}])(uint, uint) = {{{", ".join(names)}}};')
            called = f'{table}[{self.index(len(names))}]'
        self.declare('uint', f'{called}({self.expr("uint", 1)}, {self.expr("uint", 1)})')

    def do_recursion(self):
        """A function that calls itself, some calls deep."""
        if self.trips > 8:
            return False
        name = self.name('r')
        twice = self.pick('', ' + self(a ^ 5u, n - 2)')
        # By a pointer that nothing is known of: else clang 15 makes private memory as large as one call needs.
        self.globals.append(f'__attribute__((noinline)) uint {name}(uint a, int n) {{ uint (*volatile self)(uint, int) = {name}; '
                            f'uint t[4] = {{a, a + 1, a ^ n, n}}; if (n <= 0 || (a & {self.pick(3, 15, 255)}) == 3) return a; '
                            f'return self(t[n & 3] * 7u + n, n - 1) ^ t[a & 3]{twice}; }}')
        self.declare('uint', f'{name}({self.expr("uint", 1)}, {self.pick(self.number(self.rng.randrange(6)), self.index(6))})')

    def functions_returning(self, type_):
        return [f for f in self.functions if f['type'] == type_]

    def make_function(self):
        """A function in front of the kernel, with numbers and arrays as parameters."""
        type_ = self.rng.choice(self.palette)
        name = self.name('f')
        scalars = [(self.rng.choice(self.palette), self.name('p')) for _ in range(self.rng.randrange(1, 4))]
        arrays = []
        if self.chance(.6):
            space = self.pick('', '', 'global ' if self.inputs else '')
            like = self.rng.choice(self.inputs) if space else None
            arrays.append((like.type if like else self.rng.choice(self.palette), self.name('p'),
                           like.length if like else self.pick(3, 4, 8, 16), space))
        saved = self.lines, self.depth, self.scope, self.trips, self.inside, self.uniform, self.budget, self.barriers
        self.lines, self.depth, self.scope, self.trips, self.inside, self.uniform = [], 0, [[]], 8, [], False
        self.budget, self.barriers = 8, False
        self.in_function = type_
        parameters = [f'{t} {p}' for t, p in scalars] + [f'{"const " if s else ""}{s}{t}* {p}' for t, p, _, s in arrays]
        kind = self.pick('__attribute__((noinline)) ', '__attribute__((noinline)) ', '', '__attribute__((always_inline)) ')
        with self.block(f'{kind}{type_} {name}({", ".join(parameters)})'):
            for t, p in scalars:
                self.add(Var(p, t, p))
            for t, p, n, s in arrays:
                self.add(Array(t, n, lambda i, p=p: f'{p}[{i}]', not s, s, p))
            self.statements(self.rng.randrange(1, 5))
            self.line(f'return {self.expr(type_, 3)};')
        self.globals += self.lines + ['']
        self.lines, self.depth, self.scope, self.trips, self.inside, self.uniform, self.budget, self.barriers = saved
        self.in_function = None
        self.functions.append({'name': name, 'type': type_, 'scalars': [t for t, _ in scalars],
                               'arrays': [(t, n, s) for t, _, n, s in arrays]})

    def call(self, function, depth=1):
        """A call of a function all of whose arrays there are, or a variable instead."""
        arguments = [self.expr(t, depth) for t in function['scalars']]
        for type_, length, space in function['arrays']:
            fitting = self.visible(Array, lambda a: a.type == type_ and a.length >= length and a.pointer and
                                   (a.space == space or (space == '' and a.space != 'constant' and self.generic()))
                                   and (space or a.writable))
            if not fitting:
                return self.leaf(function['type'])
            arguments.append(self.rng.choice(fitting).pointer)
        return f'{function["name"]}({", ".join(arguments)})'

    def generic(self):
        """Pointers without an address space may lead anywhere."""
        return self.options['std'] == 'CL2.0'

    def do_call(self):
        if not self.functions:
            return False
        function = self.rng.choice(self.functions)
        for type_, length, space in function['arrays']:
            if not space and not self.visible(Array, lambda a: a.type == type_ and a.length >= length and a.pointer and
                                              a.space == '' and a.writable):
                self.private_array(type_, length)
        self.declare(function['type'], self.call(function))
