// A work-item for each row of a matrix, record or string: in the loop over its elements, each lane loads by
// an address far from the others', which moves on by an element a round. Such a gather takes each lane's
// cache line for one element, and lines do not stay where rows are a power of two apart. Loads of four
// elements of a lane take as many instructions as one, and the lines a quarter as often. Elements of less
// than four bytes come 16 bytes at once.
//
//   choice:    are the lanes' addresses side by side, or might indices wrap? then the loop as it was
//   together:  are all lanes there? then they need no mask
//   rounds:    are there four more? else the loop as it was, for the rest
//   four:      four rounds, with one load for what each load has in them; back to `rounds`
//
// Where 16 bytes are more than four elements, `rounds` and `four` exist for so many as well, and come first.
// So they do for a cache line, where gangs have so many lanes that their lines, a power of two apart, push
// each other out of the cache.
//
// If the loop stores, too, each lane along a row of its own, what it stores in four rounds is stored
// together. Where it stores to the same place in each round - a sum that compilers leave in memory since it
// might be a part of the row - it does so once, and loads that place once. That changes the order of
// accesses, as does a gang that goes through the loop before the next, so the wave tests first whether its
// lanes meet anywhere:
//
//   choice:    are there some rounds, are all lanes there, and do their rows keep apart? else the loop as it
//   was
//
// What a lane has stored by such a row and loads a round or a few later is loaded before the first round
// alone, and then at hand: gathers would wait until it is in memory.
//
// Where such a loop carries nothing from round to round, lanes take turns (phases/round_lanes.cpp), and only
// what is left then is done as above.
//
// That is for loops of one block whose number of rounds depends on a scalar that counts. If it only loads,
// each lane may count for itself: several rounds are those that all lanes have to go that are left.
#include "translator/phases/walks.hpp"
#include "translator/ir/access.hpp"
#include "translator/ir/copy.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/hazards.hpp"
#include "translator/phases/lane_rows.hpp"
#include "translator/phases/round_lanes.hpp"
#include "translator/phases/round_sums.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 8; ///< of a function
constexpr unsigned kRounds = 4;
constexpr std::size_t kMaxCopied = 800;      ///< instructions of more rounds at once
constexpr std::size_t kMaxInstructions = 60; ///< of a round
constexpr unsigned kMaxBytes = 16;           ///< of an access
constexpr unsigned kLineLanes = 16;          ///< of gangs that load lines (x86/lines.hpp),
constexpr unsigned kLineBytes = 64;          ///< which have so many bytes,
constexpr u64 kMeetingLines = 2048;          ///< and push each other out of the cache at multiples of this
constexpr u64 kMaxStep = 1 << 16;            ///< of the count, so that those of many rounds do not wrap
constexpr u32 kFarApart = 16;                ///< bytes from lane to lane
constexpr std::size_t kMaxRows = 6;          ///< that are tested
constexpr u64 kWorthTesting = 8;             ///< rounds
constexpr u8 kFirstApart = 2;                ///< MemAttr::apart of the first loop that stores

class Walks : RoundSums {
public:
  Walks(Function& f, unsigned gang_lanes) : RoundSums(f, f.launch.full_waves()), gang_lanes_(gang_lanes) {}

  /// Whether it has changed something.
  bool run() {
    return for_each_loop(kMaxLoops, [&] {
      if (loop_->blocks->size() != 1 || f_[header()].insts.size() > kMaxInstructions) return false;
      find_invariants();
      if ((!find_count() && !find_lane_count()) || !find_walks() || !find_escaping()) return false;
      change();
      return true;
    });
  }

private:
  const unsigned gang_lanes_;
  u8 apart_ = kFirstApart;                   ///< of the next loop that stores
  std::optional<passes::LaneShapes> shapes_; ///< made when wanted; of the function as it was before
  // Of the current loop.
  struct Count {
    u32 param = 0;   ///< which of the header's parameters counts
    u64 offset = 0;  ///< what is compared is that much more,
    ValueId bound;   ///< with this:
    IntPred goes_on; ///< the loop goes on while it is Ne, ULt or SLt
    u64 step = 0;    ///< per round
  } count_;
  std::optional<u32>
      lanes_; ///< if each lane counts: which of the header's parameters has those that are left
  std::vector<InstId> walks_;
  bool stores_ = false;         ///< some of them are stores
  std::vector<InstId> touched_; ///< then: all accesses of memory that others see
  std::vector<InstId> staying_; ///< of them: those that go to one place in all rounds
  struct Stored {
    InstId store;
    unsigned rounds; ///< ago
  };
  std::unordered_map<u32, Stored> going_on_; ///< loads of what a walk has stored, by number
  /// What a store has stored in the last rounds, handed on from round to round.
  struct Trail {
    InstId store, load; ///< the load of what is the longest ago,
    unsigned rounds;    ///< so many
  };
  std::vector<Trail> trails_;
  [[nodiscard]] Trail* trail_of(InstId store) {
    const auto trail = std::ranges::find(trails_, store, &Trail::store);
    return trail == trails_.end() ? nullptr : &*trail;
  }
  [[nodiscard]] unsigned dwords(const Trail& trail) const {
    return trail.rounds * f_[trail.store].mem.bytes / 4u;
  }
  ValueId far_apart_;          ///< of a walk whose lanes might be side by side: its address
  std::vector<Index> indices_; ///< that must not wrap

