// A guest program as a list of lines that can be taken out one by one, with the state it starts in.
#pragma once

#include "isa/op.hpp"
#include "support/result.hpp"
#include "tests/image_words.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace lanewise::differential {

using isa::Target;

/// One instruction or label, or some instructions that make no sense without each other.
struct Line {
  std::string text;       ///< "L3:", a branch to a label, or instructions in assembler syntax
  std::vector<u32> words; ///< its encoding; empty for labels and branches, which assemble() resolves
  u32 group = 0;          ///< lines of one group (not 0) go together: the parts of a loop that make it end
};

/// Registers and memory of the state that programs work on. Generators keep to these; the frame of each
/// program (see assemble()) sets them up and stores them in the end.
///   v0..v15    random values                        s[0:1]    this wave's region
///   v16        byte offset into the data, v17 = 0   s[2:3]    the data
///   v[18:19]   address in the data                  s[4:7]    buffer: this wave's region
///   v20        byte offset into scratch             s[8:11]   buffer: the data with a stride
///   v21        lane * 4                             s[12:15]  buffer: the data
///   v24..v31   loop counters                        s16..s31  random values
///   v22, v23   left to the frame, to addresses      s46, s47  small offsets, multiples of 4
///   s[48:49]   data for scalar accesses, whose cache is not coherent with vector ones; s[52:55] as a buffer
///   v32..v41   places in images (WaveState::places)  s56..s79  saved masks, s80..s95 loop counters
inline constexpr unsigned kValueVgprs = 16, kFirstValueSgpr = 16, kValueSgprs = 16;
inline constexpr unsigned kOffsetVgpr = 16, kAddressVgpr = 18, kScratchVgpr = 20, kSmallOffsetSgpr = 46;
inline constexpr unsigned kPlaceVgpr = 32, kWholePlaces = 0, kNormalisedPlaces = 3, kTexelPlaces = 6,
                          kLevelPlace = 9;
inline constexpr unsigned kScalarDataSgpr = 48, kScalarBufferSgpr = 52;
/// Last word of a V# that converts nothing: x y z w, 32 bits, float.
inline constexpr u32 kPlainFormat = 0x0002'4fac;
inline constexpr u32 kDataBytes = 4096, kLdsBytes = 4096, kGdsBytes = 4096, kScratchBytesPerLane = 256;

/// What a wave starts with, in the order in which the frame's prologue loads it.
struct WaveState {
  std::array<std::array<u32, kWaveSize>, 21> vgprs{};
  std::array<u32, kValueSgprs> sgprs{};
  u64 exec = ~u64{0}, vcc = 0;
  bool scc = false;
  u32 m0 = ~0u;
  u32 small_offsets[2] = {};
  /// Of programs with images: whole coordinates, normalised ones, others, and a level.
  std::array<std::array<u32, kWaveSize>, 10> places{};
};

/// The images and samplers that a program reaches; an image's base counts from the data.
struct Images {
  std::array<ImageFields, 2> images;
  std::array<SamplerFields, 4> samplers;
};

struct Program {
  Target target{};
  u32 mode = 0;
  u32 format = kPlainFormat; ///< last word of the buffer with a stride
  u64 seed = 0;
  std::optional<Images> images;
  u32 other_images = 0; ///< runs that the translation is good for besides, on other images and states
  /// Private memory is also accessed at constant addresses: nobody can tell what is in it in the end.
  bool private_values = false;
  std::vector<Line> lines;
  std::vector<WaveState> waves{1};
  std::vector<u8> data = std::vector<u8>(kDataBytes), lds = std::vector<u8>(kLdsBytes);
};

/// A line from assembler syntax.
Line line(Target target, std::string text, u32 group = 0);

/// The machine code: prologue, lines, epilogue, s_endpgm.
Result<std::vector<u32>> assemble(const Program& program);

/// The lines, for reports; and images.
std::string listing(const Images& images);
std::string listing(const Program& program);

} // namespace lanewise::differential
