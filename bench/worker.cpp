#include "bench/worker.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace lanewise::bench {
namespace {

constexpr int kTimeLimitMs = 120'000;
/// Runs before those that are measured: so many or for so long, and at least for as long as the engine
/// learns, if it does.
constexpr unsigned kMostWarmUps = 10;
constexpr double kWarmUpMs = 30;

/// What goes from child to parent, as one packet.
struct Reply {
  bool ok = false;
  ErrorCode code = ErrorCode::Internal;
  double prepare_ms = 0;
  RunTime time;
  std::array<char, 1024> text{}; ///< the error, or the description
};

Reply failure(const Error& error) {
  Reply reply;
  reply.code = error.code;
  error.message.copy(reply.text.data(), reply.text.size() - 1);
  return reply;
}

/// The child's life: make the contender, check it, warm up, then run as often as asked.
class Child {
public:
  Child(const kernels::KernelCase& test, const Setup& setup, const std::vector<kernels::Arg>* expected)
      : test_(test), setup_(setup), expected_(expected) {
    if (expected != nullptr) restored_ = read_and_written(test.args, *expected);
  }

  Reply prepare() {
    auto made = make_contender(test_, setup_);
    if (!made) return failure(made.error());
    contender_ = std::move(*made);
    if (expected_ != nullptr)
      if (const std::string wrong = check(); !wrong.empty()) return failure({ErrorCode::Internal, wrong});
    double spent_ms = 0;
    const double learning_ms = contender_->learning_ms();
    for (unsigned n = 0; spent_ms < learning_ms || (n < kMostWarmUps && spent_ms < kWarmUpMs); ++n) {
      const Reply warm_up = run();
      if (!warm_up.ok) return warm_up;
      spent_ms += warm_up.time.wall_ms;
    }
    Reply reply;
    reply.ok = true;
    contender_->description().copy(reply.text.data(), reply.text.size() - 1);
    reply.prepare_ms = contender_->prepare_ms();
    return reply;
  }

  Reply run() {
    for (const std::size_t argument : restored_)
      if (auto done = contender_->restore(argument); !done) return failure(done.error());
    auto time = contender_->run();
    if (!time) return failure(time.error());
    Reply reply;
    reply.ok = true;
    reply.time = *time;
    return reply;
  }

private:
  std::string check() {
    if (auto time = contender_->run(); !time) return time.error().message;
    auto after = contender_->arguments();
    return after ? test_.compare(*expected_, *after).value_or("") : after.error().message;
  }

  const kernels::KernelCase& test_;
  const Setup& setup_;
  const std::vector<kernels::Arg>* expected_;
  std::vector<std::size_t> restored_;
  std::unique_ptr<Contender> contender_;
};

[[noreturn]] void live(const kernels::KernelCase& test, const Setup& setup,
                       const std::vector<kernels::Arg>* expected, int socket) {
  // Other workers' sockets must close when the parent closes them.
  if (socket > 3) close_range(3, static_cast<unsigned>(socket) - 1, 0);
  close_range(static_cast<unsigned>(socket) + 1, ~0u, 0);
  // PoCL reads this when its first device is made.
  setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(setup.threads).c_str(), 1);
  Child child(test, setup, expected);
  Reply reply = child.prepare();
  char command = 0;
  while (send(socket, &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply && reply.ok &&
         recv(socket, &command, 1, 0) == 1)
    reply = child.run();
  _exit(0); // not exit: the output that the parent has buffered is the parent's
}

/// Waits for one reply; nothing when the time is up or the other end has gone.
std::optional<Reply> receive(int socket) {
  pollfd wait{socket, POLLIN, 0};
  Reply reply;
  if (poll(&wait, 1, kTimeLimitMs) != 1 || recv(socket, &reply, sizeof reply, 0) != sizeof reply)
    return std::nullopt;
  return reply;
}

} // namespace

Result<Worker> Worker::start(const kernels::KernelCase& test, const Setup& setup,
                             const std::vector<kernels::Arg>* expected) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0)
    return Error{ErrorCode::Internal, "no socket pair"};
  const pid_t pid = fork();
  if (pid == 0) live(test, setup, expected, sockets[1]);
  close(sockets[1]);
  if (pid < 0) {
    close(sockets[0]);
    return Error{ErrorCode::Internal, "cannot start a process"};
  }
  Worker worker(pid, sockets[0]);
  const auto reply = receive(worker.socket_);
  if (!reply) return Error{ErrorCode::Fault, worker.stop()};
  if (!reply->ok) return Error{reply->code, reply->text.data()};
  worker.ready_ = {reply->prepare_ms, reply->text.data()};
  return worker;
}

Result<RunTime> Worker::run() {
  const char command = 'r';
  if (send(socket_, &command, 1, MSG_NOSIGNAL) != 1) return Error{ErrorCode::Fault, stop()};
  const auto reply = receive(socket_);
  if (!reply) return Error{ErrorCode::Fault, stop()};
  if (!reply->ok) return Error{reply->code, reply->text.data()};
  return reply->time;
}

std::string Worker::stop() {
  if (pid_ < 0) return "has ended";
  close(socket_);
  kill(pid_, SIGKILL); // has no effect on one that is dying already
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (!WIFSIGNALED(status)) return "ended early";
  return WTERMSIG(status) == SIGKILL ? "no answer in time"
                                     : std::string("crashed: ") + strsignal(WTERMSIG(status));
}

Worker::Worker(Worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(other.socket_), ready_(std::move(other.ready_)) {}
Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  std::swap(ready_, other.ready_);
  return *this;
}
Worker::~Worker() { stop(); }

} // namespace lanewise::bench
