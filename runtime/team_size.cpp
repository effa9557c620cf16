#include "runtime/team_size.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::runtime {

void TeamSize::Record::add(const Cost& cost) {
  if (dispatches == 0 || cost.wall < least.wall) least = cost;
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

void TeamSize::count(unsigned threads, const Cost& cost) {
  if (tried_ == 0) {
    if (threads == chosen_) usual_.add(cost);
    return;
  }
  if (threads != tried_) return;
  trial_.add(cost);
  if (tried_ > chosen_)
    end_trial_of_all();
  else
    end_trial_of_fewer();
}

void TeamSize::begin_trial() {
  tried_ = all_next_ ? most_ : chosen_ / 2;
  trial_ = {};
  if (chosen_ == most_) limit_ = kPatience * usual_.least.wall;
}

void TeamSize::end_trial_of_fewer() {
  const bool hopeless = trial_.least.wall > kHopeless * limit_;
  if (trial_.dispatches < kTrials && !hopeless) return;
  if (trial_.least.wall <= limit_ && kSaves * trial_.least.cpu <= usual_.least.cpu) {
    chosen_ = tried_;
    end_trial(chosen_ == 1, kFirstWait);
  } else {
    wait_for_fewer_ = std::min(2 * wait_for_fewer_, kMostWait);
    end_trial(chosen_ < most_, wait_for_fewer_);
  }
}

void TeamSize::end_trial_of_all() {
  if (trial_.dispatches < kTrials) return;
  if (usual_.least.wall > kPatience * trial_.least.wall) chosen_ = most_;
  limit_ = kPatience * trial_.least.wall;
  end_trial(chosen_ == 1, wait_for_fewer_);
}

void TeamSize::end_trial(bool all_next, u64 wait_for_fewer) {
  all_next_ = all_next;
  wait_ = all_next ? kWaitForAll : wait_for_fewer;
  tried_ = 0;
  usual_ = {};
}

} // namespace lanewise::runtime
