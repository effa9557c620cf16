// Accesses with scalar addresses (ir::AddressForm), where indices wrap and where the LDS ends.
#include "support/byte_stream.hpp"
#include "tests/select/harness.hpp"
#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>

namespace lanewise::x86::test {
namespace {

constexpr u64 kPage = 4096, kSpan = u64{4} << 32;
constexpr u64 kSomeLanes = 0x0ff0'1234'8000'00ff;

/// All that 32-bit indices of dwords reach, of which only the first and the last page can be touched.
class Dwords {
public:
  Dwords() {
    void* p = mmap(nullptr, kSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    memory_ = static_cast<u8*>(p);
    mprotect(memory_, kPage, PROT_READ | PROT_WRITE);
    mprotect(memory_ + kSpan - kPage, kPage, PROT_READ | PROT_WRITE);
  }
  ~Dwords() {
    if (memory_ != nullptr) munmap(memory_, kSpan);
  }
  Dwords(const Dwords&) = delete;
  Dwords& operator=(const Dwords&) = delete;
  [[nodiscard]] bool ok() const { return memory_ != nullptr; }
  [[nodiscard]] u64 base() const { return reinterpret_cast<u64>(memory_); }
  u32& operator[](u32 n) { return reinterpret_cast<u32*>(memory_)[n]; }

private:
  u8* memory_ = nullptr;
};

/// v2: the base, v5: a row of 64 dwords, v6: where to start, v9: the gang's first lane, v18: its part of v5.
std::string program(const std::string& body) {
  return R"(func "forms" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = init_sgpr #0x3
  v5:u64 = join v3, v4
  v6:u32 = init_sgpr #0x4
  v7:mask = init_exec
  v8:v32 = lane_id
  v9:g32 = gang_first v8
  v10:g32 = splat v6
  v14:g64 = zext v9
  v15:u32 = const #0x2
  v16:g64 = shl v14, v15
  v17:g64 = splat v5
  v18:g64 = add v16, v17
)" + body +
         "  endpgm\n}\n";
}

/// Runs the program with `start` in v6 and what `row` holds behind v5.
void run_program(const std::string& body, translator::Simd simd, u64 exec, u64 base, u32 start, u32* row,
                 std::vector<u8>* lds = nullptr) {
  auto f = ir::parse(program(body));
  ASSERT_TRUE(f.ok()) << f.error().message;
  auto valid = ir::verify(*f);
  ASSERT_TRUE(valid.ok()) << valid.error().message;
  RunInput input;
  input.exec = exec;
  if (lds != nullptr) input.lds = *lds;
  const u64 to = reinterpret_cast<u64>(row);
  input.sgprs = {static_cast<u32>(base), static_cast<u32>(base >> 32), static_cast<u32>(to),
                 static_cast<u32>(to >> 32), start};
  run(*f, trivial_plan(*f), simd, input);
  if (lds != nullptr) *lds = input.lds;
}

struct Form {
  const char* index;   ///< defines v12
  const char* address; ///< the access's address operands
  const char* words;   ///< its attributes
  i32 step;
  bool is_signed;
};
constexpr Form kForms[] = {
    {"v12:g32 = add v9, v10", "v2, v12", "wrapped 1 2", 1, false},
    {"v12:g32 = add v9, v10", "v2, v12", "wrapped 1 2 sindex", 1, true},
    {"v12:g32 = sub v10, v9", "v2, v12", "wrapped -1 2", -1, false},
    {"v12:g32 = sub v10, v9", "v2, v12", "wrapped -1 2 sindex", -1, true},
    {"v11:v32 = splat v6\n  v12:v32 = add v8, v11", "v2, v12", "indexed 2", 1, false},
    {"v11:v32 = splat v6\n  v12:v32 = add v8, v11", "v2, v12", "indexed 2 sindex", 1, true},
    {"v11:v32 = splat v6\n  v12:v32 = sub v11, v8", "v2, v12", "indexed 2 sindex", -1, true},
};

TEST(AddressForms, IndicesWrapBeforeTheyAreExtended) {
  Dwords memory;
  if (!memory.ok()) GTEST_SKIP() << "no 16 GiB of address space";
  for (const translator::Simd simd : widths())
    for (const Form& form : kForms)
      for (const u64 exec : {~u64{0}, kSomeLanes})
        for (const u32 offset : {0u, 1u, 15u, 30u, 63u, 64u, 100u}) {
          // Up: the lane after `offset` wraps. Down: likewise, from the lowest index on.
          const u32 low = form.is_signed ? 0x8000'0000u : 0;
          const u32 start = form.step > 0 ? low - 1 - offset : low + offset;
          const u64 base = memory.base() + (form.is_signed ? kSpan / 2 : 0);
          SCOPED_TRACE(fmt::format("{} from {:#x}, lanes {:#x}, AVX-512 {}", form.words, start, exec,
                                   simd == translator::Simd::Avx512));
          const auto place = [&](u32 lane) -> u32& {
            return memory[start + lane * static_cast<u32>(form.step) - low];
          };
          alignas(64) u32 row[64] = {};
          for (u32 l = 0; l < 64; ++l) place(l) = start * 77 + l;
          run_program(fmt::format("  {}\n  v13:v32 = load {}, v7 {{global 4 {}}}\n"
                                  "  store v18, v13, v7 {{global 4 row 4}}\n",
                                  form.index, form.address, form.words),
                      simd, exec, base, start, row);
          for (u32 l = 0; l < 64; ++l)
            EXPECT_EQ(row[l], (exec >> l & 1) != 0 ? start * 77 + l : 0u) << "lane " << l;
          for (u32 l = 0; l < 64; ++l) row[l] = l + 1000;
          run_program(fmt::format("  {}\n  v13:v32 = load v18, v7 {{global 4 row 4}}\n"
                                  "  store {}, v13, v7 {{global 4 {}}}\n",
                                  form.index, form.address, form.words),
                      simd, exec, base, start, row);
          for (u32 l = 0; l < 64; ++l)
            EXPECT_EQ(place(l), (exec >> l & 1) != 0 ? l + 1000 : start * 77 + l) << "lane " << l;
        }
}

/// Rows of a grid with 40 elements in each, behind v6.
constexpr const char* kGridRows =
    "  v20:v32 = init_vgpr\n  v21:v32 = init_vgpr #0x1\n"
    "  v22:g32 = gang_first v20\n  v23:g32 = gang_first v21\n"
    "  v24:g32 = const #0x28\n  v25:g32 = mul v23, v24\n"
    "  v26:g32 = add v22, v25\n  v27:g32 = add v26, v10\n"
    "  v28:v32 = load v2, v27, v7 {global 4 wrapped 1 2}\n"
    "  v29:v32 = mul v21, v21\n  v30:v32 = add v28, v29\n"
    "  store v2, v27, v30, v7 {global 4 wrapped 1 2}\n"
    "  v31:g64 = zext v26\n  v32:g64 = shl v31, v15\n  v33:g64 = add v32, v17\n"
    "  v34:v32 = const #0x3\n  v35:mask = icmp v34, v21 #0x4\n"
    "  v36:v32 = const #0x3c\n  v37:mask = icmp v36, v20 #0x4\n  v38:mask = and v37, v35\n"
    "  store v33, v30, v38 {global 4 row 4}\n";

ir::Function grid_rows(u32 row_length) {
  auto f = ir::parse(program(kGridRows));
  EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << kGridRows;
  f->launch.workgroup = {row_length, 64 / row_length, 1};
  f->launch.ragged = {false, false, false};
  return std::move(*f);
}

/// Rows that go on through some of the gangs side by side and wrap in one of them.
TEST(AddressForms, RowsThroughSeveralGangs) {
  Dwords memory;
  if (!memory.ok()) GTEST_SKIP() << "no 16 GiB of address space";
  for (const translator::Simd simd : widths())
    for (const u32 row_length : {16u, 32u, 64u})
      for (const u64 exec : {~u64{0}, kSomeLanes})
        for (const u32 offset : {0u, 1u, 8u, 15u, 16u, 31u, 32u, 47u, 48u, 63u, 64u, 100u, 200u}) {
          SCOPED_TRACE(fmt::format("rows of {}, offset {}, lanes {:#x}, AVX-512 {}", row_length, offset, exec,
                                   simd == translator::Simd::Avx512));
          ir::Function f = grid_rows(row_length);
          std::vector<u32> rows(200);
          const u32 start = ~offset;
          RunInput input;
          input.exec = exec;
          input.vgprs.resize(2);
          for (u32 l = 0; l < 64; ++l) {
            input.vgprs[0][l] = l % row_length;
            input.vgprs[1][l] = l / row_length;
          }
          const auto place = [&](u32 l) { return l / row_length * 40 + l % row_length; };
          for (u32 l = 0; l < 64; ++l) memory[start + place(l)] = l * 1000;
          const u64 to = reinterpret_cast<u64>(rows.data());
          input.sgprs = {static_cast<u32>(memory.base()), static_cast<u32>(memory.base() >> 32),
                         static_cast<u32>(to), static_cast<u32>(to >> 32), start};
          run(f, trivial_plan(f), simd, input);
          for (u32 l = 0; l < 64; ++l) {
            const bool active = (exec >> l & 1) != 0;
            const u32 y = l / row_length, result = l * 1000 + y * y;
            EXPECT_EQ(memory[start + place(l)], active ? result : l * 1000) << "lane " << l;
            EXPECT_EQ(rows[place(l)], y < 3 && l % row_length < 60 ? (active ? result : y * y) : 0)
                << "lane " << l;
          }
        }
}

/// Gangs with work-items of several rows, at addresses of 64 bits or from a base with indices that may wrap.
TEST(AddressForms, ShortRows) {
  constexpr std::string_view kStart = R"(func "short_rows" gfx900 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = init_sgpr #0x3
  v5:u64 = join v3, v4
  v7:mask = init_exec
  v8:v32 = init_vgpr #0x1
)";
  constexpr std::string_view kWide = R"(  v9:v64 = zext v8
  v10:v64 = splat v2
  v11:v64 = add v9, v10
  v12:v64 = splat v5
  v13:v64 = add v9, v12
)";
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes, ~u64{0} << 24})
      for (const bool wide : {false, true})
        for (const u32 bytes : {4u, 8u, 16u})
          for (const u32 row : {8u, 4u})
            for (const u32 odd_lane : {64u, 0u, 5u, 8u, 30u}) {
              SCOPED_TRACE(fmt::format("{} bytes in rows of {}, wide {}, lanes {:#x}, one off {}, AVX-512 {}",
                                       bytes, row, wide, exec, odd_lane, simd == translator::Simd::Avx512));
              const std::string form = wide ? "" : " indexed 0";
              const std::string_view from = wide ? "v11" : "v2, v8", to = wide ? "v13" : "v5, v8";
              std::string values = "v20:v32", data = "v20";
              for (u32 d = 1; d < bytes / 4; ++d) {
                values += fmt::format(", v{}:v32", 20 + d);
                data += fmt::format(", v{}", 20 + d);
              }
              auto f = ir::parse(std::string(kStart) + std::string(wide ? kWide : "") +
                                 fmt::format("  {} = load {}, v7 #0x4 {{global {}{}}}\n"
                                             "  store {}, {}, v7 #0x4 {{global {}{}}}\n  endpgm\n}}\n",
                                             values, from, bytes, form, to, data, bytes, form));
              ASSERT_TRUE(f.ok() && ir::verify(*f).ok());
              f->launch.workgroup = {row, 64 / row, 1};
              f->launch.ragged = {false, false, false};
              std::vector<u8> source(4096), result(4096), expected(4096);
              for (u32 n = 0; n < source.size(); ++n) source[n] = static_cast<u8>(n * 37 + n / 256);
              RunInput input;
              input.exec = exec;
              input.pass(source.data());
              input.pass(result.data());
              input.vgprs.resize(2);
              for (u32 l = 0; l < 64; ++l) {
                const u32 at = l / row * 240 + l % row * bytes + (l == odd_lane ? 96 : 0);
                input.vgprs[1][l] = at; // Along x there are ids.
                if ((exec >> l & 1) != 0) std::copy_n(&source[at + 4], bytes, &expected[at + 4]);
              }
              run(*f, trivial_plan(*f), simd, input);
              EXPECT_EQ(result, expected);
            }
}

/// Elements so far apart that no gather multiplies their indices: of a whole gang by rows, else by addresses
/// that are made of the indices.
TEST(AddressForms, ShortRowsOfLargeElements) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes, ~u64{0} << 24})
      for (const bool sign : {false, true})
        for (const u32 scale : {4u, 5u})
          for (const u32 bytes : {1u, 4u, 8u, 12u, 16u})
            for (const u32 row : {8u, 4u}) {
              SCOPED_TRACE(fmt::format("{} bytes of 2^{} in rows of {}, sign {}, lanes {:#x}, AVX-512 {}",
                                       bytes, scale, row, sign, exec, simd == translator::Simd::Avx512));
              std::string values = "v20:v32", data = "v20";
              for (u32 d = 1; d < bytes / 4; ++d) {
                values += fmt::format(", v{}:v32", 20 + d);
                data += fmt::format(", v{}", 20 + d);
              }
              const std::string attributes = fmt::format("{{global {} indexed {}{} short {} 1}}", bytes,
                                                         scale, sign ? " sindex" : "", row);
              auto f = ir::parse(
                  program(fmt::format("  v19:v32 = init_vgpr #0x1\n  {} = load v2, v19, v7 #0x4 {}\n"
                                      "  store v5, v19, {}, v7 #0x4 {}\n",
                                      values, attributes, data, attributes)));
              ASSERT_TRUE(f.ok() && ir::verify(*f).ok());
              f->launch.workgroup = {row, 64 / row, 1};
              f->launch.ragged = {};
              std::vector<u8> source(8192), result(8192), expected(8192);
              for (u32 n = 0; n < source.size(); ++n) source[n] = static_cast<u8>(n * 37 + n / 256);
              const i32 middle = sign ? 64 : 0; // of the indices
              RunInput input;
              input.exec = exec;
              input.pass(source.data() + (middle << scale));
              input.pass(result.data() + (middle << scale));
              input.vgprs.resize(2);
              for (u32 l = 0; l < 64; ++l) {
                const u32 n = l / row * (row + 3) + l % row, at = n << scale;
                input.vgprs[1][l] = n - static_cast<u32>(middle);
                if ((exec >> l & 1) != 0) std::copy_n(&source[at + 4], bytes, &expected[at + 4]);
              }
              run(*f, trivial_plan(*f), simd, input);
              EXPECT_EQ(result, expected);
            }
}

