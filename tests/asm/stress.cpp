#include "tests/asm/stress.hpp"

#include "isa/asm/instruction.hpp"
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "tests/asm/mutate_text.hpp"
#include "tests/asm/random_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

namespace lanewise::isa::testing {
namespace {

constexpr std::size_t kTexts = 4096; ///< in stock at any time, to be damaged

bool reads_back(const Inst& inst, Target target, std::span<const u32> words) {
  Inst back;
  return decode(target, words, back) == DecodeStatus::Ok && back == inst;
}

/// What is wrong with the way from `inst` to machine code and text and back; empty if nothing is.
std::string_view round_trip(const Inst& inst, Target target) {
  const auto encoded = encode(inst, target);
  if (!encoded) return "does not encode";
  if (!reads_back(inst, target, encoded->span())) return "encodes to something else";
  const auto assembled = assemble(text(inst, target), target, {.permissive = true});
  if (!assembled) return "has text that does not assemble";
  if (assembled->inst != inst) return "has the text of something else";
  return {};
}

std::string_view check_text(const std::string& source, Target target, bool permissive, bool* assembles) {
  const auto assembled = assemble(source, target, {.permissive = permissive});
  *assembles = assembled.ok();
  if (!assembled) {
    const std::string& message = assembled.error().message;
    return message.empty() || message.find('\n') != std::string::npos ? "has an error that is not one line"
                                                                      : "";
  }
  if (!reads_back(assembled->inst, target, assembled->words.span())) return "assembles to something else";
  return round_trip(assembled->inst, target);
}

} // namespace

StressCounts stress_words(u64 chunk, u64 count, const Complaint& complain) {
  StressCounts counts;
  std::mt19937_64 random(chunk);
  RandomWords likely(random());
  const auto buffer = std::make_unique<std::array<u32, 3>>(); // on the heap: a read past its end is noticed
  for (; counts.inputs < count; ++counts.inputs) {
    const u64 choice = random();
    *buffer = likely.next();
    if (choice % 4 == 0) {
      const u64 bits = random();
      *buffer = {static_cast<u32>(bits), static_cast<u32>(bits >> 32), static_cast<u32>(choice >> 32)};
    }
    const auto target = static_cast<Target>((choice >> 8) % kNumTargets);
    const std::size_t size = (choice >> 16) % 8 == 0 ? 1 + (choice >> 20) % 2 : 3;
    std::copy_backward(buffer->begin(), buffer->begin() + size, buffer->end());
    const std::span<const u32> words = std::span<const u32>(*buffer).last(size);
    Inst inst;
    if (decode(target, words, inst) != DecodeStatus::Ok) continue;
    ++counts.instructions;
    if (const auto wrong = round_trip(inst, target); !wrong.empty()) {
      ++counts.wrong;
      complain(fmt::format("{} {:08x} {}: {}", target_name(target), fmt::join(words, " "), text(inst, target),
                           wrong));
    }
  }
  return counts;
}

StressCounts stress_texts(u64 chunk, u64 count, const Complaint& complain) {
  StressCounts counts;
  std::mt19937_64 random(~chunk);
  RandomWords words(random());
  struct Stock {
    std::string text;
    Target target{};
  };
  std::vector<Stock> stock(kTexts);
  std::size_t filled = 0;
  for (; counts.inputs < count; ++counts.inputs) {
    // One piece of the stock is renewed for each input.
    Stock& fresh = stock[filled++ % kTexts];
    Inst inst;
    do fresh.target = static_cast<Target>(random() % kNumTargets);
    while (decode(fresh.target, words.next(), inst) != DecodeStatus::Ok);
    fresh.text = text(inst, fresh.target);
    const std::size_t in_stock = std::min(filled, kTexts);
    const Stock& chosen = stock[random() % in_stock];
    std::string source = chosen.text;
    mutate_text(source, stock[random() % in_stock].text, random);
    const auto target = random() % 8 != 0 ? chosen.target : static_cast<Target>(random() % kNumTargets);
    bool assembles = false;
    const auto wrong = check_text(source, target, random() % 2 != 0, &assembles);
    counts.instructions += assembles;
    if (wrong.empty()) continue;
    ++counts.wrong;
    complain(fmt::format("{} {:?}: {}", target_name(target), source, wrong));
  }
  return counts;
}

} // namespace lanewise::isa::testing
