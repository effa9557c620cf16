// Images that cannot be accessed are the same fault on all engines: at the instruction, of an active lane,
// and at the address that says what is wrong with the image.
#include "tests/differential/random_image.hpp"
#include "tests/differential/random_state.hpp"
#include "tests/differential/runner.hpp"

#include <bit>
#include <csignal>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

using isa::Op;
using runtime::ImageProblem;

struct Inaccessible {
  ImageProblem problem;
  void (*spoil)(ImageFields& image, SamplerFields& sampler);
  std::vector<Op> ops;
};

const std::vector<Op> kPlain = {Op::image_load, Op::image_store_mip, Op::image_atomic_add, Op::image_sample,
                                Op::image_sample_c_d_o};

const Inaccessible kInaccessible[] = {
    {ImageProblem::Type, [](ImageFields& f, SamplerFields&) { f.type = 0; }, kPlain},
    {ImageProblem::Type, [](ImageFields& f, SamplerFields&) { f.type = kImageCube; }, kPlain},
    {ImageProblem::Type, [](ImageFields& f, SamplerFields&) { f.type = 15, f.is_linear = false; }, kPlain},
    {ImageProblem::Type, [](ImageFields& f, SamplerFields&) { f.type = kImage3D; }, {Op::image_gather4}},
    {ImageProblem::Type, [](ImageFields& f, SamplerFields&) { f.type = kImage1D; }, {Op::image_gather4_c_lz}},
    {ImageProblem::Layout, [](ImageFields& f, SamplerFields&) { f.is_linear = false, f.last_level = 2; },
     kPlain},
    {ImageProblem::Levels, [](ImageFields& f, SamplerFields&) { f.last_level = 2, f.data_format = 0; },
     kPlain},
    {ImageProblem::Levels, [](ImageFields& f, SamplerFields&) { f.base_level = 1; }, kPlain},
    {ImageProblem::DataFormat, [](ImageFields& f, SamplerFields&) { f.data_format = 0; }, kPlain},
    {ImageProblem::DataFormat, [](ImageFields& f, SamplerFields&) { f.data_format = 15; }, kPlain},
    {ImageProblem::DataFormat, [](ImageFields& f, SamplerFields&) { f.data_format = 36; }, kPlain},
    {ImageProblem::NumberFormat, [](ImageFields& f, SamplerFields&) { f.number_format = 6; }, kPlain},
    {ImageProblem::NumberFormat, [](ImageFields& f, SamplerFields&) { f.number_format = 9; }, kPlain},
    {ImageProblem::Compression, [](ImageFields& f, SamplerFields&) { f.is_compressed = true; }, kPlain},
    {ImageProblem::Sampler,
     [](ImageFields&, SamplerFields& s) { s.filter_mode = 2; },
     {Op::image_sample, Op::image_gather4}},
    {ImageProblem::Sampler,
     [](ImageFields&, SamplerFields& s) { s.border = 3, s.clamp[0] = 4; },
     {Op::image_sample, Op::image_gather4}},
    {ImageProblem::AtomicSize,
     [](ImageFields& f, SamplerFields&) { f.data_format = 2; },
     {Op::image_atomic_add}},
    {ImageProblem::AtomicSize,
     [](ImageFields& f, SamplerFields&) { f.data_format = 11; },
     {Op::image_atomic_smax}},
};

bool is_write(Op op) { return isa::row_of(op).memory.store; }

/// The instruction at places of a good image, which is then spoilt.
Program program_of(Target target, const Inaccessible& c, Op op, u64 seed) {
  Random random(seed);
  Program program;
  program.target = target;
  program.waves[0] = random_wave(random);
  program.waves[0].exec = 0x5ed172bd9ce55b1c << seed % 8;
  randomize_images(program, random);
  for (ImageFields& f : program.images->images) {
    f = {.width = 4, .height = 4, .pitch = 4};
    program.images->samplers[0] = {};
    c.spoil(f, program.images->samplers[0]);
  }
  const bool samples = isa::row_of(op).src[2].present(), gfx7 = target <= Target::gfx700;
  program.lines.push_back(
      line(target, fmt::format("s_load_dwordx8 s[16:23], s[0:1], {:#x}", gfx7 ? 0x20 : 0x80)));
  program.lines.push_back(
      line(target, fmt::format("s_load_dwordx4 s[24:27], s[0:1], {:#x}", gfx7 ? 0x30 : 0xc0)));
  program.lines.push_back(line(target, "s_waitcnt lgkmcnt(0)"));
  const bool gathers = (isa::row_of(op).image & isa::kImgGather4) != 0;
  program.lines.push_back(
      line(target, fmt::format("{} {}, v[0:3], s[16:23]{} dmask:0x1", isa::row_of(op).name,
                               gathers ? "v[12:15]" : "v12", samples ? ", s[24:27]" : "")));
  return program;
}

class ImageFaults : public testing::TestWithParam<Target> {};

TEST_P(ImageFaults, AreTheSame) {
  u64 seed = 0;
  for (const Inaccessible& c : kInaccessible) {
    if (c.problem == ImageProblem::Compression && GetParam() < Target::gfx803) continue;
    for (const Op op : c.ops) {
      const Program program = program_of(GetParam(), c, op, ++seed);
      SCOPED_TRACE(listing(program));
      ASSERT_TRUE(assemble(program).ok());
      const auto all = faults(program);
      for (const auto& [engine, fault] : all) {
        EXPECT_EQ(fault.signal, SIGSEGV) << engine;
        EXPECT_EQ(fault.where.address, runtime::kImageProblems + 16 * static_cast<u64>(c.problem)) << engine;
        EXPECT_EQ(fault.where.pc, all[0].second.where.pc) << engine;
        EXPECT_EQ(fault.where.is_write, is_write(op)) << engine;
        const int lane = fault.where.lane; // -1: not known where many lanes are accessed at once
        EXPECT_TRUE(lane == -1 || lane == std::countr_zero(program.waves[0].exec)) << engine << ' ' << lane;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ImageFaults, testing::ValuesIn(isa::kTargets),
                         [](const auto& test) { return std::string(isa::target_name(test.param)); });

} // namespace
} // namespace lanewise::differential
