#include "translator/x86/gang_costs.hpp"

#include "translator/ir/access.hpp"
#include "translator/ir/rows.hpp"
#include "translator/x86/select.hpp"

#include <cmath>
#include <cstdlib>

namespace lanewise::x86 {

namespace {

using ir::Type;
using ir::ValueId;

unsigned access_cost(const ir::MemAttr& mem) {
  const unsigned dwords = (mem.bytes + 3u) / 4;
  if (mem.places != 0) return 8;
  if (mem.short_row != 0) return 8 + 3 * dwords;
  if (mem.form == ir::AddressForm::Indexed) return 12 * dwords;
  if (mem.form == ir::AddressForm::Lanes) return 16 + 8 * dwords;
  constexpr i64 kFarApart = 16; // From there on each lane has an access of its own.
  const i64 stride = ir::row_stride(mem);
  if (std::abs(stride) > std::max<i64>(mem.bytes, kFarApart)) return 8 + 4 * dwords;
  const bool may_be_outside = mem.space == ir::Space::Lds && !mem.in_range && !mem.masked_in_range;
  const unsigned test = mem.form == ir::AddressForm::Wrapped || may_be_outside ? 3 : 0;
  return test + dwords * (mem.stride != 0 && dwords > 1 ? 3 : 2);
}

/// Of what is the same for all gangs.
unsigned scalar_cost(const ir::Inst& inst) {
  switch (inst.op) {
  case ir::Op::InitSgpr:
  case ir::Op::Lo:
  case ir::Op::ZExt: return 0;
  case ir::Op::ICmp:
  case ir::Op::Join:
  case ir::Op::Select: return 2;
  case ir::Op::ScalarLoad: return 2 + inst.num_results;
  default: return 1;
  }
}

} // namespace

Cost cost_of(const ir::Function& f, ir::InstId i) {
  const ir::Inst& inst = f[i];
  if (inst.op == ir::Op::Const) return {0, 0};
  if (inst.num_results != 0 && ir::is_uniform(f.type(f.result(i)))) return {scalar_cost(inst), 0};
  switch (inst.op) {
  case ir::Op::Splat:
  case ir::Op::LaneId:
  case ir::Op::InitVgpr:
  case ir::Op::InitExec: return {0, 0};
  case ir::Op::FDiv: return {2, 16};
  case ir::Op::FSqrt: return {2, 20};
  case ir::Op::UDiv: return ir::is_wide(f.type(f.result(i))) ? Cost{40, 80} : Cost{20, 30};
  case ir::Op::Mul:
  case ir::Op::UMulHi:
  case ir::Op::SMulHi:
  case ir::Op::UMulWide:
  case ir::Op::SMulWide: return {2, 8};
  case ir::Op::Load: {
    constexpr unsigned kLatency = 12, kGatherLatency = 26;
    const bool gathers = inst.mem.form == ir::AddressForm::Indexed || inst.mem.form == ir::AddressForm::Lanes;
    return {access_cost(inst.mem), gathers ? kGatherLatency : kLatency};
  }
  case ir::Op::Store: return {access_cost(inst.mem), 0};
  case ir::Op::Atomic: return {60, 40};
  case ir::Op::ICmp: return {1, 4};
  default: break;
  }
  // What is 64 bits wide takes two registers, and an instruction for each.
  const unsigned issued = inst.num_results != 0 && f.type(f.result(i)) == Type::V64 ? 2 : 1;
  const ir::OpInfo& op = ir::info(inst.op);
  if (op.is(ir::kFloat)) return {issued, 4};
  return {issued, inst.op == ir::Op::Select ? 2u : 1u};
}

namespace {

constexpr u32 kOutside = ~0u, kShared = ~0u - 1;

/// Liveness and chains within one region.
class Region {
public:
  /// `place` and `index`: tables per block and per value, all kOutside, which they are afterwards again.
  Region(const ir::Function& f, bool avx512, std::vector<u32>& place, std::vector<u32>& index,
         std::span<const ir::BlockId> blocks, bool shares_scalars, const std::vector<bool>& guarded,
         CommonValues* common)
      : f_(f), avx512_(avx512), blocks_(blocks), shares_scalars_(shares_scalars), guarded_(guarded),
        common_(common), place_(place), index_(index) {
    if (common_ != nullptr) {
      common_->find_loads(blocks);
      demand_.row = common_->row().group();
    }
    for (u32 n = 0; n < blocks.size(); ++n) place_[blocks[n].index] = n;
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    for (const ir::BlockId b : blocks_) place_[b.index] = kOutside;
    for (const ValueId v : values_) index_[v.index] = kOutside;
    for (const ValueId v : shared_) index_[v.index] = kOutside;
  }

