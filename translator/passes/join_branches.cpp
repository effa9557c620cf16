// Blocks that end by asking whether there are lanes, and go the same two ways then, ask in one place, of what
// each of them brings there. Compilers make such blocks of one when they put rare code aside: the block
// behind an `if` then stands behind either of its ways, and those meet nowhere but behind all that follows,
// where nothing tells any more that they did the same. In one place gangs meet at once (phases/decide.cpp).
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <map>

namespace lanewise::passes {

using namespace ir;

namespace {

class BranchJoiner {
public:
  explicit BranchJoiner(Function& f) : f_(f), cfg_(f) {}

  /// Those to be joined, by the two ways that they go.
  [[nodiscard]] auto find() const {
    std::map<std::pair<BlockId, BlockId>, std::vector<BlockId>> askers;
    for (const BlockId b : cfg_.rpo)
      if (f_.tested_mask(b).valid() && goes_forward(b))
        askers[{way(b, 0).block, way(b, 1).block}].push_back(b);
    std::erase_if(askers, [](const auto& entry) { return entry.second.size() < 2; });
    return askers;
  }
  bool run() {
    const auto askers = find();
    for (const auto& [ways, blocks] : askers) join(blocks);
    return !askers.empty();
  }

private:
  Function& f_;
  const Cfg cfg_;

  /// Where `b` goes, behind blocks that do nothing.
  [[nodiscard]] const Successor& way(BlockId b, unsigned n) const {
    return end_of_way(f_, b, f_[b].successors[n]);
  }
  /// Loops keep their ways in and round apart.
  [[nodiscard]] bool goes_forward(BlockId b) const {
    const auto leads_on = [&](const Successor& s) {
      return cfg_.rpo_index[s.block.index] > cfg_.rpo_index[b.index];
    };
    return way(b, 0).block != way(b, 1).block && leads_on(way(b, 0)) && leads_on(way(b, 1));
  }

  void join(const std::vector<BlockId>& blocks) {
    const BlockId first = blocks.front(), place = f_.add_block(f_[f_.terminator(first)].pc);
    std::vector<std::vector<ValueId>> brought; // per parameter of `place`: from each block
    std::vector<ValueId> mask;
    for (const BlockId b : blocks) mask.push_back(f_.tested_mask(b));
    mask = {in_place(place, mask, brought)};
    Successor ways[] = {way(first, 0), way(first, 1)};
    for (unsigned w = 0; w < 2; ++w)
      for (std::size_t a = 0; a < ways[w].args.size(); ++a) {
        std::vector<ValueId> values;
        for (const BlockId b : blocks) values.push_back(way(b, w).args[a]);
        ways[w].args[a] = in_place(place, values, brought);
      }
    Builder builder(f_, place);
    builder.pc = f_[f_.terminator(first)].pc;
    builder.branch(builder.any(mask[0]), ways[0].block, ways[1].block, ways[0].args, ways[1].args);
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      Successor way{place, {}};
      for (const auto& values : brought) way.args.push_back(values[n]);
      f_.become_jump(blocks[n], std::move(way));
    }
  }

  /// What is one of `values`, by the block that comes to `place`.
  ValueId in_place(BlockId place, const std::vector<ValueId>& values,
                   std::vector<std::vector<ValueId>>& brought) {
    if (std::ranges::all_of(values, [&](ValueId v) { return v == values.front(); })) return values.front();
    const auto known = std::ranges::find(brought, values);
    if (known != brought.end()) return f_[place].params[static_cast<std::size_t>(known - brought.begin())];
    brought.push_back(values);
    return f_.add_param(place, f_.type(values.front()));
  }
};

} // namespace

std::vector<bool> find_joined_branches(Function& f) {
  std::vector<bool> found(f.num_blocks(), false);
  for (const auto& [ways, blocks] : BranchJoiner(f).find())
    for (const BlockId b : blocks) found[b.index] = true;
  return found;
}

bool join_branches(Function& f) { return BranchJoiner(f).run(); }

} // namespace lanewise::passes