/// The first lanes' results, or all dwords of them, in rows of 64 from v5 on, of an access to v2 + lane *
/// stride
/// + 200 for each row of 8 or 4 work-items.
struct KnownShortRows {
  u32 lanes; ///< of a row
  u32 bytes;
  i32 stride;
  bool wide; ///< addresses of 64 bits
};

void for_known_short_rows(const auto& body) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes, ~u64{0} << 24, u64{0}})
      for (const bool wide : {false, true})
        for (const u32 bytes : {1u, 2u, 4u, 8u, 12u, 16u})
          for (const i32 stride : {0, 1, 2, 4, 8, 12, 16, 24, -4})
            for (const u32 lanes : {8u, 4u}) {
              SCOPED_TRACE(fmt::format("{} bytes at distance {} in {}, wide {}, lanes {:#x}, AVX-512 {}",
                                       bytes, stride, lanes, wide, exec, simd == translator::Simd::Avx512));
              body(simd, exec, KnownShortRows{lanes, bytes, stride, wide});
            }
}

/// Runs `access`, where {0} are the address operands and {1} the attributes; v8 has the offsets.
void run_known_short_rows(translator::Simd simd, u64 exec, const KnownShortRows& h, const std::string& access,
                          std::span<u8> memory, std::span<u32> rows) {
  std::string text = program(
      "  v20:v32 = init_vgpr #0x1\n  v21:v64 = zext v20\n  v22:v64 = splat v2\n  v23:v64 = add v21, v22\n" +
      access);
  auto f = ir::parse(text);
  ASSERT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
  f->launch.workgroup = {8, 8, 1};
  f->launch.ragged = {};
  RunInput input;
  input.exec = exec;
  input.pass(memory.data());
  input.pass(rows.data());
  input.vgprs.resize(2);
  for (u32 l = 0; l < 64; ++l)
    input.vgprs[1][l] = l / h.lanes * 200 + static_cast<u32>(static_cast<i32>(l % h.lanes) * h.stride + 40);
  run(*f, trivial_plan(*f), simd, input);
}

std::string short_row_attributes(const KnownShortRows& h) {
  return fmt::format("{{global {}{} short {} {}}}", h.bytes, h.wide ? "" : " indexed 0 sindex", h.lanes,
                     h.stride);
}

TEST(AddressForms, KnownShortRowsAreLoaded) {
  for_known_short_rows([](translator::Simd simd, u64 exec, const KnownShortRows& h) {
    std::vector<u8> memory(4096);
    for (u32 n = 0; n < memory.size(); ++n) memory[n] = static_cast<u8>(n * 37 + n / 256);
    const u32 dwords = (h.bytes + 3) / 4;
    std::string results = "v30:v32", stores;
    for (u32 d = 0; d < dwords; ++d) {
      if (d != 0) results += fmt::format(", v{}:v32", 30 + d);
      stores += fmt::format("  store v18, v{}, v7 #{:#x} {{global 4 row 4}}\n", 30 + d, 256 * d);
    }
    alignas(64) std::array<u32, 256> rows{};
    run_known_short_rows(simd, exec, h,
                         fmt::format("  {} = load {}, v7 #0x4 {}\n", results, h.wide ? "v23" : "v2, v20",
                                     short_row_attributes(h)) +
                             stores,
                         memory, rows);
    for (u32 l = 0; l < 64; ++l)
      for (u32 d = 0; d < dwords; ++d) {
        const i32 at =
            static_cast<i32>(l / h.lanes * 200 + 44 + 4 * d) + static_cast<i32>(l % h.lanes) * h.stride;
        u32 value = 0;
        for (u32 b = 0; b < std::min(4u, h.bytes); ++b)
          value |= u32{memory[static_cast<u32>(at) + b]} << (8 * b);
        EXPECT_EQ(rows[64 * d + l], (exec >> l & 1) != 0 ? value : 0u) << "lane " << l << ", dword " << d;
      }
  });
}

TEST(AddressForms, KnownShortRowsAreStored) {
  for_known_short_rows([](translator::Simd simd, u64 exec, const KnownShortRows& h) {
    std::vector<u8> memory(4096), expected(4096);
    std::string data, values;
    for (u32 d = 0; d < (h.bytes + 3) / 4; ++d) {
      values += fmt::format("  v{}:u32 = const #{:#x}\n  v{}:v32 = splat v{}\n  v{}:v32 = mul v8, v{}\n",
                            30 + 3 * d, 0x01234567 * (d + 1), 31 + 3 * d, 30 + 3 * d, 32 + 3 * d, 31 + 3 * d);
      data += fmt::format("v{}, ", 32 + 3 * d);
    }
    for (u32 l = 0; l < 64; ++l)
      for (u32 b = 0; b < h.bytes && (exec >> l & 1) != 0; ++b) {
        const i32 at =
            static_cast<i32>(l / h.lanes * 200 + 44 + b) + static_cast<i32>(l % h.lanes) * h.stride;
        expected[static_cast<u32>(at)] = static_cast<u8>(l * (0x01234567 * (b / 4 + 1)) >> (b % 4 * 8));
      }
    alignas(64) std::array<u32, 256> rows{};
    run_known_short_rows(simd, exec, h,
                         values + fmt::format("  store {}, {}v7 #0x4 {}\n", h.wide ? "v23" : "v2, v20", data,
                                              short_row_attributes(h)),
                         memory, rows);
    EXPECT_EQ(memory, expected);
  });
}

