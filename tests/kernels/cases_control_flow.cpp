// Divergent branches and loops, switches, function calls, and private arrays.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace lanewise::kernels {
namespace {

KernelCase insertion_sort(uint32_t scale) {
  Random random(70);
  uint32_t n = 150 * scale, count = 24;
  return Builder("insertion_sort")
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .value("n", n)
      .buffer("in", random.words(n * count))
      .output<int32_t>("out", n * count)
      .reference([=](std::span<Arg> args) {
        auto in = args[1].as<int32_t>(), out = args[2].as<int32_t>();
        std::copy(in.begin(), in.end(), out.begin());
        for (auto at = out.begin(); at != out.end(); at += count) std::sort(at, at + count);
      });
}

uint32_t mix_bits(uint32_t a, uint32_t b) {
  a ^= std::rotl(b, 13);
  a *= 0x9e3779b1u;
  return a ^ a >> 15;
}

KernelCase calls(uint32_t scale) {
  Random random(71);
  uint32_t n = 700 * scale;
  return Builder("calls")
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .value("n", n)
      .buffer("in", random.words(n))
      .output<uint32_t>("out", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          uint32_t v = args[1].as<uint32_t>()[i];
          if (v & 1)
            for (uint32_t r = 0, rounds = v & 7; r < rounds; ++r) v = mix_bits(v, r);
          else if (v & 2)
            v = mix_bits(v, i);
          uint64_t wide = v * 0x100000001b3u;
          args[2].as<uint32_t>()[i] =
              mix_bits(static_cast<uint32_t>(wide), static_cast<uint32_t>(wide >> 32));
        }
      });
}

int32_t apply(uint32_t op, int32_t x, int32_t y) {
  auto ux = static_cast<uint32_t>(x), uy = static_cast<uint32_t>(y);
  switch (op) {
  case 0: return x + y;
  case 1: return x - y;
  case 2: return x * y;
  case 3: return x & y;
  case 4: return x | y;
  case 5: return x ^ y;
  case 6: return static_cast<int32_t>(ux << (y & 31));
  case 7: return x >> (y & 31);
  case 8: return std::max(x, y);
  case 9: return std::min(x, y);
  case 10: return 1 + x + y;
  case 11: return x + y;
  case 12: return y;
  case 13: {
    int32_t r = 0;
    for (int k = 0; k < (y & 7); ++k) r = r * 3 + x;
    return r;
  }
  case 100: return std::abs(x);
  case 1000: return static_cast<int32_t>(int64_t{x} * y >> 32);
  case 100000: return static_cast<int32_t>((ux & 0xffff) * (uy & 0xffff) + 7);
  default: return -1;
  }
}

KernelCase switch_ops(uint32_t scale) {
  Random random(72);
  uint32_t n = 1000 * scale;
  auto small = [](Random& r) { return static_cast<int32_t>(r.below(60001)) - 30000; };
  auto op = [](Random& r) {
    constexpr uint32_t kSparse[] = {100, 1000, 100000, 14, 101, 0xffffffff};
    uint32_t pick = r.below(20);
    return pick < 14 ? pick : kSparse[pick - 14];
  };
  return Builder("switch_ops")
      .grid({round_up(n, 256), 1, 1}, {256, 1, 1})
      .value("n", n)
      .buffer("op", random.fill(n, op))
      .buffer("a", random.fill(n, small))
      .buffer("b", random.fill(n, small))
      .output<int32_t>("out", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i)
          args[4].as<int32_t>()[i] =
              apply(args[1].as<uint32_t>()[i], args[2].as<int32_t>()[i], args[3].as<int32_t>()[i]);
      });
}

uint32_t primes_below(uint32_t bound, uint32_t most) {
  uint32_t primes = 0;
  for (uint32_t p = 2; p < bound && primes < most; ++p) {
    uint32_t d = 2;
    while (d * d <= p && p % d) ++d;
    primes += d * d > p;
  }
  return primes;
}

uint32_t explore(uint32_t v, uint32_t limit) {
  if (v == 0) return 0xdead;
  uint32_t steps = 0;
  for (uint32_t x = v; x != 1; ++steps) {
    if (steps == limit) return 0xbeef;
    x = x & 1 ? 3 * x + 1 : x >> 1;
  }
  return steps << 8 | primes_below(v & 63, 13);
}

