// Unoptimised code has loop counters in vectors and asks with masks whether to go on, although all lanes
// count alike. A mask that is the same in all lanes has all of them behind a branch that says it has some,
// and so it is with masks around a loop that go on only if they have lanes: then neither the accesses nor the
// values in there need masks. If EXEC is not full, such a mask says nothing besides it: a branch on lanes
// that are in both, behind one that says EXEC has some, asks whether all lanes go on, which is the same for
// all. Gangs that come to a join by different ways may bring different values: what is the same in each gang
// only counts where each gang has asked, and asks, for itself.
#include "translator/ir/cfg.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 4; ///< of the ops that a mask is known through

class MaskFiller {
public:
  MaskFiller(Function& f, const Cfg& cfg)
      : f_(f), cfg_(cfg), dom_(f, cfg_), shapes_(f, cfg_, kWaveSize), uses_(f.use_counts()),
        constant_(f.num_values()) {
    if (shapes_.tells_gangs_apart()) own_shapes_.emplace(shapes_, cfg_, kWaveSize, true);
  }

  bool run() {
    for (const bool has_lanes : {true, false}) {
      find_ways();
      find_constant_parameters(has_lanes);
    }
    return rewrite();
  }

private:
  Function& f_;
  const Cfg& cfg_;
  const Dominators dom_;
  const LaneShapes shapes_;                   ///< of waves: their gangs must not differ
  std::optional<LaneShapes> own_shapes_;      ///< ...or may, having come by different ways; none: the same
  const std::vector<u32> uses_;               ///< per value
  std::vector<std::optional<bool>> constant_; ///< per parameter: whether it has lanes, if that is always so
  struct Way {
    BlockId since; ///< in what this block dominates
    bool has_lanes;
  };
  static constexpr u32 kNone = ~0u;
  /// Short lists, one per value.
  template <class T>
  struct Chains {
    struct Link {
      T item;
      u32 next;
    };
    std::vector<u32> first, last; ///< per value: in `links`
    std::vector<Link> links;
    void clear(u32 values) {
      first.assign(values, kNone);
      last.assign(values, kNone);
      links.clear();
    }
    void add(ValueId v, const T& item) {
      const u32 at = static_cast<u32>(links.size());
      links.push_back({item, kNone});
      (first[v.index] == kNone ? first[v.index] : links[last[v.index]].next) = at;
      last[v.index] = at;
    }
    /// The first of v's for which `f` is true, or null.
    template <class F>
    const T* find(ValueId v, F f) const {
      for (u32 n = first[v.index]; n != kNone; n = links[n].next)
        if (f(links[n].item)) return &links[n].item;
      return nullptr;
    }
  };
  Chains<Way> ways_; ///< of masks that are the same in all lanes
  struct Lanes {
    BlockId since; ///< in what this block dominates
    bool own;      ///< each gang that gets there has some
  };
  Chains<Lanes> has_lanes_; ///< of masks

  /// All lanes of the mask are set, or none is: of the wave, or of each gang if that decides for itself.
  [[nodiscard]] bool is_same(ValueId mask, bool own) const {
    return (own && own_shapes_ ? *own_shapes_ : shapes_)[mask].uniform();
  }

  /// Calls f(argument, block, number of the successor) for each way into `b`, until it returns false.
  template <class F>
  bool all_arguments(BlockId b, u32 param, F f) const {
    for (const BlockId p : cfg_.preds[b.index])
      for (unsigned n = 0; n < f_[p].successors.size(); ++n)
        if (f_[p].successors[n].block == b && !f(f_[p].successors[n].args[param], p, n)) return false;
    return true;
  }

