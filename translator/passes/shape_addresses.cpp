// Memory accesses by the shape of their addresses: what is the same for all lanes of a gang, or changes by a
// fixed stride, becomes a scalar address, so that neither a test nor a vector of addresses is left.
#include "runtime/wave.hpp"
#include "translator/ir/access.hpp"
#include "translator/ir/rows.hpp"
#include "translator/passes/gang_scalars.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/lane_steps.hpp"
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

namespace lanewise::passes {

using namespace ir;

namespace {

/// An address as a sum: strided 64-bit terms and what loops add, each shifted, a constant, and at most one
/// 32-bit index that is extended first.
struct Sum {
  struct Term {
    ValueId value; ///< strided V64, or a scalar
    unsigned shift;
    ValueId index{}; ///< strided V32, that extended is `value` but for a constant
  };
  std::vector<Term> terms;
  i64 stride = 0; ///< of all terms together
  u64 constant = 0;
  ValueId index; ///< V32, or invalid
  bool index_sign = false;
  unsigned scale = 0;
};

/// Private memory whose rows are in reach of a displacement.
constexpr u32 kMaxPrivateBytes = 1 << 20;

class Shaper {
public:
  Shaper(Function& f, unsigned gang_lanes, u32 lds_bytes, u32 private_bytes)
      : f_(f), cfg_(f), gang_lanes_(gang_lanes), lds_bytes_(lds_bytes), private_bytes_(private_bytes),
        shapes_(f, cfg_, gang_lanes), wave_shapes_(shapes_, cfg_, kWaveSize), scalars_(f, cfg_, shapes_),
        dom_(f, cfg_), ids_(f, gang_lanes) {}

  void run() {
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Load || f_[i].op == Op::Store || f_[i].op == Op::Atomic) visit(i);
    compare_lanes_alone();
    scalars_.finish();
  }

private:
  Function& f_;
  const Cfg cfg_;
  unsigned gang_lanes_;
  u32 lds_bytes_, private_bytes_;
  const LaneShapes shapes_, wave_shapes_;                 ///< with respect to the gang, and to the wave
  std::array<std::optional<LaneShapes>, 2> short_shapes_; ///< to 8 and 4 lanes of a gang; made when wanted
  std::array<std::optional<LaneStepFinder>, 2> step_finders_; ///< in a gang, and in 8 lanes of it
  GangScalars scalars_;
  const Dominators dom_;
  const IdValues ids_;
  std::optional<MaskFacts> masks_; ///< made when wanted

  void visit(InstId i) {
    if (f_[i].mem.form != AddressForm::Lanes) return;
    if (!shapes_[f_.operands(i)[0]].uniform()) {
      if (f_[i].mem.spread) return make_row(i, scalars_.first(f_.operands(i)[0]), 0);
      if (f_[i].op == Op::Atomic) return; // lane by lane anyway
    }
    switch (f_[i].mem.space) {
    case Space::Global: return global(i);
    case Space::Lds: return lds(i);
    case Space::Scratch: return scratch(i);
    default: return;
    }
  }

  /// Where lanes run alone (phases/last_lanes.cpp), what branches compare is compared as scalars: it is known
  /// sooner whether they go on.
  void compare_lanes_alone() {
    std::vector<BlockId> picks;
    for (const BlockId b : cfg_.rpo)
      if (std::ranges::any_of(f_[b].insts,
                              [&](InstId i) { return f_[i].op == Op::LaneOf || f_[i].op == Op::FirstLane; }))
        picks.push_back(b);
    if (picks.empty()) return;
    for (const BlockId b : cfg_.rpo) {
      const ValueId tested = f_.tested_mask(b);
      const InstId i = tested.valid() ? f_.def_id(tested) : InstId{};
      if (!i.valid() || f_[i].op != Op::ICmp || !is_vector(f_.type(f_.operands(i)[0])) || f_[i].block != b ||
          !shapes_[tested].uniform() ||
          std::ranges::none_of(picks, [&](BlockId pick) { return dom_.dominates(pick, b); }))
        continue;
      const auto x = f_.operands(i);
      const ValueId first = scalars_.gang_first(i, x[0]);
      f_.set_operands(i, std::array{first, scalars_.gang_first(i, f_.operands(i)[1])});
    }
  }

