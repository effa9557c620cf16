#include "runtime/deferred_adds.hpp"
#include "tests/select/op_case.hpp"
#include "translator/x86/slow_access.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <random>
#include <regex>
#include <sys/mman.h>

namespace lanewise::x86::test {

using ir::AtomicOp;
using ir::FloatKind;
using ir::MemAttr;
using ir::Op;
using ir::Space;
using ir::Type;
using ir::ValueId;

namespace {

using Row = std::array<u64, 64>;

/// One access of every lane: address, data and mask from tables 0 to 4, results to tables 5 to 8.
struct AccessRun {
  MemAttr attr;
  Op op = Op::Load;
  u64 offset = 0;
  unsigned data = 0, results = 0;
  bool uniform_address = false, constant_address = false;
  bool uniform_data = false; ///< what lane 0 has, in all lanes
  bool in_turn = false;      ///< each gang's lane is known to be there, by its number
  bool mask_varies = false;  ///< for all that can be told, lanes come and go
  bool wide = false;         ///< dwords are loaded and stored as the halves of 64-bit values
  std::array<Row, 6> in{};   ///< address, data.., mask
  std::array<Row, 4> out{};
  RunInput input;

  void run(translator::Simd simd) {
    LaneProgram p;
    const bool wide_address = attr.space == Space::Global || attr.space == Space::Flat;
    std::vector<ValueId> operands;
    if (constant_address)
      operands.push_back(p.b.u32c(static_cast<u32>(in[0][0])));
    else if (uniform_address && attr.form == ir::AddressForm::Row)
      operands.push_back(p.uniform_operand(0, wide_address ? Type::U64 : Type::U32));
    else if (uniform_address)
      operands.push_back(p.b.splat(p.uniform_operand(0, wide_address ? Type::U64 : Type::U32)));
    else
      operands.push_back(p.operand(0, wide_address ? Type::V64 : Type::V32));
    const auto datum = [&](unsigned n) {
      return uniform_data ? p.b.splat(p.uniform_operand(1 + n, Type::U32)) : p.operand(1 + n, Type::V32);
    };
    for (unsigned n = 0; n < data; n += wide ? 2 : 1)
      operands.push_back(wide ? p.b.join(datum(n), datum(n + 1)) : datum(n));
    const ValueId mask = p.operand(5, Type::Mask);
    operands.push_back(mask);
    if (in_turn)
      operands.back() = p.b.op(Op::GangMask, Type::Mask, {mask, p.b.op(Op::GangBits, Type::G32, {mask})});
    if (mask_varies) {
      const ir::BlockId next = p.f.add_block(0);
      operands.back() = p.f.add_param(next, Type::Mask);
      p.b.jump(next, {mask});
      p.b.set_block(next);
    }
    const std::vector<Type> types(wide ? results / 2 : results, wide ? Type::V64 : Type::V32);
    const ir::InstId i = p.f.append(p.b.block(), {.op = op, .mem = attr, .imm = offset}, operands, types);
    for (unsigned n = 0; n < results; ++n) {
      const ValueId result = p.f.result(i, wide ? n / 2 : n);
      p.store(!wide ? result : n % 2 == 0 ? p.b.lo(result) : p.b.hi(result), 6 + n);
    }
    p.b.end_program();
    const phases::Plan plan = trivial_plan(p.f);
    input.sgprs.clear();
    for (unsigned n = 0; n < 10; ++n) {
      u64 word = n < 6 ? reinterpret_cast<u64>(in[n].data()) : reinterpret_cast<u64>(out[n - 6].data());
      if (n == 0 && uniform_address) word = in[0][0];
      if (n > 0 && n <= data && uniform_data) word = in[n][0];
      input.pass(word);
    }
    test::run(p.f, plan, simd, input);
  }
};

std::mt19937_64& generator() {
  static std::mt19937_64 random(std::random_device{}());
  return random;
}

enum class Pattern { Random, Unit, UnitUnaligned, Same, Neighbours };

/// Offsets below `size` (mostly), as `pattern` says.
void fill_offsets(Row& row, Pattern pattern, u32 bytes, u32 size) {
  auto& random = generator();
  const u64 start = pattern == Pattern::UnitUnaligned ? 3 : random() % 4 * bytes;
  for (u64 l = 0; l < 64; ++l)
    row[l] = pattern == Pattern::Random       ? random() % size
             : pattern == Pattern::Same       ? start
             : pattern == Pattern::Neighbours ? start + (l ^ 1) * bytes
                                              : start + l * bytes;
  if (pattern != Pattern::Neighbours) return;
  if (random() % 4 == 0)
    for (u64& at : row) at += random() % 2; // not aligned
  if (random() % 4 == 0) row[random() % 64] = random() % size;
}

constexpr int kFewLanes = 4, kMaskKinds = 5;

void fill_mask(Row& row, int kind) {
  auto& random = generator();
  for (u64 l = 0; l < 64; ++l) row[l] = kind == 0 ? 1 : kind == 1 ? l < 37 : kind == 2 ? random() & 1 : 0;
  for (u64 l = 0; l < 64 && kind == kFewLanes; l += 8) row[l + random() % 8] = random() % 4 != 0;
}

struct Size {
  u32 bytes;
  bool wide;
};
constexpr Size kSizes[] = {{1, false}, {2, false},  {4, false},  {8, false},
                           {8, true},  {12, false}, {16, false}, {16, true}};

/// Byte by byte in a copy of the memory. `place` maps lane and byte offset to the byte, or null.
template <class Place>
void reference(const AccessRun& r, Place place, std::array<Row, 4>& out) {
  for (u32 l = 0; l < 64; ++l) {
    if ((r.in[5][l] & 1) == 0) continue;
    const u64 address = r.uniform_address ? r.in[0][0] : r.in[0][l];
    bool inside = true;
    for (u32 n = 0; n < r.attr.bytes; ++n) inside &= place(l, address + r.offset + n) != nullptr;
    if (!inside) continue;
    for (u32 n = 0; n < r.attr.bytes; ++n) {
      u8* at = place(l, address + r.offset + n);
      if (r.op == Op::Store)
        *at = static_cast<u8>(r.in[1 + n / 4][l] >> (8 * (n % 4)));
      else
        out[n / 4][l] |= u64{*at} << (8 * (n % 4));
    }
    if (r.op == Op::Load && r.attr.sign_extend && r.attr.bytes < 4)
      out[0][l] = static_cast<u32>(sign_extend(out[0][l], 8u * r.attr.bytes));
  }
}

template <class Body>
void for_all_accesses(Space space, Body body) {
  for (const translator::Simd simd : widths())
    for (const auto& [bytes, is_wide] : kSizes)
      for (const Op op : {Op::Load, Op::Store})
        for (const Pattern pattern :
             {Pattern::Random, Pattern::Unit, Pattern::UnitUnaligned, Pattern::Same, Pattern::Neighbours})
          for (int mask = 0; mask < kMaskKinds; ++mask) {
            if (is_wide && space == Space::Scratch) continue;
            if (op == Op::Store && pattern == Pattern::Neighbours) continue;
            AccessRun r;
            r.op = op;
            r.wide = is_wide;
            r.attr.space = space;
            r.attr.bytes = static_cast<u8>(bytes);
            r.attr.sign_extend = mask % 2 == 1 && bytes < 4;
            r.mask_varies = mask == kFewLanes || generator()() % 2 == 0;
            r.offset = mask == 2 ? 8 : 0;
            const u32 dwords = bytes <= 4 ? 1 : bytes / 4;
            (op == Op::Load ? r.results : r.data) = dwords;
            for (unsigned n = 1; n < 5; ++n)
              for (u64& v : r.in[n]) v = generator()();
            fill_mask(r.in[5], mask);
            r.uniform_address = pattern == Pattern::Same && mask != 1;
            SCOPED_TRACE(testing::Message()
                         << (simd == translator::Simd::Avx2 ? "AVX2 " : "AVX-512 ") << ir::info(op).text
                         << " bytes " << bytes << (is_wide ? " wide" : "") << " pattern "
                         << static_cast<int>(pattern) << " mask " << mask);
            body(r, pattern, simd);
            if (testing::Test::HasFailure()) return;
          }
}

constexpr u32 kScratchBytes = 1200; ///< of each lane

/// Accesses to private memory at the addresses that `choose(run, pattern)` sets.
template <class Choose>
void check_scratch(Choose choose) {
  for_all_accesses(Space::Scratch, [&](AccessRun& r, Pattern pattern, translator::Simd simd) {
    r.input.scratch_per_lane = kScratchBytes;
    std::vector<u8>& memory = r.input.scratch;
    memory.resize(kScratchBytes * 64);
    for (u8& b : memory) b = static_cast<u8>(generator()());
    std::vector<u8> expected = memory;
    choose(r, pattern);
    std::array<Row, 4> out{};
    reference(
        r, [&](u32 l, u64 at) { return &expected[at / 4 * 256 + l * 4 + at % 4]; }, out);
    r.run(simd);
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(r.out, out);
  });
}

} // namespace

TEST(SelectMemory, Global) {
  for (const Space space : {Space::Global, Space::Flat})
    for_all_accesses(space, [](AccessRun& r, Pattern pattern, translator::Simd simd) {
      std::vector<u8> memory(2048);
      for (u8& b : memory) b = static_cast<u8>(generator()());
      std::vector<u8> expected = memory;
      fill_offsets(r.in[0], pattern, r.attr.bytes, 1000);
      std::array<Row, 4> out{};
      reference(
          r, [&](u32, u64 at) { return &expected[at]; }, out);
      for (u64& a : r.in[0]) a += reinterpret_cast<u64>(memory.data());
      r.run(simd);
      EXPECT_EQ(memory, expected);
      EXPECT_EQ(r.out, out);
    });
}

/// Neighbours are loaded with the lines that they are in, but nothing of the next page.
TEST(SelectMemory, NeighboursAtTheEndOfAPage) {
  constexpr u64 kPage = 4096;
  auto* memory =
      static_cast<u8*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  for (u64 n = 0; n < kPage; ++n) memory[n] = static_cast<u8>(generator()());
  ASSERT_EQ(mprotect(memory + kPage, kPage, PROT_NONE), 0);
  for (const translator::Simd simd : widths())
    for (const u8 bytes : {1, 2, 4, 8})
      for (u64 left = 0; left < 4; ++left) {
        AccessRun r;
        r.attr.bytes = bytes;
        r.results = bytes == 8 ? 2 : 1;
        fill_mask(r.in[5], 0);
        for (u64 l = 0; l < 64; ++l) r.in[0][l] = kPage - (64 + left) * bytes + (l ^ 1) * bytes;
        std::array<Row, 4> out{};
        reference(
            r, [&](u32, u64 at) { return &memory[at]; }, out);
        for (u64& at : r.in[0]) at += reinterpret_cast<u64>(memory);
        r.run(simd);
        EXPECT_EQ(r.out, out) << int{bytes} << " bytes";
      }
  munmap(memory, 2 * kPage);
}

TEST(SelectMemory, Lds) {
  for_all_accesses(Space::Lds, [](AccessRun& r, Pattern pattern, translator::Simd simd) {
    std::vector<u8>& memory = r.input.lds;
    memory.resize(1000);
    for (u8& b : memory) b = static_cast<u8>(generator()());
    std::vector<u8> expected = memory;
    fill_offsets(r.in[0], pattern, r.attr.bytes, 1100);
    r.in[0][5] = 0xfffffff0; // Lanes 5 and 6 are far out.
    r.in[0][6] = 0x80000000;
    std::array<Row, 4> out{};
    reference(
        r, [&](u32, u64 at) { return at < 1000 ? &expected[at] : nullptr; }, out);
    r.run(simd);
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(r.out, out);
  });
}

TEST(SelectMemory, Scratch) {
  check_scratch([](AccessRun& r, Pattern pattern) {
    fill_offsets(r.in[0], pattern, r.attr.bytes, 1100);
    if (generator()() % 2 == 0)
      for (u64& a : r.in[0]) a &= ~u64{3};
  });
}

/// Private memory at one address, whose scalar need not be kept where the address is in memory anyway.
TEST(SelectMemory, ScratchAtASplatThatIsReadWhole) {
  for (const translator::Simd simd : widths()) {
    LaneProgram p;
    const ir::ValueId scalar = p.b.add(p.uniform_operand(0, Type::U32), p.b.u32c(4));
    const ir::ValueId address = p.b.splat(scalar);
    const ir::BlockId next = p.f.add_block();
    p.b.jump(next);
    p.b.set_block(next);
    ir::Inst load{.op = Op::Load};
    load.mem.space = Space::Scratch;
    load.mem.bytes = 4;
    p.store(p.f.result(p.b.inst(load, {address, p.all}, {Type::V32})), 1);
    p.store(p.b.op(Op::BPermute, Type::V32, {p.b.v32c(8), address, p.all}), 2);
    p.b.end_program();
    std::array<std::array<u64, 64>, 2> results{};
    RunInput input;
    input.sgprs = {12, 0};
    for (const auto& table : results) input.pass(table.data());
    input.scratch_per_lane = 32;
    input.scratch.resize(32 * 64);
    for (u32 l = 0; l < 64; ++l) input.scratch[16 * 64 + 4 * l] = static_cast<u8>(100 + l);
    run(p.f, trivial_plan(p.f), simd, input);
    for (u32 l = 0; l < 64; ++l) {
      EXPECT_EQ(results[0][l], 100 + l);
      EXPECT_EQ(results[1][l], 16u);
    }
  }
}

/// Private memory at one address that is known to be inside, up to its last bytes.
TEST(SelectMemory, ScratchInRange) {
  check_scratch([](AccessRun& r, Pattern) {
    const u64 align = std::min<u64>(r.attr.bytes, 4);
    const u64 at = (generator()() % 4 == 0 ? kScratchBytes - r.attr.bytes - r.offset : generator()() % 1000) /
                   align * align;
    r.offset = r.offset / align * align;
    r.in[0].fill(at);
    r.attr.form = ir::AddressForm::Row;
    r.attr.in_range = true;
    r.uniform_address = true;
    r.constant_address = generator()() % 2 == 0;
  });
}

/// Private memory of one lane at most in each gang, all of which have what it loads.
TEST(SelectMemory, ScratchOfOneLane) {
  for_all_accesses(Space::Scratch, [](AccessRun& r, Pattern, translator::Simd simd) {
    if (r.attr.bytes > 4) return;
    const u32 gang = simd == translator::Simd::Avx2 ? 8 : 16;
    r.input.scratch_per_lane = kScratchBytes;
    std::vector<u8>& memory = r.input.scratch;
    memory.resize(kScratchBytes * 64);
    for (u8& b : memory) b = static_cast<u8>(generator()());
    std::vector<u8> expected = memory;
    r.attr.in_range = generator()() % 2 == 0;
    const u64 at = generator()() % 1000; // Anywhere, if that is not known.
    r.in[0].fill(r.attr.in_range ? at / r.attr.bytes * r.attr.bytes : at);
    r.attr.form = ir::AddressForm::Row;
    r.attr.spread = true;
    r.uniform_address = true;
    r.in[1].fill(r.in[1][0] & 0xffff'ffff);
    r.uniform_data = generator()() % 2 == 0;
    r.in[5].fill(0);
    r.in_turn = generator()() % 2 == 0;
    for (u32 first = 0; first < 64; first += gang)
      if (r.in_turn || generator()() % 4 != 0) r.in[5][first + generator()() % gang] = 1;
    std::array<Row, 4> out{};
    reference(
        r, [&](u32 l, u64 x) { return &expected[x / 4 * 256 + l * 4 + x % 4]; }, out);
    for (u32 first = 0; first < 64; first += gang) {
      const auto begin = out[0].begin() + first;
      const u64 loaded = *std::max_element(begin, begin + gang); // What there is but zeros.
      std::fill(begin, begin + gang, loaded);
    }
    r.run(simd);
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(r.out, out);
  });
}

namespace {

/// Flat accesses of lanes that each go to one of these apertures; 0 is global memory.
void check_flat(std::span<const u64> kinds) {
  for_all_accesses(Space::Flat, [&](AccessRun& r, Pattern pattern, translator::Simd simd) {
    r.input.scratch_per_lane = 1200;
    r.input.scratch.resize(1200 * 64);
    r.input.lds.resize(pattern == Pattern::Random ? 990 : 1200); // Some lanes are beyond its end, or halfway.
    r.attr.public_only = std::ranges::find(kinds, runtime::kPrivateAperture) == kinds.end();
    std::vector<u8> memory(2048);
    for (std::vector<u8>* v : {&r.input.scratch, &r.input.lds, &memory})
      for (u8& b : *v) b = static_cast<u8>(generator()());
    auto expected = memory, lds = r.input.lds, scratch = r.input.scratch;
    fill_offsets(r.in[0], pattern, r.attr.bytes, 1000);
    const auto base = reinterpret_cast<u64>(memory.data());
    for (u64& a : r.in[0]) {
      const u64 start = kinds[generator()() % kinds.size()];
      a += start == 0 ? base : start;
    }
    std::array<Row, 4> out{};
    reference(
        r,
        [&](u32 l, u64 at) -> u8* {
          const u64 low = at & 0xffffffff;
          if (at >> 32 == runtime::kSharedApertureHigh) return low < lds.size() ? &lds[low] : nullptr;
          if (at >> 32 == runtime::kPrivateApertureHigh) return &scratch[low / 4 * 256 + l * 4 + low % 4];
          return &expected[at - base];
        },
        out);
    r.run(simd);
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(r.input.lds, lds);
    EXPECT_EQ(r.input.scratch, scratch);
    EXPECT_EQ(r.out, out);
    const bool aligned = pattern == Pattern::Unit || pattern == Pattern::Same;
    EXPECT_FALSE(r.input.slow && kinds.size() == 1 && aligned);
  });
}

} // namespace

TEST(SelectMemory, FlatApertures) {
  check_flat(std::array<u64, 2>{0, runtime::kSharedAperture});
  check_flat(std::array<u64, 3>{0, runtime::kSharedAperture, runtime::kPrivateAperture});
}

TEST(SelectMemory, FlatInOneAperture) {
  check_flat(std::array<u64, 1>{runtime::kPrivateAperture});
  check_flat(std::array<u64, 1>{runtime::kSharedAperture});
}

namespace {

u64 after(AtomicOp op, bool wide, u64 m, u64 d, u64 c) {
  const auto s = [&](u64 v) { return wide ? static_cast<i64>(v) : i64{static_cast<i32>(v)}; };
  const auto f = [&](u64 v) {
    return wide ? std::bit_cast<double>(v) : static_cast<double>(std::bit_cast<float>(static_cast<u32>(v)));
  };
  const auto bits = [&](double v) {
    return wide ? std::bit_cast<u64>(v) : u64{std::bit_cast<u32>(static_cast<float>(v))};
  };
  switch (op) {
  case AtomicOp::Swap: return d;
  case AtomicOp::Cmpswap: return m == c ? d : m;
  case AtomicOp::Add: return m + d;
  case AtomicOp::Sub: return m - d;
  case AtomicOp::Rsub: return d - m;
  case AtomicOp::SMin: return s(m) < s(d) ? m : d;
  case AtomicOp::UMin: return m < d ? m : d;
  case AtomicOp::SMax: return s(m) > s(d) ? m : d;
  case AtomicOp::UMax: return m > d ? m : d;
  case AtomicOp::And: return m & d;
  case AtomicOp::Or: return m | d;
  case AtomicOp::Xor: return m ^ d;
  case AtomicOp::Inc: return m >= d ? 0 : m + 1;
  case AtomicOp::Dec: return m == 0 || m > d ? d : m - 1;
  case AtomicOp::FAdd:
  case AtomicOp::RFAdd: return bits(f(m) + f(d));
  case AtomicOp::FMin: return f(m) < f(d) ? m : d;
  case AtomicOp::FMax: return f(m) > f(d) ? m : d;
  case AtomicOp::FCmpswap: return f(m) == f(c) ? d : m;
  case AtomicOp::Mskor: return (m & ~d) | c;
  case AtomicOp::Wrap: return m >= d ? m - d : m + c;
  }
  return 0;
}

} // namespace

namespace {

/// Where the lanes of an atomic go: each to one of 16 elements, all to one, or all to one at a scalar
/// address.
enum class Place { Any, One, Scalar };

bool is_addition(AtomicOp op) { return op == AtomicOp::Add || op == AtomicOp::Sub; }

/// Each atomic in each memory, or those that can be deferred; `mask` as fill_mask() says.
void check_atomics(Place where, int mask, bool uniform_data = false, bool deferred = false) {
  const bool one_place = where != Place::Any;
  for (const translator::Simd simd : widths())
    for (const auto& [space, where_to] :
         {std::pair(Space::Global, Space::Global), std::pair(Space::Lds, Space::Lds),
          std::pair(Space::Flat, Space::Global), std::pair(Space::Flat, Space::Lds),
          std::pair(Space::Flat, Space::Scratch), std::pair(Space::Scratch, Space::Scratch)})
      for (unsigned n = 0; n <= static_cast<unsigned>(AtomicOp::RFAdd); ++n)
        for (const u32 bytes : {4u, 8u})
          for (const bool returns : {false, true}) {
            const auto op = static_cast<AtomicOp>(n);
            if (deferred && (!is_addition(op) || returns || space != Space::Global)) continue;
            const bool two = ir::takes_two(op);
            const bool is_float = (op >= AtomicOp::FAdd && op <= AtomicOp::FCmpswap) || op == AtomicOp::RFAdd;
            const u32 dwords = bytes / 4;
            AccessRun r;
            r.op = Op::Atomic;
            r.attr.space = space;
            r.attr.bytes = static_cast<u8>(bytes);
            r.attr.atomic = op;
            r.attr.kind = bytes == 8 ? FloatKind::F64 : FloatKind::F32;
            r.attr.returns = returns;
            r.attr.deferred = deferred;
            r.data = two ? 2 * dwords : dwords;
            r.results = returns ? dwords : 0;
            r.uniform_address = one_place;
            r.uniform_data = uniform_data;
            if (where == Place::Scalar) {
              if (space == Space::Flat) continue;
              r.attr.form = ir::AddressForm::Row;
            }
            std::vector<u8> global(512);
            const bool is_private = where_to == Space::Scratch;
            std::vector<u8>& memory = is_private               ? r.input.scratch
                                      : where_to == Space::Lds ? r.input.lds
                                                               : global;
            memory.resize(is_private ? 512 * 64 : 512);
            if (is_private) r.input.scratch_per_lane = 512;
            const auto value = [&](bool first) {
              const u64 v = generator()() % 7;
              if (!is_float) return first ? v : v - 3;
              const double d = static_cast<double>(v) - 3.5;
              return bytes == 8 ? std::bit_cast<u64>(d) : u64{std::bit_cast<u32>(static_cast<float>(d))};
            };
            const auto dword = [&](std::vector<u8>& m, u32 lane, u64 at) {
              return is_private ? &m[at / 4 * 256 + lane * 4] : &m[at];
            };
            const auto write = [&](std::vector<u8>& m, u32 lane, u64 at, u64 v) {
              for (u32 k = 0; k < dwords; ++k)
                store_le<u32>(dword(m, lane, at + 4 * k), static_cast<u32>(v >> (32 * k)));
            };
            for (u32 lane = 0; lane < (is_private ? 64 : 1); ++lane)
              for (u32 at = 0; at < 512; at += bytes) write(memory, lane, at, value(true));
            auto expected = memory;
            const u64 start = where_to == Space::Global ? reinterpret_cast<u64>(memory.data())
                              : space != Space::Flat    ? 0
                              : is_private              ? runtime::kPrivateAperture
                                                        : runtime::kSharedAperture;
            fill_mask(r.in[5], mask);
            std::array<Row, 4> out{};
            const u64 place = generator()() % 16 * bytes;
            u64 d = 0, c = 0;
            for (u32 l = 0; l < 64; ++l) {
              const u64 at = one_place ? place : generator()() % 16 * bytes;
              if (l == 0 || !uniform_data) d = value(false), c = value(true);
              r.in[0][l] = at + start;
              for (u32 k = 0; k < dwords; ++k) {
                r.in[1 + k][l] = d >> (32 * k) & 0xffffffff;
                r.in[1 + dwords + k][l] = c >> (32 * k) & 0xffffffff;
              }
              if ((r.in[5][l] & 1) == 0) continue;
              u64 m = 0;
              for (u32 k = 0; k < dwords; ++k)
                m |= u64{load_le<u32>(dword(expected, l, at + 4 * k))} << (32 * k);
              const u64 limit = bytes == 4 ? 0xffffffff : ~u64{0};
              const u64 next = after(op, bytes == 8, m, d & limit, c & limit);
              write(expected, l, at, next);
              for (u32 k = 0; k < r.results; ++k) out[k][l] = m >> (32 * k) & 0xffffffff;
            }
            SCOPED_TRACE(testing::Message() << "atomic " << n << " bytes " << bytes << " space "
                                            << static_cast<int>(space) << " mask " << mask);
            r.run(simd);
            EXPECT_EQ(memory, expected);
            EXPECT_EQ(r.out, out);
            if (testing::Test::HasFailure()) return;
          }
}

} // namespace

TEST(SelectMemory, Atomics) {
  for (const bool uniform_data : {false, true})
    for (const int mask : {2, kFewLanes}) check_atomics(Place::Any, mask, uniform_data);
}

/// The result is the NaN of what the operation has first.
TEST(SelectMemory, SumsOfNaNs) {
  for (const translator::Simd simd : widths())
    for (const AtomicOp op : {AtomicOp::FAdd, AtomicOp::RFAdd})
      for (const bool returns : {false, true}) {
        constexpr u32 kInMemory = 0x7fc0'0001, kData = 0xffc0'0002;
        AccessRun r;
        r.op = Op::Atomic;
        r.attr = {.space = Space::Lds, .bytes = 4, .atomic = op};
        r.attr.returns = returns;
        r.data = 1;
        r.results = returns ? 1 : 0;
        r.input.lds.resize(256);
        fill_mask(r.in[5], 0);
        for (u32 l = 0; l < 64; ++l) {
          store_le<u32>(&r.input.lds[4 * l], kInMemory);
          r.in[0][l] = 4 * l;
          r.in[1][l] = kData;
        }
        r.run(simd);
        for (u32 l = 0; l < 64; ++l)
          EXPECT_EQ(load_le<u32>(&r.input.lds[4 * l]), op == AtomicOp::FAdd ? kInMemory : kData);
      }
}

TEST(SelectMemory, DeferredAdds) {
  for (const Place place : {Place::Any, Place::One, Place::Scalar})
    for (const bool uniform_data : {false, true})
      for (const int mask : {0, 1, 2, 3, kFewLanes}) check_atomics(place, mask, uniform_data, true);
}

/// Lanes whose addresses have one entry take it from each other.
TEST(SelectMemory, DeferredAddsThatShareAnEntry) {
  for (const translator::Simd simd : widths())
    for (const u8 bytes : {4, 8}) {
      AccessRun r;
      r.op = Op::Atomic;
      r.attr = {.space = Space::Global, .bytes = bytes, .atomic = AtomicOp::Add};
      r.attr.deferred = true;
      r.data = bytes / 4u;
      fill_mask(r.in[5], 0);
      const u64 apart = u64{runtime::DeferredAdds::kEntries} * bytes;
      std::vector<u8> memory(3 * apart);
      std::array<u64, 3> sums{};
      for (u32 l = 0; l < 64; ++l) {
        const u32 place = l / 2 % 3;
        r.in[0][l] = reinterpret_cast<u64>(memory.data()) + place * apart;
        r.in[1][l] = l, r.in[2][l] = 2 * l;
        sums[place] += bytes == 4 ? l : u64{2 * l} << 32 | l;
      }
      r.run(simd);
      for (u32 place = 0; place < 3; ++place)
        EXPECT_EQ(bytes == 4 ? load_le<u32>(&memory[place * apart]) : load_le<u64>(&memory[place * apart]),
                  sums[place]);
    }
}

TEST(SelectMemory, AtomicsAtOnePlace) {
  for (const Place place : {Place::One, Place::Scalar})
    for (const int mask : {0, 2, 3}) check_atomics(place, mask);
}

namespace {

/// The AVX-512 code of one atomic, four gangs side by side.
std::string code_of_atomic(const MemAttr& attr, bool scalar_data, bool scalar_address) {
  LaneProgram p;
  std::vector<ValueId> operands = {scalar_address ? p.uniform_operand(0, Type::U64)
                                                  : p.operand(0, Type::V64)};
  const unsigned rows = attr.atomic == AtomicOp::Cmpswap ? 2 : 1;
  for (unsigned n = 0; n < rows; ++n)
    operands.push_back(scalar_data ? p.b.splat(p.uniform_operand(1 + n, Type::U32))
                                   : p.operand(1 + n, Type::V32));
  operands.push_back(p.operand(5, Type::Mask));
  const std::vector<Type> types(attr.returns ? 1 : 0, Type::V32);
  const ir::InstId i = p.f.append(p.b.block(), {.op = Op::Atomic, .mem = attr}, operands, types);
  if (attr.returns) p.store(p.f.result(i, 0), 6);
  p.b.end_program();
  phases::Plan plan = trivial_plan(p.f);
  for (phases::Phase& phase : plan.phases) phase.interleave = 4;
  auto code = compile(p.f, plan, {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
  EXPECT_TRUE(code.ok()) << code.error().message;
  return code.ok() ? code->listing : "";
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

} // namespace

TEST(SelectMemory, GangsSideBySideDoOneAtomicForTheWave) {
  MemAttr attr{.space = Space::Global, .bytes = 4, .atomic = AtomicOp::Add};
  attr.form = ir::AddressForm::Row;
  EXPECT_EQ(count(code_of_atomic(attr, false, true), "\nlock "), 1u);
}

/// One permutation takes the first lane's address out of a vector of 64 bits.
TEST(SelectMemory, TheFirstLanesAddressIsTakenAsAWhole) {
  const MemAttr attr{.space = Space::Global, .bytes = 4, .atomic = AtomicOp::Add};
  const std::string code = code_of_atomic(attr, true, false);
  EXPECT_EQ(count(code, "vpcompressd"), 0u) << "neither half on its own";
}

/// Where the thread has the address, no lock is taken: locked are the first addition to it, and that of what
/// was pending for another. Of a whole wave, one is deferred.
TEST(SelectMemory, DeferredAddsThatThreadsKnowTakeNoLock) {
  MemAttr attr{.space = Space::Global, .bytes = 4, .atomic = AtomicOp::Add};
  attr.deferred = true;
  const std::string code = code_of_atomic(attr, true, false);
  EXPECT_EQ(count(code, "\nlock "), 12u) << code; // Three for each gang: the last if all go to memory.
  attr.form = ir::AddressForm::Row;
  EXPECT_EQ(count(code_of_atomic(attr, false, true), "\nlock "), 2u);
}

/// The locked exchange is behind a comparison that leaves it out.
TEST(SelectMemory, CompareAndSwapTakesNoLockWhereItFindsAnotherValue) {
  MemAttr attr{.space = Space::Global, .bytes = 4, .atomic = AtomicOp::Cmpswap};
  attr.returns = true;
  const std::string code = code_of_atomic(attr, false, false);
  const std::regex behind("jne L\\d+\nL\\d+:\n; block \\d+\nmov eax, \\w+\nlock cmpxchg ");
  const auto first = std::sregex_iterator(code.begin(), code.end(), behind);
  EXPECT_EQ(static_cast<std::size_t>(std::distance(first, {})), count(code, "\nlock ")) << code;
}

/// Data that is the same in all lanes stays in a register, and so do results; where they would be in memory:
TEST(SelectMemory, AtomicsKeepWhatTheyCanInRegisters) {
  MemAttr attr{.space = Space::Global, .bytes = 4, .atomic = AtomicOp::Cmpswap};
  attr.returns = true;
  const std::string data = fmt::format("[rbx+{}]", runtime::kFrameSlots + kTempData);
  const std::string results = fmt::format("[rbx+{}]", runtime::kFrameSlots + kTempResults);
  const std::string same = code_of_atomic(attr, true, false), differs = code_of_atomic(attr, false, false);
  EXPECT_EQ(count(differs, data), count(same, data) + 4) << differs; // One for each gang.
  EXPECT_EQ(count(differs, results), 0u) << differs;
}

} // namespace lanewise::x86::test
