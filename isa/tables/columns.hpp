// Shorthand for the columns of isa/tables/*.inc: operands, and bundles of columns that whole families share.
// Included only where the tables are expanded to rows (isa/rows.cpp), inside namespace lanewise::isa.
// clang-format off

#define OP(...) .opcode = {__VA_ARGS__}
#define VOP3(...) .vop3 = {__VA_ARGS__}
#define NAME(...) .names = {__VA_ARGS__}
#define DST(...) .dst = {{__VA_ARGS__}}
#define SRC(...) .src = {{__VA_ARGS__}}

// Scalar memory (7nm guide 12.6).
#define SMEM_COMMON .counter = Counter::Lgkm
#define SMEM_LOAD(base, type) DST(S(type)), SRC(S(base), SO(B32)), SMEM_COMMON, \
    .memory = {.space = Space::Scalar, .bytes = size_of(type), .load = true}, .hazards = kHzSmem
#define SMEM_STORE(base, type) SRC(S(base), SO(B32), S(type)), SMEM_COMMON, \
    .memory = {.space = Space::Scalar, .bytes = size_of(type), .store = true}, .hazards = kHzSmem
#define SMEM_ATOMIC(base, data, type, kind) DST(S(type)), SRC(S(base), SO(B32), S(data)), SMEM_COMMON, \
    .memory = {.space = Space::Scalar, .bytes = size_of(type), .load = true, .store = true, .atomic = Atomic::kind}, .hazards = kHzSmem
#define SMEM_TIME DST(S(B64)), SMEM_COMMON, .hazards = kHzSmem, .flags = kClock
#define SMEM_ADDRESS(base) SRC(S(base), SO(B32)), SMEM_COMMON, .hazards = kHzSmem, .flags = kDiscard
#define SMEM_PROBE(base) SRC(S(base), SO(B32), I(Imm16)), SMEM_COMMON, .hazards = kHzSmem, .flags = kDiscard
#define SMEM_CACHE SMEM_COMMON, .hazards = kHzSmem, .flags = kInvalidates

// Vector compares (7nm guide 12.9). F compares look at MODE (denormals) and raise exceptions; S signals on quiet NaNs.
#define CMP_COLUMNS(type, class_src1, form, read, write, hz, fl) DST(M), SRC(VS(type), class_src1), .forms = form, \
    .reads = read, .writes = write, .hazards = hz, .flags = kCompare | (fl)
#define CMP_I(type, form)      CMP_COLUMNS(type, V(type), form, kExecReg, kNothing, kHzValuWritesVcc, kNoFlags)
#define CMPX_I(type, form)     CMP_COLUMNS(type, V(type), form, kExecReg, kExecReg, kHzValuWritesVcc | kHzCmpx, kCmpx)
#define CMP_F(type, form)      CMP_COLUMNS(type, V(type), form, kExecReg | kModeReg, kNothing, kHzValuWritesVcc, kFloat | kClamp)
#define CMPX_F(type, form)     CMP_COLUMNS(type, V(type), form, kExecReg | kModeReg, kExecReg, kHzValuWritesVcc | kHzCmpx, kCmpx | kFloat | kClamp)
#define CMPS_F(type, form)     CMP_COLUMNS(type, V(type), form, kExecReg | kModeReg, kNothing, kHzValuWritesVcc, kFloat | kClamp | kSignalling)
#define CMPSX_F(type, form)    CMP_COLUMNS(type, V(type), form, kExecReg | kModeReg, kExecReg, kHzValuWritesVcc | kHzCmpx, kCmpx | kFloat | kClamp | kSignalling)
#define CMP_CLASS(type, form)  CMP_COLUMNS(type, V(U32), form, kExecReg, kNothing, kHzValuWritesVcc, kClassTest)
#define CMP_CLASSX(type, form) CMP_COLUMNS(type, V(U32), form, kExecReg, kExecReg, kHzValuWritesVcc | kHzCmpx, kClassTest | kCmpx)