  /// What is no row in a gang may be one in each 8 or 4 lanes: where rows of work-items, or of tiles, are so
  /// long.
  void note_short_rows(InstId i, ValueId address) {
    if (note_places(i, address, shapes_)) return;
    const auto* shapes = short_shapes(i, address);
    if (shapes == nullptr) {
      if (short_shapes_[0]) note_places(i, address, *short_shapes_[0]);
      return;
    }
    f_[i].mem.short_row = static_cast<u8>(shapes->gang_lanes());
    f_[i].mem.short_stride = static_cast<i16>((*shapes)[address].stride);
    const bool indexed = f_[i].mem.form == AddressForm::Indexed;
    f_[i].mem.exact = indexed && shapes->is_exact(address, f_[i].mem.index_sign);
  }
  /// In so many lanes; null if it is no row in any number of them.
  const LaneShapes* short_shapes(InstId i, ValueId address) {
    if (f_[i].op == Op::Atomic) return nullptr;
    constexpr u8 kLanes[] = {8, 4};
    for (unsigned n = 0; n < 2; ++n) {
      if (gang_lanes_ <= kLanes[n]) continue;
      if (!short_shapes_[n]) short_shapes_[n].emplace(shapes_, cfg_, kLanes[n]);
      if (address.index >= short_shapes_[n]->num_values()) return nullptr;
      const LaneShape& s = (*short_shapes_[n])[address];
      if (s.strided() && fits_stride(s.stride)) return &*short_shapes_[n];
    }
    return nullptr;
  }

  /// What is no row because its lanes are shifted, or changed in bits that are known, lies near lane 0 at
  /// places that are known: elements that two lanes have in common, neighbours that change places.
  bool note_places(InstId i, ValueId address, const LaneShapes& shapes) {
    MemAttr& mem = f_[i].mem;
    const u32 lanes = shapes.gang_lanes();
    const unsigned scale = mem.form == AddressForm::Indexed ? mem.scale : 0;
    if (f_[i].op != Op::Load || mem.space != Space::Global || mem.bytes > 4 || scale > kMaxGatherScale ||
        mem.retry != 0 || mem.coherent)
      return false;
    auto& finder = step_finders_[lanes == gang_lanes_ ? 0 : 1];
    if (!finder) finder.emplace(f_, shapes);
    const LaneSteps* found = finder->of(address);
    if (found == nullptr) return false;
    const auto lane = std::span(found->of_lane).first(lanes);
    const i32 low = std::ranges::min(lane);
    LanePlaces places{.row = static_cast<u8>(lanes)};
    for (u32 l = 0; l < lanes; ++l) {
      const u32 bytes = static_cast<u32>(lane[l] - low) << scale;
      if (bytes % mem.bytes != 0 || bytes / mem.bytes >= lanes) return false;
      places.digits |= u64{bytes / mem.bytes} << (4 * l);
    }
    mem.places = f_.number_of(places);
    if (mem.places == 0) return false;
    mem.exact = mem.form == AddressForm::Indexed && finder->is_exact(*found, 32, mem.index_sign);
    return true;
  }

  static bool fits_stride(i64 stride) {
    return stride >= std::numeric_limits<i16>::min() && stride <= std::numeric_limits<i16>::max();
  }

  void set_address(InstId i, std::initializer_list<ValueId> address) {
    const auto old = f_.operands(i);
    std::vector<ValueId> operands(address);
    operands.insert(operands.end(), old.begin() + 1, old.end());
    f_.set_operands(i, operands);
  }
  void make_row(InstId i, ValueId address, i64 stride) {
    set_address(i, {address});
    f_[i].mem.form = AddressForm::Row;
    f_[i].mem.stride = static_cast<i16>(stride);
  }

