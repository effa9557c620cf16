#include "runtime/team_size.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::runtime {

void TeamSize::Record::add(double wall_ns) {
  ns = dispatches == 0 ? wall_ns : std::min(ns, wall_ns);
  ++dispatches;
}

void TeamSize::start(unsigned most, int size) {
  *this = TeamSize();
  most_ = chosen_ = most;
  size_ = size;
  wait_ = wait_for_fewer_ = kFirstWait;
}

unsigned TeamSize::next(unsigned most, u64 groups) {
  const int size = std::bit_width(groups);
  if (most != most_ || size != size_) start(most, size);
  if (most_ > 1 && tried_ == 0 && usual_.dispatches >= wait_) begin_trial();
  return tried_ != 0 ? tried_ : chosen_;
}

void TeamSize::count(unsigned threads, double wall_ns) {
  if (tried_ == 0) {
    if (threads == chosen_) usual_.add(wall_ns);
    return;
  }
  if (threads != tried_) return;
  trial_.add(wall_ns);
  if (tried_ > chosen_)
    end_trial_of_all();
  else
    end_trial_of_fewer();
}

void TeamSize::begin_trial() {
  tried_ = all_next_ ? most_ : chosen_ / 2;
  trial_ = {};
  if (chosen_ == most_) limit_ns_ = kPatience * usual_.ns;
}

void TeamSize::end_trial_of_fewer() {
  const bool hopeless = trial_.ns > kHopeless * limit_ns_;
  if (trial_.dispatches < kTrials && !hopeless) return;
  if (trial_.ns <= limit_ns_) {
    chosen_ = tried_;
    all_next_ = chosen_ == 1;
    wait_ = all_next_ ? kWaitForAll : kFirstWait;
  } else {
    wait_for_fewer_ = std::min(2 * wait_for_fewer_, kMostWait);
    all_next_ = chosen_ < most_;
    wait_ = all_next_ ? kWaitForAll : wait_for_fewer_;
  }
  tried_ = 0;
  usual_ = {};
}

void TeamSize::end_trial_of_all() {
  if (trial_.dispatches < kTrials) return;
  if (usual_.ns > kPatience * trial_.ns) chosen_ = most_;
  limit_ns_ = kPatience * trial_.ns;
  all_next_ = chosen_ == 1;
  wait_ = all_next_ ? kWaitForAll : wait_for_fewer_;
  tried_ = 0;
  usual_ = {};
}

} // namespace lanewise::runtime
