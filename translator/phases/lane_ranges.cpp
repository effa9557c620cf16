// A piece of a string is copied, the entries of a row of a sparse matrix are scaled, runs are filled: how
// many rounds a lane has, and where it begins, differ from lane to lane and from wave to wave, so that nobody
// knows before whether lanes meet. The wave does know at the loop's entry, where counts and first addresses
// are there:
//
//   choice:  where does each lane go? do these ranges keep apart? else the loop as it was
//   turns:   a lane's rounds side by side, one lane after the other (phases/round_lanes.hpp), where they hand
//            on nothing but what grows evenly,
//   apart:   and the loop for all others, in which gangs need not wait, and lanes may take turns
//
// Compilers that do not know whether a store hits the end of a row load that in each round again. If it is
// not hit, it is the same in all rounds.
//
// Accesses that have a scalar in common, as a buffer's first address, go to one range in each lane, if one of
// them stores: from the first byte of them all to the last. Such ranges must ascend from lane to lane, which
// they do where work is laid out in order, so that one scan across the wave compares all of them. Where else
// a lane goes must be outside of all that lies between the first lane's range and the last one's.
//
// A lane by itself does everything in its own order, in either copy: what it stores it may load again. Where
// that is so a few rounds later, as where runs are repeated, its rounds are not done side by side. Where
// stores go down, the last rounds come first, so that rows go up, if no round loads what another one stores.
#include "translator/phases/lane_ranges.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/round_lanes.hpp"
#include "translator/phases/round_sums.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 40; ///< of a round
constexpr std::size_t kMaxAccesses = 6;
constexpr i64 kMaxGrowth = 1 << 12;   ///< bytes a round
constexpr u64 kFarEnough = 1u << 30;  ///< bytes between where ranges are counted from and the first lane's
constexpr u32 kMostBytes = 1u << 30;  ///< that a lane goes through
constexpr i64 kSideBySide = 16;       ///< bytes from lane to lane, of rows
constexpr unsigned kMaskedLanes = 16; ///< of gangs that have masked stores of bytes and halves
constexpr u32 kWorthGangs = 2; ///< gangs' rounds that a lane of others has at least, to do them at once

class LaneRanges : RoundSums {
public:
  LaneRanges(Function& f, unsigned gang_lanes) : RoundSums(f, true), gang_lanes_(gang_lanes) {
    with_down_ = true;
  }

  /// Whether it has changed something.
  bool run() {
    return for_each_loop(kMaxRangeLoops, [&] {
      if (loop_->blocks->size() != 1 || f_[header()].insts.size() > kMaxInstructions) return false;
      find_invariants();
      if (!find_left()) return false;
      find_staying_loads();
      const auto count = lane_count(true);
      if (!count || params()[count->mask] != left_) return false;
      count_ = *count;
      if (!find_accesses() || !find_escaping() || leaves_scalars()) return false;
      change();
      return true;
    });
  }

private:
  /// Of a lane: `lowest` is what its first byte ever is.
  struct Range {
    InstId access;
    std::vector<ValueId> base; ///< what those have in common that go to one range: scalars that the address
                               ///< is made of, or, if there are none, all that it is made of
    i64 growth = 0;            ///< bytes a round
    ValueId lowest, bytes;     ///< in the choice: v64, and how many there are (v32)
  };
  const unsigned gang_lanes_;
  u8 apart_ = kFirstRanges;                  ///< of the next loop
  std::optional<passes::LaneShapes> shapes_; ///< made when wanted; of the function as it was before
  // Of the current loop.
  LaneCount count_;
  std::vector<Range> ranges_;
  ValueId bad_; ///< lanes for which something is not as it has to be

  /// The parameter with the lanes that go on: a lane that is among them has been so in all rounds before.
  bool find_left() {
    const auto& next = back_edge().args;
    const auto arg = std::ranges::find(next, f_.tested_mask(header()));
    left_ = arg == next.end() ? ValueId{} : params()[static_cast<std::size_t>(arg - next.begin())];
    return left_.valid();
  }

