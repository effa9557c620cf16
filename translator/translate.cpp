// The pipeline: each stage once, in order, with its dump and timing hooks. docs/DESIGN.md says why this
// order.
#include "translator/translation.hpp"

#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "support/host_cpu.hpp"
#include "translator/ir/verify.hpp"
#include "translator/lift/lift.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/byte_walks.hpp"
#include "translator/phases/close_ranks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/even_rounds.hpp"
#include "translator/phases/full_masks.hpp"
#include "translator/phases/gang_rounds.hpp"
#include "translator/phases/lane_turns.hpp"
#include "translator/phases/last_lanes.hpp"
#include "translator/phases/phases.hpp"
#include "translator/phases/retry_chains.hpp"
#include "translator/phases/scalar_ranges.hpp"
#include "translator/phases/unify_gangs.hpp"
#include "translator/phases/walks.hpp"
#include "translator/x86/engine.hpp"
#include "translator/x86/interleave.hpp"

#include <chrono>
#include <fmt/format.h>
#include <optional>

namespace lanewise::translator {

namespace {

class Clock {
public:
  /// Milliseconds since the last call, or since construction.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

u32 count(const ir::Function& f, ir::Op op) {
  u32 n = 0;
  for (const ir::Block& block : f.blocks)
    for (const ir::InstId i : block.insts) n += f[i].op == op ? 1u : 0u;
  return n;
}

u32 count_instructions(const ir::Function& f) {
  u32 n = 0;
  for (const ir::Block& block : f.blocks) n += static_cast<u32>(block.insts.size());
  return n;
}

/// Runs passes in order and, when asked to, verifies after each; the first broken invariant stops the rest.
class PassRunner {
public:
  PassRunner(ir::Function& f, const Options& options, Stats& stats)
      : f_(f), options_(options), stats_(stats) {}

