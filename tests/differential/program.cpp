#include "tests/differential/program.hpp"

#include "isa/asm/instruction.hpp"
#include "tests/differential/memory_map.hpp"

#include <fmt/format.h>
#include <map>

namespace lanewise::differential {
namespace {

bool is_label(const std::string& text) { return text.ends_with(':'); }
bool is_branch(const std::string& text) {
  return text.starts_with("s_cbranch_") || text.starts_with("s_branch");
}

/// Collects lines; what does not assemble shows when the program is assembled.
class Writer {
public:
  explicit Writer(Target target) : target_(target) {}
  template <class... Args>
  void operator()(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(line(target_, fmt::format(format, std::forward<Args>(args)...)));
  }
  std::vector<Line> take() { return std::move(lines_); }

private:
  Target target_;
  std::vector<Line> lines_;
};

/// An SMEM offset: gfx6 and gfx7 count dwords.
u32 smem_offset(Target target, u32 bytes) { return target <= Target::gfx700 ? bytes / 4 : bytes; }

std::vector<Line> prologue(const Program& program) {
  const Target target = program.target;
  Writer put(target);
  // The buffer of the frame is one of constants, so that it takes little code.
  put("s_mov_b32 s4, s0");
  put("s_and_b32 s5, s1, 0xffff");
  put("s_movk_i32 s6, {:#x}", kRegionBytes);
  put("s_mov_b32 s7, {:#x}", kPlainFormat);
  put("s_load_dwordx16 s[16:31], s[0:1], {:#x}", smem_offset(target, kSgprsIn));
  put("s_load_dwordx16 s[40:55], s[0:1], {:#x}", smem_offset(target, kSpecialsIn));
  put("v_lshlrev_b32 v21, 2, v0");
  for (unsigned v = 0; v <= kScratchVgpr; ++v) {
    if (v % 8 == 0) put("s_movk_i32 s33, {:#x}", kVgprsIn + v * 256);
    put("buffer_load_dword v{}, v21, s[4:7], s33 offen offset:{}", v, v % 8 * 256);
  }
  if (program.images)
    for (unsigned n = 0; n < program.waves[0].places.size(); ++n) {
      if (n % 8 == 0) put("s_movk_i32 s33, {:#x}", kPlacesIn + n * 256);
      put("buffer_load_dword v{}, v21, s[4:7], s33 offen offset:{}", kPlaceVgpr + n, n % 8 * 256);
    }
  put("s_waitcnt vmcnt(0) lgkmcnt(0)");
  put("s_mov_b32 m0, s45");
  put("s_mov_b64 vcc, s[42:43]");
  put("s_mov_b64 exec, s[40:41]");
  put("s_cmp_lg_u32 s44, 0");
  return put.take();
}

std::vector<Line> epilogue(Target target) {
  Writer put(target);
  put("s_mov_b64 s[32:33], exec");
  put("s_mov_b64 s[34:35], vcc");
  put("s_cselect_b32 s36, 1, 0");
  put("s_mov_b32 s37, m0");
  put("s_mov_b64 exec, -1");
  put("s_movk_i32 s38, {:#x}", kVgprsOut);
  put("s_movk_i32 s39, {:#x}", kSgprsOut);
  for (unsigned v = 0; v < kValueVgprs; ++v)
    put("buffer_store_dword v{}, v21, s[4:7], s38 offen offset:{}", v, v * 256);
  put("s_mov_b64 exec, 1");
  for (unsigned s = 16; s < 38; ++s) {
    put("v_mov_b32 v22, s{}", s);
    put("buffer_store_dword v22, off, s[4:7], s39 offset:{}", (s - 16) * 4);
  }
  put("s_endpgm");
  return put.take();
}

/// Encodes a branch once the labels are placed.
Result<u32> branch_word(Target target, const std::string& text, u32 at,
                        const std::map<std::string, u32>& labels) {
  const auto space = text.find(' ');
  const auto label = labels.find(text.substr(space + 1));
  if (label == labels.end()) return Error{ErrorCode::BadInput, "no label for `" + text + "`"};
  auto inst = isa::assemble(text.substr(0, space) + " 0", target);
  if (!inst) return std::move(inst).error();
  return (inst->words.words[0] & 0xffff'0000) | ((label->second - at - 1) & 0xffff);
}

} // namespace

Line line(Target target, std::string text, u32 group) {
  Line made{std::move(text), {}, group};
  if (is_label(made.text) || is_branch(made.text)) return made;
  if (auto inst = isa::assemble(made.text, target, {.permissive = true})) {
    made.words.assign(inst->words.span().begin(), inst->words.span().end());
  } else {
    made.text += "   ; " + inst.error().message;
  }
  return made;
}

Result<std::vector<u32>> assemble(const Program& program) {
  std::vector<Line> all = prologue(program);
  all.insert(all.end(), program.lines.begin(), program.lines.end());
  const std::vector<Line> end = epilogue(program.target);
  all.insert(all.end(), end.begin(), end.end());
  std::map<std::string, u32> labels;
  u32 at = 0;
  for (const Line& l : all) {
    if (is_label(l.text))
      labels[l.text.substr(0, l.text.size() - 1)] = at;
    else
      at += is_branch(l.text) ? 1 : static_cast<u32>(l.words.size());
  }
  std::vector<u32> code;
  for (const Line& l : all) {
    if (is_label(l.text)) continue;
    if (is_branch(l.text)) {
      auto word = branch_word(program.target, l.text, static_cast<u32>(code.size()), labels);
      if (!word) return std::move(word).error();
      code.push_back(*word);
    } else if (l.words.empty()) {
      return Error{ErrorCode::BadInput, "does not assemble: " + l.text};
    }
    code.insert(code.end(), l.words.begin(), l.words.end());
  }
  return code;
}

std::string listing(const Images& images) {
  std::string text;
  for (const ImageFields& f : images.images)
    text +=
        fmt::format("  ; image: type {}, data format {}, number format {}, {} x {} x {}, pitch {}, layers {} "
                    "to {}, dst_sel {}\n",
                    f.type, f.data_format, f.number_format, f.width, f.height, f.depth, f.pitch,
                    f.first_layer, f.last_layer, fmt::join(f.dst_sel, " "));
  for (const SamplerFields& s : images.samplers)
    text += fmt::format("  ; sampler: clamp {}, compare {}, filter {} (z {}), border {}{}{}\n",
                        fmt::join(s.clamp, " "), s.compare, s.xy_filter, s.z_filter, s.border,
                        s.unnormalised ? ", unnormalised" : "", s.truncates ? ", truncates" : "");
  return text;
}

std::string listing(const Program& program) {
  std::string text;
  if (program.images) text += listing(*program.images);
  for (const Line& l : program.lines) text += fmt::format("{}{}\n", is_label(l.text) ? "" : "  ", l.text);
  return text;
}

} // namespace lanewise::differential