  [[nodiscard]] bool is_plain(InstId i) const {
    const MemAttr& mem = f_[i].mem;
    return (f_[i].op == Op::Load || f_[i].op == Op::Store) && mem.space == Space::Global &&
           mem.form == AddressForm::Lanes && !mem.spread && !mem.coherent && mem.retry == 0 &&
           mem.apart == 0 && f_.operands(i).back() == left_;
  }
  /// What a lane loads from one place in all rounds, as the end of its row, does not change, either, if
  /// nobody stores there. That is asked with all else.
  void find_staying_loads() {
    for (const InstId i : f_[header()].insts) {
      const bool stays = f_[i].op == Op::Load && is_plain(i);
      if (!stays && !info(f_[i].op).is(kPure)) continue;
      if (std::ranges::any_of(f_.operands(i),
                              [&](ValueId v) { return changes(v) && !(stays && v == left_); }))
        continue;
      for (unsigned r = 0; r < f_[i].num_results; ++r) invariant_[f_.result(i, r).index] = true;
    }
  }

  /// Behind the loop somebody asks how many rounds the wave has gone.
  [[nodiscard]] bool leaves_scalars() const {
    const auto is_one = [&](ValueId v) { return changes(v) && !is_per_lane(f_.type(v)); };
    return std::ranges::any_of(way_out().args, is_one) || std::ranges::any_of(loop_->escaping, is_one);
  }

  [[nodiscard]] bool writes(const Range& r) const { return f_[r.access].op == Op::Store; }

  bool find_accesses() {
    ranges_.clear();
    bool stores_anywhere = false; // so that gangs would wait for each other in each round
    for (const InstId i : f_[header()].insts) {
      const Inst& inst = f_[i];
      if (!info(inst.op).is(kLoads) && !info(inst.op).is(kStores)) continue;
      if (!is_plain(i)) return false;
      const auto grown = growth(f_.operands(i)[0]);
      const i64 bytes = static_cast<i64>(grown.value_or(u64{1} << 32));
      if (bytes <= -kMaxGrowth || bytes >= kMaxGrowth) return false;
      const bool stays = inst.op == Op::Load && !changes(f_.result(i));
      // Of what is loaded once, the lane itself must not store there, either.
      ranges_.push_back({i, stays ? std::vector{f_.result(i)} : base_of(f_.operands(i)[0]), bytes, {}, {}});
      if (inst.op != Op::Store) continue;
      if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
      const passes::LaneShape& shape = (*shapes_)[f_.operands(i)[0]];
      if (shape.strided() && std::abs(shape.stride) < kSideBySide) return false;
      stores_anywhere |= !shape.strided();
    }
    return stores_anywhere && ranges_.size() <= kMaxAccesses;
  }
  [[nodiscard]] std::vector<ValueId> base_of(ValueId address) const {
    const Sum sum = sum_of(address);
    const auto is_scalar = [&](ValueId v) {
      return is_uniform(f_.type(v)) || (f_.def(v) != nullptr && f_.def(v)->op == Op::Splat);
    };
    std::vector<ValueId> base;
    std::ranges::copy_if(sum.terms, std::back_inserter(base), is_scalar);
    if (base.empty()) base = sum.terms;
    for (ValueId& v : base)
      if (const InstId i = f_.def_id(v); i.valid() && f_[i].op == Op::Splat) v = f_.operands(i)[0];
    std::ranges::sort(base, {}, &ValueId::index);
    return base;
  }

  void change() {
    pass_escaping();
    loop_->escaping.clear();
    loop_->constants.clear();
    const BlockId plain = copy_blocks(f_, *loop_->blocks).of(header()), apart = header();
    auto [at, start] = add_choice();
    const ValueId mask = start[count_.mask];
    for (const InstId i : f_[at.block()].insts) // These were under the loop's mask.
      if (f_[i].op == Op::Load) f_.operands(i).back() = mask;
    bad_ = f_.entry_constant(Type::Mask, 0);
    const ValueId rounds = rounds_to_go(at, start);
    for (Range& r : ranges_) find_range(at, r, start, rounds);
    std::vector<u8> is_done(ranges_.size(), 0);
    for (std::size_t n = 0; n < ranges_.size(); ++n) {
      if (!writes(ranges_[n]) || is_done[n] != 0) continue;
      const auto is_member = [&](const Range& r) { return r.base == ranges_[n].base; };
      const Box box = keep_apart(at, mask, ranges_[n], is_member);
      for (std::size_t k = 0; k < ranges_.size(); ++k) {
        if (!is_member(ranges_[k]) && is_done[k] == 0) keep_outside(at, box, ranges_[k]);
        if (is_member(ranges_[k])) is_done[k] = 1;
      }
    }
    for (const InstId i : f_[apart].insts)
      if (f_[i].op == Op::Load || f_[i].op == Op::Store) f_[i].mem.apart = apart_;
    const ValueId meet = at.any(at.and_(bad_, mask));
    BlockId first = apart;
    EvenLoop loop;
    loop.block = apart;
    loop.rounds = rounds;
    if (find_even_growth(at, loop)) {
      loop.overlapping = overlapping();
      loop.lanes = lanes_in_any_order(at, mask, loop.backwards);
      ValueId all = at.add(rounds, at.v32c(1)), done = loop.lanes;
      if (loop.by_gangs) {
        const ValueId left_over = at.and_(all, at.v32c(gang_lanes_ - 1));
        const ValueId are_many = at.icmp(IntPred::UGe, all, at.v32c(kWorthGangs * gang_lanes_));
        loop.lanes = at.and_(loop.lanes, are_many);
        done = at.and_(loop.lanes, at.icmp(IntPred::Eq, left_over, at.v32c(0)));
        all = at.sub(all, left_over);
        loop.rounds = at.sub(all, at.v32c(1));
      }
      std::vector<ValueId> then = start;
      for (u32 n = 0; n < then.size(); ++n) {
        const bool grows = loop.growth[n] != 0 || loop.steps[n].valid();
        if (n != count_.mask && grows && is_per_lane(f_.type(start[n]))) // Scalars begin anew.
          then[n] = at.select(loop.lanes, after_own_rounds(at, loop, n, start[n], all), start[n]);
      }
      then[count_.mask] = at.andnot(mask, done);
      first = add_round_lanes(f_, loop, gang_lanes_, apart_, apart, {apart, then});
    }
    ++apart_;
    at.branch(meet, plain, first, start, start);
    f_[f_.terminator(at.block())].imm = kSecondIsRare; // It begins a phase.
  }

