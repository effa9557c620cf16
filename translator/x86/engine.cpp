#include "translator/x86/engine.hpp"

#include "abi/initial_state.hpp"
#include "support/guest_clock.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/two_over_pi.hpp"
#include "translator/x86/emit.hpp"
#include "translator/x86/frame.hpp"
#include "translator/x86/select.hpp"
#include "translator/x86/slow_access.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lanewise::x86 {

namespace {

using runtime::WaveFrame;

class TranslatedKernel final : public runtime::WaveEngine {
public:
  /// Gangs run in teams of `team_lanes`, and those behind the wave's last lane not at all.
  TranslatedKernel(PlacedCode code, const void* slow_access, const translator::Translation& translation)
      : code_(std::move(code)), slow_access_(slow_access), frame_bytes_(translation.frame_bytes),
        has_barriers_(translation.has_barriers), packs_(translation.packs),
        deferred_add_bytes_(translation.deferred_add_bytes), traffic_bytes_(translation.traffic_bytes),
        team_lanes_(translation.team_lanes) {}

  [[nodiscard]] std::size_t frame_bytes() const override { return frame_bytes_; }

  [[nodiscard]] bool has_barriers() const override { return has_barriers_; }

  [[nodiscard]] u32 workgroups_per_wave() const override { return packs_ ? kWaveSize : 1; }

  [[nodiscard]] u32 deferred_add_bytes() const override { return deferred_add_bytes_; }

  [[nodiscard]] u32 traffic_bytes() const override { return traffic_bytes_; }

  void start(void* frame, const abi::WaveInit& init, const runtime::WorkgroupContext& workgroup,
             u32 wave_in_group) const override {
    auto& f = *new (frame) WaveFrame;
    f.lds = workgroup.lds;
    f.lds_bytes = workgroup.lds_bytes;
    f.gds = workgroup.gds;
    f.gds_bytes = workgroup.gds_bytes;
    f.scratch = workgroup.scratch + wave_in_group * workgroup.scratch_wave_bytes;
    f.scratch_bytes = workgroup.scratch_wave_bytes;
    slow_request(frame).active = 0;
    f.slow_access = slow_access_;
    f.two_over_pi = translator::kTwoOverPi;
    f.deferred_adds = workgroup.deferred_adds;
    f.core_clock_scale = clock_scales().core;
    f.real_clock_scale = clock_scales().real;
    const u32 lanes = align_up(static_cast<u32>(std::bit_width(init.exec)), team_lanes_);
    f.gangs_end = static_cast<const u8*>(frame) + 4 * lanes;
    // In the slots, masks of gangs that do not run are empty.
    if (lanes < kWaveSize)
      std::memset(static_cast<u8*>(frame) + runtime::kFrameSlots, 0, frame_bytes_ - runtime::kFrameSlots);
    f.exec = init.exec;
    f.workgroup = &workgroup;
    std::copy_n(init.sgpr.begin(), init.sgpr_count, f.sgpr);
    constexpr u8 kUnused = sizeof(WaveFrame::sgpr) / sizeof(u32) - 1;
    for (u32 axis = 0; axis < 3; ++axis)
      f.group_id_sgpr[axis] =
          init.group_id_sgpr[axis] < 0 ? kUnused : static_cast<u8>(init.group_id_sgpr[axis]);
    for (u32 v = 0; v < init.vgpr_count; ++v) std::copy_n(init.vgpr[v], kWaveSize, f.vgpr[v]);
  }

  void restart(const runtime::GroupFrames& frames) const override {
    u8* frame = frames.first;
    // Of each frame, they would have to be waited for: a kernel that streams throws frames out of the cache.
    const std::array<u8, 3> ids = std::to_array(reinterpret_cast<const WaveFrame*>(frame)->group_id_sgpr);
    for (u32 group = 0; group < frames.groups; ++group)
      for (u32 wave = 0; wave < frames.waves; ++wave, frame += frames.stride) {
        auto& f = *reinterpret_cast<WaveFrame*>(frame);
        f.resume = 0;
        f.sgpr[ids[0]] = frames.group_id[0] + group;
        f.sgpr[ids[1]] = frames.group_id[1];
        f.sgpr[ids[2]] = frames.group_id[2];
      }
  }

  void run(runtime::WaveRow& row) const override { code_.run(row); }

  [[nodiscard]] runtime::Stop last_stop(const void* frame) const override {
    const auto& f = *static_cast<const WaveFrame*>(frame);
    const auto reason = static_cast<runtime::StopReason>(std::countr_zero(f.stop_reason));
    const bool has_place = reason != runtime::StopReason::End && reason != runtime::StopReason::Barrier;
    return {reason, has_place ? f.stop_detail : 0, has_place ? f.stop_pc : 0};
  }