  Demand measure() {
    for (const ir::BlockId b : blocks_) number_block(b);
    words_ = (values_.size() + 63) / 64;
    live_in_.assign(blocks_.size() * words_, 0);
    live_.resize(words_);
    scanned_.assign(blocks_.size(), 0);
    changed_.assign(blocks_.size(), 1);
    u32 time = 1;
    for (bool changed = true; changed;) {
      changed = false;
      for (u32 n = static_cast<u32>(blocks_.size()); n-- > 0;) {
        if (!is_stale(n)) continue;
        scanned_[n] = ++time;
        if (!scan(n)) continue;
        changed_[n] = ++time;
        changed = true;
      }
    }
    demand_.path = longest_path(ValueId{}, ValueId{}) / 2;
    find_carried();
    demand_.is_loop = std::ranges::any_of(blocks_, [&](ir::BlockId b) { return goes_to(b, blocks_[0]); });
    if (demand_.is_loop) {
      count_handed_on();
      count_rows();
      find_carried_in_memory();
    }
    return demand_;
  }

private:
  static constexpr unsigned kMaxParams = 24;
  static constexpr unsigned kAroundMask = 30; ///< instructions
  const ir::Function& f_;
  bool avx512_;
  std::span<const ir::BlockId> blocks_;
  bool shares_scalars_;
  const std::vector<bool>& guarded_;
  CommonValues* common_;
  std::vector<u32>&place_, &index_;
  std::vector<ValueId> values_, shared_;
  std::size_t words_ = 0;              ///< of a set of values, a bit each
  std::vector<u64> live_in_, live_;    ///< sets, one per block; the set while a block is scanned
  std::vector<u32> scanned_, changed_; ///< per block, when it was scanned and when its live-in set grew
  Demand demand_;

  void number(ValueId v, bool is_used = true) {
    if (!ir::is_per_lane(f_.type(v)) || index_[v.index] != kOutside) return;
    const ir::InstId def = f_.def_id(v);
    const bool recomputed = is_recomputed(f_, v);
    if (recomputed && !is_used) return;
    if (recomputed || (def.valid() && is_same_for_all(f_, def))) {
      index_[v.index] = kShared;
      shared_.push_back(v);
      ++demand_.shared;
      return;
    }
    index_[v.index] = static_cast<u32>(values_.size());
    values_.push_back(v);
  }
  void number_block(ir::BlockId b) {
    for (const ValueId v : f_[b].params) number(v);
    for (const ir::InstId i : f_[b].insts) {
      for (const ValueId v : f_.operands(i)) number(v);
      for (unsigned r = 0; r < f_[i].num_results; ++r) number(f_.result(i, r), false);
      const bool once = is_same_for_all(f_, i);
      const unsigned issued = cost_of(f_, i).issued + (goes_around_mask(i) ? kAroundMask : 0);
      if (shares_scalars_ || !has_uniform_result(i)) (once ? demand_.once : demand_.issued) += issued;
      if (!once && is_guarded(b)) demand_.guarded += issued;
      if (!once && f_[i].num_results != 0 && !has_uniform_result(i))
        part_of(demand_.amount, f_.result(i)) += issued;
    }
    for (const ir::Successor& s : f_[b].successors)
      for (const ValueId v : s.args) number(v);
  }
  /// AVX2 moves bytes and half-words by no mask: which lanes may be touched is asked first.
  [[nodiscard]] bool goes_around_mask(ir::InstId i) const {
    const ir::MemAttr& mem = f_[i].mem;
    const bool moves = f_[i].op == ir::Op::Load || f_[i].op == ir::Op::Store;
    return !avx512_ && moves && mem.bytes < 4 && !f_.is_full(f_.operands(i).back()) &&
           (mem.form == ir::AddressForm::Row || mem.form == ir::AddressForm::Wrapped);
  }
  /// The part of an amount that is for values like this one.
  unsigned& part_of(Amount& amount, ValueId v) const {
    const bool row = common_ != nullptr && common_->in_row(v);
    const bool column = common_ != nullptr && common_->in_column(v);
    return row ? (column ? amount.in_both : amount.in_row) : column ? amount.in_column : amount.own;
  }
  [[nodiscard]] bool has_uniform_result(ir::InstId i) const {
    return f_[i].num_results != 0 && ir::is_uniform(f_.type(f_.result(i)));
  }
  [[nodiscard]] bool is_guarded(ir::BlockId b) const { return !guarded_.empty() && guarded_[b.index]; }
  [[nodiscard]] bool is_tracked(ValueId v) const { return index_[v.index] < values_.size(); }