u32 count(std::string_view text, std::string_view what) {
  u32 n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(AddressForms, KnownShortRowsInTheLdsAreStored) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes, ~u64{0} << 24, u64{0x5555'0f0f'1248'ffff}, u64{0}})
      for (const u32 bytes : {1u, 2u, 4u, 8u, 16u})
        for (const u32 lanes : {8u, 4u}) {
          SCOPED_TRACE(fmt::format("{} bytes in {}, lanes {:#x}, AVX-512 {}", bytes, lanes, exec,
                                   simd == translator::Simd::Avx512));
          std::vector<u8> lds(4096);
          for (u32 n = 0; n < lds.size(); ++n) lds[n] = static_cast<u8>(n * 7 + n / 256);
          std::vector<u8> expected = lds;
          const auto place = [&](u32 l) { return l / lanes * 200 + l % lanes * bytes + 40; };
          for (u32 l = 0; l < 64; ++l)
            for (u32 b = 0; b < bytes && (exec >> l & 1) != 0; ++b)
              expected[place(l) + 4 + b] = static_cast<u8>(l * 0x01234567 >> (b % 4 * 8));
          std::string data = "v32";
          for (u32 d = 1; d < (bytes + 3) / 4; ++d) data += ", v32";
          auto f = ir::parse(program(fmt::format(
              "  v20:v32 = init_vgpr #0x1\n  v30:u32 = const #0x1234567\n  v31:v32 = splat v30\n"
              "  v32:v32 = mul v8, v31\n  store v20, {}, v7 #0x4 {{lds {} short {} {} in_range}}\n",
              data, bytes, lanes, bytes)));
          ASSERT_TRUE(f.ok() && ir::verify(*f).ok());
          RunInput input;
          input.exec = exec;
          input.lds = lds;
          input.vgprs.resize(2);
          for (u32 l = 0; l < 64; ++l) input.vgprs[1][l] = place(l);
          run(*f, trivial_plan(*f), simd, input);
          EXPECT_EQ(input.lds, expected);
        }
}

/// Gangs in one row share its address, the test whether it wraps, and what only depends on y; gangs below one
/// another what only depends on x.
TEST(AddressForms, RowsThroughSeveralGangsAreAddressedOnce) {
  for (const u32 row_length : {16u, 32u, 64u}) {
    ir::Function f = grid_rows(row_length);
    phases::Plan plan = trivial_plan(f);
    for (phases::Phase& phase : plan.phases) phase.interleave = 4;
    auto code = compile(f, plan, {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
    ASSERT_TRUE(code.ok()) << code.error().message;
    const u32 rows = 64 / row_length;
    EXPECT_EQ(count(code->listing, "imul "), rows) << code->listing;
    EXPECT_EQ(count(code->listing, "vpmulld "), rows) << code->listing;
    EXPECT_EQ(count(code->listing, "\nja "), 2 * rows) << code->listing;
    // Of two, one is made once, and the other one, in each gang, into its mask.
    EXPECT_EQ(count(code->listing, "vpcmpud "), 4 + (row_length == 16 ? 1 : rows)) << code->listing;
  }
}

/// Lines fetched into the second-level cache: the first one would drop them again.
u32 count_fetches(ir::Function& f, unsigned interleave, translator::Simd simd) {
  phases::Plan plan = trivial_plan(f);
  for (phases::Phase& phase : plan.phases) phase.interleave = interleave;
  auto code = compile(f, plan, {.simd = simd, .verify = true, .listing = true});
  EXPECT_TRUE(code.ok());
  const std::string listing = code.ok() ? code->listing : "";
  return count(listing, "prefetcht1 ");
}

/// Large launches of workgroups with several rows fetch ahead what the next workgroup's rows begin with, a
/// line at a time, if it is known where along x these are. What is loaded is not fetched again where it is
/// stored to.
TEST(AddressForms, RowsThatWorkgroupsComeToAreFetchedAhead) {
  const auto fetches = [](u32 row_length, u64 items, u32 width, translator::Simd simd, u32 last = ~0u) {
    std::string text = program(kGridRows);
    // s5: the workgroup's id along x.
    const std::string_view add = "v26:g32 = add v22, v25";
    text.replace(text.find(add), add.size(),
                 fmt::format("v39:u32 = init_sgpr #0x5\n  v40:u32 = const #{:#x}\n  v41:u32 = mul v39, v40\n"
                             "  v42:g32 = splat v41\n  v43:g32 = add v42, v25\n  v26:g32 = add v22, v43",
                             width));
    auto f = ir::parse(text);
    EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
    f->launch.workgroup = {row_length, 64 / row_length, 1};
    f->launch.ragged = {false, false, false};
    f->launch.group_id_sgpr[0] = 5;
    f->launch.sgpr_max.assign(6, ~0u);
    f->launch.sgpr_max[5] = last;
    f->launch.min_items = items;
    return count_fetches(*f, 4, simd);
  };
  constexpr u64 kLarge = 1 << 21, kSmall = 1 << 19;
  EXPECT_EQ(fetches(32, kLarge, 32, translator::Simd::Avx512), 8u);
  EXPECT_EQ(fetches(16, kLarge, 16, translator::Simd::Avx512), 8u);
  EXPECT_EQ(fetches(32, kLarge, 32, translator::Simd::Avx2), 4u) << "a line is two gangs";
  EXPECT_EQ(fetches(32, kSmall, 32, translator::Simd::Avx512), 0u) << "this stays in the caches";
  EXPECT_EQ(fetches(64, kLarge, 64, translator::Simd::Avx512), 0u) << "the hardware sees one row";
  EXPECT_EQ(fetches(32, kLarge, 4000, translator::Simd::Avx512), 8u) << "in other rows";
  EXPECT_EQ(fetches(32, kLarge, 4000, translator::Simd::Avx512, 2), 0u) << "mostly, none is next along x";
  EXPECT_EQ(fetches(32, kLarge, 8, translator::Simd::Avx512), 0u) << "the same lines";
  EXPECT_EQ(fetches(32, kLarge, 0, translator::Simd::Avx512), 0u) << "the same rows";
}

/// So they do where half a gang is a row.
TEST(AddressForms, RowsOfHalfAGangThatWorkgroupsComeToAreFetchedAhead) {
  const auto fetches = [](u32 width, std::string_view access) {
    const std::string text =
        program(fmt::format("  v20:v32 = init_vgpr\n  v21:v32 = init_vgpr #0x1\n  v22:v32 = const #0x1000\n"
                            "  v23:v32 = mul v21, v22\n  v24:v32 = add v20, v23\n  v25:u32 = init_sgpr #0x5\n"
                            "  v26:u32 = const #{:#x}\n  v27:u32 = mul v25, v26\n  v28:v32 = splat v27\n"
                            "  v29:v32 = add v24, v28\n{}",
                            width, access));
    auto f = ir::parse(text);
    EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
    f->launch.workgroup = {8, 8, 1};
    f->launch.ragged = {false, false, false};
    f->launch.group_id_sgpr[0] = 5;
    f->launch.min_items = 1 << 21;
    return count_fetches(*f, 1, translator::Simd::Avx512);
  };
  constexpr std::string_view kLoad = "  v30:v32 = load v2, v29, v7 {global 4 indexed 2 short 8 1}\n";
  constexpr std::string_view kStore = "  store v2, v29, v8, v7 {global 4 indexed 2 short 8 1}\n";
  EXPECT_EQ(fetches(8, kLoad), 2u);
  EXPECT_EQ(fetches(8, kStore), 2u);
  EXPECT_EQ(fetches(4000, kStore), 2u) << "in other rows";
  EXPECT_EQ(fetches(4, kStore), 0u) << "the same lines";
}

/// Code for workgroups of 64 work-items in rows of `width`, of which v23 is each one's place by x; `full`:
/// all lanes of v7 are there.
std::string listing_of_short_rows(std::string_view access, bool full, u32 width) {
  std::string text = program(fmt::format("  v20:v32 = init_vgpr\n  v21:v64 = zext v20\n  v22:v64 = splat v2\n"
                                         "  v23:v64 = add v21, v22\n{}",
                                         access));
  if (full) text.replace(text.find("init_exec"), 9, "const #0xffffffffffffffff");
  auto f = ir::parse(text);
  EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
  f->launch.workgroup = {width, 64 / width, 1};
  f->launch.ragged = {};
  auto code =
      compile(*f, trivial_plan(*f), {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
  EXPECT_TRUE(code.ok());
  return code.ok() ? code->listing : "";
}

/// From beyond the caches, what is masked takes longer also if no lane is missing: so that is asked, of rows
/// of half a gang as well, but of bytes outside loops, which are mostly several, only where they are stored.
/// Where some of a short row take none, it is asked whether any does. No mask is used where all are known to
/// take part.
TEST(AddressForms, WholeGangsAccessMemoryWithoutMasks) {
  const auto masked = [](std::string_view access, bool full) {
    const std::string listing = listing_of_short_rows(access, full, 8);
    return std::pair{count(listing, "{k"), count(listing, "kortestw")};
  };
  struct Case {
    std::string_view access;
    u32 asked;
  };
  for (const auto& [access, asked] : {
           Case{"  v30:v32 = load v18, v7 {global 1 row 1}\n  store v18, v30, v7 {global 4 row 4}\n", 1},
           Case{"  v30:v32 = load v18, v7 {global 2 row 2}\n  store v18, v30, v7 {global 1 row 1}\n", 1},
           Case{"  v30:v32 = load v23, v7 {global 4 short 8 4}\n  store v23, v30, v7 {global 4 short 8 4}\n",
                4},
           Case{"  v30:v32 = load v23, v7 {global 1 short 8 1}\n  store v23, v30, v7 {global 2 short 8 2}\n",
                4},
       }) {
    SCOPED_TRACE(access);
    EXPECT_EQ(masked(access, true), (std::pair{0u, 0u}));
    EXPECT_EQ(masked(access, false).second, asked);
  }
}

/// Of short rows those without a lane go elsewhere, since where they would go may be no memory: each of four
/// addresses, whether they are known to be rows or found to be, but where all lanes take part.
TEST(AddressForms, ShortRowsWithoutLanesGoElsewhere) {
  const auto moved = [](std::string_view access, bool full) {
    return count(listing_of_short_rows(access, full, 4), "cmov");
  };
  for (const std::string_view access :
       {"  v30:v32 = load v23, v7 {global 4 short 4 4}\n", "  store v23, v20, v7 {global 4 short 4 4}\n",
        "  v30:v32 = load v23, v7 {global 4}\n", "  store v23, v20, v7 {global 4}\n"}) {
    SCOPED_TRACE(access);
    EXPECT_EQ(moved(access, false), 4U);
    EXPECT_EQ(moved(access, true), 0U);
  }
}

/// Of records that are lines of their own each line is fetched once, whichever parts are loaded.
TEST(AddressForms, RecordsAreFetchedOnce) {
  std::string text =
      program("  v30:v32, v31:v32, v32:v32, v33:v32 = load v18, v7 #0x40 {global 16 row 128 wave}\n"
              "  v34:v32, v35:v32, v36:v32, v37:v32 = load v18, v7 {global 16 row 128 wave}\n");
  auto f = ir::parse(text);
  ASSERT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
  EXPECT_EQ(count_fetches(*f, 1, translator::Simd::Avx512), 16u * 128 / 64);
}

/// Where lanes go along short rows of their own, the rows of the next gangs are fetched, a line of each lane
/// once.
TEST(AddressForms, RowsThatLanesGoAlongAreFetchedForTheNextGangs) {
  const auto fetches = [](std::string_view accesses) {
    const std::string text = fmt::format(R"(func "rows" gfx906 {{
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:g64 = splat v2
  v4:mask = const #0xffffffffffffffff
  v5:g64 = const #0x40
  v6:u32 = const #0x1
  v7:v32 = const #0x1
  jump -> b1(v3, v6)
b1(v20:g64, v21:u32):
{}  v30:g64 = add v20, v5
  v31:u32 = add v21, v6
  v32:u1 = icmp v31, v0
  branch v32 -> b2, b1(v30, v31)
b2:
  endpgm
}}
)",
                                         accesses);
    auto f = ir::parse(text);
    EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
    return count_fetches(*f, 2, translator::Simd::Avx2);
  };
  constexpr u32 kOneLine = 16, kTwoLines = 32; // for each of two gangs' lanes
  const std::string load = "  v22:v32, v23:v32, v24:v32, v25:v32 = load ";
  const std::string store = "  store v20, v7, v7, v7, v7, v4 #0x10 ";
  EXPECT_EQ(fetches(load + "v20, v4 {global 16 row 640 wave}\n"), kOneLine);
  EXPECT_EQ(fetches(load + "v20, v4 {global 16 row 640 wave}\n" + store + "{global 16 row 640 wave}\n"),
            kOneLine)
      << "one line";
  EXPECT_EQ(fetches(store + "{global 16 row 640 wave}\n"), kOneLine);
  const std::string further =
      "  v26:v32, v27:v32, v28:v32, v29:v32 = load v20, v4 #0x30 {global 16 row 640 wave}\n"
      "  v40:v32, v41:v32, v42:v32, v43:v32 = load v20, v4 #0x60 {global 16 row 640 wave}\n";
  EXPECT_EQ(fetches(load + "v20, v4 {global 16 row 640 wave}\n" + further), kTwoLines);
  EXPECT_EQ(fetches(load + "v20, v4 {global 16 row 16 wave}\n"), 0u) << "one row";
  EXPECT_EQ(fetches(load + "v20, v4 {global 16 row 640}\n"), 0u) << "the next gang is elsewhere";
  EXPECT_EQ(fetches(load + "v20, v4 {global 16 row 8192 wave}\n"), kOneLine);
  EXPECT_EQ(fetches(load + "v20, v4 {global 16 row 16384 wave}\n"), 0u) << "long enough for the hardware";
  EXPECT_EQ(fetches(load + "v3, v4 {global 16 row 640 wave}\n"), 0u) << "in each round the same";
}

/// A row of `bytes` per lane, `stride` apart, `start` bytes into an LDS of 512 bytes.
TEST(AddressForms, RowsInTheLdsEndWithIt) {
  std::vector<u8> lds(512);
  for (u32 n = 0; n < lds.size(); ++n) lds[n] = static_cast<u8>(n * 7 + n / 256);
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const u32 stride : {0u, 4u, 8u, 16u})
        for (const u32 start : {0u, 12u, 256u, 260u, 508u, 509u, 512u, 1000u, 0x10'0000u, 0x8000'0000u,
                                0xfff0'0000u, 0xffff'ff40u, 0xffff'fff0u}) {
          SCOPED_TRACE(fmt::format("stride {} from {:#x}, lanes {:#x}, AVX-512 {}", stride, start, exec,
                                   simd == translator::Simd::Avx512));
          alignas(64) u32 row[64];
          std::fill(std::begin(row), std::end(row), 1u);
          run_program(fmt::format("  v11:u32 = const #{:#x}\n  v12:g32 = splat v11\n  v13:g32 = mul v9, v12\n"
                                  "  v19:g32 = add v13, v10\n  v20:v32 = load v19, v7 {{lds 4 row {}}}\n"
                                  "  store v18, v20, v7 {{global 4 row 4}}\n",
                                  stride, stride),
                      simd, exec, 0, start, row, &lds);
          for (u32 l = 0; l < 64; ++l) {
            const u32 at = start + l * stride;
            const u32 value = at <= lds.size() - 4 ? load_le<u32>(lds.data() + at) : 0;
            EXPECT_EQ(row[l], (exec >> l & 1) != 0 ? value : 1u) << "lane " << l;
          }
        }
}

/// Where those that take part are inside, lanes in front of the LDS and behind it need no test, and no
/// gather.
TEST(AddressForms, RowsInTheLdsOfWhichTheLanesThatTakePartAreInside) {
  std::vector<u8> lds(256);
  for (u32 n = 0; n < lds.size(); ++n) lds[n] = static_cast<u8>(n * 7);
  struct Case {
    u32 start;
    u64 exec;
  };
  for (const translator::Simd simd : widths())
    for (const auto [start, exec] :
         {Case{128, ~u64{0} >> 32}, {0xffff'fff0, ~u64{0xf}}, {0xffff'ff80, 1ull << 40}})
      for (const u32 offset : {0u, 16u}) {
        SCOPED_TRACE(fmt::format("from {:#x}, AVX-512 {}", start, simd == translator::Simd::Avx512));
        const std::string body =
            fmt::format("  v11:u32 = const #0x4\n  v12:g32 = splat v11\n  v13:g32 = mul v9, v12\n"
                        "  v19:g32 = add v13, v10\n"
                        "  v20:v32 = load v19, v7 #{:#x} {{lds 4 row 4 wave masked_in_range}}\n"
                        "  store v18, v20, v7 {{global 4 row 4}}\n",
                        offset);
        alignas(64) u32 row[64] = {};
        run_program(body, simd, exec, 0, start - offset, row, &lds);
        for (u32 l = 0; l < 64; ++l) {
          const u32 at = start + l * 4;
          EXPECT_EQ(row[l], (exec >> l & 1) != 0 ? load_le<u32>(lds.data() + at) : 0u) << "lane " << l;
        }
        auto f = ir::parse(program(body));
        ASSERT_TRUE(f.ok());
        auto code = compile(*f, trivial_plan(*f), {.simd = simd, .listing = true});
        ASSERT_TRUE(code.ok()) << code.error().message;
        EXPECT_EQ(count(code->listing, "gather"), 0u) << code->listing;
      }
}

/// Where only the first lanes of each gang may take part, registers of as many are loaded, and all of a row
/// is stored with what was there. Elements apart from each other are accessed one by one; the last ones are
/// behind the LDS.
TEST(AddressForms, RowsInTheLdsOfFirstLanes) {
  struct Case {
    u32 bytes, stride;
  };
  for (const translator::Simd simd : widths())
    for (const u32 first : {1u, 2u, 4u, 8u})
      for (const auto [bytes, stride] : {Case{4, 4}, {8, 8}, {4, 8}, {4, 32}, {4, 128}})
        for (const u64 some : {~u64{0}, kSomeLanes, u64{0x55}}) {
          const u32 lanes = translator::gang_lanes(simd);
          if (first > (stride == bytes ? lanes / 2 : 4)) continue;
          SCOPED_TRACE(fmt::format("{} lanes of {} bytes, {} apart, {:#x}, AVX-512 {}", first, bytes, stride,
                                   some, simd == translator::Simd::Avx512));
          u64 exec = 0;
          for (u32 l = 0; l < 64; ++l)
            if (l % lanes < first) exec |= u64{1} << l & some;
          std::vector<u8> lds(2048);
          for (u32 n = 0; n < lds.size(); ++n) lds[n] = static_cast<u8>(n * 7 + n / 256);
          std::vector<u8> expected = lds;
          alignas(64) u32 row[64] = {};
          const std::string body =
              fmt::format("  v11:u32 = const #{0:#x}\n  v12:g32 = splat v11\n  v13:g32 = mul v9, v12\n"
                          "  v19:g32 = add v13, v10\n"
                          "  v20:{2} = load v19, v7 #0x20 {{lds {1} row {0} first_lanes {3}}}\n"
                          "  v21:{2} = add v20, v20\n"
                          "  store v19, v21, v7 #0x20 {{lds {1} row {0} first_lanes {3}}}\n",
                          stride, bytes, bytes == 8 ? "v64" : "v32", first);
          run_program(body, simd, exec, 0, 4, row, &lds);
          for (u32 l = 0; l < 64; ++l) {
            const u64 at = 4 + 0x20 + u64{l} * stride;
            if ((exec >> l & 1) == 0 || at + bytes > lds.size()) continue;
            u64 value = 0;
            std::memcpy(&value, expected.data() + at, bytes);
            value *= 2;
            std::memcpy(expected.data() + at, &value, bytes);
          }
          EXPECT_EQ(lds, expected);
        }
}

TEST(AddressForms, StoresOfRowsInTheLdsEndWithIt) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes, kSomeLanes | u64{0xff} << 56})
      for (const u32 bytes : {1u, 2u, 4u, 8u})
        for (const u32 offset : {0u, 16u})
          for (const u32 from_end : {0u, 1u, 4u, 12u, 28u, 60u, 64u, 260u, 0x8000'0000u, 0xffff'fff0u}) {
            SCOPED_TRACE(fmt::format("{} bytes, offset {}, {:#x} from the end, lanes {:#x}, AVX-512 {}",
                                     bytes, offset, from_end, exec, simd == translator::Simd::Avx512));
            std::vector<u8> lds(500);
            for (u32 n = 0; n < lds.size(); ++n) lds[n] = static_cast<u8>(n * 7 + n / 256);
            std::vector<u8> expected = lds;
            const u32 start = static_cast<u32>(lds.size()) - from_end;
            alignas(64) u32 row[64] = {};
            run_program(
                fmt::format("  v11:u32 = const #{0:#x}\n  v12:g32 = splat v11\n  v13:g32 = mul v9, v12\n"
                            "  v19:g32 = add v13, v10\n"
                            "  store v19, {1}, v7 #{2:#x} {{lds {0} row {0}}}\n",
                            bytes, bytes == 8 ? "v8, v8" : "v8", offset),
                simd, exec, 0, start, row, &lds);
            for (u32 l = 0; l < 64; ++l)
              for (u32 at = start + l * bytes + offset, b = 0; b < bytes; ++b)
                if ((exec >> l & 1) != 0 && at + u64{bytes} <= expected.size())
                  expected[at + b] = b % 4 == 0 ? static_cast<u8>(l) : 0;
            EXPECT_EQ(lds, expected);
          }
}

/// A page of numbers with nothing around it.
class LastPage {
public:
  LastPage() : memory_(mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    mprotect(data(), kPage, PROT_READ | PROT_WRITE);
    for (u32 n = 0; n < kPage; ++n) data()[n] = number(n);
  }
  ~LastPage() { munmap(memory_, 3 * kPage); }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;
  static u8 number(u64 n) { return static_cast<u8>(n * 29 + n / 256 + 100); }
  [[nodiscard]] u8* data() const { return static_cast<u8*>(memory_) + kPage; }

private:
  void* memory_;
};

/// An address `stride` further on in each lane, from `start` on.
std::string row_of(u32 stride) {
  return fmt::format("  v11:u32 = const #{:#x}\n  v12:g32 = splat v11\n"
                     "  v13:g32 = mul v9, v12\n  v19:g32 = add v13, v10\n  v20:g64 = zext v19\n"
                     "  v21:g64 = splat v2\n  v22:g64 = add v20, v21\n",
                     stride);
}