// LDS and GDS (7nm guide 12.13). Before gfx900 every access is clamped by M0; later only GDS reads it.
#define DS_COMMON .reads = kExecReg | kM0Reg, .counter = Counter::Lgkm
#define DS_MEM(...) DS_COMMON, .memory = {.space = Space::Lds, __VA_ARGS__}
#define DS_ATOMIC(type, kind)      SRC(V(U32), V(type)), DS_MEM(.bytes = size_of(type), .load = false, .store = true, .atomic = Atomic::kind)
#define DS_ATOMIC_RTN(type, kind)  DST(V(type)), SRC(V(U32), V(type)), DS_MEM(.bytes = size_of(type), .load = true, .store = true, .atomic = Atomic::kind)
#define DS_ATOMIC2(type, kind)     SRC(V(U32), V(type), V(type)), DS_MEM(.bytes = size_of(type), .load = false, .store = true, .atomic = Atomic::kind)
#define DS_ATOMIC2_RTN(type, kind) DST(V(type)), SRC(V(U32), V(type), V(type)), DS_MEM(.bytes = size_of(type), .load = true, .store = true, .atomic = Atomic::kind)
#define DS_XCHG2(both, type, unit) DST(V(both)), SRC(V(U32), V(type), V(type)), \
    DS_MEM(.bytes = size_of(type), .load = true, .store = true, .atomic = Atomic::Swap, .pair = unit)
#define DS_SRC2(type, kind)        SRC(V(U32)), DS_MEM(.bytes = size_of(type), .load = false, .store = true, .atomic = Atomic::kind, .src2 = true)
#define DS_WRITE(type, size, which) SRC(V(U32), V(type)), DS_MEM(.bytes = size, .store = true, .half = Half::which)
#define DS_WRITE2(type, unit)      SRC(V(U32), V(type), V(type)), DS_MEM(.bytes = size_of(type), .store = true, .pair = unit)
#define DS_WRITE_SRC2(type)        SRC(V(U32)), DS_MEM(.bytes = size_of(type), .store = true, .src2 = true)
#define DS_WRITE_ADDTID            SRC({}, V(B32)), DS_MEM(.bytes = 4, .store = true), .hazards = kHzM0User, .flags = kAddTid | kLaneId
#define DS_READ(type, size, sx)    DST(V(type)), SRC(V(U32)), DS_MEM(.bytes = size, .load = true, .sign = sx)
#define DS_READ_D16(size, sx, which) DST(RW(V(B32))), SRC(V(U32)), DS_MEM(.bytes = size, .load = true, .sign = sx, .half = Half::which)
#define DS_READ2(both, type, unit) DST(V(both)), SRC(V(U32)), DS_MEM(.bytes = size_of(type), .load = true, .pair = unit)
#define DS_READ_ADDTID             DST(V(B32)), DS_MEM(.bytes = 4, .load = true), .hazards = kHzM0User, .flags = kAddTid | kLaneId
#define DS_SWIZZLE                 DST(V(B32)), SRC(V(B32)), .reads = kExecReg, .counter = Counter::Lgkm, .flags = kCrossLane | kSwizzle
#define DS_PERMUTE                 DST(V(B32)), SRC(V(U32), V(B32)), .reads = kExecReg, .counter = Counter::Lgkm, .flags = kCrossLane | kNoGds
#define DS_COUNT(kind)             DST(V(B32)), DS_MEM(.bytes = 4, .load = true, .store = true, .atomic = Atomic::kind), .flags = kNoData | kCrossLane
#define DS_ORDERED                 DST(V(B32)), SRC(V(U32)), .reads = kExecReg | kM0Reg, .counter = Counter::Lgkm, .memory = {.space = Space::Gds, .bytes = 4}, \
    .hazards = kHzM0User, .flags = kOrdered | kGdsOnly
