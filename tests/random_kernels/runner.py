"""Compiles a kernel and runs it on all engines, in a process of its own, with guard pages behind its buffers."""
import ctypes
import json
import mmap
import os
import random
import resource
import select
import signal
import struct
import subprocess
import time

TARGETS = ('gfx600', 'gfx700', 'gfx803', 'gfx900', 'gfx906')
LEVELS = ('O0', 'O1', 'O2', 'O3', 'Os')
# Name: engine, simd, not specialised, environment. `values` is code for the values of the scalar arguments, `any` that for
# any launch.
ENGINES = {'interp': (2, 0, 0, '0'), 'avx2': (1, 2, 0, '0'), 'avx512': (1, 1, 0, '0'), 'avx2-values': (1, 2, 0, '1'),
           'avx512-values': (1, 1, 0, '1'), 'avx2-any': (1, 2, 1, '0'), 'avx512-any': (1, 1, 1, '0')}
BITCODE = '/usr/lib/x86_64-linux-gnu/amdgcn/bitcode'
FORMATS = {'char': 'b', 'uchar': 'B', 'short': 'h', 'ushort': 'H', 'int': 'i', 'uint': 'I', 'long': 'q', 'ulong': 'Q',
           'float': 'f', 'double': 'd', 'half': 'e'}
PAGE = mmap.PAGESIZE


def split(type_):
    base = type_.rstrip('0123456789')
    return base, int(type_[len(base):] or 1)


def case_of(source):
    """What the first line of a kernel's text says about its launch."""
    return json.loads(next(l for l in source.splitlines() if l.startswith('// case: '))[len('// case: '):])


def compile_kernel(source, target, level, output, std):
    """None, or what the compiler says."""
    path = output + '.cl'
    with open(path, 'w') as file:
        file.write(source)
    command = ['clang-15', '-x', 'cl', '-target', 'amdgcn-amd-amdhsa', f'-mcpu={target}', f'-{level}', f'-cl-std={std}', '-w',
               '-fno-strict-aliasing', '-fno-crash-diagnostics', f'--rocm-device-lib-path={os.environ.get("ROCM_DEVICE_LIBS", BITCODE)}', path, '-o', output]
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10))  # some kernels it never ends with
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    return None if done.returncode == 0 else done.stderr[-400:]


def contents(argument, rng):
    """The bytes of a buffer."""
    base, width = split(argument['buffer'])
    count, code, fill = argument['count'] * width, FORMATS[base], argument['fill']
    size = struct.calcsize('<' + code)
    if fill == 'zero':
        return bytes(count * size)
    if fill == 'any':
        return rng.randbytes(count * size)
    if fill == 'small':
        top = rng.choice((2, 10, 100))
        return struct.pack(f'<{count}{code}', *(rng.randrange(top) for _ in range(count)))
    if fill == 'mixed':
        pick = lambda: rng.choice((bytes(size), b'\xff' * size, rng.randbytes(size), struct.pack('<' + code, rng.randrange(100))))
        return b''.join(pick() for _ in range(count))
    if fill == 'special':
        special = [struct.pack('<' + code, v) for v in (float('nan'), float('inf'), -float('inf'), 0.0, -0.0, 1.0, -1.5, 1e-7)]
        return b''.join(rng.choice(special) if rng.random() < .3 else rng.randbytes(size) for _ in range(count))
    whole = rng.random() < .3
    return struct.pack(f'<{count}{code}', *(rng.randrange(-20, 20) if whole else rng.uniform(-2, 2) for _ in range(count)))