  /// What the way from `from` to its successor `n` says of `mask`.
  std::optional<bool> said_by(BlockId from, unsigned n, ValueId mask) const {
    const ValueId tested = f_.tested_mask(from);
    const auto& successors = f_[from].successors;
    if (!tested.valid() || !is_same(tested, phases::is_gang_decided(f_, from)) ||
        successors[0].block == successors[1].block)
      return std::nullopt;
    if (tested == mask) return n == 0;
    if (complement(tested) == mask) return n != 0;
    return std::nullopt;
  }
  /// The mask of which `mask` is the complement, or nothing.
  ValueId complement(ValueId mask) const {
    const Inst* def = f_.def(mask);
    if (def == nullptr || (def->op != Op::Not && def->op != Op::AndNot)) return {};
    const auto x = f_.operands(f_.def_id(mask));
    if (def->op == Op::Not) return x[0];
    u64 bits = 0;
    const bool is_full = f_.is_const(x[0], &bits) ? ~bits == 0 : constant_[x[0].index] == true;
    return is_full ? x[1] : ValueId{};
  }
  /// A mask that has lanes behind `to`: so have those that it is the intersection of.
  void note_lanes(ValueId mask, BlockId to, bool own, unsigned depth = 0) {
    has_lanes_.add(mask, {to, own});
    const Inst* def = f_.def(mask);
    if (def == nullptr || depth == kMaxDepth || (def->op != Op::And && def->op != Op::AndNot)) return;
    const auto x = f_.operands(f_.def_id(mask));
    for (const unsigned n : {0u, 1u}) {
      const bool has_lanes = n == 0 || def->op == Op::And;
      if (is_same(x[n], own)) ways_.add(x[n], {to, has_lanes});
      if (has_lanes) note_lanes(x[n], to, own, depth + 1);
    }
  }
  [[nodiscard]] bool has_lanes(ValueId mask, BlockId at, bool own) const {
    return has_lanes_.find(mask, [&](const Lanes& l) {
      return (l.own || !own) && dom_.dominates(l.since, at);
    }) != nullptr;
  }

  void find_ways() {
    ways_.clear(f_.num_values());
    has_lanes_.clear(f_.num_values());
    for (const BlockId to : cfg_.rpo) {
      if (cfg_.preds[to.index].size() != 1) continue;
      const BlockId from = cfg_.preds[to.index].front();
      const unsigned n = f_[from].successors[0].block == to ? 0 : 1;
      const ValueId tested = f_.tested_mask(from);
      if (!tested.valid()) continue;
      for (const ValueId mask : {tested, complement(tested)})
        if (const auto said = mask.valid() ? said_by(from, n, mask) : std::nullopt)
          ways_.add(mask, {to, *said});
      if (n == 0 && f_[from].successors[0].block != f_[from].successors[1].block)
        note_lanes(tested, to, phases::is_gang_decided(f_, from));
    }
  }

  /// Whether `mask` has lanes in `at`, where it is known to have all or none.
  std::optional<bool> known(ValueId mask, BlockId at, unsigned depth = 0) const {
    if (f_.type(mask) != Type::Mask) return std::nullopt;
    if (constant_[mask.index]) return constant_[mask.index];
    if (const Way* way = ways_.find(mask, [&](const Way& w) { return dom_.dominates(w.since, at); }))
      return way->has_lanes;
    u64 bits = 0;
    if (f_.is_const(mask, &bits) && (bits == 0 || ~bits == 0)) return bits != 0;
    return depth < kMaxDepth ? known_logic(mask, at, depth + 1) : std::nullopt;
  }
  /// Likewise for what is made of masks that are known: of those who have left a loop, for one.
  std::optional<bool> known_logic(ValueId mask, BlockId at, unsigned depth) const {
    const Inst* def = f_.def(mask);
    if (def == nullptr || f_.operands(f_.def_id(mask)).empty()) return std::nullopt;
    const auto x = f_.operands(f_.def_id(mask));
    const auto of = [&](unsigned n, bool inverted = false) {
      const auto value = known(x[n], at, depth);
      return value ? std::optional(*value != inverted) : std::nullopt;
    };
    const auto both = [](std::optional<bool> a, std::optional<bool> b) {
      if (a == false || b == false) return std::optional(false);
      return a && b ? std::optional(true) : std::nullopt;
    };
    switch (def->op) {
    case Op::And: return both(of(0), of(1));
    case Op::AndNot: return both(of(0), of(1, true));
    case Op::Not: return of(0, true);
    case Op::Or: {
      const auto neither = both(of(0, true), of(1, true));
      return neither ? std::optional(!*neither) : std::nullopt;
    }
    default: return std::nullopt;
    }
  }
  /// The same on the way from `from` to its successor `n`.
  std::optional<bool> known_on_way(ValueId mask, BlockId from, unsigned n) const {
    const auto said = said_by(from, n, mask);
    return said ? said : known(mask, from);
  }

