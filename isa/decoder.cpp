#include "isa/decoder.hpp"

#include "isa/decoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace lanewise::isa {
namespace detail {
namespace {

/// In the table of formats: the bits select none.
constexpr auto kNoFormat = static_cast<Encoding>(0xff);

/// The format that the uppermost nine bits of the first dword select.
constexpr Encoding format_of(Target target, unsigned top9) {
  const u32 first = top9 << 23;
  const bool gfx8 = target >= Target::gfx803;
  if (enc::kVop1Prefix.matches(first)) return Encoding::Vop1;
  if (enc::kVopcPrefix.matches(first)) return Encoding::Vopc;
  if (enc::kVop2Prefix.matches(first)) return Encoding::Vop2;
  if (enc::kSop1Prefix.matches(first)) return Encoding::Sop1;
  if (enc::kSopcPrefix.matches(first)) return Encoding::Sopc;
  if (enc::kSoppPrefix.matches(first)) return Encoding::Sopp;
  if (enc::kSopkPrefix.matches(first)) return Encoding::Sopk;
  if (enc::kSop2Prefix.matches(first)) return Encoding::Sop2;
  if (target >= Target::gfx900 && enc::Vop3p::kPrefix.matches(first)) return Encoding::Vop3p;
  if (enc::Vop3::kPrefix.matches(first)) return Encoding::Vop3;
  if (enc::Ds::kPrefix.matches(first)) return Encoding::Ds;
  if (enc::Buffer::kMubufPrefix.matches(first)) return Encoding::Mubuf;
  if (enc::Buffer::kMtbufPrefix.matches(first)) return Encoding::Mtbuf;
  if (enc::Mimg::kPrefix.matches(first)) return Encoding::Mimg;
  if (target >= Target::gfx700 && enc::Flat::kPrefix.matches(first)) return Encoding::Flat;
  if (gfx8 ? enc::Smem::kPrefix.matches(first) : enc::Smrd::kPrefix.matches(first)) return Encoding::Smem;
  if ((gfx8 ? enc::Exp::kPrefixGfx8 : enc::Exp::kPrefixGfx6).matches(first)) return Encoding::Exp;
  if ((gfx8 ? enc::Vintrp::kPrefixGfx8 : enc::Vintrp::kPrefixGfx6).matches(first)) return Encoding::Vintrp;
  return kNoFormat;
}

constexpr auto kFormats = [] {
  std::array<std::array<Encoding, 512>, kNumTargets> all{};
  for (unsigned t = 0; t < kNumTargets; ++t)
    for (unsigned top9 = 0; top9 < 512; ++top9) all[t][top9] = format_of(static_cast<Target>(t), top9);
  return all;
}();

} // namespace

DecodeStatus Decoding::why_refused(unsigned code, const OperandSpec& spec) const {
  const SourceCode& info = codes_[code & 511];
  if (code == enc::kSrcLiteral) return LiteralNotAllowed;
  if (code == kLdsDirect) return LdsDirectMisplaced;
  if (info.kind == OperandKind::None) return code < enc::kSrcInlineZero ? ReservedRegister : ReservedSource;
  if (info.allows & allow_dwords(spec.dwords)) return ReservedSource;
  return info.kind == OperandKind::Sgpr && (code & tuple_alignment(spec.dwords)) ? MisalignedScalar
                                                                                 : RegisterRange;
}

void Decoding::lds_direct(Operand& out, const OperandSpec& spec, bool allowed) {
  if (!allowed || spec.dwords > 1) return fail(LdsDirectMisplaced);
  out.kind = OperandKind::Special;
  out.type = spec.type;
  out.dwords = 1;
  out.index = kLdsDirect;
}

void Decoding::literal(Operand& out, const OperandSpec& spec) {
  if (!has_literal_) {
    has_literal_ = true;
    ++dwords_;
  }
  if (code_.size() < dwords_) return fail(Truncated);
  out.kind = OperandKind::Literal;
  out.type = spec.type;
  out.index = enc::kSrcLiteral;
  out.value = literal_constant(code_[dwords_ - 1], spec.type);
}

inline DecodeStatus Decoding::run() {
  if (code_.empty()) return Truncated;
  const u32 first = code_[0];
  word_ = code_.size() > 1 ? first | u64{code_[1]} << 32 : first;
  switch (kFormats[static_cast<unsigned>(target_)][first >> 23]) {
  case Encoding::Sop2: sop2(); break;
  case Encoding::Sop1: sop1(); break;
  case Encoding::Sopk: sopk(); break;
  case Encoding::Sopc: sopc(); break;
  case Encoding::Sopp: sopp(); break;
  case Encoding::Smem: gfx8_ ? smem() : smrd(); break;
  case Encoding::Vop2: vop2(); break;
  case Encoding::Vop1: vop1(); break;
  case Encoding::Vopc: vopc(); break;
  case Encoding::Vop3: vop3(); break;
  case Encoding::Vop3p: vop3p(); break;
  case Encoding::Vintrp: vintrp(); break;
  case Encoding::Ds: ds(); break;
  case Encoding::Mubuf: mubuf(); break;
  case Encoding::Mtbuf: mtbuf(); break;
  case Encoding::Mimg: mimg(); break;
  case Encoding::Flat: flat(); break;
  case Encoding::Exp: exp(); break;
  default: return UnknownEncoding;
  }
  if (status_ == Ok) check_reserved();
  out_.size = static_cast<u8>(4 * dwords_);
  return status_;
}

} // namespace detail

