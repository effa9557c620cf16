#include "lanewise/steady_arguments.hpp"

#include <algorithm>
#include <chrono>

namespace lanewise {

SteadyArguments::Kind* SteadyArguments::find(const Values& values) {
  const auto kind = std::ranges::find_if(kinds_, [&](const Kind& k) { return k.values == values; });
  return kind == kinds_.end() ? nullptr : &*kind;
}

SteadyArguments::Kind* SteadyArguments::add(const Values& values) {
  if (kinds_.size() == kMaxKinds) {
    const auto forgotten =
        std::ranges::find_if(kinds_, [](const Kind& k) { return k.state == State::Counting; });
    if (forgotten == kinds_.end()) return nullptr;
    kinds_.erase(forgotten);
  }
  kinds_.emplace_back().values = values;
  return &kinds_.back();
}

SteadyArguments::Kind* SteadyArguments::find_or_add(const Values& values) {
  Kind* const kind = find(values);
  return kind != nullptr ? kind : add(values);
}

void SteadyArguments::take_made(Kind& kind) {
  if (kind.state != State::Making ||
      kind.making.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return;
  Result<Prepared> made = kind.making.get();
  kind.state = made ? State::Trying : State::Usual;
  if (made) kind.special = std::make_unique<Prepared>(std::move(*made));
}

void SteadyArguments::make_if_worth_it(Kind& kind, double cpu_ms, double translate_ms, const Make& make) {
  if (cpu_ms < kWorth * std::max(translate_ms, kMinTranslateMs)) return;
  kind.making = std::async(std::launch::async, make);
  kind.state = State::Making;
}

const Prepared* SteadyArguments::version_for(const Values& values) {
  Kind* const kind = find(values);
  if (kind == nullptr) return nullptr;
  take_made(*kind);
  const bool trial = kind->state == State::Trying && kind->special_is_next;
  return trial || kind->state == State::Special ? kind->special.get() : nullptr;
}

const Prepared* SteadyArguments::version_for_rest(const Values& values, double cpu_ms, double translate_ms,
                                                  const Make& make) {
  Kind* const kind = find_or_add(values);
  if (kind == nullptr) return nullptr;
  if (kind->state == State::Counting) make_if_worth_it(*kind, kind->cpu_ms + cpu_ms, translate_ms, make);
  take_made(*kind);
  const bool untried = kind->state == State::Trying && kind->trials.empty(); // else a trial may be under way
  return untried || kind->state == State::Special ? kind->special.get() : nullptr;
}

void SteadyArguments::count(const Values& values, const Prepared* version, const Cost& cost,
                            double translate_ms, const Make& make) {
  Kind* const kind = find_or_add(values);
  if (kind == nullptr) return;
  if (kind->state == State::Counting) {
    kind->cpu_ms += cost.cpu_ms;
    make_if_worth_it(*kind, kind->cpu_ms, translate_ms, make);
  } else if (kind->state == State::Trying) {
    auto trial = std::ranges::find(kind->trials, cost.threads, &Trial::threads);
    if (trial == kind->trials.end()) trial = kind->trials.insert(trial, {cost.threads, {}, {}});
    kind->special_is_next = version == nullptr;
    Record& record = version != nullptr ? trial->special : trial->usual;
    record.launches += 1 + cost.cpu_ms / kLongMs;
    record.workgroup_ms = std::min(record.workgroup_ms, cost.cpu_ms / static_cast<double>(cost.workgroups));
    if (trial->usual.launches < kTrials || trial->special.launches < kTrials) return;
    const bool faster = trial->special.workgroup_ms < trial->usual.workgroup_ms;
    kind->state = faster ? State::Special : State::Usual;
  }
}

} // namespace lanewise
