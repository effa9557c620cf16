#include "isa/disasm.hpp"

#include "isa/encoding.hpp"
#include "isa/registers.hpp"
#include "isa/symbols.hpp"

#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <utility>

namespace lanewise::isa {
namespace {

/// One instruction being printed: operands separated by commas, then modifiers.
class Printer {
public:
  Printer(std::string& out, const Inst& inst, Target target, const TextOptions& options)
      : out_(out), inst_(inst), row_(row_of(inst.op)), mods_(inst.mods), target_(target), options_(options) {}

  void run();

private:
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void flag(bool on, std::string_view name) {
    if (!on) return;
    out_ += ' ';
    out_ += name;
  }
  void separator() { out_ += std::exchange(first_, false) ? " " : ", "; }
  void operand(const Operand& operand) {
    separator();
    append_operand(out_, operand, target_, options_.lit);
  }
  void present(const Operand& op) {
    if (!op.is(OperandKind::None)) operand(op);
  }
  /// A register tuple printed with another width than the operand's (tfe's extra register, r128).
  void tuple(Operand op, unsigned dwords) {
    op.dwords = static_cast<u8>(dwords);
    operand(op);
  }
  /// The constant that v_madmk and the like carry: always hexadecimal.
  void constant(const Operand& op) {
    separator();
    print("{:#x}", op.value);
  }

  void scalar();
  void scalar_memory();
  void vector();
  void interpolation();
  void ds();
  void buffer();
  void image();
  void flat();
  void export_();

  void source(const Operand& operand);
  void op_sel_list(std::string_view name, unsigned bits, unsigned count, unsigned otherwise);
  void vop3_modifiers();
  void packed_modifiers();
  void sdwa_modifiers();
  void dpp_modifiers();
  void offset();
  void cache_bits();
  void buffer_format();
  void swizzle();