  /// The stride of `v` holds from gang to gang, too.
  bool goes_on(ValueId v) const {
    if (is_uniform(f_.type(v))) return true;
    if (v.index >= shapes_.num_values()) return false; // How much a loop's vector has grown.
    return wave_shapes_[v].strided() && wave_shapes_[v].stride == shapes_[v].stride;
  }

  void lds(InstId i) {
    const ValueId address = f_.operands(i)[0];
    const LaneShape& s = shapes_[address];
    if (!s.strided()) {
      f_[i].mem.in_range = f_[i].op != Op::Atomic && is_inside(i);
      return note_short_rows(i, address);
    }
    if (s.stride < 0 || !fits_stride(s.stride)) return;
    f_[i].mem.in_range |= is_inside(i);
    f_[i].mem.masked_in_range = !f_[i].mem.in_range && are_lanes_inside(i, s.stride);
    f_[i].mem.wave_row = goes_on(address);
    const i64 stride = s.stride;
    make_row(i, f_[i].mem.in_range ? without_constants(i, address) : scalars_.first(address), stride);
  }

  /// In no lane the access to the LDS goes beyond its end.
  [[nodiscard]] bool is_inside(InstId i) const {
    const ValueId address = f_.operands(i)[0];
    const u64 behind = (f_[i].imm & 0xffff'ffff) + f_[i].mem.bytes;
    if (shapes_.limits().max(address) + behind <= lds_bytes_) return true;
    const auto* at = ids_.of(address);
    return at != nullptr && std::ranges::max(*at) + behind <= lds_bytes_;
  }

  /// In the lanes of its mask a load of a row without gaps does not, as in sums and scans over a tree, where
  /// those that take no part may be far outside.
  [[nodiscard]] bool are_lanes_inside(InstId i, i64 stride) const {
    constexpr i64 kAround = runtime::kBytesAroundLds;
    const i64 bytes = f_[i].mem.bytes;
    const u64 behind = (f_[i].imm & 0xffff'ffff) + f_[i].mem.bytes;
    if (f_[i].op != Op::Load || (bytes != 4 && bytes != 8) || stride != bytes) return false;
    const auto* at = ids_.of(f_.operands(i)[0]);
    const auto* mask = at != nullptr ? ids_.at_most(f_.operands(i).back()) : nullptr;
    if (mask == nullptr) return false;
    for (std::size_t lane = 0; lane < at->size(); ++lane) {
      const u64 end = (*at)[lane] + behind;
      if ((*mask)[lane] != 0 && end > lds_bytes_) return false;
      const i64 outside = i64{static_cast<i32>(end)}; // in front, or behind
      if (outside < bytes - kAround || outside > static_cast<i64>(lds_bytes_) + kAround) return false;
    }
    return true;
  }

  void scratch(InstId i) {
    const ValueId address = f_.operands(i)[0];
    if (!shapes_[address].uniform()) return;
    const u64 offset = f_[i].imm, bytes = f_[i].mem.bytes;
    const Limits limits = shapes_.limits().of(address);
    const bool aligned = ((limits.ones | offset) & (std::min<u64>(bytes, 4) - 1)) == 0;
    const u64 end = std::min(private_bytes_, kMaxPrivateBytes);
    f_[i].mem.in_range =
        f_[i].op != Op::Atomic && aligned && offset < end && limits.max + offset + bytes <= end;
    make_row(i, f_[i].mem.in_range ? without_constants(i, address) : scalars_.first(address), 0);
  }

  /// Moves what is added to the address to the offset, so that accesses from one base are known as such.
  ValueId without_constants(InstId i, ValueId address) {
    for (;;) {
      u64 bits = 0;
      if (f_.is_const(address, &bits)) {
        f_[i].imm += bits;
        return scalars_.constant(i, Type::U32, 0);
      }
      const ValueId rest = without_index_constant(address, f_.operands(i).back(), bits);
      if (rest == address || !shapes_[rest].strided() || shapes_[rest].stride != shapes_[address].stride)
        break;
      f_[i].imm += bits;
      address = rest;
    }
    return scalars_.first(address);
  }

  /// In the lanes of `mask`, `v` = rest + constant, where the rest is returned; `v` itself if it is no such
  /// sum.
  ValueId without_constant(ValueId v, ValueId mask, u64& constant) {
    const InstId sum = f_.def_id(v);
    if (!sum.valid() || (f_[sum].op != Op::Add && f_[sum].op != Op::Or)) return v;
    const auto x = f_.operands(sum);
    const unsigned which = f_.is_const(x[0]) ? 0 : 1;
    if (!f_.is_const(x[which], &constant)) return v;
    const ValueId rest = behind_selects(x[1 - which], mask);
    return f_[sum].op == Op::Add || (shapes_.limits().ones(rest) & constant) == 0 ? rest : v;
  }

  /// Likewise of 32 bits, if the sum does not wrap: it may be extended, or the LDS end behind it.
  ValueId without_index_constant(ValueId v, ValueId mask, u64& constant) {
    const ValueId rest = without_constant(v, mask, constant);
    return rest != v && shapes_.limits().max(rest) + constant <= 0xffff'ffff ? rest : v;
  }

  /// The scalar p of a vector splat(p + constant); else nothing.
  ValueId offset_pointer(ValueId v, ValueId mask, u64& constant) {
    const Inst* splat = f_.def(v);
    if (splat == nullptr || splat->op != Op::Splat) return {};
    const ValueId sum = f_.operands(f_.def_id(v))[0], rest = without_constant(sum, mask, constant);
    return rest != sum ? rest : ValueId{};
  }

  /// Accesses from one base that are no rows are known as such, too: records are stored as streams then
  /// (a kernel of 96 bytes per work-item in blocks of 8 x 4 x 2 2.8 times faster).
  ValueId without_constants_of_any(InstId i) {
    ValueId address = f_.operands(i)[0];
    while (!shapes_[address].strided()) {
      u64 constant = 0;
      const ValueId rest = without_constant(address, f_.operands(i).back(), constant);
      const auto offset = offset_with(i, constant);
      if (rest == address || !offset) break;
      f_[i].imm = *offset;
      set_address(i, {rest});
      address = rest;
    }
    return address;
  }

  /// The access's offset with what is added to its address, if that leaves room for what rows and wide
  /// elements add.
  [[nodiscard]] std::optional<u64> offset_with(InstId i, u64 constant) const {
    constexpr i64 kMaxOffset = 1 << 30;
    const u64 offset = static_cast<u64>(ir::offset(f_[i])) + constant;
    const auto distance = static_cast<i64>(offset);
    return distance < -kMaxOffset || distance > kMaxOffset ? std::nullopt : std::optional(offset);
  }

  void global(InstId i) {
    const ValueId address = without_constants_of_any(i);
    Sum sum;
    if (!add(sum, address, 0, f_.operands(i).back())) return note_short_rows(i, address);
    if (!fits_stride(sum.stride)) return;
    const auto offset = offset_with(i, sum.constant);
    if (!offset) {
      if (f_[i].mem.spread) make_row(i, scalars_.first(address), 0);
      return;
    }
    const bool base_goes_on =
        std::all_of(sum.terms.begin(), sum.terms.end(), [&](const Sum::Term& t) { return goes_on(t.value); });
    if (!sum.index.valid()) {
      f_[i].imm = *offset;
      f_[i].mem.wave_row = base_goes_on;
      return make_row(i, base(i, sum), sum.stride);
    }
    if (sum.stride != 0) return;
    const LaneShape& index = shapes_[sum.index];
    const bool strided = index.strided() && fits_stride(index.stride);
    if (sum.scale > 8) return; // Offsets fit into 32 bits.
    const bool gathers_scale = sum.scale <= kMaxGatherScale;
    if (!strided && !gathers_scale && short_shapes(i, sum.index) == nullptr) return;
    if (strided) f_[i].mem.stride = static_cast<i16>(index.stride);
    f_[i].mem.wave_row = strided && base_goes_on && goes_on(sum.index);
    f_[i].imm = *offset;
    const ValueId index_operand = strided ? scalars_.first(sum.index) : sum.index;
    set_address(i, {base(i, sum), index_operand});
    f_[i].mem.form = strided ? AddressForm::Wrapped : AddressForm::Indexed;
    // Indices that cannot be negative are the same either way; the hardware's gathers extend the sign.
    f_[i].mem.index_sign = sum.index_sign || (!strided && shapes_.limits().max(sum.index) >> 31 == 0);
    f_[i].mem.scale = static_cast<u8>(sum.scale);
    if (!strided) note_short_rows(i, sum.index);
    if (!strided && gathers_scale && f_[i].op == Op::Load)
      f_[i].mem.table = table_dwords(sum, f_[i].mem.bytes);
  }

  /// How far from the base elements may end, if that is not far and none lies across dwords; else 0.
  u8 table_dwords(const Sum& sum, unsigned bytes) const {
    const unsigned most = gang_lanes_ == 16 ? 256 : 64; // what permutations can take from
    const Limits limits = shapes_.limits().of(sum.index);
    const u64 end = limits.max < most ? (limits.max << sum.scale) + bytes : most + 1;
    const bool aligned = ((limits.ones << sum.scale) & (std::min(bytes, 4u) - 1)) == 0;
    return end <= most && aligned ? static_cast<u8>((end + 3) / 4) : u8{0};
  }

  /// What `v` is in the lanes of `mask`, if selects take the same for all of them.
  ValueId behind_selects(ValueId v, ValueId mask) {
    for (;;) {
      const Inst* select = f_.def(v);
      if (select == nullptr || select->op != Op::Select) return v;
      const auto x = f_.operands(f_.def_id(v));
      if (f_.type(x[0]) != Type::Mask) return v;
      if (!masks_) masks_.emplace(f_, cfg_, dom_);
      if (!masks_->implies(mask, x[0])) return v;
      v = x[1];
    }
  }

  /// (index + constant, extended) << shift; the sum does not wrap.
  struct ExtendedIndex {
    ValueId extended, index;
    u64 constant = 0, shift = 0;
  };
  [[nodiscard]] std::optional<ExtendedIndex> extended_index(ValueId v) const {
    if (!is_vector(f_.type(v))) return std::nullopt;
    ExtendedIndex found;
    found.extended = v;
    const Inst* def = f_.def(v);
    if (def != nullptr && def->op == Op::Shl && f_.is_const(f_.operands(f_.def_id(v))[1], &found.shift))
      def = f_.def(found.extended = f_.operands(f_.def_id(v))[0]);
    if (def == nullptr || def->op != Op::ZExt || found.shift >= 32) return std::nullopt;
    const ValueId sum = f_.operands(f_.def_id(found.extended))[0];
    const Inst* with = f_.def(sum);
    if (with == nullptr || (with->op != Op::Add && with->op != Op::Or)) return std::nullopt;
    const auto x = f_.operands(f_.def_id(sum));
    const unsigned which = f_.is_const(x[0]) ? 0 : 1;
    found.index = x[1 - which];
    if (!f_.is_const(x[which], &found.constant) || !shapes_[found.index].strided()) return std::nullopt;
    const Limits limits = shapes_.limits().of(found.index);
    if (with->op == Op::Or && (limits.ones & found.constant) != 0) return std::nullopt;
    if (limits.max + found.constant > 0xffff'ffff) return std::nullopt;
    return found;
  }
  /// Adds what extended_index() has found in `v`, shifted.
  bool add_index(Sum& sum, ValueId v, const ExtendedIndex& x, unsigned shift) {
    if (shift >= 32) return false;
    sum.stride += static_cast<i64>(static_cast<u64>(shapes_[v].stride) << shift);
    const auto all = static_cast<unsigned>(shift + x.shift);
    sum.constant += x.constant << all;
    sum.terms.push_back({x.extended, all, x.index});
    return true;
  }

  /// Adds (v << shift) as it is in the lanes of `mask` to the sum; false if that has no such form.
  bool add(Sum& sum, ValueId v, unsigned shift, ValueId mask) {
    if (shapes_[v].strided() && is_wide(f_.type(v))) {
      // Constants go to the access's offset: those from one base are then known as such, and need no address
      // of their own.
      u64 constant = 0;
      if (const ValueId rest = without_constant(v, mask, constant); rest != v) {
        sum.constant += constant << shift;
        return add(sum, rest, shift, mask);
      }
      const Inst* def = f_.def(v);
      if (const auto index = extended_index(v)) return add_index(sum, v, *index, shift);
      if (def != nullptr && def->op == Op::Add)
        for (const ValueId x : f_.operands(f_.def_id(v)))
          if (without_constant(x, mask, constant) != x || offset_pointer(x, mask, constant).valid() ||
              extended_index(x))
            return add(sum, f_.operands(f_.def_id(v))[0], shift, mask) &&
                   add(sum, f_.operands(f_.def_id(v))[1], shift, mask);
    }
    u64 offset = 0;
    if (const ValueId scalar = offset_pointer(v, mask, offset); scalar.valid()) {
      sum.constant += offset << shift;
      sum.terms.push_back({scalar, shift});
      return true;
    }
    if (shapes_[v].strided()) {
      sum.terms.push_back({v, shift});
      sum.stride += static_cast<i64>(static_cast<u64>(shapes_[v].stride) << shift);
      return true;
    }
    const InstId i = f_.def_id(v);
    if (!i.valid()) {
      const auto induction = scalars_.induction(v);
      if (!induction) return false;
      sum.terms.push_back({induction->growth, shift});
      return add(sum, induction->start, shift, mask);
    }
    const auto x = f_.operands(i);
    u64 n = 0;
    switch (f_[i].op) {
    case Op::Add: return add(sum, x[0], shift, mask) && add(sum, f_.operands(i)[1], shift, mask);
    case Op::Shl:
      return f_.is_const(x[1], &n) && n + shift < 32 &&
             add(sum, x[0], shift + static_cast<unsigned>(n), mask);
    case Op::Select:
      if (const ValueId taken = behind_selects(v, mask); taken != v) return add(sum, taken, shift, mask);
      return false;
    case Op::ZExt:
    case Op::SExt:
      if (sum.index.valid()) return false;
      sum.index = behind_selects(x[0], mask);
      for (u64 constant = 0; f_[i].op == Op::ZExt;) {
        const ValueId rest = without_index_constant(sum.index, mask, constant);
        if (rest == sum.index) break;
        sum.constant += constant << shift;
        sum.index = rest;
      }
      sum.index_sign = f_[i].op == Op::SExt;
      sum.scale = shift;
      return true;
    default: return false;
    }
  }

  ValueId base(InstId i, const Sum& sum) {
    ValueId total;
    for (const Sum::Term& t : sum.terms) {
      ValueId term = is_scalar(f_.type(t.value)) ? t.value
                     : t.index.valid()           ? scalars_.extended(i, scalars_.first(t.index))
                                                 : scalars_.first(t.value);
      if (t.shift != 0) term = scalars_.op(i, Op::Shl, term, scalars_.constant(i, Type::U32, t.shift));
      total = total.valid() ? scalars_.op(i, Op::Add, total, term) : term;
    }
    return total.valid() ? total : scalars_.constant(i, Type::U64, 0);
  }
};

} // namespace

void shape_addresses(Function& f, unsigned gang_lanes, u32 lds_bytes, u32 private_bytes) {
  Shaper(f, gang_lanes, lds_bytes, private_bytes).run();
}

} // namespace lanewise::passes
