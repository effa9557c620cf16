// `lanewise` as scripts see it: exit status, one line on stderr, JSON fields.
#include "tests/source_dir.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace lanewise {
namespace {

struct Output {
  int status = -1;
  std::string out, err;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string scratch(const std::string& name) {
  return testing::TempDir() + "/lanewise_command_test_" + std::to_string(getpid()) + "_" + name;
}

/// Runs `lanewise ARGUMENTS` through the shell, with `environment` before it; the user's cache is left alone.
Output lanewise(const std::string& arguments, const std::string& environment = "LANEWISE_NO_CACHE=1") {
  const std::string out = scratch("out"), err = scratch("err");
  const int status = std::system(
      (environment + " " LANEWISE_BINARY " " + arguments + " > " + out + " 2> " + err + " < /dev/null")
          .c_str());
  Output output = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out), read(err)};
  std::remove(out.c_str());
  std::remove(err.c_str());
  return output;
}

std::string kernel_file(const std::string& name, const std::string& target = "gfx900",
                        const std::string& level = "O2") {
  return source_dir() + "/tests/kernels/bin/" + target + "/" + name + "." + level + ".co";
}

const std::string kSaxpyLaunch = " --grid 1024 --block 256 --arg u32:1024 --arg f32:2 --arg "
                                 "buf:f32:1024:iota --arg buf:f32:1024:zero ";
const std::string kSaxpyArgs = kSaxpyLaunch + "--engine interp ";

/// An offload bundle in which all code objects are for the same target, as those of a program's translation
/// units are.
std::string bundle_of(const std::string& id, const std::vector<std::string>& objects) {
  const auto number = [](std::uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::string header = "__CLANG_OFFLOAD_BUNDLE__" + number(objects.size()), bytes;
  const std::size_t start = header.size() + objects.size() * (3 * 8 + id.size());
  for (const std::string& object : objects) {
    header += number(start + bytes.size()) + number(object.size()) + number(id.size()) + id;
    bytes += object;
  }
  return header + bytes;
}

/// The command must refuse, say so in one line that contains `part`, and print nothing else.
void expect_refusal(const std::string& arguments, int status, const std::string& part) {
  const Output output = lanewise(arguments);
  EXPECT_EQ(output.status, status) << arguments << "\n" << output.err;
  EXPECT_NE(output.err.find(part), std::string::npos) << arguments << "\n" << output.err;
  EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 1) << output.err;
  EXPECT_TRUE(output.err.starts_with("lanewise")) << output.err;
  EXPECT_EQ(output.err.find('\033'), std::string::npos) << "no colours outside a terminal";
  EXPECT_EQ(output.out, "") << arguments;
}

