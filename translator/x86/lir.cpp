#include "translator/x86/lir.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace lanewise::x86 {

PartId Module::add_part(std::string part_name) {
  auto part = std::make_unique<Part>();
  part->name = std::move(part_name);
  part->classes.assign(kNumFixed, RegClass::Gpr);
  parts.push_back(std::move(part));
  return PartId(static_cast<u32>(parts.size() - 1));
}

Operand Module::constant(std::span<const u8> bytes, View view) {
  assert(std::has_single_bit(bytes.size()) && bytes.size() >= 4 && bytes.size() <= 64);
  std::string key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto [it, fresh] = constants_.try_emplace(std::move(key), 0);
  if (fresh) {
    pool.resize(align_up(pool.size(), bytes.size()));
    it->second = static_cast<u32>(pool.size());
    pool.insert(pool.end(), bytes.begin(), bytes.end());
  }
  return mem(kPool, it->second, view);
}

namespace {

RegClass class_of_view(View view) {
  switch (view) {
  case View::R8:
  case View::R16:
  case View::R32:
  case View::R64: return RegClass::Gpr;
  case View::K: return RegClass::Mask;
  default: return RegClass::Vec;
  }
}

template <class T>
std::array<u8, 64> repeat(T value) {
  std::array<u8, 64> bytes;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof value) std::memcpy(&bytes[i], &value, sizeof value);
  return bytes;
}

} // namespace

Builder::Builder(Module& module, PartId part) : module_(module), part_(*module.parts[part.index]) {
  constexpr std::size_t kFewOperands = 512; // in most parts there are more
  part_.operands.reserve(kFewOperands);
  set_pc(0);
}

BlockId Builder::add_block(bool cold) {
  part_.blocks.push_back(
      {std::pmr::vector<LInst>(&part_.memory), std::pmr::vector<VReg>(&part_.memory), {}, cold, false});
  return BlockId(static_cast<u32>(part_.blocks.size() - 1));
}

VReg Builder::new_vreg(RegClass cls) {
  part_.classes.push_back(cls);
  return VReg{static_cast<u32>(part_.classes.size() - 1)};
}

VReg Builder::add_param(BlockId block, RegClass cls) {
  assert(block.index != 0 && "the entry block has no parameters");
  VReg v = new_vreg(cls);
  part_.blocks[block.index].params.push_back(v);
  return v;
}

void Builder::set_pc(u64 pc) {
  if (module_.origins.back() != pc) module_.origins.push_back(pc);
  next_.origin = static_cast<u32>(module_.origins.size() - 1);
}

namespace {

constexpr std::size_t kUsualInsts = 8; ///< of a block

/// Not of floats: of two NaNs the first wins.
bool sources_commute(u32 id) {
  switch (id) {
  case Inst::kIdVpaddb:
  case Inst::kIdVpaddw:
  case Inst::kIdVpaddd:
  case Inst::kIdVpaddq:
  case Inst::kIdVpmullw:
  case Inst::kIdVpmulld:
  case Inst::kIdVpmullq:
  case Inst::kIdVpmuldq:
  case Inst::kIdVpmuludq:
  case Inst::kIdVpminsw:
  case Inst::kIdVpminsd:
  case Inst::kIdVpminuw:
  case Inst::kIdVpminud:
  case Inst::kIdVpmaxsw:
  case Inst::kIdVpmaxsd:
  case Inst::kIdVpmaxuw:
  case Inst::kIdVpmaxud:
  case Inst::kIdVpand:
  case Inst::kIdVpandd:
  case Inst::kIdVpandq:
  case Inst::kIdVpor:
  case Inst::kIdVpord:
  case Inst::kIdVporq:
  case Inst::kIdVpxor:
  case Inst::kIdVpxord:
  case Inst::kIdVpxorq:
  case Inst::kIdVpcmpeqb:
  case Inst::kIdVpcmpeqw:
  case Inst::kIdVpcmpeqd:
  case Inst::kIdVpcmpeqq: return true;
  default: return false;
  }
}

} // namespace