  /// Each lane stays while its own count has not come to its bound.
  bool find_lane_count() {
    const auto count = lane_count();
    if (!count || count->stays == IntPred::ULe || count->stays == IntPred::SLe) return false;
    count_ = {count->param, count->offset, count->bound, count->stays, 1};
    lanes_ = count->mask;
    return true;
  }
  /// The loop goes on while a scalar has not come to its bound.
  bool find_count() {
    lanes_.reset();
    const InstId end = f_.terminator(header());
    if (f_[end].op != Op::Branch || f_.tested_mask(header()).valid()) return false;
    const InstId test = f_.def_id(f_.operands(end)[0]);
    if (!test.valid() || f_[test].op != Op::ICmp || f_[test].block != header()) return false;
    if (!is_uniform(f_.type(f_.operands(test)[0]))) return false;
    const auto found = bounded(test, goes_on_way() == 1);
    if (!found) return false;
    const auto step = growth(found->value);
    const Type t = f_.type(found->value);
    const u64 mask = constant_bits(t);
    const IntPred pred = found->pred;
    count_ = {f_[found->param].index, found->offset, found->bound, pred, step.value_or(0) & mask};
    const u64 distance = std::min(count_.step, mask & (0 - count_.step));
    if (distance == 0 || distance >= kMaxStep) return false;
    return pred == IntPred::Ne || ((pred == IntPred::ULt || pred == IntPred::SLt) && distance == count_.step);
  }
  /// A load or store by which each lane goes on to the element behind that of the round before, or loads some
  /// of that round's dwords again.
  [[nodiscard]] bool moves_on(InstId i) const {
    const Inst& inst = f_[i];
    const unsigned bytes = inst.mem.bytes, dwords = (bytes + 3) / 4;
    const bool loads = inst.op == Op::Load && inst.num_results == dwords;
    const bool stores = inst.op == Op::Store && inst.num_operands == dwords + 2;
    if ((!loads && !stores) || inst.mem.space != Space::Global || inst.mem.form != AddressForm::Lanes ||
        inst.mem.coherent || !is_by_lanes_left(f_.operands(i).back()))
      return false;
    const auto grown = growth(f_.operands(i)[0]);
    return grown == bytes || (loads && grown && *grown != 0 && *grown < bytes && *grown % 4 == 0);
  }
  /// In all rounds at once the same lanes take part.
  [[nodiscard]] bool is_by_lanes_left(ValueId mask) const {
    return !changes(mask) || (lanes_ && mask == params()[*lanes_]);
  }
  /// A load or store by which each lane goes to one place of whole dwords in all rounds.
  [[nodiscard]] bool stays(InstId i) const {
    const Inst& inst = f_[i];
    const unsigned bytes = inst.mem.bytes;
    const bool loads = inst.op == Op::Load && inst.num_results == bytes / 4;
    const bool stores = inst.op == Op::Store && inst.num_operands == bytes / 4 + 2;
    return (loads || stores) && bytes % 4 == 0 && inst.mem.space == Space::Global &&
           inst.mem.form == AddressForm::Lanes && !inst.mem.coherent && !changes(f_.operands(i).back()) &&
           growth(f_.operands(i)[0]) == 0;
  }
  bool find_walks() {
    walks_.clear();
    touched_.clear();
    staying_.clear();
    far_apart_ = {};
    stores_ = false;
    for (const InstId i : f_[header()].insts) {
      const bool store = f_[i].op == Op::Store;
      if (is_access(f_, i)) touched_.push_back(i);
      stores_ |= store;
      if (!moves_on(i)) {
        if (stays(i)) {
          staying_.push_back(i);
        } else if (store) {
          return false;
        }
        continue;
      }
      if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
      const passes::LaneShape& shape = (*shapes_)[f_.operands(i)[0]];
      if (shape.strided() && std::abs(shape.stride) < i64{kFarApart}) {
        if (store) return false;
        continue;
      }
      walks_.push_back(i);
    }
    find_going_on();
    const auto apart =
        std::ranges::find_if(walks_, [&](InstId i) { return !(*shapes_)[f_.operands(i)[0]].strided(); });
    if (apart != walks_.end()) far_apart_ = f_.operands(*apart)[0];
    std::erase_if(staying_, [&](InstId i) { return !is_by_walking_lanes(i); });
    indices_.clear();
    for (const InstId i : stores_ ? touched_ : walks_) {
      const Sum sum = sum_of(f_.operands(i)[0]);
      indices_.insert(indices_.end(), sum.indices.begin(), sum.indices.end());
    }
    // Where elements tell what else is loaded, as in sparse matrices, lanes had better go alone.
    if (lanes_ && (stores_ || walks_.size() + staying_.size() != touched_.size())) return false;
    if ((stores_ || !indices_.empty()) && !std::has_single_bit(steps())) return false;
    return stores_ ? can_be_tested() : std::ranges::any_of(walks_, [&](InstId i) {
      return f_[i].mem.bytes < kMaxBytes || moved(i) < kMaxBytes;
    });
  }
  /// Loads of what walks have stored are none themselves.
  void find_going_on() {
    going_on_.clear();
    trails_.clear();
    for (const InstId load : walks_)
      for (const InstId store : walks_) {
        const unsigned bytes = f_[store].mem.bytes;
        if (f_[load].op != Op::Load || f_[store].op != Op::Store || f_[load].mem.bytes != bytes ||
            bytes % 4 != 0 || f_.operands(load).back() != f_.operands(store).back())
          continue;
        const auto distance = this->distance(load, store);
        if (!distance || *distance == 0 || *distance % bytes != 0 || *distance / bytes >= kRounds) continue;
        const auto rounds = static_cast<unsigned>(*distance / bytes);
        going_on_[load.index] = {store, rounds};
        Trail* const trail = trail_of(store);
        if (trail == nullptr)
          trails_.push_back({store, load, rounds});
        else if (trail->rounds < rounds)
          *trail = {store, load, rounds};
      }
    std::erase_if(walks_, [&](InstId i) { return going_on_.contains(i.index); });
  }
  /// How far behind the place of one walk that of another one is in each round, if that is known and no index
  /// wraps.
  [[nodiscard]] std::optional<u64> distance(InstId from, InstId to) const {
    const Sum a = sum_of(f_.operands(from)[0]), b = sum_of(f_.operands(to)[0]);
    if (!std::ranges::is_permutation(a.terms, b.terms) || a.indices.size() != b.indices.size()) return {};
    u64 bytes = b.constant - a.constant + static_cast<u64>(ir::offset(f_[to]) - ir::offset(f_[from]));
    for (std::size_t n = 0; n < a.indices.size(); ++n) {
      const Index &x = a.indices[n], &y = b.indices[n];
      const Sum p = sum_of(x.value), q = sum_of(y.value);
      if (x.sign != y.sign || x.shift != y.shift || !p.indices.empty() || !q.indices.empty() ||
          !std::ranges::is_permutation(p.terms, q.terms))
        return {};
      bytes += static_cast<u64>(i64{static_cast<i32>(q.constant - p.constant)}) << x.shift;
    }
    return bytes;
  }
  [[nodiscard]] bool is_walk(InstId i) const { return std::ranges::find(walks_, i) != walks_.end(); }
  [[nodiscard]] bool is_staying(InstId i) const { return std::ranges::find(staying_, i) != staying_.end(); }
  /// The lanes that walk, or all, take part in this access.
  [[nodiscard]] bool is_by_walking_lanes(InstId i) const {
    const ValueId mask = f_.operands(i).back();
    return (!walks_.empty() && mask == f_.operands(walks_[0]).back()) || f_.is_full(mask);
  }
  /// Two accesses that stay where they are, by the same lanes and, as far as can be seen, in the same place.
  [[nodiscard]] bool is_same_place(InstId a, InstId b) const {
    return f_.operands(a)[0] == f_.operands(b)[0] && f_.operands(a).back() == f_.operands(b).back() &&
           f_[a].imm == f_[b].imm && f_[a].mem.bytes == f_[b].mem.bytes;
  }
  /// Bytes per round, of a walk.
  [[nodiscard]] unsigned moved(InstId i) const {
    return static_cast<unsigned>(growth(f_.operands(i)[0]).value());
  }
  /// An earlier walk that loads the same. What is stored in between is somewhere else (tested()).
  [[nodiscard]] InstId loaded_before(InstId i) const {
    if (!is_walk(i) || f_[i].op != Op::Load) return {};
    const auto first = std::ranges::find_if(walks_, [&](InstId k) {
      return f_[k].op == Op::Load && f_[k].mem.sign_extend == f_[i].mem.sign_extend && is_same_place(i, k);
    });
    return *first == i ? InstId{} : *first;
  }
  /// The first access that stays in the same place as `i` does.
  [[nodiscard]] InstId place_of(InstId i) const {
    return *std::ranges::find_if(staying_, [&](InstId k) { return is_same_place(i, k); });
  }
  /// The accesses to be tested: of those that stay in the same place, the first; of loads by one address, the
  /// last, before which there are most stores. Those that go on from a row are looked after with it.
  [[nodiscard]] std::vector<InstId> tested() const {
    std::vector<InstId> rows;
    for (std::size_t n = 0; n < touched_.size(); ++n) {
      const InstId i = touched_[n];
      const auto is_again = [&](InstId k) {
        return f_[i].op == Op::Load && f_[k].op == Op::Load && is_same_place(i, k);
      };
      const bool counts = is_staying(i) ? place_of(i) == i
                                        : std::none_of(touched_.begin() + static_cast<std::ptrdiff_t>(n) + 1,
                                                       touched_.end(), is_again);
      if (counts && !going_on_.contains(i.index)) rows.push_back(i);
    }
    return rows;
  }
  /// All that is stored is walks or stays, and what else is accessed moves on in steps.
  [[nodiscard]] bool can_be_tested() const {
    if (walks_.empty() || tested().size() > kMaxRows) return false;
    return std::ranges::all_of(touched_, [&](InstId i) {
      const MemAttr& mem = f_[i].mem;
      if (is_walk(i) || is_staying(i)) return is_by_walking_lanes(i);
      const bool scalar = f_[i].op == Op::ScalarLoad;
      if (scalar ? !f_.is_const(f_.operands(i)[1]) : f_[i].op != Op::Load) return false;
      if (!scalar && (mem.space != Space::Global || mem.form != AddressForm::Lanes || mem.coherent))
        return false;
      const auto grown = growth(f_.operands(i)[0]);
      return grown && *grown < kMaxStep;
    });
  }

