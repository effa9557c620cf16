// Sources to code objects: sections, symbols, relocations, kernels, macros, errors.
#include "abi/asm/assembler.hpp"
#include "abi/code_object.hpp"
#include "abi/loaded_image.hpp"
#include "mutate_text.hpp"
#include "programs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace lanewise::abi {
namespace {

using isa::Target;

constexpr std::string_view kGfx906 = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"\n";
constexpr std::string_view kTyped = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"\n.type f,@function\n.type "
                                    "g,@function\n.type table,@object\n.type p,@object\n";

u64 address_of(const CodeObject& object, std::string_view symbol) {
  const Symbol* found = object.find_symbol(symbol);
  EXPECT_NE(found, nullptr) << symbol;
  return found ? found->address : 0;
}

/// The code object of a source without errors.
CodeObject loaded(const std::string& source) {
  const Assembly assembly = assemble(source);
  EXPECT_EQ(format_errors(assembly, source, "test.s"), "");
  auto object = load(assembly.code_object, "test.co");
  EXPECT_TRUE(object) << object.error().message;
  return object ? *object : CodeObject{};
}

std::vector<u32> words_at(const CodeObject& object, std::string_view symbol, std::size_t count) {
  const Symbol* found = object.find_symbol(symbol);
  EXPECT_NE(found, nullptr) << symbol;
  const auto bytes = found ? object.elf.at_address(found->address, 4 * count) : std::nullopt;
  std::vector<u32> words(count);
  if (bytes) std::memcpy(words.data(), bytes->data(), 4 * count);
  return words;
}

std::string errors_of(const std::string& source, const AssembleOptions& options = {}) {
  return format_errors(assemble(source, options), source, "test.s");
}

/// The messages with their places, without the lines of the source.
std::string messages(const std::string& source) {
  std::string out;
  for (const isa::Diagnostic& error : assemble(source).errors)
    out += fmt::format("{}:{}: {}\n", error.at.line, error.at.column, error.message);
  return out;
}

std::string kernel(std::string_view fields, std::string_view target = "gfx906") {
  return fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n.globl k\nk: "
                     "s_endpgm\n.rodata\n.amdhsa_kernel k\n{}\n.end_amdhsa_kernel\n",
                     target, fields);
}
constexpr std::string_view kRequired = ".amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n";

TEST(Program, IsAnObjectThatLoads) {
  for (const char* target : {"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"}) {
    const CodeObject object = loaded(lanewise::testing::vector_add(target));
    EXPECT_EQ(object.version, 4u);
    EXPECT_EQ(object.target.processor, target);
    ASSERT_EQ(object.kernels.size(), 1u);
    EXPECT_EQ(object.kernels[0].name, "vector_add");
    EXPECT_TRUE(object.kernels[0].has_metadata);
    EXPECT_EQ(object.kernels[0].arguments.size(), 4u);
    EXPECT_EQ(object.kernels[0].descriptor.vgprs(), 12u);
    EXPECT_EQ(object.kernels[0].descriptor.user_sgpr_count(), 2u);
    EXPECT_EQ(object.kernels[0].entry_address % 256, 0u);
  }
}

TEST(Program, CodeObjectVersionAndFeaturesAreInTheHeader) {
  for (unsigned version : {3u, 4u, 5u, 6u}) {
    const CodeObject object = loaded(fmt::format(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-\"\n.amdhsa_code_object_version "
        "{}\n.globl f\nf: s_endpgm",
        version));
    EXPECT_EQ(object.version, version);
    EXPECT_EQ(object.target.sramecc, Feature::On);
    EXPECT_EQ(object.target.xnack, version >= 4 ? Feature::Off : Feature::Unsupported);
  }
}

