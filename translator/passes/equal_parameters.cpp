// Parameters that are given the same on every way in, round after round, are one: copies of a counter, as
// memory and registers that it is moved between have them.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 4;   ///< of operations that two arguments may come out of alike
constexpr unsigned kMaxRounds = 16; ///< until what is different has been told apart

/// Takes all parameters of a block for equal until their arguments differ, by which others may.
class Parameters {
public:
  explicit Parameters(Function& f) : f_(f), cfg_(f), class_(f.num_values(), 0) {}

  void merge() {
    for (const BlockId b : cfg_.rpo)
      for (const ValueId p : f_[b].params) class_[p.index] = number({kParameter, b.index, type_of(p)});
    for (unsigned n = 0; n < kMaxRounds; ++n)
      if (!refine()) {
        replace();
        return;
      }
  }

private:
  enum Kind : u64 { kParameter, kConstant, kOperation, kOther };
  using Key = std::vector<u64>;
  Function& f_;
  const Cfg cfg_;
  std::vector<u64> class_; ///< per parameter
  std::map<Key, u64> numbers_;

  [[nodiscard]] u64 type_of(ValueId v) const { return static_cast<u64>(f_.type(v)); }
  u64 number(Key key) { return numbers_.try_emplace(std::move(key), numbers_.size()).first->second; }

  u64 number_of(ValueId v, unsigned depth) {
    const InstId i = f_.def_id(v);
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return number({kConstant, type_of(v), bits});
    if (!i.valid()) return class_[v.index];
    if (depth == kMaxDepth || !info(f_[i].op).is(kPure) || info(f_[i].op).is(kFloat) ||
        f_[i].num_results != 1)
      return number({kOther, v.index});
    Key key = {kOperation, static_cast<u64>(f_[i].op), f_[i].imm, type_of(v)};
    for (const ValueId x : f_.operands(i)) key.push_back(number_of(x, depth + 1));
    return number(std::move(key));
  }

  /// Classes by what the members are given. False if they stay as they are.
  bool refine() {
    std::vector<std::pair<ValueId, Key>> given;
    for (const BlockId b : cfg_.rpo)
      for (std::size_t n = 0; n < f_[b].params.size(); ++n) {
        const ValueId p = f_[b].params[n];
        Key key = {kParameter, class_[p.index]};
        for (const BlockId from : cfg_.preds[b.index])
          for (const Successor& s : f_[from].successors)
            if (s.block == b) key.push_back(number_of(s.args[n], 0));
        given.emplace_back(p, std::move(key));
      }
    std::map<Key, u64> classes;
    std::map<u64, std::size_t> before;
    for (auto& [p, key] : given) {
      before.try_emplace(class_[p.index], 0);
      class_[p.index] = classes.try_emplace(std::move(key), classes.size()).first->second;
    }
    for (auto& [p, key] : given) class_[p.index] = number({kParameter, kOther, class_[p.index]});
    return classes.size() != before.size();
  }

  void replace() {
    std::map<u64, ValueId> first;
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : cfg_.rpo)
      for (const ValueId p : f_[b].params)
        if (const auto [it, is_new] = first.try_emplace(class_[p.index], p); !is_new)
          map[p.index] = it->second;
    f_.replace_values(map);
  }
};

} // namespace

void merge_equal_parameters(Function& f) { Parameters(f).merge(); }

} // namespace lanewise::passes
