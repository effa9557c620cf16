// Damage to an instruction's text of the kind that parsers fall for.
#pragma once

#include "support/bits.hpp"

#include <array>
#include <random>
#include <string>
#include <string_view>

namespace lanewise::isa::testing {

/// Damages `text` once to three times; `other` is another instruction's text to take pieces from.
inline void mutate_text(std::string& text, std::string_view other, std::mt19937_64& random) {
  using namespace std::string_view_literals;
  static constexpr std::array kNumbers = {"0"sv,
                                          "1"sv,
                                          "-1"sv,
                                          "64"sv,
                                          "255"sv,
                                          "256"sv,
                                          "0x7fffffff"sv,
                                          "0xffffffff"sv,
                                          "-2147483649"sv,
                                          "4294967296"sv,
                                          "0x1p3"sv,
                                          "1.0e39"sv,
                                          "-0.0"sv,
                                          "0.15915494"sv,
                                          "1e-45"sv,
                                          "65520.0"sv,
                                          "0b2"sv,
                                          "09"sv,
                                          "0x"sv,
                                          "1e"sv,
                                          "18446744073709551615"sv,
                                          "18446744073709551616"sv,
                                          "9223372036854775808"sv};
  static constexpr std::array kPieces = {"["sv,
                                         "]"sv,
                                         ":"sv,
                                         ","sv,
                                         "|"sv,
                                         "-"sv,
                                         "||"sv,
                                         "--"sv,
                                         "("sv,
                                         ")"sv,
                                         "+"sv,
                                         "<<"sv,
                                         "/"sv,
                                         "%0"sv,
                                         "!"sv,
                                         "~"sv,
                                         "abs("sv,
                                         "neg("sv,
                                         "sext("sv,
                                         "v"sv,
                                         "s"sv,
                                         "v[0:1]"sv,
                                         "s[2:3]"sv,
                                         "v[255:256]"sv,
                                         "s[101:102]"sv,
                                         "[v0,v1]"sv,
                                         "[s0,s1,s2,s3]"sv,
                                         "v[1]"sv,
                                         "ttmp[14:15]"sv,
                                         "vcc"sv,
                                         "vcc_lo"sv,
                                         "exec"sv,
                                         "m0"sv,
                                         "off"sv,
                                         "null"sv,
                                         "scc"sv,
                                         "lds_direct"sv,
                                         "src_shared_base"sv,
                                         "flat_scratch"sv,
                                         "xnack_mask"sv,
                                         "lit("sv,
                                         "hwreg("sv,
                                         "sendmsg("sv,
                                         "vmcnt("sv,
                                         "& lgkmcnt(0)"sv,
                                         "gpr_idx("sv,
                                         "offset:"sv,
                                         "offset0:"sv,
                                         "offset1:"sv,
                                         "offset:swizzle("sv,
                                         "glc"sv,
                                         "slc"sv,
                                         "tfe"sv,
                                         "lds"sv,
                                         "gds"sv,
                                         "idxen"sv,
                                         "offen"sv,
                                         "addr64"sv,
                                         "clamp"sv,
                                         "mul:2"sv,
                                         "div:2"sv,
                                         "op_sel:["sv,
                                         "op_sel_hi:[0,1]"sv,
                                         "neg_lo:[1,"sv,
                                         "neg_hi:["sv,
                                         "quad_perm:[0,1,2,3]"sv,
                                         "row_shl:"sv,
                                         "wave_ror:1"sv,
                                         "row_mask:0x"sv,
                                         "bank_mask:"sv,
                                         "bound_ctrl:0"sv,
                                         "dst_sel:WORD_1"sv,
                                         "dst_unused:UNUSED_"sv,
                                         "src0_sel:"sv,
                                         "src1_sel:BYTE_3"sv,
                                         "dmask:0x"sv,
                                         "unorm"sv,
                                         "r128"sv,
                                         "d16"sv,
                                         "format:["sv,
                                         "dfmt:"sv,
                                         "nfmt:"sv,
                                         "done"sv,
                                         "compr"sv,
                                         "attr0.x"sv,
                                         "attr63.w"sv,
                                         "p10"sv,
                                         "mrt8"sv,
                                         "_e32"sv,
                                         "_e64"sv,
                                         "_sdwa"sv,
                                         "_dpp"sv,
                                         "/*"sv,
                                         "*/"sv,
                                         "//"sv,
                                         ";"sv,
                                         "\""sv,
                                         "\\"sv,
                                         "\n"sv,
                                         "\t"sv,
                                         "\0"sv,
                                         "\xff"sv,
                                         "."sv,
                                         "$"sv,
                                         "1f"sv,
                                         "@rel32@lo"sv};
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
      text.replace(begin, end == std::string::npos ? end : end - begin, kNumbers[below(kNumbers.size())]);
      break;
    }
    case 5: text.insert(place, kPieces[below(kPieces.size())]); break;
    case 6: (text += ' ') += kPieces[below(kPieces.size())]; break;
    default: { // the operands with the other mnemonic
      const std::size_t mine = text.find(' '), theirs = other.find(' ');
      if (mine != std::string::npos) text = std::string(other.substr(0, theirs)) + text.substr(mine);
      break;
    }
    }
  }
}

} // namespace lanewise::isa::testing