TEST(Program, ReferencesAreResolved) {
  const CodeObject object = loaded(std::string(kTyped) + R"(
        .globl f
f:      s_getpc_b64 s[0:1]
        s_add_u32 s0, s0, table@rel32@lo+4
        s_addc_u32 s1, s1, table@rel32@hi+12
        s_cbranch_scc1 f
        s_branch 1f
        s_nop 0
1:      s_branch 1b
        s_mov_b32 s2, end-f
        s_mov_b32 s3, value
        s_endpgm
end:
        .set value, 0x12345
        .globl table
        .rodata
        .p2align 2
table:  .long end-f, 1f-table, -1, .-table
1:      .byte 1,2
        .short 0x304
)");
  const u64 f = address_of(object, "f"), table = address_of(object, "table");
  const std::vector<u32> code = words_at(object, "f", 14);
  EXPECT_EQ(static_cast<i32>(code[2]), static_cast<i32>(table - (f + 4)));
  EXPECT_EQ(code[4], table < f ? 0xffffffffu : 0u);
  EXPECT_EQ(code[5], 0xbf85fffau); // back to f
  EXPECT_EQ(code[6], 0xbf820001u);
  EXPECT_EQ(code[8], 0xbf82ffffu);
  EXPECT_EQ(code[10], 14u * 4);
  EXPECT_EQ(code[12], 0x12345u);
  EXPECT_EQ(words_at(object, "table", 5), (std::vector<u32>{56, 16, 0xffffffff, 12, 0x03040201}));
}

TEST(Program, AddressesInDataAreRelocatedAtLoadTime) {
  const CodeObject object =
      loaded(std::string(kTyped) + ".globl f,p\nf: s_endpgm\n.data\n.p2align 3\np: .quad f+4, p\n");
  ASSERT_EQ(object.elf.relocations.size(), 2u);
  EXPECT_EQ(object.elf.relocations[0].type, 13u); // R_AMDGPU_RELATIVE64
  EXPECT_EQ(object.elf.relocations[0].address, address_of(object, "p"));
  EXPECT_EQ(static_cast<u64>(object.elf.relocations[0].addend), address_of(object, "f") + 4);
  EXPECT_EQ(static_cast<u64>(object.elf.relocations[1].addend), address_of(object, "p"));
}

TEST(Program, TheGlobalOffsetTableHoldsAddresses) {
  const CodeObject object = loaded(std::string(kTyped) + R"(
        .globl f, g
f:      s_getpc_b64 s[0:1]
        s_add_u32 s0, s0, g@gotpcrel32@lo+4
        s_addc_u32 s1, s1, g@gotpcrel32@hi+12
        s_endpgm
g:      s_endpgm
)");
  ASSERT_EQ(object.elf.relocations.size(), 1u);
  const u64 slot = object.elf.relocations[0].address;
  EXPECT_EQ(static_cast<i32>(words_at(object, "f", 3)[2]),
            static_cast<i32>(slot - (address_of(object, "f") + 4)));
  EXPECT_EQ(static_cast<u64>(object.elf.relocations[0].addend), address_of(object, "g"));
}

TEST(Program, CodeIsPaddedWithNops) {
  const CodeObject object = loaded(
      std::string(kTyped) + ".globl f\nf: s_endpgm\n.p2align 4\ns_endpgm\n.p2alignl 5, 0xbf9f0000\ns_endpgm");
  EXPECT_EQ(words_at(object, "f", 9),
            (std::vector<u32>{0xbf810000, 0xbf800000, 0xbf800000, 0xbf800000, 0xbf810000, 0xbf9f0000,
                              0xbf9f0000, 0xbf9f0000, 0xbf810000}));
}

TEST(Program, MacrosRepetitionsAndConditions) {
  const CodeObject object = loaded(std::string(kTyped) + R"(
        .macro load register, value=7
          .if \value > 6
            s_mov_b32 \register, \value
          .elseif \value == 3
            s_nop 3
          .else
            s_nop \value
          .endif
        .endm
        .globl f
f:      load s1
        load s2, 3
        load s3, (1+1)
        .rept 2
          s_nop 9
        .endr
        .ifdef f
          s_nop 10
        .endif
        .ifndef f
          this is not read
        .endif
)");
  EXPECT_EQ(words_at(object, "f", 6),
            (std::vector<u32>{0xbe810087, 0xbf800003, 0xbf800002, 0xbf800009, 0xbf800009, 0xbf80000a}));
}

