#include "tests/interp/machine.hpp"

#include <algorithm>

namespace lanewise::interp::test {

Machine::Machine(Target target) : target_(target) { code_.reserve(4096); }

void Machine::vop3(Op op, u32 vdst, std::initializer_list<u32> sources, const Mods& mods, u32 sdst) {
  const isa::Row& row = isa::row_of(op);
  const i16 opcode = isa::vop3_opcode(row, target_);
  ASSERT_GE(opcode, 0) << row.name << " has no 64-bit form on " << isa::target_name(target_);
  const bool with_sdst = row.dst[1].present();
  u32 first = 0xd000'0000 | vdst;
  if (target_ >= Target::gfx803)
    first |= static_cast<u32>(opcode) << 16 | (mods.clamp ? 1u << 15 : 0);
  else
    first |= static_cast<u32>(opcode) << 17 | (mods.clamp && !with_sdst ? 1u << 11 : 0);
  if (with_sdst)
    first |= sdst << 8;
  else
    first |= mods.abs << 8 | (target_ >= Target::gfx900 ? mods.op_sel << 11 : 0);
  u32 second = mods.omod << 27 | mods.neg << 29;
  unsigned shift = 0;
  for (u32 source : sources) second |= source << shift, shift += 9;
  raw({first, second});
}

void Machine::vop3p(Op op, u32 vdst, std::initializer_list<u32> sources, u32 op_sel, u32 op_sel_hi, u32 neg,
                    u32 neg_hi, bool clamp) {
  const u32 opcode = static_cast<u32>(isa::row_of(op).opcode.on(target_));
  const u32 first = 0xd380'0000 | opcode << 16 | vdst | neg_hi << 8 | op_sel << 11 |
                    (op_sel_hi >> 2 & 1) << 14 | (clamp ? 1u << 15 : 0);
  u32 second = (op_sel_hi & 3) << 27 | neg << 29;
  unsigned shift = 0;
  for (u32 source : sources) second |= source << shift, shift += 9;
  raw({first, second});
}

namespace {
u32 opcode_of(Op op, Target target) { return static_cast<u32>(isa::row_of(op).opcode.on(target)); }
} // namespace

void Machine::sop2(Op op, u32 sdst, u32 a, u32 b) {
  raw({2u << 30 | opcode_of(op, target_) << 23 | sdst << 16 | b << 8 | a});
}
void Machine::sop1(Op op, u32 sdst, u32 a) {
  raw({0xbe80'0000 | sdst << 16 | opcode_of(op, target_) << 8 | a});
}
void Machine::sopc(Op op, u32 a, u32 b) { raw({0xbf00'0000 | opcode_of(op, target_) << 16 | b << 8 | a}); }
void Machine::sopk(Op op, u32 sdst, u32 imm) {
  raw({0xb000'0000 | opcode_of(op, target_) << 23 | sdst << 16 | (imm & 0xffff)});
}
void Machine::sopp(Op op, u32 imm) { raw({0xbf80'0000 | opcode_of(op, target_) << 16 | (imm & 0xffff)}); }

void Machine::ds(Op op, u32 vdst, u32 addr, u32 data0, u32 data1, u32 offset, bool to_gds) {
  const bool gfx8 = target_ >= Target::gfx803;
  const u32 first = 0xd800'0000 | offset | opcode_of(op, target_) << (gfx8 ? 17 : 18) |
                    (to_gds ? 1u << (gfx8 ? 16 : 17) : 0);
  raw({first, addr | data0 << 8 | data1 << 16 | vdst << 24});
}

void Machine::mubuf(Op op, u32 vdata, u32 vaddr, u32 srsrc, const Buffer& fields) {
  const u32 first = 0xe000'0000 | opcode_of(op, target_) << 18 | fields.offset |
                    (fields.offen ? 1u << 12 : 0) | (fields.idxen ? 1u << 13 : 0) |
                    (fields.glc ? 1u << 14 : 0) | (fields.addr64 ? 1u << 15 : 0) |
                    (fields.lds ? 1u << 16 : 0);
  raw({first, vaddr | vdata << 8 | srsrc / 4 << 16 | fields.soffset << 24});
}

void Machine::flat(Op op, u32 vdst, u32 addr, u32 data, i32 offset, u32 saddr, bool glc) {
  const isa::Space space = isa::row_of(op).memory.space;
  u32 first = 0xdc00'0000 | opcode_of(op, target_) << 18 | (glc ? 1u << 16 : 0);
  u32 second = addr | data << 8 | vdst << 24;
  if (target_ >= Target::gfx900) {
    const u32 segment = space == isa::Space::Global ? 2 : space == isa::Space::Scratch ? 1 : 0;
    first |= segment << 14 | (static_cast<u32>(offset) & (segment != 0 ? 0x1fff : 0xfff));
    if (segment != 0) second |= saddr << 16;
  }
  raw({first, second});
}

void Machine::mimg(Op op, u32 vdata, u32 vaddr, u32 srsrc, const Mimg& f) {
  const auto bit = [](bool on, unsigned at) { return on ? 1u << at : 0; };
  const u32 first = 0xf000'0000 | opcode_of(op, target_) << 18 | f.dmask << 8 | bit(f.unorm, 12) |
                    bit(f.glc, 13) | bit(f.da, 14) | bit(f.r128 || f.a16, 15) | bit(f.tfe, 16) |
                    bit(f.lwe, 17);
  raw({first, vaddr | vdata << 8 | srsrc / 4 << 16 | f.ssamp / 4 << 21 | bit(f.d16, 31)});
}

runtime::Stop Machine::run() {
  prepare();
  return resume();
}

void Machine::prepare() {
  code_.push_back(0xbf81'0000);
  const runtime::InterpreterCode range = {code_address(), code_.size() * 4};
  auto engine = runtime::make_interpreter({.target = target_, .code = {&range, 1}, .entry = code_address()});
  EXPECT_TRUE(engine.ok());
  engine_ = std::move(*engine);
  group_.lds = reinterpret_cast<u8*>(lds.data());
  group_.lds_bytes = static_cast<u32>(lds.size() * 4);
  group_.gds = reinterpret_cast<u8*>(gds.data());
  group_.gds_bytes = static_cast<u32>(gds.size() * 4);
  group_.scratch = reinterpret_cast<u8*>(scratch.data());
  group_.scratch_wave_bytes = scratch.size() * 4;
  abi::WaveInit init;
  init.exec = exec;
  init.mode = mode;
  init.m0 = ~0u;
  engine_->start(wave_.get(), init, group_, 0);
  for (u32 reg = 0; reg < initial_.size(); ++reg)
    std::copy(initial_[reg].begin(), initial_[reg].end(), wave_->vgpr[reg]);
  for (u32 reg = 0; reg < sgprs_.size(); ++reg)
    if (reg != kM0 && reg != kExec && reg != kExec + 1) wave_->sgpr[reg] = sgprs_[reg];
  if (sgprs_[kM0] != 0) wave_->sgpr[kM0] = sgprs_[kM0];
}

runtime::Stop Machine::resume() { return runtime::run_wave(*engine_, wave_.get()); }

runtime::HostFault run_guarded(Machine& m, runtime::Stop* stop) {
  struct Guarded {
    Machine* machine;
    runtime::GuestPosition position;
    runtime::Stop stop;
  };
  m.prepare();
  Guarded run = {&m, {&m.engine(), {.current = reinterpret_cast<u8*>(&m.wave())}}, {}};
  const runtime::HostFault fault = runtime::run_guarded(
      run.position,
      [](void* p) {
        auto& g = *static_cast<Guarded*>(p);
        g.stop = g.machine->resume();
      },
      &run);
  if (stop) *stop = run.stop;
  return fault;
}

u32 evaluate(Target target, Op op, std::initializer_list<u32> sources, const Mods& mods, u32 mode) {
  Machine m(target);
  m.mode = mode;
  constexpr u32 kOperands[3] = {vgpr(0), vgpr(1), vgpr(2)};
  u32 slot = 0;
  for (u32 source : sources) m.set_v(slot++, source);
  if (sources.size() == 1) m.vop3(op, 8, {kOperands[0]}, mods);
  if (sources.size() == 2) m.vop3(op, 8, {kOperands[0], kOperands[1]}, mods);
  if (sources.size() == 3) m.vop3(op, 8, {kOperands[0], kOperands[1], kOperands[2]}, mods);
  EXPECT_EQ(m.run().reason, runtime::StopReason::End) << isa::row_of(op).name;
  EXPECT_EQ(m.v(8, 0), m.v(8, 63));
  return m.v(8);
}

u64 evaluate64(Target target, Op op, std::initializer_list<u64> sources, const Mods& mods, u32 mode) {
  Machine m(target);
  m.mode = mode;
  u32 reg = 0;
  for (u64 source : sources) {
    m.set_v(reg, static_cast<u32>(source));
    m.set_v(reg + 1, static_cast<u32>(source >> 32));
    reg += 2;
  }
  if (sources.size() == 1) m.vop3(op, 8, {vgpr(0)}, mods);
  if (sources.size() == 2) m.vop3(op, 8, {vgpr(0), vgpr(2)}, mods);
  if (sources.size() == 3) m.vop3(op, 8, {vgpr(0), vgpr(2), vgpr(4)}, mods);
  EXPECT_EQ(m.run().reason, runtime::StopReason::End) << isa::row_of(op).name;
  return m.v64(8);
}

} // namespace lanewise::interp::test
