// Accesses to the LDS that nobody would miss. No other wave runs between two of a block.
//
// A load is done once if it is there twice with nothing stored between that may go there, as where a barrier
// of a workgroup that is one wave has vanished.
//
// A store is dead if all it has written is stored to again, and nothing between them can see it. So it is
// with elements that an unrolled loop adds to, round by round: compilers keep what they have stored in a
// register, but store it each time, since they cannot tell whether the loads between go there. Here ids have
// bounds, as conditions on them say.
#include "translator/ir/cfg.hpp"
#include "translator/passes/masked_limits.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

class Remover {
public:
  explicit Remover(Function& f) : f_(f), limits_(f), map_(f.num_values()) {}

  bool run() {
    for (const BlockId b : Cfg(f_).rpo) visit(b);
    if (unwanted_.empty()) return false;
    for (const InstId i : unwanted_) f_[i].block = BlockId{};
    for (Block& block : f_.blocks) std::erase_if(block.insts, [&](InstId i) { return !f_[i].block.valid(); });
    map_.resize(f_.num_values());
    f_.replace_values(map_);
    return true;
  }

private:
  Function& f_;
  ValueLimits limits_;
  std::optional<MaskedLimits> masked_limits_;           ///< takes long to make: when wanted
  std::unordered_map<u32, std::optional<Range>> spans_; ///< that were asked for, per access
  std::vector<InstId> unwanted_;
  std::vector<ValueId> map_; ///< what loads again have for results

  [[nodiscard]] bool reaches_lds(InstId i) const {
    const Space space = f_[i].mem.space;
    return info(f_[i].op).is(kMemory) && (space == Space::Lds || space == Space::Flat);
  }
  [[nodiscard]] bool is_plain_store(InstId i) const {
    return f_[i].op == Op::Store && f_[i].mem.space == Space::Lds && f_[i].mem.form == AddressForm::Lanes;
  }
  /// The second goes where the first has gone, in all of its lanes. A wider one does not if it goes beyond
  /// the end of the LDS: then nothing of it is stored.
  [[nodiscard]] bool covers(InstId second, InstId first) const {
    const auto x = f_.operands(first), y = f_.operands(second);
    return x[0] == y[0] && f_[first].imm == f_[second].imm && f_[first].mem.bytes == f_[second].mem.bytes &&
           (x.back() == y.back() || f_.is_full(y.back()));
  }

  [[nodiscard]] bool is_plain_load(InstId i) const {
    return f_[i].op == Op::Load && f_[i].mem.space == Space::Lds && f_[i].mem.form == AddressForm::Lanes;
  }
  /// The second of two plain loads finds what the first has found, if that is there still.
  [[nodiscard]] bool loads_again(InstId second, InstId first) const {
    return is_plain_load(first) && std::ranges::equal(f_.operands(first), f_.operands(second)) &&
           f_[first].imm == f_[second].imm && f_[first].mem == f_[second].mem &&
           f_[first].num_results == f_[second].num_results &&
           f_.type(f_.result(first)) == f_.type(f_.result(second));
  }

  void visit(BlockId b) {
    std::vector<InstId> accesses; // of the block, to the LDS
    for (const InstId i : f_[b].insts)
      if (reaches_lds(i)) accesses.push_back(i);
    find_loads_again(accesses);
    find_dead_stores(accesses);
  }

  void find_loads_again(std::vector<InstId>& accesses) {
    std::vector<InstId> left;
    for (const InstId i : accesses) {
      const InstId first = is_plain_load(i) ? find_first(left, i) : InstId{};
      if (!first.valid()) {
        left.push_back(i);
        continue;
      }
      for (unsigned r = 0; r < f_[i].num_results; ++r) map_[f_.result(i, r).index] = f_.result(first, r);
      unwanted_.push_back(i);
    }
    accesses = std::move(left);
  }
  /// The load before `load` that has found the same; nothing if there is none.
  InstId find_first(const std::vector<InstId>& before, InstId load) {
    const auto first =
        std::find_if(before.rbegin(), before.rend(), [&](InstId i) { return loads_again(load, i); });
    if (first == before.rend()) return {};
    const bool is_there = std::all_of(before.rbegin(), first,
                                      [&](InstId i) { return f_[i].op == Op::Load || are_apart(i, load); });
    return is_there ? *first : InstId{};
  }

  void find_dead_stores(const std::vector<InstId>& accesses) {
    for (auto first = accesses.begin(); first != accesses.end(); ++first) {
      if (!is_plain_store(*first)) continue;
      const auto next = std::find_if(first + 1, accesses.end(),
                                     [&](InstId i) { return is_plain_store(i) && covers(i, *first); });
      if (next != accesses.end() && std::all_of(first + 1, next, [&](InstId i) {
            return f_[i].op == Op::Store || are_apart(*first, i);
          }))
        unwanted_.push_back(*first);
    }
  }

  /// No lane of one gets to a byte that one of the other gets to.
  bool are_apart(InstId store, InstId load) {
    if (!is_plain_store(store) || !is_plain_load(load)) return false;
    return differ_in_low_bits(store, load) || have_parts(store, load);
  }

  /// Both addresses are multiples of a power of two, and offsets from there keep apart.
  [[nodiscard]] bool differ_in_low_bits(InstId a, InstId b) const {
    const u64 ones = limits_.of(f_.operands(a)[0]).ones | limits_.of(f_.operands(b)[0]).ones;
    const u64 size = ones == 0 ? u64{1} << 32 : ones & (0 - ones);
    const u64 first = f_[a].imm % size, second = f_[b].imm % size;
    const u64 shift = (second - first) % size; // from the one on
    return shift >= f_[a].mem.bytes && size - shift >= f_[b].mem.bytes;
  }

  bool have_parts(InstId a, InstId b) {
    const auto x = span(a), y = span(b);
    return x && y && (x->max < y->min || y->max < x->min);
  }
  /// The bytes that an access may get to.
  std::optional<Range> span(InstId i) {
    const auto [known, is_new] = spans_.try_emplace(i.index);
    if (is_new) known->second = find_span(i);
    return known->second;
  }
  std::optional<Range> find_span(InstId i) {
    const auto x = f_.operands(i);
    if (!masked_limits_) masked_limits_.emplace(f_);
    const auto address = masked_limits_->sum(x[0], x.back(), f_[i].block);
    if (!address) return std::nullopt;
    const auto offset = static_cast<i64>(f_[i].imm & 0xffff'ffff);
    const Range all = {address->min + offset, address->max + offset + f_[i].mem.bytes - 1};
    constexpr i64 kEnd = i64{1} << 32;
    return all.min >= 0 && all.max < kEnd ? std::optional(all) : std::nullopt;
  }
};

} // namespace

bool remove_lds_accesses(Function& f) {
  const auto is_lds = [](const Inst& inst) {
    return info(inst.op).is(kMemory) && inst.mem.space == Space::Lds;
  };
  return has_any(f, is_lds) && Remover(f).run();
}

} // namespace lanewise::passes