class Argument(ctypes.Structure):
    _fields_ = [('kind', ctypes.c_int), ('data', ctypes.c_void_p), ('size', ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [('engine', ctypes.c_int), ('simd', ctypes.c_int), ('threads', ctypes.c_uint), ('no_fallback', ctypes.c_int),
                ('no_specialize', ctypes.c_int), ('disk_cache', ctypes.c_int), ('cache_folder', ctypes.c_char_p)]


class Buffer:
    """Bytes that end at a page which cannot be accessed, with a page of a pattern in front."""

    def __init__(self, initial, align):
        size = max(len(initial), 1)
        pages = (size + align + PAGE - 1) // PAGE + 1
        self.map = mmap.mmap(-1, (pages + 1) * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        libc = ctypes.CDLL(None)
        if libc.mprotect(ctypes.c_void_p(base + pages * PAGE), ctypes.c_size_t(PAGE), 0) != 0:
            raise OSError('mprotect')
        offset = (pages * PAGE - len(initial)) // align * align
        self.address, self.base, self.size = base + offset, base, pages * PAGE
        self.initial = b'\xa5' * offset + initial + b'\xa5' * (self.size - offset - len(initial))
        self.offset = offset

    def reset(self):
        ctypes.memmove(self.base, self.initial, self.size)

    def now(self):
        return ctypes.string_at(self.base, self.size)


class Library:
    """liblanewise.so."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ('device_create', 'module_load_file', 'module_kernel', 'error_message'):
            getattr(self.lib, 'lanewise_' + name).restype = ctypes.c_char_p if name == 'error_message' else ctypes.c_void_p
        self.devices = {}

    def error(self):
        return self.lib.lanewise_error_message().decode()

    def run(self, engine, path, case, arguments):
        """None, or what went wrong."""
        kind, simd, general, values = ENGINES[engine]
        os.environ.update(LANEWISE_ASSUME_VALUES=values, LANEWISE_VERIFY='1')
        if engine not in self.devices:
            options = Options(kind, simd, 1, 1, general, 0, None)
            self.devices[engine] = self.lib.lanewise_device_create(ctypes.byref(options))
        device = ctypes.c_void_p(self.devices[engine])
        module = self.lib.lanewise_module_load_file(device, path.encode(), None)
        if not module:
            return self.error()
        kernel = self.lib.lanewise_module_kernel(ctypes.c_void_p(module), b'k')
        if not kernel:
            return self.error()
        three = ctypes.c_uint32 * 3
        status = self.lib.lanewise_kernel_launch(ctypes.c_void_p(kernel), three(*case['grid']), three(*case['block']),
                                                 arguments, len(arguments), None)
        message = None if status == 0 else f'status {status}: {self.error()}'
        self.lib.lanewise_kernel_free(ctypes.c_void_p(kernel))
        self.lib.lanewise_module_free(ctypes.c_void_p(module))
        return message


def buffers_of(case):
    """The bytes of each buffer before the launch, None for other arguments."""
    return [contents(a, random.Random(f'{case["data"]}:{i}')) if 'buffer' in a else None for i, a in enumerate(case['args'])]


def run_in_child(library, case, jobs, engines, say):
    """Runs each code object, (target, level, path), on all engines; says what differs."""
    keep, buffers, arguments = [], [], (Argument * len(case['args']))()
    for i, (a, initial) in enumerate(zip(case['args'], buffers_of(case))):
        if 'buffer' in a:
            base, width = split(a['buffer'])
            align = max(4, struct.calcsize(FORMATS[base]) * (4 if width == 3 else width))
            buffer = Buffer(initial, align)
            buffers.append((i, buffer))
            arguments[i] = Argument(1, buffer.address, 0)
        elif 'lds' in a:
            arguments[i] = Argument(2, None, a['lds'])
        else:
            raw = ctypes.create_string_buffer(struct.pack('<' + FORMATS[a['value']], a['of']))
            keep.append(raw)
            arguments[i] = Argument(0, ctypes.addressof(raw), len(raw) - 1)
    api = Library(library)
    first = None
    for target, level, path in jobs:
        reference = None
        for engine in engines:
            say({'start': [target, level, engine]})
            for _, buffer in buffers:
                buffer.reset()
            message = api.run(engine, path, case, arguments)
            if message:
                say({'wrong': [target, level, engine], 'why': message})
                continue
            result = [buffer.now() for _, buffer in buffers]
            for against, name in ((reference, 'interp'), (first, 'other code')):
                if against is None or (name != 'interp' and (engine != 'interp' or not case['exact'])):
                    continue
                for (i, buffer), old, new in zip(buffers, against, result):
                    if old != new:
                        at = next(k for k in range(len(old)) if old[k] != new[k])
                        count = sum(x != y for x, y in zip(old, new))
                        say({'wrong': [target, level, engine],
                             'why': f'differs from {name}: argument {i} at byte {at - buffer.offset}, {count} bytes in all'})
                        break
            if engine == 'interp':
                reference = result
                first = first or result
    say({'end': True})


def run_case(library, case, jobs, engines, timeout=60):
    """A list of what went wrong, each (target, level, engine, why), of a run in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            run_in_child(library, case, jobs, engines, lambda x: os.write(write, (json.dumps(x) + '\n').encode()))
        except BaseException as error:  # must not get back into the parent's code
            os.write(write, (json.dumps({'wrong': ['', '', 'runner'], 'why': repr(error)}) + '\n').encode())
        os._exit(0)
    os.close(write)
    text, end, killed = b'', time.time() + timeout, False
    while True:
        ready, _, _ = select.select([read], [], [], max(0, end - time.time()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            killed = True
        part = os.read(read, 1 << 16)
        if not part:
            break
        text += part
    os.close(read)
    _, status = os.waitpid(child, 0)
    wrong, running, ended = [], ['', '', 'runner'], False
    for line in text.decode().splitlines():
        said = json.loads(line)
        running = said.get('start', running)
        ended = ended or 'end' in said
        if 'wrong' in said:
            wrong.append((*said['wrong'], said['why']))
    if killed or not ended and not wrong:
        wrong.append((*running, 'takes too long' if killed else f'crashes (status {status})'))
    return wrong


def available(library):
    """Why kernels cannot be compiled or run here, or None."""
    from shutil import which
    if not which('clang-15'):
        return 'clang-15 is not installed'
    bitcode = os.environ.get('ROCM_DEVICE_LIBS', BITCODE)
    if not os.path.isdir(bitcode):
        return f'there is no device library in {bitcode}'
    return None if os.path.exists(library) else f'{library} is not built'


def engines_here(names):
    """Those of the engines that this processor can run."""
    with open('/proc/cpuinfo') as file:
        has = 'avx512f' in file.read()
    return [n for n in names if has or 'avx512' not in n]
