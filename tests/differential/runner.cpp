#include "tests/differential/runner.hpp"

#include "abi/initial_state.hpp"
#include "runtime/deferred_adds.hpp"
#include "runtime/interp/interp.hpp"
#include "tests/differential/memory_map.hpp"
#include "tests/differential/random_image.hpp"
#include "translator/translator.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace lanewise::differential {
namespace {

using runtime::StopReason;
using runtime::WaveEngine;

/// What a program leaves behind.
struct Outcome {
  std::vector<u8> arena, lds, gds, scratch;
  std::vector<StopReason> stops;
};

/// The one place that programs work on: the same addresses for every engine, since addresses get into
/// registers.
struct Surroundings {
  alignas(256) u8 arena[kArenaBytes]; // images begin at multiples of 256
  alignas(64) u8 lds[kLdsBytes + 64];
  alignas(64) u8 scratch[kMaxWaves * kScratchBytesPerLane * kWaveSize];
  alignas(64) u8 gds[kGdsBytes + 64];
};

Surroundings& surroundings() {
  static Surroundings all;
  return all;
}

u64 address(const void* p) { return reinterpret_cast<u64>(p); }

void put_resource(u32* words, u64 base, u32 stride, u32 records, u32 format = kPlainFormat) {
  words[0] = static_cast<u32>(base);
  words[1] = static_cast<u32>(base >> 32) | stride << 16;
  words[2] = records;
  words[3] = format;
}

void put_images(const Program& program, u8* region, const WaveState& state) {
  std::memcpy(region + kPlacesIn, state.places.data(), sizeof state.places);
  for (unsigned n = 0; n < program.images->images.size(); ++n) {
    ImageFields image = program.images->images[n];
    image.base += address(surroundings().arena + kData);
    const auto words = image_words(program.target, image);
    std::memcpy(region + kImagesIn + n * sizeof words, words.data(), sizeof words);
  }
  for (unsigned n = 0; n < program.images->samplers.size(); ++n) {
    const auto words = sampler_words(program.images->samplers[n]);
    std::memcpy(region + kSamplersIn + n * sizeof words, words.data(), sizeof words);
  }
}

void prepare(const Program& program) {
  Surroundings& s = surroundings();
  std::memset(&s, 0, sizeof s);
  std::memcpy(s.arena + kData, program.data.data(), kDataBytes);
  std::memcpy(s.arena + kScalarData, program.data.data(), kDataBytes);
  std::memcpy(s.lds, program.lds.data(), kLdsBytes);
  std::memcpy(s.gds, program.lds.data(), kGdsBytes);
  for (u32 wave = 0; wave < program.waves.size(); ++wave) {
    const WaveState& state = program.waves[wave];
    u8* region = s.arena + wave * kRegionBytes;
    std::memcpy(region + kSgprsIn, state.sgprs.data(), sizeof state.sgprs);
    u32 specials[16] = {static_cast<u32>(state.exec), static_cast<u32>(state.exec >> 32),
                        static_cast<u32>(state.vcc),  static_cast<u32>(state.vcc >> 32),
                        state.scc ? 1u : 0u,          state.m0,
                        state.small_offsets[0],       state.small_offsets[1]};
    store_le(&specials[8], address(s.arena + kScalarData));
    put_resource(&specials[12], address(s.arena + kScalarData), 0, kDataBytes);
    std::memcpy(region + kSpecialsIn, specials, sizeof specials);
    std::memcpy(region + kVgprsIn, state.vgprs.data(), sizeof state.vgprs);
    if (program.images) put_images(program, region, state);
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      u8* first = region + kVgprsIn + kAddressVgpr * 256 + lane * 4;
      const u64 at = address(s.arena + kData) + state.vgprs[kAddressVgpr][lane];
      store_le(first, static_cast<u32>(at));
      store_le(first + 256, static_cast<u32>(at >> 32));
    }
  }
}

abi::WaveInit initial(const Program& program, u32 wave) {
  Surroundings& s = surroundings();
  abi::WaveInit init;
  const u64 region = address(s.arena + wave * kRegionBytes), data = address(s.arena + kData);
  store_le(&init.sgpr[0], region);
  store_le(&init.sgpr[2], data);
  put_resource(&init.sgpr[4], region, 0, kRegionBytes);
  put_resource(&init.sgpr[8], data, 16, program.target == Target::gfx803 ? kDataBytes : kDataBytes / 16,
               program.format);
  put_resource(&init.sgpr[12], data, 0, kDataBytes);
  init.sgpr_count = 16;
  init.lanes = kWaveSize;
  init.exec = ~u64{0};
  init.mode = program.mode;
  init.flat_scratch = abi::flat_scratch_value(program.target, address(s.scratch),
                                              wave * kScratchBytesPerLane * kWaveSize, kScratchBytesPerLane);
  for (u32 lane = 0; lane < kWaveSize; ++lane) init.vgpr[0][lane] = lane;
  return init;
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};

