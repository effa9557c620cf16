// Lanes that add to one float, with a compare-and-swap that they retry (passes/retry_loops.cpp), are in each
// other's way: each time round one of them gets through. But it is known who: the lowest that is left, and
// then all others find what it wrote. So what a lane finds need not go through memory:
//
//   choose:  the lanes that go where the lowest that is left goes; is it alone, then a round for all
//   check:   likewise if an address may be beyond the LDS's end, where nothing is kept, or not aligned, which
//            swaps do not mind and loads do
//   begin:   what is there
//   link:    what the next lane writes there, if it finds what the one before has written; for each lane
//   commit:  one compare-and-swap, of what was there by what the last one writes; if another thread came
//            between, once more
//   next:    the other lanes, or what is behind the loop
//
// The lowest lane that is left goes first as in the loop itself, so that is whom a fault is of.
#include "translator/phases/retry_chains.hpp"
#include "runtime/wave.hpp"
#include "translator/ir/copy.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;
using passes::RetryLoop;
using Carried = RetryLoop::Carried;

namespace {

constexpr unsigned kMaxDepth = 8; ///< of addresses that are looked through

class Chainer {
public:
  Chainer(Function& f, unsigned gang_lanes, u32 lds_bytes)
      : f_(f), lds_bytes_(lds_bytes), cfg_(f), shapes_(f, cfg_, gang_lanes) {}

  bool chain(const RetryLoop& loop) {
    loop_ = &loop;
    if (!is_worthwhile()) return false;
    params_ = f_[loop.block].params;
    leave_through_a_block();
    enter_through_a_block();
    build();
    return true;
  }

private:
  Function& f_;
  const u32 lds_bytes_;
  // Of the function as it was before.
  const Cfg cfg_;
  const passes::LaneShapes shapes_;
  // Of the current loop.
  const RetryLoop* loop_ = nullptr;
  std::vector<ValueId> params_;   ///< of the loop; those of `choose` take their places
  BlockId choose_, out_;          ///< where one comes to the loop, and leaves it
  std::vector<ValueId> escaping_; ///< what is used behind the loop
  // What cloned values are made of.
  std::unordered_map<u32, ValueId> clones_;
  ValueId current_;

  [[nodiscard]] const Inst& swap() const { return f_[loop_->swap]; }
  [[nodiscard]] BlockId round() const { return loop_->block; }
  [[nodiscard]] unsigned dwords() const { return swap().mem.bytes / 4u; }
  [[nodiscard]] ValueId address() const { return f_.operands(loop_->swap)[0]; }
  [[nodiscard]] const std::vector<ValueId>& next_values() const { return f_[round()].successors[0].args; }
  [[nodiscard]] ValueId left() const { return params_[loop_->place(Carried::Left)]; }
  [[nodiscard]] bool is_uniform(ValueId v) const {
    return v.index < shapes_.num_values() && shapes_[v].uniform();
  }
  [[nodiscard]] bool is_row(ValueId v) const {
    return v.index < shapes_.num_values() && shapes_[v].strided() && shapes_[v].stride != 0;
  }

  /// Where lanes may meet, and gangs may run it alone.
  [[nodiscard]] bool is_worthwhile() const {
    if (swap().mem.space != Space::Global && swap().mem.space != Space::Lds) return false;
    if (std::ranges::find(loop_->carried, Carried::Other) != loop_->carried.end() || is_row(address()))
      return false;
    const InstId condition = f_.def_id(f_.operands(f_.terminator(round()))[0]);
    for (const InstId i : f_[round()].insts) {
      if (f_[i].op == Op::Clock) return false;
      for (unsigned n = 0; n < f_[i].num_operands && i != condition; ++n)
        if (info(f_[i].op).reads_whole(n)) return false;
    }
    return true;
  }