  /// Whether scanning the block could show anything new.
  [[nodiscard]] bool is_stale(u32 place) const {
    if (scanned_[place] == 0) return true;
    return std::ranges::any_of(f_[blocks_[place]].successors, [&](const ir::Successor& s) {
      const u32 to = place_[s.block.index];
      return to != kOutside && changed_[to] > scanned_[place];
    });
  }

  bool scan(u32 place) {
    const ir::BlockId b = blocks_[place];
    std::ranges::fill(live_, 0);
    Amount vectors, masks;
    const auto change = [&](ValueId v, bool now) {
      if (!is_tracked(v)) return;
      u64& word = live_[index_[v.index] / 64];
      const u64 bit = u64{1} << index_[v.index] % 64;
      if (((word & bit) != 0) == now) return;
      word ^= bit;
      const Type t = f_.type(v);
      Amount& alive = t == Type::Mask ? masks : vectors;
      unsigned& count = part_of(alive, v);
      const unsigned size = t == Type::V64 ? 2 : 1;
      count = now ? count + size : count - size;
      if (!now) return;
      auto& most = t == Type::Mask ? demand_.masks_of : demand_.vectors_of;
      for (unsigned gangs = 1; gangs <= kMaxTogether; gangs *= 2)
        most[gangs] = std::max(most[gangs], alive.of(gangs, demand_.row));
    };
    for (const ir::Successor& s : f_[b].successors) {
      for (const ValueId v : s.args) change(v, true);
      const u32 to = place_[s.block.index];
      for (std::size_t w = 0; to != kOutside && w < words_; ++w)
        for (u64 rest = live_in_[to * words_ + w]; rest; rest &= rest - 1)
          change(values_[64 * w + static_cast<unsigned>(std::countr_zero(rest))], true);
    }
    for (auto i = f_[b].insts.rbegin(); i != f_[b].insts.rend(); ++i) {
      for (unsigned r = 0; r < f_[*i].num_results; ++r) change(f_.result(*i, r), false);
      for (const ValueId v : f_.operands(*i)) change(v, true);
    }
    for (const ValueId v : f_[b].params) change(v, false);
    const auto known = std::span(live_in_).subspan(place * words_, words_);
    if (std::ranges::equal(live_, known)) return false;
    std::ranges::copy(live_, known.begin());
    return true;
  }

  /// Half cycles from `from` (or, if that is invalid, from anything) to `to` (to anything) along forward
  /// edges; 0 if there is no way.
  unsigned longest_path(ValueId from, ValueId to) {
    std::vector<u32> done(values_.size(), from.valid() ? kOutside : 0); // kOutside: not reached
    if (from.valid()) done[index_[from.index]] = 0;
    unsigned longest = 0;
    const auto at = [&](ValueId v) {
      return is_tracked(v) ? done[index_[v.index]] : from.valid() ? kOutside : 0;
    };
    const auto reach = [&](ValueId v, u32 when) {
      if (!is_tracked(v) || when == kOutside) return;
      u32& d = done[index_[v.index]];
      d = d == kOutside ? when : std::max(d, when);
      longest = std::max(longest, d);
    };
    for (u32 n = 0; n < blocks_.size(); ++n) {
      for (const ir::InstId i : f_[blocks_[n]].insts) {
        u32 start = from.valid() ? kOutside : 0;
        for (const ValueId v : f_.operands(i))
          if (const u32 d = at(v); d != kOutside) start = start == kOutside ? d : std::max(start, d);
        if (start == kOutside) continue;
        // Of what is guarded, a gang goes through half.
        const unsigned latency = cost_of(f_, i).latency * (is_guarded(blocks_[n]) ? 1u : 2u);
        for (unsigned r = 0; r < f_[i].num_results; ++r) reach(f_.result(i, r), start + latency);
      }
      for (const ir::Successor& s : f_[blocks_[n]].successors) {
        const u32 target = place_[s.block.index];
        for (u32 a = 0; target != kOutside && target > n && a < s.args.size(); ++a)
          reach(f_[s.block].params[a], at(s.args[a]));
      }
    }
    if (!to.valid()) return longest;
    const u32 d = at(to);
    return d == kOutside ? 0 : d;
  }

  void find_carried() {
    const std::vector<ValueId>& params = f_[blocks_[0]].params;
    if (params.size() > kMaxParams) return;
    for (const ir::BlockId b : blocks_)
      for (const ir::Successor& s : f_[b].successors)
        for (u32 a = 0; s.block == blocks_[0] && a < s.args.size(); ++a)
          if (is_tracked(params[a]))
            demand_.carried = std::max(demand_.carried, longest_path(params[a], s.args[a]) / 2);
  }

