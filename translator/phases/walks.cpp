// A work-item for each row of a matrix, record or string: in the loop over its elements, each lane loads by
// an address far from the others', which moves on by an element a round. Such a gather takes each lane's
// cache line for one element, and lines do not stay where rows are a power of two apart. Loads of four
// elements of a lane take as many instructions as one, and the lines a quarter as often. Elements of less
// than four bytes come 16 bytes at once.
//
//   choice:    are the lanes' addresses side by side? then the loop as it was: it loads rows
//   together:  are all lanes there? then they need no mask
//   rounds:    are there four more? else the loop as it was, for the rest
//   four:      four rounds, with one load for what each load has in them; back to `rounds`
//
// Where 16 bytes are more than four elements, `rounds` and `four` exist for so many as well, and come first.
//
// That is for loops of one block whose number of rounds depends on a scalar that counts.
#include "translator/phases/walks.hpp"
#include "translator/ir/copy.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/load_loops.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 8; ///< of a function
constexpr unsigned kRounds = 4;
constexpr std::size_t kMaxCopied = 320;      ///< instructions of more rounds at once
constexpr std::size_t kMaxInstructions = 60; ///< of a round
constexpr unsigned kMaxBytes = 16;           ///< of a load
constexpr unsigned kMaxDepth = 8;            ///< of what is looked through
constexpr u64 kMaxStep = 1 << 16;            ///< of the count, so that those of many rounds do not wrap
constexpr i64 kFarApart = 16;                ///< bytes from lane to lane

/// A sum of values and a constant.
struct Sum {
  std::vector<ValueId> terms;
  u64 constant = 0;
};

class Walks : LoadLoopPass {
public:
  Walks(Function& f, unsigned gang_lanes) : LoadLoopPass(f), gang_lanes_(gang_lanes) {}

  /// Whether it has changed something.
  bool run() {
    return for_each_loop(kMaxLoops, [&] {
      if (loop_->blocks->size() != 1 || f_[header()].insts.size() > kMaxInstructions || !find_count() ||
          !find_walks() || !find_escaping())
        return false;
      change();
      return true;
    });
  }

private:
  const unsigned gang_lanes_;
  std::optional<passes::LaneShapes> shapes_; ///< made when wanted; of the function as it was before
  // Of the current loop.
  struct Count {
    u32 param = 0;   ///< which of the header's parameters counts
    u64 offset = 0;  ///< what is compared is that much more,
    ValueId bound;   ///< with this:
    IntPred goes_on; ///< the loop goes on while it is Ne, ULt or SLt
    u64 step = 0;    ///< per round
  } count_;
  std::vector<InstId> walks_; ///< loads
  ValueId far_apart_;         ///< of a walk whose lanes might be side by side: its address

  [[nodiscard]] bool changes(ValueId v) const { return f_.def_block(v) == header() && !f_.is_const(v); }
  [[nodiscard]] bool is_param(ValueId v) const { return !f_.def_id(v).valid() && changes(v); }
  [[nodiscard]] u32 goes_on_way() const { return f_[header()].successors[0].block == header() ? 0 : 1; }
  [[nodiscard]] const Successor& back_edge() const { return f_[header()].successors[goes_on_way()]; }
  [[nodiscard]] const Successor& way_out() const { return f_[header()].successors[1 - goes_on_way()]; }

  [[nodiscard]] Sum sum_of(ValueId v, unsigned depth = 0) const {
    Sum sum;
    if (f_.is_const(v, &sum.constant)) return sum;
    const InstId i = f_.def_id(v);
    const bool inside = i.valid() && changes(v) && depth < kMaxDepth;
    if (inside && f_[i].op == Op::Splat && !is_per_lane(f_.type(f_.operands(i)[0])))
      return sum_of(f_.operands(i)[0], depth + 1);
    if (!inside || f_[i].op != Op::Add) {
      sum.terms.push_back(v);
      return sum;
    }
    for (const ValueId x : f_.operands(i)) {
      const Sum part = sum_of(x, depth + 1);
      sum.terms.insert(sum.terms.end(), part.terms.begin(), part.terms.end());
      sum.constant += part.constant;
    }
    return sum;
  }

  /// By how much `v` grows from round to round.
  [[nodiscard]] std::optional<u64> growth(ValueId v) const {
    u64 grown = 0;
    for (const ValueId term : sum_of(v).terms) {
      if (!changes(term)) continue;
      if (!is_param(term)) return {};
      const Sum next = sum_of(back_edge().args[f_[term].index]);
      if (next.terms.size() != 1 || next.terms[0] != term) return {};
      grown += next.constant;
    }
    return grown;
  }

