// The library's launches: what goes wrong comes back as a value, and the next launch works.
#include "lanewise/lanewise.hpp"
#include "tests/source_dir.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <sys/mman.h>
#include <thread>

namespace lanewise {
namespace {

std::string code_object(const std::string& name) { return source_dir() + "/tests/kernels/bin/" + name; }

/// Every engine this machine can run.
std::vector<DeviceOptions> engines() {
  DeviceOptions interp;
  interp.engine = Engine::Interp;
  std::vector<DeviceOptions> all = {interp};
  for (Simd simd : {Simd::Avx2, Simd::Avx512}) {
    DeviceOptions jit;
    jit.engine = Engine::Jit;
    jit.simd = simd;
    if (host_supports(simd)) all.push_back(jit);
  }
  return all;
}

/// A test kernel; device and module handles go, the kernel keeps what it needs.
Kernel load_kernel(const DeviceOptions& options, const std::string& name,
                   const std::string& target = "gfx900") {
  auto device = Device::create(options);
  EXPECT_TRUE(device);
  auto module = device->load_file(code_object(target + "/" + name + ".O2.co"));
  EXPECT_TRUE(module);
  auto found = module->kernel(name);
  EXPECT_TRUE(found);
  return std::move(*found);
}

struct Saxpy {
  explicit Saxpy(const DeviceOptions& options, const std::string& target = "gfx900")
      : kernel(load_kernel(options, "saxpy", target)) {}

  Result<LaunchTimes> run(const void* x, const void* y, std::uint32_t n, Fault* fault = nullptr,
                          std::array<std::uint32_t, 3> block = {128, 1, 1}) const {
    LaunchConfig config;
    config.grid = {n, 1, 1};
    config.block = block;
    return kernel.launch(
        config, {Argument::value(n), Argument::value(2.0f), Argument::pointer(x), Argument::pointer(y)},
        fault);
  }