TEST(KernelFields, AreInTheDescriptor) {
  const auto descriptor = [](std::string_view fields, std::string_view target = "gfx906") {
    const CodeObject object = loaded(kernel(fmt::format("{}{}", kRequired, fields), target));
    return object.kernels.empty() ? KernelDescriptor{} : object.kernels[0].descriptor;
  };
  const KernelDescriptor plain = descriptor("");
  EXPECT_EQ(plain.compute_pgm_rsrc1, 0x00ac0000u); // what llvm-mc 15 writes
  EXPECT_EQ(plain.compute_pgm_rsrc2, 0x80u);
  EXPECT_EQ(plain.kernel_code_properties, 0u);
  EXPECT_EQ(descriptor(".amdhsa_group_segment_fixed_size 1000").group_segment_fixed_size, 1000u);
  EXPECT_EQ(descriptor(".amdhsa_private_segment_fixed_size 16").private_segment_fixed_size, 16u);
  EXPECT_EQ(descriptor(".amdhsa_kernarg_size 24").kernarg_size, 24u);
  EXPECT_TRUE(descriptor(".amdhsa_system_sgpr_private_segment_wavefront_offset 1").enable_private_segment());
  EXPECT_FALSE(descriptor(".amdhsa_system_sgpr_workgroup_id_x 0").enable_sgpr_workgroup_id(0));
  EXPECT_TRUE(descriptor(".amdhsa_system_sgpr_workgroup_id_z 1").enable_sgpr_workgroup_id(2));
  EXPECT_EQ(descriptor(".amdhsa_system_vgpr_workitem_id 2").enable_vgpr_workitem_id(), 2u);
  EXPECT_EQ(descriptor(".amdhsa_float_round_mode_32 3").float_round_mode_32(), 3u);
  EXPECT_EQ(descriptor(".amdhsa_float_denorm_mode_16_64 1").float_denorm_mode_16_64(), 1u);
  EXPECT_FALSE(descriptor(".amdhsa_dx10_clamp 0").enable_dx10_clamp());
  EXPECT_FALSE(descriptor(".amdhsa_ieee_mode 0").enable_ieee_mode());
  EXPECT_TRUE(descriptor(".amdhsa_fp16_overflow 1").fp16_ovfl());
  EXPECT_EQ(descriptor(".amdhsa_exception_int_div_zero 1").exception_enables(), 0x40u);
  const KernelDescriptor user =
      descriptor(".amdhsa_user_sgpr_private_segment_buffer 1\n.amdhsa_user_sgpr_dispatch_id "
                 "1\n.amdhsa_user_sgpr_private_segment_size 1");
  EXPECT_EQ(user.user_sgpr_count(), 7u);
  EXPECT_TRUE(user.enable_sgpr_private_segment_buffer() && user.enable_sgpr_dispatch_id() &&
              user.enable_sgpr_private_segment_size());
  EXPECT_EQ(descriptor(".amdhsa_user_sgpr_count 9").user_sgpr_count(), 9u);
}

TEST(KernelFields, RegistersAreCountedAsLlvmDoes) { // The values are llvm-mc 15's.
  const auto rsrc1 = [](std::string_view target, std::string_view fields) {
    const CodeObject object = loaded(kernel(fields, target));
    return object.kernels.empty() ? 0 : object.kernels[0].descriptor.compute_pgm_rsrc1 & 0x3ff;
  };
  const std::string many = ".amdhsa_next_free_vgpr 65\n.amdhsa_next_free_sgpr 30\n";
  EXPECT_EQ(rsrc1("gfx600", many), 0x110u);
  EXPECT_EQ(rsrc1("gfx700", many), 0x110u);
  EXPECT_EQ(rsrc1("gfx803", many), 0x110u);
  EXPECT_EQ(rsrc1("gfx900", many), 0x110u);
  EXPECT_EQ(rsrc1("gfx900:xnack-", many + ".amdhsa_reserve_flat_scratch 0\n.amdhsa_reserve_xnack_mask 0\n"),
            0xd0u);
  EXPECT_EQ(rsrc1("gfx900", many + ".amdhsa_reserve_flat_scratch 0\n"), 0x110u);
  EXPECT_EQ(rsrc1("gfx803", many + ".amdhsa_reserve_flat_scratch 0\n.amdhsa_reserve_vcc 0\n"), 0xd0u);
}

