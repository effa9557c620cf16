// Damage to an instruction's text of the kind that parsers fall for.
#pragma once

#include "support/bits.hpp"

#include <iterator>
#include <random>
#include <string>
#include <string_view>

namespace lanewise::isa::testing {

/// Damages `text` once to three times; `other` is another instruction's text to take pieces from.
inline void mutate_text(std::string& text, std::string_view other, std::mt19937_64& random) {
  // clang-format off
  static constexpr std::string_view kNumbers[] = {
    "0", "1", "-1", "64", "255", "256", "0x7fffffff", "0xffffffff", "-2147483649", "4294967296", "0x1p3",
    "1.0e39", "-0.0", "0.15915494", "1e-45", "65520.0", "0b2", "09", "0x", "1e", "18446744073709551615",
    "18446744073709551616", "9223372036854775808"};
  static constexpr std::string_view kPieces[] = {
    "[", "]", ":", ",", "|", "-", "||", "--", "(", ")", "+", "<<", "/", "%0", "!", "~", "abs(", "neg(",
    "sext(", "v", "s", "v[0:1]", "s[2:3]", "v[255:256]", "s[101:102]", "[v0,v1]", "[s0,s1,s2,s3]", "v[1]",
    "ttmp[14:15]", "vcc", "vcc_lo", "exec", "m0", "off", "null", "scc", "lds_direct", "src_shared_base",
    "flat_scratch", "xnack_mask", "lit(", "hwreg(", "sendmsg(", "vmcnt(", "& lgkmcnt(0)", "gpr_idx(",
    "offset:", "offset0:", "offset1:", "offset:swizzle(", "glc", "slc", "tfe", "lds", "gds", "idxen",
    "offen", "addr64", "clamp", "mul:2", "div:2", "op_sel:[", "op_sel_hi:[0,1]", "neg_lo:[1,", "neg_hi:[",
    "quad_perm:[0,1,2,3]", "row_shl:", "wave_ror:1", "row_mask:0x", "bank_mask:", "bound_ctrl:0",
    "dst_sel:WORD_1", "dst_unused:UNUSED_", "src0_sel:", "src1_sel:BYTE_3", "dmask:0x", "unorm", "r128",
    "d16", "format:[", "dfmt:", "nfmt:", "done", "compr", "attr0.x", "attr63.w", "p10", "mrt8", "_e32",
    "_e64", "_sdwa", "_dpp", "/*", "*/", "//", ";", "\"", "\\", "\n", "\t", std::string_view("\0", 1),
    "\xff", ".", "$", "1f", "@rel32@lo"};
  // clang-format on
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  constexpr std::string_view kDigits = "0123456789";
  for (std::size_t n = 1 + below(2) * below(3); n > 0; --n) {
    const std::size_t place = below(text.size() + 1);
    switch (below(8)) {
    case 0:
      if (place < text.size()) text[place] = static_cast<char>(below(4) ? 32 + below(95) : below(256));
      break;
    case 1: text.erase(place, 1 + below(6)); break;
    case 2: text.insert(place, std::string(text.substr(below(text.size() + 1), 1 + below(12)))); break;
    case 3: text.resize(place), text += other.substr(below(other.size() + 1)); break;
    case 4: { // another number
      const std::size_t begin = text.find_first_of(kDigits, place);
      if (begin == std::string::npos) break;
      const std::size_t end = text.find_first_not_of(kDigits, begin);
      text.replace(begin, end == std::string::npos ? end : end - begin, kNumbers[below(std::size(kNumbers))]);
      break;
    }
    case 5: text.insert(place, kPieces[below(std::size(kPieces))]); break;
    case 6: (text += ' ') += kPieces[below(std::size(kPieces))]; break;
    default: { // the operands with the other mnemonic
      const std::size_t mine = text.find(' '), theirs = other.find(' ');
      if (mine != std::string::npos) text = std::string(other.substr(0, theirs)) + text.substr(mine);
      break;
    }
    }
  }
}

} // namespace lanewise::isa::testing
