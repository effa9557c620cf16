#include "translator/phases/boxes.hpp"

#include <algorithm>
#include <array>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 24;
constexpr u64 kMaxIds = 1 << 12, kMaxFactor = 1 << 16; // With scalars below 2^31, no sum gets to 2^63.

constexpr std::size_t kMaxScaled = 2; ///< terms with scalars, of what keeps apart: rows, and planes

/// `factor` times `scalar`, a U64 below 2^31, if there is one, times `id`, a value that IdValues knows: so
/// much more than in lane 0.
struct Term {
  ValueId id, scalar;
  const std::vector<u64>* lanes; ///< the id in each lane
  u64 factor = 1;
  u64 spread = 0; ///< of the id: how much more than lane 0 any lane of the wave has
};
using Terms = std::optional<std::vector<Term>>;

class BoxFinder {
public:
  BoxFinder(Function& f, HeadScalars& head, const passes::IdValues& ids, unsigned gang_lanes)
      : f_(f), head_(head), ids_(ids), gang_lanes_(gang_lanes) {}

  std::optional<Box> find(InstId access, i64 first, i64 end, bool own) {
    const MemAttr mem = f_[access].mem;
    const std::vector<ValueId> address = operands(access);
    if (mem.stride < 0) return std::nullopt;
    const bool in_rows = mem.form == AddressForm::Row || mem.form == AddressForm::Wrapped;
    const u64 row = in_rows ? u64{gang_lanes_ - 1} * static_cast<u64>(mem.stride) : 0;
    Terms terms = find_terms(address[0], 0);
    box_.start = terms ? head_.first_lane(address[0]) : ValueId{};
    if (!box_.start.valid()) return std::nullopt;
    if (mem.form == AddressForm::Wrapped || mem.form == AddressForm::Indexed) {
      const Terms index = find_terms(address[1], 0);
      const ValueId wide = index ? widened(address[1], *index, row, mem.index_sign) : ValueId{};
      if (!wide.valid()) return std::nullopt;
      box_.start = head_.make(Op::Add, Type::U64, {box_.start, times(wide, u64{1} << mem.scale)});
      for (const Term& t : *index) {
        terms->push_back(t);
        terms->back().factor <<= mem.scale;
      }
    }
    const u64 row_bytes = row << mem.scale;
    if (own && !is_own(*terms, row_bytes + static_cast<u64>(end - first), in_rows)) return std::nullopt;
    box_.bytes = static_cast<i64>(row_bytes + fixed_spread(*terms));
    box_.spread = scalar_spread(*terms);
    if (!is_limited_) find_short_rows(*terms);
    return box_;
  }

private:
  Function& f_;
  HeadScalars& head_;
  const passes::IdValues& ids_;
  const unsigned gang_lanes_;
  Box box_;

  bool is_limited_ = false; ///< lanes may have less than the terms say, but not less than lane 0

  /// A copy, as the head's new instructions move what is there.
  [[nodiscard]] std::vector<ValueId> operands(InstId i) const {
    const auto x = f_.operands(i);
    return {x.begin(), x.end()};
  }
  void require(ValueId condition) { box_.holds.push_back(condition); }
  ValueId constant(u64 n) { return head_.constant(Type::U64, n); }
  ValueId times(ValueId v, u64 n) { return n == 1 ? v : head_.make(Op::Mul, Type::U64, {v, constant(n)}); }