template <class Body>
void for_narrow_rows(Body body) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const u32 stride : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 12u, 15u, 16u, 28u})
        for (const u32 bytes : {1u, 2u, 4u})
          for (const u32 from_end : {100u, 101u, 102u, 103u, 165u, 0u, 4096u}) { // Or all of it fits just so.
            const u32 length = 63 * stride + bytes, room = static_cast<u32>(kPage) - length;
            const u32 start = room - std::min(from_end, room);
            SCOPED_TRACE(fmt::format("{} bytes, stride {} from {}, lanes {:#x}, AVX-512 {}", bytes, stride,
                                     start, exec, simd == translator::Simd::Avx512));
            body(simd, exec, stride, bytes, start);
          }
}

/// Bytes, half-words and dwords at any distance, wherever they begin in their dwords.
TEST(AddressForms, NarrowElementsInRows) {
  const LastPage memory;
  for_narrow_rows([&](translator::Simd simd, u64 exec, u32 stride, u32 bytes, u32 start) {
    for (const bool sign : {false, true}) {
      if (sign && bytes == 4) continue;
      alignas(64) u32 row[64] = {};
      run_program(row_of(stride) + fmt::format("  v23:v32 = load v22, v7 #0x2 {{global {}{} row {}}}\n"
                                               "  store v18, v23, v7 {{global 4 row 4}}\n",
                                               bytes, sign ? " sext" : "", stride),
                  simd, exec, reinterpret_cast<u64>(memory.data()) - 2, start, row);
      for (u32 l = 0; l < 64; ++l) {
        const u8* at = memory.data() + start + std::size_t{l} * stride;
        const u32 value = bytes == 1 ? *at : bytes == 2 ? load_le<u16>(at) : load_le<u32>(at);
        const u32 extended = sign ? static_cast<u32>(sign_extend(value, 8 * bytes)) : value;
        EXPECT_EQ(row[l], (exec >> l & 1) != 0 ? extended : 0u) << "lane " << l;
      }
    }
  });
}

TEST(AddressForms, StoresOfNarrowElementsInRows) {
  for_narrow_rows([&](translator::Simd simd, u64 exec, u32 stride, u32 bytes, u32 start) {
    const LastPage memory;
    alignas(64) u32 row[64] = {};
    for (u32 l = 0; l < 64; ++l) row[l] = 0xabc0'1000 + l * 3;
    run_program(row_of(stride) + fmt::format("  v23:v32 = load v18, v7 {{global 4 row 4}}\n"
                                             "  store v22, v23, v7 #0x2 {{global {} row {}}}\n",
                                             bytes, stride),
                simd, exec, reinterpret_cast<u64>(memory.data()) - 2, start, row);
    std::vector<u8> expected(kPage);
    for (u32 n = 0; n < kPage; ++n) expected[n] = LastPage::number(n);
    for (u32 l = 0; l < 64; ++l)
      for (u32 n = 0; n < bytes && (exec >> l & 1) != 0; ++n)
        expected[start + std::size_t{l} * stride + n] = static_cast<u8>(row[l] >> (8 * n));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.data()));
  });
}

struct Component {
  u32 at, bytes;
  bool wide = false; ///< of 64-bit values
};

/// The program that stores, at a row from v22 on, the lanes' numbers in v23 times 1, 2, 3.. in these,
/// followed by the numbers themselves, and what then lies in `memory`.
std::string stores_of(std::span<const Component> components, const std::string& place,
                      const std::string& form, const std::string& mask, u64 exec, u32 start, u32 stride,
                      const u32* row, std::span<u8> memory) {
  std::string data, stores;
  for (u32 n = 0; n < components.size(); ++n) {
    const auto [at, bytes, wide] = components[n];
    data += fmt::format("  v{}:u32 = const #{:#x}\n  v{}:v32 = splat v{}\n  v{}:v32 = mul v23, v{}\n",
                        30 + 3 * n, n + 1, 31 + 3 * n, 30 + 3 * n, 32 + 3 * n, 31 + 3 * n);
    std::string values = fmt::format("v{}", 32 + 3 * n);
    for (u32 b = 4; b < bytes; b += 4) values += ", v23";
    if (wide) {
      data += fmt::format("  v{}:v64 = join v{}, v23\n  v{}:v64 = join v23, v23\n", 100 + 2 * n, 32 + 3 * n,
                          101 + 2 * n);
      values = fmt::format("v{}", 100 + 2 * n);
      if (bytes == 16) values += fmt::format(", v{}", 101 + 2 * n);
    }
    stores +=
        fmt::format("  store {}, {}, {} #{:#x} {{global {} {}}}\n", place, values, mask, at + 2, bytes, form);
    for (u32 l = 0; l < 64; ++l)
      for (u32 b = 0; b < bytes && (exec >> l & 1) != 0; ++b)
        memory[start + l * stride + at + b] = static_cast<u8>(row[l] * (b < 4 ? n + 1 : 1) >> (8 * (b % 4)));
  }
  return data + stores;
}

/// All in order, some together and some not.
TEST(AddressForms, StoresOfComponentsInRows) {
  const std::vector<std::pair<u32, std::vector<Component>>> layouts = {
      {2, {{0, 1}, {1, 1}}},
      {2, {{1, 1}, {2, 1}}}, // reaches into the next lane's place
      {3, {{0, 1}, {1, 1}, {2, 1}}},
      {3, {{2, 1}, {0, 2}}},
      {3, {{1, 2}, {0, 1}}},
      {3, {{0, 2}, {1, 2}}}, // overlap
      {3, {{0, 1}, {2, 1}}}, // leave a byte out
      {4, {{2, 1}, {1, 1}, {0, 1}, {3, 1}}},
      {4, {{0, 1}, {2, 2}, {1, 1}}},
      {4, {{0, 2}, {2, 1}}},
      {4, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {0, 2}}},
      {5, {{0, 4}, {4, 1}}},
      {6, {{0, 2}, {2, 2}, {4, 2}}},
      {6, {{2, 4}, {0, 2}}},
      {6, {{0, 1}, {1, 4}, {5, 1}}},
      {6, {{0, 4}, {4, 1}}},
      {8, {{0, 4}, {4, 4}}},
      {8, {{7, 1}, {6, 1}, {1, 1}, {2, 2}, {4, 2}, {0, 1}}},
      {8, {{0, 2}, {10, 2}}}, // of two elements
      {8, {{4, 4}, {0, 4}}},
      {12, {{0, 4}, {4, 4}, {8, 4}}},
      {12, {{8, 4}, {0, 4}, {4, 4}}},
      {12, {{4, 8}, {0, 4}}},
      {12, {{0, 8}, {4, 4}}}, // overlap
      {12, {{0, 4}, {8, 4}}}, // leave a dword out
      {16, {{0, 4}, {4, 4}, {12, 4}, {8, 4}}},
      {16, {{8, 8}, {0, 8}}},
      {16, {{0, 12}, {12, 4}}},
      {16, {{0, 4}, {4, 2}, {6, 2}, {8, 8}}},
      {20, {{0, 8}, {8, 8}, {16, 4}}},
      {24, {{0, 16}, {16, 8}}},
      {24, {{0, 8}, {8, 16, true}}},
      {32, {{0, 16}, {16, 16}}},
      {32, {{16, 16, true}, {0, 16, true}}},
      {32, {{0, 4}, {4, 8, true}, {12, 4}, {16, 8, true}, {24, 8}}},
      {32, {{2, 2}, {0, 2}, {4, 1}, {6, 2}, {5, 1}, {8, 8, true}, {16, 16, true}}},
      {32, {{0, 4}, {4, 2}, {7, 1}, {8, 8}, {16, 16}}}, // leave a byte out
      {32, {{0, 16}, {12, 16}}},                        // overlap
      {32, {{8, 16}, {32, 8}, {24, 8}}},                // of two elements
      {40, {{4, 16, true}, {20, 16}, {0, 4}}},
      {44, {{0, 8}, {8, 8}, {20, 16}, {36, 8}}},
      {48, {{0, 16}, {16, 16, true}, {32, 16}}},
      {48, {{32, 16}, {0, 16}}},
      {48, {{16, 16}, {32, 16}}},
      {56, {{0, 16}, {16, 16}, {32, 16}, {48, 8}}},
      {60, {{0, 16}, {16, 16}, {32, 16}}},
      {64, {{0, 16}, {16, 16}, {32, 16}, {48, 16}}},
      {64, {{48, 16, true}, {0, 16}, {16, 16}, {32, 16, true}}},
  };
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const bool known : {false, true})
        for (const auto& [stride, components] : layouts)
          for (const bool wrapped : {false, true})
            for (const u32 from_end : {101u, 0u, 4096u}) {
              if (known && exec != ~u64{0}) continue;
              u32 length = 0;
              for (const Component& c : components) length = std::max(length, c.at + c.bytes);
              length += 63 * stride;
              const u32 room = static_cast<u32>(kPage) - length, start = room - std::min(from_end, room);
              SCOPED_TRACE(fmt::format("stride {}, {} stores from {}, lanes {:#x}, wrapped {}, AVX-512 {}",
                                       stride, components.size(), start, exec, wrapped,
                                       simd == translator::Simd::Avx512));
              const LastPage memory;
              std::vector<u8> expected(memory.data(), memory.data() + kPage);
              alignas(64) u32 row[64] = {};
              for (u32 l = 0; l < 64; ++l) row[l] = 0xabc0'1000 + l * 0x01030507;
              const std::string mask = known ? "v24" : "v7";
              run_program(
                  row_of(stride) +
                      "  v23:v32 = load v18, v7 {global 4 row 4}\n"
                      "  v24:mask = const #0xffffffffffffffff\n" +
                      stores_of(components, wrapped ? "v2, v19" : "v22",
                                fmt::format(fmt::runtime(wrapped ? "wrapped {} 0" : "row {}"), stride), mask,
                                exec, start, stride, row, expected),
                  simd, exec, reinterpret_cast<u64>(memory.data()) - 2, start, row);
              EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.data()));
            }
}

/// Rows of gangs that run in lockstep and meet: all store the first component, then all the second.
TEST(AddressForms, ComponentsOfGangsThatMeet) {
  for (const translator::Simd simd : widths()) {
    std::vector<u8> memory(64), expected(64);
    const u32 lanes = translator::gang_lanes(simd);
    auto f = ir::parse(program(fmt::format("  v11:u32 = const #{:#x}\n  v12:g64 = lshr v14, v11\n"
                                           "  v19:g64 = splat v2\n  v20:g64 = add v12, v19\n",
                                           std::countr_zero(lanes)) +
                               "  store v20, v8, v7 {global 1 row 3}\n"
                               "  store v20, v8, v7 #0x1 {global 1 row 3}\n"
                               "  store v20, v8, v7 #0x2 {global 1 row 3}\n"));
    ASSERT_TRUE(f.ok()) << f.error().message;
    phases::Plan plan = trivial_plan(*f);
    plan.lockstep = true;
    RunInput input;
    input.pass(memory.data());
    input.pass(memory.data());
    input.sgprs.push_back(0);
    run(*f, plan, simd, input);
    for (u32 n = 0; n < 3; ++n)
      for (u32 l = 0; l < 64; ++l) expected[l / lanes + 3 * (l % lanes) + n] = static_cast<u8>(l);
    EXPECT_EQ(memory, expected);
  }
}

/// Halves of dwords, some of which lie where the index has wrapped.
TEST(AddressForms, ComponentsWhoseIndexWraps) {
  Dwords memory;
  if (!memory.ok()) GTEST_SKIP() << "no 16 GiB of address space";
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const u32 offset : {0u, 5u, 15u, 30u, 63u, 64u, 200u}) {
        const u32 start = ~offset;
        alignas(64) u32 row[64] = {};
        for (u32 l = 0; l < 64; ++l) {
          row[l] = 0xabcd'0000 + l;
          memory[start + l] = l * 1000;
        }
        run_program("  v12:g32 = add v9, v10\n  v13:v32 = load v18, v7 {global 4 row 4}\n"
                    "  v19:v32 = not v13\n"
                    "  store v2, v12, v13, v7 #0x2 {global 2 wrapped 1 2}\n"
                    "  store v2, v12, v19, v7 {global 2 wrapped 1 2}\n",
                    simd, exec, memory.base(), start, row);
        for (u32 l = 0; l < 64; ++l)
          EXPECT_EQ(memory[start + l], (exec >> l & 1) != 0 ? (row[l] << 16 | (~row[l] & 0xffff)) : l * 1000)
              << "lane " << l << ", offset " << offset;
      }
}

/// A lane alone stores what its data are, not the index that goes before them.
TEST(AddressForms, OneLaneStoresAtAnIndex) {
  for (const translator::Simd simd : widths()) {
    std::array<u32, 8> memory{};
    auto f = ir::parse(program("  v11:u32 = const #0x5\n  v12:g32 = splat v11\n  v13:v32 = splat v6\n"
                               "  v21:mask = const #0x1\n"
                               "  store v2, v12, v13, v21 {global 4 wrapped 0 2}\n"));
    ASSERT_TRUE(f.ok()) << f.error().message;
    phases::Plan plan = trivial_plan(*f);
    plan.lanes = translator::gang_lanes(simd);
    RunInput input;
    input.exec = 1;
    input.pass(memory.data());
    input.pass(memory.data());
    input.sgprs.push_back(77);
    run(*f, plan, simd, input);
    EXPECT_EQ(memory, (std::array<u32, 8>{0, 0, 0, 0, 0, 77}));
  }
}

/// What comes between sees what is stored before it, and is not seen by what is loaded before.
TEST(AddressForms, ComponentsWithALoadBetween) {
  for (const translator::Simd simd : widths()) {
    alignas(64) std::array<u8, 192> memory{};
    alignas(64) u32 row[64] = {};
    run_program(row_of(3) + "  store v22, v8, v7 {global 1 row 3}\n"
                            "  v24:v32 = load v22, v7 {global 2 row 3}\n"
                            "  store v22, v8, v7 #0x1 {global 2 row 3}\n"
                            "  store v18, v24, v7 {global 4 row 4}\n",
                simd, ~u64{0}, reinterpret_cast<u64>(memory.data()), 0, row);
    for (u32 l = 0; l < 64; ++l) {
      EXPECT_EQ(row[l], l) << "lane " << l;
      EXPECT_EQ(memory[3 * l] | memory[3 * l + 1] << 8 | memory[3 * l + 2] << 16, l | l << 8) << "lane " << l;
    }
  }
}