  /// How each parameter grows from round to round, if that is all they hand on, and not much. Then lanes'
  /// rounds may be side by side, as far as lanes_in_any_order() does not say otherwise; last ones first, if
  /// stores go down.
  [[nodiscard]] bool find_even_growth(Builder& at, EvenLoop& loop) {
    for (const ValueId p : params()) {
      loop.steps.push_back(step_of_lanes(at, p));
      const bool constant = p != left_ && !loop.steps.back().valid();
      const auto each = constant ? growth(p) : std::optional<u64>(0);
      if (!each || std::abs(sign_extend(*each, bit_width(f_.type(p)))) >= kMaxGrowth) return false;
      loop.growth.push_back(*each);
    }
    const auto first = std::ranges::find_if(ranges_, [&](const Range& r) { return writes(r); });
    loop.backwards = first->growth < 0;
    for (auto r = ranges_.begin(); r != ranges_.end(); ++r) {
      const i64 bytes = f_[r->access].mem.bytes;
      if (writes(*r) && r->growth != (loop.backwards ? -bytes : bytes)) return false;
      for (auto later = r + 1; writes(*r) && later != ranges_.end(); ++later)
        if (later->base == r->base) return false;
      for (auto store = r + 1; store != ranges_.end(); ++store)
        if (writes(*store) && store->base == r->base && store->growth != r->growth) return false;
    }
    loop.by_gangs = gang_lanes_ != kMaskedLanes && std::ranges::any_of(ranges_, [&](const Range& r) {
                      return f_[r.access].mem.bytes < 4 && r.growth != 0;
                    });
    // Of rounds that are left over a scalar would have to go on from another number in each lane.
    for (u32 n = 0; loop.by_gangs && n < params().size(); ++n)
      if (loop.growth[n] != 0 && !is_per_lane(f_.type(params()[n]))) return false;
    return may_be_round_lanes(f_, header());
  }
  /// What a parameter grows by in each lane, as `i * width`, of which compilers make a sum.
  ValueId step_of_lanes(Builder& at, ValueId param) {
    if (f_.type(param) != Type::V32) return {};
    InstId i = f_.def_id(back_edge().args[f_[param].index]);
    if (i.valid() && f_[i].op == Op::Select && f_.operands(i)[0] == left_ && f_.operands(i)[2] == param)
      i = f_.def_id(f_.operands(i)[1]);
    if (!i.valid() || (f_[i].op != Op::Add && f_[i].op != Op::Sub)) return {};
    const auto x = f_.operands(i);
    const unsigned other = x[0] == param ? 1 : 0;
    const ValueId step = x[other];
    if (x[1 - other] != param || changes(step) || f_.is_const(step)) return {};
    if (f_[i].op == Op::Add) return step;
    return other == 1 ? at.sub(at.v32c(0), step) : ValueId{};
  }
  /// Of `mask`, those that load nothing that they have stored less than a gang's rounds before, or will; or,
  /// backwards, in any other round.
  ValueId lanes_in_any_order(Builder& at, ValueId mask, bool backwards) {
    ValueId lanes = mask;
    for (const Range& load : ranges_)
      for (const Range& store : ranges_) {
        const auto x = load.access, y = store.access;
        if (writes(load) || !writes(store) || load.base != store.base) continue;
        if (f_.operands(x)[0] == f_.operands(y)[0] && f_[x].imm == f_[y].imm &&
            f_[x].mem.bytes == f_[y].mem.bytes)
          continue; // In the same round it loads first.
        const ValueId distance = at.sub(store.lowest, load.lowest);
        ValueId near_load = at.zext(load.bytes), near_store = at.zext(store.bytes);
        if (!backwards) {
          const u64 near = gang_lanes_ * static_cast<u64>(store.growth) + f_[x].mem.bytes;
          near_load = near_store = at.constant(Type::V64, near);
        }
        const ValueId far =
            at.icmp(IntPred::UGe, at.add(distance, near_store), at.add(near_load, near_store));
        lanes = at.and_(lanes, far);
      }
    return lanes;
  }
  /// Loads of dwords some of which the next round loads, too.
  [[nodiscard]] std::vector<InstId> overlapping() const {
    std::vector<InstId> loads;
    for (const Range& r : ranges_)
      if (const u32 bytes = f_[r.access].mem.bytes;
          !writes(r) && bytes > 4 && r.growth != 0 && std::abs(r.growth) < i64{bytes})
        loads.push_back(r.access);
    return loads;
  }

