"""Makes a kernel smaller while it still goes wrong: by lines, blocks, and what is around blocks."""
import re


def ends(lines):
    """For each line that opens a block the one that closes it."""
    open_, found = [], {}
    for i, line in enumerate(lines):
        text = line.split('//')[0]
        if text.lstrip().startswith('}'):
            if open_:
                found[open_.pop()] = i
        if text.rstrip().endswith('{'):
            open_.append(i)
    return found


def candidates(lines):
    """Smaller versions, those that lose most first."""
    close = ends(lines)
    body = next(i for i, l in enumerate(lines) if 'kernel void k(' in l)
    blocks = sorted(((e - i, i, e) for i, e in close.items() if i != body), reverse=True)
    for _, i, e in blocks:
        yield lines[:i] + lines[e + 1:]
    for _, i, e in blocks:
        if 'for (' not in lines[i] and 'while' not in lines[i] and 'do {' not in lines[i]:
            yield lines[:i] + lines[i + 1:e] + lines[e + 1:]
    for size in (16, 4, 1):
        for i in range(len(lines) - size, 0, -size):
            part = lines[i:i + size]
            if any(x.strip().startswith('//') or 'kernel void' in x or 'barrier(' in x or x == '}' for x in part):
                continue
            opened = sum(x.rstrip().endswith('{') - x.lstrip().startswith('}') for x in part)
            if opened == 0 and not part[0].lstrip().startswith('}'):
                yield lines[:i] + lines[i + size:]


def simpler_expressions(lines):
    """Versions in which what is in brackets is a number, which is right for divisors and all indices but 0."""
    for number in range(len(lines) - 1, 0, -1):
        line = lines[number]
        if line.startswith(('//', '#')) or any(x in line for x in ('kernel void', 'for (', 'while', 'id = ', '_id(')):
            continue
        stack, pairs = [], []
        for i, c in enumerate(line):
            if c == '(':
                stack.append(i)
            elif c == ')' and stack:
                pairs.append((stack.pop(), i))
        for a, b in sorted(pairs, key=lambda p: p[0] - p[1]):
            inner = line[a + 1:b]
            if b - a < 5 or a > 0 and re.match(r'\w', line[a - 1]) and not inner.startswith('('):
                continue
            yield lines[:number] + [line[:a + 1] + '1u' + line[b:]] + lines[number + 1:]


def reduce(source, wrong, keep=lambda text: None):
    """The smallest version found for which wrong(source) holds; `keep` gets each on the way."""
    lines = source.splitlines()
    for make in (candidates, simpler_expressions, candidates, simpler_expressions):
        again = True
        while again:
            again = False
            skip = 0
            while True:  # go on from about where the last one that helped was
                for tried, version in enumerate(make(lines)):
                    if tried >= skip and wrong('\n'.join(version) + '\n'):
                        lines, again, skip = version, True, max(0, tried - 1)
                        keep('\n'.join(lines) + '\n')
                        break
                else:
                    break
            if make is simpler_expressions:
                again = False
    return '\n'.join(lines) + '\n'