/// Elements of several dwords, also as 64-bit values.
template <class Body>
void for_rows_of_dwords(std::initializer_list<u32> strides, Body body) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const u32 dwords : {2u, 3u, 4u})
        for (const bool wide : {false, true})
          for (const u32 stride : strides) {
            if (wide && dwords == 3) continue;
            SCOPED_TRACE(fmt::format("{} dwords, wide {}, stride {}, lanes {:#x}, AVX-512 {}", dwords, wide,
                                     stride, exec, simd == translator::Simd::Avx512));
            body(simd, exec, dwords, wide, stride);
          }
}

/// Apart or reaching into each other, up to the end of the memory.
TEST(AddressForms, ElementsOfDwordsInRows) {
  const LastPage memory;
  for_rows_of_dwords(
      {4, 8, 12, 16, 20, 64}, [&](translator::Simd simd, u64 exec, u32 dwords, bool wide, u32 stride) {
        const u32 start = static_cast<u32>(kPage) - 63 * stride - 4 * dwords;
        for (u32 d = 0; d < dwords; ++d) {
          std::string results = wide ? "v23:v64" : "v23:v32";
          for (u32 n = 1; n < (wide ? dwords / 2 : dwords); ++n)
            results += fmt::format(", v{}:{}", 23 + n, wide ? "v64" : "v32");
          const std::string half =
              wide ? fmt::format("  v27:v32 = {} v{}\n", d % 2 == 0 ? "lo" : "hi", 23 + d / 2) : "";
          alignas(64) u32 row[64] = {};
          run_program(row_of(stride) + fmt::format("  {} = load v22, v7 #0x8 {{global {} row {}}}\n"
                                                   "{}  store v18, v{}, v7 {{global 4 row 4}}\n",
                                                   results, 4 * dwords, stride, half, wide ? 27 : 23 + d),
                      simd, exec, reinterpret_cast<u64>(memory.data()) - 8, start, row);
          for (u32 l = 0; l < 64; ++l) {
            const u32 value = load_le<u32>(memory.data() + start + std::size_t{l} * stride + 4 * d);
            EXPECT_EQ(row[l], (exec >> l & 1) != 0 ? value : 0u) << "dword " << d << ", lane " << l;
          }
        }
      });
}

/// Lanes that take no part would load from behind the memory.
TEST(AddressForms, ElementsOfSomeLanesAtTheEndOfAPage) {
  const LastPage memory;
  constexpr u32 kStride = 48, kLanes = 5;
  const u32 start = static_cast<u32>(kPage) - kStride * (kLanes - 1) - 16;
  for (const translator::Simd simd : widths())
    for (const u64 exec : {u64{0x1f}, u64{0x14}}) {
      alignas(64) u32 row[64] = {};
      run_program(row_of(kStride) + "  v23:v32, v24:v32, v25:v32, v26:v32 = load v22, v7 {global 16 row 48}\n"
                                    "  store v18, v26, v7 {global 4 row 4}\n",
                  simd, exec, reinterpret_cast<u64>(memory.data()), start, row);
      for (u32 l = 0; l < kLanes; ++l)
        EXPECT_EQ(row[l], (exec >> l & 1) != 0 ? load_le<u32>(memory.data() + start + l * kStride + 12) : 0u);
    }
}

/// The same for bytes and halves: of a row, lanes at its end would.
TEST(AddressForms, NarrowElementsOfSomeLanesAtTheEndOfAPage) {
  const LastPage memory;
  constexpr u32 kLanes = 5;
  for (const translator::Simd simd : widths())
    for (const u32 bytes : {1u, 2u})
      for (const u64 exec : {u64{0}, u64{0x1f}, u64{0x14}}) {
        const u32 start = static_cast<u32>(kPage) - bytes * kLanes;
        alignas(64) u32 row[64] = {};
        run_program(row_of(bytes) + fmt::format("  v23:v32 = load v22, v7 {{global {} sext row {}}}\n"
                                                "  store v18, v23, v7 {{global 4 row 4}}\n",
                                                bytes, bytes),
                    simd, exec, reinterpret_cast<u64>(memory.data()), start, row);
        for (u32 l = 0; l < kLanes; ++l) {
          const u8* at = memory.data() + start + std::size_t{l} * bytes;
          const i64 value = sign_extend(bytes == 1 ? *at : load_le<u16>(at), 8 * bytes);
          EXPECT_EQ(row[l], (exec >> l & 1) != 0 ? static_cast<u32>(value) : 0u);
        }
      }
}

TEST(AddressForms, StoresOfElementsOfDwordsInRows) {
  for_rows_of_dwords({8, 12, 16, 20}, [&](translator::Simd simd, u64 exec, u32 dwords, bool wide,
                                          u32 stride) {
    if (stride < 4 * dwords) return;
    const LastPage memory;
    const u32 start = static_cast<u32>(kPage) - 63 * stride - 4 * dwords;
    std::string body = row_of(stride) + "  v23:v32 = load v18, v7 {global 4 row 4}\n", data = "v23";
    for (u32 d = 1; d < dwords; ++d) {
      body += fmt::format("  v{}:v32 = add v{}, v8\n", 23 + d, 22 + d);
      data += fmt::format(", v{}", 23 + d);
    }
    if (wide) {
      data = dwords == 2 ? "v27" : "v27, v28";
      body += "  v27:v64 = join v23, v24\n";
      if (dwords == 4) body += "  v28:v64 = join v25, v26\n";
    }
    alignas(64) u32 row[64] = {};
    for (u32 l = 0; l < 64; ++l) row[l] = 0xabc0'1000 + l * 3;
    run_program(body +
                    fmt::format("  store v22, {}, v7 #0x8 {{global {} row {}}}\n", data, 4 * dwords, stride),
                simd, exec, reinterpret_cast<u64>(memory.data()) - 8, start, row);
    for (u32 l = 0; l < 64; ++l)
      for (u32 d = 0; d < dwords; ++d) {
        const u32 at = start + l * stride + 4 * d;
        u32 before = 0;
        for (u32 n = 0; n < 4; ++n) before |= u32{LastPage::number(at + n)} << (8 * n);
        EXPECT_EQ(load_le<u32>(memory.data() + at), (exec >> l & 1) != 0 ? row[l] + d * l : before)
            << "dword " << d << ", lane " << l;
      }
  });
}

std::string listing(const std::string& body, translator::Simd simd = translator::Simd::Avx512) {
  auto f = ir::parse(program(body));
  EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << body;
  auto code = compile(*f, trivial_plan(*f), {.simd = simd, .verify = true, .listing = true});
  EXPECT_TRUE(code.ok()) << code.error().message;
  return code.ok() ? code->listing : "";
}

/// Elements that lie close together are loaded with what is between them, which may be behind the last one as
/// well within their page; by a mask only at its end, or for some lanes.
TEST(AddressForms, WholeGangsLoadWhatIsBetweenElements) {
  const std::string code = listing(row_of(3) + "  v23:v32 = load v22, v7 {global 1 row 3}\n"
                                               "  store v18, v23, v7 {global 4 row 4}\n");
  EXPECT_EQ(count(code, "vmovdqu8 zmm"), 3u) << code;
  EXPECT_EQ(count(code, "{z}"), 2u) << code;
}

/// 64-bit values lie in memory as they do in registers.
TEST(AddressForms, WideRowsTakeNoShuffles) {
  for (const char* mask : {"const #0xffffffffffffffff", "and v7, v7"}) {
    const std::string code =
        listing(row_of(8) + fmt::format("  v23:mask = {}\n  v24:v64 = load v22, v23 {{global 8 row 8}}\n"
                                        "  v25:v64 = add v24, v24\n"
                                        "  store v22, v25, v23 {{global 8 row 8}}\n",
                                        mask));
    EXPECT_EQ(code.find("vperm"), std::string::npos) << code;
  }
}

/// Three components are stored at once, and a fault is that of the first of them, in their order, that has a
/// lane there.
TEST(AddressForms, ComponentsAreStoredAtOnce) {
  struct Element {
    u32 stride, stores;
    std::array<Component, 3> parts;
  };
  for (const translator::Simd simd : widths())
    for (const Element& e : {Element{6, 2, {{{4, 1}, {5, 1}, {0, 4}}}},
                             {12, 3, {{{4, 4}, {8, 4}, {0, 4}}}},
                             {48, 12, {{{32, 16}, {0, 16}, {16, 16}}}}}) {
      std::string stores = "  v23:mask = const #0xffffffffffffffff\n";
      for (u32 n = 0; n < 3; ++n)
        stores += fmt::format("  store v22, v8{}, v23 #{:#x} {{global {} row {}}} @{:#x}\n",
                              e.parts[n].bytes == 16 ? ", v8, v8, v8" : "", e.parts[n].at, e.parts[n].bytes,
                              e.stride, 0x10 + n * 8);
      auto f = ir::parse(program(row_of(e.stride) + stores));
      ASSERT_TRUE(f.ok() && ir::verify(*f).ok());
      auto code = compile(*f, trivial_plan(*f), {.simd = simd, .verify = true});
      ASSERT_TRUE(code.ok()) << code.error().message;
      const std::vector<FaultEntry>& accesses = code->translation.machine.faults.accesses;
      ASSERT_EQ(accesses.size(), e.stores * 3) << "so many stores, each for three";
      for (u32 n = 0; n < accesses.size(); ++n) {
        const FaultSite& site = accesses[n].site;
        EXPECT_EQ(accesses[n].code_offset, accesses[n / 3 * 3].code_offset);
        EXPECT_EQ(site.pc, 0x10 + n % 3 * 8);
        EXPECT_EQ(accesses[n].disp - site.early, static_cast<i32>(e.parts[n % 3].at));
        EXPECT_EQ(site.bytes, e.parts[n % 3].bytes);
        EXPECT_EQ(site.distance, e.stride);
        EXPECT_TRUE(site.is_write);
      }
    }
}

/// Elements at small distances are neither gathered nor loaded lane by lane.
TEST(AddressForms, NearElementsAreLoadedByRows) {
  for (const translator::Simd simd : widths())
    for (const u32 stride : {2u, 3u, 5u, 6u, 8u}) {
      const std::string code =
          listing(row_of(stride) + fmt::format("  v23:mask = const #0xffffffffffffffff\n"
                                               "  v24:v32 = load v22, v23 {{global 2 row {}}}\n"
                                               "  store v18, v24, v23 {{global 4 row 4}}\n",
                                               stride),
                  simd);
      EXPECT_EQ(count(code, "gather"), 0u) << code;
      EXPECT_LE(count(code, "\nvmov") + count(code, "vinserti128"), 8u) << code;
    }
}

/// Bits of what was loaded say nothing about where the neighbour goes; whole indices may.
TEST(AddressForms, LookUpsAreNotAskedWhetherTheyAreRows) {
  const auto tests = [](const std::string& cut, translator::Simd simd) {
    const std::string code = listing(
        row_of(4) + "  v23:mask = const #0xffffffffffffffff\n  v24:v32 = load v22, v23 {global 4 row 4}\n" +
            "  v25:v32 = const #0xff\n  v26:v32 = const #0x2\n  v30:v32 = const #0x18\n" + cut +
            "  v28:v32 = shl v27, v26\n  v29:v32 = load v28, v23 {lds 4 in_range}\n"
            "  store v18, v29, v23 {global 4 row 4}\n",
        simd);
    return count(code, "vptest") + count(code, "kortest");
  };
  for (const translator::Simd simd : widths()) {
    EXPECT_EQ(tests("  v27:v32 = and v24, v25\n", simd), 0u);
    EXPECT_EQ(tests("  v27:v32 = lshr v24, v30\n", simd), 0u);
    EXPECT_GT(tests("  v27:v32 = add v24, v25\n", simd), 0u) << "an index that was loaded";
  }
}

/// A scalar that is scaled for two addresses takes no instruction for that, nor do their sums.
TEST(AddressForms, ScaledSumsGoIntoAccesses) {
  for (const translator::Simd simd : widths()) {
    const std::string code =
        listing("  v11:g64 = splat v2\n  v12:g64 = splat v5\n  v13:u32 = const #0x3\n"
                "  v23:mask = const #0xffffffffffffffff\n  v19:g64 = shl v14, v13\n"
                "  v20:g64 = add v11, v19\n  v21:g64 = add v19, v12\n"
                "  v22:v32 = load v20, v23 {global 4 row 4}\n  store v21, v22, v23 {global 4 row 4}\n",
                simd);
    EXPECT_EQ(count(code, "lea "), 1u) << code; // v9
    EXPECT_EQ(count(code, "shl "), 0u) << code;
  }
}