  std::string& out_;
  const Inst& inst_;
  const Row& row_;
  const Modifiers& mods_;
  const Target target_;
  const TextOptions& options_;
  bool first_ = true;
};

// ---------------------------------------------------------------- scalar

void Printer::scalar() {
  if (row_.has(kEndPgm)) { // The operand is optional, and decimal.
    if (inst_.src[0].value) print(" {}", inst_.src[0].value);
    return;
  }
  const bool reversed = row_.has(kRegWrite); // s_setreg names the register first.
  for (const Operand& dst : inst_.dst) present(dst);
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned slot = reversed ? 1 - i : i;
    const Operand& op = inst_.src[slot];
    if (op.is(OperandKind::None)) continue;
    const bool compare_immediate = inst_.encoding == Encoding::Sopk && op.type == OperandType::Imm16;
    separator();
    if (op.type == OperandType::Label && !options_.label.empty())
      out_ += options_.label;
    else if (compare_immediate)
      print("{:#x}", op.value);
    else // K is a literal in any case.
      append_operand(out_, op, target_, options_.lit && row_.src[slot].cls != OperandClass::K);
  }
}

void Printer::scalar_memory() {
  const Operand& offset = inst_.src[1];
  if (inst_.src[2].is(OperandKind::Imm))
    present(inst_.src[2]); // s_atc_probe
  else
    present(inst_.src[2].is(OperandKind::None) ? inst_.dst[0] : inst_.src[2]);
  present(inst_.src[0]);
  const i64 unit =
      target_ >= Target::gfx803 ? 1 : 4; // LLVM prints the field, which counts dwords on gfx6 and gfx7.
  if (offset.is(OperandKind::Imm) || offset.is(OperandKind::Literal)) {
    const i64 value = static_cast<i64>(offset.value) / unit;
    const bool lit = options_.lit && offset.is(OperandKind::Literal) && value <= enc::Smrd::kMaxOffset;
    separator();
    print("{}{}{:#x}{}", lit ? "lit(" : "", value < 0 ? "-" : "", value < 0 ? -value : value, lit ? ")" : "");
  } else {
    present(offset);
  }
  if (mods_.sgpr_and_imm) print(" offset:{}{:#x}", mods_.offset < 0 ? "-" : "", std::abs(mods_.offset));
  flag(mods_.glc, "glc");
}

// ---------------------------------------------------------------- vector ALU

void Printer::source(const Operand& op) {
  separator();
  if (op.sext) {
    out_ += "sext(";
    append_operand(out_, op, target_, options_.lit);
    out_ += ')';
    return;
  }
  const bool vop3p = inst_.encoding == Encoding::Vop3p && !row_.has(kMixed);
  const bool neg = op.neg && !vop3p; // neg_lo of packed instructions is a list of its own
  const bool wrap = neg && !op.abs && op.is_constant();
  out_ += wrap ? "neg(" : neg ? "-" : "";
  if (op.abs) out_ += '|';
  append_operand(out_, op, target_, options_.lit);
  if (op.abs) out_ += '|';
  if (wrap) out_ += ')';
}

/// ` name:[1,0,1]` unless every bit is `otherwise`.
void Printer::op_sel_list(std::string_view name, unsigned bits, unsigned count, unsigned otherwise) {
  const unsigned all = (1u << count) - 1;
  if ((bits & all) == (otherwise ? all : 0)) return;
  print(" {}:[", name);
  for (unsigned i = 0; i < count; ++i) print("{}{}", i ? "," : "", bits >> i & 1);
  out_ += ']';
}

unsigned count_sources(const Inst& inst) {
  unsigned count = 0;
  for (const Operand& op : inst.src) count += !op.is(OperandKind::None);
  return count;
}

void Printer::vop3_modifiers() {
  static constexpr std::string_view kOmods[] = {"", "mul:2", "mul:4", "div:2"};
  if (mods_.op_sel) {
    const unsigned count = count_sources(inst_);
    const unsigned bits = (mods_.op_sel & ((1u << count) - 1)) | (mods_.op_sel >> 3 & 1u) << count;
    op_sel_list("op_sel", bits, count + 1, 0);
  }
  flag(mods_.clamp, "clamp");
  if (mods_.omod) print(" {}", kOmods[mods_.omod]);
}

void Printer::packed_modifiers() {
  const unsigned count = count_sources(inst_);
  op_sel_list("op_sel", mods_.op_sel, count, 0);
  op_sel_list("op_sel_hi", mods_.op_sel_hi, count, row_.has(kMixed) ? 0 : 1);
  if (!row_.has(kMixed)) {
    unsigned neg_lo = 0;
    for (unsigned i = 0; i < 3; ++i) neg_lo |= unsigned{inst_.src[i].neg} << i;
    op_sel_list("neg_lo", neg_lo, count, 0);
    op_sel_list("neg_hi", mods_.neg_hi, count, 0);
  }
  flag(mods_.clamp, "clamp");
}

void Printer::sdwa_modifiers() {
  const auto sel = [](SdwaSel s) { return sdwa_sel_symbols()[static_cast<unsigned>(s)].name; };
  vop3_modifiers();
  if (row_.encoding != Encoding::Vopc)
    print(" dst_sel:{} dst_unused:{}", sel(mods_.dst_sel), dst_unused_symbols()[mods_.dst_unused].name);
  if (row_.src[0].present()) print(" src0_sel:{}", sel(inst_.src[0].sel));
  if (row_.src[1].present()) print(" src1_sel:{}", sel(inst_.src[1].sel));
}

void Printer::dpp_modifiers() {
  const DppName name = dpp_name(mods_.dpp_ctrl);
  print(" {}", name.name);
  if (mods_.dpp_ctrl <= 0xff) {
    const unsigned q = mods_.dpp_ctrl;
    print(":[{},{},{},{}]", q & 3, q >> 2 & 3, q >> 4 & 3, q >> 6 & 3);
  } else if (name.amount >= 0) {
    print(":{}", name.amount);
  }
  print(" row_mask:{:#x} bank_mask:{:#x}", mods_.row_mask, mods_.bank_mask);
  flag(mods_.bound_ctrl, "bound_ctrl:1");
}

void Printer::vector() {
  for (const Operand& dst : inst_.dst) present(dst);
  for (unsigned i = 0; i < inst_.src.size(); ++i) {
    if (row_.src[i].cls == OperandClass::K)
      constant(inst_.src[i]);
    else if (!inst_.src[i].is(OperandKind::None))
      source(inst_.src[i]);
  }
  if (inst_.encoding == Encoding::Vop3p)
    packed_modifiers();
  else if (inst_.form == Form::Sdwa)
    sdwa_modifiers();
  else if (inst_.form == Form::Dpp)
    dpp_modifiers();
  else
    vop3_modifiers();
}

void Printer::interpolation() {
  operand(inst_.dst[0]);
  source(inst_.src[0]);
  separator();
  print("attr{}.{}", mods_.attr, "xyzw"[mods_.attr_chan]);
  if (!inst_.src[1].is(OperandKind::None)) source(inst_.src[1]);
  flag(mods_.high, "high");
  vop3_modifiers();
}

// ---------------------------------------------------------------- LDS

/// ds_swizzle's offset, in the symbolic forms that LLVM prefers (7nm guide 12.13.1).
void Printer::swizzle() {
  const auto imm = static_cast<u16>(mods_.offset);
  if (imm == 0) return;
  out_ += " offset:";
  if ((imm & 0xff00) == 0x8000) { // quad permutation
    print("swizzle(QUAD_PERM,{},{},{},{})", imm & 3, imm >> 2 & 3, imm >> 4 & 3, imm >> 6 & 3);
    return;
  }
  const unsigned and_mask = imm & 31, or_mask = imm >> 5 & 31, xor_mask = imm >> 10 & 31;
  // Only the number reads back where a pattern can be said in more than one way.
  const unsigned constant = ~and_mask & 31;
  if (imm & 0x8000 || or_mask & and_mask || xor_mask & constant) {
    print("{}", imm);
    return;
  }
  if (and_mask == 31 && or_mask == 0 && std::has_single_bit(xor_mask)) {
    print("swizzle(SWAP,{})", xor_mask);
    return;
  }
  if (and_mask == 31 && or_mask == 0 && xor_mask > 0 && std::has_single_bit(xor_mask + 1)) {
    print("swizzle(REVERSE,{})", xor_mask + 1);
    return;
  }
  const unsigned group = 32 - and_mask; // and_mask == -group (mod 32)
  if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0) {
    print("swizzle(BROADCAST,{},{})", group, or_mask);
    return;
  }
  out_ += "swizzle(BITMASK_PERM,\"";
  for (unsigned bit = 16; bit; bit >>= 1) {
    const bool zero = (((0 & and_mask) | or_mask) ^ xor_mask) & bit,
               one = (((bit & and_mask) | or_mask) ^ xor_mask) & bit;
    out_ += zero == one ? (zero ? '1' : '0') : (zero ? 'i' : 'p');
  }
  out_ += "\")";
}

