// One side of a branch, followed symbolically: part of the proof in decide.cpp, which says what for.
#pragma once

#include "translator/ir/cfg.hpp"
#include "translator/passes/lane_demand.hpp"
#include "translator/phases/symbols.hpp"

#include <map>

namespace lanewise::phases {

/// What Side needs to know about the function.
struct SideFacts {
  const ir::Function& f;
  const ir::Cfg& cfg;
  const ir::Dominators& dom;
  const ir::Loops& loops;
  const passes::MaskFacts& masks;
  const std::vector<bool>& decided;      ///< per block
  const std::vector<ir::BlockId>& joins; ///< per decided block: where it makes no difference any more
  const ir::PostDominators& post;
  const passes::LaneDemand* demand = nullptr; ///< once it has been asked for and found
  Lists<ir::BlockId> operand_users;           ///< per value: blocks with instructions that use it
  Lists<ir::BlockId> edge_users;              ///< per value: blocks with edges that hand it on

  SideFacts(const ir::Function& function, const ir::Cfg& c, const ir::Dominators& d, const ir::Loops& l,
            const passes::MaskFacts& m, const std::vector<bool>& decided_blocks,
            const std::vector<ir::BlockId>& joins_of_decided, const ir::PostDominators& p);
};

/// Entries by (context, index), of which all can be dropped at once.
template <class T>
class Table {
public:
  explicit Table(std::size_t width) : width_(width) {}
  void clear() {
    if (++generation_ != 0) return;
    rows_.clear();
    generation_ = 1;
  }
  [[nodiscard]] const T* find(u32 row, u32 index) const {
    if (row >= rows_.size() || rows_[row][index].generation != generation_) return nullptr;
    return &rows_[row][index].value;
  }
  /// The entry, and whether it was missing until now.
  std::pair<T&, bool> at(u32 row, u32 index) {
    while (row >= rows_.size()) rows_.emplace_back(width_);
    Entry& e = rows_[row][index];
    const bool is_new = e.generation != generation_;
    if (is_new) e = {generation_, T{}};
    return {e.value, is_new};
  }

private:
  struct Entry {
    u32 generation = 0;
    T value{};
  };
  std::size_t width_;
  u32 generation_ = 1;
  std::vector<std::vector<Entry>> rows_;
};

/// The tables of a side, large and therefore used for one side after the other.
struct SideTables {
  Table<u32> node_of;  ///< (context, block): index of the node
  Table<u8> visited;   ///< (0, block)
  Table<Symbol> known; ///< (context, value)
  explicit SideTables(const ir::Function& f)
      : node_of(f.num_blocks()), visited(f.num_blocks()), known(f.num_values()) {}
};

/// What the past was, given that `empty_mask` is empty in this gang.
class Past {
public:
  Past(const SideFacts& facts, Symbols& symbols)
      : k_(facts), symbols_(symbols), masks_(facts.f.num_values()), others_(facts.f.num_values()),
        unseen_(facts.f.num_values()) {}
  /// The mask is the one that the branch ending `branch` asks for.
  void assume_empty(ir::ValueId mask, ir::BlockId branch) {
    empty_mask_ = mask;
    branch_ = branch;
    masks_.clear();
    equal_.clear();
    unseen_.clear();
    leaves_out_unseen_ = false;
  }
  /// From now on sides leave out what nobody looks at.
  void leave_out_unseen() { leaves_out_unseen_ = true; }
  [[nodiscard]] bool leaves_out_unseen() const { return leaves_out_unseen_; }
  /// Nobody looks at `v`, a parameter of block `at` or computed there, but in lanes of that mask, while the
  /// branch has not been passed again.
  [[nodiscard]] bool is_unseen(const passes::LaneDemand& demand, ir::ValueId v, ir::BlockId at);
  /// In block `at`, while the branch has not been passed again, these lanes are some of that mask.
  [[nodiscard]] bool is_inside_mask(const passes::LaneDemand& demand, passes::Bdd::Node lanes,
                                    ir::BlockId at) const;
  /// `lanes` without those of that mask, while it is known that it has none.
  [[nodiscard]] passes::Bdd::Node without_mask(passes::Bdd::Node lanes, ir::BlockId at) const {
    return is_current(at) ? k_.masks.bdd().andnot(lanes, k_.masks.lanes(empty_mask_)) : lanes;
  }
  /// To be called when the expressions are forgotten.
  void forget_expressions() { others_.clear(); }
  [[nodiscard]] Symbol symbol(ir::ValueId v);

private:
  const SideFacts& k_;
  Symbols& symbols_;
  ir::ValueId empty_mask_;
  ir::BlockId branch_;
  Table<Symbol> masks_, others_;
  std::map<passes::Bdd::Node, ir::ValueId> equal_; ///< the first mask of these lanes that was asked about
  bool leaves_out_unseen_ = false;
  Table<u8> unseen_;

  /// In block `at`, the mask is the one that the branch has asked for.
  [[nodiscard]] bool is_current(ir::BlockId at) const;
  ir::ValueId first_equal(ir::ValueId v);
  Symbol other(ir::ValueId v);
  [[nodiscard]] bool is_pairing(ir::ValueId v) const;
  Symbol pairing(ir::ValueId v);
};

/// One side of a branch, followed from its first block to the join J.
class Side {
public:
  struct Branch {
    ir::BlockId from;
    const ir::Successor& edge;
    ir::BlockId join;
  };
  /// `number` is 0 for the side that the wave goes, 1 for the one that a gang without lanes goes.
  Side(const SideFacts& facts, Symbols& symbols, Past& past, SideTables& tables, unsigned number,
       const Branch& branch);