LInst& Builder::append(u32 id, const Operand* dest, std::initializer_list<Operand> ops) {
  assert(!terminated() || next_.remat);
  auto& insts = part_.blocks[block_.index].insts;
  if (insts.empty()) insts.reserve(kUsualInsts);
  LInst& inst = insts.emplace_back(next_);
  next_ = LInst{};
  next_.origin = inst.origin;
  inst.id = static_cast<u16>(id);
  std::vector<Operand>& operands = part_.operands;
  const std::size_t first = operands.size();
  inst.first_operand = static_cast<u32>(first);
  if (dest) operands.push_back(*dest);
  operands.insert(operands.end(), ops);
  for (std::size_t i = first; i < operands.size(); ++i) {
    Operand& o = operands[i];
    if (o.kind != OperandKind::Reg || o.view != View::Auto) continue;
    RegClass cls = part_.class_of(o.reg);
    assert(cls != RegClass::Gpr && "a Gpr operand needs a view");
    o.view = cls == RegClass::Mask ? View::K : View::Full;
  }
  if (dest && !dest->is_tied() && ops.size() == 2 && !next_mask_.valid() && sources_commute(id)) {
    const Operand& last = operands.back();
    operands[first + 1].may_be_memory = last.kind == OperandKind::Reg && last.may_be_memory;
  }
  if (next_mask_.valid()) {
    Operand mask = k(next_mask_);
    mask.kind = OperandKind::WriteMask;
    operands.push_back(mask);
  }
  inst.num_operands = static_cast<u8>(operands.size() - first);
  next_mask_ = next_old_ = VReg{};
  next_early_ = false;
  return inst;
}

VReg Builder::def(u32 id, View view, std::initializer_list<Operand> ops) {
  if (next_old_.valid()) return def_tied(id, view, next_old_, ops);
  VReg v = new_vreg(class_of_view(view));
  Operand dest = as_def(reg(v, view), next_early_);
  append(id, &dest, ops);
  return v;
}

VReg Builder::def_tied(u32 id, View view, VReg old, std::initializer_list<Operand> ops) {
  VReg v = new_vreg(class_of_view(view));
  Operand dest = as_tied(reg(v, view), old, next_early_);
  append(id, &dest, ops);
  return v;
}

void Builder::emit(u32 id, std::initializer_list<Operand> ops) { append(id, nullptr, ops); }

Builder& Builder::masked(VReg mask, VReg old) {
  next_mask_ = mask;
  next_old_ = old;
  return *this;
}

Builder& Builder::zero_masked(VReg mask) {
  next_mask_ = mask;
  next_.zeroing = mask.valid();
  return *this;
}

Builder& Builder::with_mask(VReg mask) {
  next_mask_ = mask;
  return *this;
}

Builder& Builder::rounding(Rounding r) {
  next_.rounding = r;
  return *this;
}

Builder& Builder::lock() {
  next_.lock = true;
  return *this;
}

Builder& Builder::faults(const FaultSite& site) {
  if (next_.num_fault_sites++ == 0) next_.fault_site = static_cast<u32>(part_.fault_sites.size());
  part_.fault_sites.push_back(site);
  part_.fault_sites.back().lane_offset = static_cast<u8>(site.lane_offset + first_lane_);
  part_.fault_sites.back().listed = lists_lanes_;
  part_.fault_sites.back().element = element_;
  return *this;
}

Builder& Builder::early() {
  next_early_ = true;
  return *this;
}

Builder& Builder::remat() {
  next_.remat = true;
  return *this;
}

VReg Builder::copy(VReg v) {
  RegClass cls = part_.class_of(v);
  View view = cls == RegClass::Gpr ? View::R64 : cls == RegClass::Mask ? View::K : View::Full;
  next_.pseudo = LInst::Pseudo::Copy;
  return def_tied(0, view, v, {});
}

