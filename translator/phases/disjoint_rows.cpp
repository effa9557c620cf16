#include "translator/phases/disjoint_rows.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/ir/rows.hpp"
#include "translator/ir/splats.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/phases/boxes.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/guards.hpp"
#include "translator/phases/hazards.hpp"
#include "translator/phases/lane_ranges.hpp"
#include "translator/phases/place_in_array.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 1500;            ///< of a function that is worth being there twice
constexpr std::size_t kMaxInstructionsBehindGuards = 400; ///< ...if only for the guards
constexpr std::size_t kMaxInstructionsInside = 200;       ///< ...and once more for waves near borders
constexpr unsigned kMaxTests = 16, kMaxDepth = 16;
constexpr std::size_t kMaxClasses = 64;
constexpr u64 kMaxTable = 1 << 20; ///< bytes from the first element to the last

/// Of a row's base what is not known at the start, as in loops: the same for all rows of a class, so that
/// their distances are known.
struct Moving {
  std::vector<ValueId> terms; ///< of a sum
  ValueId index;              ///< of AddressForm::Wrapped, with
  u8 scale = 0;
  bool index_sign = false;

  [[nodiscard]] bool is_none() const { return terms.empty() && !index.valid(); }
  friend bool operator==(const Moving&, const Moving&) = default;
};

/// The accesses of one address: through the wave, bytes [first, end) from it on.
struct Rows {
  std::vector<ValueId> address;
  std::vector<InstId> accesses;
  bool box = false;   ///< not a row, but within such bytes
  bool table = false; ///< a box, of which nothing else is known
  u32 short_row = 0;
  i64 short_stride = 0; ///< Box
  i64 stride = 0;
  bool writes = false;
  i64 first = 0, end = 0;
  ValueId spread;             ///< U64: how much further the end is than `end`; nothing for 0
  ValueId start;              ///< the base in lane 0 of the wave, without what moves
  u8 apart = 0;               ///< the class's number, likewise of accesses
  u8 wrap = 64;               ///< distances count modulo 2^wrap
  std::vector<ValueId> holds; ///< all this is true if these are
};

/// In global memory.
bool has_rows(const Function& f, const Cfg& cfg) {
  return std::ranges::any_of(cfg.rpo, [&](BlockId b) {
    return std::ranges::any_of(f[b].insts, [&](InstId i) {
      const MemAttr& mem = f[i].mem;
      return (f[i].op == Op::Load || f[i].op == Op::Store) && mem.space == Space::Global &&
             (is_consecutive(mem) || is_consecutive_in_short_rows(mem));
    });
  });
}

std::size_t count_instructions(const Function& f, const Cfg& cfg) {
  std::size_t n = 0;
  for (const BlockId b : cfg.rpo) n += f[b].insts.size();
  return n;
}

class RowSplitter {
public:
  RowSplitter(Function& f, unsigned gang_lanes)
      : f_(f), gang_lanes_(gang_lanes), cfg_(f), head_(f, cfg_.rpo[0]), ids_(f, gang_lanes) {}

