#include "translator/x86/emitter.hpp"

#include "translator/x86/checker.hpp"

#include <algorithm>

namespace lanewise::x86 {

namespace {

constexpr unsigned kSavedGprs[] = {5, 3, 12, 13, 14, 15}; // rbp rbx r12-r15: SysV's callee-saved

} // namespace

Result<Assembled> Emitter::run() {
  if (Result<void> allocated = allocate_parts(); !allocated) return std::move(allocated).error();
  code_.init(aj::Environment::host());
  code_.setErrorHandler(&error_);
  if (options_.listing) code_.setLogger(&logger_);
  code_.attach(&a_);
  if (options_.verify) a_.addDiagnosticOptions(aj::DiagnosticOptions::kValidateAssembler);
  for (std::size_t i = 0; i < module_.parts.size(); ++i) part_labels_.push_back(a_.newLabel());
  dispatch_ = a_.newLabel();
  stopped_ = a_.newLabel();
  exit_ = a_.newLabel();
  bad_resume_ = a_.newLabel();
  table_ = a_.newLabel();
  encoder_.pool = a_.newLabel();
  emit_entry();
  emit_dispatch();
  for (u32 i = 0; i < module_.parts.size() && error_.text.empty(); ++i) emit_part(i);
  emit_stopped();
  emit_exit();
  emit_data();
  if (!error_.text.empty()) return Error{ErrorCode::Internal, module_.name + ": " + error_.text};
  if (Result<void> done = finish(); !done) return std::move(done).error();
  return std::move(out_);
}

Result<void> Emitter::allocate_parts() {
  for (const auto& part : module_.parts) {
    Result<Allocation> allocation = allocate(module_, *part, options_.alloc);
    if (!allocation) return std::move(allocation).error();
    if (options_.verify)
      if (Result<void> checked = check(module_, *part, *allocation); !checked) return checked;
    stack_bytes_ = std::max(stack_bytes_, allocation->stack_bytes);
    out_.stats.stores += allocation->stats.stores;
    out_.stats.loads += allocation->stats.loads;
    out_.stats.remats += allocation->stats.remats;
    out_.stats.moves += allocation->stats.moves;
    out_.stats.folded += allocation->stats.folded;
    allocations_.push_back(std::move(*allocation));
  }
  return {};
}

// ------------------------------------------------------------------------------------------------------

// The stack, from rsp up: spill slots (stack_bytes_), the caller's rsp, the WaveRow.
ax::Mem Emitter::own(OwnSlot slot, u32 bytes) const {
  return ax::ptr(ax::rsp, static_cast<i32>(stack_bytes_ + static_cast<u32>(slot)), bytes);
}

void Emitter::emit_entry() {
  for (unsigned r : kSavedGprs) a_.push(ax::gpq(r));
  a_.mov(ax::rax, ax::rsp);
  a_.sub(ax::rsp, stack_bytes_ + 16);
  a_.and_(ax::rsp, -64);
  a_.mov(own(kCallerStack, 8), ax::rax);
  a_.mov(own(kRow, 8), ax::rdi);
  const ax::Mem mxcsr = ax::dword_ptr(ax::rdi, offsetof(runtime::WaveRow, mxcsr));
  const aj::Label has_mxcsr = a_.newLabel();
  a_.cmp(mxcsr, static_cast<i32>(module_.mxcsr));
  a_.je(has_mxcsr);
  a_.mov(mxcsr, static_cast<i32>(module_.mxcsr));
  a_.ldmxcsr(mxcsr);
  a_.bind(has_mxcsr);
  a_.mov(ax::rbx, ax::ptr(ax::rdi, offsetof(runtime::WaveRow, current), 8));
  a_.mov(ax::r15, ax::rbx);
}

// A wave has stopped, the set_of() its reason in eax. The MXCSR at every stop is the one at the start.
void Emitter::emit_stopped() {
  a_.bind(stopped_);
  a_.mov(ax::dword_ptr(ax::rbx, offsetof(runtime::WaveFrame, stop_reason)), ax::eax);
  a_.mov(ax::rdi, own(kRow, 8));
  a_.or_(ax::dword_ptr(ax::rdi, offsetof(runtime::WaveRow, reasons)), ax::eax);
  a_.test(ax::eax, set_of(runtime::StopReason::End) | set_of(runtime::StopReason::Barrier));
  a_.jz(exit_);
  emit_next_wave();
}

// Each barrier has its own jumps to where the next wave goes on, which is where this one did, and at the end
// of a round, behind the barrier: the hardware learns that of each, and not of jumps that serve all.
void Emitter::emit_barrier() {
  constexpr i32 kBarrier = set_of(runtime::StopReason::Barrier);
  a_.mov(ax::dword_ptr(ax::rbx, offsetof(runtime::WaveFrame, stop_reason)), kBarrier);
  a_.mov(ax::rdi, own(kRow, 8));
  a_.or_(ax::dword_ptr(ax::rdi, offsetof(runtime::WaveRow, reasons)), kBarrier);
  emit_next_wave();
}

// On with the next wave of the row, or, when all have come to a barrier, with the first. The row is in rdi.
void Emitter::emit_next_wave() {
  const auto row = [&](std::size_t field, u32 size) {
    return ax::ptr(ax::rdi, static_cast<i32>(field), size);
  };
  const auto go_on = [&] {
    a_.mov(row(offsetof(runtime::WaveRow, current), 8), ax::rbx);
    a_.mov(ax::r15, ax::rbx);
    emit_jump_to_resume_point();
  };
  const aj::Label round_ends = a_.newLabel();
  a_.add(ax::rbx, row(offsetof(runtime::WaveRow, stride), 8));
  a_.cmp(ax::rbx, row(offsetof(runtime::WaveRow, end), 8));
  a_.jae(round_ends);
  go_on();
  a_.bind(round_ends);
  a_.cmp(row(offsetof(runtime::WaveRow, reasons), 4), static_cast<i32>(set_of(runtime::StopReason::Barrier)));
  a_.jne(exit_);
  a_.mov(ax::rbx, row(offsetof(runtime::WaveRow, rounds), 8));
  a_.test(ax::rbx, ax::rbx);
  a_.jz(exit_);
  a_.mov(row(offsetof(runtime::WaveRow, reasons), 4), 0);
  go_on();
}

void Emitter::emit_dispatch() {
  a_.bind(dispatch_);
  emit_jump_to_resume_point();
  a_.bind(bad_resume_);
  a_.mov(ax::dword_ptr(ax::rbx, offsetof(runtime::WaveFrame, stop_detail)), 0);
  a_.mov(ax::qword_ptr(ax::rbx, offsetof(runtime::WaveFrame, stop_pc)), 0);
  a_.mov(ax::eax, set_of(runtime::StopReason::BadJump));
  a_.jmp(stopped_);
}

void Emitter::emit_jump_to_resume_point() {
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
    return;
  }
  a_.jmp(bad_resume_);
}

