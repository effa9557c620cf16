// Parameters that are given the same on every way in, round after round, are one: copies of a counter, as
// memory and registers that it is moved between have them.
#include "support/flat_map.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 4;       ///< of operations that two arguments may come out of alike
constexpr unsigned kMaxRounds = 16;     ///< until what is different has been told apart
constexpr std::size_t kMaxOperands = 8; ///< of a pure operation

/// A number for each sequence of numbers.
class Numbers {
public:
  /// The number of `key`, `number` if it is new, and whether it is.
  std::pair<u64, bool> try_emplace(std::span<const u64> key, u64 number) {
    u64 hash = key.size();
    for (const u64 k : key) hash = (hash ^ k ^ hash >> 32) * 0x9E37'79B9'7F4A'7C15u;
    u32& last = last_.try_emplace(hash, kNone).first;
    for (u32 n = last; n != kNone; n = entries_[n].before)
      if (std::ranges::equal(key, std::span(keys_).subspan(entries_[n].first, entries_[n].size)))
        return {entries_[n].number, false};
    entries_.push_back({last, static_cast<u32>(keys_.size()), static_cast<u32>(key.size()), number});
    keys_.insert(keys_.end(), key.begin(), key.end());
    last = static_cast<u32>(entries_.size()) - 1;
    return {number, true};
  }
  void clear() {
    last_.clear();
    entries_.clear();
    keys_.clear();
  }

private:
  static constexpr u32 kNone = ~0u;
  struct Entry {
    u32 before;      ///< the one before with this hash
    u32 first, size; ///< in keys_
    u64 number;
  };
  FlatMap<u32> last_; ///< by hash: the last entry
  std::vector<Entry> entries_;
  std::vector<u64> keys_;
};

/// Takes all parameters of a block for equal until their arguments differ, by which others may.
class Parameters {
public:
  explicit Parameters(Function& f) : f_(f), cfg_(f), class_(f.num_values(), 0) {}

  void merge() {
    for (const BlockId b : cfg_.rpo) {
      std::vector<std::pair<u64, ValueId>> by_type;
      for (const ValueId p : f_[b].params) by_type.emplace_back(static_cast<u64>(f_.type(p)), p);
      add_parts(by_type);
    }
    for (unsigned n = 0; n < kMaxRounds; ++n)
      if (!refine()) {
        replace();
        return;
      }
  }

private:
  enum Kind : u64 { kConstant, kOperation, kGiven };
  using Class = std::vector<ValueId>;
  Function& f_;
  const Cfg cfg_;
  std::vector<u64> class_;     ///< per parameter, a number from next_
  std::vector<Class> classes_; ///< those of several members
  Numbers numbers_;            ///< of this round
  std::vector<u64> key_;       ///< for one of them
  std::vector<u64> known_;     ///< per depth and value what number_of() has found this round; 0: nothing
  u64 next_ = 1;

  void add(Class members) {
    for (const ValueId p : members) class_[p.index] = next_;
    ++next_;
    if (members.size() > 1) classes_.push_back(std::move(members));
  }

  /// A class for each number, of the values that have it.
  void add_parts(std::vector<std::pair<u64, ValueId>>& parts) {
    std::ranges::stable_sort(parts, {}, &std::pair<u64, ValueId>::first);
    for (auto first = parts.begin(); first != parts.end();) {
      Class members;
      const u64 number = first->first;
      for (; first != parts.end() && first->first == number; ++first) members.push_back(first->second);
      add(std::move(members));
    }
  }

  u64 number(std::span<const u64> key) {
    const auto [number, is_new] = numbers_.try_emplace(key, next_);
    if (is_new) ++next_;
    return number;
  }

  u64 number_of(ValueId v, unsigned depth) {
    u64& known = known_[depth * f_.num_values() + v.index];
    return known != 0 ? known : known = find_number(v, depth);
  }

  u64 find_number(ValueId v, unsigned depth) {
    const InstId i = f_.def_id(v);
    const auto type = static_cast<u64>(f_.type(v));
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return number(std::array<u64, 3>{kConstant, type, bits});
    if (!i.valid()) return class_[v.index];
    if (depth == kMaxDepth || !info(f_[i].op).is(kPure) || info(f_[i].op).is(kFloat) ||
        f_[i].num_results != 1 || f_[i].num_operands > kMaxOperands)
      return next_++;
    std::array<u64, 4 + kMaxOperands> key = {kOperation, static_cast<u64>(f_[i].op), f_[i].imm, type};
    std::size_t size = 4;
    for (const ValueId x : f_.operands(i)) key[size++] = number_of(x, depth + 1);
    return number({key.data(), size});
  }

  /// A number for what parameter `n` of `b` is given on each way in.
  u64 given(BlockId b, std::size_t n) {
    key_.assign(1, kGiven);
    for (const BlockId from : cfg_.preds[b.index])
      for (const Successor& s : f_[from].successors)
        if (s.block == b) key_.push_back(number_of(s.args[n], 0));
    return number(key_);
  }

  /// Parts classes by what the members are given. False if they stay as they are.
  bool refine() {
    numbers_.clear();
    known_.assign((kMaxDepth + 1) * f_.num_values(), 0);
    std::vector<Class> old;
    old.swap(classes_);
    bool parted = false;
    for (Class& members : old) {
      const BlockId b = f_.def_block(members[0]);
      std::vector<std::pair<u64, ValueId>> parts;
      for (const ValueId p : members) parts.emplace_back(given(b, f_[p].index), p);
      if (std::ranges::all_of(parts, [&](const auto& part) { return part.first == parts[0].first; })) {
        classes_.push_back(std::move(members));
        continue;
      }
      parted = true;
      add_parts(parts);
    }
    return parted;
  }

  void replace() {
    FlatMap<ValueId> first;
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : cfg_.rpo)
      for (const ValueId p : f_[b].params)
        if (const auto [one, is_new] = first.try_emplace(class_[p.index], p); !is_new) map[p.index] = one;
    f_.replace_values(map);
  }
};

} // namespace

void merge_equal_parameters(Function& f) { Parameters(f).merge(); }

} // namespace lanewise::passes