void Printer::ds() {
  present(inst_.dst[0]);
  for (const Operand& src : inst_.src) present(src);
  if (row_.memory.pair) {
    if (mods_.offset) print(" offset0:{}", mods_.offset);
    if (mods_.offset1) print(" offset1:{}", mods_.offset1);
  } else if (row_.has(kSwizzle)) {
    swizzle();
  } else {
    offset();
  }
  flag(mods_.gds, "gds");
}

// ---------------------------------------------------------------- vector memory

void Printer::offset() {
  if (!mods_.offset) return;
  out_ += " offset:";
  const fmt::format_int digits(mods_.offset);
  out_.append(digits.data(), digits.size());
}

void Printer::cache_bits() {
  flag(mods_.glc, "glc");
  flag(mods_.slc, "slc");
}

void Printer::buffer_format() {
  if (inst_.encoding != Encoding::Mtbuf) return;
  constexpr unsigned kDefaultDfmt = 1, kDefaultNfmt = 0;
  const bool dfmt = mods_.dfmt != kDefaultDfmt, nfmt = mods_.nfmt != kDefaultNfmt;
  if (!dfmt && !nfmt) return;
  print(" format:[{}{}{}]", dfmt ? symbol_name(dfmt_symbols(), mods_.dfmt, target_) : "",
        dfmt && nfmt ? "," : "", nfmt ? symbol_name(nfmt_symbols(), mods_.nfmt, target_) : "");
}

void Printer::buffer() {
  if (row_.has(kInvalidates)) return;
  const bool store_lds = row_.has(kTiesLds);
  if (!row_.has(kNoData) && !mods_.lds) {
    const Operand& value = inst_.src[3].is(OperandKind::None) ? inst_.dst[0] : inst_.src[3];
    tuple(value, value.dwords - unsigned{mods_.tfe && &value == &inst_.dst[0]});
  }
  if (row_.src[0].present()) operand(inst_.src[0]);
  operand(inst_.src[1]);
  operand(inst_.src[2]);
  buffer_format();
  flag(mods_.idxen, "idxen");
  flag(mods_.offen, "offen");
  flag(mods_.addr64, "addr64");
  offset();
  flag(store_lds, "lds");
  cache_bits();
  flag(mods_.lds && !store_lds, "lds");
  flag(mods_.tfe, "tfe");
}

