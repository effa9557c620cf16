#include "translator/passes/private_access.hpp"

#include "runtime/wave.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kPrivateHigh = static_cast<u32>(runtime::kPrivateAperture >> 32);

/// Flat accesses of which the address is seen to be private are accesses to private memory.
/// Returns whether other flat accesses may be, too.
class PrivatePointers {
public:
  explicit PrivatePointers(Function& f) : f_(f) {}

  bool resolve() {
    std::vector<InstId> accesses;
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts)
        if (info(f_[i].op).is(kMemory) && f_[i].mem.space == Space::Flat) accesses.push_back(i);
    bool others = false;
    for (const InstId i : accesses) others |= !resolve(i);
    return others && (f_.target < isa::Target::gfx900 || remain());
  }

private:
  Function& f_;

  bool resolve(InstId i) {
    const ValueId address = f_.operands(i)[0];
    u64 bits = 0;
    ValueId low;
    if (f_.is_const(address, &bits) && bits >> 32 == kPrivateHigh) {
      low = f_.entry_constant(Type::V32, bits & 0xffff'ffffu);
    } else if (const Inst* def = f_.def(address); def != nullptr && def->op == Op::Join) {
      const auto half = f_.operands(f_.def_id(address));
      if (f_.is_const(half[1], &bits) && bits == kPrivateHigh) low = half[0];
    }
    if (!low.valid()) return false;
    f_.operands(i)[0] = low;
    f_[i].mem.space = Space::Scratch;
    return true;
  }

  /// A private pointer is made of the aperture, a constant; where none is used, there are none. (Addresses
  /// that only happen to lie in the aperture are no pointers: nobody is told where it is.)
  [[nodiscard]] bool remain() const {
    const auto is_aperture = [&](ValueId v) {
      u64 bits = 0;
      return f_.is_const(v, &bits) && (bits == kPrivateHigh || bits >> 32 == kPrivateHigh);
    };
    for (const Block& block : f_.blocks) {
      for (const InstId i : block.insts)
        for (const ValueId v : f_.operands(i))
          if (is_aperture(v)) return true;
      for (const Successor& s : block.successors)
        if (std::any_of(s.args.begin(), s.args.end(), is_aperture)) return true;
    }
    return false;
  }
};

} // namespace

PrivateAccesses::PrivateAccesses(Function& f, u32 private_bytes)
    : f_(f), private_bytes_(private_bytes), flat_may_be_private_(PrivatePointers(f).resolve()), limits_(f) {}

PrivateBytes PrivateAccesses::bytes(InstId i) const {
  const Inst& inst = f_[i];
  const PrivateBytes anywhere = {0, u64{1} << 32, false};
  if (inst.mem.space == Space::Flat) return anywhere;
  const ValueId address = f_.operands(i)[0];
  u64 bits = 0;
  if (f_.is_const(address, &bits)) {
    const u64 first = bits + inst.imm, end = first + inst.mem.bytes; // A negative sum is a huge one.
    if (first >= private_bytes_ || end > private_bytes_) return anywhere;
    const bool aligned = first % std::min<u32>(inst.mem.bytes, 4) == 0;
    return {first, end, aligned && inst.op != Op::Atomic};
  }
  if (inst.imm >> 32 != 0) return anywhere;
  u64 first = 0;
  if (const Inst* sum = f_.def(address); sum != nullptr && sum->op == Op::Add) {
    const auto x = f_.operands(f_.def_id(address));
    for (unsigned c = 0; c < 2; ++c)
      if (f_.is_const(x[c], &bits) && bits + limits_.max(x[1 - c]) <= 0xffff'ffffu) first = bits;
  }
  return {first + inst.imm, limits_.max(address) + inst.imm + inst.mem.bytes, false};
}

} // namespace lanewise::passes
