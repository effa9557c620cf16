#include "translator/phases/disjoint_rows.hpp"
#include "runtime/wave.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/gang_scalars.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/hazards.hpp"

#include <algorithm>
#include <cstdlib>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 1500; ///< of a function that is worth being there twice
constexpr unsigned kMaxTests = 16, kMaxDepth = 16;
constexpr std::size_t kMaxClasses = 64;
constexpr u8 kApart = 1; ///< MemAttr::apart of rows; larger numbers are those of walks.cpp

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
  i64 stride = 0;
  bool writes = false;
  i64 first = 0, end = 0;
  ValueId start;   ///< the base in lane 0 of the wave, without what moves
  u8 apart = 0;    ///< the class's number, likewise of accesses
  u8 wrap = 64;    ///< distances count modulo 2^wrap
  ValueId goes_on; ///< whether the row has no gap; always if this is nothing
};

class RowSplitter {
public:
  explicit RowSplitter(Function& f) : f_(f), cfg_(f) {}

  RowSplit run() {
    std::size_t instructions = 0;
    for (const BlockId b : cfg_.rpo) instructions += f_[b].insts.size();
    if (instructions > kMaxInstructions) return {};
    collect();
    find_head();
    std::erase_if(rows_,
                  [&](Rows& r) { return (!meets_only_itself(r, r) && !is_one_store(r)) || !find_start(r); });
    for (const BlockId b : cfg_.rpo) find_components(b);
    ValueId apart = test();
    if (!apart.valid()) return {};
    for (const BlockId b : cfg_.rpo)
      if (const ValueId all = all_pass_guard(b); all.valid()) {
        apart = make(Op::And, Type::U1, {apart, all});
        guards_.push_back(b);
      }
    split(apart);
    for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) gather(*move);
    if (!guards_.empty()) {
      passes::merge_blocks(f_);
      passes::eliminate_dead_code(f_);
    }
    return {.made = true, .gathers = !moves_.empty(), .guarded = !guards_.empty()};
  }