TEST(Command, HelpTeaches) {
  const Output top = lanewise("--help");
  EXPECT_EQ(top.status, 0);
  for (const char* part :
       {"run", "inspect", "disasm", "asm", "translate", "lanewise run saxpy.co", "Exit status"})
    EXPECT_NE(top.out.find(part), std::string::npos) << part;
  const Output run = lanewise("run --help");
  EXPECT_EQ(run.status, 0);
  for (const char* part : {"--grid", "--block", "--arg", "--engine", "--no-fallback", "--simd", "--threads",
                           "--repeat", "--dump", "--print", "--json", "uniform:SEED:LO:HI", "lds:BYTES",
                           "image:GEOMETRY:SIZE:FORMAT:INIT", "sampler:WORDS", "Examples:"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part;
  EXPECT_EQ(lanewise("--version").status, 0);
}

TEST(Command, BadUsageIsStatus2) {
  const std::string saxpy = kernel_file("saxpy");
  expect_refusal("", 2, "--help");
  expect_refusal("walk", 2, "--help");
  expect_refusal("run", 2, "CODE_OBJECT");
  expect_refusal("run " + saxpy, 2, "--grid");
  expect_refusal("run " + saxpy + " --grid 64", 2, "--block");
  expect_refusal("run " + saxpy + " --grid 0 --block 64", 2, "--grid");
  expect_refusal("run " + saxpy + " --grid 1,2,3,4 --block 64", 2, "--grid");
  expect_refusal("run " + saxpy + " --grid 64 --block x", 2, "--block");
  expect_refusal("run " + saxpy + " --grid 64 --block 64 --frobnicate", 2, "--frobnicate");
  expect_refusal("run " + saxpy + " --grid 64 --block 64 --engine gpu", 2, "--engine");
  expect_refusal("run " + saxpy + " --grid 64 --block 64 --simd sse", 2, "--simd");
  expect_refusal("run " + saxpy + " --grid 64 --block 64 --threads many", 2, "--threads");
  expect_refusal("run " + saxpy + " --grid 64 --block 64 --arg buf:f31:4:zero", 2, "argument 0");
  expect_refusal("run " + saxpy + kSaxpyArgs + "--arg u32:1", 2, "takes 4 arguments");
  expect_refusal("run " + saxpy + " --grid 64 --block 64 --engine interp --arg u32:1", 2,
                 "takes 4 arguments");
  expect_refusal("run " + saxpy + kSaxpyArgs + "--dump 0=x", 2, "--dump");
  expect_refusal("run " + saxpy + kSaxpyArgs + "--dump 9=x", 2, "--dump");
  expect_refusal("run " + saxpy + kSaxpyArgs + "--dump 3=/nowhere/x", 2, "--dump");
  expect_refusal("run " + saxpy + kSaxpyArgs + "--print 3:many", 2, "--print");
  expect_refusal("run " + saxpy + kSaxpyArgs + "--kernel saxpi", 2, "it has saxpy");
  expect_refusal("run " + saxpy + kSaxpyArgs + "--target gfx1030", 2, "the file has gfx900");
}

TEST(Command, VariablesAndDynamicLds) {
  const std::string run = "run " + kernel_file("hip_shared") + " --grid 2 --block 2 --arg buf:u32:2:iota " +
                          "--arg buf:u32:2:zero --print 1 ";
  const Output output = lanewise(run + "--arg lds:8 --set weights=u32:0,100");
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_NE(output.out.find("\n101 2\n"), std::string::npos) << output.out;
  EXPECT_EQ(lanewise(run + "--arg lds:8 --set weights=buf:u32:4:iota").status, 0);
  expect_refusal(run + "--set weights", 2, "--set");
  expect_refusal(run + "--set weights=lds:4", 2, "--set");
  expect_refusal(run + "--set weight=u32:1", 2, "no variable weight");
  expect_refusal(run + "--set weights=buf:u32:5:zero", 2, "it has 16");
}

TEST(Command, TranslationStatistics) {
  const Output text = lanewise("translate " + kernel_file("multi") + " --stats");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("kernels recompiled"), std::string::npos) << text.out;
  const Output json = lanewise("translate " + kernel_file("saxpy") + " --stats --json");
  EXPECT_EQ(json.status, 0) << json.err;
  const auto numbers = nlohmann::json::parse(json.out);
  ASSERT_EQ(numbers.size(), 1u);
  EXPECT_EQ(numbers[0]["kernel"], "saxpy");
  EXPECT_GT(numbers[0]["guest_instructions"], 10);
  EXPECT_GT(numbers[0]["code_bytes"], 100);
  EXPECT_EQ(numbers[0]["fallback_instructions"], 0);
  expect_refusal("translate " + kernel_file("saxpy") + " --json", 2, "--stats");
  expect_refusal("translate " + kernel_file("saxpy") + " --stats --grid 64", 2, "--block");
}

TEST(Command, TranslationStatisticsAreOfTheLaunchAskedFor) {
  const auto instructions = [](const std::string& options) {
    const Output json = lanewise("translate " + kernel_file("saxpy") + " --stats --json" + options);
    EXPECT_EQ(json.status, 0) << json.err;
    return nlohmann::json::parse(json.out)[0]["ir_instructions"].get<int>();
  };
  EXPECT_LT(instructions(" --grid 1024 --block 64"), instructions(""));
  EXPECT_LT(instructions(" --value 0=u32:0"), instructions(" --value 0=u32:1024"));
}

TEST(Command, ValuesAreOfNumbersThatTheKernelTakes) {
  const std::string translate = "translate " + kernel_file("saxpy") + " --stats --value ";
  expect_refusal(translate + "1:2", 2, "write I=TYPE:VALUE");
  expect_refusal(translate + "x=f32:2", 2, "write I=TYPE:VALUE");
  expect_refusal(translate + "1=buf:f32:4:zero", 2, "only numbers");
  expect_refusal(translate + "1=f64:2", 2, "no such argument of 8 bytes");
  expect_refusal(translate + "2=u64:0", 2, "passed by value");
  expect_refusal(translate + "9=f32:2", 2, "no such argument");
}

TEST(Command, TranslatesAheadOfTime) {
  const std::string path = scratch("kernels.so");
  const Output made =
      lanewise("translate " + kernel_file("saxpy") + " -o " + path + " --block 256 --grid 4194304");
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("5 translations"), std::string::npos) << made.out;
  const auto run = [](const std::string& file, const std::string& options) {
    return nlohmann::json::parse(lanewise("run " + file + kSaxpyLaunch + "--json " + options).out);
  };
  const auto interpreted = run(kernel_file("saxpy"), "--engine interp");
  EXPECT_EQ(interpreted.at("translation"), "none");
  const auto translated = run(kernel_file("saxpy"), "--engine jit");
  EXPECT_EQ(translated.at("translation"), "new");
  EXPECT_FALSE(translated.contains("translation_note"));
  const auto small = run(kernel_file("saxpy"), "");
  EXPECT_EQ(small.at("translation"), "none") << "translating would take longer";
  EXPECT_EQ(small.at("engine"), "interp");
  EXPECT_NE(small.at("translation_note").get<std::string>().find("small"), std::string::npos);
  const auto stored = run(path, "");
  EXPECT_EQ(stored.at("translation"), "ahead-of-time");
  EXPECT_EQ(stored["buffers"], interpreted["buffers"]);
  EXPECT_EQ(run(path, "--engine interp")["buffers"], interpreted["buffers"])
      << "the interpreter takes the file, too";
  for (const char* command : {"inspect ", "disasm ", "translate "})
    EXPECT_EQ(lanewise(command + path).status, 0) << command;
  expect_refusal("translate " + kernel_file("saxpy") + " -o /nowhere/x.so", 2, "/nowhere/x.so");
  expect_refusal("translate " + kernel_file("saxpy") + " -o " + path + " --stats", 2, "--stats");
  expect_refusal("translate " + kernel_file("saxpy") + " --simd both", 2, "--simd both");
  std::remove(path.c_str());
}

