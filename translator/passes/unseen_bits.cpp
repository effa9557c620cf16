// Bits that nobody looks at. Arithmetic on bytes and half-words is done in dwords, on the GPU as here, and
// every step cuts its result to size and extends its operands. But sums, products and logic do not care what
// is above, and stores cut by themselves. So for every vector we find which of its bits are looked at, from
// its users back to it, through loops to a fixed point; then
//  - an operand is taken from before a mask, an extension or the like that leaves the bits alone which count;
//  - loads that are only looked at as what they load extend it as somebody wants it;
//  - products of which the lower half counts are those of half-words, and so are sums that are cut to it, of
//    operands that have no more;
//  - bytes and half-words that are packed into dwords, chosen from there and unpacked again are chosen as
//    they are, as elements of arrays that compilers keep in registers.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/value_limits.hpp"

#include <bit>
#include <map>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u64 kHalfword = 0xffff;

/// All bits up to the highest of `x`: what sums and products need of their operands.
constexpr u64 fill(u64 x) { return x == 0 ? 0 : ~u64{0} >> std::countl_zero(x); }

class UnseenBits {
public:
  explicit UnseenBits(Function& f)
      : f_(f), r_(f), seen_(f.num_values()), extended_(f.num_values()), inside_(f.num_blocks(), true) {}

  void run() {
    const Cfg cfg(f_);
    while (find_seen(cfg)) {
    }
    drop(cfg.rpo);
  }
  void run(const std::vector<BlockId>& blocks) {
    inside_.assign(f_.num_blocks(), false);
    for (const BlockId b : blocks) inside_[b.index] = true;
    do {
      changed_ = false;
      for (auto b = blocks.rbegin(); b != blocks.rend(); ++b) look_from(*b);
    } while (changed_);
    drop(blocks);
  }

private:
  Function& f_;
  Rewriter r_;
  std::vector<u64> seen_;    ///< per value
  std::vector<u8> extended_; ///< per value: somebody extends the sign of what it begins with
  std::vector<bool> inside_; ///< per block: who hands something on to it is known
  bool changed_ = false;     ///< more is seen
  std::vector<bool>
      is_unpacked_; ///< per value: what takes its place may have anything above what is looked at

  void drop(std::span<const BlockId> blocks) {
    for (const BlockId b : blocks) {
      for (const InstId i : f_[b].insts) visit(i);
      for (Successor& s : f_[b].successors)
        for (std::size_t n = 0; inside_[s.block.index] && n < s.args.size(); ++n)
          s.args[n] = look_through(s.args[n], seen_[f_[s.block].params[n].index], b);
    }
    for (const BlockId b : blocks)
      for (const InstId i : f_[b].insts) extend_load(i);
    struct Part {
      u64 seen = 0;
      ValueId value;
    };
    std::map<ValueId, Part> parts; // of values of which others see more
    for_each_part(blocks, [&](ValueId v, u64 seen) {
      if (f_.def_id(v).valid() && (seen_[v.index] & ~seen) != 0) parts[v].seen |= seen;
    });
    const ValueLimits limits(f_);
    is_unpacked_.assign(f_.num_values(), false);
    replace_results(f_, [&](InstId i, std::vector<InstId>& out) {
      if (!inside_[f_[i].block.index]) return ValueId{};
      r_.begin(i, out);
      if (f_[i].num_results == 1)
        if (const auto part = parts.find(f_.result(i)); part != parts.end()) {
          part->second.value = unpacked(part->first, part->second.seen, limits);
          if (part->second.value.valid()) return ValueId{};
        }
      if (const ValueId part = unpacked(i, limits); part.valid()) {
        is_unpacked_[f_.result(i).index] = true;
        return part;
      }
      return cut_to_halfword(i, limits);
    });
    for_each_part(blocks, [&](ValueId& v, u64 seen) {
      if (const auto part = parts.find(v);
          part != parts.end() && part->second.value.valid() && (seen & ~part->second.seen) == 0)
        v = part->second.value;
    });
  }

