#include "translator/passes/aligned_counters.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kAny = 64; ///< low bits that are 0, of what is 0
constexpr unsigned kMaxDepth = 8;

class Counters {
public:
  Counters(const Function& f, const Cfg& cfg) : f_(f), cfg_(cfg), zeros_(f.num_values(), 0) {
    for (const BlockId b : cfg.rpo)
      for (const ValueId p : f[b].params)
        if (bit_width(f.type(p)) >= 32) zeros_[p.index] = kAny;
  }

  /// Downwards from "always 0", to a fixed point.
  void run(ValueLimits& limits) {
    while (lower()) {
    }
    for (const BlockId b : cfg_.rpo)
      for (const ValueId p : f_[b].params) {
        const unsigned n = zeros_[p.index];
        if (n == 0 || n >= bit_width(f_.type(p))) continue; // What is never anything but 0 is no counter.
        const u64 ones = constant_bits(f_.type(p)) & (~u64{0} << n);
        limits.assume(p, {.max = ones, .ones = ones});
      }
  }

private:
  const Function& f_;
  const Cfg& cfg_;
  std::vector<u8> zeros_; ///< per block parameter

  bool lower() {
    bool lowered = false;
    for (const BlockId b : cfg_.rpo)
      for (const Successor& s : f_[b].successors)
        for (u32 n = 0; n < s.args.size(); ++n) {
          u8& known = zeros_[f_[s.block].params[n].index];
          if (known == 0) continue;
          const auto arg = static_cast<u8>(zeros(s.args[n], 0));
          lowered |= arg < known;
          known = std::min(known, arg);
        }
    return lowered;
  }

  [[nodiscard]] unsigned zeros(ValueId v, unsigned depth) const {
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return bits == 0 ? kAny : static_cast<unsigned>(std::countr_zero(bits));
    const InstId i = f_.def_id(v);
    if (!i.valid()) return zeros_[v.index];
    if (depth == kMaxDepth) return 0;
    const auto x = f_.operands(i);
    const auto in = [&](unsigned n) { return zeros(x[n], depth + 1); };
    switch (f_[i].op) {
    case Op::Splat:
    case Op::GangFirst:
    case Op::ZExt:
    case Op::SExt:
    case Op::Lo: return in(0);
    case Op::Join: return std::min(in(0), 32u);
    case Op::Add:
    case Op::Sub:
    case Op::Or: return std::min(in(0), in(1));
    case Op::And: return std::max(in(0), in(1));
    case Op::Mul: return std::min(in(0) + in(1), kAny);
    case Op::Select: return std::min(in(1), in(2));
    case Op::Shl:
      if (!f_.is_const(x[1], &bits)) return 0;
      return std::min(in(0) + static_cast<unsigned>(bits & (bit_width(f_.type(v)) - 1)), kAny);
    default: return 0;
    }
  }
};

} // namespace

void assume_aligned_counters(const Function& f, const Cfg& cfg, ValueLimits& limits) {
  Counters(f, cfg).run(limits);
}

} // namespace lanewise::passes
