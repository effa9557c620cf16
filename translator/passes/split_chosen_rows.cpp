// Where each lane chooses between few rows - one element back where the wind blows from there, the other side
// of a grid at its edge - its address is that of no row, and lanes would be gathered. A load of each row by
// the mask of the lanes that chose it, and a choice between what they load, take less, and of rows it is
// known what they overlap with.
#include "translator/ir/rows.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

/// More loads than that take longer than a gather.
constexpr std::size_t kMostRows = 4;
/// Operations between an address and what is chosen.
constexpr unsigned kMaxDepth = 10;

/// What an address is in the lanes that choose one of its rows.
struct Row {
  struct Side {
    ValueId condition;
    bool taken;
  };
  std::vector<Side> sides;
  i64 stride = 0;

  [[nodiscard]] std::optional<bool> side(ValueId condition) const {
    for (const Side& s : sides)
      if (s.condition == condition) return s.taken;
    return {};
  }
};

class Splitter {
public:
  Splitter(Function& f, unsigned gang_lanes)
      : f_(f), cfg_(f), shapes_(f, cfg_, gang_lanes), rewriter_(f), map_(f.num_values()) {}

  bool run() {
    bool changed = false;
    for (const BlockId b : cfg_.rpo) {
      std::vector<InstId> out;
      out.reserve(f_[b].insts.size());
      for (const InstId i : f_[b].insts) {
        if (may_be_split(f_, i) && split(i, out))
          changed = true;
        else
          out.push_back(i);
      }
      f_[b].insts = std::move(out);
    }
    if (!changed) return false;
    map_.resize(f_.num_values());
    f_.replace_values(map_);
    return true;
  }

  /// A load by lanes' addresses in which there is a choice.
  static bool may_be_split(const Function& f, InstId i) {
    const MemAttr& mem = f[i].mem;
    return f[i].op == Op::Load && mem.form == AddressForm::Lanes && !mem.spread &&
           (mem.space == Space::Global || mem.space == Space::Lds) && has_choice(f, f.operands(i)[0], 0);
  }

private:
  Function& f_;
  const Cfg cfg_;
  const LaneShapes shapes_;
  Rewriter rewriter_;
  std::vector<ValueId> map_;

  static bool is_choice(const Function& f, InstId i) {
    return f[i].op == Op::Select && f.type(f.operands(i)[0]) == Type::Mask;
  }
  /// Of what is chosen between strided values, it makes such a one for each.
  static bool keeps_rows(Op op) {
    return op == Op::Add || op == Op::Sub || op == Op::Shl || op == Op::ZExt || op == Op::SExt;
  }
  static bool has_choice(const Function& f, ValueId v, unsigned depth) {
    const InstId i = f.def_id(v);
    if (!i.valid() || depth == kMaxDepth) return false;
    if (is_choice(f, i)) return true;
    return keeps_rows(f[i].op) &&
           std::ranges::any_of(f.operands(i), [&](ValueId x) { return has_choice(f, x, depth + 1); });
  }

