// Bits that nobody looks at. Arithmetic on bytes and half-words is done in dwords, on the GPU as here, and
// every step cuts its result to size and extends its operands. But sums, products and logic do not care what
// is above, and stores cut by themselves. So for every vector we find which of its bits are looked at, from
// its users back to it, through loops to a fixed point; then
//  - an operand is taken from before a mask, an extension or the like that leaves the bits alone which count;
//  - loads that are only looked at as what they load extend it as somebody wants it;
//  - products of which the lower half counts are those of half-words, and so are sums that are cut to it, of
//    operands that have no more.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/value_limits.hpp"

#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u64 kHalfword = 0xffff;

/// All bits up to the highest of `x`: what sums and products need of their operands.
constexpr u64 fill(u64 x) { return x == 0 ? 0 : ~u64{0} >> std::countl_zero(x); }

class UnseenBits {
public:
  explicit UnseenBits(Function& f) : f_(f), r_(f), seen_(f.num_values()), extended_(f.num_values()) {}

  void run() {
    const Cfg cfg(f_);
    while (find_seen(cfg)) {
    }
    for (const BlockId b : cfg.rpo) {
      for (const InstId i : f_[b].insts) visit(i);
      for (Successor& s : f_[b].successors)
        for (std::size_t n = 0; n < s.args.size(); ++n)
          s.args[n] = look_through(s.args[n], seen_[f_[s.block].params[n].index], b);
    }
    for (const BlockId b : cfg.rpo)
      for (const InstId i : f_[b].insts) extend_load(i);
    const ValueLimits limits(f_);
    replace_results(f_, [&](InstId i, std::vector<InstId>& out) {
      r_.begin(i, out);
      return cut_to_halfword(i, limits);
    });
  }

private:
  Function& f_;
  Rewriter r_;
  std::vector<u64> seen_;    ///< per value
  std::vector<u8> extended_; ///< per value: somebody extends the sign of what it begins with

  static bool is_tracked(Type t) { return t == Type::V32 || t == Type::V64; }

  /// One walk from the ends to the start. Returns whether what is handed on to the next round of a loop is
  /// looked at more than was known: the others who hand something on come later in the walk.
  bool find_seen(const Cfg& cfg) {
    bool more = false;
    for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
      for (const Successor& s : f_[*b].successors)
        for (std::size_t n = 0; n < s.args.size(); ++n)
          look_at(s.args[n], seen_[f_[s.block].params[n].index]);
      const auto& insts = f_[*b].insts;
      for (auto i = insts.rbegin(); i != insts.rend(); ++i)
        for (unsigned n = 0; n < f_[*i].num_operands; ++n) look_at(f_.operands(*i)[n], seen_in(*i, n));
      for (const BlockId p : cfg.preds[b->index])
        if (cfg.rpo_index[p.index] >= cfg.rpo_index[b->index]) more |= are_unseen_behind(p, *b);
    }
    return more;
  }
  void look_at(ValueId v, u64 bits) { seen_[v.index] |= bits; }
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
    if (op == Op::Shl && f_.is_const(b, &shift) && shift < 16 && limits.max(a) <= kHalfword)
      return r_.op(Op::Shl16, Type::V32, {a}, shift);
    if (op != Op::Add && op != Op::Sub) return {};
    const ValueId x = as_halfword(a, limits), y = as_halfword(b, limits);
    if (!x.valid() || !y.valid()) return {};
    return r_.op(op == Op::Add ? Op::Add16 : Op::Sub16, Type::V32, {x, y});
  }
  /// `v`, if there is nothing in its upper half; what is there in a constant makes no difference.
  ValueId as_halfword(ValueId v, const ValueLimits& limits) {
    if (limits.max(v) <= kHalfword) return v;
    u64 c = 0;
    return f_.is_const(v, &c) ? r_.v32(c & kHalfword) : ValueId{};
  }
};

} // namespace

void drop_unseen_bits(Function& f) { UnseenBits(f).run(); }

} // namespace lanewise::passes
