#include "isa/decoder.hpp"

#include "isa/decoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace lanewise::isa {
namespace detail {

DecodeStatus Decoding::why_refused(unsigned code, const OperandPlan& plan, const SourceCode& info) {
  if (code == enc::kSrcLiteral) return LiteralNotAllowed;
  if (code == kLdsDirect) return LdsDirectMisplaced;
  if (info.kind() == OperandKind::None) return code < enc::kSrcInlineZero ? ReservedRegister : ReservedSource;
  if (!(info.forbids & allow_dwords(plan.dwords))) return ReservedSource;
  return info.kind() == OperandKind::Sgpr && (code & tuple_alignment(plan.dwords)) ? MisalignedScalar
                                                                                   : RegisterRange;
}

void Decoding::special(Operand& out, unsigned code, const OperandPlan& plan, Extras extras,
                       const SourceCode& info) {
  const bool takes_constants = plan.set == OperandSet::ScalarSource || plan.set == OperandSet::Any;
  if (code == enc::kSrcLiteral && extras.literal && takes_constants) return literal(out, plan.type);
  if (code != kLdsDirect || !extras.lds_direct || plan.set == OperandSet::ScalarSource || plan.dwords > 1)
    return fail(why_refused(code, plan, info));
  out = {.kind = OperandKind::Special, .type = plan.type, .dwords = 1, .index = kLdsDirect};
}

/// All operands that say literal share the dword behind the first, since only 32-bit formats have literals.
void Decoding::literal(Operand& out, OperandType type) {
  if (code_.size() < 2) return fail(Truncated);
  out_.size = 8;
  out = {.kind = OperandKind::Literal,
         .type = type,
         .index = enc::kSrcLiteral,
         .value = literal_constant(code_[1], type)};
}

namespace {

using Decoder = DecodeStatus (*)(std::span<const u32> code, u64 word, Inst& out);

template <void (Decoding::*format)()>
[[gnu::noinline, gnu::cold]] DecodeStatus run_carefully(Target target, std::span<const u32> code, u64 word,
                                                        Inst& out) {
  Decoding decoding(target, code, word, out, true);
  (decoding.*format)();
  return decoding.status();
}

/// One function per target, whose tables thus have fixed addresses.
template <Target target, void (Decoding::*format)()>
[[gnu::flatten]] DecodeStatus run(std::span<const u32> code, u64 word, Inst& out) {
  Decoding decoding(target, code, word, out, false);
  (decoding.*format)();
  return decoding.all_well() ? Ok : run_carefully<format>(target, code, word, out);
}

DecodeStatus no_format(std::span<const u32>, u64, Inst&) { return UnknownEncoding; }

/// The function that decodes what the uppermost nine bits of the first dword select.
template <Target target>
constexpr Decoder decoder_of(unsigned top9) {
  const u32 first = top9 << 23;
  const bool gfx8 = target >= Target::gfx803;
  if (enc::kVop1Prefix.matches(first)) return run<target, &Decoding::vop1>;
  if (enc::kVopcPrefix.matches(first)) return run<target, &Decoding::vopc>;
  if (enc::kVop2Prefix.matches(first)) return run<target, &Decoding::vop2>;
  if (enc::kSop1Prefix.matches(first)) return run<target, &Decoding::sop1>;
  if (enc::kSopcPrefix.matches(first)) return run<target, &Decoding::sopc>;
  if (enc::kSoppPrefix.matches(first)) return run<target, &Decoding::sopp>;
  if (enc::kSopkPrefix.matches(first)) return run<target, &Decoding::sopk>;
  if (enc::kSop2Prefix.matches(first)) return run<target, &Decoding::sop2>;
  if (target >= Target::gfx900 && enc::Vop3p::kPrefix.matches(first)) return run<target, &Decoding::vop3p>;
  if (enc::Vop3::kPrefix.matches(first)) return run<target, &Decoding::vop3>;
  if (enc::Ds::kPrefix.matches(first)) return run<target, &Decoding::ds>;
  if (enc::Buffer::kMubufPrefix.matches(first)) return run<target, &Decoding::mubuf>;
  if (enc::Buffer::kMtbufPrefix.matches(first)) return run<target, &Decoding::mtbuf>;
  if (enc::Mimg::kPrefix.matches(first)) return run<target, &Decoding::mimg>;
  if (target >= Target::gfx700 && enc::Flat::kPrefix.matches(first)) return run<target, &Decoding::flat>;
  if (gfx8 && enc::Smem::kPrefix.matches(first)) return run<target, &Decoding::smem>;
  if (!gfx8 && enc::Smrd::kPrefix.matches(first)) return run<target, &Decoding::smrd>;
  if ((gfx8 ? enc::Exp::kPrefixGfx8 : enc::Exp::kPrefixGfx6).matches(first))
    return run<target, &Decoding::exp>;
  if ((gfx8 ? enc::Vintrp::kPrefixGfx8 : enc::Vintrp::kPrefixGfx6).matches(first))
    return run<target, &Decoding::vintrp>;
  return no_format;
}

template <Target target>
constexpr std::array<Decoder, 512> decoders() {
  std::array<Decoder, 512> all{};
  for (unsigned top9 = 0; top9 < all.size(); ++top9) all[top9] = decoder_of<target>(top9);
  return all;
}

constexpr std::array<std::array<Decoder, 512>, kNumTargets> kDecoders = {
    decoders<Target::gfx600>(), decoders<Target::gfx700>(), decoders<Target::gfx803>(),
    decoders<Target::gfx900>(), decoders<Target::gfx906>()};

} // namespace
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

DecodeStatus decode(Target target, std::span<const u32> code, Inst& out) {
  if (code.empty()) return Truncated;
  reset(out);
  const u32 first = code[0];
  const u64 word = code.size() > 1 ? first | u64{code[1]} << 32 : first;
  return detail::kDecoders[static_cast<unsigned>(target)][first >> 23](code, word, out);
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