  void change() {
    const BlockId plain = header();
    auto [at, start] = add_choice();
    // Accesses by a mask take more than those without, also where all lanes are in it.
    const ValueId mask = lanes_ ? start[*lanes_] : f_.operands(walks_[0]).back();
    const ValueId full = f_.is_full(mask) ? ValueId{} : mask;
    if (stores_) {
      const Reordering order = may_be_reordered(at, start, full);
      BlockId first = add_lines(full, add_rounds(full, plain));
      if (const std::vector<u64> growth = even_growth(); !growth.empty() && is_known_behind()) {
        std::vector<InstId> overlapping;
        std::ranges::copy_if(walks_, std::back_inserter(overlapping),
                             [&](InstId i) { return moved(i) < f_[i].mem.bytes; });
        const EvenLoop loop{plain, growth, overlapping, full, order.rounds, {}};
        first = add_round_lanes(f_, loop, gang_lanes_, apart_, first,
                                {way_out().block, args_behind(at, start, order.rounds)});
      }
      at.branch(order.test, first, plain, start, start);
      ++apart_;
      return;
    }
    if (lanes_) { // Most rows may be short.
      const BlockId many = f_.add_block(at.pc);
      branch(at, lanes_with_less(at, start, kRounds, {}), {plain, start}, {many, {}});
      at.set_block(many);
    }
    if (!indices_.empty()) {
      const BlockId exact = f_.add_block(at.pc);
      const ValueId left = from_bound(at, start[count_.param]).left;
      const ValueId wrap = lanes_ ? at.and_(mask, lanes_that_wrap_by_lane(at, start, left))
                                  : lanes_that_wrap(at, start, wide(at, left));
      branch(at, wrap, {plain, start}, {exact, {}});
      at.set_block(exact);
    }
    if (far_apart_.valid()) {
      const BlockId together = f_.add_block(at.pc);
      branch(at, lanes_far_apart(at, start), {together, {}}, {plain, start});
      at.set_block(together);
    }
    const BlockId some = add_rounds({}, plain);
    BlockId all = some;
    if (full.valid()) {
      all = add_rounds(full, lanes_ ? some : plain);
      const BlockId whole = f_.add_block(at.pc);
      branch(at, at.not_(full), {some, start}, {whole, {}});
      at.set_block(whole);
    }
    const unsigned rounds = rounds_of_line();
    if (rounds == 0) return at.jump(all, start);
    const BlockId lines = add_rounds(full, rounds, all);
    if (far_apart_.valid())
      return branch(at, lanes_whose_lines_stay(at, start), {all, start}, {lines, start});
    at.jump(lines, start);
  }
  /// For a loop that stores: before `rest`, the loop of a line's rounds. The first block.
  BlockId add_lines(ValueId full, BlockId rest) {
    const unsigned rounds = rounds_of_line();
    if (rounds == 0) return rest;
    const BlockId lines = add_rounds(full, rounds, rest);
    if (!far_apart_.valid()) return lines;
    Builder at(f_, f_.add_block(f_[header()].pc));
    at.pc = f_[header()].pc;
    const std::vector<ValueId> start = take_params(at.block());
    at.branch(at.any(lanes_whose_lines_stay(at, start)), rest, lines, start, start);
    return at.block();
  }
  /// How many rounds there are in a line, if lines may push each other out of the cache and registers
  /// suffice; else 0.
  unsigned rounds_of_line() {
    const unsigned bytes = moved(walks_[0]), rounds = kLineBytes / bytes;
    const passes::LaneShape& shape = (*shapes_)[f_.operands(walks_[0])[0]];
    const bool meet = far_apart_.valid() || shape.stride % i64{kMeetingLines} == 0;
    const bool even =
        std::ranges::all_of(walks_, [&](InstId i) { return moved(i) == bytes && f_[i].mem.bytes == bytes; });
    const bool fits = bytes >= 4 && bytes < kMaxBytes && rounds * f_[header()].insts.size() <= kMaxCopied;
    return gang_lanes_ == kLineLanes && meet && even && fits ? rounds : 0;
  }
  /// The lanes whose lines do not push that of lane 0 out.
  ValueId lanes_whose_lines_stay(Builder& at, const std::vector<ValueId>& start) {
    const ValueId distance = from_first(at, first_place(at, far_apart_, start).lanes);
    const ValueId rest = at.and_(distance, at.constant(Type::V64, kMeetingLines - 1));
    return at.icmp(IntPred::Ne, rest, at.constant(Type::V64, 0));
  }
  static ValueId from_first(Builder& at, ValueId offset) {
    return at.sub(offset, at.op(Op::Splat, Type::V64, {at.op(Op::GangFirst, Type::G64, {offset})}));
  }
  /// Each gang goes one way if it has lanes in `mask`, else the other.
  void branch(Builder& at, ValueId mask, const Successor& some, const Successor& none) {
    at.branch(at.any(mask), some.block, none.block, some.args, none.args);
    f_[f_.terminator(at.block())].imm = gang_decided(loop_->exit);
  }
  /// The loops of several rounds, where `full`, if valid, has all lanes, before `rest`; the first block.
  BlockId add_rounds(ValueId full, BlockId rest) {
    const BlockId four = add_rounds(full, kRounds, rest);
    unsigned bytes = kMaxBytes;
    for (const InstId i : walks_) bytes = std::min(bytes, moved(i));
    const unsigned more = kMaxBytes / bytes;
    const bool pays = more > kRounds && more * f_[header()].insts.size() <= kMaxCopied;
    return pays ? add_rounds(full, more, four) : four;
  }
  /// The loop of `count` rounds, which with less to do goes to `rest`.
  BlockId add_rounds(ValueId full, unsigned count, BlockId rest) {
    const BlockId rounds = f_.add_block(f_[header()].pc), several = f_.add_block(f_[header()].pc);
    Builder at(f_, rounds);
    at.pc = f_[header()].pc;
    const std::vector<ValueId> now = take_params(rounds), all = with_trails(rounds, now);
    if (lanes_)
      branch(at, lanes_with_less(at, now, count, full), {rest, now}, {several, now});
    else
      at.branch(are_enough(at, now[count_.param], count), several, rest, all, now);
    do_rounds(several, count, take_params(several), rounds, full);
    return trails_.empty() ? rounds : add_trails(rounds, full);
  }