  /// Of a loop.
  void count_handed_on() {
    for (const ValueId v : f_[blocks_[0]].params)
      if (ir::is_vector(f_.type(v))) demand_.handed_on += f_.type(v) == Type::V64 ? 2 : 1;
  }
  void count_rows() {
    for (const ir::BlockId b : blocks_)
      for (const ir::InstId i : f_[b].insts)
        demand_.rows +=
            f_[i].op == ir::Op::Load && f_[i].mem.space == ir::Space::Global && ir::is_consecutive(f_[i].mem);
  }
  /// Of a loop: what a round stores and the next one loads from there is handed on, too.
  void find_carried_in_memory() {
    std::vector<ir::InstId> loads;
    for (const ir::BlockId b : blocks_)
      for (const ir::InstId i : f_[b].insts)
        if (f_[i].op == ir::Op::Load && loads.size() < kMaxParams && is_tracked(f_.result(i)) &&
            place_[f_.def_block(f_.operands(i)[0]).index] == kOutside)
          loads.push_back(i);
    for (const ir::BlockId b : blocks_)
      for (const ir::InstId i : f_[b].insts)
        for (const ir::InstId load : loads)
          if (f_[i].op == ir::Op::Store && f_[i].mem.space == f_[load].mem.space &&
              f_[i].imm == f_[load].imm && f_.operands(i)[0] == f_.operands(load)[0] &&
              is_tracked(ir::stored_by(f_, i)[0]))
            demand_.carried =
                std::max(demand_.carried, cost_of(f_, load).latency +
                                              longest_path(f_.result(load), ir::stored_by(f_, i)[0]) / 2);
  }
  [[nodiscard]] bool goes_to(ir::BlockId b, ir::BlockId target) const {
    return std::ranges::any_of(f_[b].successors, [&](const ir::Successor& s) { return s.block == target; });
  }
};

} // namespace

RegionCosts::RegionCosts(const ir::Function& f, bool avx512)
    : f_(f), avx512_(avx512), place_(f.num_blocks(), kOutside), index_(f.num_values(), kOutside) {}

Demand RegionCosts::of(std::span<const ir::BlockId> blocks, CommonValues* common) {
  return of_loop(blocks, false, {}, common);
}

Demand RegionCosts::of_loop(std::span<const ir::BlockId> blocks, bool shares_scalars,
                            const std::vector<bool>& guarded, CommonValues* common) {
  return Region(f_, avx512_, place_, index_, blocks, shares_scalars, guarded, common).measure();
}

unsigned registers_for_gangs(const Demand& d, bool avx512) {
  return avx512 ? 32 - std::min(d.shared, 4u) : 16 - std::min(d.shared, 2u);
}

namespace {

/// Instructions per gang that registers cost which there are not. An instruction looks for about every other
/// value in memory if none stays in a register, however many there are; but a value that a loop hands on from
/// round to round is loaded and stored in each. Masks of AVX-512 come back sooner than they are asked for.
double instructions_for_spills(const Demand& d, double issued, unsigned gangs, bool avx512) {
  constexpr double kPerInstruction = 0.5, kPerRound = 3;
  const unsigned alive = d.vectors_of[gangs] + (avx512 ? 0 : d.masks_of[gangs]);
  const unsigned registers = registers_for_gangs(d, avx512);
  if (alive <= registers) return 0;
  const unsigned spilled = alive - registers;
  return std::max(kPerInstruction * issued * spilled / alive,
                  kPerRound * std::min(spilled, gangs * d.handed_on) / gangs);
}

} // namespace

double cycles(const Demand& d, unsigned gangs, bool avx512) {
  // Measured on some 200 kernels. A processor looks less far ahead than its window is wide, as branches are
  // guessed wrong; from gang to gang it comes less far than from round to round of a loop, as what waits in
  // its queues there is whole chains.
  constexpr double kPerInstruction = 0.22, kWindow = 100, kWindowOfLoop = 200, kGangLoop = 9;
  constexpr double kSkips = 0.4; // what is guarded
  // Gangs that do not go along a row side by side go along it one after the other, each past what the others
  // need: y = A * x takes 1.6 times as long with two of four gangs.
  constexpr double kRow = 5;
  if (d.alone) return std::max<double>(kPerInstruction * d.issued * gangs, d.carried);
  // What is guarded is skipped where no gang needs it.
  const double needed = d.issued - d.guarded * std::pow(kSkips, gangs);
  const double in_common = gangs * d.amount.of(1, 1) - d.amount.of(gangs, d.row);
  const double issued =
      needed + instructions_for_spills(d, needed, gangs, avx512) + (kGangLoop + d.once - in_common) / gangs;
  const double overlap = std::max<double>(gangs, (d.is_loop ? kWindowOfLoop : kWindow) / issued);
  return std::max({kPerInstruction * issued, d.path / overlap, static_cast<double>(d.carried) / gangs}) +
         kRow * d.rows / gangs;
}

} // namespace lanewise::x86
