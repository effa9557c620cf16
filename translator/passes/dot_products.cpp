// Sums of products of numbers that lie side by side in dwords: bytes, as in networks of 8 bits, or halves, as
// in filters of sound. One instruction of x86 multiplies the halves of dwords and adds the two products
// (Op::Dot16), which takes less than cutting each number out and multiplying it alone:
//
//   byte0(a) * byte0(b) + byte2(a) * byte2(b)   ->   dot16(even bytes of a, even bytes of b)
//
// and so for odd bytes and for halves, wherever in a sum the two products are. Products of halves with a sign
// fit into 32 bits, and sums wrap as they did.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Bits of a dword, as a number.
struct Part {
  ValueId of;
  u64 from = 0, size = 0;
  bool is_signed = false;
};

class DotProducts {
public:
  explicit DotProducts(Function& f) : f_(f) {}

  bool join() {
    if (!has_any(f_, [](const Inst& inst) { return inst.op == Op::Mul; })) return false;
    for (const Block& block : f_.blocks) find_pairs(block);
    if (found_.empty()) return false;
    replace_found(f_, found_, [](Rewriter& r, InstId, const Pair& pair) {
      if (!pair.a.of.valid()) return r.v32(0);
      return r.op(Op::Dot16, Type::V32, {halves(r, pair.a), halves(r, pair.b)});
    });
    return true;
  }

private:
  /// What takes the place of a product: the sum of two, or 0 where that has been added elsewhere.
  struct Pair {
    Part a, b;
  };
  /// Products whose sum is one: of parts of the same dwords, in halves of the same kind.
  using Kind = std::tuple<InstId, ValueId, ValueId, u64, u64, bool, bool>;

  Function& f_;
  std::map<InstId, Pair> found_;

  struct Product {
    InstId inst;
    Part a, b;
  };

  [[nodiscard]] std::vector<Product> find_products(const Block& block) const {
    std::vector<Product> products;
    for (const InstId i : block.insts) {
      if (f_[i].op != Op::Mul || f_.type(f_.result(i)) != Type::V32) continue;
      auto a = part(f_.operands(i)[0]), b = part(f_.operands(i)[1]);
      if (!a || !b || a->from != b->from || a->size != b->size) continue;
      if (a->size == 16 && !(a->is_signed && b->is_signed)) continue;
      if (b->of < a->of) std::swap(a, b);
      products.push_back({i, *a, *b});
    }
    return products;
  }

  void find_pairs(const Block& block) {
    const std::vector<Product> products = find_products(block);
    if (products.size() < 2) return;
    std::map<ValueId, InstId> added_by; // what is added in the block and not looked at otherwise
    std::map<InstId, InstId> sum_of;    // per addition: the last one of the sum that it is part of
    for (auto i = block.insts.rbegin(); i != block.insts.rend(); ++i) {
      if (f_[*i].op != Op::Add || f_.type(f_.result(*i)) != Type::V32) continue;
      const auto user = added_by.find(f_.result(*i));
      const InstId sum = user == added_by.end() ? *i : sum_of[user->second];
      sum_of[*i] = sum;
      for (const ValueId v : f_.operands(*i))
        if (uses()[v.index] == 1) added_by[v] = *i;
    }
    std::map<Kind, std::pair<InstId, Pair>> waiting;
    for (const auto& [i, a, b] : products) {
      const auto user = added_by.find(f_.result(i));
      if (user == added_by.end()) continue;
      const Kind kind{sum_of[user->second], a.of, b.of, a.size, a.from % 16, a.is_signed, b.is_signed};
      const auto [first, is_first] = waiting.try_emplace(kind, i, Pair{a, b});
      if (is_first || first->second.second.a.from == a.from) continue; // Twice the same remains one by one.
      found_[first->second.first] = first->second.second;
      found_[i] = Pair{};
      waiting.erase(first);
    }
  }

  [[nodiscard]] const std::vector<u32>& uses() {
    if (uses_.empty()) uses_ = f_.use_counts();
    return uses_;
  }
  std::vector<u32> uses_;

  [[nodiscard]] InstId def(ValueId v, std::initializer_list<Op> ops, u64& constant) const {
    const InstId i = f_.def_id(v);
    if (!i.valid() || std::ranges::find(ops, f_[i].op) == ops.end()) return {};
    return f_.is_const(f_.operands(i)[1], &constant) ? i : InstId{};
  }

  /// Whole bytes or halves with their place.
  [[nodiscard]] std::optional<Part> part(ValueId v) const {
    u64 n = 0, left = 0;
    Part found;
    if (const InstId i = def(v, {Op::LShr, Op::AShr}, n); i.valid() && n < 32) {
      found = {f_.operands(i)[0], n, 32 - n, f_[i].op == Op::AShr};
      if (const InstId shl = def(found.of, {Op::Shl}, left); shl.valid()) {
        if (left > n) return {};
        found.of = f_.operands(shl)[0];
        found.from = n - left;
      }
    } else if (const InstId masked = def(v, {Op::And}, n); masked.valid() && (n == 0xff || n == 0xffff)) {
      found = {f_.operands(masked)[0], 0, n == 0xff ? 8u : 16u, false};
    } else {
      return {};
    }
    for (InstId i; (i = def(found.of, {Op::LShr, Op::AShr}, n)).valid(); found.of = f_.operands(i)[0]) {
      if (n >= 32 || found.from + found.size + n > 32) break;
      found.from += n;
    }
    const bool whole = (found.size == 8 || found.size == 16) && found.from % found.size == 0;
    return whole ? std::optional(found) : std::nullopt;
  }

  /// The bytes of `p` and of the half beside it, each in a half of its own.
  static ValueId halves(Rewriter& r, const Part& p) {
    const auto shifted = [&](Op op, ValueId v) { return r.op(op, Type::V32, {v}, 8); };
    if (p.size == 16) return p.of;
    const bool odd = p.from % 16 != 0;
    if (!p.is_signed) return odd ? shifted(Op::LShr16, p.of) : r.and_(p.of, 0x00ff'00ff);
    return shifted(Op::AShr16, odd ? p.of : shifted(Op::Shl16, p.of));
  }
};

} // namespace

bool join_dot_products(Function& f) { return DotProducts(f).join(); }

} // namespace lanewise::passes
