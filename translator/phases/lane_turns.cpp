// Interpreters, searches that backtrack: lanes of such a loop go different ways, and each of these is gone
// with most lanes idle. One lane for itself goes its own way and no other: by branches, and with scalars. So
// the loop is there a second time, for one lane after the other, as long as each goes on. What it keeps in
// its private memory, such as a stack, no other lane sees.
//
//   parting:  which way has been faster (timed_ways.hpp), all lanes together or in turns?
//   together: the loop as it is; gangs may go side by side
//   choice:   in a loop that lanes leave one by one: do they go different ways? else a round for all
//   begin:    what they need to rows in memory, where a lane's is found by its number
//   pick:     the first of those left; its values as scalars
//   alone:    the loop in scalars (scalar_copy.hpp)
//   next:     what it leaves behind goes into its lane; the next lane, or what is behind the loop
#include "translator/phases/lane_turns.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/lane_costs.hpp"
#include "translator/phases/lane_floats.hpp"
#include "translator/phases/load_loops.hpp"
#include "translator/phases/outer_loops.hpp"
#include "translator/phases/scalar_arrays.hpp"
#include "translator/phases/scalar_copy.hpp"
#include "translator/phases/timed_ways.hpp"

#include <algorithm>
#include <map>
#include <ranges>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 800;
constexpr u32 kLargeArm = 8;    ///< vectors
constexpr u32 kVectorCost = 2;  ///< in scalars, of which more go side by side
constexpr u32 kRowCost = 2;     ///< in vectors
constexpr u32 kFloatCost = 4;   ///< in scalars: of one lane's, most wait for the one before
constexpr u32 kPrivateCost = 6; ///< in scalars: is it inside, and where does the lane have it
constexpr u32 kBranchCost = 3;  ///< in scalars: into an arm; now and then it is foreseen wrongly
constexpr u32 kFlagCost = 2;    ///< in scalars, to have what a comparison finds in a register
constexpr u32 kMemory = 256;  ///< times that lanes take turns before it is seen again whether that is better
constexpr u32 kAlikeLog2 = 2; ///< of how many lanes, what has been seen holds for the next ones
constexpr u32 kShare = 7,
              kShareOf = 10;  ///< of what a gang's lanes take alone at least, all ways have to take
constexpr u32 kMinUneven = 2; ///< loops of a stretch
constexpr u32 kMinArms = 2, kMinVectors = 60, kMinGathers = 3; ///< of a loop
constexpr u32 kMinElements = 8;                                ///< of an array that is worth turns alone
constexpr u64 kMaxNumber = 32;                                 ///< of an element

class LaneTurns : OuterLoopPass {
public:
  LaneTurns(Function& f, unsigned gang_lanes) : OuterLoopPass(f, true), gang_lanes_(gang_lanes) {}

  /// Whether it has changed something.
  bool run() {
    if (loops_.irreducible) return false;
    for (const bool counted : {false, true})
      for (const Loops::Loop& loop : loops_.loops)
        if (find_loop(loop, kMaxInstructions, counted) && change())
          return true; // One will do: what is known of the function is of how it was before.
    return find_stretch(kMaxInstructions) && change();
  }

private:
  /// What is done for some lanes, with as many vectors whether these are one or all: behind a branch, or in a
  /// round of an inner loop.
  struct Arm {
    ValueId mask;
    bool is_loop = false;
    bool is_rare = false;
    u32 vectors = 0; ///< instructions for the gang
    u32 scalars = 0; ///< and for one lane alone
  };
  const unsigned gang_lanes_;
  std::map<u32, Arm> arms_;                  ///< by their first block
  std::optional<passes::LaneShapes> shapes_; ///< made when there is such a loop
  std::vector<u8> element_questions_;        ///< per value
  bool has_array_ = false;                   ///< in registers
  bool is_uneven_ = false; ///< There are turns only because some lanes may stay much longer than others.