  /// What `v` has in a lane is what it has in lane 0 and these terms, modulo its width. Nothing if it is not
  /// made like that.
  Terms find_terms(ValueId v, unsigned depth) {
    if (const auto* lanes = ids_.of(v)) return term_of_id(v, lanes);
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth > kMaxDepth || f_[i].num_results == 0) return std::nullopt;
    if (is_uniform(f_.type(v))) return head_.first_lane(v).valid() ? Terms{std::in_place} : std::nullopt;
    const std::vector<ValueId> x = operands(i);
    u64 bits = 0;
    switch (f_[i].op) {
    case Op::Splat: return find_terms(x[0], depth + 1);
    case Op::ZExt:
    case Op::SExt: {
      Terms terms = find_terms(x[0], depth + 1);
      if (terms && !widened(x[0], *terms, 0, f_[i].op == Op::SExt).valid()) return std::nullopt;
      return terms;
    }
    case Op::Add: {
      Terms sum = find_terms(x[0], depth + 1);
      const Terms more = sum ? find_terms(x[1], depth + 1) : std::nullopt;
      if (!more) return std::nullopt;
      for (const Term& t : *more) add(*sum, t);
      return sum;
    }
    case Op::Sub: {
      Terms terms = find_terms(x[0], depth + 1);
      const Terms less = terms ? find_terms(x[1], depth + 1) : std::nullopt;
      return less && less->empty() ? terms : std::nullopt;
    }
    case Op::Shl:
      if (!f_.is_const(x[1], &bits) || bits >= 16) return std::nullopt;
      return multiplied(find_terms(x[0], depth + 1), u64{1} << bits);
    case Op::Mul:
      if (f_.is_const(x[1], &bits)) return multiplied(find_terms(x[0], depth + 1), bits);
      return product(find_terms(x[0], depth + 1), find_terms(x[1], depth + 1), x[0], x[1]);
    case Op::UMulWide: {
      Terms a = find_terms(x[0], depth + 1), b = a ? find_terms(x[1], depth + 1) : std::nullopt;
      const auto wraps_not = [&](ValueId narrow, const Terms& terms) {
        return terms && (terms->empty() || widened(narrow, *terms, 0, false).valid());
      };
      if (!wraps_not(x[0], a) || !wraps_not(x[1], b)) return std::nullopt;
      if (f_.is_const(x[1], &bits)) return multiplied(std::move(a), bits);
      return product(std::move(a), std::move(b), x[0], x[1]);
    }
    default:
      if (!is_limit(f_[i].op)) return std::nullopt;
      const bool sign = f_[i].op == Op::SMin || f_[i].op == Op::SMax;
      const auto wraps_not = [&](ValueId limited, const Terms& terms) {
        return terms && (terms->empty() || widened(limited, *terms, 0, sign).valid());
      };
      Terms terms = find_terms(x[0], depth + 1);
      const Terms others = terms ? find_terms(x[1], depth + 1) : std::nullopt;
      if (is_wide(f_.type(v)) || !wraps_not(x[0], terms) || !wraps_not(x[1], others)) return std::nullopt;
      if (!terms->empty() && !others->empty()) return std::nullopt;
      is_limited_ = true;
      return terms->empty() ? others : terms;
    }
  }
  Terms term_of_id(ValueId v, const std::vector<u64>* lanes) const {
    Term term{.id = v, .scalar = {}, .lanes = lanes};
    for (u32 lane = 0; lane < ids_.num_lanes(); ++lane)
      term.spread = std::max(term.spread, further(term, lane));
    if (term.spread == 0) return Terms{std::in_place};
    return term.spread < kMaxIds ? Terms{{term}} : std::nullopt;
  }
  static void add(std::vector<Term>& sum, const Term& t) {
    const auto same =
        std::ranges::find_if(sum, [&](const Term& s) { return s.id == t.id && s.scalar == t.scalar; });
    if (same == sum.end())
      sum.push_back(t);
    else
      same->factor += t.factor;
  }
  static Terms multiplied(Terms terms, u64 factor) {
    if (terms)
      for (Term& t : *terms) {
        if (factor >= kMaxFactor || t.factor * factor >= kMaxFactor) return std::nullopt;
        t.factor *= factor;
      }
    return terms;
  }
  /// One of them is the same in all lanes.
  Terms product(Terms a, Terms b, ValueId x, ValueId y) {
    if (!a || !b || (!a->empty() && !b->empty())) return std::nullopt;
    if (a->empty()) {
      std::swap(a, b);
      std::swap(x, y);
    }
    if (a->empty()) return a;
    ValueId scalar = head_.first_lane(y);
    if (!scalar.valid() || a->size() > 3) return std::nullopt;
    if (f_.type(scalar) == Type::U32) scalar = head_.make(Op::SExt, Type::U64, {scalar});
    require_small(scalar);
    for (Term& t : *a) {
      if (t.scalar.valid()) {
        t.scalar = head_.make(Op::Mul, Type::U64, {t.scalar, scalar});
        require_small(t.scalar);
      } else {
        t.scalar = scalar;
      }
    }
    return a;
  }
  void require_small(ValueId scalar) { require(head_.compare(IntPred::ULe, scalar, constant(0x7fff'ffff))); }

  /// `v`, of 32 bits, in lane 0, as a U64. What the terms, and `more`, add to it must not wrap.
  ValueId widened(ValueId v, const std::vector<Term>& terms, u64 more, bool sign) {
    const ValueId first = head_.first_lane(v);
    if (!first.valid()) return {};
    const ValueId wide = head_.make(sign ? Op::SExt : Op::ZExt, Type::U64, {first});
    more += fixed_spread(terms);
    ValueId last = head_.sum({wide, more != 0 ? constant(more) : ValueId{}});
    last = head_.sum({last, scalar_spread(terms)});
    if (last != wide)
      require(head_.compare(sign ? IntPred::SLe : IntPred::ULe, last,
                            constant(sign ? 0x7fff'ffff : 0xffff'ffff)));
    return wide;
  }
  /// How much more than lane 0 any lane has, by the terms without scalars, and by those with one.
  static u64 fixed_spread(const std::vector<Term>& terms) {
    u64 sum = 0;
    for (const Term& t : terms)
      if (!t.scalar.valid()) sum += t.factor * t.spread;
    return sum;
  }
  ValueId scalar_spread(const std::vector<Term>& terms) {
    ValueId sum;
    for (const Term& t : terms)
      if (t.scalar.valid()) sum = head_.sum({sum, times(t.scalar, t.factor * t.spread)});
    return sum;
  }

  /// Whether no gang gets to another one's bytes, if each lane, or each gang's row, has `bytes` from its
  /// first one on. Where ids that are multiplied by scalars are the same, the others have to tell; else the
  /// scalars must be large.
  bool is_own(const std::vector<Term>& terms, u64 bytes, bool in_rows) {
    if (is_limited_) return false;
    std::vector<const Term*> scaled;
    for (const Term& t : terms)
      if (t.scalar.valid()) scaled.push_back(&t);
    if (scaled.size() > kMaxScaled) return false;
    std::vector<std::array<u64, kMaxScaled + 1>> places; ///< of a wave: of the scaled terms, of the others
    for (u32 wave = 0; wave < ids_.num_lanes(); wave += ids_.wave_lanes()) {
      places.clear();
      for (u32 lane = wave; lane < wave + ids_.wave_lanes(); lane += in_rows ? gang_lanes_ : 1) {
        auto& place = places.emplace_back();
        for (std::size_t n = 0; n < scaled.size(); ++n) place[n] = further(*scaled[n], lane);
        for (const Term& t : terms)
          if (!t.scalar.valid()) place.back() += t.factor * further(t, lane);
      }
      std::ranges::sort(places);
      for (std::size_t n = 1; n < places.size(); ++n) {
        const auto &a = places[n - 1], &b = places[n];
        if (std::equal(a.begin(), a.end() - 1, b.begin()) && b.back() - a.back() < bytes) return false;
      }
    }
    const ValueId others = constant(fixed_spread(terms) + bytes);
    if (scaled.size() == 1) require(reaches_over(*scaled[0], others));
    if (scaled.size() == 2)
      require(head_.make(
          Op::Or, Type::U1,
          {are_nested(*scaled[0], *scaled[1], others), are_nested(*scaled[1], *scaled[0], others)}));
    return true;
  }
  /// One step of the term is at least so many bytes.
  ValueId reaches_over(const Term& t, ValueId bytes) {
    return head_.compare(IntPred::UGe, times(t.scalar, t.factor), bytes);
  }
  /// A step of `inner` reaches over so many bytes, and one of `outer` over these and all steps of `inner`.
  ValueId are_nested(const Term& inner, const Term& outer, ValueId bytes) {
    const ValueId row = head_.sum({times(inner.scalar, inner.factor * inner.spread), bytes});
    return head_.make(Op::And, Type::U1, {reaches_over(inner, bytes), reaches_over(outer, row)});
  }
  /// Finds whether a few lanes at a time differ by what has no scalars alone, and that by the same from lane
  /// to lane.
  void find_short_rows(const std::vector<Term>& terms) {
    const auto place = [&](u32 lane) {
      u64 sum = 0;
      for (const Term& t : terms)
        if (!t.scalar.valid()) sum += t.factor * further(t, lane);
      return sum;
    };
    const auto is_row = [&](u32 first, u32 row) {
      for (u32 lane = first; lane < first + row; ++lane) {
        if (place(lane) - place(first) != (lane - first) * (place(1) - place(0))) return false;
        for (const Term& t : terms)
          if (t.scalar.valid() && further(t, lane) != further(t, first)) return false;
      }
      return true;
    };
    for (const u32 row : {8u, 4u}) {
      bool all = row < gang_lanes_;
      for (u32 first = 0; all && first < ids_.num_lanes(); first += row) all = is_row(first, row);
      if (!all) continue;
      box_.short_row = row;
      box_.short_stride = static_cast<i64>(place(1) - place(0));
      return;
    }
  }
  /// How much more than lane 0 of its wave a lane has of an id.
  [[nodiscard]] u64 further(const Term& t, u32 lane) const {
    const u32 first = lane / ids_.wave_lanes() * ids_.wave_lanes();
    return ((*t.lanes)[lane] - (*t.lanes)[first]) & (is_wide(f_.type(t.id)) ? ~u64{0} : ~u32{0});
  }
};

} // namespace

std::optional<Box> find_box(Function& f, HeadScalars& head, const passes::IdValues& ids, unsigned gang_lanes,
                            InstId access, i64 first, i64 end, bool own) {
  return BoxFinder(f, head, ids, gang_lanes).find(access, first, end, own);
}

} // namespace lanewise::phases