  template <class Pass>
  PassRunner& run(const char* name, Pass pass) {
    if (!result_) return *this;
    Clock clock;
    pass(f_);
    stats_.ms_of_passes.emplace_back(name, clock.lap());
    if (!options_.verify) return *this;
    if (auto valid = ir::verify(f_); !valid)
      result_ = std::move(valid).error().in(std::string("after ") + name);
    return *this;
  }
  [[nodiscard]] Result<void> result() && { return std::move(result_); }

private:
  ir::Function& f_;
  const Options& options_;
  Stats& stats_;
  Result<void> result_;
};

/// Why code is as it is, for dumps.
struct Reasons {
  std::vector<phases::Reason> branches; ///< kept at wave level
  bool packed = false;                  ///< workgroups of one work-item are lanes
  std::string not_packed;               ///< why they are waves of their own
};

/// Of a kernel in which lifting has made values of private memory: in larger ones, that is not done again,
/// which takes long and rarely finds more.
constexpr u32 kMaxPromotedTwice = 10'000;

/// Halves that were chosen one by one have been made whole.
bool chooses_pairs(const ir::Function& f) {
  const auto is_pair = [&](ir::ValueId v) {
    const ir::Inst* def = f.def(v);
    return def != nullptr && def->op == ir::Op::Join;
  };
  return std::ranges::any_of(f.blocks, [&](const ir::Block& b) {
    return std::ranges::any_of(b.insts, [&](ir::InstId i) {
      return f[i].op == ir::Op::Select && f.type(f.result(i)) == ir::Type::V64 &&
             (is_pair(f.operands(i)[1]) || is_pair(f.operands(i)[2]));
    });
  });
}

/// What a step of the pipeline needs that makes one function of another.
void tidy_up(ir::Function& f) {
  passes::fold(f);
  passes::merge_common(f);
  passes::eliminate_dead_code(f);
  passes::merge_blocks(f);
}

/// Which loops may have a copy in which lanes run alone.
enum class LanesAlone : u8 {
  LastAndRetrying,
  Retrying, ///< those that add with a compare-and-swap
  None,
};

/// `promotion`: what lifting has done already.
Result<void> optimize(ir::Function& f, const Options& options, const KernelSource& source, LanesAlone alone,
                      lift::Promotion promotion, Reasons& reasons, Stats& stats) {
  const bool last_lanes = alone == LanesAlone::LastAndRetrying;
  PassRunner passes(f, options, stats);
  const auto compact = [](ir::Function& g) { g.compact(); };
  const auto compact_if_sparse = [](ir::Function& g) {
    if (passes::is_sparse(g)) g.compact();
  };
  bool is_folded = false;                            // as far as it goes
  bool restored = false;                             // masks behind loops
  std::shared_ptr<const passes::MaskAnalysis> masks; // of the function as it is from one pass to the next
  const auto remove_dead_stores = [&](ir::Function& g) {
    passes::remove_dead_stores(g, source.private_bytes_per_lane);
  };
  const u32 lds_bytes = std::max(source.lds_bytes, options.launch.lds_bytes);
  const auto load_constants = [&](ir::Function& g) { passes::load_constants(g, source); };
  passes.run("lift", [](ir::Function&) {})
      .run("use_launch_facts", passes::use_launch_facts)
      .run("fold", passes::fold)
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("compact", compact_if_sparse)         // what lifting has left is a small part at -O0
      .run("merge_blocks", passes::merge_blocks) // branches on what is known, barriers of a single wave
      .run("choose_private_elements",
           [&](ir::Function& g) {
             if (passes::choose_private_elements(g, source.private_bytes_per_lane))
               promotion = lift::Promotion::None;
           })
      .run("promote_private_memory",
           [&](ir::Function& g) {
             const bool again = promotion != lift::Promotion::None;
             if (again && count_instructions(g) > kMaxPromotedTwice) return;
             passes::promote_private_memory(g, source.private_bytes_per_lane,
                                            promotion != lift::Promotion::Finished);
           })
      .run("remove_dead_stores", remove_dead_stores)
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("compact", compact_if_sparse)
      .run("join_pairs", [&](ir::Function& g) { is_folded = passes::join_pairs(g); })
      .run("scalarize_lanes",
           [&](ir::Function& g) {
             if (passes::scalarize_lanes(g)) is_folded = false;
           })
      .run("fold",
           [&](ir::Function& g) {
             if (!is_folded) passes::fold(g);
           })
      .run("merge_common", passes::merge_common)
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("join_pairs", passes::join_pairs)             // scalars that were lanes may be halves of pairs
      .run("use_launch_facts", passes::use_launch_facts) // pointers that were spilled
      .run("load_constants", load_constants)
      .run("fold", passes::fold)
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("compact", compact_if_sparse)
      .run("restore_masks", [&](ir::Function& g) { restored = passes::restore_masks(g, &masks); })
      .run("simplify_masks", [&](ir::Function& g) { masks = passes::simplify_masks(g, std::move(masks)); })
      .run("eliminate_dead_code",
           [&](ir::Function& g) {
             if (passes::eliminate_dead_code(g)) masks = nullptr;
           })
      .run("thread_exits", [&](ir::Function& g) { passes::thread_exits(g, false, std::move(masks)); })
      .run("merge_blocks", passes::merge_blocks)
      .run("use_branches", passes::use_branches_but_joined) // masks that are equal have become one
      .run("use_launch_facts", passes::use_launch_facts)    // offsets that were selected
      .run("load_constants", load_constants)
      .run("split_pairs", [](ir::Function& g) { passes::split_pairs(g); })
      .run("merge_common", passes::merge_common) // parameters that are constants
      .run("fold", passes::fold)
      .run("skip_decided_branches", passes::skip_decided_branches)
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("merge_blocks", passes::merge_blocks)
      .run("shorten_waves",
           [&](ir::Function& g) {
             if (passes::shorten_waves(g, gang_lanes(options.simd))) tidy_up(g);
             if (passes::use_lane_ids(g)) tidy_up(g);
           })
      .run("unroll_loops", passes::unroll_loops)
      .run("join_branches",
           [](ir::Function& g) {
             if (!passes::join_branches(g)) return;
             passes::use_branches(g); // behind such a branch there may be another one on the same mask
             tidy_up(g);
           })
      .run("resolve_masked_flat_accesses",
           [](ir::Function& g) {
             if (passes::resolve_masked_flat_accesses(g)) tidy_up(g);
           })
      .run("decide_branches", [&](ir::Function& g) { masks = phases::decide_branches(g, &reasons.branches); })
      .run("pack_workgroups",
           [&](ir::Function& g) {
             if (!g.launch.packs || g.launch.max_sgpr(static_cast<u32>(g.launch.group_id_sgpr[0])) == 0)
               return; // there is one along x
             reasons.not_packed = passes::pack_workgroups(g, source.private_bytes_per_lane);
             reasons.packed = reasons.not_packed.empty();
             if (!reasons.packed) return;
             tidy_up(g);
             reasons.branches.clear();
             masks = phases::decide_branches(g, &reasons.branches);
           })
      .run("go_short_ways",
           [&](ir::Function& g) {
             while (phases::go_short_ways(g)) { // outer ones may be short then
               passes::eliminate_dead_code(g);  // that was asked
               passes::merge_blocks(g);
               masks = nullptr;
             }
           })
      .run("predicate",
           [&](ir::Function& g) {
             stats.selects_before = count(g, ir::Op::Select);
             passes::predicate(g, std::move(masks));
           })
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("compact", compact_if_sparse)
      .run(
          "fill_masks",
          [&](ir::Function& g) {
            const bool filled = passes::fill_masks(g);
            if (!restored && !filled) return;
            tidy_up(g);
            if (filled) { // what a loop has taken along is what was before it, and then more is seen to be so
              tidy_up(g);
              if (passes::fill_masks(g)) tidy_up(g);
            }
            passes::predicate(g, passes::simplify_decided_masks(g));
          })
      .run("fold", passes::fold)
      .run("use_known_masks",
           [&](ir::Function& g) {
             if (passes::use_known_masks(g, gang_lanes(options.simd))) passes::fold(g);
           })
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("join_vector_pairs",
           [](ir::Function& g) { // whose arithmetic was between selects
             passes::join_vector_pairs(g);
             if (chooses_pairs(g)) passes::predicate(g);
           })
      .run("remove_dead_stores", remove_dead_stores) // now few are loaded again
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("thread_exits",
           [](ir::Function& g) {
             passes::thread_exits(g, true);
             passes::merge_blocks(g);
             passes::use_branches(g);
             passes::split_pairs(g, true); // halves that only selects have looked at
             tidy_up(g);
           })
      .run("scalarize_counters",
           [](ir::Function& g) {
             if (passes::scalarize_counters(g)) tidy_up(g);
           })
      .run("rotate_loops",
           [](ir::Function& g) {
             if (!passes::rotate_loops(g)) return;
             tidy_up(g);
             if (passes::scalarize_counters(g)) tidy_up(g); // of which it was not seen that all stay
           })
      .run("unmask_pointers",
           [](ir::Function& g) {
             if (passes::unmask_pointers(g)) tidy_up(g);
           })
      .run("join_loops", passes::join_loops)
      .run("share_arm_loads",
           [&](ir::Function& g) {
             if (!passes::share_arm_loads(g, gang_lanes(options.simd))) return;
             tidy_up(g);
             passes::predicate(g); // what lanes of the other arm do not have, nobody looks at
             passes::eliminate_dead_code(g);
           })
      .run("merge_bytes",
           [&](ir::Function& g) {
             if (passes::merge_bytes(g, source.private_bytes_per_lane)) tidy_up(g);
           })
      .run("unroll_array_loops",
           [&](ir::Function& g) {
             if (passes::replace_narrow_divisions(g)) passes::eliminate_dead_code(g);
             if (!passes::unroll_array_loops(g, source)) return;
             if (passes::load_constants(g, source)) { // at indices that were counters
               passes::use_branches(g);               // the first lane has them, if there is any
               passes::fold(g);
             }
             passes::promote_private_memory(g, source.private_bytes_per_lane);
             remove_dead_stores(g);
             passes::merge_kept_values(g); // in registers that were part of an array
             tidy_up(g);
             passes::predicate(g);
             passes::eliminate_dead_code(g);
           })
      .run("remove_lds_accesses",
           [](ir::Function& g) {
             if (passes::remove_lds_accesses(g)) tidy_up(g);
           })
      .run("split_packed_halves",
           [](ir::Function& g) {
             if (!passes::split_packed_halves(g)) return;
             tidy_up(g);
             passes::drop_unseen_bits(g); // or it is not seen that elements are only chosen
             tidy_up(g);
             passes::pack_on_the_way_out(g);
           })
      .run("merge_selects", passes::merge_selects)
      .run("change_elements",
           [](ir::Function& g) {
             if (passes::change_elements(g)) passes::eliminate_dead_code(g);
           })
      .run("join_bounds",
           [](ir::Function& g) {
             if (passes::join_bounds(g)) tidy_up(g);
           })
      .run("spread_loads", [&](ir::Function& g) { passes::spread_loads(g, gang_lanes(options.simd)); })
      .run("count_even_rounds",
           [&](ir::Function& g) {
             if (phases::count_even_rounds(g, gang_lanes(options.simd))) tidy_up(g);
           })
      .run("load_walks_together",
           [&](ir::Function& g) {
             if (phases::load_walks_together(g, gang_lanes(options.simd))) tidy_up(g);
           })
      .run("replace_integer_divisions",
           [](ir::Function& g) {
             const bool small = passes::replace_small_divisions(g),
                        narrow = passes::replace_narrow_divisions(g);
             if (!passes::replace_wide_divisions(g) && !narrow && !small) return;
             tidy_up(g);
             passes::predicate(g); // what was left of them in registers nobody looks at any more
             tidy_up(g);
           })
      .run("replace_divisions",
           [&](ir::Function& g) { passes::replace_divisions(g, options.simd == Simd::Avx2); })
      .run("drop_root_corrections", passes::drop_root_corrections)
      .run("unscale_roots", passes::unscale_roots) // of f64
      .run("legalize", passes::legalize)
      .run("unscale_roots", passes::unscale_roots) // of f32
      .run("drop_unseen_bits", passes::drop_unseen_bits)
      .run("fold", passes::fold)
      .run("merge_common", passes::merge_common)
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("compact", compact)
      .run("name_permutes",
           [&](ir::Function& g) {
             if (passes::name_permutes(g, gang_lanes(options.simd))) tidy_up(g);
           })
      .run("run_lanes_in_turn",
           [&](ir::Function& g) {
             if (!last_lanes || !phases::run_lanes_in_turn(g, gang_lanes(options.simd))) return;
             tidy_up(g);
             if (phases::decide_scalar_comparisons(g)) tidy_up(g);
             remove_dead_stores(g); // to rows that turn out not to be looked at
             passes::eliminate_dead_code(g);
           })
      .run("split_rounds_by_full_masks",
           [&](ir::Function& g) {
             if (!phases::split_rounds_by_full_masks(g, gang_lanes(options.simd), last_lanes)) return;
             passes::fold(g);
             passes::eliminate_dead_code(
                 g); // or what is asked only once a lane has left would be found there
             tidy_up(g);
           })
      .run("run_last_lanes_alone",
           [&](ir::Function& g) {
             if (last_lanes && phases::run_last_lanes_alone(g, gang_lanes(options.simd))) tidy_up(g);
           })
      .run("close_ranks",
           [&](ir::Function& g) {
             bool closed = phases::close_ranks(g, gang_lanes(options.simd));
             closed |= phases::close_ranks_in_loops(g, gang_lanes(options.simd));
             closed |= phases::close_ranks_behind_branches(g, gang_lanes(options.simd));
             if (closed) tidy_up(g);
           })
      .run("load_expected_once",
           [](ir::Function& g) {
             if (passes::load_expected_once(g)) tidy_up(g);
           })
      .run("chain_retries",
           [&](ir::Function& g) {
             if (alone == LanesAlone::None) return;
             const auto loops = passes::find_retry_loops(g);
             if (phases::chain_retries(g, loops, gang_lanes(options.simd), lds_bytes)) tidy_up(g);
           })
      .run("split_chosen_rows",
           [&](ir::Function& g) {
             if (passes::split_chosen_rows(g, gang_lanes(options.simd))) tidy_up(g);
           })
      .run("merge_parts",
           [&](ir::Function& g) {
             if (passes::merge_parts(g, gang_lanes(options.simd))) tidy_up(g);
           })
      .run("load_bytes_ahead",
           [&](ir::Function& g) {
             if (!phases::load_bytes_ahead(g, gang_lanes(options.simd))) return;
             tidy_up(g);
             passes::predicate(g); // Mostly nobody looks at the bytes of lanes that have left.
             passes::eliminate_dead_code(g);
           })
      .run("shape_addresses",
           [&](ir::Function& g) {
             passes::shape_addresses(g, gang_lanes(options.simd), lds_bytes, source.private_bytes_per_lane);
           })
      .run("merge_common", passes::merge_common)
      .run("merge_rows", [&](ir::Function& g) { passes::merge_rows(g, gang_lanes(options.simd)); })
      .run("split_bytes", passes::split_bytes)
      .run("share_halves", [&](ir::Function& g) { passes::share_halves(g, gang_lanes(options.simd)); })
      .run("widen_accesses", passes::widen_accesses)
      .run("eliminate_dead_code", passes::eliminate_dead_code)
      .run("load_scalars", passes::load_scalars)
      .run("unmask_accesses", passes::unmask_accesses)
      .run("split_loops_by_full_masks", phases::split_loops_by_full_masks)
      .run("hoist", passes::hoist)
      .run("unroll_gang_rounds",
           [](ir::Function& g) {
             if (!phases::unroll_gang_rounds(g)) return;
             passes::merge_blocks(g); // Only then is it seen that some counters begin with 0.
             tidy_up(g);
           })
      .run("finish_before_barriers", passes::finish_before_barriers)
      .run("stream_stores", [&](ir::Function& g) { passes::stream_stores(g, gang_lanes(options.simd)); })
      .run("compare_as_signed",
           [&](ir::Function& g) {
             if (options.simd == Simd::Avx2) passes::compare_as_signed(g);
           })
      .run("schedule", passes::schedule)
      .run("sink", passes::sink)
      .run("group_looks", [&](ir::Function& g) { phases::group_looks(g, gang_lanes(options.simd)); })
      .run("defer_adds", passes::defer_adds);
  stats.selects_after = count(f, ir::Op::Select);
  stats.ir_instructions = count_instructions(f);
  return std::move(passes).result();
}

void dump(const Options& options, bool wanted, const char* stage, const std::string& text) {
  if (wanted && options.dump.sink) options.dump.sink(stage, text);
}

/// The kernel's own instructions as text, up to the next symbol.
std::string disassemble(const KernelSource& source) {
  const u64 base = reinterpret_cast<u64>(source.code.data());
  u64 end = base + source.code.size();
  for (const CodeSymbol& symbol : source.symbols) {
    if (symbol.address == source.entry && symbol.size != 0) end = std::min(end, symbol.address + symbol.size);
    if (symbol.address > source.entry) end = std::min(end, symbol.address);
  }
  std::string text;
  for (u64 pc = source.entry; pc < end;) {
    const auto inst = isa::decode(source.target, source.code.subspan(pc - base));
    text += fmt::format("{:#8x}: {}\n", pc - base,
                        inst ? isa::text(*inst, source.target) : "(undefined encoding)");
    pc += inst ? inst->size : 4;
  }
  return text;
}

std::string print(const Reasons& reasons, const ir::Function& f) {
  std::string text;
  if (reasons.packed) text += "  each lane is a workgroup\n";
  if (!reasons.not_packed.empty())
    text += fmt::format("  each workgroup is a wave: {}\n", reasons.not_packed);
  for (const phases::Reason& r : reasons.branches)
    text += fmt::format("  b{} @{:#x}: branch at wave level: {}\n", r.block.index, f[r.block].pc, r.text);
  return text;
}

/// Nothing if lanes that run alone would have to be the wave's decision.
Result<std::optional<Translation>> attempt(const KernelSource& source, const Options& options,
                                           LanesAlone alone, Stats& stats) {
  stats = Stats{};
  Clock clock;
  auto lifted = lift::lift(source, options.launch);
  if (!lifted) return std::move(lifted).error();
  stats.guest_instructions = lifted->guest_instructions;
  stats.untranslated_instructions = static_cast<u32>(lifted->untranslated.size());
  stats.lift_ms = clock.lap();
  if (!lifted->untranslated.empty()) {
    const lift::Untranslated& first = lifted->untranslated.front();
    stats.first_untranslated = first.text;
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}+{:#x}: no rule to recompile `{}` ({} such instructions)", source.name,
                             first.pc, first.text, stats.untranslated_instructions)};
  }
  ir::Function& f = lifted->function;
  Reasons reasons;
  if (auto done = optimize(f, options, source, alone, lifted->promotion, reasons, stats); !done)
    return std::move(done).error();
  const std::string optimized = options.dump.ir ? ir::print(f) : "";
  phases::Plan plan = x86::form_phases(f, options.simd, options.interleave);
  phases::unify_gangs(f, plan);
  if (options.verify)
    if (auto valid = ir::verify(f); !valid) return std::move(valid).error().in("after form_phases");
  if (!phases::lanes_may_run_alone(f, plan, gang_lanes(options.simd))) return std::optional<Translation>();
  dump(options, options.dump.ir, "ir", optimized);
  stats.phases = static_cast<u32>(plan.phases.size());
  x86::choose_interleave(f, plan, options.simd, options.interleave);
  dump(options, options.dump.phases, "phases",
       options.dump.phases ? phases::print(plan, f) + print(reasons, f) : "");
  stats.passes_ms = clock.lap();
  const u64 base = reinterpret_cast<u64>(source.code.data());
  auto compiled = x86::compile(f, plan,
                               {.simd = options.simd,
                                .extras = host_extras(options.simd),
                                .code_base = base,
                                .verify = options.verify,
                                .listing = options.dump.x86});
  stats.emit_ms = clock.lap();
  if (!compiled) return std::move(compiled).error();
  compiled->translation.packs = reasons.packed;
  dump(options, options.dump.x86, "x86", compiled->listing);
  stats.spills = compiled->spills;
  stats.code_bytes = compiled->translation.machine.bytes.size();
  return std::optional(std::move(compiled->translation));
}

} // namespace