  static bool is_tracked(Type t) { return is_vector(t) || t == Type::G32 || t == Type::G64; }

  /// One walk from the ends to the start. Returns whether what is handed on to the next round of a loop is
  /// looked at more than was known: the others who hand something on come later in the walk.
  bool find_seen(const Cfg& cfg) {
    bool more = false;
    for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
      look_from(*b);
      for (const BlockId p : cfg.preds[b->index])
        if (cfg.rpo_index[p.index] >= cfg.rpo_index[b->index]) more |= are_unseen_behind(p, *b);
    }
    return more;
  }
  void look_from(BlockId b) {
    for (const Successor& s : f_[b].successors)
      for (std::size_t n = 0; n < s.args.size(); ++n)
        look_at(s.args[n], inside_[s.block.index] ? seen_[f_[s.block].params[n].index] : ~u64{0});
    const auto& insts = f_[b].insts;
    for (auto i = insts.rbegin(); i != insts.rend(); ++i)
      for (unsigned n = 0; n < f_[*i].num_operands; ++n) look_at(f_.operands(*i)[n], seen_in(*i, n));
  }
  void look_at(ValueId v, u64 bits) {
    changed_ |= (bits & ~seen_[v.index]) != 0;
    seen_[v.index] |= bits;
  }
  /// Of what `from` hands on to `to`, bits are not yet known to be looked at that are there.
  [[nodiscard]] bool are_unseen_behind(BlockId from, BlockId to) const {
    for (const Successor& s : f_[from].successors)
      for (std::size_t n = 0; s.block == to && n < s.args.size(); ++n)
        if ((seen_[f_[to].params[n].index] & ~seen_[s.args[n].index]) != 0) return true;
    return false;
  }

  /// The bits of its operand `n` that make a difference to those of i's result that are looked at.
  u64 seen_in(InstId i, unsigned n) const {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    const u64 all = constant_bits(f_.type(x[n]));
    if (!is_tracked(f_.type(x[n]))) return all;
    if (inst.op == Op::Store) {
      const bool is_data = n >= address_operands(inst.mem) && n + 1 < inst.num_operands;
      return is_data && inst.mem.bytes < 4 ? all >> (32 - 8 * inst.mem.bytes) : all;
    }
    if (inst.num_results != 1 || !is_tracked(f_.type(f_.result(i)))) return all;
    const Type t = f_.type(f_.result(i));
    const u64 d = seen_[f_.result(i).index];
    u64 c = 0; // where there is one, the constant
    switch (inst.op) {
    case Op::And: return f_.is_const(x[1 - n], &c) ? d & c : d;
    case Op::Or: return f_.is_const(x[1 - n], &c) ? d & ~c : d;
    case Op::AndNot: return f_.is_const(x[1 - n], &c) ? d & (n == 0 ? ~c : c) : d;
    case Op::Xor:
    case Op::Not: return d;
    case Op::BitSelect: return n != 0 && f_.is_const(x[0], &c) ? d & (n == 1 ? c : ~c) : d;
    case Op::Select: return n == 0 ? all : d;
    case Op::Add:
    case Op::Sub:
    case Op::Mul: return fill(d);
    case Op::Shl:
    case Op::LShr:
    case Op::AShr:
      if (n != 0 || !f_.is_const(x[1], &c)) return all;
      c &= bit_width(t) - 1;
      if (inst.op == Op::Shl) return d >> c;
      return (d << c & all) | (inst.op == Op::AShr && (d & ~(all >> c)) != 0 ? all & ~(all >> 1) : 0);
    case Op::Join: return n == 0 ? d & 0xffff'ffffu : d >> 32;
    case Op::Lo: return d;
    case Op::Hi: return d << 32;
    case Op::ZExt: return d & all;
    case Op::SExt: return (d & all) | (d >> 32 != 0 ? u64{1} << 31 : 0);
    case Op::Add16:
    case Op::Sub16:
    case Op::Mul16: return fill(d & kHalfword) | (fill(d >> 16) << 16);
    case Op::SIToFp:
    case Op::UIToFp: return inst.imm == 16 ? kHalfword : all;
    default: return all;
    }
  }

  void visit(InstId i) {
    const BlockId b = f_[i].block;
    for (unsigned n = 0; n < f_[i].num_operands; ++n) {
      const ValueId v = f_.operands(i)[n];
      if (is_tracked(f_.type(v))) f_.operands(i)[n] = look_through(v, seen_in(i, n), b);
    }
    if (f_[i].op == Op::Mul && f_.type(f_.result(i)) == Type::V32 &&
        (seen_[f_.result(i).index] & ~kHalfword) == 0)
      f_[i].op = Op::Mul16;
    if (f_[i].op == Op::AShr)
      if (const InstId up = f_.def_id(f_.operands(i)[0]); up.valid() && f_[up].op == Op::Shl)
        extended_[f_.operands(up)[0].index] = 1;
  }

  /// What has the same bits as `v` where `bits` are set, and is there in block `b`: from another block
  /// nothing, unless `v` is needed for nobody else.
  ValueId look_through(ValueId v, u64 bits, BlockId b) const {
    for (;;) {
      const InstId i = f_.def_id(v);
      const ValueId x = i.valid() ? before(i, bits) : ValueId{};
      if (!x.valid() || (f_[i].block != b && before(i, seen_[v.index]) != x)) return v;
      v = x;
    }
  }
  /// The operand that goes with a constant, `c`, or nothing.
  ValueId beside_constant(InstId i, u64& c) const {
    const auto x = f_.operands(i);
    if (f_.is_const(x[1], &c)) return x[0];
    return info(f_[i].op).is(kCommutes) && f_.is_const(x[0], &c) ? x[1] : ValueId{};
  }
  /// The operand whose `bits` are those of i's result.
  ValueId before(InstId i, u64 bits) const {
    const Inst& inst = f_[i];
    if (inst.num_operands < 2 || inst.num_results != 1) return {};
    const auto x = f_.operands(i);
    u64 c = 0;
    switch (inst.op) {
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::AndNot: {
      const ValueId other = beside_constant(i, c);
      return (bits & (inst.op == Op::And ? ~c : c)) == 0 ? other : ValueId{};
    }
    case Op::BitSelect:
      if (!f_.is_const(x[0], &c)) return {};
      return (bits & ~c) == 0 ? x[1] : (bits & c) == 0 ? x[2] : ValueId{};
    case Op::LShr:
    case Op::AShr: {
      const InstId up = f_.def_id(x[0]);
      u64 n = 0;
      if (!up.valid() || f_[up].op != Op::Shl || !f_.is_const(x[1], &c) ||
          !f_.is_const(f_.operands(up)[1], &n))
        return {};
      const Type t = f_.type(x[0]);
      const unsigned width = bit_width(t);
      if (((c ^ n) & (width - 1)) != 0 || (bits & ~(constant_bits(t) >> (n & (width - 1)))) != 0) return {};
      return f_.operands(up)[0];
    }
    default: return {};
    }
  }

  /// What has been packed, if i's result is only looked at as that.
  ValueId unpacked(InstId i, const ValueLimits& limits) {
    const Inst& inst = f_[i];
    if (inst.num_results != 1 || !is_dword(f_.type(f_.result(i)))) return {};
    switch (inst.op) {
    case Op::LShr:
    case Op::AShr:
    case Op::Lo:
    case Op::FunnelShr:
    case Op::BytePerm:
    case Op::Or:
    case Op::Select: break;
    default: return {};
    }
    return unpacked(f_.result(i), seen_[f_.result(i).index], limits);
  }
  /// Visits what blocks hand on of which only a byte or a half-word is looked at there.
  template <class F>
  void for_each_part(std::span<const BlockId> blocks, F visit) {
    for (const BlockId b : blocks)
      for (Successor& s : f_[b].successors)
        for (std::size_t n = 0; inside_[s.block.index] && n < s.args.size(); ++n) {
          const ValueId param = f_[s.block].params[n];
          const u64 seen = seen_[param.index];
          if (is_dword(f_.type(param)) && seen != 0 && seen <= kHalfword) visit(s.args[n], seen);
        }
  }
  ValueId unpacked(ValueId v, u64 seen, const ValueLimits& limits) {
    if (seen == 0 || seen > kHalfword || !f_.def_id(v).valid()) return {};
    Unpacking u{seen > 0xff ? 16u : 8u, kMaxSteps, false, limits, {}};
    const ValueId part = field(u, v, 0);
    return u.is_packed && part.valid() && part != v ? part : ValueId{};
  }
  static bool is_dword(Type t) { return t == Type::V32 || t == Type::G32; }
  static constexpr unsigned kMaxSteps = 100;
  struct Unpacking {
    unsigned width; ///< of the field
    unsigned steps; ///< that are left
    bool is_packed; ///< several fields have been found together
    const ValueLimits& limits;
    std::vector<std::pair<ValueId, bool>> known; ///< conditions, on the way to what is looked for
  };
  /// What has in its lowest bits those of `v` from `at` on, or nothing. What is chosen is chosen anew.
  ValueId field(Unpacking& u, ValueId v, unsigned at) {
    const Type t = f_.type(v);
    const auto itself = [&] { return at == 0 && is_dword(t) ? v : ValueId{}; };
    const auto constant = [&](u64 n) { return r_.constant(is_vector(t) ? Type::V32 : Type::G32, n); };
    const unsigned bits = bit_width(t);
    const u64 ones = constant_bits(Type::V32) >> (32 - u.width);
    u64 c = 0;
    if (at >= bits || ((f_.is_const(v, &c) ? c : u.limits.ones(v)) >> at & ones) == 0) return constant(0);
    if (f_.is_const(v)) return at == 0 && is_dword(t) ? v : constant(c >> at & ones);
    const InstId i = f_.def_id(v);
    if (!i.valid() || at + u.width > bits || u.steps == 0) return itself();
    --u.steps;
    const std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end()); // More operands are made.
    const auto otherwise = [&](ValueId found) { return found.valid() ? found : itself(); };
    const auto shifted_by = [&](unsigned n) {
      return f_.is_const(x[n], &c) ? std::optional(c & (bits - 1)) : std::nullopt;
    };
    switch (f_[i].op) {
    case Op::Or: {
      const ValueId a = field(u, x[0], at), b = field(u, x[1], at);
      const bool first = is_zero(b), second = is_zero(a);
      u.is_packed |= first || second;
      return otherwise(first ? a : second ? b : ValueId{});
    }
    case Op::And:
      for (const unsigned n : {0u, 1u})
        if (f_.is_const(x[n], &c) && (c >> at & ones) == ones) return otherwise(field(u, x[1 - n], at));
      return itself();
    case Op::Shl:
      if (const auto n = shifted_by(1); n && at >= *n)
        return otherwise(field(u, x[0], at - static_cast<unsigned>(*n)));
      return itself();
    case Op::LShr:
    case Op::AShr:
      if (const auto n = shifted_by(1); n && (f_[i].op == Op::LShr || at + *n + u.width <= bits))
        return otherwise(field(u, x[0], at + static_cast<unsigned>(*n)));
      return itself();
    case Op::FunnelShr:
      if (!f_.is_const(x[2], &c) || at + (c & 31) + u.width > 64) return itself();
      c = at + (c & 31);
      if (c >= 32) return otherwise(field(u, x[0], static_cast<unsigned>(c - 32)));
      return c + u.width <= 32 ? otherwise(field(u, x[1], static_cast<unsigned>(c))) : itself();
    case Op::Shl16:
      if (const u64 n = f_[i].imm; u.width + at % 16 <= 16 && at % 16 >= n)
        return otherwise(field(u, x[0], at - static_cast<unsigned>(n)));
      return itself();
    case Op::Join: {
      const unsigned half = at / 32;
      return at % 32 + u.width <= 32 ? field(u, x[half], at % 32) : ValueId{};
    }
    case Op::Lo: return otherwise(field(u, x[0], at));
    case Op::Hi: return otherwise(field(u, x[0], at + 32));
    case Op::ZExt: return otherwise(field(u, x[0], at));
    case Op::Select: {
      const auto known = std::ranges::find(u.known, x[0], &std::pair<ValueId, bool>::first);
      if (known != u.known.end()) return otherwise(field(u, x[known->second ? 1 : 2], at));
      const auto where = [&](bool chosen) {
        u.known.emplace_back(x[0], chosen);
        const ValueId found = field(u, x[chosen ? 1 : 2], at);
        u.known.pop_back();
        return found;
      };
      const ValueId a = where(true), b = a.valid() ? where(false) : ValueId{};
      if (!b.valid() || (a == x[1] && b == x[2])) return itself();
      return a == b ? a : r_.select(x[0], a, b);
    }
    default: return itself();
    }
  }
  [[nodiscard]] bool is_zero(ValueId v) const {
    u64 bits = 0;
    return v.valid() && f_.is_const(v, &bits) && bits == 0;
  }

  void extend_load(InstId i) {
    Inst& inst = f_[i];
    if (inst.op != Op::Load || inst.mem.bytes > 2 || inst.num_results != 1) return;
    const u32 v = f_.result(i).index;
    if (extended_[v] != 0 && seen_[v] >> (8 * inst.mem.bytes) == 0) inst.mem.sign_extend = true;
  }

  /// and(a + b, 0xffff) -> add16(a, b) and its like, if there is nothing in the upper halves of a and b.
  ValueId cut_to_halfword(InstId i, const ValueLimits& limits) {
    u64 mask = 0, shift = 0;
    if (f_[i].op != Op::And || f_.type(f_.result(i)) != Type::V32) return {};
    const ValueId cut = beside_constant(i, mask);
    const InstId whole = cut.valid() && mask == kHalfword ? f_.def_id(cut) : InstId{};
    if (!whole.valid() || f_[whole].num_operands != 2) return {};
    const Op op = f_[whole].op;
    const ValueId a = f_.operands(whole)[0], b = f_.operands(whole)[1];
    if (op == Op::Shl && f_.is_const(b, &shift) && shift < 16 && is_halfword(a, limits))
      return r_.op(Op::Shl16, Type::V32, {a}, shift);
    if (op != Op::Add && op != Op::Sub) return {};
    const ValueId x = as_halfword(a, limits), y = as_halfword(b, limits);
    if (!x.valid() || !y.valid()) return {};
    return r_.op(op == Op::Add ? Op::Add16 : Op::Sub16, Type::V32, {x, y});
  }
  /// `v`, if there is nothing in its upper half; what is there in a constant makes no difference.
  ValueId as_halfword(ValueId v, const ValueLimits& limits) {
    if (is_halfword(v, limits)) return v;
    u64 c = 0;
    return f_.is_const(v, &c) ? r_.v32(c & kHalfword) : ValueId{};
  }
  [[nodiscard]] bool is_halfword(ValueId v, const ValueLimits& limits) const {
    return limits.max(v) <= kHalfword && !is_unpacked_[v.index];
  }
};

} // namespace

void drop_unseen_bits(Function& f) { UnseenBits(f).run(); }
void drop_unseen_bits_in(Function& f, const std::vector<BlockId>& blocks) { UnseenBits(f).run(blocks); }

} // namespace lanewise::passes
