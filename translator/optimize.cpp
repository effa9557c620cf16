// The passes, in their order. docs/PASSES.md says what each is for, and why it stands where it does.
#include "translator/optimize.hpp"

#include "support/stop_clock.hpp"
#include "translator/ir/verify.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/byte_walks.hpp"
#include "translator/phases/close_ranks.hpp"
#include "translator/phases/even_rounds.hpp"
#include "translator/phases/full_masks.hpp"
#include "translator/phases/gang_rounds.hpp"
#include "translator/phases/lane_ranges.hpp"
#include "translator/phases/lane_turns.hpp"
#include "translator/phases/last_lanes.hpp"
#include "translator/phases/phases.hpp"
#include "translator/phases/retry_chains.hpp"
#include "translator/phases/scalar_ranges.hpp"
#include "translator/phases/walks.hpp"

#include <algorithm>

namespace lanewise::translator {

namespace {

/// Of a kernel in which lifting has made values of private memory: in larger ones, that is not done again,
/// which takes long and rarely finds more.
constexpr u32 kMaxPromotedTwice = 10'000;

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

void compact_if_sparse(ir::Function& f) {
  if (passes::is_sparse(f)) f.compact();
}

/// One run of all passes. Each function is a stage, a section of docs/PASSES.md.
class Optimizer {
public:
  Optimizer(ir::Function& f, const KernelSource& source, const Options& options, LanesAlone alone,
            lift::Promotion promotion, Reasons& reasons, Stats& stats)
      : f_(f), source_(source), options_(options), alone_(alone), promotion_(promotion), reasons_(reasons),
        stats_(stats), lanes_(gang_lanes(options.simd)),
        lds_bytes_(std::max(source.lds_bytes, options.launch.lds_bytes)) {}

  Result<void> run() && {
    run("lift", [](ir::Function&) {}); // which is not a pass, but verified like one
    make_values();
    simplify_branches();
    decide_branches();
    remove_predication();
    unroll_and_merge();
    replace_arithmetic();
    copy_loops();
    form_accesses();
    order();
    stats_.selects_after = count(f_, ir::Op::Select);
    stats_.ir_instructions = count_instructions(f_);
    return std::move(result_);
  }

private:
  void make_values();
  void simplify_branches();
  void decide_branches();
  void remove_predication();
  void unroll_and_merge();
  void replace_arithmetic();
  void copy_loops();
  void form_accesses();
  void order();

  /// Runs a pass and, when asked to, verifies; the first broken invariant stops the rest.
  template <class Pass>
  void run(const char* name, Pass pass) {
    if (!result_) return;
    StopClock clock;
    pass(f_);
    stats_.ms_of_passes.emplace_back(name, clock.lap());
    if (!options_.verify) return;
    if (auto valid = ir::verify(f_); !valid)
      result_ = std::move(valid).error().in(std::string("after ") + name);
  }
  /// Likewise, and tidies up if the pass says that it has changed anything.
  template <class Pass>
  void run_and_tidy(const char* name, Pass pass) {
    run(name, [&](ir::Function& f) {
      if (pass(f)) tidy_up(f);
    });
  }
  void load_constants() {
    run("load_constants", [&](ir::Function& f) { passes::load_constants(f, source_); });
  }
  void remove_dead_stores(ir::Function& f) const {
    passes::remove_dead_stores(f, source_.private_bytes_per_lane);
  }