  /// Follows the side to a fixed point. Returns what is in the way, or nothing: the side may be too large, or
  /// come to code again that ran before the branch, in the same context, where values of two times would be
  /// confused.
  std::string_view solve(std::size_t max_nodes);
  /// What has been solved up to J is the same if `join`, a block that all ways from J lead to, is J instead.
  [[nodiscard]] bool can_go_on_to(ir::BlockId join) const {
    return !join_matters_ && passed(join) == headers_;
  }
  /// solve() with that J.
  std::string_view go_on_to(ir::BlockId join, std::size_t max_nodes);

  /// The blocks on this side; a block may come twice, in different contexts. Stops when visit returns false.
  template <class F>
  bool all_blocks(F visit) const {
    for (const Node& n : nodes_)
      if (!visit(n.context, n.block)) return false;
    return true;
  }
  [[nodiscard]] std::size_t num_nodes() const { return nodes_.size(); }
  [[nodiscard]] bool has_cycle() const { return cycle_ || passes(from_); }
  [[nodiscard]] bool passes(ir::BlockId b) const { return t_.visited.find(0, b.index) != nullptr; }
  /// Some way leads to J. (Else this side never ends, and the two need not agree.)
  [[nodiscard]] bool reaches_join() const { return !exits_.empty(); }

  /// What J's parameter number `index` gets from this side.
  [[nodiscard]] Symbol join_argument(u32 index) const;
  /// On all ways to J, nobody looks at what it gets as that parameter, but in lanes of masks that are empty.
  [[nodiscard]] bool is_unseen(const passes::LaneDemand& demand, u32 index) const;
  /// What `v` is when J is reached.
  [[nodiscard]] Symbol at_join(ir::ValueId v) const;
  [[nodiscard]] bool is_empty(u32 context, ir::ValueId mask) const { return symbol(context, mask) == kEmpty; }
  [[nodiscard]] Symbol symbol(u32 context, ir::ValueId v) const;
  /// What block `b` computes has not been computed again since the branch, as seen in context `context`.
  [[nodiscard]] bool is_old(u32 context, ir::BlockId b) const;
  /// `lanes` without some that are known not to be the gang's in this context.
  [[nodiscard]] passes::Bdd::Node without_mask(passes::Bdd::Node lanes, u32 context, ir::BlockId at) const {
    return context == 0 ? past_.without_mask(lanes, at) : lanes;
  }

  /// A way from a block to one of its successors.
  struct Way {
    u32 context;
    ir::BlockId from;
    u32 successor;
    const ir::Successor* edge;
  };
  [[nodiscard]] ir::BlockId join() const { return join_; }
  [[nodiscard]] const std::vector<Way>& ways_to_join() const { return exits_; }
  /// Calls f for the ways into block `b` in that context.
  template <class F>
  void for_each_way_in(u32 context, ir::BlockId b, F f) const {
    if (b == edge_.block && context == context_of(0, b)) f(Way{0, from_, number_, &edge_});
    if (const u32* n = t_.node_of.find(context, b.index))
      for (const Way& way : nodes_[*n].ways_in) f(way);
  }

private:
  struct Node {
    u32 context;
    ir::BlockId block;
    bool edges_done[2] = {false, false};
    bool stale = true;        ///< something it is computed from has changed
    std::vector<Way> ways_in; ///< from inside the side
  };
  const SideFacts& k_;
  Symbols& symbols_;
  Past& past_;
  SideTables& t_;
  unsigned number_;
  ir::BlockId from_;
  const ir::Successor& edge_;
  ir::BlockId join_;
  std::vector<ir::BlockId> headers_;
  std::vector<Node> nodes_;
  std::map<std::pair<u32, u32>, u32> order_; ///< the nodes by context and position in reverse postorder
  std::vector<Way> exits_;
  std::vector<Symbol> operands_; ///< of the instruction at hand
  bool cycle_ = false, back_in_time_ = false;
  mutable bool join_matters_ = false; ///< some branch would be followed otherwise if J were farther

  [[nodiscard]] std::vector<ir::BlockId> passed(ir::BlockId join) const;
  std::string_view settle(std::size_t max_nodes);
  void follow(const Way& way);
  u32 context_of(u32 c, ir::BlockId to) const;
  u32 enter(u32 from_context, ir::BlockId to);
  void mark(u32 context, ir::BlockId b);
  void mark_users(u32 c, ir::ValueId v, ir::BlockId at);
  void update(u32 c, ir::ValueId v, ir::BlockId at, Symbol now);
  void evaluate(std::size_t n);
  Symbol parameter(const Node& node, ir::ValueId p) const;
  Symbol result(u32 c, ir::InstId i, unsigned r);
  [[nodiscard]] bool is_as_before(ir::InstId i) const;
  [[nodiscard]] bool meets_up_to_join(ir::BlockId b) const;
  void follow_edges(std::size_t n);
};

} // namespace lanewise::phases