  bool change() {
    if (is_counted_) add_mask();
    if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
    find_arms();
    find_element_questions();
    is_uneven_ = false;
    is_uneven_ = !is_counted_ && !(is_worthwhile() && may_be_sooner()) &&
                 lanes_leave_by_loads(f_, cfg_, *shapes_, *loop_, again(), mask_) &&
                 std::ranges::none_of(arms_, [](const auto& arm) { return arm.second.is_loop; });
    ScalarCopy copy(f_, *loop_, blocks_, params()[mask_]);
    if (is_worthwhile() && (is_counted_ ? find_made() : find_left_behind(true)) && may_be_sooner() &&
        copy.plan(element_questions_)) {
      if (latch_.valid()) latch_ = copy.last_piece(latch_);
      add_turns(copy);
      return true;
    }
    if (is_counted_) drop_mask();
    return false;
  }

  /// In loops that scalars count, all lanes are left until the end.
  void add_mask() {
    mask_ = static_cast<u32>(params().size());
    const ValueId left = f_.add_param(header(), Type::Mask);
    edge(entry_, header()).args.push_back(f_.entry_constant(Type::Mask, ~u64{0}));
    if (latch_.valid()) edge(latch_, header()).args.push_back(left);
  }
  void drop_mask() {
    std::vector<u8> stays(f_.num_values(), 1);
    stays[params()[mask_].index] = 0;
    for (const BlockId from : {entry_, latch_})
      if (from.valid()) edge(from, header()).args.pop_back();
    f_.keep_params(header(), stays);
  }