  /// What is used behind the loop becomes parameters of a block that everybody leaves through.
  void leave_through_a_block() {
    escaping_.clear();
    out_ = f_.add_block(f_[round()].pc);
    std::unordered_map<u32, ValueId> instead;
    const auto replace = [&](ValueId& v) {
      if (f_.def_block(v) != round()) return;
      const auto [it, is_new] = instead.try_emplace(v.index);
      if (is_new) {
        escaping_.push_back(v);
        it->second = f_.add_param(out_, f_.type(v));
      }
      v = it->second;
    };
    Successor exit = f_[round()].successors[1];
    std::ranges::for_each(exit.args, replace);
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index) {
      if (b == round()) continue;
      for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), replace);
      for (Successor& s : f_[b].successors) std::ranges::for_each(s.args, replace);
    }
    Builder at(f_, out_);
    at.pc = f_[round()].pc;
    at.jump(exit.block, exit.args);
    f_[round()].successors[1] = {out_, escaping_};
    f_[f_.terminator(round())].imm = gang_decided(out_);
  }

  /// Everybody comes to the loop through `choose`, whose parameters are those of the loop.
  void enter_through_a_block() {
    choose_ = f_.add_block(f_[round()].pc);
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index)
      for (Successor& s : f_[b].successors)
        if (s.block == round()) s.block = choose_;
    std::vector<ValueId> map(f_.num_values());
    for (ValueId& p : params_) {
      const ValueId own = f_.add_param(choose_, f_.type(p));
      map[p.index] = own;
      p = own;
    }
    map.resize(f_.num_values());
    f_.keep_params(round(), std::vector<u8>(f_.num_values(), 0));
    f_.replace_values(map);
    for (ValueId& v : escaping_)
      if (map[v.index].valid()) v = map[v.index];
  }

  /// In one gang, where the lowest of `lanes` goes, and who else goes there is whose `key` is the lowest's:
  /// an index rather than the sum of a pointer and it, if no two indices make one address.
  struct Place {
    ValueId key, lowest; ///< none if all lanes go there
    ValueId address;
    unsigned shift = 0; ///< the address is uniform + (key << shift)
  };
  Place place_of(Builder& at, ValueId v, ValueId lanes, unsigned depth = 0) const {
    if (is_uniform(v)) return {{}, {}, v};
    const InstId i = f_.def_id(v);
    if (is_wide(f_.type(v)) && i.valid() && depth < kMaxDepth) {
      const Op op = f_[i].op;
      const ValueId a = f_.operands(i)[0], b = f_[i].num_operands > 1 ? f_.operands(i)[1] : ValueId{};
      u64 shift = 0;
      if (op == Op::Add && (is_uniform(a) || is_uniform(b))) {
        Place place = place_of(at, is_uniform(a) ? b : a, lanes, depth + 1);
        place.address = at.add(is_uniform(a) ? a : b, place.address);
        return place;
      }
      if (is_extension(i)) {
        const ValueId lowest = pick(at, a, lanes);
        return {a, lowest, at.op(op, f_.type(v), {lowest})};
      }
      if (op == Op::Shl && f_.def_id(a).valid() && is_extension(f_.def_id(a)) && f_.is_const(b, &shift) &&
          shift <= 32) {
        Place place = place_of(at, a, lanes, depth + 1);
        place.address = at.op(op, f_.type(v), {place.address, b});
        place.shift = static_cast<unsigned>(shift);
        return place;
      }
    }
    const ValueId lowest = pick(at, v, lanes);
    return {v, lowest, lowest};
  }
  [[nodiscard]] bool is_extension(InstId i) const { return f_[i].op == Op::ZExt || f_[i].op == Op::SExt; }

  /// What the lowest of `lanes` has of `v`, in all lanes.
  ValueId pick(Builder& at, ValueId v, ValueId lanes) const {
    const Type t = f_.type(v);
    return at.op(Op::Splat, t, {at.op(Op::GangPick, is_wide(t) ? Type::G64 : Type::G32, {v, lanes})});
  }

  /// The lanes in which the swap is not what chains take it for, if there may be such: beyond the LDS nothing
  /// is kept, and swaps ignore the low bits of an address, which loads do not.
  ValueId find_odd(Builder& at, const Place& place, ValueId left) const {
    const ValueId address = this->address();
    const u64 offset = swap().imm, low = swap().mem.bytes - 1;
    const auto ones = [&](ValueId v) {
      return v.index < shapes_.num_values() ? shapes_.limits().ones(v) : ~u64{0};
    };
    const auto constant = [&](ValueId like, u64 bits) { return f_.entry_constant(f_.type(like), bits); };
    ValueId odd;
    if (((ones(address) | offset) & low) != 0) {
      // Often lanes differ in higher bits only.
      const bool alike = !place.key.valid() || (ones(place.key) << place.shift & low) == 0;
      const ValueId any = alike ? place.address : address;
      const ValueId bits = at.and_(at.add(any, constant(any, offset & low)), constant(any, low));
      odd = at.icmp(IntPred::Ne, bits, constant(any, 0));
      if (!alike) odd = at.and_(odd, left);
    }
    if (swap().mem.space != Space::Lds || is_in_lds(address)) return odd;
    const ValueId size = at.lo(at.op(Op::FrameField, Type::U64, {}, offsetof(runtime::WaveFrame, lds_bytes)));
    const ValueId before =
        at.u32c(static_cast<u32>(offset + low)); // What lies before an element's last byte.
    const ValueId limit = at.sub(at.binary(Op::UMax, size, before), before);
    const ValueId beyond = at.and_(left, at.icmp(IntPred::UGe, address, at.splat(limit)));
    return odd.valid() ? at.or_(odd, beyond) : beyond;
  }
  [[nodiscard]] bool is_in_lds(ValueId address) const {
    return address.index < shapes_.num_values() &&
           shapes_.limits().max(address) + swap().imm + swap().mem.bytes <= lds_bytes_;
  }

  [[nodiscard]] bool is_expected(u32 n) const {
    return loop_->carried[n] == Carried::Expected || loop_->carried[n] == Carried::ExpectedHigh;
  }
  /// Parameter number `n` in a lane of the loop that expects `current_`.
  [[nodiscard]] ValueId expected(Builder& at, u32 n) const {
    if (f_.type(params_[n]) == f_.type(current_)) return current_;
    return loop_->carried[n] == Carried::Expected ? at.lo(current_) : at.hi(current_);
  }
  /// `v` as it is in a lane of the loop that expects and finds `current_`.
  ValueId of_turn(Builder& at, ValueId v) {
    for (u32 n = 0; n < params_.size(); ++n)
      if (v == params_[n] && is_expected(n)) return expected(at, n);
    if (v == left()) return f_.entry_constant(Type::Mask, ~u64{0});
    if (f_.def_block(v) != round()) return v;
    if (const auto it = clones_.find(v.index); it != clones_.end()) return it->second;
    const InstId i = f_.def_id(v);
    ValueId clone;
    if (i == loop_->swap) {
      clone = dwords() == 1 ? current_ : v == f_.result(i, 0) ? at.lo(current_) : at.hi(current_);
    } else if (f_[i].op == Op::Select && f_.operands(i)[0] == left()) {
      clone = of_turn(at, f_.operands(i)[1]);
    } else {
      std::vector<ValueId> operands(f_.operands(i).begin(), f_.operands(i).end());
      for (ValueId& x : operands) x = of_turn(at, x);
      const InstId copy = append_copy(f_, at.block(), i);
      std::ranges::copy(operands, f_.operands(copy).begin());
      clone = f_.result(copy, f_[v].index);
    }
    return clones_[v.index] = clone;
  }

  /// Appends an access to the one place, which `lane` does, instead of the swap.
  InstId access(Builder& at, Op op, ValueId place, std::vector<ValueId> data, ValueId lane) {
    Inst inst = swap();
    inst.op = op;
    inst.mem.atomic = op == Op::Atomic ? inst.mem.atomic : AtomicOp::Add;
    inst.mem.returns = op == Op::Atomic;
    inst.mem.awaited &= op == Op::Atomic;
    inst.mem.spread = op == Op::Load;
    inst.mem.in_range = inst.mem.space == Space::Lds;
    data.insert(data.begin(), place);
    data.push_back(lane);
    const std::vector<Type> results(op == Op::Store ? 0 : dwords(), Type::V32);
    return f_.append(at.block(), inst, data, results);
  }
  [[nodiscard]] ValueId joined(Builder& at, InstId access) const {
    return dwords() == 1 ? f_.result(access) : at.join(f_.result(access, 0), f_.result(access, 1));
  }
  /// The dwords of a scalar of gangs, in all lanes.
  [[nodiscard]] std::vector<ValueId> spread_dwords(Builder& at, ValueId scalar) const {
    const auto spread = [&](ValueId v) { return at.op(Op::Splat, Type::V32, {v}); };
    if (dwords() == 1) return {spread(scalar)};
    return {spread(at.lo(scalar)), spread(at.hi(scalar))};
  }
  void branch_on_any(Builder& at, ValueId mask, Successor taken, Successor other, BlockId join) {
    at.branch(at.any(mask), taken.block, other.block, std::move(taken.args), std::move(other.args));
    f_[f_.terminator(at.block())].imm = gang_decided(join);
  }

  /// Parameters whose values are wanted behind the loop, lane by lane.
  [[nodiscard]] bool is_kept(u32 n) const {
    return (loop_->carried[n] == Carried::Changes || is_expected(n)) &&
           (std::ranges::find(escaping_, params_[n]) != escaping_.end() ||
            std::ranges::find(escaping_, next_values()[n]) != escaping_.end());
  }

  void build() {
    const u32 pc = swap().pc;
    const bool wide = dwords() == 2;
    const Type value = wide ? Type::V64 : Type::V32, scalar = wide ? Type::G64 : Type::G32;
    const BlockId begin = f_.add_block(pc), link = f_.add_block(pc), commit = f_.add_block(pc),
                  next = f_.add_block(pc);
    Builder at(f_, choose_);
    at.pc = pc;
    clones_.clear();
    std::vector<u32> kept;
    for (u32 n = 0; n < params_.size(); ++n)
      if (is_kept(n)) kept.push_back(n);

    const ValueId left = this->left(), first = at.op(Op::FirstLane, Type::Mask, {left});
    const Place place = place_of(at, address(), left);
    ValueId group = left;
    if (place.key.valid()) group = at.and_(left, at.icmp(IntPred::Eq, place.key, place.lowest));
    const BlockId check = f_.add_block(pc);
    branch_on_any(at, at.andnot(group, first), {check, {}}, {round(), {}}, out_);
    f_[f_.terminator(choose_)].imm |= kRetries;
    at.set_block(check);
    if (const ValueId odd = find_odd(at, place, left); odd.valid())
      branch_on_any(at, odd, {round(), {}}, {begin, {}}, out_);
    else
      at.jump(begin);

    at.set_block(begin);
    const ValueId found = joined(at, access(at, Op::Load, place.address, {}, first));
    std::vector<ValueId> start = {found, group};
    for (const u32 n : kept) start.push_back(params_[n]);
    at.jump(link, start);

    at.set_block(link);
    current_ = f_.add_param(link, value);
    const ValueId rest = f_.add_param(link, Type::Mask);
    std::vector<ValueId> now = params_;
    for (const u32 n : kept) now[n] = f_.add_param(link, f_.type(params_[n]));
    const auto data = f_.operands(loop_->swap);
    const std::vector<ValueId> stored(data.begin() + 1, data.begin() + 1 + dwords());
    ValueId wanted = of_turn(at, stored[0]);
    if (wide) wanted = at.join(wanted, of_turn(at, stored[1]));
    const ValueId lane = at.op(Op::FirstLane, Type::Mask, {rest});
    for (const u32 n : kept) {
      const ValueId own =
          is_expected(n) ? expected(at, n) : of_turn(at, f_.operands(f_.def_id(next_values()[n]))[1]);
      now[n] = at.select(lane, own, now[n]);
    }
    const ValueId picked = at.op(Op::GangPick, scalar, {wanted, rest});
    std::vector<ValueId> again = {at.op(Op::Splat, value, {picked}), at.andnot(rest, lane)};
    for (const u32 n : kept) again.push_back(now[n]);
    branch_on_any(at, again[1], {link, again}, {commit, {}}, commit);

    at.set_block(commit);
    std::vector<ValueId> written = spread_dwords(at, at.op(Op::GangFirst, scalar, {again[0]}));
    if (swap().mem.space == Space::Lds) { // Only this thread's, and gangs run one after the other.
      access(at, Op::Store, place.address, written, first);
      at.jump(next);
    } else {
      const std::vector<ValueId> expected = spread_dwords(at, at.op(Op::GangFirst, scalar, {found}));
      written.insert(written.end(), expected.begin(), expected.end());
      const ValueId seen = joined(at, access(at, Op::Atomic, place.address, written, first));
      branch_on_any(at, at.and_(first, at.icmp(IntPred::Ne, seen, found)), {choose_, params_}, {next, {}},
                    out_);
    }

    at.set_block(next);
    const ValueId others = at.andnot(left, group);
    for (u32 n = 0; n < params_.size(); ++n) {
      if (loop_->carried[n] == Carried::Left) now[n] = others;
      if (loop_->carried[n] == Carried::Done) now[n] = at.or_(params_[n], group);
    }
    std::vector<ValueId> leaving;
    for (const ValueId v : escaping_) leaving.push_back(left_behind(at, v, now));
    branch_on_any(at, others, {choose_, now}, {out_, leaving}, out_);
  }

  /// What `v` is behind the loop if the last lanes of the gang have been a chain, after which the parameters
  /// are `now`.
  ValueId left_behind(Builder& at, ValueId v, const std::vector<ValueId>& now) {
    for (u32 n = 0; n < now.size(); ++n)
      if (v == next_values()[n] || v == params_[n]) return now[n];
    return of_turn(at, v); // the same each time round
  }
};

} // namespace

bool chain_retries(Function& f, const std::vector<RetryLoop>& loops, unsigned gang_lanes, u32 lds_bytes) {
  if (loops.empty()) return false;
  Chainer chainer(f, gang_lanes, lds_bytes);
  bool changed = false;
  for (const RetryLoop& loop : loops) changed |= chainer.chain(loop);
  return changed;
}

} // namespace lanewise::phases
