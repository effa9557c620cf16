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

/// The formats, as the uppermost nine bits of the first dword tell them apart.
enum class Format : u8 {
  None,
  Sop2,
  Sop1,
  Sopk,
  Sopc,
  Sopp,
  Smrd,
  Smem,
  Vop2,
  Vop1,
  Vopc,
  Vop3,
  Vop3p,
  Vintrp,
  Ds,
  Mubuf,
  Mtbuf,
  Mimg,
  Flat,
  Exp
};

constexpr Format format_of(Target target, unsigned top9) {
  const u32 first = top9 << 23;
  const bool gfx8 = target >= Target::gfx803;
  if (enc::kVop1Prefix.matches(first)) return Format::Vop1;
  if (enc::kVopcPrefix.matches(first)) return Format::Vopc;
  if (enc::kVop2Prefix.matches(first)) return Format::Vop2;
  if (enc::kSop1Prefix.matches(first)) return Format::Sop1;
  if (enc::kSopcPrefix.matches(first)) return Format::Sopc;
  if (enc::kSoppPrefix.matches(first)) return Format::Sopp;
  if (enc::kSopkPrefix.matches(first)) return Format::Sopk;
  if (enc::kSop2Prefix.matches(first)) return Format::Sop2;
  if (target >= Target::gfx900 && enc::Vop3p::kPrefix.matches(first)) return Format::Vop3p;
  if (enc::Vop3::kPrefix.matches(first)) return Format::Vop3;
  if (enc::Ds::kPrefix.matches(first)) return Format::Ds;
  if (enc::Buffer::kMubufPrefix.matches(first)) return Format::Mubuf;
  if (enc::Buffer::kMtbufPrefix.matches(first)) return Format::Mtbuf;
  if (enc::Mimg::kPrefix.matches(first)) return Format::Mimg;
  if (target >= Target::gfx700 && enc::Flat::kPrefix.matches(first)) return Format::Flat;
  if (gfx8 ? enc::Smem::kPrefix.matches(first) : enc::Smrd::kPrefix.matches(first))
    return gfx8 ? Format::Smem : Format::Smrd;
  if ((gfx8 ? enc::Exp::kPrefixGfx8 : enc::Exp::kPrefixGfx6).matches(first)) return Format::Exp;
  if ((gfx8 ? enc::Vintrp::kPrefixGfx8 : enc::Vintrp::kPrefixGfx6).matches(first)) return Format::Vintrp;
  return Format::None;
}

constexpr auto kFormats = [] {
  std::array<std::array<Format, 512>, kNumTargets> all{};
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
  case Format::None: return UnknownEncoding;
  case Format::Sop2: sop2(); break;
  case Format::Sop1: sop1(); break;
  case Format::Sopk: sopk(); break;
  case Format::Sopc: sopc(); break;
  case Format::Sopp: sopp(); break;
  case Format::Smrd: smrd(); break;
  case Format::Smem: smem(); break;
  case Format::Vop2: vop2(); break;
  case Format::Vop1: vop1(); break;
  case Format::Vopc: vopc(); break;
  case Format::Vop3: vop3(); break;
  case Format::Vop3p: vop3p(); break;
  case Format::Vintrp: vintrp(); break;
  case Format::Ds: ds(); break;
  case Format::Mubuf: mubuf(); break;
  case Format::Mtbuf: mtbuf(); break;
  case Format::Mimg: mimg(); break;
  case Format::Flat: flat(); break;
  case Format::Exp: exp(); break;
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