KernelCase early_exit(uint32_t scale) {
  Random random(73);
  uint32_t n = 600 * scale, limit = 150;
  return Builder("early_exit")
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .value("n", n)
      .value("limit", limit)
      .buffer("in", random.fill(n, [](Random& r) { return r.below(16) ? r.below(100000) : 0; }))
      .output<uint32_t>("out", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i)
          args[3].as<uint32_t>()[i] = explore(args[2].as<uint32_t>()[i], limit);
      });
}

/// The machine of src/bytecode_vm.cl: runs `code` on a stack of eight that starts as {input}.
std::pair<uint32_t, uint32_t> interpret(std::span<const uint8_t> code, uint32_t input, uint32_t limit) {
  enum { kHalt, kPush, kAdd, kSub, kMul, kDup, kSwap, kOver, kJumpNonzero, kMod, kDrop };
  std::array<uint32_t, 8> stack{input};
  uint32_t top = 0, pc = 0, steps = 0;
  auto at = [&](uint32_t index) -> uint32_t& { return stack[index & 7]; };
  for (; steps < limit; ++steps) {
    uint8_t op = code[pc++];
    if (op == kHalt) break;
    uint32_t a = at(top);
    switch (op) {
    case kPush: at(++top) = code[pc++]; break;
    case kAdd: at(--top) += a; break;
    case kSub: at(--top) -= a; break;
    case kMul: at(--top) *= a; break;
    case kDup: at(++top) = a; break;
    case kSwap: std::swap(at(top), at(top - 1)); break;
    case kOver: a = at(top - 1), at(++top) = a; break;
    case kJumpNonzero: --top, pc = a ? code[pc] : pc + 1; break;
    case kMod: at(--top) %= a; break;
    case kDrop: --top; break;
    default: break;
    }
  }
  return {at(top), steps};
}

KernelCase bytecode_vm(uint32_t scale) {
  Random random(74);
  uint32_t n = 320 * scale, limit = 200;
  constexpr size_t kLength = 32;
  // Factorial of input % 13 + 1; repeated squaring until zero or the limit; a polynomial; a countdown.
  std::vector<std::vector<uint8_t>> programs{
      {1, 13, 9, 1, 1, 2, 1, 1, 6, /* 9: */ 6, 7, 4, 6, 1, 1, 3, 5, 8, 9, 10, 0},
      {1, 97, 9, /* 3: */ 5, 4, 1, 101, 9, 5, 8, 3, 0},
      {5, 4, 1, 7, 2, 0},
      {1, 31, 9, 1, 1, 2, /* 6: */ 1, 1, 3, 5, 8, 6, 0},
  };
  std::vector<uint8_t> code;
  for (auto& program : programs) {
    program.resize(kLength);
    code.insert(code.end(), program.begin(), program.end());
  }
  return Builder("bytecode_vm")
      .grid({n, 1, 1}, {64, 1, 1})
      .value("limit", limit)
      .buffer("programs", code)
      .buffer("inputs", random.words(n))
      .output<uint32_t>("out", n * 2)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          auto program = args[1].as<uint8_t>().subspan(i % 4 * kLength, kLength);
          auto [result, steps] = interpret(program, args[2].as<uint32_t>()[i], limit);
          args[3].as<uint32_t>()[2 * i] = result;
          args[3].as<uint32_t>()[2 * i + 1] = steps;
        }
      });
}

/// The machine of src/stack_machine.cl: what it has taken, and the top of its stack.
std::pair<uint32_t, uint32_t> run_stack_machine(std::span<const uint32_t> code, uint32_t input,
                                                uint32_t steps) {
  enum { kPush, kAdd, kMultiply, kCopy, kSwap, kXor, kSkipIfOdd, kTake };
  std::array<uint32_t, 16> stack;
  std::iota(stack.begin(), stack.end(), input);
  uint32_t top = 3, pc = 0, taken = input;
  auto at = [&](uint32_t index) -> uint32_t& { return stack[index & 15]; };
  for (uint32_t n = 0; n < steps; ++n) {
    uint32_t word = code[pc++ & 31], operand = word >> 8;
    switch (word & 255) {
    case kPush: at(++top) = operand; break;
    case kAdd: --top, at(top) += at(top + 1); break;
    case kMultiply: --top, at(top) *= at(top + 1); break;
    case kCopy: ++top, at(top) = at(top - 1); break;
    case kSwap: std::swap(at(top), at(top - 1)); break;
    case kXor: at(top) ^= operand; break;
    case kSkipIfOdd: pc += at(top) & 1 ? operand : 0; break;
    case kTake: taken += at(top--); break;
    }
  }
  return {taken, top << 16 | (at(top) & 0xffff)};
}