  /// Parameters of `b` behind `params`, for what has been stored: round by round, dword by dword.
  std::vector<ValueId> with_trails(BlockId b, std::vector<ValueId> params) {
    for (const Trail& trail : trails_)
      for (unsigned n = 0; n < dwords(trail); ++n) params.push_back(f_.add_param(b, Type::V32));
    return params;
  }
  /// A block that loads what the first rounds in `rounds` would load. There are so many.
  BlockId add_trails(BlockId rounds, ValueId full) {
    Builder at(f_, f_.add_block(f_[header()].pc));
    std::vector<ValueId> args = take_params(at.block());
    std::unordered_map<u32, ValueId> now;
    for (u32 n = 0; n < args.size(); ++n) now[params()[n].index] = args[n];
    if (full.valid()) now[full.index] = f_.entry_constant(Type::Mask, ~u64{0});
    for (const auto& [store, load, ago] : trails_) {
      const ValueId address = copied(at.block(), f_.operands(load)[0], now);
      const ValueId mask = copied(at.block(), f_.operands(load).back(), now);
      for (unsigned round = 0; round < ago; ++round) {
        const InstId c = append_copy(f_, at.block(), load);
        f_.set_operands(c, std::array{address, mask});
        f_[c].imm += u64{round} * f_[load].mem.bytes;
        f_[c].mem.apart = apart_;
        for (unsigned r = 0; r < f_[c].num_results; ++r) args.push_back(f_.result(c, r));
      }
    }
    at.pc = f_[header()].pc;
    at.jump(rounds, args);
    return at.block();
  }
  /// `v` of the loop, computed once more at the end of `b` from what `now` says.
  ValueId copied(BlockId b, ValueId v, std::unordered_map<u32, ValueId>& now) {
    if (const auto it = now.find(v.index); it != now.end()) return it->second;
    if (f_.def_block(v) != header()) return v;
    std::vector<ValueId> operands(f_.operands(f_.def_id(v)).begin(), f_.operands(f_.def_id(v)).end());
    for (ValueId& x : operands) x = copied(b, x, now);
    const InstId c = append_copy(f_, b, f_.def_id(v));
    f_.set_operands(c, operands);
    return now[v.index] = f_.result(c);
  }