  /// Optimistically again: a loop's mask may be full because it was the time before.
  void find_constant_parameters(bool has_lanes) {
    std::vector<std::pair<BlockId, ValueId>> params;
    for (const BlockId b : cfg_.rpo)
      for (const ValueId p : f_[b].params)
        if (f_.type(p) == Type::Mask && is_same(p, true) && !constant_[p.index]) {
          params.emplace_back(b, p);
          constant_[p.index] = has_lanes;
        }
    const auto stays = [&](BlockId b, ValueId p) {
      return all_arguments(b, f_[p].index, [&](ValueId arg, BlockId from, unsigned n) {
        u64 bits = 0;
        const bool is_constant = f_.is_const(arg, &bits) && bits == (has_lanes ? ~u64{0} : 0);
        return is_constant || known_on_way(arg, from, n) == has_lanes;
      });
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [b, p] : params)
        if (constant_[p.index] == has_lanes && !stays(b, p)) {
          constant_[p.index].reset();
          changed = true;
        }
    }
  }

  /// `mask` is this in `at`, where of some masks that it is the intersection of it is known that they are
  /// full.
  [[nodiscard]] ValueId without_full(ValueId mask, BlockId at) const {
    for (const Inst* def = f_.def(mask); def != nullptr; def = f_.def(mask)) {
      if (def->op != Op::And && def->op != Op::AndNot) break;
      const auto x = f_.operands(f_.def_id(mask));
      if (known(x[1], at) == (def->op == Op::And))
        mask = x[0];
      else if (def->op == Op::And && known(x[0], at) == true)
        mask = x[1];
      else
        break;
    }
    return mask;
  }

  /// Of lanes that are in two masks, one of which has lanes and one is the same in all, what matters is that.
  bool ask_what_is_open(ValueId& asked, ValueId answer, BlockId at) const {
    const Inst* def = f_.def(asked);
    if (def == nullptr || def->op != Op::And) return false;
    const auto x = f_.operands(f_.def_id(asked));
    const bool is_own =
        phases::is_gang_decided(f_, at) && f_.tested_mask(at) == asked && uses_[answer.index] == 1;
    for (const unsigned n : {0u, 1u})
      for (const bool own : {false, true})
        if ((!own || is_own) && is_same(x[n], own) && has_lanes(x[1 - n], at, own)) {
          asked = x[n];
          return true;
        }
    return false;
  }

  /// Whether anything has changed.
  bool rewrite() {
    bool changed = false;
    struct Found {
      ValueId* v;
      std::optional<bool> has_lanes; ///< all or none
      ValueId now;                   ///< else
    };
    std::vector<Found> found; // first all are looked at as they are
    const auto look_at = [&](ValueId& v, BlockId at, std::optional<bool> has_lanes) {
      if (f_.type(v) != Type::Mask) return;
      const ValueId now = has_lanes ? ValueId{} : without_full(v, at);
      if (now != v) found.push_back({&v, has_lanes, now});
    };
    for (const BlockId b : cfg_.rpo) {
      for (const InstId i : f_[b].insts) {
        if (f_[i].op == Op::AnyLane) changed |= ask_what_is_open(f_.operands(i)[0], f_.result(i), b);
        for (ValueId& x : f_.operands(i)) look_at(x, b, known(x, b));
      }
      for (unsigned n = 0; n < f_[b].successors.size(); ++n)
        for (ValueId& arg : f_[b].successors[n].args) look_at(arg, b, known_on_way(arg, b, n));
    }
    if (found.empty()) return changed;
    std::array<ValueId, 2> constants; // the masks without lanes and with all
    for (const u64 lanes : {u64{0}, ~u64{0}}) {
      Inst proto;
      proto.op = Op::Const;
      proto.imm = lanes;
      const Type t = Type::Mask;
      constants[lanes & 1] = f_.result(f_.insert_first(BlockId{0}, proto, {}, {&t, 1}));
    }
    for (const Found& x : found) *x.v = x.has_lanes ? constants[*x.has_lanes ? 1 : 0] : x.now;
    return true;
  }
};

} // namespace

bool fill_masks(Function& f) {
  const Cfg cfg(f);
  return std::ranges::any_of(cfg.rpo, [&](BlockId b) { return f.tested_mask(b).valid(); }) &&
         MaskFiller(f, cfg).run();
}

} // namespace lanewise::passes