TEST(Command, TranslatesForTheWorkgroupThatAKernelAsksFor) {
  const std::string path = scratch("tiled.so");
  const Output made = lanewise("translate " + kernel_file("sgemm_tiled") + " -o " + path);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("2 translations"), std::string::npos) << made.out;
  std::remove(path.c_str());
}

TEST(Command, TranslatesWhatMustBeInterpretedNot) {
  // saxpy whose branch around inactive lanes is one of those that have no rule.
  std::stringstream code;
  code << std::ifstream(kernel_file("saxpy"), std::ios::binary).rdbuf();
  std::string bytes = code.str();
  const std::size_t saveexec = bytes.find("\x6a\x20\x82\xbe"); // s_and_saveexec_b64 s[2:3], vcc
  ASSERT_NE(saveexec, std::string::npos);
  bytes.replace(saveexec, 4, "\x02\x6a\x80\x94"); // s_cbranch_g_fork s[2:3], vcc
  const std::string object = scratch("fork.co"), path = scratch("fork.so");
  std::ofstream(object, std::ios::binary) << bytes;
  const Output made = lanewise("translate " + object + " -o " + path);
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("left to the interpreter: saxpy"), std::string::npos) << made.out;
  std::remove(object.c_str());
  std::remove(path.c_str());
}

