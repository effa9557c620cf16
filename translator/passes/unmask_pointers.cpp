// Buffer descriptors have addresses of 48 bits. Compilers for gfx6, which has no other accesses to memory
// than by buffers, count scalar pointers in descriptors up, and what each round takes of them are the lower
// 48 bits: no sum, as far as other passes can see. So those bits are taken where such a loop begins, and what
// is counted from there on is the address. That differs for pointers that count beyond 2^48, where nobody's
// memory is: what belongs to processes ends at 2^47.
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u64 kAddress = (u64{1} << 48) - 1;
constexpr u64 kMaxStep = u64{1} << 32;

class Unmasker {
public:
  explicit Unmasker(Function& f) : f_(f) {}

  bool run() {
    if (!find_masked()) return false;
    find_users();
    for (const ValueId p : starts_)
      if (!decided_[p.index] && is_counted(p)) unmask();
    if (!any_) return false;
    f_.replace_values(instead_);
    return true;
  }

private:
  struct User {
    InstId inst; ///< or, if invalid, a block's way and its argument
    BlockId from;
    u32 way = 0, arg = 0;
  };
  Function& f_;
  bool any_ = false;
  std::vector<ValueId> starts_;  ///< parameters that are masked, themselves or with something added
  std::vector<u8> decided_;      ///< per value: whether it has been looked at
  std::vector<ValueId> instead_; ///< per value
  std::vector<std::vector<User>> users_;
  // Of the current pointer.
  std::vector<ValueId> counted_; ///< it, what it is plus constants, and the parameters that have those
  std::vector<InstId> masks_;

  [[nodiscard]] bool is_mask(InstId i) const {
    u64 bits = 0;
    return f_[i].op == Op::And && f_.type(f_.result(i)) == Type::U64 &&
           ((f_.is_const(f_.operands(i)[0], &bits) && bits == kAddress) ||
            (f_.is_const(f_.operands(i)[1], &bits) && bits == kAddress));
  }
  [[nodiscard]] bool is_step(InstId i) const {
    u64 bits = 0;
    return f_[i].op == Op::Add && std::ranges::any_of(f_.operands(i), [&](ValueId x) {
             return f_.is_const(x, &bits) && bits + kMaxStep <= 2 * kMaxStep;
           });
  }

  bool find_masked() {
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts) {
        if (!is_mask(i)) continue;
        for (ValueId v : f_.operands(i)) {
          if (const InstId sum = f_.def_id(v); sum.valid() && is_step(sum))
            v = f_.is_const(f_.operands(sum)[0]) ? f_.operands(sum)[1] : f_.operands(sum)[0];
          if (!f_.def_id(v).valid()) starts_.push_back(v);
        }
      }
    return !starts_.empty();
  }
  void find_users() {
    users_.resize(f_.num_values());
    decided_.resize(f_.num_values());
    instead_.resize(f_.num_values());
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index) {
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) users_[v.index].push_back({i, b});
      for (u32 way = 0; way < f_[b].successors.size(); ++way)
        for (u32 arg = 0; arg < f_[b].successors[way].args.size(); ++arg)
          users_[f_[b].successors[way].args[arg].index].push_back({{}, b, way, arg});
    }
  }

  /// Whether nothing else comes of it than addresses and the next rounds' pointers.
  bool is_counted(ValueId p) {
    counted_ = {p};
    masks_.clear();
    const auto add = [&](ValueId v) {
      if (std::ranges::find(counted_, v) == counted_.end()) counted_.push_back(v);
    };
    bool counted = true;
    for (std::size_t n = 0; n < counted_.size(); ++n) {
      decided_[counted_[n].index] = 1;
      for (const User& user : users_[counted_[n].index]) {
        if (!user.inst.valid())
          add(f_[f_[user.from].successors[user.way].block].params[user.arg]);
        else if (is_mask(user.inst))
          masks_.push_back(user.inst);
        else if (is_step(user.inst))
          add(f_.result(user.inst));
        else
          counted = false;
      }
    }
    return counted;
  }

  void unmask() {
    any_ = true;
    const auto is_in = [&](ValueId v) { return std::ranges::find(counted_, v) != counted_.end(); };
    for (const InstId i : masks_) {
      const auto x = f_.operands(i);
      instead_[f_.result(i).index] = is_in(x[0]) ? x[0] : x[1];
    }
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index)
      for (u32 way = 0; way < f_[b].successors.size(); ++way)
        for (u32 arg = 0; arg < f_[b].successors[way].args.size(); ++arg) {
          const Successor& to = f_[b].successors[way];
          if (!is_in(f_[to.block].params[arg]) || is_in(to.args[arg])) continue;
          const Type t = Type::U64;
          const ValueId operands[] = {to.args[arg], f_.entry_constant(t, kAddress)};
          const InstId start = f_.insert_before_end(b, {.op = Op::And, .pc = f_[b].pc}, operands, {&t, 1});
          f_[b].successors[way].args[arg] = f_.result(start);
        }
  }
};

} // namespace

bool unmask_pointers(Function& f) { return Unmasker(f).run(); }

} // namespace lanewise::passes
