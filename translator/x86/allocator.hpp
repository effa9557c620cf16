// The allocator at work; regalloc.hpp explains the method. Its parts: regalloc.cpp (the pass and its result),
// regalloc_borders.cpp (what blocks start and end with), regalloc_insts.cpp (instructions),
// regalloc_registers.cpp (who has which register, who goes).
#pragma once

#include "translator/x86/liveness.hpp"
#include "translator/x86/parallel_copy.hpp"
#include "translator/x86/regalloc.hpp"

namespace lanewise::x86 {

inline constexpr u8 kNone = 0xff;

/// Where a value is at a block's border. One that is alive and not listed is in its slot, or to be
/// rematerialised.
struct ValueAt {
  VReg value;
  u8 reg, cls;
  bool stored; ///< its slot holds it
};

class Allocator {
public:
  Allocator(const Module& module, const Part& part, const AllocOptions& options);
  Result<Allocation> run();

private:
  struct Use {
    u32 operand;
    bool second; ///< Operand::tied instead of Operand::reg
    VReg value;
    u32 next;
  };
  struct Candidate {
    VReg value;
    u32 distance;
    bool everywhere; ///< in a register at the end of every predecessor, or a parameter
  };

  /// How a value that may be made anew is had from memory, as instructions could have it themselves.
  enum class Source : u8 { Computed, Memory, Broadcast32, Broadcast64 };
  [[nodiscard]] Source source_of(const LInst& remat) const;

  // Borders of blocks.
  void enter_block(u32 b);
  [[nodiscard]] bool goes_on(u32 b) const;
  void go_on(u32 b);
  void stay(u32 b);
  void empty_registers();
  void merge_predecessors(u32 b);
  void collect_candidates(u32 b, bool loop_entry);
  [[nodiscard]] bool comes_in_register(u32 b, u32 param);
  void select_entry_values(u32 b, unsigned c, bool loop_entry);
  void place_entry_values(u32 b, unsigned c);
  void settle_unplaced(u32 b);
  void leave_block(u32 b);
  void hint_successors(u32 b);
  void resolve_edge(u32 from, u32 n);

  [[nodiscard]] bool is_parameter(VReg v, u32 b) const {
    return live_.def_block[v.index] == b && live_.def_operand[v.index] == kNever;
  }

  // Inside a block.
  void process(const LInst& inst, u32 index);
  void collect_operands(const LInst& inst);
  void bring_in_uses(const LInst& inst);
  bool fold(const LInst& inst, const Use& use);
  [[nodiscard]] bool can_read_definition(const LInst& inst, const Use& use) const;
  [[nodiscard]] bool made_in_place(const Use& use) const;
  void assign_tied(u32 operand);
  void assign_def(u32 operand);
  void release_dead_uses();
  void finish_defs();

  // Registers.
  u8 take_reg(unsigned c, VReg v) {
    const u32 free = allowed_[c] & ~occupied_[c];
    return free != 0 ? pick(free, v) : make_room(c);
  }
  u8 make_room(unsigned c);
  u8 pick(u32 set, VReg v) {
    if (options_.random_seed) return pick_at_random(set);
    const u8 wanted = hint_[v.index];
    if (wanted != kNone && set >> wanted & 1) return wanted;
    return static_cast<u8>(std::countr_zero(set));
  }
  u8 pick_at_random(u32 set);
  u8 victim(unsigned c, u32 candidates);
  void evict(unsigned c, u8 r);
  bool store_before_loop(VReg v);
  [[nodiscard]] bool stored_around(VReg v, u32 b) const {
    return stored_in_loop_[v.index] != kNever && live_.in_loop(b, stored_in_loop_[v.index]);
  }
  [[nodiscard]] u32 entry_weight(u32 b) const;
  void bind(unsigned c, u8 r, VReg v) {
    occupant_[c][r] = v;
    occupied_[c] |= 1u << r;
    reg_[v.index] = r;
  }
  void unbind(unsigned c, u8 r) {
    reg_[occupant_[c][r].index] = kNone;
    occupant_[c][r] = VReg{};
    occupied_[c] &= ~(1u << r);
  }
  void hint(VReg v, u8 r);
  u32 weight(u32 b) const { return part_.blocks[b].cold ? 0 : 1 + live_.depth[b]; }
  unsigned cls(VReg v) const { return static_cast<unsigned>(part_.class_of(v)); }
  u32 random() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<u32>(random_ >> 33);
  }