using enum DecodeStatus;

namespace {

constinit const Inst kBlank{};

/// out = Inst{}, in 16-byte moves: compilers make a slow string instruction of the assignment, which decoding
/// would spend a third of its time in.
void reset(Inst& out) {
  static_assert(sizeof(Inst) % 8 == 0 && std::is_trivially_copyable_v<Inst>);
  auto* to = reinterpret_cast<unsigned char*>(&out);
  const auto* from = reinterpret_cast<const unsigned char*>(&kBlank);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (std::memcpy(to + 16 * I, from + 16 * I, 16), ...);
    if constexpr (sizeof(Inst) % 16) std::memcpy(to + sizeof(Inst) - 8, from + sizeof(Inst) - 8, 8);
  }
  (std::make_index_sequence<sizeof(Inst) / 16>{});
}

} // namespace

[[gnu::flatten]] DecodeStatus decode(Target target, std::span<const u32> code, Inst& out) {
  reset(out);
  return detail::Decoding(target, code, out).run();
}

Result<Inst> decode(Target target, std::span<const u8> bytes) {
  std::array<u32, 3> dwords{};
  const std::size_t count = std::min<std::size_t>(bytes.size() / 4, dwords.size());
  for (std::size_t i = 0; i < count; ++i) dwords[i] = load_le<u32>(bytes.data() + 4 * i);
  Inst inst;
  const DecodeStatus status = decode(target, std::span<const u32>(dwords.data(), count), inst);
  if (status == Ok) return inst;
  std::string words;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 2); ++i)
    words += fmt::format("{}{:08x}", i ? " " : "", dwords[i]);
  return Error{ErrorCode::BadInput,
               fmt::format("{}: not an instruction of {}: {}", words, target_name(target), reason(status))};
}

std::string_view reason(DecodeStatus status) {
  switch (status) {
  case Ok: return "decoded";
  case Truncated: return "the code ends inside the instruction";
  case UnknownEncoding: return "the leading bits select no instruction format";
  case UnknownOpcode: return "the format has no such opcode";
  case UnknownForm: return "the instruction has no such SDWA or DPP form";
  case ReservedSource: return "a source operand has a reserved code";
  case ReservedRegister: return "a scalar register code is reserved";
  case MisalignedScalar: return "a scalar register tuple is not aligned";
  case RegisterRange: return "a register tuple passes the last register";
  case LiteralNotAllowed: return "the format takes no literal constant";
  case LdsDirectMisplaced:
    return "lds_direct is allowed only as the first 32-bit source of a vector instruction";
  case ReservedControl: return "a DPP, SDWA or segment selector has a reserved value";
  case ReservedBits:
    return "bits are set that the instruction does not define, or that contradict each other";
  }
  return "unknown";
}

} // namespace lanewise::isa