VReg Builder::load_vec(const Operand& m) { return op(Inst::kIdVmovups, m); }
void Builder::store_vec(const Operand& m, VReg v) { emit(Inst::kIdVmovups, {m, vec(v)}); }

VReg Builder::load32(const Operand& m) { return op_r32(Inst::kIdMov, m); }
VReg Builder::load64(const Operand& m) { return op_r64(Inst::kIdMov, m); }
void Builder::store32(const Operand& m, VReg v) { emit(Inst::kIdMov, {m, r32(v)}); }
void Builder::store64(const Operand& m, VReg v) { emit(Inst::kIdMov, {m, r64(v)}); }

static u32 kmov_of(unsigned bits) {
  return bits == 8    ? Inst::kIdKmovb
         : bits == 16 ? Inst::kIdKmovw
         : bits == 32 ? Inst::kIdKmovd
                      : Inst::kIdKmovq;
}
VReg Builder::load_k(const Operand& m, unsigned bits) { return op_k(kmov_of(bits), m); }
void Builder::store_k(const Operand& m, VReg v, unsigned bits) { emit(kmov_of(bits), {m, k(v)}); }

template <class Make>
VReg Builder::constant(std::string key, Make make) {
  auto [it, fresh] = constants_.try_emplace(std::move(key), VReg{});
  if (!fresh) return it->second;
  assert(!part_.blocks.empty() && "constants need the entry block");
  // Modifiers already given are meant for the instruction that will use the constant.
  const LInst next = next_;
  const VReg mask = std::exchange(next_mask_, VReg{}), old = std::exchange(next_old_, VReg{});
  const bool early = std::exchange(next_early_, false);
  const BlockId block = std::exchange(block_, BlockId(0));
  next_ = LInst{};
  next_.remat = true;
  it->second = make();
  auto& insts = part_.blocks[0].insts;
  std::rotate(insts.begin() + part_.num_constants++, insts.end() - 1, insts.end());
  next_ = next;
  next_mask_ = mask;
  next_old_ = old;
  next_early_ = early;
  block_ = block;
  return it->second;
}

namespace {

std::string constant_key(char kind, const void* bytes, std::size_t size) {
  std::string key(1, kind);
  key.append(static_cast<const char*>(bytes), size);
  return key;
}

} // namespace

VReg Builder::const32(u32 value) {
  return constant(constant_key('g', &value, 4),
                  [&] { return op_r32(Inst::kIdMov, imm(static_cast<i32>(value))); });
}

VReg Builder::const64(u64 value) {
  if (value >> 32 == 0) return const32(static_cast<u32>(value));
  return constant(constant_key('g', &value, 8),
                  [&] { return op_r64(Inst::kIdMov, imm(static_cast<i64>(value))); });
}

VReg Builder::splat32(u32 value) {
  return constant(constant_key('v', &value, 4), [&] {
    if (value == 0 || value == ~0u) {
      next_.pseudo = value ? LInst::Pseudo::Ones : LInst::Pseudo::Zero;
      return op(0);
    }
    auto bytes = repeat(value);
    if (!module_.avx512) return load_vec(module_.constant(std::span(bytes).first(32), View::Full));
    return op(Inst::kIdVpbroadcastd, module_.constant(std::span(bytes).first(4), View::R32));
  });
}

VReg Builder::splat64(u64 value) {
  if (static_cast<u32>(value) == value >> 32) return splat32(static_cast<u32>(value));
  return constant(constant_key('v', &value, 8), [&] {
    auto bytes = repeat(value);
    if (!module_.avx512) return load_vec(module_.constant(std::span(bytes).first(32), View::Full));
    return op(Inst::kIdVpbroadcastq, module_.constant(std::span(bytes).first(8), View::R64));
  });
}