  /// The header is one, too.
  void find_arms() {
    arms_.clear();
    arms_[header().index].mask = params()[mask_];
    for (const BlockId b : blocks_) {
      const auto preds = cfg_.preds[b.index];
      if (b == header()) continue;
      if (const ValueId left = left_in_loop(b); left.valid())
        arms_[b.index] = {.mask = left, .is_loop = true};
      if (preds.size() != 1 || !is_gang_decided(f_, preds[0])) continue;
      if (f_[preds[0]].successors[0].block != b) continue;
      const bool is_rare = (f_[f_.terminator(preds[0])].imm & kFirstIsRare) != 0;
      arms_[b.index] = {.mask = f_.tested_mask(preds[0]), .is_rare = is_rare};
    }
    for (const BlockId b : blocks_) arm_of(b).vectors += vectors(b);
  }
  Arm& arm_of(BlockId b) {
    while (!arms_.contains(b.index)) b = dom_.idom[b.index];
    return arms_[b.index];
  }
  /// Arrays in registers are chosen from, and set, by comparing an index with many numbers. A lane alone asks
  /// nothing: it has them in memory.
  void find_element_questions() {
    std::map<u32, std::vector<InstId>> by_index;
    std::vector<u8> elsewhere(f_.num_values(), 0); ///< used, and not only to choose, in some lanes or in all
    for (const BlockId b : blocks_) {
      for (const Successor& s : f_[b].successors)
        for (const ValueId v : s.args) elsewhere[v.index] = 1;
      for (const InstId i : f_[b].insts | std::views::reverse) {
        const auto x = f_.operands(i);
        const bool only_chooses = f_[i].op == Op::And && elsewhere[f_.result(i).index] == 0;
        for (std::size_t n = 0; n < x.size() && !only_chooses; ++n)
          if (f_[i].op != Op::Select || n != 0) elsewhere[x[n].index] = 1;
        if (f_[i].op != Op::ICmp || static_cast<IntPred>(f_[i].imm) != IntPred::Eq) continue;
        u64 number = 0;
        for (const unsigned k : {0u, 1u})
          if (f_.type(x[k]) == Type::V32 && f_.is_const(x[k], &number) && number < kMaxNumber)
            by_index[x[1 - k].index].push_back(i);
      }
    }
    element_questions_.assign(f_.num_values(), 0);
    has_array_ = false;
    for (const auto& [index, questions] : by_index) {
      u32 asked = 0;
      for (const InstId i : questions) asked += elsewhere[f_.result(i).index] == 0 ? 1 : 0;
      if (asked < kMinElements) continue;
      has_array_ = true;
      for (const InstId i : questions)
        element_questions_[f_.result(i).index] = elsewhere[f_.result(i).index] == 0 ? 1 : 0;
    }
  }
  /// Of an inner loop with this header, the parameter that has the lanes that are left.
  [[nodiscard]] ValueId left_in_loop(BlockId header) const {
    for (const BlockId from : cfg_.preds[header.index])
      if (dom_.dominates(header, from) && is_gang_decided(f_, from))
        for (const Successor& s : f_[from].successors) {
          const auto left = std::ranges::find(s.args, f_.tested_mask(from));
          if (s.block == header && left != s.args.end())
            return f_[header].params[static_cast<std::size_t>(left - s.args.begin())];
        }
    return {};
  }
  [[nodiscard]] u32 vectors(BlockId b) const {
    u32 sum = 0;
    for (const InstId i : f_[b].insts) sum += vectors(i);
    return sum;
  }
  [[nodiscard]] u32 vectors(InstId i) const {
    if (f_[i].op == Op::Load || f_[i].op == Op::Store) {
      const u32 dwords = std::max(1u, f_[i].mem.bytes / 4u);
      if (!is_private_access(f_[i])) return may_be_row(i) ? kRowCost : gather_cost(f_[i].mem, gang_lanes_);
      return dwords * (is_same_in_all_lanes(f_.operands(i)[0]) ? 1 : gather_cost({.bytes = 4}, gang_lanes_));
    }
    if (f_[i].op == Op::AnyLane) return 2;
    if (f_[i].num_results == 0 || !is_per_lane(f_.type(f_.result(i)))) return 0;
    return is_for_free(f_[i].op) ? 0 : is_wide(f_.type(f_.result(i))) ? 2 : 1;
  }
  /// A load that goes along a row, or to one place.
  [[nodiscard]] bool may_be_row(InstId i) const {
    const auto any = [](ValueId, unsigned) { return LaneKind::Any; };
    return lane_kind(f_, *shapes_, f_.operands(i)[0], any) != LaneKind::Any;
  }
  [[nodiscard]] bool is_same_in_all_lanes(ValueId v) const {
    const Inst* def = f_.def(v);
    return def != nullptr && (def->op == Op::Splat || def->op == Op::Const);
  }
  /// Into a scalar, if that is wanted (passes/load_scalars.cpp).
  [[nodiscard]] bool is_loaded(ValueId v) const {
    const Inst* def = f_.def(v);
    return def != nullptr && def->op == Op::Load;
  }
  /// Of floats there are only vectors, into which scalars are brought.
  [[nodiscard]] u32 scalar_cost(InstId i) const {
    const Inst& inst = f_[i];
    const Type t = inst.num_results == 0 ? Type::None : f_.type(f_.result(i));
    if (inst.op == Op::Load || inst.op == Op::Store)
      return inst.mem.space == Space::Scratch ? kPrivateCost : 1;
    if (inst.op == Op::GangFirst && is_loaded(f_.operands(i)[0])) return 0;
    if (inst.op == Op::Splat && t != Type::Mask) return kVectorCost;
    if (inst.op == Op::UDiv && is_gang(t)) return is_wide(t) ? 45 : 30;
    if (is_for_free(inst.op)) return 0;
    if (info(inst.op).is(kFloat)) return kFloatCost * (is_vector(t) && is_wide(t) ? 2 : 1);
    return is_vector(t) ? kVectorCost * (is_wide(t) ? 2 : 1) : 1;
  }
  static bool is_for_free(Op op) {
    return op == Op::Const || op == Op::Splat || op == Op::Join || op == Op::Lo || op == Op::Hi;
  }