  // Result.
  void step(Step::Kind kind, unsigned c, u8 dst, u8 src, u32 index, u32 index2 = 0) {
    raw_.push_back({kind, static_cast<RegClass>(c), dst, src, index, index2});
  }
  void bring(unsigned c, u8 r, VReg v); ///< reload or rematerialise v into r
  void finalize();
  bool take_steps();

  const Module& module_;
  const Part& part_;
  const AllocOptions& options_;
  Liveness live_;
  Allocation out_;
  std::string error_;
  u64 random_;

  // Per value.
  std::vector<u8> reg_, hint_, stored_, at_def_, has_slot_, remat_;
  std::vector<Source> remat_source_;
  std::vector<u32> next_;                 ///< position of the next use, kNever, kBehind, or
  static constexpr u32 kAsk = kNever - 1; ///< what live_ says for the start of this block
  u32 next_use(VReg v) {
    u32& next = next_[v.index];
    if (next == kAsk) next = live_.distance(v, block_);
    if (next == kBehind) next = live_.behind(v, block_);
    return next;
  }
  std::vector<u32> slot_owner_;     ///< whose slot it has, once all blocks are done
  std::vector<u32> stored_in_loop_; ///< header of a loop throughout which the slot holds the value
  /// What the predecessors of a block that are already allocated, and have a say, end with.
  struct Merged {
    u32 block = kNever;     ///< of which this holds; elsewhere the value is in none of their registers
    u8 count = 0;           ///< how many have it in a register
    u8 preferred = kNone;   ///< the register
    bool all_stored = true; ///< its slot holds it at the end of all of them
    bool listed = false;    ///< among the candidates
  };
  std::vector<Merged> merged_;
  std::vector<VReg> merged_values_;
  u32 num_merged_ = 0; ///< how many predecessors have a say
  Merged& merged(VReg v) {
    Merged& m = merged_[v.index];
    if (m.block != block_) m = {block_};
    return m;
  }
  std::vector<Candidate> candidates_[kNumClasses];
  bool all_stay_[kNumClasses] = {}; ///< of the candidates: in a register on all ways, and none is a parameter

  // Register files.
  u32 allowed_[kNumClasses], occupied_[kNumClasses] = {}, locked_[kNumClasses] = {};
  VReg occupant_[kNumClasses][32]; ///< absent where a register is not occupied
  static constexpr u32 kMostRegisters = kNumClasses * 32;

  u32 block_ = 0, position_ = 0;
  std::vector<Use> uses_;
  std::vector<u32> defs_; ///< operands of the instruction at hand, tied ones included
  /// The values in registers where a block starts, by number, then its parameters; and where it ends.
  std::vector<ValueAt> entries_, exits_;
  std::vector<StepRange> entry_, exit_; ///< per block; no entry where it goes on with what another ends with
  std::vector<u32> entry_through_;      ///< per block: how many of its entries are no parameters
  [[nodiscard]] std::span<ValueAt> at_entry(u32 b) {
    return {entries_.data() + entry_[b].first, entry_[b].count};
  }
  [[nodiscard]] std::span<ValueAt> at_exit(u32 b) { return {exits_.data() + exit_[b].first, exit_[b].count}; }
  std::vector<Transfer> transfers_;
  std::vector<Step>
      raw_; ///< steps with slots named by value; a Store with index2 = 1 is redundant for at_def_ values
  std::vector<StepRange> raw_blocks_, raw_edges_[2];
};

} // namespace lanewise::x86
