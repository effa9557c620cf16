"""Statements in which work-items of a wave look at one another, atomics whose results are used, and arrays that workgroups
share in global memory. What they compute depends on which lanes are active, which is up to the compiler: so levels are not
compared where it shows, but all engines see the same lanes."""
from core import Var

# Where a target has no such instruction, or clang 15 cannot compile the library's function, something else is called.
HEAD = '''#if defined(__gfx600__) || defined(__gfx700__)
#define PULL(lane, x) (uint)__builtin_amdgcn_ds_swizzle(x, 0x101f)
#define PUSH(lane, x) (uint)__builtin_amdgcn_ds_swizzle(x, 0x8041)
#define DPP(old, x, how, rows, banks, zero) ((uint)__builtin_amdgcn_readlane(x, how & 63) ^ old)
#else
#define PULL(lane, x) (uint)__builtin_amdgcn_ds_bpermute((lane) * 4, x)
#define PUSH(lane, x) (uint)__builtin_amdgcn_ds_permute((lane) * 4, x)
#define DPP(old, x, how, rows, banks, zero) (uint)__builtin_amdgcn_update_dpp(old, x, how, rows, banks, zero)
#endif
#if defined(__OPTIMIZE__) && !defined(__gfx600__) && !defined(__gfx700__)
#define GROUP(function, ...) function(__VA_ARGS__)
#else
#define GROUP(function, x, ...) (x)
#endif
#define BEFORE(lanes) __builtin_amdgcn_mbcnt_hi((uint)((lanes) >> 32), __builtin_amdgcn_mbcnt_lo((uint)(lanes), 0))
#define LANES __builtin_amdgcn_uicmp(0, 0, 32)'''


