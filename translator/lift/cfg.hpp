// Control flow: which guest code runs in which block.
//
// A block is guest code in a calling context. At first functions are inlined once per context - the stack of
// return addresses - so that a return knows where to go. Where that makes too much code, or never ends, a
// context is a function instead: all calls of it share one copy, and its returns compare with the return
// addresses of all of them. Code after a change of MODE is lifted again for each MODE it can be reached with.
// Direct branches are followed before lifting (scan), to see where blocks begin and which have one
// predecessor; targets in registers are found while lifting, from the values that SSA construction has. Where
// two instruction streams overlap, or a branch goes into a block that is lifted already, the code in question
// is simply lifted twice.
#pragma once

#include "isa/decoder.hpp"
#include "support/flat_map.hpp"
#include "translator/lift/function_addresses.hpp"
#include "translator/lift/lifter.hpp"

#include <bitset>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <unordered_map>

namespace lanewise::lift {

/// Beyond this many instructions functions are no longer inlined. Shared ones keep their variables in memory
/// and their returns unproved, which is many times slower to run and to translate, so this is as much as two
/// dozens of calls of pow() where nothing was optimised.
inline constexpr u32 kMaxInlined = 80'000;
/// Beyond this many the interpreter is the better engine.
inline constexpr u32 kMaxGuestInstructions = 400'000;
inline constexpr u32 kMaxCallDepth = 64;
inline constexpr u32 kMaxCallees = 256; ///< of an indirect call whose target is not known

class Cfg {
public:
  /// What earlier attempts have shown.
  struct Plan {
    bool share_functions = false;
    bool assume_returns = true; ///< inlined functions return to where they were called from, if at all
    /// Pcs where a call's target, or what MODE is set to, is not always what it was on the first path there.
    std::set<u32> not_as_first;
  };
  Cfg(const translator::KernelSource& source, ir::Function& f, const Plan& plan,
      FunctionAddresses& addresses);

  /// Lifts everything reachable from the entry, without finishing SSA construction, unless that is
  /// too_large().
  void lift_all(Lifter& lifter);
  [[nodiscard]] bool too_large() const { return too_large_; }

  // ---- for the rules of instructions that end a block; all addresses are host addresses of guest code
  void jump(u64 address);
  void branch(ValueId taken, u64 address);
  void call(ValueId target, u64 return_address);
  /// The current instruction computed this address.
  void note_address(u64 address);
  /// s_setpc: a return, a jump to a known place, or a BadJump.
  void jump_indirect(ValueId target);
  /// Goes on, once for each pc, as if `value` always were what it was on the first path here, if that is
  /// known and was not seen to be wrong; unproved() tells when all paths are known.
  std::optional<u64> assume_first(ValueId value);
  /// Continues after the current instruction in the state of the first case that holds; one of them does.
  void fork(std::span<const std::pair<ValueId, Static>> cases);
  void barrier();
  /// Ends the block with a runtime::SyncRequest.
  void sync(ValueId request);
  void end_program();
  void trap(u32 id);

  // ---- scalars spilled to lanes of VGPRs: where function addresses go at -O0
  void note_lane_write(unsigned vgpr, unsigned lane, ValueId value);
  /// `result` is a ReadLane.
  void note_lane_read(unsigned vgpr, unsigned lane, ValueId result);

  [[nodiscard]] u32 guest_instructions() const { return guest_instructions_; }
  /// Calls were lifted for one target, MODE for one value, or returns for their call alone: whatever else a
  /// register says leads to a BadJump, which the complete function, simplified, must not contain any more.
  [[nodiscard]] bool assumes_anything() const { return !assumptions_.empty() || !assumed_returns_.empty(); }
  /// To be told when the function's instructions have been renumbered (ir::Function::compact).
  void renumber(std::span<const ir::InstId> now);
  /// The pcs of which it does.
  [[nodiscard]] std::set<u32> unproved(const ir::Function& f) const;
  /// But for those that can be nothing else, such as calls at a function's end.
  [[nodiscard]] bool returns_are_proved(const ir::Function& f) const;

private:
  using ContextId = u32; ///< 0 is the kernel itself
  struct Site {
    ContextId caller = 0;
    u64 return_address = 0;
    friend auto operator<=>(const Site&, const Site&) = default;
  };
  struct Context {
    std::vector<Site> sites;    ///< where it is called from: one, unless functions are shared
    std::vector<u64> addresses; ///< of functions, as its code computes them: it may end by jumping to one
    std::vector<ContextId> tail_callees; ///< shared functions that return in its stead
    u32 depth = 0;
  };
  /// The end of a shared function: a chain of compares that grows as calls of the function are found.
  struct Dispatch {
    ContextId context = 0;
    Static known;
    BlockId head, tail;    ///< the tail has no end yet
    u32 sites = 0;         ///< of the context, compared with so far
    std::set<u64> callees; ///< what its returns may be calls of
    std::set<u64> tails;   ///< of these, compared with so far
  };
  struct Key {
    ContextId context = 0;
    u32 offset = 0;
    u32 mode = 0;
    u32 gpr_idx = 0;
    /// 1 for the second block where the first was found to have a single predecessor and has not.
    u32 copy = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Node {
    Key key;
    BlockId only_predecessor;
    std::bitset<128> hinted; ///< scalar registers whose value on the first path to this block is known
    std::array<u32, 128> hints = {};
  };
  /// An instruction as found by scan().
  struct Decoded {
    isa::Inst inst;
    isa::DecodeStatus status = isa::DecodeStatus::Ok;
    bool scanned = false, leader = false;
    u8 predecessors = 0; ///< saturates at 2
    u32 walk = 0;        ///< the last of never_returns() that has come here
  };