void Printer::image() {
  const Operand& value = inst_.src[3].is(OperandKind::None) ? inst_.dst[0] : inst_.src[3];
  // LLVM counts the register of tfe for stores too, which do not have it; there may be none left.
  const bool extra = mods_.tfe && &value == &inst_.src[3] && value.index + value.dwords < 256;
  tuple(value, value.dwords + unsigned{extra});
  operand(inst_.src[0]);
  // LLVM names eight registers even with r128, if there are as many.
  tuple(inst_.src[1], sgpr_run(target_, inst_.src[1].index) >= 8 ? 8 : inst_.src[1].dwords);
  present(inst_.src[2]);
  if (mods_.dmask) print(" dmask:{:#x}", mods_.dmask);
  flag(mods_.unorm, "unorm");
  cache_bits();
  flag(mods_.r128, "r128");
  flag(mods_.a16, "a16");
  flag(mods_.tfe, "tfe");
  flag(mods_.lwe, "lwe");
  flag(mods_.da, "da");
  flag(mods_.d16, "d16");
}

void Printer::flat() {
  if (!inst_.dst[0].is(OperandKind::None)) tuple(inst_.dst[0], inst_.dst[0].dwords - unsigned{mods_.tfe});
  operand(inst_.src[0]);
  present(inst_.src[2]);
  if (row_.src[1].present()) operand(inst_.src[1]);
  offset();
  cache_bits();
  flag(mods_.tfe, "tfe");
  flag(mods_.lds, "lds");
}

void Printer::export_() {
  const unsigned target = mods_.exp_target;
  if (target < 8)
    print(" mrt{}", target);
  else if (target == 8)
    print(" mrtz");
  else if (target == 9)
    print(" null");
  else if (target >= 12 && target < 16)
    print(" pos{}", target - 12);
  else if (target >= 32)
    print(" param{}", target - 32);
  else
    print(" invalid_target_{}", target);
  first_ = true;
  for (const Operand& src : inst_.src) operand(src);
  flag(mods_.exp_done, "done");
  flag(mods_.exp_compr, "compr");
  flag(mods_.exp_vm, "vm");
}

// ---------------------------------------------------------------- dispatch

/// The form's suffix as LLVM writes it.
std::string_view suffix(const Inst& inst, Target target) {
  const Row& row = row_of(inst.op);
  switch (inst.form) {
  case Form::Base: return "";
  case Form::E32: return vop3_opcode(row, target) == kAbsent || row.has(kBareName) ? "" : "_e32";
  case Form::E64: return "_e64";
  case Form::Sdwa: return row.encoding == Encoding::Vopc && target < Target::gfx900 ? "" : "_sdwa";
  case Form::Dpp: return row.src[0].present() ? "_dpp" : "";
  }
  return "";
}

void Printer::run() {
  out_ += mnemonic(inst_.op, target_);
  out_ += suffix(inst_, target_);
  switch (inst_.encoding) {
  case Encoding::Sop2:
  case Encoding::Sop1:
  case Encoding::Sopk:
  case Encoding::Sopc:
  case Encoding::Sopp: return scalar();
  case Encoding::Smem: return scalar_memory();
  case Encoding::Vop2:
  case Encoding::Vop1:
  case Encoding::Vopc:
  case Encoding::Vop3:
  case Encoding::Vop3p: return row_.has(kInterp) ? interpolation() : vector();
  case Encoding::Vintrp: return interpolation();
  case Encoding::Ds: return ds();
  case Encoding::Mubuf:
  case Encoding::Mtbuf: return buffer();
  case Encoding::Mimg: return image();
  case Encoding::Flat: return flat();
  case Encoding::Exp: return export_();
  }
}

} // namespace

void append_text(std::string& out, const Inst& inst, Target target, const TextOptions& options) {
  Printer(out, inst, target, options).run();
}

std::string text(const Inst& inst, Target target, const TextOptions& options) {
  std::string out;
  append_text(out, inst, target, options);
  return out;
}

} // namespace lanewise::isa