/// Rows that go down are loaded and stored at once, with AVX-512 by some lanes as well; a fault is that of
/// the first lane, which lies last.
TEST(AddressForms, RowsBackwards) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const u32 bytes : {1u, 2u, 4u, 8u}) {
        std::vector<u8> from(64 * bytes), to(64 * bytes), expected(64 * bytes);
        for (u32 n = 0; n < from.size(); ++n) from[n] = static_cast<u8>(n * 37 + n / 256);
        for (u32 l = 0; l < 64; ++l)
          if ((exec >> (63 - l) & 1) != 0) std::copy_n(&from[l * bytes], bytes, &expected[l * bytes]);
        const std::string down =
            fmt::format("  v20:g64 = const #{:#x}\n  v21:g64 = mul v14, v20\n  v22:g64 = const #{:#x}\n"
                        "  v23:g64 = sub v22, v21\n  v24:g64 = splat v2\n  v25:g64 = add v23, v24\n"
                        "  v26:g64 = add v23, v17\n",
                        bytes, 63 * bytes);
        const char* type = bytes <= 4 ? "v32" : "v64";
        const std::string body = down + fmt::format("  v30:{} = load v25, v7 {{global {} row -{}}}\n"
                                                    "  store v26, v30, v7 {{global {} row -{}}}\n",
                                                    type, bytes, bytes, bytes, bytes);
        run_program(body, simd, exec, reinterpret_cast<u64>(from.data()), 0,
                    reinterpret_cast<u32*>(to.data()));
        EXPECT_EQ(to, expected) << bytes << " bytes, lanes " << exec;
        auto partly = ir::parse(program(body));
        ASSERT_TRUE(partly.ok());
        auto masked =
            compile(*partly, trivial_plan(*partly), {.simd = simd, .verify = true, .listing = true});
        ASSERT_TRUE(masked.ok()) << masked.error().message;
        if (simd == translator::Simd::Avx512) {
          EXPECT_EQ(count(masked->listing, "gather") + count(masked->listing, "scatter"), 0u);
        }
        auto f = ir::parse(program(down + "  v29:mask = const #0xffffffffffffffff\n" +
                                   fmt::format("  v30:{} = load v25, v29 {{global {} row -{}}}\n"
                                               "  store v26, v30, v29 {{global {} row -{}}}\n",
                                               type, bytes, bytes, bytes, bytes)));
        ASSERT_TRUE(f.ok() && ir::verify(*f).ok());
        auto code = compile(*f, trivial_plan(*f), {.simd = simd, .verify = true});
        ASSERT_TRUE(code.ok()) << code.error().message;
        const u32 lanes = simd == translator::Simd::Avx512 ? 16 : 8, parts = std::max(1u, bytes / 4);
        const std::vector<FaultEntry>& accesses = code->translation.machine.faults.accesses;
        ASSERT_EQ(accesses.size(), 2 * parts);
        for (u32 n = 0; n < accesses.size(); ++n) {
          EXPECT_EQ(accesses[n].site.kind, FaultSite::Kind::Descending);
          EXPECT_EQ(accesses[n].lanes, lanes / parts);
          EXPECT_EQ(accesses[n].site.lane_offset, n % parts * lanes / parts);
        }
      }
}

/// Two dwords may be one number that workgroups hand on to each other: nobody sees half of it.
TEST(AddressForms, QwordsAreAccessedAtOnce) {
  const std::string anywhere = "  v20:v64 = zext v8\n  v21:v64 = splat v2\n  v22:v64 = mul v20, v20\n"
                               "  v23:v64 = add v22, v21\n  v24:v32 = splat v6\n";
  for (const translator::Simd simd : widths())
    for (const char* access :
         {"  v30:v32, v31:v32 = load v2, v7 {global 8 row 0 wave coherent}\n",
          "  v30:v32, v31:v32 = load v23, v7 {global 8 coherent}\n",
          "  store v2, v8, v24, v7 {global 8 row 0 wave}\n", "  store v23, v8, v24, v7 {global 8}\n"}) {
      auto f = ir::parse(program(anywhere + access));
      ASSERT_TRUE(f.ok() && ir::verify(*f).ok());
      auto code = compile(*f, trivial_plan(*f), {.simd = simd, .verify = true});
      ASSERT_TRUE(code.ok()) << code.error().message;
      EXPECT_FALSE(code->translation.machine.faults.accesses.empty());
      for (const FaultEntry& entry : code->translation.machine.faults.accesses)
        EXPECT_EQ(entry.site.bytes, 8) << access;
    }
}

/// What a wave has waited for before it looks around is seen by others then; each gang's, or all of them.
TEST(AddressForms, AwaitedStoresAreSeen) {
  for (const translator::Simd simd : widths())
    for (const char* attributes : {"global 4", "global 4 row 4", "global 4 row 0 wave", "flat 4"}) {
      const std::string where = std::string_view(attributes).ends_with("row 4") ? row_of(4)
                                : std::string_view(attributes).ends_with("wave")
                                    ? "  v22:u64 = join v0, v1\n"
                                    : "  v20:v64 = zext v8\n  v21:v64 = splat v2\n  v22:v64 = add v20, v21\n";
      const auto fences = [&](const char* awaited) {
        return count(
            listing(where + fmt::format("  store v22, v8, v7 {{{}{}}}\n", attributes, awaited), simd),
            "mfence");
      };
      EXPECT_EQ(fences(""), 0u);
      EXPECT_EQ(fences(" awaited"), 1u) << attributes;
    }
}

/// Lanes that exchange dwords of the LDS, at a distance, all gangs alike: a row or two have them all.
TEST(AddressForms, LanesThatExchangeInTheLds) {
  for (const translator::Simd simd : {translator::Simd::Avx2, translator::Simd::Avx512})
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const u32 distance : {1u, 2u, 4u}) {
        // Lane l has dword (l & distance - 1) + 2 * (l - (l & distance - 1)), and exchanges with `distance`
        // behind.
        const std::string body =
            fmt::format("  v20:v32 = init_vgpr\n  v21:v32 = const #{:#x}\n  v22:v32 = and v20, v21\n"
                        "  v23:v32 = sub v20, v22\n  v24:v32 = add v20, v23\n  v25:v32 = const #0x2\n"
                        "  v26:v32 = shl v24, v25\n"
                        "  v27:v32 = load v26, v7 {{lds 4 in_range}}\n"
                        "  v28:v32 = load v26, v7 #{:#x} {{lds 4 in_range}}\n"
                        "  v29:v32 = add v27, v28\n  v30:v32 = sub v27, v28\n"
                        "  store v26, v29, v7 {{lds 4 in_range}}\n"
                        "  store v26, v30, v7 #{:#x} {{lds 4 in_range}}\n",
                        distance - 1, 4 * distance, 4 * distance);
        std::vector<u8> lds(512);
        for (u32 n = 0; n < 128; ++n) store_le<u32>(&lds[4 * n], n * n * 7 + 1);
        std::vector<u8> expected = lds;
        for (u32 l = 0; l < 64; ++l) {
          if ((exec >> l & 1) == 0) continue;
          u8* const low = &expected[4 * (2 * l - (l & (distance - 1)))];
          const u32 a = load_le<u32>(low), b = load_le<u32>(low + 4 * distance);
          store_le<u32>(low, a + b);
          store_le<u32>(low + 4 * distance, a - b);
        }
        auto f = ir::parse(program(body));
        ASSERT_TRUE(f.ok() && ir::verify(*f).ok()) << body;
        f->launch.workgroup = {64, 1, 1};
        const phases::Plan plan = trivial_plan(*f);
        auto code = compile(*f, plan, {.simd = simd, .verify = true, .listing = true});
        ASSERT_TRUE(code.ok()) << code.error().message;
        EXPECT_EQ(count(code->listing, "gather") + count(code->listing, "scatter"), 0u) << code->listing;
        if (!std::ranges::count(widths(), simd)) continue;
        RunInput input;
        input.exec = exec;
        input.lds = lds;
        input.vgprs.emplace_back();
        for (u32 l = 0; l < 64; ++l) input.vgprs[0][l] = l;
        run(*f, plan, simd, input);
        EXPECT_EQ(input.lds, expected) << "distance " << distance << ", lanes " << exec;
      }
}

/// Code of one function with the phases that it gets.
std::string listing_of_phases(const std::string& text, const CompileOptions& options) {
  auto f = ir::parse(text);
  EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
  auto code = compile(*f, phases::form_phases(*f, translator::gang_lanes(options.simd)), options);
  EXPECT_TRUE(code.ok()) << code.error().message;
  return code.ok() ? code->listing : "";
}

/// Whether lanes are few is asked by the flags where a branch alone wants to know.
TEST(AddressForms, FewLanesAreAskedForByFlags) {
  for (const translator::Simd simd : {translator::Simd::Avx2, translator::Simd::Avx512}) {
    const std::string code = listing_of_phases(R"(func "few" gfx906 {
b0:
  v1:v32 = init_vgpr
  v2:v32 = const #0x5
  v3:mask = icmp v1, v2 #0x4
  v4:mask = not_few v3 #0x5
  v5:u1 = any v4
  branch v5 #0x201 -> b1, b2
b1:
  v6:v64 = zext v1
  store v6, v2, v3 {global 4}
  jump -> b2
b2:
  endpgm
}
)",
                                               {.simd = simd, .verify = true, .listing = true});
    const auto asked = code.find("popcnt");
    ASSERT_NE(asked, std::string::npos) << code;
    EXPECT_EQ(code.substr(asked, code.find("\nj", asked) - asked).find("set"), std::string::npos) << code;
  }
}

/// With VBMI2, the lanes that have closed ranks are listed by one instruction instead of one by one.
TEST(AddressForms, LanesInRanksAreListedAtOnce) {
  const auto code = [](u32 extras) {
    return listing_of_phases(
        R"(func "ranks" gfx906 {
b0:
  v1:u64 = const #0xff00ff0
  jump -> b1
b1 first_gang in_ranks:
  v2:v32 = nth_lane v1
  v3:mask = const #0xffff
  v4:v64 = zext v2
  store v4, v2, v3 {global 4}
  endpgm
}
)",
        {.simd = translator::Simd::Avx512, .extras = extras, .verify = true, .listing = true});
  };
  EXPECT_EQ(count(code(translator::kVbmi2), "tzcnt"), 0u) << code(translator::kVbmi2);
  EXPECT_EQ(count(code(translator::kVbmi2), "vpcompressb"), 1u);
  EXPECT_EQ(count(code(0), "tzcnt"), 16u);
}

/// Gangs are few, so that constants of rare ways are not loaded in front of the loop over them.
TEST(AddressForms, ConstantsOfRareWaysAreLoadedThere) {
  const std::string code =
      listing_of_phases(R"(func "rare" gfx906 {
b0:
  v1:v32 = init_vgpr
  v2:v32 = init_vgpr #0x1
  v3:mask = icmp v1, v2 #0x4
  v4:u1 = any v3
  branch v4 #0x209 -> b1, b2(v1)
b1:
  v5:v32 = const #0x12345678
  v6:v32 = mul v1, v5
  v7:v32 = xor v6, v5
  jump -> b2(v7)
b2(v8:v32):
  v9:v64 = zext v2
  v10:mask = const #0xffffffffffffffff
  store v9, v8, v10 {global 4}
  endpgm
}
)",
                        {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
  const auto round = code.find("jb L"), constant = code.find("vpbroadcastd");
  ASSERT_NE(round, std::string::npos) << code;
  EXPECT_GT(constant, round) << code;
}

/// A load for each lane takes half of what a gather does.
TEST(AddressForms, ElementsFarApartAreNotGathered) {
  for (const translator::Simd simd : widths())
    for (const u32 bytes : {1u, 2u, 4u}) {
      const std::string code =
          listing(row_of(36) + fmt::format("  v23:mask = const #0xffffffffffffffff\n"
                                           "  v24:v32 = load v22, v23 {{global {} row 36}}\n"
                                           "  store v18, v24, v23 {{global 4 row 4}}\n",
                                           bytes),
                  simd);
      EXPECT_EQ(count(code, "gather"), 0u) << code;
    }
}

/// Three dwords are stored at once with a mask, rows of them by shuffles.
TEST(AddressForms, ElementsOfThreeDwordsAreStoredAtOnce) {
  const auto stores = [](u32 stride, translator::Simd simd) {
    return listing(row_of(stride) + fmt::format("  v23:mask = const #0xffffffffffffffff\n"
                                                "  store v22, v8, v8, v8, v23 {{global 12 row {}}}\n",
                                                stride),
                   simd);
  };
  EXPECT_EQ(count(stores(20, translator::Simd::Avx512), "vpextrd"), 0u);
  EXPECT_EQ(count(stores(12, translator::Simd::Avx2), "vpextrd"), 0u);
}

/// With AVX2, some lanes' bytes are loaded like all lanes', where they lie in one page: gathers are for
/// others.
TEST(AddressForms, NarrowElementsOfSomeLanesAreLoadedAtOnce) {
  const std::string code = listing(row_of(1) + "  v23:v32 = load v22, v7 {global 1 row 1}\n"
                                               "  store v18, v23, v7 {global 4 row 4}\n",
                                   translator::Simd::Avx2);
  EXPECT_EQ(count(code, "vpmovzxbd"), 2u) << code;
  EXPECT_NE(code.find("4095"), std::string::npos) << code;
}

/// Registers of three-dword elements begin and end within one; such translations can be stored like others.
TEST(AddressForms, RowsOfThreeDwordsCanBeStored) {
  for (const translator::Simd simd : widths()) {
    auto f = ir::parse(program(row_of(12) + "  v23:mask = const #0xffffffffffffffff\n"
                                            "  v24:v32, v25:v32, v26:v32 = load v22, v23 {global 12 row 12}\n"
                                            "  store v22, v25, v26, v24, v23 {global 12 row 12}\n"));
    ASSERT_TRUE(f.ok() && ir::verify(*f).ok());
    auto code = compile(*f, trivial_plan(*f), {.simd = simd, .verify = true});
    ASSERT_TRUE(code.ok()) << code.error().message;
    ByteWriter out;
    translator::write(out, code->translation);
    ByteReader in(out.bytes());
    EXPECT_TRUE(translator::read_translation(in, code->translation.machine.bytes).has_value());
  }
}

/// Words may lie across dwords, which gathers would take one by one after all; bytes are cut out of dwords,
/// which takes as long as to load them. Dwords are worth a gather with AVX-512.
TEST(AddressForms, NarrowElementsFromAnywhereAreLoadedLaneByLane) {
  const auto gathers = [](u32 bytes, translator::Simd simd) {
    return count(listing(fmt::format("  v23:mask = const #0xffffffffffffffff\n"
                                     "  v24:v32 = load v2, v8, v23 {{global {} indexed 0 sindex}}\n"
                                     "  store v2, v8, v24, v7 {{global 4 indexed 2 sindex}}\n",
                                     bytes),
                         simd),
                 "vpgather");
  };
  for (const translator::Simd simd : widths())
    for (const u32 bytes : {1u, 2u}) EXPECT_EQ(gathers(bytes, simd), 0u);
  EXPECT_NE(gathers(4, translator::Simd::Avx512), 0u);
}

