// Random programs over random control-flow graphs (irreducible ones included): native run against the
// interpreter, each allocation also proved by the checker, with all registers and with few, with the
// allocator's choices and with random ones.
#include "lir_harness.hpp"
#include "lir_interpreter.hpp"

#include <random>

namespace lanewise::x86 {
namespace {

constexpr u32 kFuel = 0, kInput = 64, kAccumulators = 1024, kTable = 4096;

class Generator {
public:
  Generator(Module& module, u64 seed) : b_(module, PartId(0)), random_(seed) {}

  void generate() {
    const u32 count = 2 + pick(9);
    for (u32 i = 0; i < 2 * count; ++i) b_.add_block(i > 1 && pick(8) == 0);
    exit_ = b_.add_block();
    // Block 2i runs out of fuel or goes on to 2i+1, which branches anywhere but to the entry.
    for (u32 i = 0; i < count; ++i) {
      edges_.push_back({exit_.index, 2 * i + 1});
      edges_.push_back({2 * (1 + pick(count - 1)), 2 * (1 + pick(count - 1))});
    }
    edges_.push_back({});
    find_dominators();
    defined_.resize(edges_.size());
    for (u32 i = 1; i < count; ++i)
      for (u32 n = pick(7); n; --n) define_param(BlockId(2 * i));
    for (u32 b = 0; b < edges_.size(); ++b)
      if (dominators_[b][0]) order_.push_back(b);
    std::sort(order_.begin(), order_.end(), [&](u32 x, u32 y) { return depth(x) < depth(y); });
    for (u32 b : order_) fill(b);
    for (u32 b = 0; b < edges_.size(); ++b)
      if (!dominators_[b][0]) b_.at(BlockId(b)), b_.ret(runtime::StopReason::Trap);
  }

private:
  u32 pick(u32 n) { return static_cast<u32>(random_() % n); }
  u32 depth(u32 b) const {
    return static_cast<u32>(std::count(dominators_[b].begin(), dominators_[b].end(), true));
  }

  void find_dominators() {
    const std::size_t n = edges_.size();
    dominators_.assign(n, std::vector<bool>(n, true));
    dominators_[0].assign(n, false);
    dominators_[0][0] = true;
    std::vector<bool> reached(n, false);
    reached[0] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (u32 b = 0; b < n; ++b) {
        if (!reached[b]) continue;
        for (u32 s : edges_[b]) {
          if (!reached[s]) reached[s] = changed = true;
          for (u32 d = 0; d < n; ++d)
            if (s != d && dominators_[s][d] && !dominators_[b][d]) dominators_[s][d] = false, changed = true;
        }
      }
    }
    for (u32 b = 0; b < n; ++b)
      if (!reached[b]) dominators_[b].assign(n, false);
  }

  void define_param(BlockId block) {
    RegClass cls = static_cast<RegClass>(pick(b_.avx512() ? 3 : 2));
    defined_[block.index].push_back(b_.add_param(block, cls));
  }

  VReg any(RegClass cls) {
    std::vector<VReg> found;
    for (u32 d = 0; d < edges_.size(); ++d) {
      if (!dominators_[block_][d]) continue;
      for (VReg v : defined_[d])
        if (b_.part().class_of(v) == cls) found.push_back(v);
    }
    // Recent values are likelier, but old ones keep pressure high.
    if (!found.empty() && pick(8))
      return found[pick(2) ? pick(static_cast<u32>(found.size())) : found.size() - 1];
    return keep(constant(cls));
  }
  VReg g() { return any(RegClass::Gpr); }
  VReg v() { return any(RegClass::Vec); }
  VReg k() { return any(RegClass::Mask); }

  VReg keep(VReg value) {
    defined_[block_].push_back(value);
    return value;
  }

  VReg constant(RegClass cls) {
    switch (cls) {
    case RegClass::Gpr: return pick(2) ? b_.const32(pick(1000)) : b_.load64(frame(kInput, View::R64));
    case RegClass::Vec: {
      std::array<u8, 64> bytes;
      for (u8& x : bytes) x = static_cast<u8>(random_());
      u32 kind = pick(4);
      return kind == 0   ? b_.splat32(pick(2) ? 0 : ~0u)
             : kind == 1 ? b_.load_vec(frame(kInput + 64 * pick(4)))
                         : b_.vec_const(std::span(bytes).first(b_.module().vec_bytes()));
    }
    case RegClass::Mask: return b_.mask_const(pick(3) ? random_() & 0xffff : 0);
    }
    return {};
  }

  void gpr_op() {
    switch (pick(6)) {
    case 0: keep(b_.op_r64_tied(Inst::kIdAdd, g(), r64(g()))); break;
    case 1: keep(b_.op_r64_tied(Inst::kIdXor, g(), or_mem(r64(g())))); break;
    case 2: keep(b_.op_r64_tied(Inst::kIdImul, g(), r64(g()))); break;
    case 3: {
      VReg a = g(), c = g(), old = g(), other = g();
      b_.emit(Inst::kIdCmp, {r64(a), or_mem(r64(c))});
      VReg is_equal = b_.setcc(CondCode::kE);
      keep(b_.op_r64_tied(Inst::kIdCmovb, old, or_mem(r64(other))));
      keep(is_equal);
      break;
    }
    case 4: keep(b_.copy(g())); break;
    default: keep(constant(RegClass::Gpr));
    }
  }

  void vec_op() {
    switch (pick(8)) {
    case 0: keep(b_.op(Inst::kIdVpaddd, v(), or_mem(v()))); break;
    case 1: keep(b_.op(Inst::kIdVpsubd, v(), v())); break;
    case 2: keep(b_.op(Inst::kIdVpmulld, v(), or_mem(v()))); break;
    case 3: gather(); break;
    case 4: keep(b_.copy(v())); break;
    case 5: keep(constant(RegClass::Vec)); break;
    default: b_.avx512() ? evex_op() : (void)keep(b_.op(Inst::kIdVpcmpgtd, v(), or_mem(v())));
    }
  }

