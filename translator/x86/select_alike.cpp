// Elements of 8 and 16 bytes whose components are all treated alike: vectors added to vectors, pixels scaled
// by one number. A register per component takes a transposition of what memory has, and another one to store
// it. But if each component goes through the same operations, with operands that are of the same component or
// the same everywhere, it does not matter which register has which: they can hold the elements as they lie in
// memory. So those loads and stores leave out their transpositions, if all that their values get to agrees.
#include "translator/x86/selector.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace lanewise::x86 {

namespace {

/// Consecutive elements of several components, of all lanes.
bool is_whole_row(const ir::Function& f, InstId i) {
  const ir::Inst& inst = f[i];
  const ir::MemAttr& mem = inst.mem;
  return (inst.op == Op::Load || inst.op == Op::Store) && mem.space == ir::Space::Global &&
         mem.form == ir::AddressForm::Row && mem.retry == 0 && !mem.spread &&
         (mem.bytes == 8 || mem.bytes == 16) && mem.stride == static_cast<i64>(mem.bytes) &&
         f.is_full(f.operands(i).back());
}

std::span<const ValueId> stored_values(const ir::Function& f, InstId store) {
  const auto x = f.operands(store);
  const unsigned first = ir::address_operands(f[store].mem);
  return x.subspan(first, x.size() - first - 1);
}

/// The groups of values of a phase that are alike: one value for each component, all made by one load or by
/// the same operation on groups.
class AlikeFinder {
public:
  explicit AlikeFinder(const ir::Function& f) : f_(f) {}

  void visit(InstId i) {
    if (is_whole_row(f_, i)) return f_[i].op == Op::Load ? load(i) : store(i);
    const auto is_part = [&](ValueId v) { return parts_.contains(v); };
    if (f_[i].num_results == 1 && is_lanewise(f_[i].op) && std::ranges::any_of(f_.operands(i), is_part))
      operation(i);
  }

  /// The loads and stores of groups of which nobody else looks at a part; `is_private` tells of a value with
  /// a number of users whether these are all.
  template <class F>
  std::vector<InstId> find(F is_private) {
    for (Group& g : groups_)
      for (u32 c = 0; c < g.components && !is_store(g); ++c)
        g.alike &= g.values[c].valid() && is_private(g.values[c], g.uses[c]);
    for (bool changed = true; changed;) {
      changed = false;
      for (Group& g : groups_) {
        if (!g.alike || std::ranges::all_of(g.neighbours, [&](u32 n) { return groups_[n].alike; })) continue;
        g.alike = false;
        changed = true;
      }
    }
    std::vector<InstId> found;
    for (const Group& g : groups_)
      if (g.alike && g.access.valid()) found.push_back(g.access);
    return found;
  }

private:
  static constexpr u32 kNone = ~0u;
  struct Group {
    u32 components = 0;
    InstId access;                   ///< a load, or a store, which has no values; none of an operation
    std::array<ValueId, 4> values{}; ///< by component
    std::array<u32, 4> uses{};       ///< in groups
    std::vector<u32> neighbours;     ///< that are alike only together
    bool alike = true;
  };
  struct Part {
    u32 group = kNone, component = 0;
  };
  /// A group, or what is the same in all lanes: a value, or a constant's bits.
  using Source = std::tuple<u32, u32, u64>;
  using Operation = std::tuple<Op, u64, u64, ir::Type, std::vector<Source>>;

  const ir::Function& f_;
  std::vector<Group> groups_;
  std::map<ValueId, Part> parts_;
  std::map<Operation, u32> operations_;

  [[nodiscard]] bool is_store(const Group& g) const {
    return g.access.valid() && f_[g.access].op == Op::Store;
  }
  u32 add_group(u32 components, InstId access = {}) {
    Group& g = groups_.emplace_back();
    g.components = components;
    g.access = access;
    return static_cast<u32>(groups_.size() - 1);
  }
  void connect(u32 a, u32 b) {
    groups_[a].neighbours.push_back(b);
    groups_[b].neighbours.push_back(a);
  }