  RowSplit run(bool if_it_gathers, bool third) {
    const std::size_t instructions = count_instructions(f_, cfg_);
    if (instructions > kMaxInstructions) return {};
    collect();
    if (std::ranges::none_of(rows_, &Rows::writes)) return {};
    std::erase_if(rows_, [&](Rows& r) {
      return r.box ? !find_box(r) && !find_table(r)
                   : (!meets_only_itself(r, r) && !is_one_store(r)) || !find_start(r);
    });
    for (const Rows& r : rows_) asked_.push_back(&r);
    bool boxes = std::ranges::any_of(rows_, &Rows::box);
    const bool only_tables = std::ranges::none_of(rows_, [](const Rows& r) { return r.box && !r.table; });
    if (boxes && count_tests() > kMaxTests) join_loads();
    if (boxes && count_tests() > kMaxTests) {
      boxes = false;
      std::erase_if(rows_, &Rows::box);
      chains_.clear();
      links_ = {};
      asked_.clear();
      for (const Rows& r : rows_) asked_.push_back(&r);
    }
    if (count_tests() > kMaxTests && (!make_chains() || count_tests() > kMaxTests)) return {};
    for (const BlockId b : cfg_.rpo) find_components(b);
    if (if_it_gathers && moves_.empty()) return {};
    const ValueId apart = test();
    if (!apart.valid()) return {};
    boxes &= !only_tables;
    const ValueId passed = guards_.all_pass();
    const ValueId first = passed.valid() ? head_.make(Op::And, Type::U1, {apart, passed}) : apart;
    third &= boxes && passed.valid() && instructions <= kMaxInstructionsBehindGuards;
    split(first, third ? apart : ValueId{}, instructions);
    tidy_up();
    return {.made = true,
            .gathers = !moves_.empty(),
            .guarded = passed.valid(),
            .boxes = boxes,
            .chains = !chains_.empty(),
            .instructions = head_.made().size()};
  }

  bool run_guards() {
    const ValueId all = guards_.all_pass();
    if (!split(all, {}, count_instructions(f_, cfg_))) return false;
    tidy_up();
    return true;
  }

private:
  Function& f_;
  const unsigned gang_lanes_;
  const Cfg cfg_;
  std::vector<Rows> rows_;
  std::vector<const Rows*> asked_; ///< those of which each pair is asked about: rows_, or chains of them
  std::deque<Rows> chains_;
  ValueId links_; ///< if this is small, all chains are what they are taken for
  std::vector<Moving> classes_;
  HeadScalars head_;
  const passes::IdValues ids_;
  /// Stores of components, of which the first can be done directly before the second.
  struct Move {
    InstId store, next;
  };
  std::vector<Move> moves_;
  std::vector<std::pair<const Rows*, const Rows*>> passed_; ///< a store's rows, and those of loads it passes
  const passes::ValueLimits limits_{f_};
  Guards guards_{f_, cfg_, head_, gang_lanes_};
  bool without_masks_ = false; ///< the first copy

  void tidy_up() {
    if (!without_masks_) return;
    passes::merge_blocks(f_);
    passes::eliminate_dead_code(f_);
  }

