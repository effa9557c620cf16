#include "runtime/fault.hpp"

#include <array>
#include <csetjmp>
#include <csignal>
#include <fmt/format.h>
#include <immintrin.h>
#include <mutex>
#include <sys/mman.h>

namespace lanewise::runtime {
namespace {

struct Guard {
  sigjmp_buf escape;
  const GuestPosition* position;
  HostFault fault;
};

// Initial-exec: a lazily allocated thread-local must not be touched first inside a signal handler.
[[gnu::tls_model("initial-exec")]] thread_local Guard* active_guard = nullptr;

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, kSignals.size()> previous_actions;

// The fault is not ours: do what would have happened without us.
void chain(std::size_t index, int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous = previous_actions[index];
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  // On return the instruction runs again and meets the default action.
  struct sigaction fallback = {};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
  if (info->si_code <= 0) raise(signal); // sent by kill(): there is no instruction that would raise it again
}

void on_signal(int signal, siginfo_t* info, void* context) {
  Guard* guard = active_guard;
  // si_code <= 0: sent by another process or thread, not raised by the guest.
  if (!guard || !guard->position->engine || info->si_code <= 0) {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      if (kSignals[i] == signal) chain(i, signal, info, context);
    return;
  }
  active_guard = nullptr; // a fault inside locate_fault is a bug of ours, and must not recurse
  guard->fault.signal = signal;
  guard->fault.where = guard->position->engine->locate_fault(guard->position->row.current, context,
                                                             reinterpret_cast<u64>(info->si_addr));
  siglongjmp(guard->escape, 1);
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action = {};
      action.sa_sigaction = on_signal;
      // NODEFER: the handler is left by siglongjmp, which then has no signal mask to restore (sigsetjmp
      // without mask is a few instructions instead of a system call).
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      sigemptyset(&action.sa_mask);
      sigaction(kSignals[i], &action, &previous_actions[i]);
    }
  });
}

// One per thread that runs guest code, so that a handler has a stack even if the guest's host frame has none
// left.
class AlternateStack {
public:
  AlternateStack() {
    stack_t current = {};
    if (sigaltstack(nullptr, &current) != 0 || !(current.ss_flags & SS_DISABLE))
      return; // the host program has its own
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = kBytes;
    if (sigaltstack(&stack, nullptr) == 0)
      memory_ = memory;
    else
      munmap(memory, kBytes);
  }
  ~AlternateStack() {
    if (!memory_) return;
    stack_t off = {};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
    munmap(memory_, kBytes);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

private:
  static constexpr std::size_t kBytes = 64 << 10;
  void* memory_ = nullptr;
};

std::string_view kind_name(FaultKind kind) {
  switch (kind) {
  case FaultKind::Memory: return "memory fault";
  case FaultKind::Arithmetic: return "arithmetic fault";
  case FaultKind::HostCode: return "host instruction fault";
  case FaultKind::Trap: return "trap";
  case FaultKind::BadJump: return "jump out of the code";
  case FaultKind::Illegal: return "instruction that cannot be executed";
  case FaultKind::Deadlock: return "wait without end";
  }
  return "fault";
}

/// What is wrong with the image that an access to this address means; empty if it means none.
std::string_view image_problem(u64 address) {
  if (address < kImageProblems) return {};
  switch (static_cast<ImageProblem>((address - kImageProblems) / 16)) {
  case ImageProblem::None: return {};
  case ImageProblem::Type:
    return "its type is none that this instruction can access (no cube maps, no multisampling)";
  case ImageProblem::Layout: return "its layout is not linear";
  case ImageProblem::Levels: return "it has, or begins at, further mipmap levels";
  case ImageProblem::DataFormat: return "its data format has no rule";
  case ImageProblem::NumberFormat: return "its number format has no rule (sRGB, or reserved)";
  case ImageProblem::Compression: return "it is compressed";
  case ImageProblem::Sampler: return "its sampler takes minima or maxima, or the border's colour from memory";
  case ImageProblem::AtomicSize: return "its elements are of another size than the atomic's data";
  }
  return {};
}

} // namespace

HostFault run_guarded(GuestPosition& position, void (*body)(void*), void* argument) {
  install_handlers();
  static thread_local AlternateStack alternate_stack;
  Guard guard;
  guard.position = &position;
  const unsigned mxcsr = _mm_getcsr();
  if (sigsetjmp(guard.escape, 0) == 0) {
    active_guard = &guard;
    body(argument);
  }
  active_guard = nullptr;
  _mm_setcsr(mxcsr);
  return guard.fault;
}

std::string FaultReport::line() const {
  std::string text = fmt::format("{} in {}", kind_name(kind), kernel);
  const bool before = static_cast<i64>(offset) < 0; // in a function that the kernel called
  if (pc)
    text += fmt::format(" at pc {:#x} (kernel{}{:#x})", pc, before ? '-' : '+',
                        before ? u64{0} - offset : offset);
  if (!instruction.empty()) text += fmt::format(", {}", instruction);
  text += fmt::format(": workgroup ({},{},{}), wave {}", workgroup[0], workgroup[1], workgroup[2], wave);
  if (lane >= 0) text += fmt::format(", lane {}", lane);
  if (const auto problem = image_problem(address); kind == FaultKind::Memory && !problem.empty())
    text += fmt::format(", of an image that cannot be accessed: {}", problem);
  else if (kind == FaultKind::Memory)
    text += fmt::format(", {} address {:#x}", is_write ? "write to" : "read of", address);
  if (kind == FaultKind::BadJump) text += fmt::format(", target {:#x}", address);
  if (kind == FaultKind::Trap) text += fmt::format(", trap id {}", detail);
  return text;
}

} // namespace lanewise::runtime