TEST(Command, KeepsTranslationsOnDisk) {
  const std::string folder = scratch("cache");
  // A busy machine may make the launch so long that it gets a version for its values, which is new.
  const auto expect_origin = [&](const std::string& origin, const std::string& environment,
                                 const std::string& options = "") {
    const Output output = lanewise("run " + kernel_file("saxpy") + kSaxpyLaunch +
                                       "--engine jit --no-specialize --json " + options,
                                   environment);
    ASSERT_EQ(output.status, 0) << output.err;
    EXPECT_EQ(nlohmann::json::parse(output.out).at("translation"), origin) << environment << '\n'
                                                                           << output.out << output.err;
  };
  const std::string allowed = "env -u LANEWISE_NO_CACHE ", here = allowed + "LANEWISE_CACHE_DIR=" + folder;
  const std::string in_home = allowed + "LANEWISE_CACHE_DIR= XDG_CACHE_HOME=" + folder;
  expect_origin("new", here + " LANEWISE_NO_CACHE=1");
  expect_origin("new", here, "--no-cache");
  expect_origin("new", here);
  expect_origin("cache", here);
  expect_origin("new", here, "--no-cache");
  expect_origin("new", here, "--simd avx2");
  expect_origin("new", in_home);
  expect_origin("cache", in_home);
  EXPECT_TRUE(std::filesystem::is_directory(folder + "/lanewise"));
  std::filesystem::remove_all(folder);
}

TEST(Command, ArgumentsMustFitTheKernel) {
  const std::string run = "run " + kernel_file("saxpy") + " --grid 64 --block 64 --engine interp ";
  expect_refusal(run + "--arg u16:1024 --arg f32:2 --arg buf:f32:8:zero --arg buf:f32:8:zero", 2,
                 "argument 0");
  expect_refusal(run + "--arg u32:1024 --arg f64:2 --arg buf:f32:8:zero --arg buf:f32:8:zero", 2,
                 "argument 1");
  expect_refusal(run + "--arg u32:1024 --arg f32:2 --arg u32:8 --arg buf:f32:8:zero", 2, "argument 2");
  expect_refusal(run + "--arg u32:1024 --arg f32:2 --arg lds:8 --arg buf:f32:8:zero", 2, "argument 2");
}

TEST(Command, WorkgroupsMustFitTheKernel) {
  const std::string args =
      " --arg u32:8 --arg f32:2 --arg buf:f32:8:zero --arg buf:f32:8:zero --engine interp";
  expect_refusal("run " + kernel_file("saxpy") + " --grid 2048 --block 2048" + args, 2, "at most");
  expect_refusal("run " + kernel_file("saxpy") + " --grid 2048 --block 512" + args, 2, "256");
  expect_refusal("run " + kernel_file("saxpy") + " --grid 4294967295,4294967295,8 --block 1" + args, 2,
                 "too many workgroups");
}

TEST(Command, BadFilesAreStatus3) {
  const std::string rest = " --grid 64 --block 64";
  expect_refusal("run /nowhere/x.co" + rest, 3, "/nowhere/x.co");
  expect_refusal("run " + testing::TempDir() + rest, 3, testing::TempDir());
  const std::string text = scratch("text");
  std::ofstream(text) << "not a code object";
  expect_refusal("run " + text + rest, 3, text);
  expect_refusal("inspect " + text, 3, text);
  expect_refusal("disasm " + text, 3, text);
  std::string truncated = read(kernel_file("saxpy"));
  ASSERT_GT(truncated.size(), 1000u);
  truncated.resize(700);
  std::ofstream(text, std::ios::binary) << truncated;
  expect_refusal("run " + text + rest, 3, text);
  std::string other = read(kernel_file("saxpy"));
  other[48] = 0x36; // EF_AMDGPU_MACH: gfx1030
  std::ofstream(text, std::ios::binary) << other;
  expect_refusal("run " + text + rest, 3, "gfx1030");
  std::remove(text.c_str());
  expect_refusal("run " LANEWISE_BINARY + rest, 3, "lanewise");
}

TEST(Command, ShortInputFileIsStatus3) {
  const std::string path = scratch("short");
  std::ofstream(path) << "1234";
  expect_refusal("run " + kernel_file("saxpy") +
                     " --grid 64 --block 64 --engine interp --arg u32:8 --arg f32:2 --arg buf:f32:8:file:" +
                     path + " --arg buf:f32:8:zero",
                 3, path);
  std::remove(path.c_str());
}