  Kernel kernel;
};

TEST(Launch, RunsOnPlainHostMemory) {
  for (const DeviceOptions& options : engines()) {
    const Saxpy saxpy(options);
    std::vector<float> x(1000, 3.0f), y(1001, 1.0f);
    auto times = saxpy.run(x.data(), y.data(), 1000);
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_GE(times->wall_ms, 0);
    EXPECT_EQ(y, [] {
      std::vector<float> want(1000, 7.0f);
      want.push_back(1.0f);
      return want;
    }());
  }
}

// More shapes than a kernel keeps versions for; ragged ones among them, and workgroups larger than the grid.
TEST(Launch, EveryShapeWorks) {
  for (const DeviceOptions& options : engines()) {
    const Saxpy saxpy(options);
    for (std::uint32_t block : {64u, 1u, 5u, 63u, 65u, 128u, 130u, 191u, 192u, 250u, 256u, 64u, 5u})
      for (std::uint32_t n : {1024u, 1u, 1000u}) {
        std::vector<float> x(n, 3.0f), y(n + 1, 1.0f), want(n, 7.0f);
        want.push_back(1.0f);
        auto times = saxpy.run(x.data(), y.data(), n, nullptr, {block, 1, 1});
        ASSERT_TRUE(times) << times.error().message;
        ASSERT_EQ(y, want) << n << " in blocks of " << block;
      }
  }
}

// Whether it runs here or on the pool's threads, as the dispatcher guesses from the launch before.
TEST(Launch, EveryRepetitionRunsEveryWorkgroupOnce) {
  DeviceOptions options;
  options.threads = 3;
  const Saxpy saxpy(options);
  for (std::uint32_t n : {100u, 5'000u, 200'000u}) {
    std::vector<float> x(n, 0.5f), y(n, 0.0f);
    for (unsigned i = 0; i < 200; ++i) ASSERT_TRUE(saxpy.run(x.data(), y.data(), n));
    EXPECT_EQ(y, std::vector<float>(n, 200.0f)) << n;
  }
}

TEST(Launch, EnginesFaultAtTheSamePlace) {
  for (std::uint32_t block : {64u, 50u, 256u}) {
    std::vector<Fault> faults;
    for (DeviceOptions options : engines()) {
      options.threads = 1;
      const Saxpy saxpy(options);
      auto x = Buffer::allocate(4 * 10'000), y = Buffer::allocate(4 * 100'000);
      ASSERT_TRUE(x && y);
      ASSERT_FALSE(saxpy.run(x->data(), y->data(), 100'000, &faults.emplace_back(), {block, 1, 1}));
      EXPECT_EQ(faults.back().workgroup, faults[0].workgroup);
      EXPECT_EQ(faults.back().wave, faults[0].wave);
      EXPECT_EQ(faults.back().lane, faults[0].lane);
      EXPECT_EQ(faults.back().offset, faults[0].offset);
    }
  }
}

TEST(Launch, FaultsAreValuesAndTheNextLaunchWorks) {
  for (const DeviceOptions& options : engines()) {
    const Saxpy saxpy(options);
    std::vector<float> y(1000, 1.0f);
    for (int repeat = 0; repeat < 3; ++repeat) {
      Fault fault;
      auto times = saxpy.run(reinterpret_cast<const void*>(0x10000), y.data(), 100, &fault);
      ASSERT_FALSE(times);
      EXPECT_EQ(times.error().code, ErrorCode::Fault);
      EXPECT_EQ(times.error().message, fault.message);
      EXPECT_EQ(fault.kernel, "saxpy");
      EXPECT_GE(fault.address, 0x10000u);
      EXPECT_LT(fault.address, 0x10000u + 4 * 128);
      EXPECT_NE(fault.instruction.find("load_dword"), std::string::npos) << fault.message;
      EXPECT_GE(fault.lane, 0);
      EXPECT_EQ((fault.address - 0x10000) / 4, fault.wave * 64 + static_cast<unsigned>(fault.lane));
      std::vector<float> x(1000, 3.0f), fresh(1000, 1.0f);
      ASSERT_TRUE(saxpy.run(x.data(), fresh.data(), 1000));
      EXPECT_EQ(fresh, std::vector<float>(1000, 7.0f));
    }
  }
}

TEST(Launch, StoresFaultToo) {
  for (const DeviceOptions& options : engines()) {
    const Saxpy saxpy(options);
    auto x = Buffer::allocate(4 * 384), y = Buffer::allocate(4 * 256); // of several the report could be any
    ASSERT_TRUE(x && y);
    Fault fault;
    ASSERT_FALSE(saxpy.run(x->data(), y->data(), 384, &fault));
    EXPECT_EQ(fault.address, reinterpret_cast<std::uint64_t>(y->data()) + y->size()) << fault.message;
    EXPECT_EQ(fault.workgroup[0], 2u);
    EXPECT_EQ(fault.lane, 0);
  }
}

/// What a launch of one workgroup, in which a lane goes wrong, says of that; nothing if all went well.
std::optional<Fault> fault_of(const DeviceOptions& options, const char* name, std::uint32_t items,
                              std::initializer_list<Argument> arguments) {
  LaunchConfig config;
  config.grid = config.block = {items, 1, 1};
  Fault fault;
  if (load_kernel(options, name).launch(config, arguments, &fault)) return {};
  return fault;
}

// Emitted code has a way of its own for a lane that is alone.
TEST(Launch, TheLastLaneInALoopFaultsAsItself) {
  constexpr std::uint32_t kRows = 64, kLane = 23, kLength = 40;
  std::vector<std::uint32_t> starts{0};
  for (std::uint32_t row = 0; row < kRows; ++row)
    starts.push_back(starts.back() + (row == kLane ? kLength : row % 3));
  std::vector<std::uint32_t> columns(starts.back(), 5);
  columns[starts[kLane] + 30] = 1024;
  const std::vector<float> values(starts.back(), 1.0f);
  for (const DeviceOptions& options : engines()) {
    auto x = Buffer::allocate(4 * 1024);
    ASSERT_TRUE(x);
    std::vector<float> y(kRows);
    const auto fault = fault_of(options, "spmv_csr", kRows,
                                {Argument::value(kRows), Argument::pointer(starts.data()),
                                 Argument::pointer(columns.data()), Argument::pointer(values.data()),
                                 Argument::pointer(x->data()), Argument::pointer(y.data())});
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->address, reinterpret_cast<std::uint64_t>(x->data()) + x->size()) << fault->message;
    EXPECT_EQ(fault->lane, static_cast<int>(kLane)) << fault->message;
  }
}

// Several elements of a row are loaded at once where there are so many, and nothing beyond the last row.
TEST(Launch, RowsOfEveryLengthAreWalked) {
  constexpr std::uint32_t kRows = 64;
  for (std::uint32_t columns = 1; columns <= 40; ++columns) {
    const std::vector<float> weights(columns, 1.0f);
    std::vector<std::vector<std::uint64_t>> all;
    for (const DeviceOptions& options : engines()) {
      const auto elements = [&](std::size_t bytes) {
        auto rows = Buffer::allocate(4096 * ((kRows * columns * bytes + 4095) / 4096));
        EXPECT_TRUE(rows);
        for (std::size_t n = 0; n < rows->size(); ++n) rows->data()[n] = static_cast<std::byte>(n * n >> 3);
        return *rows;
      };
      const auto last = [&](const Buffer& rows, std::size_t bytes) {
        return Argument::pointer(rows.data() + rows.size() - kRows * columns * bytes);
      };
      const Buffer values = elements(4), bytes = elements(1), shorts = elements(2), longs = elements(8);
      auto& results = all.emplace_back(kRows + kRows / 2); // Sums of floats are behind the others.
      const auto fault =
          fault_of(options, "row_walks", kRows,
                   {Argument::value(kRows), Argument::value(columns), Argument::pointer(weights.data()),
                    last(values, 4), last(bytes, 1), last(shorts, 2), last(longs, 8),
                    Argument::pointer(&results[kRows]), Argument::pointer(results.data())});
      ASSERT_FALSE(fault) << columns << " columns: " << fault->message;
      EXPECT_EQ(results, all[0]) << columns << " columns";
    }
  }
}

// Where lanes' lines are a power of two apart, one lane's whole line is loaded after the other's.
TEST(Launch, AlignedRowsEndWhereTheirMemoryDoes) {
  constexpr std::uint32_t kRows = 64, kColumns = 1024;
  const std::vector<float> weights(kColumns, 1.0f);
  const std::vector<std::uint64_t> others(kRows * kColumns);
  for (const std::uint32_t missing : {0u, 512u})
    for (const DeviceOptions& options : engines()) {
      auto values = Buffer::allocate(4 * kRows * kColumns);
      ASSERT_TRUE(values);
      const std::byte* first = values->data() + 4 * missing;
      std::vector<float> sums(kRows);
      std::vector<std::uint64_t> digests(kRows);
      const auto fault =
          fault_of(options, "row_walks", kRows,
                   {Argument::value(kRows), Argument::value(kColumns), Argument::pointer(weights.data()),
                    Argument::pointer(first), Argument::pointer(others.data()),
                    Argument::pointer(others.data()), Argument::pointer(others.data()),
                    Argument::pointer(sums.data()), Argument::pointer(digests.data())});
      ASSERT_EQ(fault.has_value(), missing != 0);
      if (!fault) continue;
      EXPECT_EQ(fault->address, reinterpret_cast<std::uint64_t>(values->data()) + values->size())
          << fault->message;
      EXPECT_EQ(fault->lane, 63) << fault->message;
    }
}

// Lanes go through a loop in another order where their rows keep apart: wherever they do not, results tell.
TEST(Launch, RowsThatMeetAreUpdatedInOrder) {
  constexpr std::uint32_t kRows = 64;
  constexpr std::size_t kBytes = 64 * 1024;
  std::vector<std::byte> original(kBytes);
  for (std::size_t n = 0; n < kBytes; ++n) original[n] = static_cast<std::byte>(n * n >> 5 & 0x3f);
  struct Rows {
    std::uint32_t columns, pitch;
    std::ptrdiff_t sums, means; ///< bytes behind the values
  };
  std::vector<Rows> cases = {{20, 20, 0, 0},     {20, 20, 0, 4},         {20, 20, 4, -4},
                             {20, 20, -4, 8},    {20, 21, 4, 0},         {20, 24, 16, 16},
                             {20, 19, 20000, 0}, {20, 1, 20000, 30000},  {20, 0, 20000, 30000},
                             {9, 9, 64 * 36, 0}, {9, 9, 64 * 36 - 4, 4}, {9, 10, -64 * 40, 36},
                             {40, 20, 0, 80},    {20, 40, 80, -80}};
  std::mt19937 random(144);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (unsigned n = 0; n < 60; ++n) {
    const int columns = between(9, 40), pitch = columns + between(-2, 3), apart = 4 * 64 * pitch;
    const auto offset = [&] { return (random() % 3 == 0 ? apart : 0) + between(-20, 20) * between(1, 4); };
    cases.push_back(
        {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(pitch), offset(), offset()});
  }
  for (const Rows& rows : cases) {
    std::vector<std::vector<std::byte>> all;
    for (const DeviceOptions& options : engines()) {
      std::vector<std::byte>& memory = all.emplace_back(original);
      std::vector<std::byte> others(kBytes * 4);
      std::byte* values = memory.data() + 8192;
      const auto fault = fault_of(
          options, "row_updates", kRows,
          {Argument::value(kRows), Argument::value(rows.columns), Argument::value(rows.pitch),
           Argument::pointer(values), Argument::pointer(values + rows.sums),
           Argument::pointer(values + rows.means), Argument::pointer(values), Argument::pointer(values + 2),
           Argument::pointer(values + 8), Argument::pointer(others.data())});
      ASSERT_FALSE(fault) << fault->message;
      EXPECT_EQ(memory, all[0]) << rows.columns << " columns, pitch " << rows.pitch << ", sums at "
                                << rows.sums << ", means at " << rows.means;
    }
  }
}

// So it is with pieces whose ends each lane computes for itself; some are shorter than the first.
TEST(Launch, PiecesThatMeetAreGoneThroughInOrder) {
  constexpr std::uint32_t kItems = 64;
  constexpr std::size_t kBytes = 96 * 1024;
  std::vector<std::byte> original(kBytes);
  for (std::size_t n = 0; n < kBytes; ++n) original[n] = static_cast<std::byte>(n * n >> 5 & 0x3f);
  std::mt19937 random(149);
  const auto below = [&](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
  for (unsigned n = 0; n < 80; ++n) {
    const std::uint32_t piece = 9 + below(40), missing = below(2) == 0 ? 0 : below(3 * piece);
    const std::uint32_t end = kItems * piece;
    // In front of or behind what is loaded, or a few elements from it.
    const auto place = [&](std::uint32_t bytes) -> std::ptrdiff_t {
      const std::ptrdiff_t near = 8 * (static_cast<std::ptrdiff_t>(below(9)) - 4);
      return below(2) == 0 ? near : near + static_cast<std::ptrdiff_t>(end * bytes);
    };
    const std::ptrdiff_t y = place(4), out = place(4), longs = place(8), means = place(4);
    std::vector<std::vector<std::byte>> all;
    for (const DeviceOptions& options : engines()) {
      std::vector<std::byte>& memory = all.emplace_back(original);
      std::vector<float> sums(kItems);
      std::byte* x = memory.data() + 8192;
      const auto fault = fault_of(
          options, "pieces", kItems,
          {Argument::value(end - missing), Argument::value(piece), Argument::value(0.75f),
           Argument::pointer(x), Argument::pointer(x + y), Argument::pointer(x), Argument::pointer(x + out),
           Argument::pointer(x + longs), Argument::pointer(x + means), Argument::pointer(sums.data())});
      ASSERT_FALSE(fault) << fault->message;
      EXPECT_EQ(memory, all[0]) << "pieces of " << piece << ", " << missing << " missing, y at " << y
                                << ", out at " << out << ", longs at " << longs << ", means at " << means;
    }
  }
}

// There, lanes of a gang are rounds of one lane.
TEST(Launch, ALaneWithAPieceBeyondTheEndFaultsAsItself) {
  constexpr std::uint32_t kItems = 64, kPiece = 40, kEnd = kItems * kPiece;
  for (const std::uint32_t missing : {3u, 20u, 39u, 40u + 17u}) {
    for (const DeviceOptions& options : engines()) {
      std::vector<std::byte> others(kEnd * 8);
      const auto y = Buffer::allocate(4096 * ((kEnd * 4 + 4095) / 4096));
      ASSERT_TRUE(y);
      const auto fault = fault_of(options, "pieces", kItems,
                                  {Argument::value(kEnd), Argument::value(kPiece), Argument::value(0.75f),
                                   Argument::pointer(others.data()),
                                   Argument::pointer(y->data() + y->size() - 4 * (kEnd - missing)),
                                   Argument::pointer(others.data()), Argument::pointer(others.data()),
                                   Argument::pointer(others.data()), Argument::pointer(others.data()),
                                   Argument::pointer(others.data())});
      ASSERT_TRUE(fault);
      const std::uint32_t lane = (kEnd - missing) / kPiece;
      // Where lanes go side by side, the next one may be the first to get there.
      EXPECT_GE(fault->lane, static_cast<int>(lane)) << fault->message;
      const std::uint64_t end = reinterpret_cast<std::uint64_t>(y->data()) + y->size();
      if (fault->lane == static_cast<int>(lane)) {
        EXPECT_EQ(fault->address, end) << fault->message;
      }
      if (missing < kPiece) {
        EXPECT_EQ(fault->lane, static_cast<int>(lane)) << fault->message;
      }
    }
  }
}

// Sums stay in registers for some rounds where nobody else gets to their place: wherever somebody does,
// results tell.
TEST(Launch, SumsThatAreReadMeanwhileAreUpToDate) {
  constexpr std::size_t kBytes = 64 * 1024;
  std::vector<std::byte> original(kBytes);
  for (std::size_t n = 0; n < kBytes; ++n) original[n] = static_cast<std::byte>(n * n >> 5 & 0x3f);
  struct Places {
    std::uint32_t width, columns;
    std::ptrdiff_t right, sums, hashes; ///< bytes behind `left`
  };
  std::vector<Places> cases = {
      {32, 12, 8192, 20000, 24000}, {32, 12, 8192, 20000, 20000}, {32, 12, 8192, 20000, 20004},
      {32, 12, 0, 20000, 20128},    {32, 12, 0, 20000, 20252},    {32, 12, 0, 92, 24000},
      {32, 12, 0, 96, 24000},       {32, 12, 0, -256, 1536},      {32, 12, 0, -252, 1536},
      {32, 12, 0, -256, 1532},      {0, 12, 8192, 20000, 24000},  {1, 12, 8192, 20000, 24000},
      {31, 12, 8192, 20000, 24000}, {32, 0, 8192, 20000, 24000},  {32, 7, 8192, 20000, 24000}};
  std::mt19937 random(145);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (unsigned n = 0; n < 60; ++n) {
    const int columns = between(9, 40);
    const auto offset = [&] {
      return 4 * (random() % 3 == 0 ? 32 * columns + between(-8, 8) : between(-600, 600));
    };
    cases.push_back({32, static_cast<std::uint32_t>(columns), offset(), offset(), offset()});
  }
  for (const auto block : {std::array{32u, 2u, 1u}, std::array{64u, 1u, 1u}}) {
    LaunchConfig config;
    config.grid = config.block = block; // one wave, whose order is known
    for (const Places& places : cases) {
      std::vector<std::vector<std::byte>> all;
      for (const DeviceOptions& options : engines()) {
        std::vector<std::byte>& memory = all.emplace_back(original);
        std::byte* left = memory.data() + 24000;
        const auto result =
            load_kernel(options, "row_sums")
                .launch(config,
                        {Argument::value(places.width * block[0] / 32), Argument::value(places.columns),
                         Argument::pointer(left), Argument::pointer(left + places.right),
                         Argument::pointer(left + places.sums), Argument::pointer(left + places.hashes)});
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(memory, all[0]) << places.width << " wide, " << places.columns << " columns, right at "
                                  << places.right << ", sums at " << places.sums << ", hashes at "
                                  << places.hashes;
      }
    }
  }
}

// A row's elements do not follow one another where its index wraps.
TEST(Launch, IndicesOfRowsWrap) {
  constexpr std::uint32_t kRows = 64, kColumns = 40;
  constexpr std::size_t kWrap = std::size_t{1} << 32, kEnd = 4096;
  const auto reserve = [] {
    void* all = ::mmap(nullptr, kWrap + kEnd, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return all == MAP_FAILED ? nullptr : static_cast<std::byte*>(all);
  };
  std::byte *bytes = reserve(), *marks = reserve();
  if (bytes == nullptr || marks == nullptr) GTEST_SKIP() << "no address space for two arrays of 4 GB";
  for (std::size_t n = 0; n < 2 * kEnd; ++n)
    bytes[(kWrap - kEnd + n) % kWrap] = static_cast<std::byte>(n * n >> 4);
  for (const std::uint32_t before : {0u, 20u, 300u, 1291u, kRows * kColumns}) {
    std::vector<std::vector<std::uint32_t>> all;
    std::vector<std::vector<std::byte>> marked;
    for (const DeviceOptions& options : engines()) {
      std::vector<std::uint32_t>& digests = all.emplace_back(kRows);
      const auto fault =
          fault_of(options, "indexed_rows", kRows,
                   {Argument::value(kRows), Argument::value(kColumns), Argument::value(0 - before),
                    Argument::pointer(bytes), Argument::pointer(marks), Argument::pointer(digests.data())});
      ASSERT_FALSE(fault) << fault->message;
      EXPECT_EQ(digests, all[0]) << before << " before the end";
      std::vector<std::byte>& now = marked.emplace_back();
      for (std::size_t n = 0; n < 2 * kEnd; ++n) {
        std::byte& mark = marks[(kWrap - kEnd + n) % kWrap];
        now.push_back(std::exchange(mark, std::byte{}));
      }
      EXPECT_EQ(now, marked[0]) << before << " before the end";
    }
  }
  ::munmap(bytes, kWrap + kEnd);
  ::munmap(marks, kWrap + kEnd);
}

// Rows of the table are loaded whole, but the fault is a lane's.
TEST(Launch, ALaneOutsideASmallTableFaultsAsItself) {
  constexpr std::uint32_t kItems = 64;
  std::vector<std::uint32_t> in(kItems), out(kItems);
  std::vector<float> sums(kItems);
  for (std::uint32_t n = 0; n < kItems; ++n) in[n] = n + 3;
  for (const DeviceOptions& options : engines()) {
    auto table = Buffer::allocate(4096);
    ASSERT_TRUE(table);
    const auto* end = table->data() + table->size();
    const auto fault = fault_of(options, "constant_tables", kItems,
                                {Argument::pointer(end), Argument::pointer(in.data()),
                                 Argument::pointer(out.data()), Argument::pointer(sums.data())});
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->address, reinterpret_cast<std::uint64_t>(end) + 4 * 3) << fault->message;
    EXPECT_EQ(fault->lane, 0) << fault->message;
  }
}

// Bytes of one message are loaded together: not beyond the page that the last of them is in, from wherever
// messages begin, and a byte that cannot be loaded is named as it is.
TEST(Launch, MessagesEndWithTheirPage) {
  constexpr std::uint32_t kItems = 64, kRecord = 64;
  auto text = Buffer::allocate(8192);
  ASSERT_TRUE(text);
  auto* bytes = reinterpret_cast<std::uint8_t*>(text->data());
  for (std::uint32_t n = 0; n < 8192; ++n) bytes[n] = static_cast<std::uint8_t>(n * 37 + n / 256);
  std::vector<std::uint32_t> lengths(kItems);
  const auto launch = [&](const DeviceOptions& options, std::uint32_t from_end,
                          std::vector<std::uint32_t>& out) {
    return fault_of(options, "md5", kItems,
                    {Argument::value(kItems), Argument::pointer(text->data() + text->size() - from_end),
                     Argument::pointer(lengths.data()), Argument::pointer(out.data())});
  };
  for (const std::uint32_t last : {1u, 3u, 4u, 16u, 30u, 32u, 45u, 55u}) {
    for (std::uint32_t n = 0; n < kItems; ++n) lengths[n] = n * 7 % 56;
    lengths.back() = last;
    std::vector<std::uint32_t> expected(4 * kItems), out(4 * kItems);
    for (const std::uint32_t more : {0u, 1u, 2u, 4u, 16u}) {
      const std::uint32_t from_end = (kItems - 1) * kRecord + last + more;
      ASSERT_FALSE(launch(engines().front(), from_end, expected));
      for (const DeviceOptions& options : engines()) {
        ASSERT_FALSE(launch(options, from_end, out)) << last << " bytes and " << more;
        EXPECT_EQ(out, expected) << last << " bytes and " << more;
      }
    }
    // As many bytes as are there of the last message in whole pieces, and one more.
    const std::uint32_t there = last / 16 * 16;
    lengths.back() = there + 1;
    for (const DeviceOptions& options : engines()) {
      const auto fault = launch(options, (kItems - 1) * kRecord + there, out);
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->address, reinterpret_cast<std::uint64_t>(text->data()) + text->size())
          << fault->message;
      EXPECT_EQ(fault->lane, static_cast<int>(kItems) - 1) << fault->message;
      EXPECT_NE(fault->instruction.find("load_ubyte"), std::string::npos) << fault->message;
    }
  }
}

// Where a gang's messages lie in one page, lanes load there that need not, but none of them is the one named.
TEST(Launch, AMessageInAMissingPageIsNamed) {
  constexpr std::uint32_t kItems = 64, kLane = 5;
  auto text = Buffer::allocate(4096);
  ASSERT_TRUE(text);
  const auto* end = text->data() + text->size();
  std::vector<std::uint32_t> lengths(kItems, 40), out(4 * kItems);
  std::fill_n(lengths.begin(), kLane, 0);
  for (const DeviceOptions& options : engines()) {
    const auto fault = fault_of(options, "md5", kItems,
                                {Argument::value(kItems), Argument::pointer(end),
                                 Argument::pointer(lengths.data()), Argument::pointer(out.data())});
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->address, reinterpret_cast<std::uint64_t>(end) + 64 * kLane) << fault->message;
    EXPECT_EQ(fault->lane, static_cast<int>(kLane)) << fault->message;
  }
}

TEST(Launch, WrongArgumentsAreUsageErrors) {
  DeviceOptions options;
  options.engine = Engine::Interp;
  const Saxpy saxpy(options);
  const auto refused = [&](const LaunchConfig& config, std::initializer_list<Argument> arguments) {
    auto times = saxpy.kernel.launch(config, arguments);
    return !times && times.error().code == ErrorCode::Usage;
  };
  const Argument n = Argument::value(0u), a = Argument::value(1.0f), p = Argument::pointer(nullptr);
  LaunchConfig good;
  EXPECT_TRUE(saxpy.kernel.launch(good, {n, a, p, p}));
  EXPECT_TRUE(refused(good, {n, a, p}));
  EXPECT_TRUE(refused(good, {n, a, p, p, p}));
  EXPECT_TRUE(refused(good, {p, a, p, p}));
  EXPECT_TRUE(refused(good, {n, a, Argument::lds(64), p}));
  EXPECT_TRUE(refused(good, {n, a, p, p, Argument::lds(64), p}));
  EXPECT_TRUE(saxpy.kernel.launch(good, {n, a, p, p, Argument::lds(32 << 10)}));
  EXPECT_TRUE(refused(good, {n, a, p, p, Argument::lds(1 << 20)}));
  LaunchConfig empty;
  empty.block = {0, 1, 1};
  EXPECT_TRUE(refused(empty, {n, a, p, p}));
  LaunchConfig large;
  large.block = {32, 32, 2};
  EXPECT_TRUE(refused(large, {n, a, p, p}));
}

TEST(Launch, VariablesAreWrittenBetweenLaunches) {
  for (const DeviceOptions& options : engines()) {
    auto device = Device::create(options);
    ASSERT_TRUE(device);
    auto module = device->load_file(code_object("gfx906/hip_shared.O3.co"));
    ASSERT_TRUE(module) << module.error().message;
    auto weights = module->variable("weights"), launches = module->variable("launches");
    ASSERT_TRUE(weights && launches);
    ASSERT_EQ(weights->size(), 16u);
    auto kernel = module->kernel("hip_shared");
    ASSERT_TRUE(kernel);
    const std::uint32_t in = 10;
    for (std::uint32_t run = 1; run < 4; ++run) {
      std::memcpy(weights->data(), &run, sizeof run);
      std::uint32_t out = 0, count = 0;
      ASSERT_TRUE(kernel->launch({}, {Argument::pointer(&in), Argument::pointer(&out), Argument::lds(4)}));
      EXPECT_EQ(out, 10 * run + 1);
      std::memcpy(&count, launches->data(), sizeof count);
      EXPECT_EQ(count, run);
    }
    EXPECT_EQ(module->variable("nothing").error().code, ErrorCode::NotFound);
    EXPECT_EQ(module->variable("hip_shared").error().code, ErrorCode::NotFound);
    EXPECT_EQ(module->variable("steps").error().code, ErrorCode::Unsupported);
  }
}

TEST(Launch, ManyThreadsShareADevice) {
  for (const DeviceOptions& options : engines()) {
    const Saxpy saxpy(options);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int repeat = 0; repeat < 5; ++repeat) {
          std::vector<float> x(2000, static_cast<float>(t)), y(2000, 1.0f);
          if (!saxpy.run(x.data(), y.data(), 2000) ||
              y != std::vector<float>(2000, 2.0f * static_cast<float>(t) + 1))
            ++wrong;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Launch, LoadingNamesWhatIsWrong) {
  auto device = Device::create({.engine = Engine::Interp});
  ASSERT_TRUE(device);
  EXPECT_EQ(device->load_file("/nowhere").error().code, ErrorCode::BadInput);
  EXPECT_EQ(device->load({}).error().code, ErrorCode::BadInput);
  auto bundle = device->load_file(code_object("multi.O2.hipfb"), "gfx803");
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->target(), "gfx803");
  EXPECT_EQ(bundle->kernel_names().size(), 7u);
  auto missing = bundle->kernel("nothing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().message.find("mandelbrot"), std::string::npos);
  EXPECT_FALSE(device->load_file(code_object("multi.O2.hipfb"), "gfx1030"));
  EXPECT_TRUE(device->load_file(code_object("multi.O2.hipfb"), "gfx803", "saxpy"));
  EXPECT_EQ(device->load_file(code_object("multi.O2.hipfb"), "gfx803", "nothing").error().code,
            ErrorCode::NotFound);
}

} // namespace
} // namespace lanewise