KernelCase stack_machine(uint32_t scale) {
  Random random(75);
  uint32_t n = 317 * scale, steps = 150;
  constexpr size_t kLength = 32, kPrograms = 7;
  std::vector<uint32_t> programs(kLength * kPrograms);
  for (uint32_t& word : programs) {
    uint32_t op = random.below(8), operand = random.u32() & (op == 6 ? 3 : 0xffffff);
    word = op | operand << 8;
  }
  return Builder("stack_machine")
      .grid({n, 1, 1}, {64, 1, 1})
      .value("steps", steps)
      .buffer("programs", programs)
      .buffer("inputs", random.words(n))
      .output<uint32_t>("out", n * 2)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          auto program = args[1].as<uint32_t>().subspan(i % kPrograms * kLength, kLength);
          auto [taken, top] = run_stack_machine(program, args[2].as<uint32_t>()[i], steps);
          args[3].as<uint32_t>()[2 * i] = taken;
          args[3].as<uint32_t>()[2 * i + 1] = top;
        }
      });
}

/// Characters, bytes that are none of any, and a sum of the characters.
std::array<uint32_t, 3> decode_utf8(std::span<const uint8_t> text) {
  uint32_t characters = 0, wrong = 0, sum = 0;
  for (size_t at = 0; at < text.size();) {
    uint32_t c = text[at], ones = static_cast<uint32_t>(std::countl_one(text[at]));
    if (ones == 1 || ones > 4) {
      ++wrong, ++at;
      continue;
    }
    uint32_t code = ones == 0 ? c : c & (0x7f >> ones), more = ones == 0 ? 0 : ones - 1, got = 0;
    for (; got < more && at + got + 1 < text.size() && text[at + got + 1] >> 6 == 2; ++got)
      code = code << 6 | (text[at + got + 1] & 63);
    at += got + 1;
    if (got < more) {
      ++wrong;
      continue;
    }
    ++characters;
    sum = sum * 31 + code;
  }
  return {characters, wrong, sum};
}

KernelCase utf8_lengths(uint32_t scale) {
  Random random(76);
  uint32_t n = 317 * scale, bytes = 60;
  std::vector<uint8_t> texts;
  while (texts.size() < size_t{n} * bytes) { // Now and then a byte is wrong, and texts end within characters.
    uint32_t length = 1 + random.below(4), bits = random.u32();
    uint32_t lead = length == 1 ? bits & 0x7f : (0xf00 >> length & 0xff) | (bits & (0x3f >> length));
    texts.push_back(static_cast<uint8_t>(random.below(32) == 0 ? bits : lead));
    for (uint32_t k = 1; k < length; ++k) texts.push_back(0x80 | (bits >> (6 * k) & 63));
  }
  texts.resize(size_t{n} * bytes);
  return Builder("utf8_lengths")
      .grid({n, 1, 1}, {64, 1, 1})
      .value("bytes", bytes)
      .buffer("texts", texts)
      .output<uint32_t>("out", n * 3)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i)
          std::ranges::copy(decode_utf8(args[1].as<uint8_t>().subspan(size_t{i} * bytes, bytes)),
                            args[2].as<uint32_t>().begin() + size_t{i} * 3);
      });
}

/// One character, in bytes behind `text`, and in units at `unit`, which goes on.
void add_character(std::vector<uint8_t>& text, std::vector<uint16_t>& units, size_t& unit, uint32_t code) {
  const auto add = [&](uint32_t bits) { text.push_back(static_cast<uint8_t>(bits)); };
  if (code < 0x80) {
    add(code);
  } else {
    const uint32_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    add((0xf00 >> more & 0x1e0) >> 1 | code >> (6 * more));
    for (uint32_t k = more; k-- != 0;) add(0x80 | (code >> (6 * k) & 63));
  }
  if (code >= 0x10000) units[unit++] = static_cast<uint16_t>(0xd800 | (code - 0x10000) >> 10);
  units[unit++] = static_cast<uint16_t>(code >= 0x10000 ? 0xdc00 | (code & 1023) : code);
}

