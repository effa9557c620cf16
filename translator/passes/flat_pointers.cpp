#include "translator/passes/flat_pointers.hpp"

#include "runtime/wave.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/value_limits.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

/// What a value may have in it, as bits: an aperture, or a pointer to memory where there is one.
enum : u8 { kPrivate = 1, kShared = 2, kLeadsThere = 4 };

/// What `v` is in `lanes`, as far as selects by these lanes or more are concerned.
ValueId seen_in(const Function& f, ValueId v, ValueId lanes) {
  const auto is_inside = [&](ValueId mask) {
    for (ValueId m = lanes;;) {
      if (m == mask) return true;
      const Inst* inst = f.def(m);
      if (inst == nullptr || (inst->op != Op::And && inst->op != Op::AndNot)) return false;
      const auto x = f.operands(f.def_id(m));
      if (inst->op == Op::And && x[1] == mask) return true;
      m = x[0];
    }
  };
  for (const Inst* inst = f.def(v); inst != nullptr && inst->op == Op::Select; inst = f.def(v)) {
    const auto x = f.operands(f.def_id(v));
    if (f.type(x[0]) != Type::Mask || !is_inside(x[0])) break;
    v = x[1];
  }
  return v;
}

bool is_flat(const Inst& inst) { return info(inst.op).is(kMemory) && inst.mem.space == Space::Flat; }

class FlatPointers {
public:
  FlatPointers(Function& f, const Extents* granted, const MaskedLimits* masked)
      : f_(f), granted_(granted), masked_(masked) {}

  std::vector<InstId> resolve() {
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts)
        if (is_flat(f_[i])) accesses_.push_back(i);
    if (masked_ == nullptr) std::erase_if(accesses_, [&](InstId i) { return make_private(i); });
    if (accesses_.empty()) return {};
    limits_.emplace(f_, true);
    if (masked_ == nullptr || sees_masks())
      std::erase_if(accesses_, [&](InstId i) { return resolve_by_limits(i); });
    if (accesses_.empty()) return {};
    find_tainted();
    std::vector<InstId> may_be_private;
    for (const InstId i : accesses_) {
      unsigned steps = kMaxSteps;
      const ValueId address = f_.operands(i)[0], lanes = f_.operands(i).back();
      u8 taint = taint_in(address, lanes, steps);
      if (masked_ != nullptr && taint != 0) taint = taint_in(address, masked_->lanes(lanes, f_[i].block));
      if ((taint & (kPrivate | kShared)) == 0) f_[i].mem.space = Space::Global;
      if (f_[i].mem.space == Space::Flat && addresses(i).last < runtime::kPrivateAperture)
        f_[i].mem.public_only = true;
      if ((taint & kPrivate) != 0 && !f_[i].mem.public_only) may_be_private.push_back(i);
    }
    return may_be_private;
  }