TEST(KernelFields, AreChecked) {
  EXPECT_EQ(messages(kernel(".amdhsa_next_free_vgpr 1")), "5:16: '.amdhsa_next_free_sgpr' is missing\n");
  EXPECT_EQ(messages(kernel(".amdhsa_next_free_vgpr 257\n.amdhsa_nonsense 1\n.amdhsa_ieee_mode "
                            "1\n.amdhsa_ieee_mode 0\n.amdhsa_tg_split 1")),
            "6:1: '.amdhsa_next_free_vgpr' takes 0 to 256\n7:1: unknown directive '.amdhsa_nonsense'\n9:1: "
            "'.amdhsa_ieee_mode' is given twice\n"
            "10:1: '.amdhsa_tg_split' is for later processors than gfx906\n");
  EXPECT_EQ(messages(kernel(".amdhsa_reserve_xnack_mask 1", "gfx700")),
            "6:1: '.amdhsa_reserve_xnack_mask' needs gfx803 or later\n");
  EXPECT_EQ(messages(kernel(fmt::format("{}.amdhsa_reserve_xnack_mask 1", kRequired), "gfx803")),
            "8:1: '.amdhsa_reserve_xnack_mask' is 0 for gfx803\n");
  EXPECT_EQ(messages(kernel(fmt::format("{}.amdhsa_reserve_xnack_mask 0", kRequired), "gfx900")),
            "8:1: '.amdhsa_reserve_xnack_mask' is 1 for gfx900\n");
  EXPECT_EQ(messages(kernel(".amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 103")),
            "5:16: '.amdhsa_next_free_sgpr' is 103, but gfx906 has 102 scalar registers\n");
  EXPECT_EQ(
      messages(kernel(".amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 102", "gfx700")),
      "5:16: '.amdhsa_next_free_sgpr' is 102, but gfx700 has 104 scalar registers, 4 of them reserved\n");
  EXPECT_EQ(messages(kernel(
                fmt::format("{}.amdhsa_user_sgpr_dispatch_ptr 1\n.amdhsa_user_sgpr_count 1", kRequired))),
            "5:16: '.amdhsa_user_sgpr_count' is 1, but 2 are enabled\n");
}

TEST(Errors, ShowPlaceAndSource) {
  EXPECT_EQ(errors_of(std::string(kGfx906) +
                      "s_mov_b32 s0, s1\n\tv_add_f32 v0, v1, s2, s3\n s_load_dword v0, s[0:1], 0\n"),
            "test.s:3:24: error: expected at most 3 operands\n\tv_add_f32 v0, v1, s2, s3\n\t                 "
            "     ^\n"
            "test.s:4:15: error: expected a scalar register\n s_load_dword v0, s[0:1], 0\n              ^\n");
}