private:
  Function& f_;
  const Cfg cfg_;
  std::vector<Rows> rows_;
  std::vector<Moving> classes_;
  std::vector<bool> in_head_;  ///< per value: computed in what is there once
  std::vector<InstId> loaded_; ///< the loads there
  std::vector<InstId> test_;   ///< to be put there
  /// Stores of components, of which the first can be done directly before the second.
  struct Move {
    InstId store, next;
  };
  std::vector<Move> moves_;
  std::vector<std::pair<const Rows*, const Rows*>> passed_; ///< a store's rows, and those of loads it passes
  struct Moved {
    InstId load;
    ValueId offset;
  };
  std::vector<Moved> moved_;    ///< loads that go there
  std::vector<BlockId> guards_; ///< that end with what all lanes pass
  const passes::ValueLimits limits_{f_};
  std::vector<ValueId> scalar_; ///< per value: what first_lane() has made

  void collect() {
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        const MemAttr& mem = inst.mem;
        if ((inst.op != Op::Load && inst.op != Op::Store) || mem.space != Space::Global ||
            (mem.form != AddressForm::Row && mem.form != AddressForm::Wrapped) || !mem.wave_row)
          continue;
        const auto operands = f_.operands(i).first(address_operands(mem));
        auto it = std::ranges::find_if(
            rows_, [&](const Rows& r) { return std::ranges::equal(r.address, operands); });
        if (it == rows_.end()) {
          it = rows_.emplace(it);
          it->address.assign(operands.begin(), operands.end());
          it->stride = i64{mem.stride} << mem.scale;
        } else if (!have_one_shape(mem, f_[it->accesses[0]].mem)) {
          continue;
        }
        const i64 offset = static_cast<i32>(inst.imm);
        it->first = it->accesses.empty() ? offset : std::min(it->first, offset);
        it->end = it->accesses.empty() ? offset + mem.bytes : std::max(it->end, offset + mem.bytes);
        it->writes |= inst.op == Op::Store;
        it->accesses.push_back(i);
      }
    for (Rows& r : rows_) (r.stride < 0 ? r.first : r.end) += i64{kWaveSize - 1} * r.stride;
  }

  /// Whether the rows' base is known at the start, but for what moves.
  bool find_start(Rows& r) {
    Moving moving;
    const MemAttr& mem = f_[r.accesses[0]].mem;
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
    const MemAttr& mem = f_[r.accesses[0]].mem;
    const ValueId index = mem.stride > 0 ? first_lane(r.address[1], 0) : ValueId{};
    const ValueId base = index.valid() ? first_lane(r.address[0], 0) : ValueId{};
    if (!base.valid()) return false;
    const ValueId wide = make(mem.index_sign ? Op::SExt : Op::ZExt, Type::U64, {index});
    const ValueId offset = make(Op::Shl, Type::U64, {wide, constant(Type::U32, mem.scale)});
    r.start = make(Op::Add, Type::U64, {base, offset});
    r.apart = kApart;
    const u32 last = (mem.index_sign ? 0x7fff'ffff : ~0u) - (kWaveSize - 1) * static_cast<u32>(mem.stride);
    r.goes_on = compare(mem.index_sign ? IntPred::SLe : IntPred::ULe, index, constant(Type::U32, last));
    return true;
  }
  /// The sum of the terms of a base that are known at the start; nothing if there are none.
  ValueId add_terms(Moving& moving, ValueId v, unsigned depth) {
    if (const ValueId known = first_lane(v, depth); known.valid()) return known;
    const InstId i = f_.def_id(v);
    if (i.valid() && depth < kMaxDepth && (f_[i].op == Op::Splat || f_[i].op == Op::GangFirst))
      return add_terms(moving, f_.operands(i)[0], depth + 1);
    if (!i.valid() || depth >= kMaxDepth || f_[i].op != Op::Add) {
      moving.terms.push_back(v);
      return {};
    }
    const ValueId a = add_terms(moving, f_.operands(i)[0], depth + 1);
    const ValueId b = add_terms(moving, f_.operands(i)[1], depth + 1);
    return a.valid() && b.valid() ? make(Op::Add, Type::U64, {a, b}) : a.valid() ? a : b;
  }

  [[nodiscard]] const Rows* rows_of(InstId i) const {
    for (const Rows& r : rows_)
      if (std::ranges::find(r.accesses, i) != r.accesses.end()) return &r;
    return nullptr;
  }

  /// Components of the same elements, which are small.
  [[nodiscard]] bool go_together(InstId store, InstId next) const {
    constexpr i64 kMaxStride = 8; // of what the selector puts together
    const i64 shift = i64{static_cast<i32>(f_[next].imm)} - static_cast<i32>(f_[store].imm);
    return f_[next].op == Op::Store && f_[next].mem.bytes < f_[next].mem.stride &&
           f_[next].mem.stride <= kMaxStride && std::abs(shift) < f_[next].mem.stride &&
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
        if (others == rows && go_together(insts[n], insts[k]) && !passed.empty()) {
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
    if (a.stride != b.stride) return false;
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

  /// What stays at the start: initial registers, and scalars made of them and of what they point to.
  void find_head() {
    in_head_.assign(f_.num_values(), false);
    for (const InstId i : f_[cfg_.rpo[0]].insts) {
      if (!belongs_to_head(i)) continue;
      for (unsigned r = 0; r < f_[i].num_results; ++r) in_head_[f_.result(i, r).index] = true;
      if (f_[i].op == Op::ScalarLoad) loaded_.push_back(i);
    }
  }
  bool belongs_to_head(InstId i) const {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    switch (inst.op) {
    case Op::Const:
    case Op::InitSgpr:
    case Op::InitVgpr:
    case Op::InitExec:
    case Op::FrameField: return true;
    case Op::ScalarLoad:
      if (is_access(f_, i)) return false;
      break;
    default:
      if (!info(inst.op).is(kPure) || inst.num_results != 1 || !is_uniform(f_.type(f_.result(i))))
        return false;
    }
    return std::ranges::all_of(x, [&](ValueId v) { return in_head_[v.index] && is_uniform(f_.type(v)); });
  }

  /// A scalar at the start: `v` in lane 0 of the wave. Nothing if it is not made of initial registers and
  /// what they point to.
  ValueId first_lane(ValueId v, unsigned depth) {
    scalar_.resize(f_.num_values());
    if (scalar_[v.index].valid()) return scalar_[v.index];
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth > kMaxDepth || f_.type(v) == Type::Mask || f_.type(v) == Type::U1) return {};
    const Type type = uniform_of(f_.type(v));
    ValueId made;
    switch (f_[i].op) {
    case Op::InitSgpr: made = v; break;
    case Op::Const: made = constant(type, f_[i].imm); break;
    case Op::LaneId: made = constant(type, 0); break;
    case Op::InitVgpr: {
      const u64 at = offsetof(runtime::WaveFrame, vgpr) + sizeof(runtime::WaveFrame::vgpr[0]) * f_[i].imm;
      made = make(Op::Lo, Type::U32, {make(Op::FrameField, Type::U64, {}, at)});
      break;
    }
    case Op::ScalarLoad: made = loaded(v, i); break;
    case Op::Splat:
    case Op::GangFirst: made = first_lane(f_.operands(i)[0], depth + 1); break;
    default:
      if (!passes::is_address_arithmetic(f_[i].op)) break;
      std::vector<ValueId> x;
      for (unsigned n = 0; n < f_[i].num_operands; ++n) {
        x.push_back(first_lane(f_.operands(i)[n], depth + 1));
        if (!x.back().valid()) return {};
      }
      made = make(f_[i].op, type, x);
    }
    scalar_.resize(f_.num_values());
    return scalar_[v.index] = made;
  }

  /// Whether no lane of the wave is one for which the kernel ends at the end of `b`, as where the grid is
  /// larger than what it is about. Nothing if `b` does not end like that, or a scalar cannot tell.
  ValueId all_pass_guard(BlockId b) {
    const ValueId mask = f_.tested_mask(b);
    if (!mask.valid() || f_[f_[b].successors[1].block].insts.size() != 1 ||
        f_[f_.terminator(f_[b].successors[1].block)].op != Op::EndPgm)
      return {};
    return is_full(mask, 0);
  }
  ValueId is_full(ValueId mask, unsigned depth) {
    const InstId i = f_.def_id(mask);
    if (!i.valid() || depth > kMaxDepth) return {};
    if (f_.is_full(mask)) return constant(Type::U1, 1);
    if (std::ranges::any_of(guards_, [&](BlockId g) { return f_.tested_mask(g) == mask; }))
      return constant(Type::U1, 1);
    const auto x = f_.operands(i);
    if (f_[i].op == Op::And) {
      const ValueId first = is_full(x[0], depth + 1);
      const ValueId second = first.valid() ? is_full(x[1], depth + 1) : ValueId{};
      return second.valid() ? make(Op::And, Type::U1, {first, second}) : second;
    }
    return f_[i].op == Op::ICmp ? is_below(i) : ValueId{};
  }
  /// Of a comparison of what is known not to be negative or wrap with a limit: it holds in the wave's last
  /// lane, and so in all.
  ValueId is_below(InstId icmp) {
    auto p = static_cast<IntPred>(f_[icmp].imm);
    ValueId v = f_.operands(icmp)[0], limit = f_.operands(icmp)[1];
    if (p == IntPred::UGt || p == IntPred::UGe || p == IntPred::SGt || p == IntPred::SGe) {
      std::swap(v, limit);
      p = p == IntPred::UGt   ? IntPred::ULt
          : p == IntPred::UGe ? IntPred::ULe
          : p == IntPred::SGt ? IntPred::SLt
                              : IntPred::SLe;
    }
    if (p == IntPred::Eq || p == IntPred::Ne || p == IntPred::UGt || p == IntPred::SGt) return {};
    const ir::Inst* def = f_.def(limit);
    if (def == nullptr || def->op != Op::Splat || !is_uniform(f_.type(f_.operands(f_.def_id(limit))[0])))
      return {};
    if (limits_.max(v) >> 31 != 0) return {};
    const ValueId most = last_lane(v, 0), end = most.valid() ? first_lane(limit, 0) : ValueId{};
    return end.valid() ? compare(p, most, end) : end;
  }
  /// Likewise in the wave's last lane, of sums of work-item ids and scalars; no lane has more.
  ValueId last_lane(ValueId v, unsigned depth) {
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth > kMaxDepth) return {};
    const auto x = f_.operands(i);
    const auto in = [&](unsigned n) { return last_lane(x[n], depth + 1); };
    const Type type = uniform_of(f_.type(v));
    switch (f_[i].op) {
    case Op::Const:
    case Op::Splat: return first_lane(v, depth);
    case Op::LaneId: return constant(Type::U32, kWaveSize - 1);
    case Op::InitVgpr: {
      if (f_[i].imm != 0 || !f_.launch.x_counts(kWaveSize))
        return constant(Type::U32, f_.launch.max_work_item(static_cast<u32>(f_[i].imm)));
      const ValueId first = first_lane(v, depth);
      return make(Op::Add, Type::U32, {first, constant(Type::U32, kWaveSize - 1)});
    }
    case Op::ZExt: {
      const ValueId narrow = in(0);
      return narrow.valid() ? make(Op::ZExt, type, {narrow}) : narrow;
    }
    case Op::Add: {
      const ValueId a = in(0), b = a.valid() ? in(1) : ValueId{};
      return b.valid() ? make(Op::Add, type, {a, b}) : b;
    }
    default: return {};
    }
  }

  /// Result `v` of the scalar load `i`, which may only be done at the start if that is known not to fault.
  ValueId loaded(ValueId v, InstId i) {
    if (in_head_[v.index]) return v;
    u64 offset = 0;
    const ValueId base = f_.operands(i)[0], at = f_.operands(i)[1];
    if (is_access(f_, i) || !in_head_[base.index] || !f_.is_const(at, &offset)) return {};
    if (!passes::is_always_readable(f_, i) && offset + 4u * f_[i].num_results > readable(base)) return {};
    for (unsigned r = 0; r < f_[i].num_results; ++r) in_head_[f_.result(i, r).index] = true;
    moved_.push_back({i, constant(Type::U32, offset)});
    test_.push_back(i);
    return v;
  }

  /// That many bytes from an initial pointer on are there: up to something that is loaded at the start
  /// anyway, or that is known of all launches.
  u64 readable(ValueId base) const {
    u64 end = 0, offset = 0;
    for (const InstId load : loaded_)
      if (f_.operands(load)[0] == base && f_.is_const(f_.operands(load)[1], &offset))
        end = std::max(end, offset + 4u * f_[load].num_results);
    const auto pointer = passes::initial_address(f_, base);
    if (!pointer || pointer->offset != 0) return end;
    for (const translator::KnownDword& d : f_.launch.dwords)
      if (d.pointer_sgpr == pointer->pointer_sgpr) end = std::max<u64>(end, d.offset + 4u);
    return end;
  }

  ValueId make(Op op, Type type, const std::vector<ValueId>& x, u64 imm = 0) {
    Inst proto;
    proto.op = op;
    proto.imm = imm;
    proto.pc = f_[cfg_.rpo[0]].pc;
    test_.push_back(f_.make(proto, x, {&type, 1}));
    return f_.result(test_.back());
  }
  ValueId constant(Type type, u64 bits) { return make(Op::Const, type, {}, bits); }
  ValueId compare(IntPred p, ValueId a, ValueId b) {
    return make(Op::ICmp, Type::U1, {a, b}, static_cast<u64>(p));
  }

  /// Whether all rows are apart that have to be; nothing if none have to be, or too many.
  ValueId test() {
    ValueId all;
    unsigned tests = 0;
    for (std::size_t n = 0; n < rows_.size(); ++n)
      for (std::size_t k = 0; k < n; ++k) {
        const Rows &a = rows_[k], &b = rows_[n];
        if ((!a.writes && !b.writes) || a.apart != b.apart) continue;
        if (++tests > kMaxTests) return {};
        const ValueId one = are_apart(a, b);
        all = all.valid() ? make(Op::And, Type::U1, {all, one}) : one;
      }
    for (const Rows& r : rows_)
      if (all.valid() && r.goes_on.valid()) all = make(Op::And, Type::U1, {all, r.goes_on});
    return all;
  }
  /// Each begins behind the other's end, counted around the address space; or they are the same.
  ValueId are_apart(const Rows& a, const Rows& b) {
    const unsigned unused = 64u - a.wrap; // bits of distances
    const auto length = [&](const Rows& r) { return static_cast<u64>(r.end - r.first) << unused; };
    // The distance is at least a's length, and the way on to a again at least b's.
    ValueId between = distance(a, b);
    if (unused != 0) between = make(Op::Shl, Type::U64, {between, constant(Type::U32, unused)});
    const ValueId from_end = make(Op::Add, Type::U64, {between, constant(Type::U64, length(b) - 1)});
    const ValueId apart = compare(IntPred::UGe, from_end, constant(Type::U64, length(a) + length(b) - 1));
    if (!meets_only_itself(a, b) || is_passed(a, b)) return apart;
    return make(Op::Or, Type::U1, {apart, compare(IntPred::Eq, a.start, b.start)});
  }
  /// From the first byte of `a` to that of `b`.
  ValueId distance(const Rows& a, const Rows& b) {
    const ValueId between = make(Op::Sub, Type::U64, {b.start, a.start});
    if (a.first == b.first) return between;
    return make(Op::Add, Type::U64, {between, constant(Type::U64, static_cast<u64>(b.first - a.first))});
  }

  /// All lanes go on, and are known to.
  void pass_guard(BlockId b) {
    const ValueId mask = f_.tested_mask(b);
    const InstId i = f_.def_id(mask);
    f_[i].op = Op::Const;
    f_[i].imm = ~u64{0};
    f_[i].num_operands = 0;
    const InstId end = f_.terminator(b);
    f_[end].op = Op::Jump;
    f_[end].imm = 0;
    f_[end].num_operands = 0;
    f_[b].successors.pop_back();
  }

  void split(ValueId apart) {
    const BlockId head = cfg_.rpo[0], rest = f_.add_block(f_[head].pc);
    for (const Moved& m : moved_) {
      std::erase(f_[f_[m.load].block].insts, m.load);
      f_.operands(m.load)[1] = m.offset;
    }
    const std::vector<InstId> all = std::move(f_[head].insts);
    f_[head].insts.clear();
    for (const InstId i : all) {
      const bool stays = f_[i].num_results != 0 && in_head_[f_.result(i).index];
      f_[stays ? head : rest].insts.push_back(i);
      f_[i].block = stays ? head : rest;
    }
    f_[rest].successors = std::move(f_[head].successors);
    for (const InstId i : test_) {
      f_[head].insts.push_back(i);
      f_[i].block = head;
    }
    std::vector<BlockId> blocks(cfg_.rpo.begin() + 1, cfg_.rpo.end());
    blocks.push_back(rest);
    const CopiedBlocks copied = copy_blocks(f_, blocks);
    for (const BlockId b : guards_) pass_guard(b == head ? rest : b);
    for (const Rows& r : rows_)
      for (const InstId i : r.accesses)
        if (f_[i].mem.apart == 0) f_[i].mem.apart = r.apart;
    Inst branch;
    branch.op = Op::Branch;
    branch.pc = f_[rest].pc;
    branch.imm = kSecondIsRare;
    f_.append(head, branch, std::array{apart}, {});
    f_[head].successors = {{rest, {}}, {copied.of(rest), {}}};
  }
};

} // namespace

RowSplit split_by_disjoint_rows(Function& f) { return RowSplitter(f).run(); }

} // namespace lanewise::phases
