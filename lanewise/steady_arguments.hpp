// When to recompile a kernel for the values that launches keep passing as scalar arguments: sizes, pitches,
// factors and modes are then constants to the translator.
#pragma once

#include "lanewise/prepared.hpp"

#include <functional>
#include <future>
#include <limits>

namespace lanewise {

/// One version of a kernel, for the values of the arguments that it is launched with: those that have kept it
/// busy get a version of their own, made in the background. That need not be the faster one, so both run for
/// a while. Translations it begins refer to what `make` refers to; they are waited for at the end of its
/// life. Not for several threads at a time.
class SteadyArguments {
public:
  /// CPU time that launches with the same values must have taken, as a multiple of what a translation takes:
  /// what a version saves is seldom more than a third.
  static constexpr double kWorth = 4;
  static constexpr double kMinTranslateMs = 2; ///< a translation may have come from elsewhere, in no time
  static constexpr unsigned kTrials = 6;       ///< launches of each version before the faster is chosen,
  static constexpr double kLongMs = 5;         ///< of which a launch that takes so long is another one
  static constexpr std::size_t kMaxKinds = 4;  ///< sets of values that are thought of

  /// Dwords of the kernarg segment, in its order.
  using Values = std::vector<translator::KnownDword>;
  using Make = std::function<Result<Prepared>()>;

  /// The version for a launch that passes `values`; null for the usual one.
  const Prepared* version_for(const Values& values);
  /// The version for the rest of a launch with `values` that runs in the usual one and has taken `cpu_ms` so
  /// far; null if there is none, or not yet. Begins to make it when it is time, as count() does.
  const Prepared* version_for_rest(const Values& values, double cpu_ms, double translate_ms,
                                   const Make& make);
  /// What a launch took.
  struct Cost {
    double cpu_ms = 0;
    unsigned threads = 1;
    u64 workgroups = 1;
  };
  /// Takes note that a launch with `values` ran in `version`, null for the usual one, which it took
  /// `translate_ms` to make. Begins to `make` a version if it is time.
  void count(const Values& values, const Prepared* version, const Cost& cost, double translate_ms,
             const Make& make);

private:
  enum class State : u8 {
    Counting, ///< of the usual version's time
    Making,
    Trying,
    Usual,  ///< was faster, or the other could not be made
    Special ///< was faster
  };
  /// What launches of one version took.
  struct Record {
    double launches = 0;
    double workgroup_ms = std::numeric_limits<double>::infinity(); ///< the least
  };
  /// Of launches by so many threads, which are compared with each other alone.
  struct Trial {
    unsigned threads = 0;
    Record usual, special;
  };
  struct Kind {
    Values values;
    State state = State::Counting;
    double cpu_ms = 0; ///< while Counting
    std::future<Result<Prepared>> making;
    std::unique_ptr<Prepared> special;
    std::vector<Trial> trials;   ///< while Trying
    bool special_is_next = true; ///< likewise
  };
  std::vector<Kind> kinds_; ///< in the order in which they were launched first

  Kind* find(const Values& values);
  Kind* find_or_add(const Values& values);
  /// Of a kind whose version is being made: looks whether it is ready.
  static void take_made(Kind& kind);
  /// Begins to make a version, if launches that took `cpu_ms` so far are worth it.
  static void make_if_worth_it(Kind& kind, double cpu_ms, double translate_ms, const Make& make);
  /// A new one, for which another that has taken little time is forgotten; null if there are enough.
  Kind* add(const Values& values);
};

} // namespace lanewise