VReg Builder::vec_const(std::span<const u8> bytes) {
  assert(bytes.size() == module_.vec_bytes());
  return constant(constant_key('v', bytes.data(), bytes.size()),
                  [&] { return load_vec(module_.constant(bytes, View::Full)); });
}

VReg Builder::mask_const(u64 bits) {
  return constant(constant_key('k', &bits, 8), [&] {
    if (bits == 0 || bits == ~u64{0}) {
      next_.pseudo = bits ? LInst::Pseudo::Ones : LInst::Pseudo::Zero;
      return op_k(0);
    }
    u8 bytes[8];
    std::memcpy(bytes, &bits, 8);
    return load_k(module_.constant(bytes, View::R64), 64);
  });
}

Operand Builder::splat32_mem(u32 value) {
  auto bytes = repeat(value);
  if (!module_.avx512) return module_.constant(std::span(bytes).first(32), View::Full);
  return broadcast(module_.constant(std::span(bytes).first(4), View::R32), 4);
}

VReg Builder::setcc(CondCode cond) {
  VReg low = def(Inst::setccFromCond(cond), View::R8, {});
  return op_r32(Inst::kIdMovzx, r8(low));
}

VReg Builder::gather(u32 id, View view, VReg old, const Operand& vsib, VReg mask, View mask_view) {
  VReg value = new_vreg(RegClass::Vec);
  Operand dest = as_tied(reg(value, view), old, true);
  if (module_.avx512) {
    Operand write_mask = as_tied(k(new_vreg(RegClass::Mask)), mask, true);
    write_mask.kind = OperandKind::WriteMask;
    emit(id, {dest, vsib, write_mask});
  } else {
    emit(id, {dest, vsib, as_tied(reg(new_vreg(RegClass::Vec), mask_view), mask, true)});
  }
  return value;
}

void Builder::scatter(u32 id, const Operand& vsib, VReg value, View view, VReg mask) {
  Operand write_mask = as_tied(k(new_vreg(RegClass::Mask)), mask, true);
  write_mask.kind = OperandKind::WriteMask;
  emit(id, {vsib, reg(value, view), write_mask});
}

void Builder::call_stub(std::size_t offset) {
  next_.pseudo = LInst::Pseudo::Call;
  emit(0, {imm(static_cast<i64>(offset))});
}

Terminator& Builder::terminate(Terminator::Kind kind) {
  assert(!terminated());
  Terminator& t = part_.blocks[block_.index].term;
  t.kind = kind;
  return t;
}

u32 Builder::add_args(std::span<const VReg> args) {
  u32 first = static_cast<u32>(part_.args.size());
  part_.args.insert(part_.args.end(), args.begin(), args.end());
  return first;
}

void Builder::jump(BlockId target, std::span<const VReg> args) {
  assert(args.size() == part_.blocks[target.index].params.size());
  Terminator& t = terminate(Terminator::Kind::Jump);
  t.target[0] = target;
  t.first_arg[0] = add_args(args);
}

void Builder::branch(CondCode cond, BlockId if_true, std::span<const VReg> true_args, BlockId if_false,
                     std::span<const VReg> false_args) {
  assert(true_args.size() == part_.blocks[if_true.index].params.size());
  assert(false_args.size() == part_.blocks[if_false.index].params.size());
  Terminator& t = terminate(Terminator::Kind::Branch);
  t.cond = cond;
  t.target[0] = if_true;
  t.target[1] = if_false;
  t.first_arg[0] = add_args(true_args);
  t.first_arg[1] = add_args(false_args);
}

void Builder::jump_part(PartId target) { terminate(Terminator::Kind::JumpPart).part = target; }
void Builder::dispatch() { terminate(Terminator::Kind::Dispatch); }
void Builder::ret(runtime::StopReason reason) { terminate(Terminator::Kind::Return).reason = reason; }

} // namespace lanewise::x86
