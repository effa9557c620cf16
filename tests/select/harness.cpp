#include "tests/select/harness.hpp"

#include "abi/initial_state.hpp"
#include "runtime/deferred_adds.hpp"
#include "translator/x86/slow_access.hpp"

#include <cstdlib>

namespace lanewise::x86::test {

using translator::Simd;

namespace {

/// Moves the instructions from `index` on into a new block, which becomes the only successor.
void split(ir::Function& f, u32 block, u32 index) {
  const ir::BlockId rest = f.add_block(f.blocks[block].pc);
  ir::Block& from = f.blocks[block];
  ir::Block& to = f.blocks[rest.index];
  to.insts.assign(from.insts.begin() + index, from.insts.end());
  from.insts.resize(index);
  for (const ir::InstId i : to.insts) f[i].block = rest;
  to.successors = std::move(from.successors);
  from.successors.clear();
  ir::Builder(f, ir::BlockId{block}).jump(rest);
}

bool must_split(const ir::Function& f, ir::InstId i) {
  const ir::OpInfo& op = ir::info(f[i].op);
  const auto operands = f.operands(i);
  for (u32 n = 0; n < operands.size(); ++n)
    if (op.reads_whole(n) && f.def_block(operands[n]) == f[i].block) return true;
  return false;
}

} // namespace

phases::Plan trivial_plan(ir::Function& f) {
  for (u32 b = 0; b < f.num_blocks(); ++b)
    for (u32 n = 0; n < f.blocks[b].insts.size(); ++n)
      if (must_split(f, f.blocks[b].insts[n])) split(f, b, n);
  phases::Plan plan;
  plan.gang_decided.assign(f.num_blocks(), false);
  for (u32 b = 0; b < f.num_blocks(); ++b) {
    plan.phase_of.push_back(phases::PhaseId{b});
    plan.phases.push_back({ir::BlockId{b}, {ir::BlockId{b}}, true, 1});
  }
  return plan;
}

bool holds(ir::IntPred p, u64 a, u64 b, bool wide) {
  using enum ir::IntPred;
  const i64 x = wide ? static_cast<i64>(a) : static_cast<i32>(a);
  const i64 y = wide ? static_cast<i64>(b) : static_cast<i32>(b);
  switch (p) {
  case Eq: return a == b;
  case Ne: return a != b;
  case ULt: return a < b;
  case ULe: return a <= b;
  case UGt: return a > b;
  case UGe: return a >= b;
  case SLt: return x < y;
  case SLe: return x <= y;
  case SGt: return x > y;
  case SGe: return x >= y;
  }
  return false;
}

std::vector<Simd> widths() {
  std::vector<Simd> all{Simd::Avx2};
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    all.push_back(Simd::Avx512);
  return all;
}

void run(const ir::Function& f, const phases::Plan& plan, Simd simd, RunInput& input) {
  // Every call another number of gangs side by side.
  static unsigned calls = 0;
  phases::Plan interleaved = plan;
  for (phases::Phase& phase : interleaved.phases)
    phase.interleave = plan.lockstep ? kWaveSize / translator::gang_lanes(simd) : 1u << (calls % 3);
  ++calls;
  auto compiled = compile(f, interleaved,
                          {.simd = simd,
                           .extras = translator::host_extras(simd),
                           .verify = true,
                           .listing = std::getenv("LISTING") != nullptr});
  ASSERT_TRUE(compiled) << compiled.error().message << "\n" << ir::print(f);
  if (!compiled->listing.empty()) std::fputs(compiled->listing.c_str(), stderr);
  auto engine = translator::load(std::move(compiled->translation));
  ASSERT_TRUE(engine) << engine.error().message;
  abi::WaveInit init;
  init.exec = input.exec;
  init.sgpr_count = static_cast<u32>(input.sgprs.size());
  std::copy(input.sgprs.begin(), input.sgprs.end(), init.sgpr.begin());
  init.vgpr_count = static_cast<u32>(input.vgprs.size());
  for (u32 v = 0; v < init.vgpr_count; ++v)
    std::copy(input.vgprs[v].begin(), input.vgprs[v].end(), init.vgpr[v]);
  runtime::WorkgroupContext group;
  const auto lds_bytes = static_cast<u32>(input.lds.size());
  std::vector<u64> gds(1024);
  input.scratch.resize(u64{input.scratch_per_lane} * 64);
  input.lds.resize(lds_bytes + runtime::kBytesBehindLds);
  group.lds = input.lds.data();
  group.lds_bytes = lds_bytes;
  group.gds = reinterpret_cast<u8*>(gds.data());
  group.gds_bytes = 8192;
  group.scratch = input.scratch.data();
  group.scratch_wave_bytes = u64{input.scratch_per_lane} * 64;
  runtime::DeferredAdds deferred;
  deferred.clear();
  group.deferred_adds = &deferred;
  void* frame = std::aligned_alloc(64, (*engine)->frame_bytes());
  std::memset(frame, 0xa5, (*engine)->frame_bytes());
  (*engine)->start(frame, init, group, 0);
  slow_request(frame).mask = 0;
  runtime::Stop stop;
  do stop = run_wave(**engine, frame);
  while (stop.reason == runtime::StopReason::Barrier);
  EXPECT_EQ(stop.reason, runtime::StopReason::End);
  deferred.flush((*engine)->deferred_add_bytes());
  input.slow = slow_request(frame).mask != 0;
  std::free(frame);
  input.lds.resize(lds_bytes);
}

} // namespace lanewise::x86::test
