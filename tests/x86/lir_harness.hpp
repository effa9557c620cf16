// Runs small LIR programs natively on a frame of their own.
#pragma once

#include "translator/x86/emit.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>

namespace lanewise::x86 {

/// A frame with `kSlotBytes` of value slots behind the header, 64-byte aligned.
class TestFrame {
public:
  static constexpr std::size_t kSlotBytes = 64 * 1024;
  TestFrame() : data_(static_cast<u8*>(std::aligned_alloc(64, runtime::kFrameSlots + kSlotBytes))) {
    std::memset(data_, 0, runtime::kFrameSlots + kSlotBytes);
  }
  ~TestFrame() { std::free(data_); }
  TestFrame(const TestFrame&) = delete;
  TestFrame& operator=(const TestFrame&) = delete;

  runtime::WaveFrame& header() { return *reinterpret_cast<runtime::WaveFrame*>(data_); }
  template <class T>
  T& slot(std::size_t byte) {
    return *reinterpret_cast<T*>(data_ + runtime::kFrameSlots + byte);
  }
  u8* data() { return data_; }

private:
  u8* data_;
};

/// A program ready to run.
struct CompiledCode {
  PlacedCode code;
  AllocStats stats;
  std::string listing;
};

/// Runs the one wave in `frame`.
inline runtime::StopReason run(const CompiledCode& compiled, u8* frame) {
  runtime::WaveRow row = {frame, frame + 64, 64};
  const u32 mxcsr = _mm_getcsr();
  compiled.code.run(row);
  _mm_setcsr(mxcsr);
  return static_cast<runtime::StopReason>(std::countr_zero(row.reasons));
}

/// [frame + slots + byte]
inline Operand frame(i64 byte, View view = View::Full) {
  return mem(kFrame, runtime::kFrameSlots + byte, view);
}

inline bool host_runs(bool avx512) {
  return avx512 ? __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
                : __builtin_cpu_supports("avx2");
}

/// A module with one part that is also its entry.
struct Program {
  explicit Program(bool avx512) {
    module.name = "test";
    module.avx512 = avx512;
    module.resume_points = {module.add_part("main")};
  }
  std::unique_ptr<CompiledCode> compile(EmitOptions options = {}) {
    options.verify = true;
    auto code = assemble(module, options);
    EXPECT_TRUE(code.ok()) << (code.ok() ? "" : code.error().message) << "\n"
                           << print(module, *module.parts[0]);
    if (!code) return nullptr;
    auto placed = PlacedCode::create(std::move(code->code));
    EXPECT_TRUE(placed.ok());
    return std::make_unique<CompiledCode>(CompiledCode{std::move(*placed), code->stats, code->listing});
  }
  Module module;
};

/// Every test runs in both modes.
class LirTest : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (!host_runs(GetParam())) GTEST_SKIP() << "the host lacks the instructions";
  }
  [[nodiscard]] u32 width() const { return GetParam() ? 64 : 32; }
};

} // namespace lanewise::x86