  /// The rows that `v` is chosen from; none if it is not, or of too many.
  std::vector<Row> rows_of(ValueId v, unsigned depth = 0) const {
    if (is_scalar(f_.type(v))) return {Row{}};
    if (shapes_[v].strided()) return {Row{{}, shapes_[v].stride}};
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth == kMaxDepth) return {};
    const auto x = f_.operands(i);
    const auto of = [&](unsigned n) { return rows_of(x[n], depth + 1); };
    std::vector<Row> rows;
    u64 n = 0;
    if (is_choice(f_, i)) {
      for (const bool taken : {true, false}) {
        const std::vector<Row> chosen = of(taken ? 1 : 2);
        if (chosen.empty()) return {};
        for (const Row& row : chosen) both(rows, {{{x[0], taken}}, 0}, row, row.stride);
      }
    } else if (f_[i].op == Op::Add || f_[i].op == Op::Sub) {
      const std::vector<Row> left = of(0), right = of(1);
      for (const Row& l : left)
        for (const Row& r : right)
          both(rows, l, r, f_[i].op == Op::Add ? l.stride + r.stride : l.stride - r.stride);
    } else if (f_[i].op == Op::Shl && f_.is_const(x[1], &n) && n < 32) {
      rows = of(0);
      for (Row& row : rows) row.stride = static_cast<i64>(static_cast<u64>(row.stride) << n);
    } else if (f_[i].op == Op::ZExt || f_[i].op == Op::SExt) {
      rows = of(0);
    }
    return rows.size() <= kMostRows ? rows : std::vector<Row>{};
  }
  /// Adds the row of who is on all these sides, if anybody is.
  static void both(std::vector<Row>& rows, const Row& a, const Row& b, i64 stride) {
    Row row = a;
    for (const Row::Side& s : b.sides) {
      const auto known = row.side(s.condition);
      if (known && *known != s.taken) return;
      if (!known) row.sides.push_back(s);
    }
    row.stride = stride;
    rows.push_back(std::move(row));
  }

  /// `v` as it is in those lanes.
  ValueId on_side(ValueId v, const Row& row) { // NOLINT(misc-no-recursion)
    if (is_scalar(f_.type(v)) || (v.index < shapes_.num_values() && shapes_[v].strided())) return v;
    const InstId i = f_.def_id(v);
    const std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    if (is_choice(f_, i)) return on_side(*row.side(x[0]) ? x[1] : x[2], row);
    const ValueId first = on_side(x[0], row);
    if (x.size() == 1) return rewriter_.op(f_[i].op, f_.type(v), {first});
    return rewriter_.op(f_[i].op, f_.type(v), {first, on_side(x[1], row)});
  }

  bool split(InstId load, std::vector<InstId>& out) {
    const ValueId address = f_.operands(load)[0], mask = f_.operands(load)[1];
    const std::vector<Row> rows = rows_of(address);
    const auto bytes = i64{f_[load].mem.bytes};
    if (rows.size() < 2 || std::ranges::any_of(rows, [&](const Row& row) {
          return row.stride != 0 && row.stride != bytes && row.stride != -bytes;
        }))
      return false;
    rewriter_.begin(load, out);
    // Whole numbers of 64 bits are chosen as such: nobody then has to see through choices of their halves.
    const bool is_wide = bytes == 8 && f_[load].num_results == 2;
    std::vector<ValueId> total;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      ValueId chosen;
      for (const Row::Side& s : row->sides) {
        if (!chosen.valid())
          chosen = s.taken ? s.condition : rewriter_.mask_not(s.condition);
        else
          chosen = rewriter_.same(s.taken ? Op::And : Op::AndNot, chosen, s.condition);
      }
      const std::array<ValueId, 2> x = {on_side(address, *row), rewriter_.mask_and(mask, chosen)};
      const Type type = is_wide ? Type::V64 : f_.type(f_.result(load));
      const std::vector<Type> types(is_wide ? 1 : f_[load].num_results, type);
      out.push_back(f_.make(Inst{f_[load]}, x, types));
      f_[out.back()].block = f_[load].block;
      const InstId part = out.back();
      for (unsigned n = 0; n < types.size(); ++n) {
        if (total.size() == n)
          total.push_back(f_.result(part, n));
        else
          total[n] = rewriter_.select(chosen, f_.result(part, n), total[n]);
      }
    }
    if (is_wide)
      total = {rewriter_.op(Op::Lo, Type::V32, {total[0]}), rewriter_.op(Op::Hi, Type::V32, {total[0]})};
    map_.resize(f_.num_values());
    for (unsigned n = 0; n < total.size(); ++n) map_[f_.result(load, n).index] = total[n];
    return true;
  }
};

} // namespace

bool split_chosen_rows(Function& f, unsigned gang_lanes) {
  const bool any = std::ranges::any_of(f.blocks, [&](const Block& b) {
    return std::ranges::any_of(b.insts, [&](InstId i) { return Splitter::may_be_split(f, i); });
  });
  return any && Splitter(f, gang_lanes).run();
}

} // namespace lanewise::passes