  /// A lane of a VGPR in one context.
  struct Lane {
    ContextId context = 0;
    unsigned vgpr = 0, lane = 0;
    friend auto operator<=>(const Lane&, const Lane&) = default;
  };
  /// A call lifted for the addresses written to two lanes so far.
  struct LaneCall {
    u32 pc = 0;
    Lane low, high;
    std::set<u64> callees;
  };
  /// Lifted for the address that its call has said.
  struct AssumedReturn {
    u32 pc = 0;
    ContextId context = 0;
    ir::InstId jump; ///< taken if the assumption fails
  };
  struct LaneWrites {
    std::set<u32> constants;
    bool others = false; ///< values that are not known were written, too
  };

  Decoded& decoded(u32 offset);
  /// Null behind the code's end.
  const Decoded* decoded_inside(u32 offset);
  void scan(u32 offset);
  void add_edge(u32 offset, bool leader, unsigned count = 1);
  [[nodiscard]] bool in_code(u64 address) const;
  [[nodiscard]] bool is_inside(i64 offset) const;
  bool never_returns(u32 offset);

  void lift_block(BlockId b);
  BlockId block_at(u64 address, ContextId context);
  BlockId block_at(u64 address) { return block_at(address, context_); }
  BlockId new_block(const Key& key, BlockId only_predecessor);
  BlockId continuation(); ///< a block that only the current one reaches, in the same place
  void enter(BlockId b);
  void bad_jump(ValueId target);
  void call_one(u64 address, u64 return_address);
  void call_unknown(ValueId target, u64 return_address);
  void call_among(ValueId target, const std::set<u64>& callees, u64 return_address);
  [[nodiscard]] bool loaded_here(ValueId vgpr) const;
  bool spilled_to(ValueId target, Lane* low, Lane* high) const;
  std::set<u64> addresses_spilled(ValueId target) const;
  [[nodiscard]] std::set<u64> addresses_in(const Lane& low, const Lane& high) const;
  ContextId callee_context(u64 address, u64 return_address); ///< 0 if inlining it would not end
  void add_site(ContextId context, const Site& site);
  Dispatch& dispatch();
  [[nodiscard]] std::vector<u64> tail_callees(u32 pc, ContextId context) const;
  [[nodiscard]] bool is_function(u64 address) const;
  ContextId tail_context(ContextId caller, u64 address);
  bool extend(Dispatch& d);
  ValueId return_target();
  void take_hints(Node& node, BlockId from);
  bool hint(ValueId value, u64* bits) const;

  const translator::KernelSource& source_;
  FunctionAddresses& addresses_;
  ir::Function& f_;
  Lifter* l_ = nullptr;
  std::pmr::monotonic_buffer_resource memory_; ///< of decoded_, which would allocate each alone
  std::pmr::deque<Decoded> decoded_{&memory_};
  FlatMap<u32> decoded_at_; ///< by offset: place in decoded_
  std::vector<Context> contexts_ = {Context{}};
  std::map<std::pair<u64, u64>, ContextId>
      context_ids_;                  ///< by caller and return address, or by 0 or the stack and callee
  std::map<u32, bool> never_return_; ///< functions, by offset
  std::vector<Dispatch> dispatches_;
  std::map<Key, BlockId> blocks_;
  std::vector<std::unique_ptr<Node>> nodes_; ///< by block; null for blocks without guest code of their own
  std::vector<BlockId> work_;
  Plan plan_;
  /// Pc, and the BadJump taken if the assumption fails.
  std::vector<std::pair<u32, ir::InstId>> assumptions_;
  std::vector<AssumedReturn> assumed_returns_;
  std::map<Lane, LaneWrites> lane_writes_;
  std::unordered_map<u32, Lane> lane_reads_; ///< by value
  std::vector<LaneCall> lane_calls_;
  ContextId context_ = 0;
  bool ended_ = false, too_large_ = false;
  bool indirect_ = false; ///< there are branches to registers: hints are worth their while
  u32 guest_instructions_ = 0;
};

} // namespace lanewise::lift
