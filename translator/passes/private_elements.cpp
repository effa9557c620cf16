// A load from an array in private memory at an index that is known only at run time keeps the array in
// memory, and takes an access for each lane. Of few elements it is a choice: all are loaded, from addresses
// that are constants, and comparisons say which it is. These loads may then become values
// (promote_private_memory).
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/value_limits.hpp"

#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u64 kMostElements = 4;

class Chooser {
public:
  Chooser(Function& f, u32 private_bytes) : f_(f), private_bytes_(private_bytes), limits_(f), r_(f) {}

  /// Whether there was any.
  bool run() {
    bool any = false;
    std::vector<ValueId> map;
    for (const BlockId b : Cfg(f_).rpo) {
      const std::vector<InstId> old = f_[b].insts;
      std::vector<InstId> out;
      for (const InstId i : old) {
        r_.begin(i, out);
        const Elements all = elements(i);
        if (all.count == 0) {
          out.push_back(i);
          continue;
        }
        map.resize(f_.num_values());
        const ValueId v = f_.result(i);
        const ValueId chosen = choose(i, all, out);
        map.resize(f_.num_values());
        map[v.index] = chosen;
        f_[i].block = BlockId{};
        any = true;
      }
      f_[b].insts = std::move(out);
    }
    map.resize(f_.num_values());
    f_.replace_values(map);
    return any;
  }

private:
  /// The dwords that a load may take its result from.
  struct Elements {
    u64 first = 0, step = 0; ///< bytes
    u64 count = 0;           ///< 0: too many, or not known
  };

  Function& f_;
  u32 private_bytes_;
  const ValueLimits limits_;
  Rewriter r_;

  [[nodiscard]] Elements elements(InstId i) const {
    const Inst& inst = f_[i];
    if (inst.op != Op::Load || inst.mem.space != Space::Scratch || inst.mem.form != AddressForm::Lanes ||
        inst.num_results != 1 || inst.imm >= private_bytes_ || f_.is_const(f_.operands(i)[0]))
      return {};
    const Limits address = limits_.of(f_.operands(i)[0]);
    const u64 unit = address.ones & (0 - address.ones);
    if (unit == 0 || unit % inst.mem.bytes != 0 || inst.imm % inst.mem.bytes != 0) return {};
    const u64 step = std::max<u64>(unit, 4);
    const u64 first = (address.min + inst.imm) / 4 * 4, last = (address.max + inst.imm) / 4 * 4;
    // Between the first and the last only those at multiples of the step.
    const u64 count = (last - first + step - 1) / step + 1;
    if (count > kMostElements || first + (count - 1) * step + 4 > private_bytes_) return {};
    return address.min / unit * unit == address.min ? Elements{first, step, count} : Elements{};
  }

  ValueId choose(InstId i, const Elements& all, std::vector<InstId>& out) {
    const MemAttr mem = f_[i].mem;
    ValueId at = f_.operands(i)[0];
    if (f_[i].imm != 0) at = r_.add(at, r_.v32(static_cast<u32>(f_[i].imm)));
    const ValueId dword = mem.bytes < 4 ? r_.and_(at, ~u32{3}) : at;
    ValueId v;
    for (u64 n = 0; n < all.count; ++n) {
      const ValueId place = r_.v32(static_cast<u32>(all.first + n * all.step));
      const ValueId element = load(i, place, out);
      v = v.valid() ? r_.select(r_.icmp(IntPred::Eq, dword, place), element, v) : element;
    }
    if (mem.bytes == 4) return v;
    const ValueId bits = r_.shl(r_.and_(at, 3), 3), unused = r_.v32(32 - 8u * mem.bytes);
    const ValueId high = r_.same(Op::Shl, r_.same(Op::LShr, v, bits), unused);
    return r_.same(mem.sign_extend ? Op::AShr : Op::LShr, high, unused);
  }

  ValueId load(InstId i, ValueId place, std::vector<InstId>& out) {
    Inst proto;
    proto.op = Op::Load;
    proto.pc = f_[i].pc;
    proto.mem = f_[i].mem;
    proto.mem.bytes = 4;
    proto.mem.sign_extend = false;
    const ValueId operands[] = {place, f_.operands(i).back()};
    const Type t = Type::V32;
    const InstId made = f_.make(proto, operands, {&t, 1});
    f_[made].block = f_[i].block;
    out.push_back(made);
    return f_.result(made);
  }
};

} // namespace

bool choose_private_elements(Function& f, u32 private_bytes) {
  const auto may_be_one = [](const Inst& i) { return i.op == Op::Load && i.mem.space == Space::Scratch; };
  return has_any(f, may_be_one) && Chooser(f, private_bytes).run();
}

} // namespace lanewise::passes