  void fails_if(Builder& at, ValueId lanes) { bad_ = at.or_(bad_, lanes); }

  /// How many each lane has but for the first (v32), not too many for any range.
  ValueId rounds_to_go(Builder& at, const std::vector<ValueId>& start) {
    const Type t = f_.type(count_.bound);
    ValueId counter = start[count_.param];
    if (!is_per_lane(f_.type(counter))) counter = at.splat(counter);
    if (is_wide(f_.type(counter)) && !is_wide(t)) counter = at.lo(counter);
    const ValueId bound = is_per_lane(t) ? count_.bound : at.splat(count_.bound);
    const Type lanes = f_.type(bound);
    const ValueId compared = at.add(counter, at.constant(lanes, count_.offset & constant_bits(lanes)));
    ValueId left = count_.down ? at.sub(compared, bound) : at.sub(bound, compared);
    const ValueId zero = at.constant(lanes, 0);
    if (count_.stays == IntPred::ULt || count_.stays == IntPred::SLt) // Beyond it a lane leaves at once.
      left = at.select(at.icmp(count_.stays, compared, bound), left, zero);
    if (count_.stays == IntPred::ULe || count_.stays == IntPred::SLe) { // of which there may be no end
      const ValueId next = at.add(left, at.constant(lanes, 1));
      left = at.select(at.icmp(count_.stays, compared, bound), next, zero);
    }
    u64 most = kMostBytes;
    for (const Range& r : ranges_) most = std::min(most, kMostBytes / std::max<u64>(1, steps(r)));
    fails_if(at, at.icmp(IntPred::UGe, left, at.constant(lanes, most)));
    // One more than all is 0: bounds that no number is beyond.
    if (count_.stays == IntPred::ULe || count_.stays == IntPred::SLe)
      fails_if(at, at.and_(at.icmp(count_.stays, compared, bound), at.icmp(IntPred::Eq, left, zero)));
    return is_wide(lanes) ? at.lo(left) : left;
  }
  /// The most by which the address of an access, or an index in it, grows in a round.
  [[nodiscard]] u64 steps(const Range& r) const {
    u64 most = static_cast<u64>(std::abs(r.growth));
    for (const Index& index : sum_of(f_.operands(r.access)[0]).indices)
      most = std::max(most, static_cast<u64>(std::abs(step(index))));
    return most;
  }
  /// By how much an index grows in a round.
  [[nodiscard]] i64 step(const Index& index) const { return static_cast<i32>(growth(index.value).value()); }
  static ValueId times(Builder& at, ValueId v, u64 n) {
    return n == 1 ? v : at.binary(Op::Mul, v, at.v32c(static_cast<u32>(n)));
  }