  void load(InstId i) {
    const u32 count = f_[i].num_results;
    if (count < 2) return;
    const u32 g = add_group(count, i);
    for (u32 c = 0; c < count; ++c) {
      groups_[g].values[c] = f_.result(i, c);
      parts_[f_.result(i, c)] = {g, c};
    }
  }

  void store(InstId i) {
    const auto data = stored_values(f_, i);
    u32 of = kNone;
    for (u32 c = 0; c < data.size(); ++c) {
      const auto at = parts_.find(data[c]);
      if (at == parts_.end() || at->second.component != c || (c != 0 && at->second.group != of)) return;
      of = at->second.group;
    }
    if (of == kNone || groups_[of].components != data.size()) return;
    for (u32 c = 0; c < data.size(); ++c) ++groups_[of].uses[c];
    connect(of, add_group(static_cast<u32>(data.size()), i));
  }

  /// Is part of the group that the same operation on other components has, or the first one of it.
  void operation(InstId i) {
    std::vector<Source> sources;
    u32 component = kNone, components = 0;
    for (const ValueId v : f_.operands(i)) {
      const auto at = parts_.find(v);
      if (at == parts_.end()) {
        if (!is_same_everywhere(v)) return;
        u64 bits = 0;
        const bool constant = f_.is_const(v, &bits);
        sources.emplace_back(kNone, constant ? kNone - static_cast<u32>(f_.type(v)) : v.index, bits);
        continue;
      }
      const auto [group, c] = at->second;
      if (component != kNone && (c != component || groups_[group].components != components)) return;
      component = c;
      components = groups_[group].components;
      sources.emplace_back(group, 0, 0);
    }
    const ValueId result = f_.result(i);
    const ir::Inst& inst = f_[i];
    if (ir::info(inst.op).is(ir::kCommutes) && sources[1] < sources[0]) std::swap(sources[0], sources[1]);
    const auto [known, is_new] =
        operations_.try_emplace({inst.op, inst.imm, mode(inst.fp), f_.type(result), sources}, 0);
    if (is_new) {
      known->second = add_group(components);
      for (const auto& source : sources)
        if (const u32 group = std::get<0>(source); group != kNone) connect(group, known->second);
    }
    Group& g = groups_[known->second];
    if (g.values[component].valid()) return; // Once more the same: a use that nobody counts.
    g.values[component] = result;
    parts_[result] = {known->second, component};
    for (const auto& source : sources)
      if (const u32 group = std::get<0>(source); group != kNone) ++groups_[group].uses[component];
  }
  [[nodiscard]] bool is_same_everywhere(ValueId v) const {
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return f_.type(v) != Type::Mask || bits == 0 || bits == ~u64{0};
    const ir::Inst* def = f_.def(v);
    return ir::is_uniform(f_.type(v)) || (def != nullptr && def->op == Op::Splat);
  }
  static u64 mode(const ir::FpAttr& fp) {
    u64 bits = static_cast<u64>(fp.kind) << 8 | static_cast<u64>(fp.round) << 16;
    for (const bool b : {fp.flush_in, fp.flush_out, fp.ieee, fp.dx10_clamp}) bits = bits * 2 + (b ? 1 : 0);
    return bits;
  }
};

} // namespace

/// Finds those of the phase.
void Selector::find_alike() {
  bool loads = false, stores = false;
  const auto& blocks = plan_.phases[phase_].blocks;
  for (const IrBlockId b : blocks)
    for (const InstId i : f_[b].insts) {
      alike_[i.index] = false;
      if (!is_whole_row(f_, i)) continue;
      (f_[i].op == Op::Load ? loads : stores) = true;
    }
  if (!loads || !stores) return;
  AlikeFinder finder(f_);
  for (const IrBlockId b : blocks)
    for (const InstId i : f_[b].insts) finder.visit(i);
  for (const InstId i :
       finder.find([&](ValueId v, u32 uses) { return uses == use_counts_[v.index] && !frame_.has_slot(v); }))
    alike_[i.index] = true;
}

} // namespace lanewise::x86