  /// The loop goes on while a scalar has not come to its bound.
  bool find_count() {
    const InstId end = f_.terminator(header());
    if (f_[end].op != Op::Branch || f_.tested_mask(header()).valid()) return false;
    const InstId test = f_.def_id(f_.operands(end)[0]);
    if (!test.valid() || f_[test].op != Op::ICmp || f_[test].block != header()) return false;
    std::array<ValueId, 2> x{f_.operands(test)[0], f_.operands(test)[1]};
    if (!is_uniform(f_.type(x[0]))) return false;
    auto pred = static_cast<IntPred>(f_[test].imm);
    if (changes(x[1])) {
      std::swap(x[0], x[1]);
      pred = swapped(pred);
    }
    if (goes_on_way() == 1) pred = inverse(pred);
    const Sum sum = sum_of(x[0]);
    if (changes(x[1]) || sum.terms.size() != 1 || !is_param(sum.terms[0])) return false;
    const auto step = growth(x[0]);
    const Type t = f_.type(x[0]);
    u64 bits = 0;
    if (f_.is_const(x[1], &bits)) x[1] = f_.entry_constant(t, bits); // This one might be in the loop.
    count_ = {f_[sum.terms[0]].index, sum.constant, x[1], pred, step.value_or(0)};
    const u64 mask = constant_bits(t);
    count_.offset &= mask;
    count_.step &= mask;
    const u64 distance = std::min(count_.step, mask & (0 - count_.step));
    if (distance == 0 || distance >= kMaxStep) return false;
    return pred == IntPred::Ne || ((pred == IntPred::ULt || pred == IntPred::SLt) && distance == count_.step);
  }
  bool find_walks() {
    walks_.clear();
    far_apart_ = {};
    for (const InstId i : f_[header()].insts) {
      const Inst& inst = f_[i];
      const unsigned bytes = inst.mem.bytes;
      if (inst.op != Op::Load || inst.mem.space != Space::Global || inst.mem.form != AddressForm::Lanes ||
          inst.mem.coherent || bytes > 8 || inst.num_results != (bytes + 3) / 4 ||
          changes(f_.operands(i).back()) || growth(f_.operands(i)[0]) != bytes)
        continue;
      if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
      const passes::LaneShape& shape = (*shapes_)[f_.operands(i)[0]];
      if (shape.strided() && std::abs(shape.stride) < kFarApart) continue;
      walks_.push_back(i);
      if (!shape.strided() && !far_apart_.valid()) far_apart_ = f_.operands(i)[0];
    }
    return !walks_.empty();
  }

  void change() {
    pass_escaping();
    const BlockId plain = header(), choice = add_entry();
    Builder at(f_, choice);
    at.pc = f_[plain].pc;
    const std::vector<ValueId> start = take_params(choice);
    if (far_apart_.valid()) {
      const BlockId together = f_.add_block(at.pc);
      branch(at, lanes_far_apart(at, start), {together, {}}, {plain, start});
      at.set_block(together);
    }
    // Loads by a mask take more than those without, also where all lanes are in it.
    const ValueId mask = f_.operands(walks_[0]).back();
    if (f_.is_full(mask)) return at.jump(add_rounds({}), start);
    const BlockId some = add_rounds({}), all = add_rounds(mask);
    branch(at, at.not_(mask), {some, start}, {all, start});
  }
  /// Each gang goes one way if it has lanes in `mask`, else the other.
  void branch(Builder& at, ValueId mask, const Successor& some, const Successor& none) {
    at.branch(at.any(mask), some.block, none.block, some.args, none.args);
    f_[f_.terminator(at.block())].imm = gang_decided(loop_->exit);
  }
  /// The loops of several rounds, where `full`, if valid, has all lanes; the first block.
  BlockId add_rounds(ValueId full) {
    const BlockId four = add_rounds(full, kRounds, header());
    unsigned bytes = kMaxBytes;
    for (const InstId i : walks_) bytes = std::min<unsigned>(bytes, f_[i].mem.bytes);
    const unsigned more = kMaxBytes / bytes;
    const bool pays = more > kRounds && more * f_[header()].insts.size() <= kMaxCopied;
    return pays ? add_rounds(full, more, four) : four;
  }
  /// The loop of `count` rounds, which with less to do goes to `rest`.
  BlockId add_rounds(ValueId full, unsigned count, BlockId rest) {
    const BlockId rounds = f_.add_block(f_[header()].pc), several = f_.add_block(f_[header()].pc);
    Builder at(f_, rounds);
    at.pc = f_[header()].pc;
    const std::vector<ValueId> now = take_params(rounds);
    at.branch(are_enough(at, now[count_.param], count), several, rest, now, now);
    do_rounds(several, count, take_params(several), rounds, full);
    return rounds;
  }

  /// The lanes whose first element is not in the row that starts with lane 0's, or the row before.
  ValueId lanes_far_apart(Builder& at, const std::vector<ValueId>& start) {
    ValueId offset;
    for (const ValueId term : sum_of(far_apart_).terms) {
      const ValueId v = changes(term) ? start[f_[term].index] : term;
      if (f_.type(v) == Type::V64) offset = offset.valid() ? at.add(offset, v) : v;
    }
    const u64 row = u64{gang_lanes_} * f_[walks_[0]].mem.bytes;
    const ValueId first = at.op(Op::Splat, Type::V64, {at.op(Op::GangFirst, Type::G64, {offset})});
    const ValueId beyond = at.add(at.sub(offset, first), at.constant(Type::V64, row));
    return at.icmp(IntPred::UGe, beyond, at.constant(Type::V64, 2 * row));
  }