/// Two dwords from anywhere by one gather, and to anywhere by one scatter.
TEST(AddressForms, PairsOfDwordsAreGatheredAsQwords) {
  const std::string code = listing("  v23:v32, v24:v32 = load v2, v8, v7 {global 8 indexed 3}\n"
                                   "  v25:v32 = add v23, v24\n"
                                   "  store v2, v8, v25, v24, v7 {global 8 indexed 3}\n");
  for (const char* id : {"vpgatherdq", "vpscatterdq"}) EXPECT_NE(code.find(id), std::string::npos) << code;
  EXPECT_EQ(code.find("vpgatherdd"), std::string::npos) << code;
}

/// What starts at a scalar of the wave is the same row in every gang, whichever gangs run side by side.
TEST(AddressForms, OneRowForAllGangs) {
  alignas(64) std::array<u32, 16> memory{};
  std::vector<u8> lds(256);
  for (u32 n = 0; n < memory.size(); ++n) memory[n] = n * 1000;
  for (u32 n = 0; n < lds.size(); ++n) lds[n] = static_cast<u8>(n * 7);
  for (const translator::Simd simd : widths())
    for (int interleave = 0; interleave < 3; ++interleave) { // run() takes the next number each time.
      alignas(64) u32 row[64] = {};
      run_program("  v20:mask = const #0xffffffffffffffff\n  v21:v32 = load v2, v20 {global 4 row 4}\n"
                  "  v22:u32 = const #0x8\n  v23:v32 = load v22, v20 #0x4 {lds 4 row 4 in_range}\n"
                  "  v24:v32 = load v18, v20 {global 4 row 4}\n  v25:v32 = add v21, v23\n"
                  "  v26:v32 = add v24, v25\n  store v18, v26, v20 {global 4 row 4}\n",
                  simd, ~u64{0}, reinterpret_cast<u64>(memory.data()), 0, row, &lds);
      const u32 lanes = simd == translator::Simd::Avx512 ? 16 : 8;
      for (u32 l = 0; l < 64; ++l)
        EXPECT_EQ(row[l], memory[l % lanes] + load_le<u32>(lds.data() + 12 + l % lanes * 4)) << "lane " << l;
    }
}

/// Elements that are the same in every gang are loaded and shuffled once, in front of the loop over gangs,
/// unless something is stored to the LDS.
TEST(AddressForms, ElementsForAllGangs) {
  std::vector<u8> lds(512);
  for (u32 n = 0; n < lds.size(); ++n) lds[n] = static_cast<u8>(n * 7 + n / 256);
  const std::string loads =
      "  v20:mask = const #0xffffffffffffffff\n  v22:u32 = const #0x8\n"
      "  v23:v32, v24:v32, v25:v32, v26:v32 = load v22, v20 #0x10 {lds 16 row 16 in_range}\n"
      "  v27:v32 = load v18, v20 {global 4 row 4}\n  v28:v32 = add v23, v24\n  v29:v32 = xor v25, v26\n"
      "  v30:v32 = add v28, v29\n  v31:v32 = add v30, v27\n  store v18, v31, v20 {global 4 row 4}\n";
  for (const translator::Simd simd : widths())
    for (int interleave = 0; interleave < 3; ++interleave) { // run() takes the next number each time.
      alignas(64) u32 row[64] = {};
      for (u32 l = 0; l < 64; ++l) row[l] = l * 1000;
      run_program(loads, simd, ~u64{0}, 0, 0, row, &lds);
      const u32 lanes = simd == translator::Simd::Avx512 ? 16 : 8;
      for (u32 l = 0; l < 64; ++l) {
        const u8* element = lds.data() + 24 + l % lanes * 16;
        const auto dword = [&](u32 n) { return load_le<u32>(element + 4 * n); };
        EXPECT_EQ(row[l], l * 1000 + dword(0) + dword(1) + (dword(2) ^ dword(3))) << "lane " << l;
      }
    }
  for (const bool stores : {false, true}) {
    auto f = ir::parse(program(loads + (stores ? "  store v15, v8, v20 {lds 4 row 4 in_range}\n" : "")));
    ASSERT_TRUE(f.ok()) << f.error().message;
    auto code =
        compile(*f, trivial_plan(*f), {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
    ASSERT_TRUE(code.ok()) << code.error().message;
    const std::string loop = code->listing.substr(code->listing.find("; block 2"));
    EXPECT_EQ(loop.find("vpermt2d") != std::string::npos, stores) << code->listing;
  }
}

/// Scalar sums whose terms are shifted, constant or needed again.
TEST(AddressForms, ScaledSums) {
  for (const translator::Simd simd : widths()) {
    alignas(64) u32 row[64] = {};
    run_program("  v11:u32 = const #0xfffffff8\n  v12:u32 = const #0x3\n  v13:u32 = shl v6, v12\n"
                "  v19:u32 = add v11, v13\n"                           // constant + scaled
                "  v20:u32 = add v19, v6\n"                            // both again
                "  v21:u32 = shl v20, v15\n  v22:u32 = add v21, v19\n" // scaled first
                "  v23:u32 = const #0x7\n  v24:u32 = add v22, v23\n  v25:u32 = add v24, v22\n"
                "  v26:u64 = zext v25\n  v27:u64 = const #0x123456789\n  v28:u64 = shl v26, v12\n"
                "  v29:u64 = add v27, v28\n" // a wide constant that is no immediate
                "  v30:u32 = lo v29\n  v31:u32 = hi v29\n  v32:v32 = splat v30\n  v33:v32 = splat v31\n"
                "  v34:v32 = xor v32, v33\n  store v18, v34, v7 {global 4 row 4}\n",
                simd, ~u64{0}, 0, 0x9000'0001, row);
    const u32 a = 0xffff'fff8u + (0x9000'0001u << 3), b = a + 0x9000'0001u, c = (b << 2) + a;
    const u64 sum = 0x1'2345'6789 + (u64{c + 7 + c} << 3);
    EXPECT_EQ(row[0], static_cast<u32>(sum) ^ static_cast<u32>(sum >> 32));
  }
}

/// Indices that are known to be small: from the middle of a page, and from where only the first of the
/// table's elements can be touched.
TEST(AddressForms, SmallTables) {
  Dwords memory;
  if (!memory.ok()) GTEST_SKIP() << "no 16 GiB of address space";
  auto* bytes = reinterpret_cast<u8*>(memory.base());
  for (u32 n = 0; n < kPage; ++n) bytes[n] = static_cast<u8>(n * 37 + (n >> 4));
  struct Table {
    unsigned bytes, scale, step; ///< an index is a multiple of `step`
    const char* words;
  };
  constexpr Table kTables[] = {{1, 0, 1, "1"}, {1, 0, 1, "1 sext"}, {2, 1, 1, "2"}, {2, 0, 2, "2 sext"},
                               {4, 2, 1, "4"}, {4, 0, 4, "4"},      {8, 3, 1, "8"}, {16, 2, 1, "16"}};
  for (const translator::Simd simd : widths())
    for (const Table& t : kTables)
      for (const u64 exec : {~u64{0}, kSomeLanes, u64{0}})
        for (const u32 dwords : {4u, 8u, 13u, 16u, 32u, 64u})
          for (const bool at_end : {false, true}) {
            if (simd == translator::Simd::Avx2 && dwords > 16) continue;
            const u32 reach = at_end ? t.bytes + 3 : 4 * dwords; // of the lanes, in bytes
            const u64 base = memory.base() + (at_end ? kPage - reach : 1000u);
            const u32 indices = ((reach - t.bytes) >> t.scale) / t.step + 1;
            SCOPED_TRACE(fmt::format("{} << {}, {} dwords, at the end {}, lanes {:#x}, AVX-512 {}", t.words,
                                     t.scale, dwords, at_end, exec, simd == translator::Simd::Avx512));
            const unsigned results = (t.bytes + 3) / 4;
            std::string body = "  v11:v32 = load v18, v7 {global 4 row 4}\n  ";
            for (unsigned r = 0; r < results; ++r) body += fmt::format("{}v{}:v32", r ? ", " : "", 20 + r);
            body += fmt::format(" = load v2, v11, v7 #0x4 {{global {} indexed {} table {}}}\n", t.words,
                                t.scale, dwords);
            for (unsigned r = 0; r < results; ++r)
              body += fmt::format("  store v18, v{}, v7 #{:#x} {{global 4 row 4}}\n", 20 + r, 256 * (r + 1));
            alignas(64) u32 row[5][64] = {};
            const auto index = [&](u32 l) { return (l * 29 + 3) % indices * t.step; };
            for (u32 l = 0; l < 64; ++l) row[0][l] = index(l);
            run_program(body, simd, exec, base - 4, 0, row[0]);
            for (u32 l = 0; l < 64; ++l)
              for (unsigned r = 0; r < results; ++r) {
                u32 expected = 0;
                const unsigned size = std::min(t.bytes, 4u);
                std::memcpy(&expected, reinterpret_cast<u8*>(base) + (index(l) << t.scale) + 4 * r, size);
                if (std::string_view(t.words).ends_with("sext"))
                  expected = t.bytes == 1 ? static_cast<u32>(static_cast<i8>(expected))
                                          : static_cast<u32>(static_cast<i16>(expected));
                EXPECT_EQ(row[r + 1][l], (exec >> l & 1) != 0 ? expected : 0u) << "lane " << l;
              }
          }
}

/// Lanes that only a multiple of 4 GiB takes out of the two lines around lane 0.
TEST(AddressForms, FarFromTheWindow) {
  Dwords memory;
  if (!memory.ok()) GTEST_SKIP() << "no 16 GiB of address space";
  constexpr u32 kFirst = 64, kFar = 1u << 30;
  mprotect(&memory[kFar], kPage, PROT_READ | PROT_WRITE);
  for (u32 n = 0; n < 8; ++n) {
    memory[kFirst + n] = n;
    memory[kFar + kFirst + n] = 100 + n;
  }
  for (const translator::Simd simd : widths())
    for (const char* sign : {"", " sindex"}) {
      alignas(64) u32 row[2][64] = {};
      for (u32 l = 0; l < 64; ++l) row[0][l] = l % 8 == 5 ? kFar + kFirst + 2 : kFirst + l % 8;
      run_program(fmt::format("  v11:v32 = load v18, v7 {{global 4 row 4}}\n"
                              "  v20:v32 = load v2, v11, v7 {{global 4 indexed 2{}}}\n"
                              "  store v18, v20, v7 #0x100 {{global 4 row 4}}\n",
                              sign),
                  simd, ~u64{0}, memory.base(), 0, row[0]);
      for (u32 l = 0; l < 64; ++l) EXPECT_EQ(row[1][l], l % 8 == 5 ? 102 : l % 8) << "lane " << l << sign;
    }
}

/// Short rows, some of which go on from the largest index to the smallest, up or down.
TEST(AddressForms, ShortRowsWhoseIndexWraps) {
  Dwords memory;
  if (!memory.ok()) GTEST_SKIP() << "no 16 GiB of address space";
  constexpr u32 kHalf = 1u << 31;
  for (u32 n = 0; n < 256; ++n) memory[n - 128] = n;
  for (const translator::Simd simd : widths())
    for (const u32 lanes : {8u, 4u})
      for (const i32 step : {1, -1})
        for (const u32 offset : {0u, 2u, 17u, 30u, 100u}) {
          alignas(64) u32 row[2][64] = {};
          const auto place = [&](u32 l) {
            return static_cast<u32>(step) * l - static_cast<u32>(step) * offset;
          };
          for (u32 l = 0; l < 64; ++l) row[0][l] = kHalf + place(l);
          run_program(fmt::format("  v11:v32 = load v18, v7 {{global 4 row 4}}\n"
                                  "  v20:v32 = load v2, v11, v7 {{global 4 indexed 2 sindex short {} {}}}\n"
                                  "  store v18, v20, v7 #0x100 {{global 4 row 4}}\n",
                                  lanes, step),
                      simd, ~u64{0}, memory.base() + u64{kHalf} * 4, 0, row[0]);
          for (u32 l = 0; l < 64; ++l)
            EXPECT_EQ(row[1][l], place(l) + 128) << "lane " << l << " of " << lanes << ", " << step;
        }
}

/// Elements near lane 0's, at places that are known: x / 2, (x + 1) / 2, x ^ 1, x / 4 for all lanes of a gang
/// or each 8 of them, of which some take part, and which go on from the largest index to the smallest; or
/// which end with a page behind which there is nothing.
TEST(AddressForms, KnownPlaces) {
  Dwords memory;
  if (!memory.ok()) GTEST_SKIP() << "no 16 GiB of address space";
  constexpr u32 kHalf = 1u << 31;
  using Place = u32 (*)(u32);
  constexpr Place kPlaces[] = {[](u32 l) { return l / 2; }, [](u32 l) { return (l + 1) / 2; },
                               [](u32 l) { return l ^ 1; }, [](u32 l) { return l / 4; }};
  auto* const bytes = reinterpret_cast<u8*>(&memory[0]);
  for (const u64 size : {1, 2, 4}) { // Where the largest indices of such elements are.
    mprotect(bytes + (size << 32) - kPage, kPage, PROT_READ | PROT_WRITE);
    for (u32 n = 0; n < kPage; ++n)
      bytes[(size << 32) - kPage + n] = static_cast<u8>(n * 37 + n / 256 + size);
  }
  for (u32 n = 0; n < kPage; ++n) bytes[n] = static_cast<u8>(n * 53 + n / 256);
  for (const translator::Simd simd : widths())
    for (const u32 lanes : {16u, 8u})
      for (const u64 exec : {~u64{0}, kSomeLanes, ~u64{1}, u64{0}})
        for (const Place place : kPlaces)
          for (const u32 size : {4u, 2u, 1u})
            for (const i32 first : {-5, -1, -64, -8, 5, 1020, 1024 - 64 + 1}) {
              if (lanes == 16 && simd == translator::Simd::Avx2) continue;
              u64 digits = 0;
              for (u32 l = 0; l < lanes; ++l) digits |= u64{place(l)} << (4 * l);
              alignas(64) u32 row[2][64] = {};
              const u32 scale = static_cast<u32>(std::countr_zero(size));
              const u32 end = kPage / size;
              const u32 from = static_cast<u32>(first) + (first > 100 ? end - 1024 : 0);
              const auto at = [&](u32 l) { return from + l / lanes * 3 + place(l % lanes); };
              for (u32 l = 0; l < 64; ++l) row[0][l] = kHalf + at(l);
              u64 inside = exec;
              for (u32 l = 0; l < 64; ++l)
                if (at(l) >= end && at(l) < kHalf) inside &= ~(u64{1} << l);
              run_program(
                  fmt::format("  v11:v32 = load v18, v7 {{global 4 row 4}}\n"
                              "  v20:v32 = load v2, v11, v7 {{global {} indexed {} sindex places {} {:#x}}}\n"
                              "  store v18, v20, v7 #0x100 {{global 4 row 4}}\n",
                              size, scale, lanes, digits),
                  simd, inside, memory.base() + u64{kHalf} * size, 0, row[0]);
              for (u32 l = 0; l < 64; ++l) {
                u32 expected = 0;
                if ((inside >> l & 1) != 0) std::memcpy(&expected, bytes + u64{at(l)} * size, size);
                EXPECT_EQ(row[1][l], expected) << "lane " << l << " of " << lanes << ", " << size << " bytes";
              }
            }
}

/// Accesses by one index of units of different sizes, from one base, go to different places.
TEST(AddressForms, ShortRowsByOneIndexInDifferentUnits) {
  for (const translator::Simd simd : widths())
    for (const u32 lanes : {8u, 4u}) {
      alignas(64) u32 row[4][64] = {};
      for (u32 n = 0; n < 64; ++n) row[0][n] = n / lanes * 2 + n % lanes + 1;
      run_program(fmt::format("  v11:v32 = load v18, v7 {{global 4 row 4}}\n"
                              "  v20:v32 = load v5, v11, v7 {{global 4 indexed 2 sindex short {0} 1}}\n"
                              "  v21:v32 = load v5, v11, v7 {{global 1 indexed 0 sindex short {0} 1}}\n"
                              "  store v18, v20, v7 #0x100 {{global 4 row 4}}\n"
                              "  store v18, v21, v7 #0x200 {{global 4 row 4}}\n",
                              lanes),
                  simd, ~u64{0}, 0, 0, row[0]);
      for (u32 l = 0; l < 64; ++l) {
        const u32 at = row[0][l];
        EXPECT_EQ(row[1][l], at < 64 ? row[0][at] : 0u) << "lane " << l << " of " << lanes;
        EXPECT_EQ(row[2][l], row[0][at / 4] >> (at % 4 * 8) & 0xff) << "lane " << l << " of " << lanes;
      }
    }
}

/// Places of short rows without a lane that takes part are not read: they may be anywhere.
TEST(AddressForms, PlacesOfShortRowsThatTakeNoPart) {
  for (const translator::Simd simd : widths())
    for (const u32 lanes : {8u, 4u})
      for (const u32 bytes : {1u, 2u, 4u, 8u})
        for (const u32 idle : {0u, 1u, 2u, 3u}) {
          SCOPED_TRACE(fmt::format("{} bytes for {} lanes, {}, AVX-512 {}", bytes, lanes, idle,
                                   simd == translator::Simd::Avx512));
          const u32 dwords = (bytes + 3) / 4;
          u64 exec = 0;
          alignas(64) u32 row[6][64] = {};
          const u64 here = reinterpret_cast<u64>(row);
          for (u32 l = 0; l < 64; ++l) {
            const bool takes_part = l / lanes % 4 != idle;
            exec |= u64{takes_part} << l;
            const u64 at = takes_part ? here + l / lanes * 4 : 0x10;
            row[0][l] = static_cast<u32>(at);
            row[1][l] = static_cast<u32>(at >> 32);
          }
          run_program(fmt::format("  v19:mask = const #0xffffffffffffffff\n"
                                  "  v11:v32 = load v18, v19 {{global 4 row 4}}\n"
                                  "  v12:v32 = load v18, v19 #0x100 {{global 4 row 4}}\n"
                                  "  v13:v64 = join v11, v12\n"
                                  "  v20:v32{} = load v13, v7 {{global {} short {} 0}}\n"
                                  "  store v18, v20, v7 #0x200 {{global 4 row 4}}\n",
                                  dwords == 2 ? ", v21:v32" : "", bytes, lanes),
                      simd, exec, 0, 0, row[0]);
          for (u32 l = 0; l < 64; ++l) {
            const u32 value = row[0][l / lanes] & static_cast<u32>((u64{1} << 8 * std::min(bytes, 4u)) - 1);
            EXPECT_EQ(row[2][l], (exec >> l & 1) != 0 ? value : 0u) << "lane " << l;
          }
        }
}

/// What is loaded from a table may lie in its short rows as well, which the next access is loaded from.
TEST(AddressForms, ShortRowsOfATable) {
  for (const translator::Simd simd : widths()) {
    alignas(64) u32 row[3][64] = {};
    for (u32 n = 0; n < 64; ++n) row[0][n] = n * n;
    run_program("  v11:v32 = const #0x3\n  v12:v32 = and v8, v11\n"
                "  v20:v32 = load v5, v12, v7 {global 4 indexed 2 sindex short 4 1 table 16}\n"
                "  v21:v32 = load v5, v12, v7 #0x4 {global 4 indexed 2 sindex short 4 1}\n"
                "  store v18, v20, v7 #0x100 {global 4 row 4}\n"
                "  store v18, v21, v7 #0x200 {global 4 row 4}\n",
                simd, ~u64{0}, 0, 0, row[0]);
    for (u32 l = 0; l < 64; ++l) {
      EXPECT_EQ(row[1][l], (l % 4) * (l % 4)) << "lane " << l;
      EXPECT_EQ(row[2][l], (l % 4 + 1) * (l % 4 + 1)) << "lane " << l;
    }
  }
}

/// Of accesses that are inside the LDS, what is added to the index is a displacement.
TEST(AddressForms, PlacesInTheLdsFromOneIndex) {
  const auto additions = [](u32 offset, std::string_view words) {
    auto f = ir::parse(program(fmt::format("  v19:v32 = mul v8, v8\n"
                                           "  v20:v32 = load v19, v7 #{:#x} {{lds 4 {}}}\n"
                                           "  store v18, v20, v7 {{global 4 row 4}}\n",
                                           offset, words)));
    EXPECT_TRUE(f.ok() && ir::verify(*f).ok());
    auto code = compile(*f, trivial_plan(*f), {.simd = widths().back(), .verify = true, .listing = true});
    EXPECT_TRUE(code.ok());
    return code.ok() ? count(code->listing, "vpaddd") : 0;
  };
  const u32 least = additions(0, "in_range");
  EXPECT_EQ(additions(0x40, "in_range"), least);
  EXPECT_GT(additions(0x40, ""), least);
}

/// Streaming stores, where they can be and where they cannot: lines that begin elsewhere, lanes that are
/// missing, a displacement; alone and with others, on whichever gangs run side by side.
TEST(AddressForms, StreamingStores) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes, ~u64{0} << 16})
      for (const u32 dwords : {1u, 2u, 4u})
        for (const u32 start : {0u, 4u, 32u})
          for (const u32 disp : {0u, 64u, 68u})
            for (const bool twice : {false, true}) {
              SCOPED_TRACE(fmt::format("{} dwords from {}+{}, lanes {:#x}, twice {}, AVX-512 {}", dwords,
                                       start, disp, exec, twice, simd == translator::Simd::Avx512));
              alignas(64) std::array<u32, 512> memory{};
              alignas(64) u32 row[64] = {};
              const std::string data = dwords == 1 ? "v20" : dwords == 2 ? "v20, v8" : "v20, v8, v8, v20";
              std::string body =
                  fmt::format("  v11:u32 = const #{:#x}\n  v12:g32 = splat v11\n  v13:g32 = mul v9, v12\n"
                              "  v19:g32 = add v13, v10\n  v21:g64 = zext v19\n  v22:g64 = splat v2\n"
                              "  v23:g64 = add v21, v22\n  v24:v32 = splat v11\n  v20:v32 = add v8, v24\n"
                              "  store v23, {}, v7 #{:#x} {{global {} row {} wave streams}}\n",
                              4 * dwords, data, disp, 4 * dwords, 4 * dwords);
              if (twice) body += "  store v18, v20, v7 {global 4 row 4 wave streams}\n";
              run_program(body, simd, exec, reinterpret_cast<u64>(memory.data()), start, row);
              for (u32 l = 0; l < 64; ++l)
                for (u32 d = 0; d < dwords; ++d) {
                  const u32 value = d == 0 || d == 3 ? l + 4 * dwords : l;
                  EXPECT_EQ(memory[(start + disp) / 4 + l * dwords + d], (exec >> l & 1) != 0 ? value : 0u)
                      << "lane " << l << ", dword " << d;
                }
              for (u32 l = 0; l < 64; ++l)
                EXPECT_EQ(row[l], twice && (exec >> l & 1) != 0 ? l + 4 * dwords : 0u) << "lane " << l;
            }
}

