#include "tools/translate_all.hpp"

#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <unistd.h>

namespace lanewise::tools {
namespace {

/// A line on the terminal that is written over and over.
class Progress {
public:
  Progress(std::size_t count, const std::string& what)
      : count_(count), what_(what), shown_(count > 1 && !what.empty() && isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void done(std::size_t n) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now < next_) return;
    fmt::print(stderr, "\r{} of {} {}", n, count_, what_);
    next_ = now + std::chrono::milliseconds(100);
  }

private:
  const std::size_t count_;
  const std::string what_;
  const bool shown_;
  std::chrono::steady_clock::time_point next_;
};

} // namespace

Translated translate(const translator::KernelSource& source, const translator::Options& options) {
  translator::Stats stats;
  auto translation = translator::translate(source, options, &stats);
  return {std::move(translation), stats};
}

void translate_all(std::size_t count, const std::string& what,
                   const std::function<Translated(std::size_t)>& make,
                   const std::function<bool(std::size_t, Translated)>& take) {
  struct Item {
    std::size_t n;
    std::optional<Translated> translated;
  };
  Progress progress(count, what);
  std::size_t next = 0;
  std::atomic<bool> stopped = false;
  const auto begin = tbb::make_filter<void, std::shared_ptr<Item>>(
      tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) -> std::shared_ptr<Item> {
        if (next < count && !stopped) return std::make_shared<Item>(Item{next++, {}});
        control.stop();
        return nullptr;
      });
  const auto middle = tbb::make_filter<std::shared_ptr<Item>, std::shared_ptr<Item>>(
      tbb::filter_mode::parallel, [&](std::shared_ptr<Item> item) {
        item->translated.emplace(make(item->n));
        return item;
      });
  const auto end = tbb::make_filter<std::shared_ptr<Item>, void>(
      tbb::filter_mode::serial_in_order, [&](const std::shared_ptr<Item>& item) {
        if (stopped) return;
        stopped = !take(item->n, *std::move(item->translated));
        progress.done(item->n + 1);
      });
  constexpr std::size_t kAhead = 16; // of one that takes long
  tbb::parallel_pipeline(kAhead * static_cast<std::size_t>(tbb::info::default_concurrency()),
                         begin & middle & end);
}

} // namespace lanewise::tools