/// A program's waves at their start, and the memory that they work on.
class Waves {
public:
  Waves(const Program& program, const WaveEngine& engine) : engine_(engine) {
    prepare(program);
    Surroundings& s = surroundings();
    group_.lds = s.lds;
    group_.lds_bytes = kLdsBytes;
    group_.gds = s.gds;
    group_.gds_bytes = kGdsBytes;
    group_.scratch = s.scratch;
    group_.scratch_wave_bytes = kScratchBytesPerLane * kWaveSize;
    deferred_.clear();
    group_.deferred_adds = &deferred_;
    for (u32 wave = 0; wave < program.waves.size(); ++wave) {
      frames_.emplace_back(std::aligned_alloc(64, engine.frame_bytes()));
      std::memset(frames_.back().get(), 0xa5, engine.frame_bytes());
      engine.start(frames_.back().get(), initial(program, wave), group_, wave);
    }
  }
  [[nodiscard]] void* frame(u32 wave) const { return frames_[wave].get(); }
  void flush() { deferred_.flush(engine_.deferred_add_bytes()); }

private:
  const WaveEngine& engine_;
  runtime::WorkgroupContext group_;
  runtime::DeferredAdds deferred_;
  std::vector<std::unique_ptr<void, Free>> frames_;
};

Outcome run(const Program& program, const WaveEngine& engine) {
  Waves all(program, engine);
  const auto waves = static_cast<u32>(program.waves.size());
  Outcome out;
  out.stops.assign(waves, StopReason::Barrier);
  for (bool alive = true; alive;) {
    alive = false;
    for (u32 wave = 0; wave < waves; ++wave) {
      if (out.stops[wave] != StopReason::Barrier) continue;
      out.stops[wave] = run_wave(engine, all.frame(wave)).reason;
      alive = true;
    }
  }
  all.flush();
  const Surroundings& s = surroundings();
  out.arena.assign(s.arena, s.arena + kArenaBytes);
  out.lds.assign(s.lds, s.lds + kLdsBytes);
  out.gds.assign(s.gds, s.gds + kGdsBytes);
  out.scratch.assign(std::begin(s.scratch), std::end(s.scratch));
  return out;
}

/// The fault that ends the first wave.
runtime::HostFault fault_of(const Program& program, const WaveEngine& engine) {
  const Waves waves(program, engine);
  auto* const frame = static_cast<u8*>(waves.frame(0));
  runtime::GuestPosition position{&engine, {frame, frame + engine.frame_bytes(), engine.frame_bytes()}};
  return runtime::run_guarded(
      position,
      [](void* p) {
        auto& at = *static_cast<runtime::GuestPosition*>(p);
        at.engine->run(at.row);
      },
      &position);
}

/// The name of a dword of a wave's output.
std::string place(u32 offset) {
  if (offset >= kScalarData) return fmt::format("scalar data[{:#x}]", offset - kScalarData);
  if (offset >= kData) return fmt::format("data[{:#x}]", offset - kData);
  const u32 wave = offset / kRegionBytes, at = offset % kRegionBytes;
  if (at >= kSgprsOut) {
    constexpr const char* kNames[] = {"exec_lo", "exec_hi", "vcc_lo", "vcc_hi", "scc", "m0"};
    const u32 n = (at - kSgprsOut) / 4;
    return fmt::format("wave {} {}", wave,
                       n < 16   ? fmt::format("s{}", n + 16)
                       : n < 22 ? kNames[n - 16]
                                : "?");
  }
  if (at >= kVgprsOut) return fmt::format("wave {} v{} lane {}", wave, (at - kVgprsOut) / 256, at / 4 % 64);
  return fmt::format("wave {} input {:#x}", wave, at);
}

template <class Name>
void differences(const std::vector<u8>& a, const std::vector<u8>& b, Name name, std::string& text) {
  unsigned shown = 0;
  for (u32 at = 0; at < a.size(); at += 4) {
    const u32 x = load_le<u32>(&a[at]), y = load_le<u32>(&b[at]);
    if (x != y && ++shown <= 8) text += fmt::format("  {}: {:#010x}, interpreted {:#010x}\n", name(at), y, x);
  }
  if (shown > 8) text += fmt::format("  ... {} dwords in all\n", shown);
}

std::string compare(const Program& program, const Outcome& expected, const Outcome& got, const char* engine) {
  std::string text;
  for (u32 wave = 0; wave < expected.stops.size(); ++wave)
    if (expected.stops[wave] != got.stops[wave])
      text += fmt::format("  wave {} stops for reason {}, interpreted {}\n", wave,
                          static_cast<u32>(got.stops[wave]), static_cast<u32>(expected.stops[wave]));
  differences(expected.arena, got.arena, place, text);
  differences(
      expected.lds, got.lds, [](u32 at) { return fmt::format("lds[{:#x}]", at); }, text);
  differences(
      expected.gds, got.gds, [](u32 at) { return fmt::format("gds[{:#x}]", at); }, text);
  if (!program.private_values)
    differences(
        expected.scratch, got.scratch, [](u32 at) { return fmt::format("scratch[{:#x}]", at); }, text);
  return text.empty() ? text : fmt::format("{}:\n{}", engine, text);
}