#define DS_GWS                     SRC(V(U32)), .reads = kExecReg | kM0Reg, .counter = Counter::Lgkm, .hazards = kHzM0User, .flags = kGws | kGdsOnly
#define DS_GWS0                    .reads = kExecReg | kM0Reg, .counter = Counter::Lgkm, .hazards = kHzM0User, .flags = kGws | kGdsOnly | kNoData

// Buffers (7nm guide 12.14, 12.15). Slots: vaddr, srsrc, soffset, data.
#define BUF_ADDRESS V(U32), S(B128), SS(U32)
#define BUF_MEM(...) .reads = kExecReg, .counter = Counter::Vm, .memory = {.space = Space::Buffer, __VA_ARGS__}
#define BUF_LOAD(type, size, sx)    DST(V(type)), SRC(BUF_ADDRESS), BUF_MEM(.bytes = size, .load = true, .sign = sx), .hazards = kHzVmem, .flags = (size) <= 4 ? kCanLds : kNoFlags
#define BUF_LOAD_D16(size, sx, which) DST(RW(V(B32))), SRC(BUF_ADDRESS), BUF_MEM(.bytes = size, .load = true, .sign = sx, .half = Half::which), .hazards = kHzVmem
#define BUF_STORE(type, size, which) SRC(BUF_ADDRESS, V(type)), BUF_MEM(.bytes = size, .store = true, .half = Half::which), \
    .hazards = kHzVmem | ((size) > 8 ? kHzStoreX3 : kHzNone)
#define BUF_ATOMIC(data, type, kind) DST(V(type)), SRC(BUF_ADDRESS, V(data)), \
    BUF_MEM(.bytes = size_of(type), .load = true, .store = true, .atomic = Atomic::kind), .hazards = kHzVmem | (size_of(data) > 8 ? kHzStoreX3 : kHzNone)
#define BUF_FORMAT_LOAD(type, n, fl)  DST(V(type)), SRC(BUF_ADDRESS), BUF_MEM(.load = true, .components = n), .hazards = kHzVmem, .flags = kFormat | (fl)
#define BUF_FORMAT_STORE(type, n, fl) SRC(BUF_ADDRESS, V(type)), BUF_MEM(.store = true, .components = n), .hazards = kHzVmem | ((n) > 2 ? kHzStoreX3 : kHzNone), .flags = kFormat | (fl)
#define BUF_LOAD_FORMAT(type, n)      BUF_FORMAT_LOAD(type, n, (n) == 1 ? kCanLds : kNoFlags)
#define BUF_STORE_FORMAT(type, n)     BUF_FORMAT_STORE(type, n, kNoFlags)
#define BUF_LOAD_FORMAT_D16(n)        BUF_FORMAT_LOAD(d16_type(n), n, kD16)
#define BUF_STORE_FORMAT_D16(n)       BUF_FORMAT_STORE(d16_type(n), n, kD16)
#define BUF_LOAD_FORMAT_D16_HI(n)     DST(RW(V(B32))), SRC(BUF_ADDRESS), BUF_MEM(.load = true, .half = Half::Hi, .components = n), .hazards = kHzVmem, .flags = kFormat | kD16
#define BUF_STORE_FORMAT_D16_HI(n)    SRC(BUF_ADDRESS, V(B32)), BUF_MEM(.store = true, .half = Half::Hi, .components = n), .hazards = kHzVmem, .flags = kFormat | kD16
#define BUF_STORE_LDS                 SRC({}, S(B128), SS(U32)), .reads = kExecReg | kM0Reg, .counter = Counter::VmAndLgkm, \
    .memory = {.space = Space::Buffer, .bytes = 4, .store = true}, .hazards = kHzVmem | kHzM0User, .flags = kNoData | kTiesLds