TEST(Errors, SayWhatWasExpected) {
  const auto message = [](std::string_view line, std::string_view target = "gfx906") {
    return messages(fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n{}\n", target, line));
  };
  EXPECT_EQ(message("v_nonsense v0"), "2:1: unknown instruction 'v_nonsense'\n");
  EXPECT_EQ(message("v_mad_f33 v0"),
            "2:1: unknown instruction 'v_mad_f33'; similar: v_mad_f32, v_mac_f32, v_mad_f16\n");
  EXPECT_EQ(message("s_atc"), "2:1: unknown instruction 's_atc'; similar: s_atc_probe, s_atc_probe_buffer\n");
  EXPECT_EQ(message("global_load_dword v0, v[0:1], off", "gfx803"),
            "2:1: 'global_load_dword' does not exist on gfx803, only on gfx900, gfx906\n");
  EXPECT_EQ(message("v_mov_b32 v256, v0"),
            "2:11: register 256 does not exist on gfx906: the last one is 255\n");
  EXPECT_EQ(message("s_mov_b64 s[1:2], 0"), "2:11: 2 scalar registers must start at a multiple of 2\n");
  EXPECT_EQ(message("s_mov_b64 s0, 0"), "2:11: expected 2 registers, found 1\n");
  EXPECT_EQ(message("s_mov_b32 tba_lo, 0"), "2:11: 'tba_lo' does not exist on gfx906\n");
  EXPECT_EQ(message("v_add_f32 v0, s0, s1"),
            "2:1: the instruction reads more than one scalar register or literal\n");
  EXPECT_EQ(message("v_mad_f32 v0, 0x1234, v1, v2"),
            "2:15: literal constants are not allowed here, only inline ones\n");
  EXPECT_EQ(message("v_add_f16 v0, 65600.0, v1"),
            "2:15: the number is too large or too small for the operand's floating-point type\n");
  EXPECT_EQ(message("v_add_u16 v0, 0x1ff00, v1"), "2:15: the number does not fit 16 bits\n");
  EXPECT_EQ(message("s_mov_b64 s[0:1], 1.5"),
            "2:19: a 64-bit integer operand takes no floating-point literal\n");
  EXPECT_EQ(message("ds_read_b32 v0, v1 offset:65536"), "2:20: 'offset' takes 0 to 65535\n");
  EXPECT_EQ(message("global_load_dword v0, v[0:1], off offset:4096"), "2:35: 'offset' takes -4096 to 4095\n");
  EXPECT_EQ(message("v_bfe_u32 v0, v1, v2, v3 clamp"), "2:26: 'clamp' is not possible on this instruction\n");
  EXPECT_EQ(message("buffer_load_dword v0, v1, s[0:3], 0"), "2:23: expected 'off'\n");
  EXPECT_EQ(message("s_load_dword s0, s[0:1], 0x7fffffffffffffff", "gfx600"),
            "2:26: the offset is a number from 0 to 255 on gfx600\n");
  EXPECT_EQ(message("s_waitcnt vmcnt(64)"), "2:17: vmcnt is a number from 0 to 63\n");
  EXPECT_EQ(message("s_getreg_b32 s0, hwreg(HW_REG_NONE)"),
            "2:24: unknown hardware register 'HW_REG_NONE'\n");
  EXPECT_EQ(message("s_branch nowhere"), "2:10: undefined symbol 'nowhere'\n");
  EXPECT_EQ(message("v_mov_b32_dpp v0, v1 row_shl:16"), "2:30: 'row_shl' takes 1 to 15\n");
  EXPECT_EQ(message("s_mov_b32 s0"), "2:13: expected 2 operands, found 1\n");
  EXPECT_EQ(message("s_mov_b32 s0, (1+2"), "2:19: expected ')'\n");
  EXPECT_EQ(message("s_mov_b32 s0, 1/0"), "2:16: division by zero\n");
  EXPECT_EQ(message("s_mov_b32 s0, 0x"), "2:15: malformed number\n");
  EXPECT_EQ(message(".ascii \"open"), "2:8: the string is not closed\n");
  EXPECT_EQ(message(".nonsense"), "2:1: unknown directive '.nonsense'\n");
  EXPECT_EQ(message("a: a:"), "2:4: 'a' is defined twice\n");
  EXPECT_EQ(
      message(".rodata\n.quad a\na:"),
      "3:7: an address is known only after loading, so it must be in a writable section, such as .data\n");
  EXPECT_EQ(message(".macro m\nm\n.endm\nm"),
            "5:1: in the expansion, line 2: the macros expand without end\n");
  EXPECT_EQ(message(".if 1"), "3:1: '.endif' is missing\n");
}

TEST(Errors, AtTheVeryEndOfTheText) {
  EXPECT_EQ(messages(std::string(kGfx906) + "s_mov_b32 s0, 0x"), "2:15: malformed number\n");
  EXPECT_EQ(messages(std::string(kGfx906) + "s_mov_b32 s0, 1.5e0"), "");
}

TEST(Errors, AreAtMostTwenty) {
  std::string source(kGfx906);
  for (int i = 0; i < 100; ++i) source += "bad\n";
  const Assembly assembly = assemble(source);
  ASSERT_EQ(assembly.errors.size(), 21u);
  EXPECT_EQ(assembly.errors.back().message, "too many errors");
  EXPECT_TRUE(assembly.code_object.empty());
}

TEST(Errors, ConcernTheTarget) {
  EXPECT_EQ(messages("s_nop 0"),
            "1:1: no target: the source needs .amdgcn_target, or the command --target\n");
  EXPECT_EQ(errors_of("s_nop 0", {.target = target_from_name("gfx803")}), "");
  EXPECT_NE(errors_of(std::string(kGfx906), {.target = target_from_name("gfx803")}), "");
  EXPECT_EQ(messages(".amdgcn_target \"amdgcn-amd-amdhsa--gfx1030\""),
            "1:16: 'amdgcn-amd-amdhsa--gfx1030': not a processor that Lanewise knows; its targets are "
            "gfx600, gfx700, gfx803, gfx900, gfx906\n");
}

TEST(Program, MutatedSourcesNeverCrash) {
  std::mt19937_64 random(3);
  const std::string original = lanewise::testing::vector_add("gfx900");
  unsigned good = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string source = original;
    if (i % 4 != 0) isa::testing::mutate_text(source, original, random);
    const Assembly assembly = assemble(source);
    EXPECT_EQ(assembly.code_object.empty(), !assembly.errors.empty());
    if (assembly.errors.empty()) {
      (void)load(assembly.code_object, "mutated");
      ++good;
    }
    (void)format_errors(assembly, source, "mutated.s");
  }
  EXPECT_GT(good, 300u);
}

} // namespace
} // namespace lanewise::abi