/// What the translator gets to know.
translator::KernelSource source_of(const Program& program, std::span<const u32> code) {
  translator::KernelSource source;
  source.name = "program";
  source.target = program.target;
  source.code = {reinterpret_cast<const u8*>(code.data()), code.size_bytes()};
  source.entry = address(code.data());
  source.initial_sgprs.resize(16);
  source.mode = program.mode;
  source.lds_bytes = kLdsBytes;
  source.private_bytes_per_lane = kScratchBytesPerLane;
  return source;
}

Result<std::unique_ptr<WaveEngine>> interpreter_of(const Program& program, std::span<const u32> code) {
  const runtime::InterpreterCode range{address(code.data()), code.size_bytes()};
  return runtime::make_interpreter(
      {.target = program.target, .code = {&range, 1}, .entry = range.address, .vgprs = 256});
}

/// What is true of the initial state: work-item ids are rows of a wave each. Of some programs less is told.
translator::LaunchFacts facts_of(const Program& program) {
  translator::LaunchFacts facts;
  const auto waves = static_cast<u32>(program.waves.size());
  facts.ragged = {};
  if (program.seed % 8 == 2) {
    facts.row_multiple = waves == 1 ? kWaveSize : 16;
    facts.rows_only = waves == 1;
  } else {
    facts.workgroup = {kWaveSize, waves, 1};
  }
  facts.sgpr_max.assign(16, 0);
  for (u32 wave = 0; wave < waves; ++wave) {
    const abi::WaveInit init = initial(program, wave);
    for (u32 i = 0; i < 16; ++i) facts.sgpr_max[i] = std::max(facts.sgpr_max[i], init.sgpr[i]);
  }
  return facts;
}

} // namespace

std::array<std::array<u32, kWaveSize>, kValueVgprs> interpreted_vgprs(const Program& program, u32 wave) {
  const auto code = assemble(program);
  const Outcome outcome = run(program, **interpreter_of(program, *code));
  std::array<std::array<u32, kWaveSize>, kValueVgprs> vgprs;
  std::memcpy(&vgprs, &outcome.arena[wave * kRegionBytes + kVgprsOut], sizeof vgprs);
  return vgprs;
}

std::string disagreement(const Program& program, bool* unsupported) {
  const auto code = assemble(program);
  if (!code) return code.error().message + "\n";
  auto interpreter = interpreter_of(program, *code);
  if (!interpreter) return interpreter.error().message;
  std::vector<Program> variants = {program};
  Random random(program.seed);
  for (u32 n = 0; n < program.other_images; ++n) variants.push_back(with_other_images(program, random));
  std::vector<Outcome> expected;
  for (const Program& variant : variants) expected.push_back(run(variant, **interpreter));
  const bool verify = program.seed % 8 == 0;                      // the checks take as long as the rest
  const unsigned interleave = (1u << (program.seed / 2 % 4)) % 8; // 1, 2, 4, or as the translator likes
  std::string text;
  for (const StopReason stop : expected[0].stops)
    if (stop != StopReason::End)
      text += fmt::format("the interpreter stops for reason {}\n", static_cast<u32>(stop));
  for (const auto simd : {translator::Simd::Avx2, translator::Simd::Avx512}) {
    if (!translator::host_supports(simd)) continue;
    const char* name = simd == translator::Simd::Avx2 ? "AVX2" : "AVX-512";
    const auto facts = program.seed % 2 == 0 ? facts_of(program) : translator::LaunchFacts{};
    auto engine = translator::translate_and_load(
        source_of(program, *code),
        {.simd = simd, .interleave = interleave, .verify = verify, .launch = facts, .dump = {}}, nullptr);
    if (!engine && engine.error().code == ErrorCode::Unsupported) {
      if (unsupported != nullptr) *unsupported = true;
      return {};
    }
    if (!engine) {
      text += fmt::format("{}: {}\n", name, engine.error().message);
      continue;
    }
    for (std::size_t n = 0; n < variants.size(); ++n) {
      const std::string more = compare(variants[n], expected[n], run(variants[n], **engine), name);
      text += more;
      if (more.empty() || n == 0) continue;
      text += fmt::format("on other images, exec {:#x}:\n{}", variants[n].waves[0].exec,
                          listing(*variants[n].images));
      break;
    }
  }
  return text;
}

std::vector<std::pair<std::string, runtime::HostFault>> faults(const Program& program) {
  const auto code = assemble(program);
  std::vector<std::pair<std::string, runtime::HostFault>> all;
  all.emplace_back("interpreter", fault_of(program, **interpreter_of(program, *code)));
  for (const auto simd : {translator::Simd::Avx2, translator::Simd::Avx512}) {
    if (!translator::host_supports(simd)) continue;
    auto engine = translator::translate_and_load(source_of(program, *code),
                                                 {.simd = simd, .launch = {}, .dump = {}}, nullptr);
    if (engine)
      all.emplace_back(simd == translator::Simd::Avx2 ? "AVX2" : "AVX-512", fault_of(program, **engine));
    else
      all.emplace_back(engine.error().message, runtime::HostFault{});
  }
  return all;
}

} // namespace lanewise::differential
