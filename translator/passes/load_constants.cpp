// Loads of what never changes: variables of the device library that say which mathematics is wanted, which
// code that was not optimised looks up each time, and constant tables at places that are known.
#include "translator/passes/initial_address.hpp"
#include "translator/passes/passes.hpp"
#include "translator/translator.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

/// Where a load, of all lanes that take part or of a scalar, is from, if that is a constant.
std::optional<u64> constant_address(const Function& f, InstId i) {
  if (f[i].op == Op::ScalarLoad) {
    u64 base = 0, offset = 0;
    const auto x = f.operands(i);
    if (!f.is_const(x[0], &base) || !f.is_const(x[1], &offset)) return std::nullopt;
    return (base + offset) & ~u64{3};
  }
  if (f[i].op != Op::Load) return std::nullopt;
  const MemAttr& mem = f[i].mem;
  if ((mem.space != Space::Global && mem.space != Space::Flat) || mem.form != AddressForm::Lanes)
    return std::nullopt;
  const auto address = common_address(f, f.operands(i)[0], f.operands(i).back());
  if (!address || address->pointer.valid()) return std::nullopt;
  return address->offset + f[i].imm;
}

} // namespace

bool load_constants(Function& f, const translator::KernelSource& source) {
  std::vector<ValueId> map(f.num_values());
  std::vector<InstId> insts; // of a block, with those that are added
  bool any = false;
  for (u32 index = 0; index < f.num_blocks(); ++index) {
    const BlockId b{index};
    insts.clear();
    const auto make = [&](InstId i, Op op, std::initializer_list<ValueId> operands, u64 imm,
                          Type t = Type::V32) {
      Inst proto;
      proto.op = op;
      proto.imm = imm;
      proto.pc = f[i].pc;
      insts.push_back(f.make(proto, {operands.begin(), operands.size()}, {&t, 1}));
      f[insts.back()].block = b;
      return f.result(insts.back());
    };
    for (const InstId i : f[b].insts) {
      insts.push_back(i);
      const auto address = constant_address(f, i);
      if (!address) continue;
      if (f[i].op == Op::ScalarLoad) {
        const auto bytes = source.constant_bytes(*address, 4 * f[i].num_results);
        for (u32 n = 0; !bytes.empty() && n < f[i].num_results; ++n)
          map[f.result(i, n).index] =
              make(i, Op::Const, {}, load_le<u32>(reinterpret_cast<const u8*>(&bytes[4 * n])), Type::U32);
        continue;
      }
      const MemAttr mem = f[i].mem;
      const auto bytes = source.constant_bytes(*address, mem.bytes);
      const ValueId lanes = f.operands(i).back();
      for (u32 n = 0; !bytes.empty() && n < f[i].num_results; ++n) {
        u32 bits = 0;
        for (u32 k = 0; k < std::min<u32>(mem.bytes, 4); ++k) bits |= u32{bytes[4 * n + k]} << 8 * k;
        const ValueId loaded = make(i, Op::Const, {}, extended(mem, bits));
        const bool all = f.is_full(lanes);
        map[f.result(i, n).index] =
            all ? loaded : make(i, Op::Select, {lanes, loaded, make(i, Op::Const, {}, 0)}, 0);
      }
    }
    if (insts.size() == f[b].insts.size()) continue;
    f[b].insts.assign(insts.begin(), insts.end());
    any = true;
  }
  if (!any) return false;
  map.resize(f.num_values());
  f.replace_values(map);
  return true;
}

} // namespace lanewise::passes