  /// The tests in the `rounds` that follow, but for the last, will find that the loop goes on.
  ValueId are_enough(Builder& at, ValueId counter, unsigned rounds) {
    const Type t = f_.type(counter);
    const bool down = count_.step > constant_bits(t) / 2;
    const u64 step = down ? constant_bits(t) & (0 - count_.step) : count_.step;
    const ValueId next = at.add(counter, at.constant(t, count_.offset));
    const ValueId far = down ? at.sub(next, count_.bound) : at.sub(count_.bound, next);
    const ValueId enough = at.icmp(IntPred::UGt, far, at.constant(t, (rounds - 2) * step));
    if (count_.goes_on == IntPred::Ne) return enough;
    return at.and_(enough, at.icmp(count_.goes_on, next, count_.bound));
  }

  /// Block `several`: `count` rounds, and back to `rounds`.
  void do_rounds(BlockId several, unsigned count, std::vector<ValueId> params, BlockId rounds, ValueId full) {
    const BlockId plain = header();
    const std::vector<InstId> insts(f_[plain].insts.begin(), f_[plain].insts.end());
    const ValueId all = full.valid() ? f_.entry_constant(Type::Mask, ~u64{0}) : full;
    std::unordered_map<u32, std::vector<ValueId>> together; ///< by load: its elements of all rounds
    std::unordered_map<u32, ValueId> now;
    const auto rename = [&](ValueId& v) {
      if (const auto it = now.find(v.index); it != now.end()) v = it->second;
    };
    for (unsigned round = 0; round < count; ++round) {
      now.clear();
      if (full.valid()) now[full.index] = all;
      for (u32 n = 0; n < params.size(); ++n) now[f_[plain].params[n].index] = params[n];
      for (const InstId i : insts) {
        const bool last = i == insts.back();
        if (last && round + 1 < count) break;
        if (std::ranges::find(walks_, i) != walks_.end()) {
          std::vector<ValueId>& elements = together[i.index];
          if (elements.empty()) {
            std::array operands{f_.operands(i)[0], f_.operands(i)[1]};
            std::ranges::for_each(operands, rename);
            elements = load(several, i, operands, count - round);
          }
          for (unsigned r = 0; r < f_[i].num_results; ++r) now[f_.result(i, r).index] = elements[r];
          elements.erase(elements.begin(), elements.begin() + f_[i].num_results);
          continue;
        }
        const InstId c = append_copy(f_, several, i);
        std::ranges::for_each(f_.operands(c), rename);
        for (unsigned r = 0; r < f_[i].num_results; ++r) now[f_.result(i, r).index] = f_.result(c, r);
      }
      params = back_edge().args;
      std::ranges::for_each(params, rename);
    }
    Successor out = way_out();
    std::ranges::for_each(out.args, rename);
    f_[several].successors.resize(2);
    f_[several].successors[goes_on_way()] = {rounds, params};
    f_[several].successors[1 - goes_on_way()] = out;
  }

  /// What load `i`, of these operands, has in as many rounds as fit into a load, or are left.
  std::vector<ValueId> load(BlockId b, InstId i, const std::array<ValueId, 2>& operands, unsigned rounds) {
    Inst proto = f_[i];
    const unsigned bytes = proto.mem.bytes;
    const bool sign = proto.mem.sign_extend;
    proto.mem.bytes = static_cast<u8>(std::min(kMaxBytes, rounds * bytes));
    proto.mem.sign_extend = false;
    const std::vector<Type> types(proto.mem.bytes / 4, Type::V32);
    const InstId wide = f_.append(b, proto, operands, types);
    std::vector<ValueId> elements;
    for (unsigned n = 0; n < types.size(); ++n) elements.push_back(f_.result(wide, n));
    return bytes >= 4 ? elements : parts(b, elements, 8 * bytes, sign, proto.pc);
  }
  /// Bytes or halves of dwords.
  std::vector<ValueId> parts(BlockId b, const std::vector<ValueId>& dwords, unsigned bits, bool sign,
                             u32 pc) {
    Builder at(f_, b);
    at.pc = pc;
    std::vector<ValueId> elements;
    for (const ValueId dword : dwords)
      for (unsigned low = 0; low < 32; low += bits) {
        const ValueId high = at.op(Op::Shl, Type::V32, {dword, at.v32c(32 - bits - low)});
        elements.push_back(at.op(sign ? Op::AShr : Op::LShr, Type::V32, {high, at.v32c(32 - bits)}));
      }
    return elements;
  }
};

} // namespace

bool load_walks_together(Function& f, unsigned gang_lanes) { return Walks(f, gang_lanes).run(); }

} // namespace lanewise::phases