/// What several rounds of a walk store is a line of each lane, in whichever order its pieces come, if all
/// lanes take part and nothing is accessed in between. Lanes' rows end where others begin.
TEST(AddressForms, LinesOfLanesFarApart) {
  for (const translator::Simd simd : widths())
    for (const bool wide : {false, true})
      for (const bool masked : {false, true})
        for (const bool between : {false, true})
          for (const std::array<u32, 4> order :
               {std::array{0u, 16u, 32u, 48u}, std::array{32u, 48u, 0u, 16u}})
            for (const u32 stride : {64u, 68u, 256u}) {
              SCOPED_TRACE(fmt::format("stride {}, from {}, wide {}, masked {}, load between {}, AVX-512 {}",
                                       stride, order[0], wide, masked, between,
                                       simd == translator::Simd::Avx512));
              alignas(64) std::array<u32, 64 * 64 + 16> memory{};
              alignas(64) u32 row[64] = {};
              const u64 exec = masked ? kSomeLanes : ~u64{0};
              std::string body = fmt::format(
                  "  v31:v32 = const #{:#x}\n  v32:v32 = mul v8, v31\n  v33:v64 = zext v32\n"
                  "  v34:v64 = splat v2\n  v35:v64 = add v33, v34\n  v40:mask = const #0xffffffffffffffff\n",
                  stride);
              u32 next = 50;
              for (const u32 at : order) {
                for (u32 d = 0; d < 4; ++d)
                  body += fmt::format("  v{}:v32 = const #{:#x}\n  v{}:v32 = add v8, v{}\n", next + 2 * d,
                                      1000 * (at / 4 + d), next + 2 * d + 1, next + 2 * d);
                if (wide)
                  body += fmt::format("  v{0}:v64 = join v{1}, v{2}\n  v{3}:v64 = join v{4}, v{5}\n",
                                      next + 8, next + 1, next + 3, next + 9, next + 5, next + 7);
                const std::string data =
                    wide ? fmt::format("v{}, v{}", next + 8, next + 9)
                         : fmt::format("v{}, v{}, v{}, v{}", next + 1, next + 3, next + 5, next + 7);
                body += fmt::format("  store v35, {}, {} #{:#x} {{global 16 apart 2 element {}}}\n", data,
                                    masked ? "v7" : "v40", at, wide ? 8 : 4);
                if (between && at == order[1])
                  body += "  v41:v32 = load v35, v7 #0x4 {global 4}\n  store v18, v41, v7 {global 4 row 4 "
                          "wave}\n";
                next += 10;
              }
              run_program(body, simd, exec, reinterpret_cast<u64>(memory.data()), 0, row);
              for (u32 l = 0; l < 64; ++l) {
                const bool takes_part = (exec >> l & 1) != 0;
                for (u32 d = 0; d < 16; ++d)
                  EXPECT_EQ(memory[l * stride / 4 + d], takes_part ? l + 1000 * d : 0u)
                      << "lane " << l << ", dword " << d;
                const u32 before = order[0] == 0 ? l + 1000 : 0; // the load comes behind two of the stores
                EXPECT_EQ(row[l], between && takes_part ? before : 0u) << "lane " << l;
              }
            }
}

/// Likewise of parts of records, which are lines only together.
TEST(AddressForms, StreamingStoresOfRecords) {
  for (const translator::Simd simd : widths())
    for (const u64 exec : {~u64{0}, kSomeLanes})
      for (const u32 stride : {8u, 16u, 32u, 48u, 64u, 96u, 128u})
        for (const u32 start : {0u, 4u, 32u}) {
          SCOPED_TRACE(fmt::format("stride {} from {}, lanes {:#x}, AVX-512 {}", stride, start, exec,
                                   simd == translator::Simd::Avx512));
          alignas(64) std::array<u32, 2080> memory{};
          std::string body = fmt::format("  v11:u32 = const #{:#x}\n  v12:g32 = splat v11\n"
                                         "  v13:g32 = mul v9, v12\n  v19:g32 = add v13, v10\n"
                                         "  v21:g64 = zext v19\n  v22:g64 = splat v2\n"
                                         "  v23:g64 = add v21, v22\n  v24:v32 = splat v11\n"
                                         "  v20:v32 = add v8, v24\n",
                                         stride);
          const u32 bytes = std::min(stride / 2, 16u);
          for (u32 at = 0; at < stride; at += bytes)
            body += fmt::format("  store v23, {}, v7 #{:#x} {{global {} row {} wave streams}}\n",
                                bytes == 4   ? "v20"
                                : bytes == 8 ? "v20, v8"
                                             : "v20, v8, v8, v20",
                                at, bytes, stride);
          alignas(64) u32 row[64] = {};
          run_program(body, simd, exec, reinterpret_cast<u64>(memory.data()), start, row);
          for (u32 n = 0; n < memory.size(); ++n) {
            const u32 at = 4 * n - start, lane = at / stride, d = at % bytes / 4;
            const bool stored = 4 * n >= start && lane < 64 && (exec >> lane & 1) != 0;
            EXPECT_EQ(memory[n], !stored ? 0 : d == 0 || d == 3 ? lane + stride : lane) << "dword " << n;
          }
        }
}

} // namespace
} // namespace lanewise::x86::test