  void find_range(Builder& at, Range& r, const std::vector<ValueId>& start, ValueId rounds) {
    const Inst inst = f_[r.access]; // a copy, as others are made meanwhile
    const Sum sum = sum_of(f_.operands(r.access)[0]);
    const auto lanes = [&](ValueId v) { return is_per_lane(f_.type(v)) ? v : at.splat(v); };
    const i64 offset = static_cast<i32>(inst.imm);
    ValueId place = at.constant(Type::V64, sum.constant + static_cast<u64>(offset));
    for (const ValueId term : sum.terms)
      place = at.add(place, lanes(changes(term) ? start[f_[term].index] : term));
    for (const Index& index : sum.indices) {
      const ValueId first = lanes(first_value(at, index.value, start));
      const bool down = step(index) < 0;
      const ValueId moved = times(at, rounds, static_cast<u64>(std::abs(step(index))));
      const ValueId last = at.binary(down ? Op::Sub : Op::Add, first, moved);
      const ValueId low = down ? first : last, high = down ? last : first; // or it wraps
      fails_if(at, at.icmp(index.sign ? IntPred::SLt : IntPred::ULt, low, high));
      const ValueId wide = index.sign ? at.sext(first) : at.zext(first);
      place =
          at.add(place, index.shift == 0 ? wide : at.op(Op::Shl, Type::V64, {wide, at.v32c(index.shift)}));
    }
    const ValueId moved = times(at, rounds, static_cast<u64>(std::abs(r.growth)));
    r.lowest = r.growth < 0 ? at.sub(place, at.zext(moved)) : place;
    r.bytes = at.add(r.growth == 0 ? at.v32c(0) : moved, at.v32c(inst.mem.bytes));
  }

  /// All that lies between the ranges of the first lane and the last.
  struct Box {
    ValueId first; ///< u64
    ValueId bytes; ///< u32
  };
  /// The lanes of `mask` have ranges, of all that are members, of their own each. `stored` is one of them.
  template <class IsMember>
  Box keep_apart(Builder& at, ValueId mask, const Range& stored, IsMember is_member) {
    const auto first_lanes = [&](ValueId v) { return at.op(Op::ReadFirst, Type::U32, {v, mask}); };
    const ValueId low = first_lanes(at.lo(stored.lowest));
    const ValueId place = at.join(low, first_lanes(at.hi(stored.lowest)));
    const ValueId origin = at.sub(place, at.constant(Type::U64, kFarEnough));
    // From there on all is in 32 bits.
    const ValueId zero = at.v32c(0);
    ValueId begin, end;
    for (const Range& r : ranges_) {
      if (!is_member(r)) continue;
      const ValueId from_origin = at.sub(r.lowest, at.splat(origin));
      const ValueId lowest = at.lo(from_origin), highest = at.add(lowest, r.bytes);
      fails_if(at, at.icmp(IntPred::Ne, at.hi(from_origin), zero));
      fails_if(at, at.icmp(IntPred::ULt, highest, lowest));
      begin = begin.valid() ? at.binary(Op::UMin, begin, lowest) : lowest;
      end = end.valid() ? at.binary(Op::UMax, end, highest) : highest;
    }
    ValueId furthest = at.select(mask, end, zero); // that this lane or one before it gets
    for (u32 distance = 1; distance < kWaveSize; distance *= 2)
      furthest = at.binary(Op::UMax, furthest, from_lane_before(at, furthest, distance));
    const ValueId before = from_lane_before(at, furthest, 1);
    fails_if(at, at.and_(at.icmp(IntPred::ULt, begin, before), at.constant(Type::Mask, ~u64{1})));
    const ValueId first = first_lanes(begin); // the lowest, if they ascend
    const ValueId last = at.op(Op::ReadLane, Type::U32, {furthest, at.u32c(kWaveSize - 1)});
    return {at.add(origin, at.zext(first)), at.sub(last, first)};
  }
  /// Lanes that have none get their own.
  static ValueId from_lane_before(Builder& at, ValueId v, u32 distance) {
    return at.op(Op::ShiftLanes, Type::V32, {v}, (0x100 - distance) | kWaveSize << 8);
  }

  /// No lane gets into the box.
  void keep_outside(Builder& at, const Box& box, const Range& r) {
    const ValueId from_box = at.sub(r.lowest, at.splat(box.first));
    fails_if(at, at.icmp(IntPred::ULt, from_box, at.splat(at.zext(box.bytes))));
    // Nor does it begin below the box and get there.
    const ValueId most = at.sub(at.constant(Type::V64, 0), at.zext(r.bytes));
    fails_if(at, at.icmp(IntPred::UGt, from_box, most));
  }
};

} // namespace

bool split_by_lane_ranges(Function& f, unsigned gang_lanes) { return LaneRanges(f, gang_lanes).run(); }

} // namespace lanewise::phases