  void collect() {
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        const MemAttr& mem = inst.mem;
        if ((inst.op != Op::Load && inst.op != Op::Store) || mem.space != Space::Global) continue;
        if (keeps_to_its_range(mem)) continue; // which is known to be apart already
        const auto operands = f_.operands(i).first(address_operands(mem));
        auto it = std::ranges::find_if(
            rows_, [&](const Rows& r) { return std::ranges::equal(r.address, operands); });
        if (it == rows_.end()) {
          it = rows_.emplace(it);
          it->address.assign(operands.begin(), operands.end());
          it->stride = row_stride(mem);
          it->box = !mem.wave_row;
        } else if (!have_one_shape(mem, f_[it->accesses[0]].mem)) {
          continue;
        }
        const i64 offset = static_cast<i32>(inst.imm);
        it->first = it->accesses.empty() ? offset : std::min(it->first, offset);
        it->end = it->accesses.empty() ? offset + mem.bytes : std::max(it->end, offset + mem.bytes);
        it->writes |= inst.op == Op::Store;
        it->accesses.push_back(i);
      }
    for (Rows& r : rows_)
      if (!r.box) (r.stride < 0 ? r.first : r.end) += i64{kWaveSize - 1} * r.stride;
  }

  bool find_box(Rows& r) {
    const auto box = phases::find_box(f_, head_, ids_, gang_lanes_, r.accesses[0], r.first, r.end, r.writes);
    if (!box) return false;
    r.start = box->start;
    r.spread = box->spread;
    r.end += box->bytes;
    r.short_row = box->short_row;
    r.short_stride = box->short_stride;
    r.holds = box->holds;
    r.apart = kApart;
    return true;
  }

  /// What is loaded by an index with a limit from where a scalar says.
  bool find_table(Rows& r) {
    const MemAttr mem = f_[r.accesses[0]].mem;
    if (r.writes || mem.form != AddressForm::Indexed) return false;
    const u64 most = limits_.max(r.address[1]);
    if (most > kMaxTable >> mem.scale) return false;
    r.start = head_.first_lane(r.address[0]);
    r.end += static_cast<i64>(most << mem.scale);
    r.table = true;
    r.apart = kApart;
    return r.start.valid();
  }

  /// Whether the rows' base is known at the start, but for what moves.
  bool find_start(Rows& r) {
    Moving moving;
    const MemAttr mem = f_[r.accesses[0]].mem;
    if (mem.form == AddressForm::Wrapped && find_start_of_index(r)) return true;
    if (mem.form == AddressForm::Wrapped) {
      moving.index = r.address[1];
      moving.scale = mem.scale;
      moving.index_sign = mem.index_sign;
      r.wrap = static_cast<u8>(32 + mem.scale);
    }
    r.start = add_terms(moving, r.address[0], 0);
    if (!r.start.valid()) return false;
    if (moving.is_none()) {
      r.apart = kApart;
      return true;
    }
    std::ranges::sort(moving.terms, {}, &ValueId::index);
    auto it = std::ranges::find(classes_, moving);
    if (it == classes_.end()) {
      if (classes_.size() == kMaxClasses) return false;
      it = classes_.insert(it, moving);
    }
    r.apart = static_cast<u8>(kFirstMoving + (it - classes_.begin()));
    return true;
  }
  /// Likewise where the index is known at the start, too. It must not wrap in the wave.
  bool find_start_of_index(Rows& r) {
    const MemAttr mem = f_[r.accesses[0]].mem;
    const ValueId index = mem.stride != 0 ? head_.first_lane(r.address[1]) : ValueId{};
    const ValueId base = index.valid() ? head_.first_lane(r.address[0]) : ValueId{};
    if (!base.valid()) return false;
    const ValueId wide = head_.make(mem.index_sign ? Op::SExt : Op::ZExt, Type::U64, {index});
    const ValueId offset = head_.make(Op::Shl, Type::U64, {wide, head_.constant(Type::U32, mem.scale)});
    r.start = head_.make(Op::Add, Type::U64, {base, offset});
    r.apart = kApart;
    const bool up = mem.stride > 0, is_signed = mem.index_sign;
    const u32 end = up ? (is_signed ? 0x7fff'ffff : ~0u) : (is_signed ? 0x8000'0000 : 0);
    const ValueId last = head_.constant(Type::U32, end - (kWaveSize - 1) * static_cast<u32>(mem.stride));
    const IntPred p =
        up ? (is_signed ? IntPred::SLe : IntPred::ULe) : (is_signed ? IntPred::SGe : IntPred::UGe);
    r.holds = {head_.compare(p, index, last)};
    return true;
  }
  /// The sum of the terms of a base that are known at the start; nothing if there are none.
  ValueId add_terms(Moving& moving, ValueId v, unsigned depth) {
    if (const ValueId known = head_.first_lane(v, depth); known.valid()) return known;
    const InstId i = f_.def_id(v);
    if (i.valid() && depth < kMaxDepth && (f_[i].op == Op::Splat || f_[i].op == Op::GangFirst))
      return add_terms(moving, f_.operands(i)[0], depth + 1);
    if (!i.valid() || depth >= kMaxDepth || f_[i].op != Op::Add) {
      moving.terms.push_back(v);
      return {};
    }
    const ValueId a = add_terms(moving, f_.operands(i)[0], depth + 1);
    const ValueId b = add_terms(moving, f_.operands(i)[1], depth + 1);
    return head_.sum({a, b});
  }

  [[nodiscard]] const Rows* rows_of(InstId i) const {
    for (const Rows& r : rows_)
      if (std::ranges::find(r.accesses, i) != r.accesses.end()) return &r;
    return nullptr;
  }

  /// Components of the same elements.
  [[nodiscard]] bool are_components(InstId store, InstId next) const {
    const i64 shift = i64{static_cast<i32>(f_[next].imm)} - static_cast<i32>(f_[store].imm);
    return f_[next].op == Op::Store && may_be_component(f_[store].mem) && may_be_component(f_[next].mem) &&
           std::abs(shift) < row_stride(f_[next].mem) &&
           f_.operands(store).back() == f_.operands(next).back();
  }

  /// Finds stores that are followed by such ones of the same rows, with only loads of other rows between.
  void find_components(BlockId b) {
    const auto& insts = f_[b].insts;
    for (std::size_t n = 0; n < insts.size(); ++n) {
      const Rows* rows = f_[insts[n]].op == Op::Store ? rows_of(insts[n]) : nullptr;
      if (rows == nullptr) continue;
      std::vector<std::pair<const Rows*, const Rows*>> passed;
      for (std::size_t k = n + 1; k < insts.size(); ++k) {
        const Inst& inst = f_[insts[k]];
        if (waits_for_waves(inst.op)) break;
        if (!is_access(f_, insts[k])) continue;
        const Rows* others = rows_of(insts[k]);
        if (others == rows && are_components(insts[n], insts[k]) && !passed.empty()) {
          moves_.push_back({insts[n], insts[k]});
          passed_.insert(passed_.end(), passed.begin(), passed.end());
        }
        if (others == nullptr || others == rows || others->apart != rows->apart || inst.op != Op::Load ||
            inst.mem.coherent)
          break;
        passed.emplace_back(rows, others);
      }
    }
  }
  void gather(const Move& move) {
    std::vector<InstId>& insts = f_[f_[move.store].block].insts;
    const auto from = std::ranges::find(insts, move.store);
    std::rotate(from, from + 1, std::find(from, insts.end(), move.next));
  }
  [[nodiscard]] bool is_passed(const Rows& a, const Rows& b) const {
    return std::ranges::any_of(passed_, [&](const auto& p) {
      return (p.first == &a && p.second == &b) || (p.first == &b && p.second == &a);
    });
  }

  /// If the bases are the same, no lane reaches what another accesses (unless both only load).
  bool meets_only_itself(const Rows& a, const Rows& b) const {
    if (a.box || b.box || a.stride != b.stride) return false;
    for (const InstId i : a.accesses)
      for (const InstId j : b.accesses) {
        const bool both_load = f_[i].op == Op::Load && f_[j].op == Op::Load;
        if (!both_load && !each_lane_has_its_own(f_[i], f_[j], f_.launch.wave_lanes)) return false;
      }
    return true;
  }

  /// To a place that many lanes store to, as to a flag: what the last of them has stored stays there, gang by
  /// gang as well (conflict() sees to those in loops).
  [[nodiscard]] static bool is_one_store(const Rows& r) {
    return r.stride == 0 && r.writes && r.accesses.size() == 1;
  }

  static bool have_to_be_apart(const Rows& a, const Rows& b) {
    return (a.writes || b.writes) && a.apart == b.apart;
  }
  [[nodiscard]] unsigned count_tests() const {
    unsigned tests = 0;
    for (std::size_t n = 0; n < asked_.size(); ++n)
      for (std::size_t k = 0; k < n; ++k) tests += have_to_be_apart(*asked_[k], *asked_[n]) ? 1 : 0;
    return tests;
  }

  /// Where there are too many pairs to ask about each, all that is only loaded from one array is taken to be
  /// one, from the first byte to the last.
  void join_loads() {
    std::map<std::pair<u8, std::vector<u32>>, std::vector<const Rows*>> arrays;
    asked_.clear();
    for (const Rows& r : rows_) {
      if (r.writes || r.wrap != 64)
        asked_.push_back(&r);
      else
        arrays[{r.apart, place_in_array(f_, r.start, 0).arrays}].push_back(&r);
    }
    for (const auto& [key, rows] : arrays) asked_.push_back(rows.size() == 1 ? rows[0] : joined(rows));
  }
  const Rows* joined(const std::vector<const Rows*>& rows) {
    Rows all = *rows[0];
    all.box = true;
    ValueId last = all.start, spread = all.spread;
    for (const Rows* r : rows) {
      all.first = std::min(all.first, r->first);
      all.end = std::max(all.end, r->end);
      const auto choose = [&](IntPred p, ValueId a, ValueId b) {
        return a == b ? a : head_.make(Op::Select, Type::U64, {head_.compare(p, a, b), a, b});
      };
      all.start = choose(IntPred::ULt, all.start, r->start);
      last = choose(IntPred::UGt, last, r->start);
      if (!spread.valid())
        spread = r->spread;
      else if (r->spread.valid())
        spread = choose(IntPred::UGt, spread, r->spread);
    }
    const ValueId ahead = head_.make(Op::Sub, Type::U64, {last, all.start});
    links_ = links_.valid() ? head_.make(Op::Or, Type::U64, {links_, ahead}) : ahead;
    all.spread = head_.sum({ahead, spread});
    return &chains_.emplace_back(std::move(all));
  }

  /// Where there are too many rows to ask about each pair, those of one array are a chain: in the order in
  /// which they are likely to lie, each is behind the one before, and they end with the last one. False if
  /// they are likely to overlap.
  bool make_chains() {
    std::map<std::pair<u8, std::vector<u32>>, std::vector<std::pair<PlaceInArray, const Rows*>>> arrays;
    for (const Rows& r : rows_) {
      if (r.wrap != 64) return false;
      PlaceInArray place = place_in_array(f_, r.start, static_cast<u64>(r.first));
      arrays[{r.apart, place.arrays}].emplace_back(std::move(place), &r);
    }
    asked_.clear();
    for (auto& [key, rows] : arrays) {
      std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first < b.first; });
      const Rows* chain = rows.size() == 1 ? rows[0].second : make_chain(rows);
      if (chain == nullptr) return false;
      asked_.push_back(chain);
    }
    return true;
  }
  const Rows* make_chain(std::span<const std::pair<PlaceInArray, const Rows*>> rows) {
    Rows chain = *rows[0].second;
    chain.box = true;
    for (const auto& [place, r] : rows) {
      chain.first = std::min(chain.first, r->first);
      chain.end = std::max(chain.end, r->end);
      chain.writes |= r->writes;
    }
    for (std::size_t n = 1; n < rows.size(); ++n) {
      const auto& [before, a] = rows[n - 1];
      const auto& [behind, b] = rows[n];
      ValueId ahead = head_.make(Op::Sub, Type::U64, {b->start, a->start});
      if (a->writes || b->writes) {
        const i64 length = chain.end - chain.first;
        const u64 distance = static_cast<u64>(behind.constant) - static_cast<u64>(before.constant);
        if (before.times == behind.times && distance < static_cast<u64>(length)) return nullptr;
        ahead = head_.sum({ahead, head_.constant(Type::U64, static_cast<u64>(-length))});
      }
      links_ = links_.valid() ? head_.make(Op::Or, Type::U64, {links_, ahead}) : ahead;
    }
    chain.spread = head_.make(Op::Sub, Type::U64, {rows.back().second->start, chain.start});
    return &chains_.emplace_back(std::move(chain));
  }
  /// Whether all rows are apart that have to be, and boxes that are stored to have a place for each lane;
  /// nothing if there is nothing to ask.
  ValueId test() {
    ValueId all;
    for (std::size_t n = 0; n < asked_.size(); ++n)
      for (std::size_t k = 0; k < n; ++k) {
        const Rows &a = *asked_[k], &b = *asked_[n];
        if (!have_to_be_apart(a, b)) continue;
        const ValueId one = are_apart(a, b);
        all = all.valid() ? head_.make(Op::And, Type::U1, {all, one}) : one;
      }
    const auto has_own_places = [](const Rows& r) { return r.box && r.writes && r.accesses.size() > 1; };
    if (!all.valid() && !links_.valid() && std::ranges::none_of(rows_, has_own_places)) return {};
    std::vector<ValueId> conditions;
    // So little that no chain comes round to its own start.
    if (links_.valid())
      conditions.push_back(head_.compare(IntPred::ULt, links_, head_.constant(Type::U64, u64{1} << 47)));
    for (const Rows& r : rows_) conditions.insert(conditions.end(), r.holds.begin(), r.holds.end());
    std::ranges::sort(conditions, {}, &ValueId::index);
    conditions.erase(std::unique(conditions.begin(), conditions.end()), conditions.end());
    for (const ValueId c : conditions) all = all.valid() ? head_.make(Op::And, Type::U1, {all, c}) : c;
    return all.valid() ? all : head_.constant(Type::U1, 1);
  }
  /// Each begins behind the other's end, counted around the address space; or they are the same; or each
  /// lane's part of one lies between two lanes' of the other, as of elements of which indices may wrap.
  ValueId are_apart(const Rows& a, const Rows& b) {
    const unsigned unused = 64u - a.wrap; // bits of distances
    const auto length = [&](const Rows& r) { return static_cast<u64>(r.end - r.first) << unused; };
    // The distance is at least a's length, and the way on to a again at least b's.
    ValueId between = distance(a, b);
    if (unused != 0) between = head_.make(Op::Shl, Type::U64, {between, head_.constant(Type::U32, unused)});
    const auto constant = [&](u64 n) { return head_.constant(Type::U64, n); };
    const ValueId from_end = head_.sum({between, constant(length(b) - 1), b.spread});
    const ValueId both = head_.sum({constant(length(a) + length(b) - 1), a.spread, b.spread});
    ValueId apart = head_.compare(IntPred::UGe, from_end, both);
    if (const u64 step = common_step(a, b); step != 0) {
      const auto of_lane = [&](const Rows& r) { return length(r) - (step * (kWaveSize - 1) << unused); };
      const ValueId room = constant((step << unused) - of_lane(a) - of_lane(b));
      const ValueId back = head_.make(Op::Sub, Type::U64, {constant(0), between});
      for (const auto& [there, of_first] : {std::pair{between, of_lane(a)}, {back, of_lane(b)}}) {
        const ValueId behind = head_.sum({there, constant(0 - of_first)});
        apart = head_.make(Op::Or, Type::U1, {apart, head_.compare(IntPred::ULe, behind, room)});
      }
    }
    if (!meets_only_itself(a, b) || is_passed(a, b)) return apart;
    return head_.make(Op::Or, Type::U1, {apart, head_.compare(IntPred::Eq, a.start, b.start)});
  }
  /// From lane to lane of rows that leave room for each other; else 0.
  static u64 common_step(const Rows& a, const Rows& b) {
    if (a.box || b.box || a.stride != b.stride) return 0;
    const i64 step = std::abs(a.stride), others = (kWaveSize - 1) * step;
    return a.end - a.first - others + b.end - b.first - others <= step ? static_cast<u64>(step) : 0;
  }
  /// From the first byte of `a` to that of `b`.
  ValueId distance(const Rows& a, const Rows& b) {
    const ValueId between = head_.make(Op::Sub, Type::U64, {b.start, a.start});
    if (a.first == b.first) return between;
    return head_.make(Op::Add, Type::U64,
                      {between, head_.constant(Type::U64, static_cast<u64>(b.first - a.first))});
  }

  /// Elements of a box may be short rows that nothing was known of before indices were tested.
  void find_short_rows(InstId i, const Rows& r) {
    MemAttr& mem = f_[i].mem;
    const bool fits = r.short_stride > 0 && r.short_stride <= std::numeric_limits<i16>::max();
    if (mem.form != AddressForm::Lanes || mem.short_row != 0 || r.short_row == 0 || !fits) return;
    mem.short_row = static_cast<u8>(r.short_row);
    mem.short_stride = static_cast<i16>(r.short_stride);
  }

  /// The first copy is for waves that have passed `test`, if there is one, and are within all borders; then
  /// there is one for others that have passed it. For others of which `apart` is true, if it is one, there is
  /// another one, and the last for the rest. False if there is nothing to ask.
  bool split(ValueId test, ValueId apart, std::size_t instructions) {
    const ValueId inside = instructions <= kMaxInstructionsInside ? guards_.all_inside() : ValueId{};
    if (!test.valid() && !inside.valid()) return false;
    const bool near_borders = test.valid() && inside.valid();
    const ValueId first = near_borders     ? head_.make(Op::And, Type::U1, {test, inside})
                          : inside.valid() ? inside
                                           : test;
    without_masks_ = inside.valid() || !guards_.blocks().empty();
    const BlockId head = cfg_.rpo[0], rest = f_.add_block(f_[head].pc);
    head_.take_loads();
    const std::vector<InstId> all = std::move(f_[head].insts);
    f_[head].insts.clear();
    for (const InstId i : all) {
      const bool stays = f_[i].num_results != 0 && head_.has(f_.result(i));
      f_[stays ? head : rest].insts.push_back(i);
      f_[i].block = stays ? head : rest;
    }
    f_[rest].successors = std::move(f_[head].successors);
    for (const InstId i : head_.made()) {
      f_[head].insts.push_back(i);
      f_[i].block = head;
    }
    std::vector<BlockId> blocks(cfg_.rpo.begin() + 1, cfg_.rpo.end());
    blocks.push_back(rest);
    const CopiedBlocks copied = copy_blocks(f_, blocks);
    for (const Rows& r : rows_)
      for (const InstId i : r.accesses) {
        if (f_[i].mem.apart == 0) f_[i].mem.apart = r.apart;
        find_short_rows(i, r);
      }
    for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) gather(*move);
    BlockId otherwise = copied.of(rest);
    if (apart.valid()) {
      otherwise = f_.add_block(f_[rest].pc);
      choose(otherwise, apart, copy_blocks(f_, blocks).of(rest), copied.of(rest));
    }
    if (near_borders) {
      const BlockId next = f_.add_block(f_[rest].pc);
      const CopiedBlocks near = copy_blocks(f_, blocks);
      for (const BlockId b : guards_.blocks()) guards_.pass(near.of(b == head ? rest : b));
      choose(next, test, near.of(rest), otherwise);
      otherwise = next;
    }
    for (const BlockId b : guards_.blocks()) guards_.pass(b == head ? rest : b);
    if (inside.valid()) guards_.stay_inside(blocks);
    choose(head, first, rest, otherwise);
    return true;
  }
  void choose(BlockId at, ValueId test, BlockId first, BlockId second) {
    Inst branch;
    branch.op = Op::Branch;
    branch.pc = f_[first].pc;
    branch.imm = kSecondIsRare;
    f_.append(at, branch, std::array{test}, {});
    f_[at].successors = {{first, {}}, {second, {}}};
  }
};

} // namespace

RowSplit split_by_disjoint_rows(Function& f, unsigned gang_lanes, bool if_it_gathers, bool third) {
  return RowSplitter(f, gang_lanes).run(if_it_gathers, third);
}

bool has_guards(const Function& f) {
  const Cfg cfg(f);
  const auto asks = [&](BlockId b) {
    return f.tested_mask(b).valid() || std::ranges::any_of(f[b].insts, [&](InstId i) {
             return f[i].op == Op::Load && !f.is_const(f.operands(i).back());
           });
  };
  return std::ranges::any_of(cfg.rpo, asks) && count_instructions(f, cfg) <= kMaxInstructionsBehindGuards &&
         has_rows(f, cfg);
}

bool split_by_guards(Function& f, unsigned gang_lanes) {
  return has_guards(f) && RowSplitter(f, gang_lanes).run_guards();
}

} // namespace lanewise::phases