  ir::Function& f_;
  const KernelSource& source_;
  const Options& options_;
  LanesAlone alone_;
  lift::Promotion promotion_;
  Reasons& reasons_;
  Stats& stats_;
  u32 lanes_; ///< of a gang
  u32 lds_bytes_;
  /// Masks behind loops have become those from before them.
  bool restored_ = false;
  /// Of the function as it is from one pass to the next; null once a pass has changed anything.
  std::shared_ptr<const passes::MaskAnalysis> masks_;
  Result<void> result_;
};

void Optimizer::make_values() {
  bool is_folded = false; // as far as it goes
  run("use_launch_facts", passes::use_launch_facts);
  run("fold", passes::fold);
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("compact", compact_if_sparse);         // what lifting has left is a small part at -O0
  run("merge_blocks", passes::merge_blocks); // branches on what is known, barriers of a single wave
  run("choose_private_elements", [&](ir::Function& f) {
    if (passes::choose_private_elements(f, source_.private_bytes_per_lane))
      promotion_ = lift::Promotion::None;
  });
  run("promote_private_memory", [&](ir::Function& f) {
    const bool again = promotion_ != lift::Promotion::None;
    if (again && count_instructions(f) > kMaxPromotedTwice) return;
    passes::promote_private_memory(f, source_.private_bytes_per_lane,
                                   promotion_ != lift::Promotion::Finished);
  });
  run("remove_dead_stores", [&](ir::Function& f) { remove_dead_stores(f); });
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("compact", compact_if_sparse);
  run("join_pairs", [&](ir::Function& f) { is_folded = passes::join_pairs(f); });
  run("scalarize_lanes", [&](ir::Function& f) {
    if (passes::scalarize_lanes(f)) is_folded = false;
  });
  run("fold", [&](ir::Function& f) {
    if (!is_folded) passes::fold(f);
  });
  run("merge_common", passes::merge_common);
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("join_pairs", passes::join_pairs);             // scalars that were lanes may be halves of pairs
  run("use_launch_facts", passes::use_launch_facts); // pointers that were spilled
  load_constants();
  run("fold", passes::fold);
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("compact", compact_if_sparse);
}

void Optimizer::simplify_branches() {
  run("restore_masks", [&](ir::Function& f) { restored_ = passes::restore_masks(f, &masks_); });
  run("simplify_masks", [&](ir::Function& f) { masks_ = passes::simplify_masks(f, std::move(masks_)); });
  run("eliminate_dead_code", [&](ir::Function& f) {
    if (passes::eliminate_dead_code(f)) masks_ = nullptr;
  });
  run("thread_exits", [&](ir::Function& f) { passes::thread_exits(f, false, std::move(masks_)); });
  run("merge_blocks", passes::merge_blocks);
  run("use_branches", passes::use_branches_but_joined); // masks that are equal have become one
  run("use_launch_facts", passes::use_launch_facts);    // offsets that were selected
  load_constants();
  run("split_pairs", [](ir::Function& f) { passes::split_pairs(f); });
  run("merge_common", passes::merge_common); // parameters that are constants
  run("fold", passes::fold);
  run("skip_decided_branches", passes::skip_decided_branches);
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("merge_blocks", passes::merge_blocks);
  run_and_tidy("shorten_waves", [&](ir::Function& f) { return passes::shorten_waves(f, lanes_); });
  run_and_tidy("use_lane_ids", passes::use_lane_ids);
  run("unroll_loops", passes::unroll_loops);
  run("join_branches", [](ir::Function& f) {
    if (!passes::join_branches(f)) return;
    passes::use_branches(f); // behind such a branch there may be another one on the same mask
    tidy_up(f);
  });
  run_and_tidy("resolve_masked_flat_accesses", passes::resolve_masked_flat_accesses);
}

void Optimizer::decide_branches() {
  run("decide_branches", [&](ir::Function& f) { masks_ = phases::decide_branches(f, &reasons_.branches); });
  run("pack_workgroups", [&](ir::Function& f) {
    if (!f.launch.packs || f.launch.max_sgpr(static_cast<u32>(f.launch.group_id_sgpr[0])) == 0)
      return; // there is one along x
    reasons_.not_packed = passes::pack_workgroups(f, source_.private_bytes_per_lane);
    reasons_.packed = reasons_.not_packed.empty();
    if (!reasons_.packed) return;
    tidy_up(f);
    reasons_.branches.clear();
    masks_ = phases::decide_branches(f, &reasons_.branches);
  });
  run("go_short_ways", [&](ir::Function& f) {
    while (phases::go_short_ways(f)) { // outer ones may be short then
      passes::eliminate_dead_code(f);  // that was asked
      passes::merge_blocks(f);
      masks_ = nullptr;
    }
  });
}

void Optimizer::remove_predication() {
  run("predicate", [&](ir::Function& f) {
    stats_.selects_before = count(f, ir::Op::Select);
    passes::predicate(f, std::move(masks_));
  });
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("compact", compact_if_sparse);
  run("fill_masks", [&](ir::Function& f) {
    const bool filled = passes::fill_masks(f);
    if (!restored_ && !filled) return;
    tidy_up(f);
    if (filled) { // what a loop has taken along is what was before it, and then more is seen to be so
      tidy_up(f);
      if (passes::fill_masks(f)) tidy_up(f);
    }
    passes::predicate(f, passes::simplify_decided_masks(f));
  });
  run("fold", passes::fold);
  run("use_known_masks", [&](ir::Function& f) {
    if (passes::use_known_masks(f, lanes_)) passes::fold(f);
  });
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("join_vector_pairs", [](ir::Function& f) { // whose arithmetic was between selects
    passes::join_vector_pairs(f);
    if (chooses_pairs(f)) passes::predicate(f);
  });
  run("remove_dead_stores", [&](ir::Function& f) { remove_dead_stores(f); }); // few are loaded again now
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("thread_exits", [](ir::Function& f) {
    passes::thread_exits(f, true);
    passes::merge_blocks(f);
    passes::use_branches(f);
    passes::split_pairs(f, true); // halves that only selects have looked at
    tidy_up(f);
  });
  run_and_tidy("scalarize_counters", passes::scalarize_counters);
  run("rotate_loops", [](ir::Function& f) {
    if (!passes::rotate_loops(f)) return;
    tidy_up(f);
    if (passes::scalarize_counters(f)) tidy_up(f); // of which it was not seen that all stay
  });
  run_and_tidy("unmask_pointers", passes::unmask_pointers);
  run("join_loops", passes::join_loops);
}

void Optimizer::unroll_and_merge() {
  run("share_arm_loads", [&](ir::Function& f) {
    if (!passes::share_arm_loads(f, lanes_)) return;
    tidy_up(f);
    passes::predicate(f); // what lanes of the other arm do not have, nobody looks at
    passes::eliminate_dead_code(f);
  });
  run_and_tidy("merge_bytes",
               [&](ir::Function& f) { return passes::merge_bytes(f, source_.private_bytes_per_lane); });
  run("unroll_array_loops", [&](ir::Function& f) {
    if (passes::replace_narrow_divisions(f)) passes::eliminate_dead_code(f);
    if (!passes::unroll_array_loops(f, source_)) return;
    if (passes::load_constants(f, source_)) { // at indices that were counters
      passes::use_branches(f);                // the first lane has them, if there is any
      passes::fold(f);
    }
    passes::promote_private_memory(f, source_.private_bytes_per_lane);
    remove_dead_stores(f);
    passes::merge_kept_values(f); // in registers that were part of an array
    tidy_up(f);
    passes::predicate(f);
    passes::eliminate_dead_code(f);
  });
  run_and_tidy("remove_lds_accesses", passes::remove_lds_accesses);
  run("split_packed_halves", [](ir::Function& f) {
    if (!passes::split_packed_halves(f)) return;
    tidy_up(f);
    passes::drop_unseen_bits(f); // or it is not seen that elements are only chosen
    tidy_up(f);
    passes::pack_on_the_way_out(f);
  });
  run("merge_selects", passes::merge_selects);
  run("change_elements", [](ir::Function& f) {
    if (passes::change_elements(f)) passes::eliminate_dead_code(f);
  });
  run_and_tidy("join_bounds", passes::join_bounds);
  run("spread_loads", [&](ir::Function& f) { passes::spread_loads(f, lanes_); });
  run_and_tidy("count_even_rounds", [&](ir::Function& f) { return phases::count_even_rounds(f, lanes_); });
  run_and_tidy("load_walks_together",
               [&](ir::Function& f) { return phases::load_walks_together(f, lanes_); });
}

void Optimizer::replace_arithmetic() {
  run("replace_integer_divisions", [](ir::Function& f) {
    const bool small = passes::replace_small_divisions(f), narrow = passes::replace_narrow_divisions(f);
    if (!passes::replace_wide_divisions(f) && !narrow && !small) return;
    tidy_up(f);
    passes::predicate(f); // what was left of them in registers nobody looks at any more
    tidy_up(f);
  });
  run("replace_divisions",
      [&](ir::Function& f) { passes::replace_divisions(f, options_.simd == Simd::Avx2); });
  run("drop_root_corrections", passes::drop_root_corrections);
  run("unscale_roots", passes::unscale_roots); // of f64
  run("legalize", passes::legalize);
  run("unscale_roots", passes::unscale_roots); // of f32
  run("drop_unseen_bits", passes::drop_unseen_bits);
  run("fold", passes::fold);
  run("merge_common", passes::merge_common);
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run_and_tidy("join_dot_products", passes::join_dot_products);
  run("compact", [](ir::Function& f) { f.compact(); });
  run_and_tidy("name_permutes", [&](ir::Function& f) { return passes::name_permutes(f, lanes_); });
}

void Optimizer::copy_loops() {
  const bool last_lanes = alone_ == LanesAlone::LastAndRetrying;
  run("run_lanes_in_turn", [&](ir::Function& f) {
    if (!last_lanes || !phases::run_lanes_in_turn(f, lanes_)) return;
    tidy_up(f);
    if (phases::decide_scalar_comparisons(f)) tidy_up(f);
    remove_dead_stores(f); // to rows that turn out not to be looked at
    passes::eliminate_dead_code(f);
  });
  run("split_rounds_by_full_masks", [&](ir::Function& f) {
    if (!phases::split_rounds_by_full_masks(f, lanes_, last_lanes)) return;
    passes::fold(f);
    passes::eliminate_dead_code(f); // or what is asked only once a lane has left would be found there
    tidy_up(f);
  });
  run_and_tidy("split_by_lane_ranges",
               [&](ir::Function& f) { return last_lanes && phases::split_by_lane_ranges(f, lanes_); });
  run_and_tidy("run_last_lanes_alone",
               [&](ir::Function& f) { return last_lanes && phases::run_last_lanes_alone(f, lanes_); });
  run_and_tidy("close_ranks", [&](ir::Function& f) {
    bool closed = phases::close_ranks(f, lanes_);
    closed |= phases::close_ranks_in_loops(f, lanes_);
    closed |= phases::close_ranks_behind_branches(f, lanes_);
    return closed;
  });
  run_and_tidy("load_expected_once", passes::load_expected_once);
  run_and_tidy("add_without_retrying", passes::add_without_retrying);
  run_and_tidy("chain_retries", [&](ir::Function& f) {
    return alone_ != LanesAlone::None &&
           phases::chain_retries(f, passes::find_retry_loops(f), lanes_, lds_bytes_);
  });
}

void Optimizer::form_accesses() {
  run_and_tidy("split_chosen_rows", [&](ir::Function& f) { return passes::split_chosen_rows(f, lanes_); });
  run_and_tidy("merge_parts", [&](ir::Function& f) { return passes::merge_parts(f, lanes_); });
  run("load_bytes_ahead", [&](ir::Function& f) {
    if (!phases::load_bytes_ahead(f, lanes_)) return;
    tidy_up(f);
    passes::predicate(f); // Mostly nobody looks at the bytes of lanes that have left.
    passes::eliminate_dead_code(f);
  });
  run("count_indices_up", [&](ir::Function& f) { passes::count_indices_up(f, lanes_); });
  run("shape_addresses", [&](ir::Function& f) {
    passes::shape_addresses(f, lanes_, lds_bytes_, source_.private_bytes_per_lane);
  });
  run("merge_common", passes::merge_common);
  run("merge_rows", [&](ir::Function& f) { passes::merge_rows(f, lanes_); });
  run("split_bytes", passes::split_bytes);
  run("share_halves", [&](ir::Function& f) { passes::share_halves(f, lanes_); });
  run("widen_accesses", passes::widen_accesses);
  run("eliminate_dead_code", passes::eliminate_dead_code);
  run("load_scalars", passes::load_scalars);
  run("shorten_rows", [&](ir::Function& f) { passes::shorten_rows(f, lanes_); });
  run("unmask_accesses", passes::unmask_accesses);
}

void Optimizer::order() {
  run("split_loops_by_full_masks", phases::split_loops_by_full_masks);
  run("hoist", passes::hoist);
  run("unroll_gang_rounds", [](ir::Function& f) {
    if (!phases::unroll_gang_rounds(f)) return;
    passes::merge_blocks(f); // Only then is it seen that some counters begin with 0.
    tidy_up(f);
  });
  run("finish_before_barriers", passes::finish_before_barriers);
  run("stream_stores", [&](ir::Function& f) { passes::stream_stores(f, lanes_); });
  run("compare_as_signed", [&](ir::Function& f) {
    if (options_.simd == Simd::Avx2) passes::compare_as_signed(f);
  });
  run("order_sums", passes::order_sums);
  run("schedule", passes::schedule);
  run("sink", passes::sink);
  run("group_looks", [&](ir::Function& f) { phases::group_looks(f, lanes_); });
  run("defer_adds", passes::defer_adds);
}

} // namespace

Result<void> optimize(ir::Function& f, const KernelSource& source, const Options& options, LanesAlone alone,
                      lift::Promotion promotion, Reasons& reasons, Stats& stats) {
  return Optimizer(f, source, options, alone, promotion, reasons, stats).run();
}

} // namespace lanewise::translator
