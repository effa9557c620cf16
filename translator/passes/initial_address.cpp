#include "translator/passes/initial_address.hpp"

#include "translator/passes/halves.hpp"
#include "translator/passes/mask_parts.hpp"

#include <algorithm>
#include <array>

namespace lanewise::passes {

using namespace ir;

std::optional<InitialAddress> initial_address(const Function& f, ValueId v) {
  u64 offset = 0;
  for (const Inst* inst = f.def(v); inst != nullptr; inst = f.def(v)) {
    const auto x = f.operands(f.def_id(v));
    u64 constant = 0;
    if (inst->op == Op::Join) {
      const Inst *l = f.def(x[0]), *h = f.def(x[1]);
      if (l == nullptr || h == nullptr || l->op != Op::InitSgpr || h->op != Op::InitSgpr) break;
      if (h->imm != l->imm + 1) break;
      return InitialAddress{static_cast<u32>(l->imm), offset};
    }
    if (inst->op != Op::Add) break;
    if (f.is_const(x[1], &constant))
      v = x[0];
    else if (f.is_const(x[0], &constant))
      v = x[1];
    else
      break;
    offset += constant;
  }
  return std::nullopt;
}

namespace {

/// `v`, as far as `lanes` see it.
ValueId selected(const Function& f, ValueId v, ValueId lanes) {
  const Inst* inst = f.def(v);
  const bool is_choice = inst != nullptr && inst->op == Op::Select;
  return is_choice && is_part_of(f, lanes, f.operands(f.def_id(v))[0]) ? f.operands(f.def_id(v))[1] : v;
}

/// The scalar that vectors of its halves are made of, as far as `lanes` see them; nothing if there is none.
ValueId splat_by_halves(const Function& f, ValueId v, ValueId lanes) {
  const Inst* join = f.def(v);
  if (join == nullptr || join->op != Op::Join) return {};
  std::array<ValueId, 2> halves;
  for (const unsigned n : {0u, 1u}) {
    const ValueId half = selected(f, f.operands(f.def_id(v))[n], lanes);
    const Inst* splat = f.def(half);
    if (splat == nullptr || splat->op != Op::Splat) return {};
    halves[n] = f.operands(f.def_id(half))[0];
  }
  return whole_of(f, halves[0], halves[1]);
}

} // namespace

std::optional<CommonAddress> common_address(const Function& f, ValueId v, ValueId lanes) {
  CommonAddress address;
  v = selected(f, v, lanes);
  if (address.pointer = splat_by_halves(f, v, lanes); address.pointer.valid()) return address;
  if (f.is_const(v, &address.offset)) return address;
  if (const Inst* sum = f.def(v); sum != nullptr && sum->op == Op::Add) {
    const auto x = f.operands(f.def_id(v));
    ValueId added = x[1];
    if (const Inst* wide = f.def(added); wide != nullptr && wide->op == Op::ZExt)
      added = f.operands(f.def_id(added))[0];
    if (!f.is_const(selected(f, added, lanes), &address.offset)) return std::nullopt;
    v = selected(f, x[0], lanes);
  }
  const Inst* splat = f.def(v);
  const bool is_splat = splat != nullptr && splat->op == Op::Splat;
  const ValueId pointer = is_splat ? f.operands(f.def_id(v))[0] : v;
  if (u64 base = 0; f.is_const(pointer, &base))
    address.offset += base;
  else if (is_splat)
    address.pointer = pointer;
  else
    return std::nullopt;
  return address;
}

u32 extended(const MemAttr& mem, u32 bits) {
  const unsigned unused = mem.bytes < 4 ? 32u - 8u * mem.bytes : 0;
  const u32 top = bits << unused;
  return mem.sign_extend ? static_cast<u32>(static_cast<i32>(top) >> unused) : top >> unused;
}

std::optional<InitialAddress> loaded_from(const Function& f, InstId load, unsigned n) {
  const auto operands = f.operands(load);
  u64 offset = 0;
  auto base = initial_address(f, operands[0]);
  if (!base || !f.is_const(operands[1], &offset)) return std::nullopt;
  base->offset += offset + 4 * u64{n};
  return base;
}

std::optional<unsigned> half_of_aligned_pointer(const Function& f, ValueId v) {
  if (f.launch.pointers.empty()) return std::nullopt;
  const auto from = loaded_from(f, f.def_id(v), f[v].index);
  for (const translator::AlignedPointer& p : f.launch.pointers)
    for (const unsigned half : {0u, 1u})
      if (from && p.pointer_sgpr == from->pointer_sgpr && p.offset + 4 * half == from->offset) return half;
  return std::nullopt;
}

bool loads_constants(const Function& f, InstId i) {
  return f[i].op == Op::ScalarLoad && initial_address(f, f.operands(i)[0]).has_value();
}

bool is_always_readable(const Function& f, InstId i) {
  if (f[i].op != Op::ScalarLoad) return false;
  const auto first = loaded_from(f, i);
  return first && std::ranges::any_of(f.launch.readable, [&](const translator::ReadableBytes& r) {
           return r.pointer_sgpr == first->pointer_sgpr && first->offset < r.bytes &&
                  first->offset + 4 * u64{f[i].num_results} <= r.bytes;
         });
}

namespace {

/// Where the pointer to a descriptor is, and how far behind that `v` points, if it is made like that.
struct DescriptorAddress {
  InitialAddress pointer;
  u64 offset = 0;
};
std::optional<DescriptorAddress> descriptor_address(const Function& f, ValueId v) {
  u64 offset = 0;
  const Inst* inst = f.def(v);
  for (; inst != nullptr && inst->op == Op::Add; inst = f.def(v)) {
    u64 constant = 0;
    if (!f.is_const(f.operands(f.def_id(v))[1], &constant)) return std::nullopt;
    offset += constant;
    v = f.operands(f.def_id(v))[0];
  }
  if (inst == nullptr || inst->op != Op::Join) return std::nullopt;
  const auto halves = f.operands(f.def_id(v));
  const InstId load = f.def_id(halves[0]);
  if (f.def(halves[0]) == nullptr || f[load].op != Op::ScalarLoad) return std::nullopt;
  if (f.def(halves[1]) == nullptr || f.def_id(halves[1]) != load) return std::nullopt;
  const u32 first = f[halves[0]].index;
  if (f[halves[1]].index != first + 1) return std::nullopt;
  const auto from = loaded_from(f, load, first);
  if (!from) return std::nullopt;
  return DescriptorAddress{*from, offset};
}

} // namespace

std::optional<u32> known_behind(const Function& f, ValueId base, u64 offset) {
  if (const auto start = initial_address(f, base))
    return known_dword(f, {start->pointer_sgpr, start->offset + offset});
  if (f.launch.descriptors.empty()) return std::nullopt;
  const auto at = descriptor_address(f, base);
  if (!at) return std::nullopt;
  for (const auto& known : f.launch.descriptors)
    if (known.pointer_sgpr == at->pointer.pointer_sgpr && known.argument == at->pointer.offset &&
        known.offset == at->offset + offset)
      return known.value;
  return std::nullopt;
}

std::optional<u32> known_result(const Function& f, InstId load, unsigned n) {
  u64 offset = 0;
  if (!f.is_const(f.operands(load)[1], &offset)) return std::nullopt;
  return known_behind(f, f.operands(load)[0], offset + 4 * u64{n});
}

std::optional<u32> known_dword(const Function& f, const InitialAddress& at) {
  for (const auto* dwords : {&f.launch.dwords, &f.launch.lds_pointers})
    for (const auto& known : *dwords)
      if (known.pointer_sgpr == at.pointer_sgpr && known.offset == at.offset) return known.value;
  return std::nullopt;
}

} // namespace lanewise::passes