  void evex_op() {
    switch (pick(5)) {
    case 0: {
      VReg mask = k(), old = v(), x = v(), y = v();
      keep(b_.masked(mask, old).op(Inst::kIdVpaddd, x, y));
      break;
    }
    case 1: {
      VReg mask = k(), x = v(), y = v();
      keep(b_.zero_masked(mask).op(Inst::kIdVpsubd, x, or_mem(y)));
      break;
    }
    case 2: {
      VReg old = v(), x = v(), y = v();
      keep(b_.op_tied(Inst::kIdVpternlogd, old, x, or_mem(y), imm(0x96)));
      break;
    }
    case 3: {
      VReg x = v(), y = v();
      keep(b_.op_k(Inst::kIdVpcmpgtd, x, y));
      break;
    }
    default: {
      VReg x = k(), y = k();
      keep(b_.op_k(Inst::kIdKxorw, x, y));
    }
    }
  }

  void gather() {
    VReg x = v(), old = pick(4) ? v() : VReg{};
    VReg index = b_.op(b_.avx512() ? Inst::kIdVpandd : Inst::kIdVpand, x,
                       b_.avx512() ? b_.splat32_mem(15) : b_.splat32_mem(15));
    if (!old.valid())
      old = index; // the same value as pass-through and index, which must not share a register
    VReg mask = b_.avx512() ? k() : v();
    keep(index);
    keep(b_.gather(Inst::kIdVpgatherdd, View::Full, old,
                   mem_vector(kFrame, index, View::Full, 2, runtime::kFrameSlots + kTable, View::R32), mask));
  }

  void accumulate() {
    u32 at = kAccumulators + 64 * pick(8);
    VReg x = v(), y = g();
    VReg old = b_.load_vec(frame(at));
    b_.store_vec(frame(at), b_.op(Inst::kIdVpaddd, old, or_mem(x)));
    VReg old_scalar = b_.load64(frame(at + 512, View::R64));
    b_.store64(frame(at + 512, View::R64), b_.op_r64_tied(Inst::kIdAdd, old_scalar, r64(y)));
  }

  void fill(u32 b) {
    block_ = b;
    b_.at(BlockId(b));
    b_.set_pc(0x1000 + 16 * b);
    if (b == exit_.index) return b_.ret(runtime::StopReason::End);
    const u32 n = pick(10) == 0 ? 60 : pick(12);
    for (u32 i = 0; i < n; ++i) pick(3) ? vec_op() : gpr_op();
    accumulate();
    if (b % 2 == 0) {
      b_.emit(Inst::kIdSub, {frame(kFuel, View::R32), imm(1)});
      return b_.branch(CondCode::kS, exit_, BlockId(b + 1));
    }
    std::vector<VReg> args[2];
    for (u32 i = 0; i < 2; ++i)
      for (VReg p : b_.part().blocks[edges_[b][i]].params) args[i].push_back(any(b_.part().class_of(p)));
    VReg x = g(), y = g();
    b_.emit(Inst::kIdCmp, {r64(x), r64(y)});
    b_.branch(pick(2) ? CondCode::kB : CondCode::kNE, BlockId(edges_[b][0]), args[0], BlockId(edges_[b][1]),
              args[1]);
  }

  Builder b_;
  std::mt19937_64 random_;
  BlockId exit_;
  u32 block_ = 0;
  std::vector<std::vector<u32>> edges_;
  std::vector<std::vector<bool>> dominators_;
  std::vector<std::vector<VReg>> defined_;
  std::vector<u32> order_;
};

void prepare(TestFrame& f) {
  std::mt19937 random(1);
  for (u32 at = kInput; at < 8192; at += 4) f.slot<u32>(at) = static_cast<u32>(random());
  f.slot<u32>(kFuel) = 60;
}

class RandomLir : public LirTest {
protected:
  void compare(u64 first_seed, u32 count, const AllocOptions& alloc) {
    for (u64 seed = first_seed; seed < first_seed + count && !HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      Program p(GetParam());
      Generator(p.module, seed).generate();
      EmitOptions options;
      options.alloc = alloc;
      if (alloc.random_seed) options.alloc.random_seed = alloc.random_seed + seed;
      auto code = p.compile(options);
      if (!code) return;
      TestFrame native, interpreted;
      prepare(native);
      prepare(interpreted);
      EXPECT_EQ(run(*code, native.data()), runtime::StopReason::End);
      LirInterpreter(p.module, interpreted.data()).run();
      EXPECT_EQ(std::memcmp(&native.slot<u8>(0), &interpreted.slot<u8>(0), TestFrame::kSlotBytes), 0)
          << print(p.module, *p.module.parts[0]);
    }
  }
};

TEST_P(RandomLir, WithAllRegisters) { compare(1, 300, {}); }
TEST_P(RandomLir, WithFewRegisters) { compare(1000, 300, {.random_seed = 0, .max_regs = {4, 5, 2}}); }
TEST_P(RandomLir, WithRandomChoices) { compare(2000, 300, {.random_seed = 77, .max_regs = {32, 32, 32}}); }
TEST_P(RandomLir, WithFewRegistersAndRandomChoices) {
  compare(3000, 300, {.random_seed = 5, .max_regs = {4, 6, 3}});
}

INSTANTIATE_TEST_SUITE_P(Widths, RandomLir, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Avx512" : "Avx2"; });

} // namespace
} // namespace lanewise::x86
