// Decoder and disassembler speed over a realistic mix: vectors of the operations that compiled kernels use
// most, in random order. Items per second are instructions per second.
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "vectors.hpp"

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

namespace lanewise::isa {
namespace {

/// What compiled kernels consist of, roughly in their proportions (the share of each in a sparse linear
/// algebra library).
constexpr Op kMix[] = {
    Op::v_mov_b32,          Op::v_mov_b32,     Op::v_mov_b32,      Op::s_waitcnt,
    Op::s_waitcnt,          Op::v_fma_f64,     Op::v_fma_f64,      Op::v_add_co_u32,
    Op::v_addc_co_u32,      Op::v_lshlrev_b64, Op::s_or_b64,       Op::s_cbranch_execz,
    Op::s_and_saveexec_b64, Op::v_mul_lo_u32,  Op::v_cmp_lt_i32,   Op::v_cndmask_b32,
    Op::ds_read_b32,        Op::ds_write_b32,  Op::s_load_dwordx2, Op::v_add_f32,
    Op::v_mac_f32,          Op::v_and_b32,     Op::v_lshlrev_b32,  Op::buffer_load_dword,
    Op::buffer_store_dword, Op::s_mov_b32,     Op::s_add_u32,      Op::s_barrier,
};

/// A stream of `count` instructions drawn from the vectors of the operations above.
std::vector<u32> stream(Target target, std::size_t count) {
  std::vector<const testing::Vector*> pool;
  for (const Op op : kMix)
    for (const testing::Vector& vector : testing::vectors()) {
      Inst inst;
      if (vector.target == target && decode(target, vector.dwords, inst) == DecodeStatus::Ok && inst.op == op)
        pool.push_back(&vector);
    }
  std::mt19937 random(1);
  std::vector<u32> out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& dwords = pool[random() % pool.size()]->dwords;
    out.insert(out.end(), dwords.begin(), dwords.end());
  }
  return out;
}

constexpr std::size_t kStreamLength = 20000;

void decode_stream(benchmark::State& state) {
  const auto target = static_cast<Target>(state.range(0));
  const std::vector<u32> code = stream(target, kStreamLength);
  for (auto _ : state) {
    std::span<const u32> rest = code;
    Inst inst;
    while (!rest.empty()) {
      if (decode(target, rest, inst) != DecodeStatus::Ok)
        return state.SkipWithError("a vector does not decode");
      benchmark::DoNotOptimize(inst);
      rest = rest.subspan(inst.size / 4);
    }
  }
  state.SetItemsProcessed(static_cast<i64>(state.iterations() * kStreamLength));
}

void disassemble_stream(benchmark::State& state) {
  const auto target = static_cast<Target>(state.range(0));
  const std::vector<u32> code = stream(target, kStreamLength);
  std::string out;
  for (auto _ : state) {
    out.clear();
    std::span<const u32> rest = code;
    Inst inst;
    while (!rest.empty()) {
      if (decode(target, rest, inst) != DecodeStatus::Ok)
        return state.SkipWithError("a vector does not decode");
      append_text(out, inst, target);
      rest = rest.subspan(inst.size / 4);
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(static_cast<i64>(state.iterations() * kStreamLength));
}

BENCHMARK(decode_stream)->Name("decode")->DenseRange(0, kNumTargets - 1);
BENCHMARK(disassemble_stream)->Name("disassemble")->DenseRange(0, kNumTargets - 1);

} // namespace
} // namespace lanewise::isa

BENCHMARK_MAIN();