private:
  static constexpr unsigned kMaxSteps = 64, kMaxMaskedSteps = 256;

  Function& f_;
  const Extents* const granted_; ///< null: nothing is
  const MaskedLimits* const masked_;
  std::vector<InstId> accesses_;
  std::optional<ValueLimits> limits_;
  std::vector<u8> tainted_;              ///< per value
  std::unordered_map<u64, u8> in_dword_; ///< what may be in private memory, where it is known
  u8 somewhere_ = 0;                     ///< and where it is not
  u8 in_private_ = 0;                    ///< all of that
  u8 in_memory_ = 0;                     ///< what may be in all other memory

  /// An address of which the high half is the private aperture.
  bool make_private(InstId i) {
    const ValueId address = f_.operands(i)[0], lanes = f_.operands(i).back();
    ValueId low;
    if (const auto bits = constant_in(f_, address, lanes);
        bits && *bits >> 32 == runtime::kPrivateApertureHigh) {
      low = f_.entry_constant(Type::V32, *bits & 0xffff'ffffu);
    } else if (const Inst* def = f_.def(address); def != nullptr && def->op == Op::Join) {
      const auto half = f_.operands(f_.def_id(address));
      if (constant_in(f_, half[1], lanes) == runtime::kPrivateApertureHigh) low = half[0];
    }
    if (!low.valid()) return false;
    f_.operands(i)[0] = low;
    f_[i].mem.space = Space::Scratch;
    return true;
  }

  /// While pointers are followed, `masked_` is asked about those, and does not answer any number of
  /// questions.
  [[nodiscard]] bool sees_masks() const { return masked_ != nullptr && granted_ == nullptr; }

  struct Range {
    u64 first, last;
  };
  /// The bytes that may be accessed, where no sum wraps; else all.
  [[nodiscard]] Range addresses(InstId i) const {
    const ValueId address = seen_in(f_, f_.operands(i)[0], f_.operands(i).back());
    Limits limits = limits_->of(address);
    if (sees_masks())
      if (const auto r = masked_->sum(address, f_.operands(i).back(), f_[i].block);
          r && r->min >= 0 && masked_->is_reliable()) {
        limits.min = std::max(limits.min, static_cast<u64>(r->min));
        limits.max = std::min(limits.max, static_cast<u64>(r->max));
      }
    const i64 offset = static_cast<i32>(f_[i].imm);
    constexpr u64 kFar = u64{1} << 62;
    if (limits.max >= kFar || static_cast<i64>(limits.min) + offset < 0) return {0, ~u64{0}};
    return {limits.min + static_cast<u64>(offset),
            limits.max + static_cast<u64>(offset) + f_[i].mem.bytes - 1};
  }
  /// An address whose limits say which memory it means, as of an array in the LDS whose index is small.
  bool resolve_by_limits(InstId i) {
    const Range range = addresses(i);
    if (range.last < runtime::kSharedAperture) {
      f_[i].mem.space = Space::Global;
      return true;
    }
    const bool is_shared =
        range.first >= runtime::kSharedAperture && range.last - runtime::kSharedAperture <= 0xffff'ffff;
    if (!is_shared || static_cast<i32>(f_[i].imm) < 0) return false; // the LDS's offsets are unsigned
    const ValueId address = seen_in(f_, f_.operands(i)[0], f_.operands(i).back());
    if (!suits_lds(f_[i], limits_->ones(address) | f_[i].imm)) return false;
    make_access_by_low_half(f_, i, address, Space::Lds);
    return true;
  }

  void find_tainted() {
    tainted_.assign(f_.num_values(), 0);
    const Cfg cfg(f_);
    // Values are defined before they are used: only what a loop hands on, and memory, is used before.
    for (bool again = true; again;) {
      again = false;
      const auto add = [&](u8& to, u8 taint, bool is_used_before) {
        if ((to | taint) == to) return;
        to |= taint;
        again |= is_used_before;
      };
      const auto add_to = [&](ValueId v, u8 taint, bool is_used_before) {
        const bool is_pointer = f_.type(v) != Type::Mask && f_.type(v) != Type::U1; // or part of one
        if (taint != 0 && is_pointer) add(tainted_[v.index], taint, is_used_before);
      };
      for (const BlockId b : cfg.rpo) {
        for (const InstId i : f_[b].insts) {
          if (info(f_[i].op).is(kStores)) {
            u8 data = 0;
            for (const ValueId v : f_.operands(i).subspan(std::min<std::size_t>(1, f_[i].num_operands)))
              data |= taint(v);
            const Space space = f_[i].mem.space;
            if (space == Space::Scratch || space == Space::Flat) {
              add(in_private_, data, true);
              if (data != 0 && !each_dword(i, [&](u64 d) { add(in_dword_[d], data, true); }))
                add(somewhere_, data, true);
            }
            if (space != Space::Scratch) add(in_memory_, data, true);
          }
          if (f_[i].num_results == 0) continue;
          const u8 result = of_result(i);
          for (unsigned r = 0; r < f_[i].num_results; ++r) add_to(f_.result(i, r), result, false);
        }
        for (const Successor& s : f_[b].successors) {
          const bool is_back = cfg.rpo_index[s.block.index] <= cfg.rpo_index[b.index];
          for (std::size_t a = 0; a < s.args.size(); ++a)
            add_to(f_[s.block].params[a], taint(s.args[a]), is_back);
        }
      }
    }
  }

  [[nodiscard]] u8 taint(ValueId v) const { return tainted_[v.index]; }

  /// What `v` may have in it in `lanes`: less than in others, where registers hold what was there before.
  [[nodiscard]] u8 taint_in(ValueId v, ValueId lanes, unsigned& steps) const {
    v = seen_in(f_, v, lanes);
    if (!is_combined(v) || steps == 0) return taint(v);
    --steps;
    u8 all = of_carry(*f_.def(v), f_.operands(f_.def_id(v)));
    for_each_operand(
        v, [&](ValueId x, bool is_whole) { all |= is_whole ? taint(x) : taint_in(x, lanes, steps); });
    return all;
  }

  /// Likewise, also of what loops hand on: the taint of all that gets into it in these lanes.
  [[nodiscard]] u8 taint_in(ValueId value, MaskedLimits::Lanes where) const {
    std::set<std::tuple<u32, Bdd::Node, u32>> known;
    std::vector<std::pair<ValueId, MaskedLimits::Lanes>> work;
    u8 all = 0;
    const auto add = [&](ValueId v, MaskedLimits::Lanes lanes) {
      v = masked_->seen(v, lanes);
      if (taint(v) != 0 && known.emplace(v.index, lanes.set, lanes.at.index).second)
        work.emplace_back(v, lanes);
    };
    add(value, where);
    while (!work.empty()) {
      if (known.size() > kMaxMaskedSteps || !masked_->is_reliable()) return taint(value);
      const auto [v, lanes] = work.back();
      work.pop_back();
      if (masked_->for_each_source(v, lanes, add)) continue;
      if (is_combined(v)) {
        all |= of_carry(*f_.def(v), f_.operands(f_.def_id(v)));
        for_each_operand(v, [&, lanes = lanes](ValueId x, bool is_whole) {
          if (is_whole)
            all |= taint(x);
          else
            add(x, lanes);
        });
      } else {
        all |= taint(v);
      }
    }
    return masked_->is_reliable() ? all : taint(value);
  }

  /// `v` has what its operands have.
  [[nodiscard]] bool is_combined(ValueId v) const {
    const Inst* inst = f_.def(v);
    return inst != nullptr && info(inst->op).is(kPure) && inst->num_operands != 0 && taint(v) != 0;
  }
  /// Calls use(operand, whether it is looked at in all lanes).
  template <class F>
  void for_each_operand(ValueId v, F use) const {
    for (unsigned n = 0; n < f_.def(v)->num_operands; ++n)
      use(f_.operands(f_.def_id(v))[n], info(f_.def(v)->op).reads_whole(n));
  }

  [[nodiscard]] u8 of_result(InstId i) const {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    switch (inst.op) {
    case Op::Const:
      return of_high(inst.imm & 0xffff'ffffu) | of_high(inst.imm >> 32) |
             (is_wide(f_.type(f_.result(i))) ? of_high_below(inst.imm >> 32) : 0);
    case Op::FrameField: return inst.imm == offsetof(runtime::WaveFrame, mem_bases) ? kPrivate | kShared : 0;
    case Op::InitSgpr: return of_pointer(static_cast<u32>(inst.imm));
    case Op::ScalarLoad:
      if (const auto at = initial_address(f_, x[0]); at && f_.is_const(x[1]))
        return of_dwords(at->pointer_sgpr, at->offset + f_.def(x[1])->imm, inst.num_results);
      break;
    default: break;
    }
    u8 all = of_carry(inst, x);
    for (const ValueId v : x) all |= taint(v);
    if (!info(inst.op).is(kLoads)) return all;
    const bool from_start = (all & kLeadsThere) != 0;
    const bool private_only = inst.mem.space == Space::Scratch && info(inst.op).is(kMemory);
    const bool anywhere = inst.mem.space == Space::Flat && !inst.mem.public_only && info(inst.op).is(kMemory);
    return (from_start ? kPrivate | kShared : 0) | (private_only || anywhere ? loaded(i) : 0) |
           (private_only ? 0 : in_memory_);
  }

  /// What is loaded from private memory may have in it.
  [[nodiscard]] u8 loaded(InstId i) const {
    u8 all = somewhere_;
    const auto add = [&](u64 dword) {
      if (const auto known = in_dword_.find(dword); known != in_dword_.end()) all |= known->second;
    };
    return in_private_ == 0 || each_dword(i, add) ? all : in_private_;
  }

  /// Calls f(dword) for what an access to private memory touches, if that is known.
  template <class F>
  bool each_dword(InstId i, F f) const {
    if (granted_ == nullptr || f_[i].mem.space != Space::Scratch) return false;
    u64 first = 0, end = 0;
    if (const auto known = granted_->find(i.index); known != granted_->end()) {
      first = known->second.first, end = known->second.end;
    } else if (f_.is_const(f_.operands(i)[0], &first)) {
      first += f_[i].imm;
      end = first + f_[i].mem.bytes;
    } else {
      return false;
    }
    for (u64 dword = first / 4; dword < (end + 3) / 4; ++dword) f(dword);
    return true;
  }

  static u8 of_high(u64 bits) {
    return bits == runtime::kPrivateApertureHigh  ? kPrivate
           : bits == runtime::kSharedApertureHigh ? kShared
                                                  : 0;
  }
  /// Of the high half of a constant that is an aperture and a negative offset: a carry is still to come.
  static u8 of_high_below(u64 bits) { return of_high(bits + 1); }
  /// What an addition makes of high halves, one of them such a constant; nothing for other operations.
  [[nodiscard]] u8 of_carry(const Inst& inst, std::span<const ValueId> operands) const {
    u8 all = 0;
    if (inst.op != Op::Add) return all;
    for (const ValueId v : operands)
      if (u64 bits = 0; !is_wide(f_.type(v)) && f_.is_const(v, &bits)) all |= of_high_below(bits);
    return all;
  }
  /// Of an initial SGPR.
  [[nodiscard]] u8 of_pointer(u32 sgpr) const { return of_dwords(sgpr, 0, ~u32{0}) != 0 ? kLeadsThere : 0; }
  [[nodiscard]] u8 of_dwords(u32 sgpr, u64 first, u64 count) const {
    // From gfx900 on, apertures are in registers.
    if (f_.target < isa::Target::gfx900 && !f_.launch.knows_apertures) return kPrivate | kShared;
    u8 all = 0;
    for (const auto& known : f_.launch.dwords)
      if (known.pointer_sgpr == sgpr && known.offset + 4 > first && known.offset < first + 4 * count)
        all |= of_high(known.value);
    return all;
  }
};

} // namespace

