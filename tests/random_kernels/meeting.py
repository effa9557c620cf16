"""Statements in which lanes of a wave meet in memory: they store where others load and store, without a barrier between.
A wave does an instruction in all lanes before the next, so that what comes of it is known for each code object, but not from
the text: levels are not compared. Workgroups have one wave, and a part of the memory each."""
from core import BYTES, FLOATS, Array, Var, split


class Meeting:
    """A part of the generator."""

    def meeting_arrays(self):
        """In front of everything: memory of the workgroup, as elements of several types that overlap."""
        self.exact = False
        for _ in range(self.pick(1, 1, 2)):
            dwords = self.pick(64, 65, 128, 256, 600) * 4
            if self.chance(.3):
                base, space = self.name('m'), 'local '
                all_ = 'if (lid == 0) for (int i = 0;' if self.partial else 'for (int i = lid;'
                self.line(f'local ulong {base}[{dwords // 2}]; {all_} i < {dwords // 2}; i += {1 if self.partial else self.group}) {base}[i] = i * 0x10003UL;')
            else:
                base, space = self.name('m'), 'global '
                self.line(f'global ulong* {base} = {self.group_buffer("meet", "ulong", dwords // 2, self.pick("any", "mixed", "small"))};')
            for _ in range(self.pick(1, 2, 2, 3)):
                type_ = split(self.rng.choice(self.palette))[0] if self.chance(.6) else self.pick('int', 'uchar', 'ushort', 'uint', 'ulong')
                name, size = self.name('m'), BYTES[type_]
                start = self.pick(0, 0, 1, 2, 3, 16, 64)
                self.line(f'{space}{type_}* {name} = ({space}{type_}*){base} + {self.number(start)};')
                length = dwords * 4 // size - start
                self.meetings.append(self.add(Array(type_, length, lambda i, name=name: f'{name}[{i}]', False, space, name)))

    def meeting_place(self, array):
        """An index: a row, or columns, of the wave, that moves along with a counter maybe; or any."""
        counters = self.visible(Var, lambda v: 1 < getattr(v, 'bound', 1 << 40) <= 33 and v.text[0] in 'it')
        counter = self.rng.choice(counters) if counters and self.chance(.7) else None
        stride, step = self.pick(1, 1, 1, 1, 2, 3, 4, 5, 8), self.pick(1, 1, 1, 2, 64)
        most = (self.group - 1) * stride + ((counter.bound - 1) * step if counter else 0)
        if self.chance(.25) or most >= array.length:
            return self.index(array.length)
        first = self.rng.randrange(min(array.length - most, self.pick(1, 3, 20, 70)))
        lane = self.pick('lid', 'lid', f'({self.group - 1} - lid)')
        along = f' + (int){counter.text} * {self.pick(str(step), self.number(step))}' if counter else ''
        return f'{lane} * {stride}{along} + {self.number(first)}'

    def do_meet(self):
        """A store that others see."""
        if self.in_function:
            return False
        array = self.rng.choice(self.meetings)
        place = array.at(self.meeting_place(array))
        if array.type in FLOATS or self.chance(.7):
            self.line(f'{place} = {self.expr(array.type, 2)};')
        else:
            self.line(f'{place} {self.pick("+=", "^=", "|=", "-=")} {self.expr(array.type, 1)};')

    def do_meet_move(self):
        """What one has stored, another one takes on."""
        if self.in_function:
            return False
        to, from_ = self.rng.choice(self.meetings), self.rng.choice(self.meetings)
        value = self.convert(from_.at(self.meeting_place(from_)), from_.type, to.type)
        other = f' {self.pick("+", "^", "*")} {self.leaf(to.type)}' if to.type not in FLOATS and BYTES[to.type] < 4 else ''
        self.line(f'{to.at(self.meeting_place(to))} = {value}{other};')

    def do_meet_range(self):
        """Each lane goes along a range of its own, which may be another's, too."""
        rounds = self.pick(3, 8, 16)
        if self.in_function or self.trips * rounds > self.most_trips:
            return False
        array = self.rng.choice(self.meetings)
        if array.length <= self.group + rounds:
            return False
        stride = max(1, (array.length - rounds) // self.group)
        first = self.pick(f'lid * {self.rng.randrange(1, stride + 1)}', self.index(array.length - rounds), f'lid * {stride}')
        start, count, name = self.name('s'), self.name('c'), self.name('i')
        self.line(f'int {start} = {first}, {count} = {self.pick(self.index(rounds), self.index(rounds), self.number(rounds))};')
        with self.block(f'for (int {name} = {self.pick(0, 0, 1)}; {name} < {count}; {name}++)'):
            self.add(Var(name, 'int')).bound = rounds
            self.uniform = False
            self.trips *= rounds
            here = array.at(f'{start} + {name}')
            near = array.at(f'{start} + {self.pick(f"{name}", f"max({name} - 1, 0)", f"{name} / 2", "0")}')
            self.line(f'{here} = {near if self.chance(.7) else self.leaf(array.type)};' if array.type in FLOATS or self.chance(.3) else
                      f'{here} {self.pick("+=", "^=")} {near if self.chance(.5) else self.expr(array.type, 1)};')
            if self.chance(.4):
                self.inside.append('loop')
                self.statements(1)
                self.inside.pop()