  runtime::FaultLocation locate_fault(void* frame, const void* ucontext, u64 host_address) const override {
    const SlowRequest& slow = slow_request(frame);
    if (slow.active != 0) return {slow.pc, slow.lane, slow.address, slow.is_write != 0};
    return code_.locate(ucontext, host_address);
  }

private:
  PlacedCode code_;
  const void* slow_access_; ///< null if the code does not call it
  u32 frame_bytes_;
  bool has_barriers_, packs_;
  u32 deferred_add_bytes_, traffic_bytes_, team_lanes_;
};

/// Lanes that run side by side at most; a whole wave if all must. In every phase the same gangs run: values
/// share slots, and a mask would have bits of what was there before in a gang that has not run since.
u32 team_lanes(const phases::Plan& plan, translator::Simd simd) {
  if (!plan.skips_idle) return kWaveSize;
  unsigned team = 1;
  for (const phases::Phase& phase : plan.phases) team = std::max(team, phase.interleave);
  return team * translator::gang_lanes(simd);
}

bool waits_for_waves(const ir::Function& f) {
  return std::any_of(f.blocks.begin(), f.blocks.end(), [&](const ir::Block& block) {
    return !block.insts.empty() && ir::waits_for_waves(f[block.insts.back()].op);
  });
}

u32 deferred_add_bytes(const ir::Function& f) {
  for (const ir::Block& block : f.blocks)
    for (const ir::InstId i : block.insts)
      if (f[i].op == ir::Op::Atomic && f[i].mem.deferred) return f[i].mem.bytes;
  return 0;
}

/// At a rough guess: each access once, those in loops as often as loops go round at least where it matters.
u32 traffic_bytes(const ir::Function& f) {
  constexpr u32 kRounds = 16;
  const ir::Cfg cfg(f);
  const ir::Loops loops(f, cfg, ir::Dominators(f, cfg));
  u64 bytes = 0;
  for (const ir::BlockId b : cfg.rpo)
    for (const ir::InstId i : f[b].insts) {
      const ir::MemAttr& attr = f[i].mem;
      const bool outside =
          attr.space == ir::Space::Global || attr.space == ir::Space::Flat || attr.space == ir::Space::Buffer;
      if (!outside || (f[i].op != ir::Op::Load && f[i].op != ir::Op::Store && f[i].op != ir::Op::Atomic))
        continue;
      const bool one_place = attr.form == ir::AddressForm::Row && attr.stride == 0;
      bytes += u64{attr.bytes} * (one_place ? 1 : kWaveSize) * (loops.innermost[b.index] < 0 ? 1 : kRounds);
    }
  return static_cast<u32>(std::min<u64>(bytes, ~0u));
}

} // namespace

Result<Compiled> compile(const ir::Function& f, const phases::Plan& plan, const CompileOptions& options) {
  const FrameLayout frame = lay_out_frame(f, plan);
  Module module;
  module.name = f.name;
  module.avx512 = options.simd == translator::Simd::Avx512;
  SelectOptions select_options;
  select_options.code_base = options.code_base;
  select_options.vpopcnt = (options.extras & translator::kVpopcnt) != 0;
  select_options.vbmi2 = (options.extras & translator::kVbmi2) != 0;
  if (auto done = select(f, plan, frame, select_options, module); !done) return done.error();
  auto code = assemble(module, {.verify = options.verify, .listing = options.listing, .alloc = {}});
  if (!code) return code.error();
  Compiled result;
  result.listing = std::move(code->listing);
  result.spills = code->stats.stores + code->stats.loads;
  result.translation = {.simd = options.simd,
                        .extras = options.extras,
                        .frame_bytes = frame.bytes,
                        .has_barriers = waits_for_waves(f),
                        .deferred_add_bytes = deferred_add_bytes(f),
                        .traffic_bytes = traffic_bytes(f),
                        .team_lanes = team_lanes(plan, options.simd),
                        .machine = std::move(code->code)};
  return result;
}

} // namespace lanewise::x86

namespace lanewise::translator {

Result<std::unique_ptr<runtime::WaveEngine>> load(Translation translation) {
  if (!host_supports(translation.simd) || (translation.extras & ~host_extras(translation.simd)) != 0)
    return Error{ErrorCode::Unsupported, "this machine lacks instructions that the translation uses"};
  // Made once per process, but not for kernels without.
  const void* slow_access = translation.machine.has_slow_accesses
                                ? x86::slow_access_stub(translation.simd == Simd::Avx512)
                                : nullptr;
  auto code = x86::PlacedCode::create(std::move(translation.machine));
  if (!code) return std::move(code).error();
  std::unique_ptr<runtime::WaveEngine> engine =
      std::make_unique<x86::TranslatedKernel>(std::move(*code), slow_access, translation);
  return engine;
}

} // namespace lanewise::translator
