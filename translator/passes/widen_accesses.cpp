// 64-bit values whole between memory and arithmetic. GCN loads and stores dwords, so that a load of a 64-bit
// value is followed by a join, and the halves of one are what a store is given. Such accesses become those of
// 64-bit values: in vectors, memory has them as arithmetic wants them, and dwords take shuffles there and
// back.
#include "translator/ir/wide_access.hpp"
#include "translator/passes/halves.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <array>

namespace lanewise::passes {

using namespace ir;

namespace {

class Widener {
public:
  explicit Widener(Function& f) : f_(f), wanted_(f.num_insts(), false), rewriter_(f) {}

  void run() {
    if (find_loads())
      change([&](InstId i, std::vector<InstId>& to) {
        if (wanted_[i.index])
          load(i, to);
        else
          to.push_back(i);
      });
    change([&](InstId i, std::vector<InstId>& to) {
      const auto x = f_.operands(i);
      if (f_[i].op == Op::Join)
        if (const ValueId whole = whole_of(f_, x[0], x[1]); whole.valid()) map_[f_.result(i).index] = whole;
      to.push_back(f_[i].op == Op::Store ? store(i) : i);
    });
  }

private:
  Function& f_;
  std::vector<ValueId> map_;
  std::vector<bool> wanted_; ///< per instruction: a load of 64-bit values
  Rewriter rewriter_;

  /// Marks the loads of which something looks at two dwords together, or several take halves as readily: the
  /// dwords of others take the same shuffles later. False if there are none.
  bool find_loads() {
    bool found = false;
    std::vector<u32> of_halves(f_.num_values());
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts)
        if (takes_halves(f_[i].op) && f_.type(f_.result(i)) == Type::V64)
          for (const ValueId v : f_.operands(i)) ++of_halves[v.index];
    const auto look_at = [&](ValueId low, ValueId high) {
      if (is_loaded_pair(f_, low, high)) wanted_[f_.def_id(low).index] = found = true;
    };
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts) {
        const auto x = f_.operands(i);
        if (f_[i].op == Op::Load && f_[i].num_results == 2 &&
            of_halves[f_.result(i, 0).index] + of_halves[f_.result(i, 1).index] > 1)
          look_at(f_.result(i, 0), f_.result(i, 1));
        if (f_[i].op == Op::Join) look_at(x[0], x[1]);
        if (f_[i].op != Op::Store || !can_be_wide(f_[i])) continue;
        for (std::size_t n = address_operands(f_[i].mem); n + 2 < x.size(); n += 2) look_at(x[n], x[n + 1]);
      }
    return found;
  }

  /// Appends what becomes of each instruction to its block, then puts `map_` into effect.
  template <class Rule>
  void change(Rule rule) {
    map_.assign(f_.num_values(), ValueId{});
    for (Block& block : f_.blocks) {
      std::vector<InstId> old;
      old.swap(block.insts);
      block.insts.reserve(old.size());
      for (const InstId i : old) {
        rewriter_.begin(i, block.insts);
        rule(i, block.insts);
      }
    }
    map_.resize(f_.num_values());
    f_.replace_values(map_);
  }

  void load(InstId i, std::vector<InstId>& to) {
    const Inst proto = f_[i];
    const std::vector<ValueId> operands(f_.operands(i).begin(), f_.operands(i).end());
    constexpr std::array kTypes = {Type::V64, Type::V64};
    const InstId wide = f_.make(proto, operands, {kTypes.data(), proto.num_results / 2u});
    f_[wide].block = proto.block;
    to.push_back(wide);
    for (unsigned n = 0; n < proto.num_results; ++n)
      map_[f_.result(i, n).index] =
          rewriter_.op(n % 2 == 0 ? Op::Lo : Op::Hi, Type::V32, {f_.result(wide, n / 2)});
  }

  /// The store of the 64-bit values, if some of the dwords are halves of one or constants.
  InstId store(InstId i) {
    const Inst proto = f_[i];
    if (!can_be_wide(proto)) return i;
    const std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    const unsigned first = address_operands(proto.mem);
    if (f_.type(x[first]) != Type::V32) return i; // It is already.
    std::vector<ValueId> operands(x.begin(), x.begin() + first);
    std::array<std::array<u64, 2>, 2> bits{};
    std::array<bool, 2> known{};
    bool pays = false;
    for (unsigned p = 0; p < proto.mem.bytes / 8u; ++p) {
      const ValueId low = x[first + 2 * p], high = x[first + 2 * p + 1];
      known[p] = f_.is_const(low, &bits[p][0]) && f_.is_const(high, &bits[p][1]);
      operands.push_back(whole_of(f_, low, high));
      pays |= known[p] || operands.back().valid();
    }
    if (!pays) return i;
    for (unsigned p = 0; p < proto.mem.bytes / 8u; ++p) {
      ValueId& whole = operands[first + p];
      if (known[p])
        whole = rewriter_.constant(Type::V64, bits[p][0] | bits[p][1] << 32);
      else if (!whole.valid())
        whole = rewriter_.op(Op::Join, Type::V64, {x[first + 2 * p], x[first + 2 * p + 1]});
    }
    operands.push_back(x.back());
    const InstId wide = f_.make(proto, operands, {});
    f_[wide].block = proto.block;
    return wide;
  }
};

} // namespace

void widen_accesses(Function& f) { Widener(f).run(); }

} // namespace lanewise::passes