TEST(Command, JsonHasTheFieldsScriptsRelyOn) {
  const Output output =
      lanewise("run " + kernel_file("saxpy") + kSaxpyArgs + "--threads 2 --repeat 3 --json");
  ASSERT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.err, "");
  const auto json = nlohmann::json::parse(output.out);
  EXPECT_EQ(json.at("kernel"), "saxpy");
  EXPECT_EQ(json.at("target"), "gfx900");
  EXPECT_EQ(json.at("engine"), "interp");
  EXPECT_TRUE(json.at("simd").is_string());
  EXPECT_EQ(json.at("threads"), 2);
  EXPECT_LE(json.at("threads_used"), 2);
  EXPECT_EQ(json.at("grid"), (std::vector<int>{1024, 1, 1}));
  EXPECT_EQ(json.at("block"), (std::vector<int>{256, 1, 1}));
  EXPECT_EQ(json.at("runs_for_values"), 0);
  for (const char* time : {"translate_ms", "first_ms", "min_ms", "median_ms", "min_cpu_ms"}) {
    EXPECT_TRUE(json.at(time).is_number()) << time;
    EXPECT_GE(json.at(time).get<double>(), 0) << time;
  }
  EXPECT_LE(json.at("min_ms").get<double>(), json.at("median_ms").get<double>());
  EXPECT_EQ(json.at("fallback_instructions"), 0);
  ASSERT_EQ(json.at("buffers").size(), 2u);
  EXPECT_EQ(json["buffers"][0].at("arg"), 2);
  EXPECT_EQ(json["buffers"][1].at("arg"), 3);
  // The hash is of the bytes after the first run: more runs change the buffer but not the hash.
  const auto once =
      nlohmann::json::parse(lanewise("run " + kernel_file("saxpy") + kSaxpyArgs + "--json").out);
  EXPECT_EQ(json["buffers"], once["buffers"]);
  EXPECT_NE(json["buffers"][0].at("fnv1a"), json["buffers"][1].at("fnv1a"));
}

