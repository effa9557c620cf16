#include "translator/x86/emit.hpp"

#include "translator/x86/checker.hpp"
#include "translator/x86/emit_operands.hpp"

#include <asmjit/x86.h>

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::x86 {

namespace aj = asmjit;
namespace ax = asmjit::x86;

namespace {

class FirstError final : public aj::ErrorHandler {
public:
  void handleError(aj::Error, const char* message, aj::BaseEmitter*) override {
    if (text.empty()) text = message;
  }
  std::string text;
};

constexpr unsigned kSavedGprs[] = {5, 3, 12, 13, 14, 15}; // rbp rbx r12-r15: SysV's callee-saved

} // namespace

class Emitter {
public:
  Emitter(const Module& module, const EmitOptions& options) : module_(module), options_(options) {}
  Result<std::unique_ptr<CompiledCode>> run();

private:
  struct EdgeStub {
    aj::Label label;
    u32 from, n;
  };

  Result<void> allocate_parts();
  void emit_entry();
  void emit_dispatch();
  void emit_exit();
  void emit_data();
  Result<void> place();

  void emit_part(u32 index);
  void lay_out_part();
  void find_empty_blocks();
  void emit_block(u32 b, u32 next);
  void emit_terminator(u32 b, u32 next);
  void emit_branch(u32 b, u32 next);
  aj::Label edge_label(u32 b, u32 n);
  void finish_edge(u32 b, u32 n, u32 next);
  aj::Label block_label(u32 b);
  [[nodiscard]] bool edge_at_start(u32 b, u32 n) const;
  [[nodiscard]] bool needs_stub(u32 b, u32 n) const;
  [[nodiscard]] u32 final_block(u32 b) const;

  void emit_steps(StepRange range, const Block* block);
  void emit_step(const Step& step);
  void emit_inst(const LInst& inst, const Assigned* assigned);
  void emit_pseudo(const LInst& inst, const Assigned* assigned);
  void record(const LInst& inst, const Assigned* assigned);
  void move(RegClass cls, u8 dst, u8 src);
  void swap(RegClass cls, u8 a, u8 b);
  [[nodiscard]] ax::Mem slot(RegClass cls, u32 offset) const;
  [[nodiscard]] OperandEncoder encoder() const { return {module_.avx512, pool_}; }

  const Module& module_;
  const EmitOptions& options_;
  FirstError error_;
  aj::CodeHolder code_;
  aj::StringLogger logger_;
  ax::Assembler a_;
  std::unique_ptr<CompiledCode> out_ = std::make_unique<CompiledCode>();
  std::vector<Allocation> allocations_;
  std::vector<aj::Label> part_labels_;
  aj::Label dispatch_, exit_, bad_resume_, table_, pool_;
  std::vector<std::pair<aj::Label, u64>> stub_addresses_;
  u32 stack_bytes_ = 0, last_origin_ = 0xffff'ffff;

  // The part being emitted.
  const Part* part_ = nullptr;
  const Allocation* alloc_ = nullptr;
  std::vector<aj::Label> labels_;
  std::vector<u32> layout_, rank_, forward_;
  std::vector<std::pair<u32, u32>> start_edge_; ///< per block: the edge whose steps are done at its start
  std::vector<const LInst*> remat_of_;
  std::vector<EdgeStub> stubs_;
};

Result<std::unique_ptr<CompiledCode>> Emitter::run() {
  if (Result<void> allocated = allocate_parts(); !allocated) return std::move(allocated).error();
  code_.init(aj::Environment::host());
  code_.setErrorHandler(&error_);
  if (options_.listing) code_.setLogger(&logger_);
  code_.attach(&a_);
  if (options_.verify) a_.addDiagnosticOptions(aj::DiagnosticOptions::kValidateAssembler);
  for (std::size_t i = 0; i < module_.parts.size(); ++i) part_labels_.push_back(a_.newLabel());
  dispatch_ = a_.newLabel();
  exit_ = a_.newLabel();
  bad_resume_ = a_.newLabel();
  table_ = a_.newLabel();
  pool_ = a_.newLabel();
  emit_entry();
  emit_dispatch();
  for (u32 i = 0; i < module_.parts.size() && error_.text.empty(); ++i) emit_part(i);
  emit_exit();
  emit_data();
  if (!error_.text.empty()) return Error{ErrorCode::Internal, module_.name + ": " + error_.text};
  if (Result<void> placed = place(); !placed) return std::move(placed).error();
  return std::move(out_);
}

Result<void> Emitter::allocate_parts() {
  for (const auto& part : module_.parts) {
    Result<Allocation> allocation = allocate(module_, *part, options_.alloc);
    if (!allocation) return std::move(allocation).error();
    if (options_.verify)
      if (Result<void> checked = check(module_, *part, *allocation); !checked) return checked;
    stack_bytes_ = std::max(stack_bytes_, allocation->stack_bytes);
    out_->stats.stores += allocation->stats.stores;
    out_->stats.loads += allocation->stats.loads;
    out_->stats.remats += allocation->stats.remats;
    out_->stats.moves += allocation->stats.moves;
    out_->stats.folded += allocation->stats.folded;
    allocations_.push_back(std::move(*allocation));
  }
  return {};
}

// ---- Around the parts
// ------------------------------------------------------------------------------------------------------

// The stack, from rsp up: spill slots (stack_bytes_), the caller's rsp, the caller's MXCSR.
void Emitter::emit_entry() {
  for (unsigned r : kSavedGprs) a_.push(ax::gpq(r));
  a_.mov(ax::rax, ax::rsp);
  a_.sub(ax::rsp, stack_bytes_ + 16);
  a_.and_(ax::rsp, -64);
  a_.mov(ax::ptr(ax::rsp, static_cast<i32>(stack_bytes_), 8), ax::rax);
  a_.stmxcsr(ax::ptr(ax::rsp, static_cast<i32>(stack_bytes_) + 8, 4));
  a_.mov(ax::dword_ptr(ax::rsp, static_cast<i32>(stack_bytes_) + 12), static_cast<i32>(module_.mxcsr));
  a_.ldmxcsr(ax::ptr(ax::rsp, static_cast<i32>(stack_bytes_) + 12, 4));
  a_.mov(ax::rbx, ax::rdi);
  a_.mov(ax::r15, ax::rdi);
}

void Emitter::emit_dispatch() {
  a_.bind(dispatch_);
  const u32 count = static_cast<u32>(module_.resume_points.size());
  a_.mov(ax::eax, ax::dword_ptr(ax::rbx, offsetof(runtime::WaveFrame, resume)));
  if (count <= 4) {
    for (u32 i = 0; i < count; ++i) {
      a_.cmp(ax::eax, i);
      a_.je(part_labels_[module_.resume_points[i].index]);
    }
  } else {
    a_.cmp(ax::eax, count);
    a_.jae(bad_resume_);
    a_.lea(ax::rdx, ax::ptr(table_));
    a_.movsxd(ax::rax, ax::dword_ptr(ax::rdx, ax::rax, 2));
    a_.add(ax::rax, ax::rdx);
    a_.jmp(ax::rax);
  }
  a_.bind(bad_resume_);
  a_.mov(ax::dword_ptr(ax::rbx, offsetof(runtime::WaveFrame, stop_detail)), 0);
  a_.mov(ax::qword_ptr(ax::rbx, offsetof(runtime::WaveFrame, stop_pc)), 0);
  a_.mov(ax::eax, static_cast<u32>(runtime::StopReason::BadJump));
  a_.jmp(exit_);
}

void Emitter::emit_exit() {
  a_.bind(exit_);
  a_.vzeroupper();
  a_.ldmxcsr(ax::ptr(ax::rsp, static_cast<i32>(stack_bytes_) + 8, 4));
  a_.mov(ax::rsp, ax::ptr(ax::rsp, static_cast<i32>(stack_bytes_), 8));
  for (auto r = std::rbegin(kSavedGprs); r != std::rend(kSavedGprs); ++r) a_.pop(ax::gpq(*r));
  a_.ret();
}

void Emitter::emit_data() {
  if (module_.resume_points.size() > 4) {
    a_.align(aj::AlignMode::kData, 4);
    a_.bind(table_);
    for (PartId p : module_.resume_points) a_.embedLabelDelta(part_labels_[p.index], table_, 4);
  }
  a_.align(aj::AlignMode::kData, 64);
  a_.bind(pool_);
  if (!module_.pool.empty()) a_.embed(module_.pool.data(), module_.pool.size());
  a_.align(aj::AlignMode::kData, 8);
  for (auto& [label, address] : stub_addresses_) {
    a_.bind(label);
    a_.embedUInt64(address);
  }
}

Result<void> Emitter::place() {
  auto failed = [&](aj::Error e) {
    return Error{ErrorCode::Internal, module_.name + ": " + aj::DebugUtils::errorAsString(e)};
  };
  if (aj::Error e = code_.flatten()) return failed(e);
  if (aj::Error e = code_.resolveUnresolvedLinks()) return failed(e);
  out_->code_bytes = code_.codeSize();
  auto memory = CodeMemory::create(out_->code_bytes, [&](u8* p) -> Result<void> {
    if (aj::Error e = code_.relocateToBase(reinterpret_cast<u64>(p))) return failed(e);
    if (aj::Error e = code_.copyFlattenedData(p, out_->code_bytes)) return failed(e);
    return {};
  });
  if (!memory) return std::move(memory).error();
  out_->memory = std::move(*memory);
  out_->entry_ = out_->memory.data();
  FaultTable& faults = out_->faults;
  faults.code_begin = reinterpret_cast<u64>(out_->memory.data());
  faults.code_end = faults.code_begin + out_->code_bytes;
  faults.gang_lane_bytes = module_.gang_lane_bytes;
  faults.xsave = XsaveLayout::of_host();
  if (options_.listing) out_->listing = logger_.data();
  return {};
}

// ---- Parts and blocks
// ------------------------------------------------------------------------------------------------------

void Emitter::emit_part(u32 index) {
  part_ = module_.parts[index].get();
  alloc_ = &allocations_[index];
  if (options_.listing) a_.comment(fmt::format("part {} {}", index, part_->name).c_str());
  lay_out_part();
  find_empty_blocks();
  a_.align(aj::AlignMode::kCode, 16);
  a_.bind(part_labels_[index]);
  stubs_.clear();
  for (std::size_t i = 0; i < layout_.size(); ++i)
    emit_block(layout_[i], i + 1 < layout_.size() ? layout_[i + 1] : 0xffff'ffff);
  for (std::size_t i = 0; i < stubs_.size(); ++i) {
    a_.bind(stubs_[i].label);
    emit_steps(alloc_->edges[stubs_[i].n][stubs_[i].from], nullptr);
    a_.jmp(block_label(part_->blocks[stubs_[i].from].term.target[stubs_[i].n].index));
  }
}

// Cold blocks go behind the others.
void Emitter::lay_out_part() {
  const std::size_t n = part_->blocks.size();
  layout_ = alloc_->order;
  std::stable_partition(layout_.begin() + 1, layout_.end(), [&](u32 b) { return !part_->blocks[b].cold; });
  rank_.assign(n, 0);
  for (u32 i = 0; i < alloc_->order.size(); ++i) rank_[alloc_->order[i]] = i;
  labels_.assign(n, aj::Label());
  start_edge_.assign(n, {0, 2});
  for (u32 b : layout_)
    for (u32 e = 0; e < part_->blocks[b].term.num_targets(); ++e)
      if (edge_at_start(b, e)) start_edge_[part_->blocks[b].term.target[e].index] = {b, e};
  remat_of_.assign(part_->operands.size(), nullptr);
  for (u32 b : layout_)
    for (const LInst& inst : part_->blocks[b].insts)
      if (inst.remat) remat_of_[inst.first_operand] = &inst;
}

// Blocks that only jump on are skipped: whoever would come here goes to their target.
void Emitter::find_empty_blocks() {
  forward_.assign(part_->blocks.size(), 0xffff'ffff);
  for (u32 b : layout_) {
    const Terminator& t = part_->blocks[b].term;
    if (b != 0 && t.kind == Terminator::Kind::Jump && alloc_->blocks[b].count == 0 &&
        alloc_->edges[0][b].count == 0 && start_edge_[b].second == 2 && t.target[0].index != b)
      forward_[b] = t.target[0].index;
  }
  // A cycle of such blocks is an endless loop of the guest's; one of them has to stay.
  for (u32 b : layout_) {
    std::size_t hops = 0;
    for (u32 f = b; forward_[f] != 0xffff'ffff; f = forward_[f])
      if (++hops > layout_.size()) {
        forward_[f] = 0xffff'ffff;
        break;
      }
  }
  std::erase_if(layout_, [&](u32 b) { return forward_[b] != 0xffff'ffff; });
}

u32 Emitter::final_block(u32 b) const {
  while (forward_[b] != 0xffff'ffff) b = forward_[b];
  return b;
}

aj::Label Emitter::block_label(u32 b) {
  b = final_block(b);
  if (!labels_[b].isValid()) labels_[b] = a_.newLabel();
  return labels_[b];
}

bool Emitter::edge_at_start(u32 b, u32 n) const {
  const Terminator& t = part_->blocks[b].term;
  return t.num_targets() == 2 && alloc_->edges[n][b].count != 0 && alloc_->num_preds[t.target[n].index] == 1;
}

bool Emitter::needs_stub(u32 b, u32 n) const {
  return alloc_->edges[n][b].count != 0 && !edge_at_start(b, n);
}

void Emitter::emit_block(u32 b, u32 next) {
  a_.bind(block_label(b));
  if (options_.listing) a_.comment(fmt::format("block {}", b).c_str());
  if (auto [from, n] = start_edge_[b]; n != 2) emit_steps(alloc_->edges[n][from], nullptr);
  emit_steps(alloc_->blocks[b], &part_->blocks[b]);
  emit_terminator(b, next);
}

void Emitter::emit_terminator(u32 b, u32 next) {
  const Terminator& t = part_->blocks[b].term;
  switch (t.kind) {
  case Terminator::Kind::Jump:
    emit_steps(alloc_->edges[0][b], nullptr);
    if (u32 target = final_block(t.target[0].index); target != next) a_.jmp(block_label(target));
    return;
  case Terminator::Kind::Branch: return emit_branch(b, next);
  case Terminator::Kind::JumpPart: a_.jmp(part_labels_[t.part.index]); return;
  case Terminator::Kind::Dispatch: a_.jmp(dispatch_); return;
  case Terminator::Kind::Return:
    a_.mov(ax::eax, static_cast<u32>(t.reason));
    a_.jmp(exit_);
    return;
  case Terminator::Kind::None: error_.text = fmt::format("block {} of {} has no terminator", b, part_->name);
  }
}

// One successor is jumped to, the other one continued with. The latter should be the next block, and the one
// with copies to do, since the other's copies need a detour; the successor in the deeper loop counts more
// (order ranks stand in for depth: a back edge goes to a lower rank).
void Emitter::emit_branch(u32 b, u32 next) {
  const Terminator& t = part_->blocks[b].term;
  unsigned cost[2];
  for (u32 jumped = 0; jumped < 2; ++jumped) {
    auto weight = [&](u32 n) {
      return rank_[t.target[n].index] <= rank_[b] ? 8u : part_->blocks[t.target[n].index].cold ? 0u : 2u;
    };
    const u32 other = 1 - jumped;
    cost[jumped] = (needs_stub(b, jumped) ? weight(jumped) + 1 : 0) +
                   (final_block(t.target[other].index) != next ? weight(other) + 1 : 0);
  }
  const u32 jumped = cost[1] < cost[0] ? 1 : 0;
  a_.j(jumped == 0 ? t.cond : ax::negateCond(t.cond), edge_label(b, jumped));
  finish_edge(b, 1 - jumped, next);
}

aj::Label Emitter::edge_label(u32 b, u32 n) {
  if (!needs_stub(b, n)) return block_label(part_->blocks[b].term.target[n].index);
  return stubs_.emplace_back(EdgeStub{a_.newLabel(), b, n}).label;
}

void Emitter::finish_edge(u32 b, u32 n, u32 next) {
  if (needs_stub(b, n)) emit_steps(alloc_->edges[n][b], nullptr);
  if (u32 target = final_block(part_->blocks[b].term.target[n].index); target != next)
    a_.jmp(block_label(target));
}

// ---- Steps and instructions
// ------------------------------------------------------------------------------------------------

void Emitter::emit_steps(StepRange range, const Block* block) {
  for (u32 i = range.first; i < range.first + range.count; ++i) {
    const Step& s = alloc_->steps[i];
    if (s.kind != Step::Kind::Inst) {
      emit_step(s);
    } else {
      const LInst& inst = block->insts[s.index];
      record(inst, &alloc_->operands[inst.first_operand]);
      emit_inst(inst, &alloc_->operands[inst.first_operand]);
    }
  }
}

ax::Mem Emitter::slot(RegClass cls, u32 offset) const {
  return ax::ptr(ax::rsp, static_cast<i32>(offset), cls == RegClass::Vec ? module_.vec_bytes() : 8);
}

void Emitter::emit_step(const Step& s) {
  const OperandEncoder enc = encoder();
  switch (s.kind) {
  case Step::Kind::Inst: return;
  case Step::Kind::Move: return move(s.cls, s.dst, s.src);
  case Step::Kind::Swap: return swap(s.cls, s.dst, s.src);
  case Step::Kind::Load:
    if (s.cls == RegClass::Gpr)
      a_.mov(ax::gpq(s.dst), slot(s.cls, s.index));
    else if (s.cls == RegClass::Mask)
      a_.kmovq(ax::k(s.dst), slot(s.cls, s.index));
    else
      a_.emit(ax::Inst::kIdVmovaps, enc.vec(s.dst, View::Full), slot(s.cls, s.index));
    return;
  case Step::Kind::Store:
    if (s.cls == RegClass::Gpr)
      a_.mov(slot(s.cls, s.index), ax::gpq(s.src));
    else if (s.cls == RegClass::Mask)
      a_.kmovq(slot(s.cls, s.index), ax::k(s.src));
    else
      a_.emit(ax::Inst::kIdVmovaps, slot(s.cls, s.index), enc.vec(s.src, View::Full));
    return;
  case Step::Kind::Remat: {
    const LInst& inst = *remat_of_[s.index];
    Assigned assigned[4];
    std::copy_n(&alloc_->operands[inst.first_operand], inst.num_operands, assigned);
    assigned[0].reg = s.dst;
    emit_inst(inst, assigned);
    return;
  }
  case Step::Kind::SlotCopy: // push reads before rsp moves, pop addresses after: both see the body's rsp
    a_.push(slot(s.cls, s.index2));
    a_.pop(slot(s.cls, s.index));
    return;
  }
}

void Emitter::move(RegClass cls, u8 dst, u8 src) {
  if (cls == RegClass::Gpr)
    a_.mov(ax::gpq(dst), ax::gpq(src));
  else if (cls == RegClass::Mask)
    a_.kmovq(ax::k(dst), ax::k(src));
  else
    a_.emit(ax::Inst::kIdVmovaps, encoder().vec(dst, View::Full), encoder().vec(src, View::Full));
}

void Emitter::swap(RegClass cls, u8 a, u8 b) {
  if (cls == RegClass::Gpr) {
    a_.xchg(ax::gpq(a), ax::gpq(b));
    return;
  }
  for (u8 to : {a, b, a}) {
    if (cls == RegClass::Mask) {
      a_.kxorq(ax::k(to), ax::k(a), ax::k(b));
    } else {
      const OperandEncoder enc = encoder();
      a_.emit(module_.avx512 ? ax::Inst::kIdVpxorq : ax::Inst::kIdVpxor, enc.vec(to, View::Full),
              enc.vec(a, View::Full), enc.vec(b, View::Full));
    }
  }
}

void Emitter::emit_inst(const LInst& inst, const Assigned* assigned) {
  if (inst.pseudo != LInst::Pseudo::None) return emit_pseudo(inst, assigned);
  const OperandEncoder enc = encoder();
  aj::Operand_ operands[aj::Globals::kMaxOpCount];
  for (auto& o : operands) o.reset();
  u32 count = 0;
  auto ops = part_->ops(inst);
  for (u32 i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == OperandKind::Hidden) continue;
    if (ops[i].kind == OperandKind::WriteMask) {
      a_.setExtraReg(ax::k(assigned[i].reg));
      continue;
    }
    if (count == aj::Globals::kMaxOpCount) {
      error_.text = "an instruction has too many operands";
      return;
    }
    operands[count++] = enc.operand(ops[i], assigned[i]);
  }
  a_.setInstOptions(instruction_options(inst));
  a_.emitOpArray(inst.id, operands, count);
  if (!error_.text.empty() && error_.text.find("block") == std::string::npos)
    error_.text =
        fmt::format("{} (part {}, guest pc {:#x})", error_.text, part_->name, module_.origins[inst.origin]);
}

void Emitter::emit_pseudo(const LInst& inst, const Assigned* assigned) {
  const OperandEncoder enc = encoder();
  const u8 r = assigned[0].reg;
  const bool mask = part_->ops(inst)[0].view == View::K;
  switch (inst.pseudo) {
  case LInst::Pseudo::None:
  case LInst::Pseudo::Copy: return;
  case LInst::Pseudo::Zero:
    if (mask)
      a_.kxorq(ax::k(r), ax::k(r), ax::k(r));
    else if (r < 16)
      a_.vpxor(ax::xmm(r), ax::xmm(r), ax::xmm(r)); // a VEX write clears the rest
    else
      a_.vpxord(ax::zmm(r), ax::zmm(r), ax::zmm(r));
    return;
  case LInst::Pseudo::Ones: {
    const auto v = enc.vec(r, View::Full);
    if (mask)
      a_.kxnorq(ax::k(r), ax::k(r), ax::k(r));
    else if (module_.avx512)
      a_.emit(ax::Inst::kIdVpternlogd, v, v, v, aj::Imm(0xff));
    else
      a_.emit(ax::Inst::kIdVpcmpeqd, v, v, v);
    return;
  }
  case LInst::Pseudo::Call:
    stub_addresses_.emplace_back(a_.newLabel(), static_cast<u64>(part_->ops(inst)[0].value));
    a_.call(ax::ptr(stub_addresses_.back().first, 0, 8));
    return;
  }
}

// Notes the guest pc, and for guest memory accesses what the signal handler will need.
void Emitter::record(const LInst& inst, const Assigned* assigned) {
  const u32 offset = static_cast<u32>(a_.offset());
  if (inst.origin != last_origin_) {
    last_origin_ = inst.origin;
    const u64 pc = module_.origins[inst.origin];
    out_->faults.origins.push_back({offset, pc});
    if (options_.listing) a_.comment(fmt::format("pc {:#x}", pc).c_str());
  }
  if (inst.fault_site != 0xffff'ffff)
    out_->faults.accesses.push_back(fault_entry(module_, *part_, inst, assigned, offset));
}

Result<std::unique_ptr<CompiledCode>> assemble(const Module& module, const EmitOptions& options) {
  return Emitter(module, options).run();
}

} // namespace lanewise::x86