class Waves:
    """A part of the generator."""

    def wave_head(self):
        if HEAD not in self.globals:
            self.globals.insert(0, HEAD)
        self.exact = False

    def lane(self):
        """A lane's number, in any of the usual forms."""
        lid = 'get_local_id(0)' if self.in_function else 'lid'
        return self.pick(f'(({lid} ^ {self.rng.randrange(64)}) & 63)', f'(({lid} + {self.rng.randrange(64)}) & 63)', f'({lid} & {self.pick(32, 48, 56, 60)})',
                         str(self.rng.randrange(64)), f'({self.expr("uint", 1)} & 63u)')

    def look(self):
        """A uint that other lanes have a part in."""
        x = self.expr('uint', 2)
        form = self.rng.randrange(8)
        if form == 0:
            return f'(uint)__builtin_amdgcn_readfirstlane({x})'
        if form == 1:
            lane = self.pick(str(self.rng.randrange(64)), f'{self.number(self.rng.randrange(64))}', f'__builtin_amdgcn_readfirstlane({self.lane()})')
            return f'(uint)__builtin_amdgcn_readlane({x}, {lane})'
        if form == 2:
            return f'{self.pick("PULL", "PULL", "PUSH")}({self.lane()}, {x})'
        if form == 3:
            swap = self.rng.randrange(32)
            how = self.pick(swap << 10 | 0x1f, swap << 10 | self.rng.randrange(1024), 0x8000 | self.rng.randrange(256))
            return f'(uint)__builtin_amdgcn_ds_swizzle({x}, {how:#x})'
        if form == 4:
            how = self.pick(self.rng.randrange(256), 0x100 + self.rng.randrange(1, 16), 0x110 + self.rng.randrange(1, 16), 0x120 + self.rng.randrange(1, 16),
                            0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143)
            return (f'DPP({self.leaf("uint")}, {x}, {how:#x}, {self.pick(15, 15, 10, 12, 3)}, {self.pick(15, 15, 15, 5, 14)}, {self.pick(0, 0, 1)})')
        if form == 5:
            lanes = f'__builtin_amdgcn_uicmp({x}, {self.leaf("uint")}, {self.rng.randrange(32, 38)})'
            return self.pick(f'(uint)popcount({lanes})', f'BEFORE({lanes})', f'(uint)({lanes} >> {self.lane()})')
        if form == 6 and not self.in_function:
            op = self.pick('add', 'min', 'max')
            return self.pick(f'GROUP(sub_group_reduce_{op}, {x})', f'GROUP(sub_group_scan_inclusive_{op}, {x})',
                             f'GROUP(sub_group_scan_exclusive_{op}, {x})', f'GROUP(sub_group_broadcast, {x}, {self.rng.randrange(min(64, self.group))})',
                             f'(uint)GROUP(sub_group_{self.pick("any", "all")}, (int)({x}))')
        return f'BEFORE({self.pick("LANES", "LANES", self.expr("ulong", 1))})'

    def do_look(self):
        self.wave_head()
        self.declare('uint', self.look())

    def do_wave_sum(self):
        """All lanes' values together, or all before, in steps."""
        if self.in_function:
            return False
        self.wave_head()
        x, s = self.declare('uint', self.expr('uint', 2)).text, self.name('s')
        self.line(self.pick(f'#pragma unroll {self.pick(1, 6)}', ''))
        form, f = self.rng.randrange(3), self.pick('{0} + {1}', 'max({0}, {1})', '{0} ^ {1}')
        if form == 0:
            step = f'{x} = {f.format(x, f"PULL((lid ^ {s}) & 63, {x})")};'
        elif form == 1:
            step = f'{x} = {f.format(x, f"PULL((lid + {s}) & 63, {x})")};'
        else:
            t = self.name('t')
            step = f'{{ uint {t} = PULL((lid - {s}) & 63, {x}); if ((lid & 63) >= {s}) {x} = {f.format(x, t)}; }}'
        self.line(self.pick(f'for (int {s} = 32; {s} > 0; {s} >>= 1) {step}', f'for (int {s} = 1; {s} < 64; {s} <<= 1) {step}'))

    def do_waterfall(self):
        """Lanes of one value after the other."""
        if self.trips * 16 > self.most_trips:
            return False
        self.wave_head()
        key, first = self.name('k'), self.name('k')
        self.line(f'uint {key} = {self.expr("uint", 2)} & {self.pick(3, 7, 15)}u;')
        with self.block('while (1)'):
            self.line(f'uint {first} = __builtin_amdgcn_readfirstlane({key});')
            with self.block(f'if ({key} == {first})'):
                self.uniform = False
                self.trips *= 16
                self.add(Var(first, 'uint')).bound = 16
                self.inside.append('uniform loop')
                self.statements(self.rng.randrange(1, 3))
                self.inside.pop()
                self.line('break;')
        self.add(Var(key, 'uint')).bound = 16

    def do_group_sum(self):
        """The workgroup's functions, which wait at barriers."""
        if not self.only_uniform() or self.partial or self.options['std'] != 'CL2.0':
            return False
        self.wave_head()
        x, op = self.expr('uint', 2), self.pick('add', 'min', 'max')
        self.declare('uint', self.pick(f'GROUP(work_group_reduce_{op}, {x})', f'GROUP(work_group_scan_inclusive_{op}, {x})',
                                       f'(uint)GROUP(work_group_{self.pick("any", "all")}, (int)({x}))'))

    def ticket_place(self):
        """One of some counters that the wave has for itself, so that lanes get to them in a known order."""
        per = self.pick(1, 2, 4, 16)
        waves = (self.group + 63) // 64
        wave = '(lid >> 6)' if waves > 1 else '0'
        if self.barriers and self.chance(.5):
            if not self.tickets_ready:
                return None
            name, per = self.tickets_ready
            return f'&{name}[{wave} * {per} + {self.index(per, 2)}]', 'local'
        own = self.group_buffer('tkt', 'uint', waves * per, self.pick('any', 'small', 'zero'))
        return f'{own} + {wave} * {per} + {self.index(per, 2)}', 'global'

    def make_tickets(self):
        """Counters in the LDS, behind which a barrier follows."""
        name, per, waves = self.name('w'), self.pick(1, 2, 8), (self.group + 63) // 64
        self.line(f'local uint {name}[{waves * per}]; if (lid == 0) for (int i = 0; i < {waves * per}; i++) {name}[i] = i;')
        self.tickets_ready = name, per

    def do_ticket(self):
        """An atomic whose result is used."""
        if self.in_function:
            return False
        found = self.ticket_place()
        if not found:
            return False
        place, space = found
        self.exact = False
        form = self.rng.randrange(6)
        p, old = self.name('p'), self.name('o')
        self.line(f'volatile {space} uint* {p} = {place};')
        if form == 0:
            self.line(f'uint {old} = atomic_cmpxchg({p}, {self.expr("uint", 1)}, {self.expr("uint", 1)});')
        elif form == 1 and self.trips * 64 <= self.most_trips:  # until nobody has come between
            new = self.pick(f'{old} * 3u + ', f'{old} + ', f'{old} ^ ') + self.leaf('uint')
            self.line(f'uint {old}; do {old} = *{p}; while (atomic_cmpxchg({p}, {old}, {new}) != {old});')
        elif form == 2:  # one lane asks for all
            self.wave_head()
            self.line(f'uint {old} = 0; {{ ulong lanes = LANES; if (BEFORE(lanes) == 0) {old} = atomic_add({p}, (uint)popcount(lanes)); '
                      f'{old} = __builtin_amdgcn_readfirstlane({old}) + BEFORE(lanes); }}')
        else:
            op = self.pick('add', 'sub', 'inc', 'dec', 'xchg', 'min', 'max', 'and', 'or', 'xor')
            operand = '' if op in ('inc', 'dec') else f', {self.expr("uint", 1)}'
            self.line(f'uint {old} = atomic_{op}({p}{operand});')
        self.add(Var(old, 'uint', old))