#define BUF_INVALIDATE                .reads = kNothing, .counter = Counter::Vm, .hazards = kHzVmem, .flags = kInvalidates | kNoData
#define TBUF_LOAD_FORMAT(type, n)     BUF_FORMAT_LOAD(type, n, kNoFlags)
#define TBUF_STORE_FORMAT(type, n)    BUF_FORMAT_STORE(type, n, kNoFlags)
#define TBUF_LOAD_FORMAT_D16(n)       BUF_LOAD_FORMAT_D16(n)
#define TBUF_STORE_FORMAT_D16(n)      BUF_STORE_FORMAT_D16(n)

// FLAT, GLOBAL, SCRATCH (7nm guide 12.18). Slots: vaddr, saddr, data. Flat may touch LDS, so it bumps both counters.
#define MEM_ADDRESS(where) V(Space::where == Space::Scratch ? U32 : U64), \
    (Space::where == Space::Flat ? OperandSpec{} : S(Space::where == Space::Scratch ? B32 : B64))
#define MEM_MEM(where, ...) .reads = static_cast<u16>(Space::where == Space::Global ? kExecReg : kExecReg | kFlatScratchReg), \
    .counter = Space::where == Space::Flat ? Counter::VmAndLgkm : Counter::Vm, .memory = {.space = Space::where, __VA_ARGS__}
#define MEM_LOAD(where, type, size, sx) DST(V(type)), SRC(MEM_ADDRESS(where)), MEM_MEM(where, .bytes = size, .load = true, .sign = sx), .hazards = kHzVmem, \
    .flags = (size) <= 4 && Space::where != Space::Flat ? kCanLds : kNoFlags
#define MEM_LOAD_D16(where, size, sx, which) DST(RW(V(B32))), SRC(MEM_ADDRESS(where)), \
    MEM_MEM(where, .bytes = size, .load = true, .sign = sx, .half = Half::which), .hazards = kHzVmem
#define MEM_STORE(where, type, size, which) SRC(MEM_ADDRESS(where), V(type)), MEM_MEM(where, .bytes = size, .store = true, .half = Half::which), \
    .hazards = kHzVmem | ((size) > 8 ? kHzStoreX3 : kHzNone)
#define MEM_ATOMIC(where, data, type, kind) DST(V(type)), SRC(MEM_ADDRESS(where), V(data)), \
    MEM_MEM(where, .bytes = size_of(type), .load = true, .store = true, .atomic = Atomic::kind), .hazards = kHzVmem | (size_of(data) > 8 ? kHzStoreX3 : kHzNone)

// Images (7nm guide 12.16). Slots: vaddr, srsrc, ssamp, data; the data's width comes from dmask.
#define IMG_MEM(...) .reads = kExecReg, .counter = Counter::Vm, .memory = {.space = Space::Image, __VA_ARGS__}
#define IMG_LOAD(bits)   DST(V(B32)), SRC(V(B32), S(B256)), IMG_MEM(.load = true), .image = bits, .hazards = kHzVmem, .flags = kFormat
#define IMG_STORE(bits)  SRC(V(B32), S(B256), {}, V(B32)), IMG_MEM(.store = true), .image = bits, .hazards = kHzVmem | kHzStoreX3, .flags = kFormat
#define IMG_SAMPLE(bits) DST(V(B32)), SRC(V(B32), S(B256), S(B128)), IMG_MEM(.load = true), .image = bits, .hazards = kHzVmem, .flags = kFormat
#define IMG_ATOMIC(kind) DST(V(B32)), SRC(V(B32), S(B256), {}, V(B32)), IMG_MEM(.load = true, .store = true, .atomic = Atomic::kind), .hazards = kHzVmem | kHzStoreX3
#define IMG_RESINFO      DST(V(B32)), SRC(V(B32), S(B256)), .reads = kExecReg, .counter = Counter::Vm, .image = kImgMip | kImgQuery, .hazards = kHzVmem
#define IMG_LOD          DST(V(B32)), SRC(V(B32), S(B256), S(B128)), .reads = kExecReg, .counter = Counter::Vm, .image = kImgSampler | kImgQuery, .hazards = kHzVmem
