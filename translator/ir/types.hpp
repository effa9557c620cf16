// Types and attributes of the IR. docs/IR.md gives every op its exact meaning.
#pragma once

#include "support/bits.hpp"
#include "support/ids.hpp"

namespace lanewise::ir {

/// The type of a value. U* are one per wave ("uniform"), G* one per gang, Mask and V* one per lane.
enum class Type : u8 { None, U1, U32, U64, Mask, V32, V64, G1, G32, G64 };

constexpr bool is_uniform(Type t) { return t == Type::U1 || t == Type::U32 || t == Type::U64; }
constexpr bool is_gang(Type t) { return t == Type::G1 || t == Type::G32 || t == Type::G64; }
constexpr bool is_scalar(Type t) { return is_uniform(t) || is_gang(t); }
constexpr bool is_vector(Type t) { return t == Type::V32 || t == Type::V64; }
constexpr bool is_per_lane(Type t) { return is_vector(t) || t == Type::Mask; }
constexpr bool is_wide(Type t) { return t == Type::U64 || t == Type::V64 || t == Type::G64; }
/// The type of a value of `t` that is the same in the whole wave. Not for masks and conditions.
constexpr Type uniform_of(Type t) { return is_wide(t) ? Type::U64 : Type::U32; }
/// The type of a value of `t` if it may differ from lane to lane.
constexpr Type per_lane_of(Type t) {
  return t == Type::U32 ? Type::V32 : t == Type::U64 ? Type::V64 : t == Type::U1 ? Type::Mask : t;
}

using ValueId = Id<struct ValueTag>;
using InstId = Id<struct InstTag>;
using BlockId = Id<struct BlockTag>;

/// Floating-point format of an F* op. F16 lives in the low half of a V32; results have a zero high half.
enum class FloatKind : u8 { F16, F32, F64 };

/// Rounding, in MODE's encoding (7nm guide 6.4).
enum class Round : u8 { NearestEven, PlusInf, MinusInf, Zero };

/// Everything about MODE that a floating-point op depends on, fixed when the op is lifted.
struct FpAttr {
  FloatKind kind = FloatKind::F32;
  Round round = Round::NearestEven;
  bool flush_in = false;  ///< denormal inputs count as zero of their sign
  bool flush_out = false; ///< denormal results become zero of their sign
  bool ieee = false;      ///< MODE.IEEE: min/max/med3 quiet signalling NaNs as IEEE 754-2008 minNum wants
  bool dx10_clamp = true; ///< MODE.DX10_CLAMP: clamp turns NaN into 0
  friend bool operator==(const FpAttr&, const FpAttr&) = default;
};

/// Comparison predicates. Integer: Eq..SGe. Float: the 16 of VOPC, as the set {lt=1, eq=2, gt=4, unordered=8}
/// of outcomes.
enum class IntPred : u8 { Eq, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe };
using FloatPred = u8; ///< bit 0 less, bit 1 equal, bit 2 greater, bit 3 unordered

/// True where `p` is false.
constexpr IntPred inverse(IntPred p) {
  using enum IntPred;
  constexpr IntPred kInverse[] = {Ne, Eq, UGe, UGt, ULe, ULt, SGe, SGt, SLe, SLt};
  return kInverse[static_cast<unsigned>(p)];
}
/// `p` of the operands in the other order.
constexpr IntPred swapped(IntPred p) {
  using enum IntPred;
  constexpr IntPred kSwapped[] = {Eq, Ne, UGt, UGe, ULt, ULe, SGt, SGe, SLt, SLe};
  return kSwapped[static_cast<unsigned>(p)];
}

/// An order of numbers without a sign.
constexpr bool is_unsigned(IntPred p) { return p >= IntPred::ULt && p <= IntPred::UGe; }

/// Which memory an access means.
enum class Space : u8 {
  Global,    ///< address: V64, a host address
  Flat,      ///< address: V64; the apertures mean LDS and scratch
  Lds,       ///< address: V32, bytes from the workgroup's LDS base; out of range reads 0, writes are dropped
  Gds,       ///< likewise, device-wide
  Scratch,   ///< address: V32, bytes in the lane's private memory (swizzled, see runtime/wave.hpp)
  Buffer,    ///< operands vindex V32, voffset V32, then V# words U32 x4, soffset U32
  Registers, ///< address: U32, the number of a row; the VGPRs of a wave that are indexed at run time
};

/// Read-modify-write operations (docs/IR.md).
enum class AtomicOp : u8 {
  Swap,
  Cmpswap,
  Add,
  Sub,
  Rsub,
  SMin,
  UMin,
  SMax,
  UMax,
  And,
  Or,
  Xor,
  Inc,
  Dec,
  FAdd,
  FMin,
  FMax,
  FCmpswap,
  Mskor,
  Wrap,
  RFAdd ///< FAdd, but of two NaNs the data's is the result
};

/// Whether an atomic has a second operand behind its data: the value to compare with, bits to set, what to
/// add.
constexpr bool takes_two(AtomicOp op) {
  return op == AtomicOp::Cmpswap || op == AtomicOp::FCmpswap || op == AtomicOp::Mskor || op == AtomicOp::Wrap;
}

/// How the addresses of a vector memory access are given.
enum class AddressForm : u8 {
  Lanes,   ///< one operand: the address of each lane
  Row,     ///< one scalar operand: where lane 0 of the gang goes; lane l goes l * stride bytes further
  Wrapped, ///< scalar base and 32-bit scalar index: lane l goes to base + (ext(index + l * step) << scale)
  Indexed, ///< scalar base and v32 index: lane l goes to base + (ext(index) << scale)
};

/// In every so many lanes, 16 or 8, how many elements behind the lowest of them each one loads.
struct LanePlaces {
  u8 row = 0;
  u64 digits = 0; ///< four bits for each lane
  [[nodiscard]] constexpr u32 of(u32 lane) const { return digits >> (4 * (lane % row)) & 15; }
  /// Whether each lane of the row has one of its elements, and there are no other lanes.
  [[nodiscard]] constexpr bool are_in_row() const {
    return row == 16 || (row == 8 && (digits & ~u64{0x7777'7777}) == 0);
  }
  friend bool operator==(const LanePlaces&, const LanePlaces&) = default;
};

/// A vector memory access. `bytes` is per lane and per element: 1, 2, 4, 8, 12 or 16.
struct MemAttr {
  Space space = Space::Global;
  u8 bytes = 4;
  bool sign_extend = false; ///< 1- and 2-byte loads: sign- instead of zero-extended to 32 bits
  AtomicOp atomic = AtomicOp::Add;
  FloatKind kind = FloatKind::F32; ///< of the float atomics
  bool returns = false;            ///< the atomic's old value is used
  u8 retry = 0; ///< number of the loop that each gang may run alone, if it belongs to one that retries a
                ///< compare-and-swap (passes/retry_loops.cpp)
  bool awaited = false;  ///< the wave may wait for the atomic before it tells others something, or for the
                         ///< store before it looks what others have stored (lift/waits.hpp)
  bool deferred = false; ///< the sum may be added to memory later (passes/defer_adds.cpp)
  // Buffer only
  bool idxen = false, offen = false, addr64 = false;
  AddressForm form = AddressForm::Lanes;
  bool index_sign = false; ///< Wrapped, Indexed: ext is sign extension
  bool wave_row = false;   ///< Row, Wrapped: the stride goes on from gang to gang, through the whole wave
  bool in_range = false;   ///< in the LDS, or a Row of whole private dwords: known to be inside
  bool spread = false;     ///< of the mask's only lane, if it has one; all lanes of its gang have address and
                           ///< data, and get the result (phases/one_lane.hpp)
  u8 apart = 0;   ///< no conflict with others that have the same number, if not 0 (phases/disjoint_rows.hpp,
                  ///< walks.hpp)
  u8 scale = 0;   ///< Wrapped, Indexed
  u8 table = 0;   ///< Indexed loads: no lane goes beyond so many dwords from the base; 0 if that is unknown
  i16 stride = 0; ///< Row: bytes from lane to lane; Wrapped: step, in units of the index
  u8 short_row = 0;     ///< Lanes, Indexed: in every so many lanes, 8 or 4, addresses (indices) change by
                        ///< short_stride per lane; 0 if that is not known
  i16 short_stride = 0; ///< bytes, or units of the index
  u8 places = 0; ///< Lanes, Indexed loads: number of the function's LanePlaces; 0 if they are not known
  bool coherent = false;            ///< a load that wants to see what other workgroups have stored (glc)
  bool public_only : 1 = false;     ///< Flat: does not go to private memory (passes/stack_pointers.hpp)
  bool streams : 1 = false;         ///< a store past the caches (passes/stream_stores.cpp)
  bool masked_in_range : 1 = false; ///< a Row in the LDS without gaps: lanes that take part are inside
  bool exact : 1 = false;           ///< and no index of a short row, or of places, wraps
  bool listed : 1 = false;          ///< lanes stand for others (Op::StandFor); so they do in all of its block
  u8 first_lanes_width : 3 = 0;     ///< of first_lanes() in bits
  u8 element : 5 = 0; ///< bytes of what each lane accesses at once, if less than all: else what several
                      ///< rounds do (phases/walks.hpp) would fault as a whole
  bool any_lanes : 1 = false; ///< a load of a Row in the LDS: what lanes outside the mask get is not looked
                              ///< at, and can be read
  bool may_tear : 1 = false;  ///< address is not known to be naturally aligned (informational)
  /// Row in the LDS: none of a gang's lanes from this one on takes part; 0 if that is not known.
  [[nodiscard]] constexpr u32 first_lanes() const { return (1u << first_lanes_width) / 2; }
  friend bool operator==(const MemAttr&, const MemAttr&) = default;
};

} // namespace lanewise::ir