  /// What an address is in the first round: a sum of what differs from lane to lane, of scalars, and a
  /// constant.
  LaneRow first_place(Builder& at, ValueId v, const std::vector<ValueId>& start) {
    LaneRow row;
    const auto add = [&](ValueId x) {
      ValueId& part = f_.type(x) == Type::V64 ? row.lanes : row.scalar;
      part = part.valid() ? at.add(part, x) : x;
    };
    const Sum sum = sum_of(v);
    for (const ValueId term : sum.terms) add(changes(term) ? start[f_[term].index] : term);
    for (const Index& index : sum.indices) {
      const ValueId first = first_value(at, index.value, start);
      const ValueId wide = index.sign ? at.sext(first) : at.zext(first);
      const bool lanes = f_.type(wide) == Type::V64;
      const ValueId shift = lanes ? at.v32c(index.shift) : at.u32c(index.shift);
      add(index.shift == 0 ? wide : at.op(Op::Shl, f_.type(wide), {wide, shift}));
    }
    row.offset = sum.constant;
    return row;
  }

  /// If each lane counts: those that are left and have not so many rounds to go, or, if `full` is valid, are
  /// not.
  ValueId lanes_with_less(Builder& at, const std::vector<ValueId>& now, unsigned rounds, ValueId full) {
    const ValueId mask = now[*lanes_], enough = are_enough(at, now[count_.param], rounds);
    return full.valid() ? at.not_(at.and_(mask, enough)) : at.op(Op::AndNot, Type::Mask, {mask, enough});
  }

  /// Whether the count, which has `left` to go, comes to its bound without wrapping, and within 2^31.
  ValueId rounds_are_known(Builder& at, ValueId left) {
    const auto u64c = [&](u64 bits) { return at.constant(Type::U64, bits); };
    const ValueId near = at.icmp(IntPred::ULt, left, u64c(u64{1} << 31));
    if (count_.goes_on != IntPred::Ne || steps() == 1) return near;
    return at.and_(near, at.icmp(IntPred::Eq, at.and_(left, u64c(steps() - 1)), u64c(0)));
  }

  /// The lanes in which an index might wrap in the rounds to come; `left` is how far the count has to go.
  ValueId lanes_that_wrap(Builder& at, const std::vector<ValueId>& start, ValueId left) {
    const auto u64c = [&](u64 bits) { return at.constant(Type::U64, bits); };
    ValueId wrap = at.splat(at.not_(rounds_are_known(at, left)));
    const ValueId end = at.add(left, u64c(steps()));
    for (const Index& index : indices_) {
      const u32 last = index.sign ? 0x7fff'ffff : ~0u;
      const u64 each = (growth(index.value).value() + steps() - 1) / steps();
      const ValueId grown = at.binary(Op::Mul, end, u64c(each));
      wrap = at.or_(wrap, at.splat(at.icmp(IntPred::UGt, grown, u64c(last))));
      const ValueId limit = at.splat(at.sub(at.u32c(last), at.lo(grown)));
      const ValueId first = first_value(at, index.value, start);
      const ValueId lanes = is_per_lane(f_.type(first)) ? first : at.splat(first);
      wrap = at.or_(wrap, at.icmp(index.sign ? IntPred::SGt : IntPred::UGt, lanes, limit));
    }
    return wrap;
  }