TEST(Command, DumpsAndPrintsTheFirstRun) {
  const std::string path = scratch("dump");
  const Output output = lanewise("run " + kernel_file("saxpy") + kSaxpyArgs + "--repeat 2 --dump 3=" + path +
                                 " --print 3:5 --print 2:3");
  ASSERT_EQ(output.status, 0) << output.err;
  EXPECT_NE(output.out.find("\n0 2 4 6 8\n"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("\n0 1 2\n"), std::string::npos) << output.out;
  const std::string bytes = read(path);
  ASSERT_EQ(bytes.size(), 4096u);
  float last = 0;
  std::copy(bytes.end() - 4, bytes.end(), reinterpret_cast<char*>(&last));
  EXPECT_EQ(last, 2 * 1023.0f);
  std::remove(path.c_str());
}

TEST(Command, ImagesAreFilledPrintedAndDumpedWithoutGaps) {
  const std::string path = scratch("texels");
  const Output output =
      lanewise("run " + kernel_file("image_formats") +
               " --grid 3,2 --block 1,1 --arg image:2d:3x2:r-unorm8:iota "
               "--arg image:2d:3x2:r-unorm8:zero --arg buf:f32:24:zero --print 1 --print 2:5 --dump 1=" +
               path);
  ASSERT_EQ(output.status, 0) << output.err;
  EXPECT_NE(output.out.find("\n255 254 253 252 251 250\n"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("\n0 0 0 1 0.003921569\n"), std::string::npos) << output.out;
  EXPECT_EQ(read(path), "\xff\xfe\xfd\xfc\xfb\xfa");
  std::remove(path.c_str());
}

TEST(Command, ImagesAndSamplersWhereTheKernelTakesThem) {
  const std::string run = "run " + kernel_file("image_scale") + " --grid 4,4 --block 4,4 ";
  const std::string image = "--arg image:2d:4x4:rgba-unorm8:zero ",
                    sampler = "--arg sampler:edge,linear,normalized ";
  EXPECT_EQ(lanewise(run + image + sampler + image).status, 0);
  expect_refusal(run + "--arg buf:u8:64:zero " + sampler + image, 2, "argument 0");
  expect_refusal(run + image + image + image, 2, "is a sampler");
  expect_refusal(run + image + "--arg sampler:edgy " + image, 2, "none edge border repeat mirror");
  expect_refusal(run + image + sampler + image + "--print 1", 2, "is no buffer");
  expect_refusal("run " + kernel_file("saxpy") + " --grid 1 --block 1 --arg u32:0 --arg f32:0 --arg u64:0 " +
                     image,
                 2, "is no image");
}

TEST(Command, TexturesAndSurfaces) {
  const std::string kernel = kernel_file("hip_textures");
  const Output output =
      lanewise("run " + kernel +
               " --grid 64 --block 64 --arg texture:edge,normalized:1d:4:rgba-f32:zero "
               "--arg texture:edge:2d:4x4:rgba-f32:zero --arg texture:edge:3d:4x4x4:rg-f32:zero "
               "--arg texture:edge:1d_buffer:12:r-i32:iota --arg surface:2d:4x2:rgba-f32:iota "
               "--arg buf:f32:8:zero --arg i32:4 --arg i32:2 --print 4:8 --print 5");
  ASSERT_EQ(output.status, 0) << output.err;
  EXPECT_NE(output.out.find("\n3 2 1 0 7 6 5 4\n"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("\n4 11 6 13 8 15 10 5\n"), std::string::npos) << output.out;
}

TEST(Command, ScalarStandsForAPointer) {
  // n = 0: nothing is read or written through the null pointers.
  const Output output =
      lanewise("run " + kernel_file("saxpy") +
               " --grid 64 --block 64 --engine interp --arg u32:0 --arg f32:2 --arg u64:0 --arg i64:0");
  EXPECT_EQ(output.status, 0) << output.err;
}

TEST(Command, GuestFaultIsStatus1WithAReport) {
  for (const char* engine : {"interp", "jit"}) {
    const std::string run = "run " + kernel_file("saxpy") + " --grid 64 --block 64 --engine " + engine;
    expect_refusal(run + " --arg u32:64 --arg f32:2 --arg u64:0x10 --arg buf:f32:64:zero", 1, "saxpy");
    const Output output = lanewise(run + " --arg u32:64 --arg f32:2 --arg u64:0x10 --arg buf:f32:64:zero");
    for (const char* part :
         {"memory fault", "pc 0x", "workgroup (0,0,0)", "wave 0", "lane", "address 0x", "global_load"})
      EXPECT_NE(output.err.find(part), std::string::npos) << part << " in " << output.err;
  }
}

TEST(Command, ABufferThatIsTooShortFaults) {
  expect_refusal("run " + kernel_file("saxpy") +
                     " --grid 65536 --block 64 --engine interp --arg u32:65536 --arg f32:2 --arg "
                     "buf:f32:64:zero --arg buf:f32:65536:zero",
                 1, "memory fault");
}

TEST(Command, BundlesNeedNoUnpacking) {
  const std::string bundle = kernel_file("saxpy");
  const std::string path = bundle.substr(0, bundle.find("/gfx900")) + "/multi.O2.hipfb";
  expect_refusal("run " + path + " --grid 64 --block 64", 2, "--kernel");
  for (const char* target : {"gfx600", "gfx906"}) {
    const Output output = lanewise("run " + path + kSaxpyArgs + "--kernel saxpy --json --target " + target);
    ASSERT_EQ(output.status, 0) << output.err;
    EXPECT_EQ(nlohmann::json::parse(output.out).at("target"), target);
  }
}

TEST(Command, ProgramsHaveKernelsInSeveralCodeObjects) {
  const std::string path = scratch("two_units.hipfb");
  const std::string bundle = bundle_of("hipv4-amdgcn-amd-amdhsa--gfx900",
                                       {read(kernel_file("saxpy")), read(kernel_file("reduction"))});
  std::ofstream(path, std::ios::binary) << bundle;
  for (const char* kernel : {"saxpy", "reduction"}) {
    const std::string named = path + " --kernel " + kernel;
    EXPECT_EQ(lanewise("disasm " + named).status, 0) << kernel;
    const Output stats = lanewise("translate " + named + " --stats --json");
    ASSERT_EQ(stats.status, 0) << stats.err;
    EXPECT_EQ(nlohmann::json::parse(stats.out).at(0).at("kernel"), kernel);
  }
  EXPECT_EQ(nlohmann::json::parse(lanewise("translate " + path + " --stats --json").out).size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(lanewise("inspect --json " + path + " --target gfx900").out).size(), 2u);
  const Output text = lanewise("inspect " + path + " --target gfx900");
  EXPECT_NE(text.out.find("kernel saxpy"), std::string::npos);
  EXPECT_NE(text.out.find("kernel reduction"), std::string::npos);
  const Output run = lanewise("run " + path + kSaxpyArgs + "--kernel saxpy");
  EXPECT_EQ(run.status, 0) << run.err;
  expect_refusal("run " + path + kSaxpyArgs, 2, "holds 2 kernels");
  expect_refusal("translate " + path + " -o " + scratch("two.so"), 2, "2 code objects");
  std::remove(path.c_str());
}

TEST(Command, InspectShowsArguments) {
  const Output text = lanewise("inspect " + kernel_file("saxpy"));
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("global float*"), std::string::npos);
  const Output json = lanewise("inspect --json " + kernel_file("saxpy"));
  ASSERT_EQ(json.status, 0);
  EXPECT_EQ(nlohmann::json::parse(json.out).at("kernels").at(0).at("name"), "saxpy");
}

TEST(Command, DisasmIsLlvmSyntax) {
  const Output output = lanewise("disasm " + kernel_file("saxpy"));
  ASSERT_EQ(output.status, 0) << output.err;
  EXPECT_NE(output.out.find("s_endpgm"), std::string::npos);
  EXPECT_NE(output.out.find("s_load_dword"), std::string::npos);
  expect_refusal("disasm " + kernel_file("saxpy") + " --kernel nothing", 2, "saxpy");
}

TEST(Command, DisasmTakesWords) {
  const std::string words = "disasm --target gfx906 --raw BE802000 0x7e0002ff 00000001 --bytes";
  const std::string first = "\ts_and_saveexec_b64 s[0:1], s[0:1]                          // BE802000\n";
  const Output output = lanewise(words);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out,
            first + "\tv_mov_b32_e32 v0, lit(0x1)                                 // 7E0002FF 00000001\n");
  // The literal could be an inline constant: without lit() its text would assemble to other words.
  EXPECT_EQ(lanewise(words + " --no-lit").out,
            first + "\t.long 0x7e0002ff, 0x00000001                               // 7E0002FF 00000001 "
                    "v_mov_b32_e32 v0, 1\n");
  expect_refusal("disasm --raw BE802000", 2, "--target");
  expect_refusal("disasm --target gfx906 --raw nonsense", 2, "nonsense");
  expect_refusal("disasm --target gfx9 --raw BE802000", 2, "gfx9");
}

TEST(Command, DisassemblyAssemblesToTheSameCode) {
  const std::string source = scratch("listing.s"), object = scratch("assembled.co");
  for (const char* target : {"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"})
    for (const char* name : {"saxpy", "calls", "reduction"}) {
      const Output listing = lanewise("disasm --bytes " + kernel_file(name, target));
      ASSERT_EQ(listing.status, 0) << listing.err;
      std::ofstream(source) << listing.out;
      const Output assembled = lanewise("asm " + source + " -o " + object);
      ASSERT_EQ(assembled.status, 0) << assembled.err;
      const Output again = lanewise("disasm --bytes " + object);
      EXPECT_EQ(again.out.substr(again.out.find('\n')), listing.out.substr(listing.out.find('\n')))
          << target << ' ' << name;
    }
  std::remove(source.c_str());
  std::remove(object.c_str());
}

TEST(Command, AsmReportsEveryError) {
  const std::string source = scratch("bad.s"), object = scratch("bad.co");
  std::ofstream(source) << "s_nop 0\nv_mov_b32 v0, v256\nnonsense\n";
  const Output output = lanewise("asm " + source + " -o " + object + " --target gfx906");
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.err, source +
                            ":2:15: error: register 256 does not exist on gfx906: the last one is "
                            "255\nv_mov_b32 v0, v256\n              ^\n" +
                            source + ":3:1: error: unknown instruction 'nonsense'\nnonsense\n^\n");
  EXPECT_FALSE(std::ifstream(object).good());
  expect_refusal("asm " + source + " -o " + object + " --target gfx1030", 2, "gfx1030");
  expect_refusal("asm /nonexistent.s -o " + object, 3, "nonexistent");
  std::remove(source.c_str());
}

} // namespace
} // namespace lanewise