bool suits_lds(const Inst& access, u64 ones) {
  return access.op != Op::Atomic || (ones & (access.mem.bytes - 1u)) == 0;
}

void make_access_by_low_half(Function& f, InstId i, ValueId address, Space space) {
  Inst proto;
  proto.op = Op::Lo;
  proto.pc = f[i].pc;
  const Type type = Type::V32;
  const InstId low = f.insert_before(i, proto, {&address, 1}, {&type, 1});
  f.operands(i)[0] = f.result(low);
  f[i].mem.space = space;
}

std::optional<u64> constant_in(const Function& f, ValueId v, ValueId lanes, unsigned depth) {
  v = seen_in(f, v, lanes);
  const Inst* inst = f.def(v);
  if (inst == nullptr || inst->num_operands > 2 || depth == 0) return std::nullopt;
  const u64 all = constant_bits(f.type(v));
  if (inst->op == Op::Const) return inst->imm & all;
  if (!info(inst->op).is(kPure)) return std::nullopt;
  std::array<u64, 2> x = {};
  for (unsigned n = 0; n < inst->num_operands; ++n) {
    const auto bits = constant_in(f, f.operands(f.def_id(v))[n], lanes, depth - 1);
    if (!bits) return std::nullopt;
    x[n] = *bits;
  }
  switch (inst->op) {
  case Op::Splat:
  case Op::ZExt: return x[0];
  case Op::Lo: return x[0] & 0xffff'ffffu;
  case Op::Hi: return x[0] >> 32;
  case Op::Join: return x[0] | x[1] << 32;
  case Op::Add: return (x[0] + x[1]) & all;
  case Op::Or: return x[0] | x[1];
  case Op::And: return x[0] & x[1];
  default: return std::nullopt;
  }
}

std::vector<InstId> resolve_flat_accesses(Function& f, const Extents* granted, const MaskedLimits* masked) {
  return FlatPointers(f, granted, masked).resolve();
}

bool resolve_masked_flat_accesses(Function& f) {
  const auto count = [&] {
    std::size_t n = 0;
    for (const Block& block : f.blocks)
      n += static_cast<std::size_t>(
          std::ranges::count_if(block.insts, [&](InstId i) { return is_flat(f[i]); }));
    return n;
  };
  const std::size_t before = count();
  if (before == 0) return false;
  const MaskedLimits masked(f);
  (void)resolve_flat_accesses(f, nullptr, &masked);
  return count() != before;
}

} // namespace lanewise::passes