  /// The same if each lane counts.
  ValueId lanes_that_wrap_by_lane(Builder& at, const std::vector<ValueId>& start, ValueId left) {
    const auto v64c = [&](u64 bits) { return at.constant(Type::V64, bits); };
    if (at.type(left) == Type::V32) left = at.zext(left);
    ValueId wrap = at.icmp(IntPred::UGe, left, v64c(u64{1} << 31));
    for (const Index& index : indices_) {
      const ValueId first = first_value(at, index.value, start);
      const ValueId lanes = is_per_lane(f_.type(first)) ? first : at.splat(first);
      const ValueId end = after_rounds_of_lanes(at, index.sign ? at.sext(lanes) : at.zext(lanes), left,
                                                growth(index.value).value());
      wrap = at.or_(wrap, at.icmp(IntPred::SGt, end, v64c(index.sign ? 0x7fff'ffff : ~u32{0})));
    }
    return wrap;
  }
  /// What a v64 that grows by so much a round is after the rounds a lane has `left`, and another.
  static ValueId after_rounds_of_lanes(Builder& at, ValueId first, ValueId left, u64 growth) {
    const ValueId rounds = at.add(left, at.constant(Type::V64, 1));
    return at.add(first, growth == 1 ? rounds : at.binary(Op::Mul, rounds, at.constant(Type::V64, growth)));
  }

  /// By how much each of the header's parameters grows from round to round, if rounds differ by that and by
  /// what they load and store along rows alone; else none.
  [[nodiscard]] std::vector<u64> even_growth() const {
    std::vector<u64> growths;
    for (const ValueId p : params()) {
      const auto each = growth(p);
      if (!each) return {};
      growths.push_back(*each);
    }
    const bool even = std::ranges::all_of(f_[header()].insts, [&](InstId i) {
      return !info(f_[i].op).is(kMemory) || is_walk(i) || is_only_read(i);
    });
    // Of bytes, more rounds fit in a load by which lanes walk together than in a gang.
    const bool bytes = std::ranges::all_of(walks_, [&](InstId i) { return f_[i].mem.bytes == 1; });
    return even && !bytes && may_be_round_lanes(f_, header()) ? growths : std::vector<u64>();
  }
  /// A load of a place that the loop does not write.
  [[nodiscard]] bool is_only_read(InstId i) const {
    return is_staying(i) && std::ranges::none_of(staying_, [&](InstId k) {
             return f_[k].op == Op::Store && is_same_place(i, k);
           });
  }

  /// What the loop leads to depends on nothing of its last round but what grows evenly.
  [[nodiscard]] bool is_known_behind() const {
    return std::ranges::all_of(way_out().args, [&](ValueId v) {
      return !changes(v) || (bit_width(f_.type(v)) != 1 && sum_of(v).indices.empty() && growth(v));
    });
  }
  /// Those arguments; `rounds` is how many there are but for the first.
  std::vector<ValueId> args_behind(Builder& at, const std::vector<ValueId>& start, ValueId rounds) {
    std::vector<ValueId> args = way_out().args;
    for (ValueId& v : args)
      if (changes(v)) v = after_rounds(at, first_value(at, v, start), rounds, growth(v).value());
    return args;
  }

  struct Reordering {
    ValueId test;   ///< a u1
    ValueId rounds; ///< a u64 below 2^32 if that is true: how many rounds there are but for the first
  };
  /// Whether the loop may do several rounds at once, each gang on its own; `full`, if valid, must have all
  /// lanes.
  Reordering may_be_reordered(Builder& at, const std::vector<ValueId>& start, ValueId full) {
    const auto u64c = [&](u64 bits) { return at.constant(Type::U64, bits); };
    const ValueId left = wide(at, from_bound(at, start[count_.param]).left);
    ValueId all = at.icmp(IntPred::UGe, left, u64c(kWorthTesting * steps()));
    const auto require = [&](ValueId test) { all = at.and_(all, test); };
    require(rounds_are_known(at, left));
    if (full.valid()) require(at.not_(at.any(at.not_(full))));
    if (!indices_.empty()) require(at.not_(at.any(lanes_that_wrap(at, start, left))));
    const ValueId up = at.add(left, u64c(steps() - 1));
    const ValueId rounds =
        at.op(Op::LShr, Type::U64, {up, at.u32c(static_cast<u32>(std::countr_zero(steps())))});
    std::vector<LaneRow> rows;
    for (const InstId i : tested()) {
      LaneRow row = first_place(at, f_.operands(i)[0], start);
      u64 offset = f_[i].imm;
      row.bytes = f_[i].mem.bytes;
      if (f_[i].op == Op::ScalarLoad) { // of whole dwords, from the one on that the address lies in
        offset = f_[f_.def_id(f_.operands(i)[1])].imm - 3;
        row.bytes = 4u * f_[i].num_results + 3;
      }
      row.offset += static_cast<u64>(i64{static_cast<i32>(offset)});
      row.growth = growth(f_.operands(i)[0]).value();
      row.writes = f_[i].op == Op::Store;
      if (is_staying(i)) {
        const auto writes = [&](InstId k) { return f_[k].op == Op::Store && is_same_place(i, k); };
        row.writes = std::ranges::any_of(staying_, writes);
      } else if (is_walk(i) && f_.operands(i)[0] == far_apart_) {
        row.min_stride = kFarApart;
      }
      if (const Trail* const trail = trail_of(i)) row.before = trail->rounds * row.bytes;
      rows.push_back(row);
    }
    require(test_lanes_apart(at, rows, rounds));
    return {all, rounds};
  }

  /// The lanes whose first element is not in the row that starts with lane 0's, or the row before.
  ValueId lanes_far_apart(Builder& at, const std::vector<ValueId>& start) {
    const u64 row = u64{gang_lanes_} * moved(walks_[0]);
    const ValueId distance = from_first(at, first_place(at, far_apart_, start).lanes);
    const ValueId beyond = at.add(distance, at.constant(Type::V64, row));
    return at.icmp(IntPred::UGe, beyond, at.constant(Type::V64, 2 * row));
  }

  /// By how much the count changes in a round, up or down.
  [[nodiscard]] bool counts_down() const { return count_.step > constant_bits(f_.type(count_.bound)) / 2; }
  [[nodiscard]] u64 steps() const {
    return counts_down() ? constant_bits(f_.type(count_.bound)) & (0 - count_.step) : count_.step;
  }
  static ValueId wide(Builder& at, ValueId count) {
    return at.type(count) == Type::U32 ? at.zext(count) : count;
  }
  struct FromBound {
    ValueId next; ///< what is compared at the end of the round
    ValueId left; ///< how far that is from the bound
  };
  FromBound from_bound(Builder& at, ValueId counter) {
    if (f_.type(counter) != f_.type(count_.bound)) counter = at.lo(counter);
    const ValueId next = at.add(counter, at.constant(f_.type(counter), count_.offset));
    return {next, counts_down() ? at.sub(next, count_.bound) : at.sub(count_.bound, next)};
  }

  /// The tests in the `rounds` that follow, but for the last, will find that the loop goes on.
  ValueId are_enough(Builder& at, ValueId counter, unsigned rounds) {
    const auto [next, left] = from_bound(at, counter);
    const ValueId enough = at.icmp(IntPred::UGt, left, at.constant(f_.type(next), (rounds - 2) * steps()));
    if (count_.goes_on == IntPred::Ne) return enough;
    return at.and_(enough, at.icmp(count_.goes_on, next, count_.bound));
  }

  /// Block `several`: `count` rounds, and back to `rounds`.
  void do_rounds(BlockId several, unsigned count, std::vector<ValueId> params, BlockId rounds, ValueId full) {
    const BlockId plain = header();
    const std::vector<InstId> insts(f_[plain].insts.begin(), f_[plain].insts.end());
    const ValueId all = full.valid() ? f_.entry_constant(Type::Mask, ~u64{0}) : full;
    std::unordered_map<u32, Together> together;           ///< by walk
    std::unordered_map<u32, std::vector<ValueId>> known;  ///< what is there, by place_of()
    std::unordered_map<u32, std::vector<ValueId>> stored; ///< by trail: dwords, those of the past first
    for (const Trail& trail : trails_)
      for (unsigned n = 0; n < dwords(trail); ++n)
        stored[trail.store.index].push_back(f_.add_param(several, Type::V32));
    std::unordered_map<u32, ValueId> now;
    ValueId left; ///< the lanes, where each counts
    const auto rename = [&](ValueId& v) {
      if (const auto it = now.find(v.index); it != now.end()) v = it->second;
    };
    for (unsigned round = 0; round < count; ++round) {
      now.clear();
      if (full.valid()) now[full.index] = all;
      for (u32 n = 0; n < params.size(); ++n) now[f_[plain].params[n].index] = params[n];
      if (lanes_) { // Nobody leaves before the last round ends.
        if (round == 0) left = full.valid() ? all : params[*lanes_];
        now[f_[plain].params[*lanes_].index] = left;
      }
      for (const InstId i : insts) {
        const bool last = i == insts.back();
        if (last && round + 1 < count) break;
        if (const InstId again = loaded_before(i); again.valid()) {
          for (unsigned r = 0; r < f_[i].num_results; ++r)
            now[f_.result(i, r).index] = now.at(f_.result(again, r).index);
          continue;
        }
        if (is_walk(i)) {
          std::vector<ValueId> operands(f_.operands(i).begin(), f_.operands(i).end());
          std::ranges::for_each(operands, rename);
          Together& walk = together[i.index];
          if (round == 0) walk = {operands.front(), operands.back(), count * moved(i), {}};
          if (f_[i].op == Op::Store) {
            if (const auto trail = stored.find(i.index); trail != stored.end())
              trail->second.insert(trail->second.end(), operands.begin() + 1, operands.end() - 1);
            store(several, i, walk, round, {operands.data() + 1, operands.size() - 2});
          } else {
            const std::vector<ValueId> elements = load(several, i, walk, round);
            for (unsigned r = 0; r < f_[i].num_results; ++r) now[f_.result(i, r).index] = elements[r];
          }
          continue;
        }
        if (const auto on = going_on_.find(i.index); on != going_on_.end()) {
          const Trail* const trail = trail_of(on->second.store);
          const unsigned first = (trail->rounds + round - on->second.rounds) * f_[i].num_results;
          for (unsigned r = 0; r < f_[i].num_results; ++r)
            now[f_.result(i, r).index] = stored[trail->store.index][first + r];
          continue;
        }
        std::vector<ValueId>* const there = stores_ && is_staying(i) ? &known[place_of(i).index] : nullptr;
        if (there && f_[i].op == Op::Store) {
          there->assign(f_.operands(i).begin() + 1, f_.operands(i).end() - 1);
          std::ranges::for_each(*there, rename);
          if (round + 1 < count) continue; // Nobody sees it before the next round's.
        } else if (there && !there->empty()) {
          for (unsigned r = 0; r < f_[i].num_results; ++r) now[f_.result(i, r).index] = (*there)[r];
          continue;
        }
        const InstId c = append_copy(f_, several, i);
        std::ranges::for_each(f_.operands(c), rename);
        for (unsigned r = 0; r < f_[i].num_results; ++r) now[f_.result(i, r).index] = f_.result(c, r);
        if (there && f_[i].op == Op::Load)
          for (unsigned r = 0; r < f_[i].num_results; ++r) there->push_back(f_.result(c, r));
      }
      params = back_edge().args;
      std::ranges::for_each(params, rename);
    }
    if (stores_)
      for (const InstId i : f_[several].insts)
        if (is_access(f_, i)) f_[i].mem.apart = apart_;
    Successor out = way_out();
    std::ranges::for_each(out.args, rename);
    for (const Trail& trail : trails_) {
      const std::vector<ValueId>& all_of_it = stored[trail.store.index];
      params.insert(params.end(), all_of_it.end() - dwords(trail), all_of_it.end());
    }
    f_[several].successors.resize(2);
    f_[several].successors[goes_on_way()] = {rounds, params};
    f_[several].successors[1 - goes_on_way()] = out;
  }

  /// What a walk loads or stores in some rounds.
  struct Together {
    ValueId address, mask; ///< of the first round
    unsigned bytes = 0;    ///< by which it moves in all of them
    std::vector<ValueId> dwords;
  };

  /// What load `i` has in `round`.
  std::vector<ValueId> load(BlockId b, InstId i, Together& walk, unsigned round) {
    const unsigned bytes = f_[i].mem.bytes, step = moved(i), first = round * step;
    const auto loaded = [&] { return static_cast<unsigned>(4 * walk.dwords.size()); };
    while (loaded() < first + bytes) {
      Inst proto = f_[i];
      proto.mem.bytes = static_cast<u8>(std::min(kMaxBytes, walk.bytes + bytes - step - loaded()));
      proto.mem.sign_extend = false;
      proto.mem.element = static_cast<u8>(bytes);
      proto.imm += loaded();
      const std::vector<Type> types(proto.mem.bytes / 4, Type::V32);
      const InstId wide = f_.append(b, proto, std::array{walk.address, walk.mask}, types);
      for (unsigned n = 0; n < types.size(); ++n) walk.dwords.push_back(f_.result(wide, n));
    }
    const auto dword = walk.dwords.begin() + first / 4;
    if (bytes < 4) return {part(b, *dword, 8 * (first % 4), i)};
    return {dword, dword + f_[i].num_results};
  }
  /// The byte or half of a dword that begins with bit `low`, as load `i` would have it.
  ValueId part(BlockId b, ValueId dword, u32 low, InstId i) {
    Builder at(f_, b);
    at.pc = f_[i].pc;
    const u32 bits = 8u * f_[i].mem.bytes;
    const ValueId high = at.op(Op::Shl, Type::V32, {dword, at.v32c(32 - bits - low)});
    return at.op(f_[i].mem.sign_extend ? Op::AShr : Op::LShr, Type::V32, {high, at.v32c(32 - bits)});
  }

  /// Takes what `i` stores in `round`, and stores it once there is enough: for a piece, or a whole line.
  void store(BlockId b, InstId i, Together& walk, unsigned round, std::span<const ValueId> data) {
    const unsigned bytes = f_[i].mem.bytes, low = round * bytes % 4;
    if (low == 0) walk.dwords.insert(walk.dwords.end(), data.begin(), data.end());
    if (bytes < 4) add_part(b, walk.dwords.back(), data[0], 8 * low, i);
    const unsigned end = (round + 1) * bytes;
    if (end % 4 != 0) return;
    const bool last = end == walk.bytes;
    if (walk.bytes == kLineBytes && gang_lanes_ == kLineLanes && !last) return;
    const auto in_it = [&] { return static_cast<unsigned>(4 * walk.dwords.size()); };
    while (in_it() >= kMaxBytes || (last && in_it() != 0)) {
      Inst proto = f_[i];
      proto.mem.bytes = static_cast<u8>(std::min(kMaxBytes, in_it()));
      proto.mem.element = static_cast<u8>(bytes);
      proto.imm += end - in_it();
      std::vector<ValueId> operands = {walk.address};
      const auto rest = walk.dwords.begin() + proto.mem.bytes / 4;
      operands.insert(operands.end(), walk.dwords.begin(), rest);
      operands.push_back(walk.mask);
      walk.dwords.erase(walk.dwords.begin(), rest);
      f_.append(b, proto, operands, {});
    }
  }
  /// Puts the low byte or half of `x`, as `i` stores it, at bit `low` of `dword`, of which the lower ones are
  /// there.
  void add_part(BlockId b, ValueId& dword, ValueId x, u32 low, InstId i) {
    Builder at(f_, b);
    at.pc = f_[i].pc;
    const ValueId bits = at.and_(x, at.v32c((1u << 8 * f_[i].mem.bytes) - 1));
    dword = low == 0 ? bits : at.or_(dword, at.op(Op::Shl, Type::V32, {bits, at.v32c(low)}));
  }
};

} // namespace

bool load_walks_together(Function& f, unsigned gang_lanes) { return Walks(f, gang_lanes).run(); }

} // namespace lanewise::phases