  /// There is much that is done for some of the lanes, in several places or by gathers.
  [[nodiscard]] bool is_worthwhile() const {
    if (!latch_.valid()) return num_uneven_loops() >= kMinUneven;
    if (is_uneven_) return true;
    std::map<u32, u32> behind_branches; // or all the time, inner loops included
    for (BlockId b : blocks_) {
      const u32 n = vectors(b);
      while (!arms_.contains(b.index) || arms_.at(b.index).is_loop) b = dom_.idom[b.index];
      behind_branches[b.index] += n;
    }
    u32 all = 0, large = 0;
    for (const auto& [b, n] : behind_branches) {
      if (arms_.at(b).is_rare) continue;
      all += n;
      large += b != header().index && n >= kLargeArm ? 1 : 0;
    }
    const bool goes_different_ways = large >= kMinArms || (large != 0 && num_gathers() >= kMinGathers);
    return all >= kMinVectors && (goes_different_ways || has_array_);
  }
  /// Of those inside, where what is loaded tells who goes on.
  [[nodiscard]] u32 num_uneven_loops() const {
    return static_cast<u32>(std::ranges::count_if(loops_.loops, [&](const Loops::Loop& l) {
      std::vector<u8> seen(f_.num_values(), 0);
      std::vector<ValueId> work;
      const auto look_at = [&](ValueId v) {
        const bool is_inside = std::ranges::find(l.blocks, f_.def_block(v)) != l.blocks.end();
        if (is_inside && seen[v.index] == 0) work.push_back(v);
        seen[v.index] = 1;
      };
      if (!loop_->contains(l.header)) return false;
      for (const BlockId b : cfg_.preds[l.header.index])
        if (dom_.dominates(l.header, b) && is_gang_decided(f_, b)) look_at(f_.tested_mask(b));
      while (!work.empty()) {
        const InstId i = f_.def_id(work.back());
        work.pop_back();
        if (!i.valid()) continue;
        if (f_[i].op == Op::Load) return true;
        std::ranges::for_each(f_.operands(i), look_at);
      }
      return false;
    }));
  }
  /// Gangs whose lanes may take turns do not go side by side, as others do while they wait for what they load
  /// and compute. Where a lane takes longer for the shortest way than all ways together take for its share of
  /// the gang, turns are for a few lanes that are left alone, and mostly do not make up for that (a walk
  /// along a graph 2.8, marching rays 1.7, counting in a tree 1.6 times faster without). How often a lane
  /// goes round inner loops is not known.
  [[nodiscard]] bool may_be_sooner() const {
    if (!latch_.valid()) return true; // A stretch has inner loops.
    if (std::ranges::any_of(arms_, [](const auto& arm) { return arm.second.is_loop; })) return true;
    if (has_array_) return true; // Choices of an element wait for each other.
    u32 together = 0;
    for (const auto& [b, arm] : arms_) together += arm.is_rare ? 0 : cost_together(arm);
    std::map<u32, u32> shortest{{header().index, scalars(header())}}; // to the end of a block
    for (const BlockId b : cfg_.rpo) {
      if (!shortest.contains(b.index)) continue;
      for (const Successor& s : f_[b].successors) {
        if (!loop_->contains(s.block) || cfg_.rpo_index[s.block.index] <= cfg_.rpo_index[b.index]) continue;
        const u32 there = shortest.at(b.index) + scalars(s.block);
        const auto [known, is_new] = shortest.try_emplace(s.block.index, there);
        if (!is_new) known->second = std::min(known->second, there);
      }
    }
    const u32 alone = gang_lanes_ * shortest.at(latch_.index);
    if (is_uneven_) return together * rounds_of_longest() >= 100 * alone;
    return together * kShareOf >= alone * kShare;
  }
  /// Of a gang's lanes that stay as long as it happens, by so many rounds in the mean: how many that one has
  /// which stays longest, in percent of the mean.
  [[nodiscard]] u32 rounds_of_longest() const {
    u32 sum = 0;
    for (u32 n = 1; n <= gang_lanes_; ++n) sum += 100 / n;
    return sum;
  }
  /// What a lane alone would do in a block, about.
  [[nodiscard]] u32 scalars(BlockId b) const {
    u32 sum = 0;
    for (const InstId i : f_[b].insts) {
      const Inst& inst = f_[i];
      const Type t = inst.num_results == 0 ? Type::None : f_.type(f_.result(i));
      if (inst.op == Op::ICmp && element_questions_[f_.result(i).index] != 0) continue;
      if (is_vector(t) || inst.op == Op::ICmp || inst.op == Op::FCmp || inst.op == Op::Store)
        sum += inst.op == Op::Select ? 0 : scalar_cost(i);
    }
    return sum;
  }
  /// Loads that go where others have said.
  [[nodiscard]] u32 num_gathers() const {
    u32 sum = 0;
    for (const BlockId b : blocks_)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Load) sum += is_computed(f_, cfg_, f_.operands(i)[0]) ? 0 : 1;
    return sum;
  }

  void add_turns(ScalarCopy& copy) {
    pass_escaping();
    const u32 pc = f_[header()].pc;
    OneLane one(f_);
    TimedWays ways(f_, row_range(one.take_rows(1), 1), pc,
                   is_counted_ || is_uneven_ ? TimedWays::Usual::First : TimedWays::Usual::Second);
    add_meeting(ways);
    const BlockId together = is_counted_ ? header() : copy_blocks(f_, blocks_).of(header());
    Builder choice = add_block(pc), next = add_block(pc);
    one.rows = add_block(pc);
    one.turn = add_block(pc);
    const std::vector<ValueId> all = take_params(choice.block());

    // What a lane leaves behind goes to its place in vectors, from turn to turn.
    std::vector<ValueId> before, begin, now, out;
    std::vector<u32> wanted;
    for (u32 n = 0; n < behind_.size(); ++n) {
      out.push_back(behind_[n]);
      if (!is_made_[n]) continue;
      wanted.push_back(n);
      begin.push_back(is_counted_ ? f_.entry_constant(f_.type(behind_[n]), 0)
                                  : kept_at(one.rows, behind_[n], all));
      before.push_back(f_.add_param(one.turn.block(), f_.type(behind_[n])));
    }
    const ValueId left = f_.add_param(one.turn.block(), Type::G32);
    begin.push_back(one.bits_of(all[mask_]));
    ValueId others;
    const ValueId lane = one.start(left, all[mask_], others);
    for (u32 n = 0; n < wanted.size(); ++n) {
      now.push_back(one.put_back(next, lane, before[n]));
      out[wanted[n]] = now.back();
    }
    copy.make(one, lane, all, next.block(), wanted);
    passes::drop_unseen_bits_in(f_, copy.copies()); // More are, of one lane that goes its own way.
    put_arrays_into_rows(f_, copy.copies(), one.turn.block(), one);
    std::vector<BlockId> alone = copy.copies();
    alone.push_back(next.block());
    keep_floats_in_vectors(f_, alone);
    const ValueId more = next.any(next.icmp(IntPred::Ne, others, g32(0)));
    now.push_back(others);
    next.branch(more, one.turn.block(), loop_->exit, now, out);
    f_[f_.terminator(next.block())].imm = gang_decided(loop_->exit);

    part(ways, together, choice.block());
    if (is_counted_) {
      choice.jump(one.rows.block());
    } else {
      edge(latch_, header()).block = choice.block();
      const u64 row = row_range(one.take_rows(1), 1);
      const u32 enough = gang_lanes_ * static_cast<u32>(params().size()); // to make up for the change
      const ValueId number = decide(choice, one.rows, all, row, enough);
      count_scalars(copy);
      count_divisions(copy);
      weigh(row, number, enough);
      take_parameters_of(choice.block(), header());
    }
    one.rows.jump(one.turn.block(), begin);
  }
  Builder add_block(u32 pc) {
    Builder at(f_, f_.add_block(pc));
    at.pc = pc;
    return at;
  }
  /// One that only the first gang goes through, and that decides for all. It can hand on nothing.
  Builder add_common_block(u32 pc) {
    Builder at = add_block(pc);
    f_[at.block()].first_gangs = 1;
    return at;
  }
  /// Before the loop. Gangs go side by side the first way; the second one is a phase of its own, in which
  /// they do not.
  void part(TimedWays& ways, BlockId first, BlockId second) {
    const u32 pc = f_[header()].pc;
    Builder at = add_common_block(pc), to_first = add_block(pc), to_second = add_block(pc);
    Successor& in = edge(entry_, header());
    const std::vector<ValueId> args = std::exchange(in.args, {});
    in.block = at.block();
    to_first.jump(first, args);
    to_second.jump(second, args);
    const ValueId is_first = at.op(Op::Splat, Type::Mask, {ways.takes_first(at)});
    at.branch(at.any(is_first), to_first.block(), to_second.block());
    f_[f_.terminator(at.block())].imm = kSecondIsRare;
  }
  /// `b` is `target`, or only jumps on, perhaps a few times, until there: who meets there meets here.
  [[nodiscard]] bool only_leads_to(BlockId b, BlockId target) const {
    constexpr unsigned kMaxJumps = 8;
    for (unsigned n = 0; n < kMaxJumps && b != target; ++n) {
      if (f_[b].insts.size() != 1 || f_[f_.terminator(b)].op != Op::Jump) return false;
      b = f_[b].successors[0].block;
    }
    return b == target;
  }
  /// Behind the loop. A new block where both ways meet is its exit from now on.
  void add_meeting(TimedWays& ways) {
    const BlockId exit = loop_->exit;
    const u32 pc = f_[exit].pc;
    Builder meeting = add_block(pc), arrival = add_common_block(pc), behind = add_block(pc);
    std::vector<ValueId> args;
    for (const ValueId p : std::vector(f_[exit].params))
      args.push_back(f_.add_param(meeting.block(), f_.type(p)));
    for (const BlockId b : blocks_) {
      Inst& end = f_[f_.terminator(b)];
      if (is_gang_decided(f_, b) && only_leads_to(exit, join_of(end)))
        end.imm = gang_decided(meeting.block()) | decided_by_wave(end.imm);
      for (Successor& s : f_[b].successors)
        if (s.block == exit) s.block = meeting.block();
    }
    meeting.jump(arrival.block());
    ways.arrive(arrival);
    arrival.jump(behind.block());
    behind.jump(exit, args);
    loop_->exit = meeting.block();
  }
  /// What lanes have of a value that is left behind when the round begins with `all`, in `at`.
  ValueId kept_at(Builder& at, ValueId v, const std::vector<ValueId>& all) {
    const InstId half = f_.def_id(v);
    if (!half.valid()) return all[f_[v].index];
    return at.op(f_[half].op, f_.type(v), {all[f_[f_.operands(half)[0]].index]});
  }
  /// By how much sooner lanes would have been done alone, as far as the loop has been gone through with about
  /// as many, by this wave or one before: what frames hold is there from wave to wave, and whatever it was at
  /// first. It fades, so that it is seen when that changes. Returns which of the row's numbers that is.
  ValueId decide(Builder& choice, Builder& begin, const std::vector<ValueId>& all, u64 row, u32 enough) {
    const ValueId bits = choice.op(Op::GangBits, Type::G32, {all[mask_]});
    const ValueId nobody = choice.op(Op::ICmp, Type::G1, {bits, g32(0)}, static_cast<u64>(IntPred::Eq));
    const ValueId lanes = choice.op(Op::PopCount, Type::G32, {bits});
    const ValueId number = choice.op(Op::LShr, Type::G32, {lanes, choice.u32c(kAlikeLog2)});
    const ValueId sum = choice.op(Op::RowGet, Type::G32, {number}, row);
    const ValueId sooner = choice.select(nobody, g32(0), sum);
    const ValueId together = choice.icmp(IntPred::SLt, sooner, g32(enough));
    choice.branch(choice.any(together), header(), begin.block(), all);
    f_[f_.terminator(choice.block())].imm = gang_decided(loop_->exit);
    const ValueId known = begin.op(Op::SMin, Type::G32, {sooner, g32(2 * enough)});
    begin.inst({.op = Op::RowSet, .imm = row}, {number, begin.sub(known, g32(enough / kMemory))}, {});
    return number;
  }
  ValueId g32(u32 n) { return f_.entry_constant(Type::G32, n); }

  [[nodiscard]] bool is_comparison(ValueId v) const {
    const Inst* def = f_.def(v);
    return def != nullptr && def->op == Op::ICmp;
  }

  /// A block has several copies, of which a lane goes through one.
  void count_scalars(const ScalarCopy& copy) {
    const std::vector<BlockId> copies = copy.copies();
    const std::vector<u32> uses = f_.use_counts();
    std::map<u32, std::pair<u32, u32>> sums; // and how many, by block
    for (std::size_t n = 0; n < copies.size(); ++n) {
      auto& [sum, count] = sums[copy.original(n).index];
      count += copy.is_further_test(n) ? 0 : 1;
      for (const InstId i : f_[copies[n]].insts) {
        const Inst& inst = f_[i];
        const bool is_used = inst.num_results == 0 || uses[f_.result(i).index] != 0;
        if (is_used && inst.op != Op::ICmp && inst.op != Op::Jump) sum += scalar_cost(i);
        if (is_used && info(inst.op).is(kPure) && f_.type(f_.result(i)) == Type::G1 && inst.op != Op::ICmp)
          for (const ValueId x : f_.operands(i)) sum += is_comparison(x) ? kFlagCost : 0;
      }
    }
    for (const auto& [b, s] : sums) arm_of(BlockId{b}).scalars += (s.first + s.second - 1) / s.second;
  }

  /// Which take many vectors each, fewer by what all lanes have (x86/select_divide.cpp). That decides where
  /// lanes go, not whether there are turns: loops of divisions alone do without.
  void count_divisions(const ScalarCopy& copy) {
    for (const BlockId b : blocks_)
      for (const InstId i : f_[b].insts) {
        if (f_[i].op != Op::UDiv || !is_vector(f_.type(f_.result(i)))) continue;
        const ValueId d = f_.operands(i)[1];
        const bool is_shared = is_same_in_all_lanes(d);
        arm_of(copy.whole(b)).vectors += is_wide(f_.type(d)) ? (is_shared ? 25 : 60) : (is_shared ? 10 : 20);
      }
  }

  /// Of AVX-512's vectors only two go side by side, and their masks are made apart.
  [[nodiscard]] u32 cost_together(const Arm& arm) const {
    return arm.vectors * kVectorCost + (gang_lanes_ == 16 ? arm.vectors / 2 : 0);
  }

  /// In each arm of any size: the vectors that it takes are more, or less, than the scalars of its lanes.
  void weigh(u64 row, ValueId number, u32 enough) {
    const auto append = [&](BlockId b, const Inst& proto, std::initializer_list<ValueId> x, Type t) {
      const std::span<const ValueId> operands{x.begin(), x.size()};
      const InstId i = f_.insert_before_end(b, proto, operands, {&t, t == Type::None ? 0u : 1u});
      return t == Type::None ? ValueId{} : f_.result(i);
    };
    for (const auto& [index, arm] : arms_) {
      const BlockId b{index};
      if (arm.vectors < kLargeArm && b != header()) continue;
      const auto op = [&](Op o, std::initializer_list<ValueId> x) {
        return append(b, {.op = o, .pc = f_[b].pc, .imm = o == Op::RowGet ? row : 0}, x, Type::G32);
      };
      const ValueId lanes = op(Op::PopCount, {op(Op::GangBits, {arm.mask})});
      const bool is_foreseen = b == header() || arm.is_loop;
      const ValueId alone = op(Op::Mul, {lanes, g32(arm.scalars + (is_foreseen ? 0 : kBranchCost))});
      ValueId sum = op(Op::RowGet, {number});
      if (b == header()) sum = op(Op::SMax, {sum, g32(0 - enough)}); // of whole rounds
      sum = op(Op::Sub, {op(Op::Add, {sum, g32(cost_together(arm))}), alone});
      append(b, {.op = Op::RowSet, .pc = f_[b].pc, .imm = row}, {number, sum}, Type::None);
    }
  }
};

} // namespace

bool run_lanes_in_turn(Function& f, unsigned gang_lanes) { return LaneTurns(f, gang_lanes).run(); }

} // namespace lanewise::phases