Result<Translation> translate(const KernelSource& source, const Options& options, Stats* out) {
  Stats unused;
  Stats& stats = out != nullptr ? *out : unused;
  if (options.dump.gcn) dump(options, true, "gcn", disassemble(source));
  // Whether a loop will lie within a phase is seen only when phases have been formed.
  for (const LanesAlone alone : {LanesAlone::LastAndRetrying, LanesAlone::Retrying, LanesAlone::None}) {
    auto translation = attempt(source, options, alone, stats);
    if (!translation) return std::move(translation).error();
    if (*translation) return std::move(**translation);
  }
  return Error{ErrorCode::Internal, source.name + ": lanes that run alone, though none should"};
}

Result<std::unique_ptr<runtime::WaveEngine>> translate_and_load(const KernelSource& source,
                                                                const Options& options, Stats* stats) {
  auto translation = translate(source, options, stats);
  if (!translation) return std::move(translation).error();
  return load(std::move(*translation));
}

bool host_supports(Simd simd) { return simd == Simd::Avx512 ? host_has_avx512() : host_has_avx2(); }

u32 host_extras(Simd simd) {
  if (simd != Simd::Avx512) return 0;
  __builtin_cpu_init();
  return (__builtin_cpu_supports("avx512vpopcntdq") ? kVpopcnt : 0) |
         (__builtin_cpu_supports("avx512vbmi2") ? kVbmi2 : 0);
}

} // namespace lanewise::translator
