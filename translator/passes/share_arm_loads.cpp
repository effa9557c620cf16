// Both arms of an `if` often load the same - the corners of a cell that all ways of interpolating in it need
// - or each its own element of some size, as where a walk goes on in one of two lists. Where lanes go both
// ways, each of these is loaded twice, for some of the lanes. So what the arms begin with is loaded before
// they part, for all lanes that come to the `if`: each of them gets to one of the arms. Lanes that load large
// elements from different places choose their address.
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxArm = 48; ///< blocks
constexpr unsigned kMaxMoved = 64;  ///< instructions that addresses of a load are made of
/// Of elements as large, lanes are loaded one after the other: it is their number that counts.
constexpr u8 kLarge = 8;

class ArmLoads {
public:
  ArmLoads(Function& f, unsigned gang_lanes)
      : f_(f), gang_lanes_(gang_lanes), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  bool run() {
    if (loops_.irreducible) return false;
    bool any = false;
    std::vector<ValueId> map(f_.num_values());
    // Inner ones first.
    for (auto b = cfg_.rpo.rbegin(); b != cfg_.rpo.rend(); ++b)
      if (find_arms(*b)) {
        if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_); // of the code as it was
        any |= share(map);
      }
    if (!any) return false;
    map.resize(f_.num_values());
    f_.replace_values(map);
    return true;
  }