KernelCase utf16_units(uint32_t scale) {
  Random random(181);
  const uint32_t n = 250 * scale;
  std::vector<uint8_t> bytes;
  std::vector<uint16_t> units(size_t{n} * 200, uint16_t{0x101} * static_cast<uint16_t>(kOutputPattern));
  std::vector<uint32_t> starts{0}, counts;
  for (uint32_t i = 0; i < n; ++i) {
    size_t unit = bytes.size();
    for (uint32_t k = random.below(50); k != 0; --k) {
      const uint32_t bits = 6 + random.below(15), code = random.u32() >> (32 - bits);
      add_character(bytes, units, unit, code >= 0xd800 && code < 0xe000 ? 0xffff : code);
    }
    counts.push_back(static_cast<uint32_t>(unit - starts.back()));
    starts.push_back(static_cast<uint32_t>(bytes.size()));
  }
  units.resize(bytes.size());
  return Builder("utf16_units")
      .results_only()
      .grid({n, 1, 1}, {64, 1, 1})
      .value("texts", n)
      .buffer("starts", starts)
      .buffer("bytes", bytes)
      .output<uint16_t>("units", units.size())
      .output<uint32_t>("counts", n)
      .reference([=](std::span<Arg> args) {
        std::ranges::copy(units, args[3].as<uint16_t>().begin());
        std::ranges::copy(counts, args[4].as<uint32_t>().begin());
      });
}

KernelCase run_lengths(uint32_t scale) {
  Random random(182);
  const uint32_t n = 150 * scale, bytes = 300;
  std::vector<uint8_t> in;
  while (in.size() < size_t{n} * bytes) { // Most runs are short.
    const uint32_t most = random.below(4) != 0 ? 3 : random.below(8) != 0 ? 30 : 500;
    in.insert(in.end(), 1 + random.below(most), static_cast<uint8_t>(random.below(3) * 100));
  }
  in.resize(size_t{n} * bytes);
  return Builder("run_lengths")
      .results_only()
      .grid({n, 1, 1}, {64, 1, 1})
      .value("rows", n)
      .value("bytes", bytes)
      .buffer("in", in)
      .output<uint8_t>("out", 2 * in.size())
      .output<uint32_t>("runs", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t row = 0; row < n; ++row) {
          const auto* text = in.data() + size_t{row} * bytes;
          uint8_t* to = args[3].as<uint8_t>().data() + size_t{row} * bytes * 2;
          uint32_t& runs = args[4].as<uint32_t>()[row] = 0;
          for (uint32_t at = 0; at < bytes; at += to[-2], ++runs) {
            uint32_t length = 1;
            while (at + length < bytes && length < 255 && text[at + length] == text[at]) ++length;
            *to++ = static_cast<uint8_t>(length);
            *to++ = text[at];
          }
        }
      });
}

/// Ways to place queens in the rows from `row` on; `forbidden` closes columns of the last row.
uint32_t place_queens(int row, uint32_t columns, uint32_t left, uint32_t right, uint32_t forbidden) {
  constexpr int kSize = 8;
  if (row == kSize) return 1;
  uint32_t ways = 0;
  for (int c = 0; c < kSize; ++c) {
    uint32_t queen = 1u << c;
    if ((queen & (columns | left | right)) || (row == kSize - 1 && (queen & forbidden))) continue;
    ways += place_queens(row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1, forbidden);
  }
  return ways;
}

KernelCase nqueens(uint32_t scale) {
  Random random(75);
  constexpr uint32_t kStarts = 8 * 8 * 8;
  uint32_t boards = scale;
  return Builder("nqueens")
      .grid({boards * kStarts, 1, 1}, {64, 1, 1})
      .buffer("forbidden", random.fill(boards, [](Random& r) { return r.below(256) & r.below(256); }))
      .output<uint32_t>("count", size_t{boards} * kStarts)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < boards * kStarts; ++i) {
          uint32_t columns = 0, left = 0, right = 0, start = i % kStarts;
          bool possible = true;
          for (int row = 0; row < 3; ++row, start /= 8) {
            uint32_t queen = 1u << start % 8;
            possible = possible && !(queen & (columns | left | right));
            columns |= queen, left = (left | queen) << 1, right = (right | queen) >> 1;
          }
          args[1].as<uint32_t>()[i] =
              possible ? place_queens(3, columns, left, right, args[0].as<uint32_t>()[i / kStarts]) : 0;
        }
      });
}

constexpr CaseEntry kCases[] = {{"insertion_sort", insertion_sort}, {"calls", calls},
                                {"switch_ops", switch_ops},         {"early_exit", early_exit},
                                {"bytecode_vm", bytecode_vm},       {"stack_machine", stack_machine},
                                {"utf8_lengths", utf8_lengths},     {"utf16_units", utf16_units},
                                {"run_lengths", run_lengths},       {"nqueens", nqueens}};

} // namespace

std::span<const CaseEntry> control_flow_cases() { return kCases; }

} // namespace lanewise::kernels