void Emitter::emit_exit() {
  a_.bind(exit_);
  a_.vzeroupper();
  a_.mov(ax::rsp, own(kCallerStack, 8));
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
  a_.bind(encoder_.pool);
  if (!module_.pool.empty()) a_.embed(module_.pool.data(), module_.pool.size());
}

Result<void> Emitter::finish() {
  auto failed = [&](aj::Error e) {
    return Error{ErrorCode::Internal, module_.name + ": " + aj::DebugUtils::errorAsString(e)};
  };
  if (aj::Error e = code_.flatten()) return failed(e);
  if (aj::Error e = code_.resolveUnresolvedLinks()) return failed(e);
  // Everything refers to everything else by distance: what is left to relocate would depend on the place.
  if (code_.hasRelocEntries())
    return Error{ErrorCode::Internal, module_.name + ": the code is not position-independent"};
  out_.code.bytes.resize(code_.codeSize());
  if (aj::Error e = code_.copyFlattenedData(out_.code.bytes.data(), out_.code.bytes.size())) return failed(e);
  out_.code.faults.gang_lane_bytes = module_.gang_lane_bytes;
  if (options_.listing) out_.listing = logger_.data();
  return {};
}

Result<Assembled> assemble(const Module& module, const EmitOptions& options) {
  return Emitter(module, options).run();
}

} // namespace lanewise::x86