private:
  Function& f_;
  const unsigned gang_lanes_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  std::optional<LaneShapes> shapes_; ///< made when wanted
  // Of the current `if`: lanes `mask_` come to `at_`, and go on in `first_` by the one and in `second_` by
  // the other mask.
  BlockId at_, first_, second_;
  ValueId mask_, first_mask_, second_mask_;
  std::vector<InstId> moved_; ///< what has been computed anew in `at_`
  std::unordered_map<u32, ValueId>
      original_; ///< by the address of a load that is new, one that it stands for

  bool find_arms(BlockId b) {
    at_ = b;
    first_mask_ = f_.tested_mask(b);
    if (!first_mask_.valid()) return false;
    first_ = f_[b].successors[0].block;
    const BlockId join = f_[b].successors[1].block;
    if (first_ == join || cfg_.preds[first_.index].size() != 1 || acts(join)) return false;
    second_mask_ = f_.tested_mask(join);
    if (!second_mask_.valid() || !find_whole()) return false;
    second_ = f_[join].successors[0].block;
    return cfg_.preds[second_.index].size() == 1 && !loads_of(first_, first_mask_).empty() &&
           !loads_of(second_, second_mask_).empty() && has_lanes(mask_) && is_arm(join);
  }

  /// The two masks are all of a third one, and nobody is in both.
  bool find_whole() {
    const InstId x = f_.def_id(first_mask_), y = f_.def_id(second_mask_);
    if (!x.valid() || !y.valid()) return false;
    const auto is_rest = [&](InstId part, InstId rest) {
      if (f_[part].op != Op::And || f_[rest].op != Op::AndNot) return false;
      const auto p = f_.operands(part), r = f_.operands(rest);
      mask_ = r[0];
      return std::ranges::is_permutation(p, r) ||
             (r[1] == f_.result(part) && (p[0] == mask_ || p[1] == mask_));
    };
    return is_rest(x, y) || is_rest(y, x);
  }

  /// Else nobody might get to the loads in either arm.
  [[nodiscard]] bool has_lanes(ValueId mask) const {
    if (f_.is_full(mask)) return true;
    for (BlockId b = at_; b.valid(); b = dom_.idom[b.index]) {
      const BlockId from = dom_.idom[b.index];
      if (cfg_.preds[b.index].size() == 1 && f_.tested_mask(from) == mask &&
          f_[from].successors[0].block == b)
        return true;
      if (f_.def_block(mask) == b) // who goes on with a loop
        return !f_.def_id(mask).valid() && loops_.innermost[b.index] >= 0 &&
               loops_.loops[static_cast<u32>(loops_.innermost[b.index])].header == b;
    }
    return false;
  }

  /// It stores, or does what is not to be crossed by a load.
  [[nodiscard]] bool acts(BlockId b) const {
    return std::ranges::any_of(f_[b].insts, [&](InstId i) { return acts(i); });
  }
  [[nodiscard]] bool acts(InstId i) const {
    const OpInfo& op = info(f_[i].op);
    return i != f_.terminator(f_[i].block) && !op.is(kPure) && (f_[i].op != Op::Load || f_[i].mem.coherent);
  }

  /// What is done by the first mask is no loop, ends in `join`, and leaves memory alone.
  [[nodiscard]] bool is_arm(BlockId join) const {
    std::vector<BlockId> arm = {first_};
    for (std::size_t n = 0; n < arm.size(); ++n) {
      if (acts(arm[n]) || arm.size() > kMaxArm || f_[arm[n]].successors.empty() ||
          loops_.innermost[arm[n].index] != loops_.innermost[at_.index] || !dom_.dominates(first_, arm[n]))
        return false;
      for (const Successor& s : f_[arm[n]].successors)
        if (s.block != join && std::ranges::find(arm, s.block) == arm.end()) arm.push_back(s.block);
    }
    return std::ranges::all_of(cfg_.preds[join.index],
                               [&](BlockId p) { return p == at_ || std::ranges::find(arm, p) != arm.end(); });
  }

  [[nodiscard]] std::vector<InstId> loads_of(BlockId b, ValueId mask) const {
    std::vector<InstId> loads;
    for (const InstId i : f_[b].insts) {
      if (acts(i)) break;
      if (is_plain_lane_load(f_[i]) && f_.operands(i).back() == mask) loads.push_back(i);
    }
    return loads;
  }

  /// A load whose address can be computed before the arms part.
  struct Candidate {
    InstId load;
    ValueId base; ///< of its address there
    i64 offset = 0;
    bool done = false;
  };
  std::vector<Candidate> candidates(BlockId b, ValueId mask) {
    std::vector<Candidate> found;
    for (const InstId i : loads_of(b, mask)) {
      unsigned left = kMaxMoved;
      Candidate c{i, move(f_.operands(i)[0], left), offset(f_[i])};
      u64 added = 0;
      while (c.base.valid() && f_.def(c.base) != nullptr && f_.def(c.base)->op == Op::Add &&
             f_.is_const(f_.operands(f_.def_id(c.base))[1], &added)) {
        c.base = f_.operands(f_.def_id(c.base))[0];
        c.offset += static_cast<i64>(added);
      }
      if (c.base.valid()) found.push_back(c);
    }
    return found;
  }

  /// `v` as a value that is there before the arms part, or nothing.
  ValueId move(ValueId v, unsigned& left) { // NOLINT(misc-no-recursion)
    if (dom_.dominates(f_.def_block(v), at_)) return v;
    const InstId i = f_.def_id(v);
    if (!i.valid() || !info(f_[i].op).is(kPure) || f_[i].num_results != 1 || left == 0) return {};
    --left;
    std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    for (unsigned n = 0; n < x.size(); ++n) {
      if (info(f_[i].op).reads_whole(n)) return {};
      x[n] = move(x[n], left);
      if (!x[n].valid()) return {};
    }
    const auto is_same = [&](InstId m) {
      return f_[m].op == f_[i].op && f_[m].imm == f_[i].imm && f_[m].fp == f_[i].fp &&
             f_.type(f_.result(m)) == f_.type(v) && std::ranges::equal(f_.operands(m), x);
    };
    const auto known = std::ranges::find_if(moved_, is_same);
    if (known != moved_.end()) return f_.result(*known);
    const ValueId made = emit(f_[i], x, f_.type(v));
    moved_.push_back(f_.def_id(made));
    return made;
  }
  ValueId emit(const Inst& proto, const std::vector<ValueId>& x, Type t) {
    return f_.result(f_.insert_before_end(at_, proto, x, {&t, 1}));
  }

  bool share(std::vector<ValueId>& map) {
    moved_.clear();
    std::vector<Candidate> ones = candidates(first_, first_mask_), others = candidates(second_, second_mask_);
    bool any = false;
    for (const bool same_place : {true, false})
      for (Candidate& a : ones)
        for (Candidate& b : others) {
          if (a.done || b.done || !are_alike(a.load, b.load)) continue;
          const bool is_same = a.base == b.base && a.offset == b.offset;
          if (same_place ? !is_same : !may_choose(a.load, b.load)) continue;
          join(a, b, is_same, map);
          a.done = b.done = any = true;
        }
    return any;
  }

  [[nodiscard]] bool are_alike(InstId a, InstId b) const {
    MemAttr x = f_[a].mem, y = f_[b].mem;
    x.may_tear = y.may_tear;
    return x == y && f_[a].num_results == f_[b].num_results;
  }

  /// Rows of their own had better stay what they are.
  bool may_choose(InstId a, InstId b) {
    if (f_[a].mem.bytes < kLarge) return false;
    return std::ranges::none_of(std::array{a, b}, [&](InstId i) {
      const ValueId address = f_.operands(i)[0];
      const auto original = original_.find(address.index);
      return (*shapes_)[original != original_.end() ? original->second : address].strided();
    });
  }

  void join(const Candidate& a, const Candidate& b, bool is_same, std::vector<ValueId>& map) {
    Inst proto = f_[a.load];
    proto.mem.may_tear |= f_[b.load].mem.may_tear;
    proto.imm = 0;
    const u32 pc = proto.pc;
    const auto constant = [&](i64 n) {
      return emit({.op = Op::Const, .pc = pc, .imm = static_cast<u64>(n)}, {}, Type::V64);
    };
    const auto choose = [&](ValueId x, ValueId y) {
      return emit({.op = Op::Select, .pc = pc}, {first_mask_, x, y}, Type::V64);
    };
    const auto sum = [&](ValueId x, ValueId y) { return emit({.op = Op::Add, .pc = pc}, {x, y}, Type::V64); };
    ValueId address;
    if (is_same)
      address = sum(a.base, constant(a.offset));
    else if (a.base == b.base)
      address = sum(a.base, choose(constant(a.offset), constant(b.offset)));
    else
      address = choose(sum(a.base, constant(a.offset)), sum(b.base, constant(b.offset)));
    const ValueId stands_for = f_.operands(a.load)[0];
    const auto original = original_.find(stands_for.index);
    original_[address.index] = original != original_.end() ? original->second : stands_for;
    const std::vector<Type> types(proto.num_results, Type::V32);
    const InstId load = f_.insert_before_end(at_, proto, std::array{address, mask_}, types);
    // In its arm, lanes of the other one have nothing, as from a load of its own.
    for (const auto& [old, lanes] : {std::pair{a.load, first_mask_}, {b.load, second_mask_}}) {
      const Type t = Type::V32;
      const InstId none = f_.insert_before(old, {.op = Op::Const, .pc = pc}, {}, {&t, 1});
      for (unsigned n = 0; n < proto.num_results; ++n) {
        const std::array x = {lanes, f_.result(load, n), f_.result(none)};
        const InstId part = f_.insert_before(old, {.op = Op::Select, .pc = f_[old].pc}, x, {&t, 1});
        map.resize(f_.num_values());
        map[f_.result(old, n).index] = f_.result(part);
      }
      std::erase(f_[f_[old].block].insts, old);
    }
  }
};

} // namespace

bool share_arm_loads(Function& f, unsigned gang_lanes) { return ArmLoads(f, gang_lanes).run(); }

} // namespace lanewise::passes
