// Where the fields of each microcode format lie (7nm guide chapter 13; the moves between generations are
// marked). Decoder and assembler share these. Bit 32 and up are the second dword.
#pragma once

#include "isa/inst.hpp"

namespace lanewise::isa::enc {

/// A bit field of an instruction word.
struct Field {
  u8 lo = 0, width = 0;

  [[nodiscard]] constexpr u32 get(u64 word) const {
    return static_cast<u32>((word >> lo) & ((u64{1} << width) - 1));
  }
  [[nodiscard]] constexpr bool flag(u64 word) const { return (word >> lo) & 1; }
  [[nodiscard]] constexpr i64 get_signed(u64 word) const { return sign_extend(get(word), width); }
  [[nodiscard]] constexpr u64 mask() const { return ((u64{1} << width) - 1) << lo; }
  [[nodiscard]] constexpr u64 put(u64 value) const { return (value & ((u64{1} << width) - 1)) << lo; }
};

/// Bit `i` of a field, as a field.
constexpr Field bit(Field field, u8 i) { return {static_cast<u8>(field.lo + i), 1}; }

/// Source codes with a meaning of their own in the 8- and 9-bit source fields.
inline constexpr unsigned kSrcInlineZero = 128, kSrcInlineMinus16 = 208, kSrcHalf = 240, kSrcInvTwoPi = 248,
                          kSrcSdwa = 249, kSrcDpp = 250, kSrcLiteral = 255, kSrcVgpr0 = 256;

/// The format's fixed bits, at the top of the first dword: `value` in the `width` uppermost bits.
struct Prefix {
  u8 width = 0;
  u16 value = 0;
  [[nodiscard]] constexpr u64 mask() const { return 0xffffffff & ~(0xffffffffull >> width); }
  [[nodiscard]] constexpr u32 word() const { return static_cast<u32>(value) << (32 - width); }
  [[nodiscard]] constexpr bool matches(u32 first) const {
    return width != 0 && (first >> (32 - width)) == value;
  }
};

/// The bits of a prefix and some fields together.
template <class... Fields>
constexpr u64 bits_of(Prefix prefix, Fields... fields) {
  return (prefix.mask() | ... | fields.mask());
}

// Scalar ALU.
inline constexpr Field kSsrc0{0, 8}, kSsrc1{8, 8}, kSdst{16, 7}, kSimm16{0, 16};
inline constexpr Field kSop2Op{23, 7}, kSop1Op{8, 8}, kSopkOp{23, 5}, kSopcOp{16, 7}, kSoppOp{16, 7};
inline constexpr Prefix kSop2Prefix{2, 0b10}, kSopkPrefix{4, 0b1011}, kSop1Prefix{9, 0b101111101},
    kSopcPrefix{9, 0b101111110}, kSoppPrefix{9, 0b101111111};

// Scalar memory: SMRD is 32 bits, SMEM 64.
struct Smrd {
  static constexpr Field kOffset{0, 8}, kImm{8, 1}, kSbase{9, 6}, kSdst{15, 7}, kOp{22, 5};
  static constexpr Prefix kPrefix{5, 0b11000};
  static constexpr unsigned kLiteralOffset = 255; ///< gfx7, imm = 0: a literal follows
  static constexpr unsigned kMaxOffset = 255;     ///< in dwords, without a literal
};
struct Smem {
  static constexpr Field kSbase{0, 6}, kSdata{6, 7}, kSoe{14, 1}, kNv{15, 1}, kGlc{16, 1}, kImm{17, 1},
      kOp{18, 8};
  static constexpr Field kOffsetGfx8{32, 20}, kOffsetGfx9{32, 21}, kOffsetSgpr{32, 7}, kSoffset{57, 7};
  static constexpr Prefix kPrefix{6, 0b110000};
};

// Vector ALU, 32 bits.
inline constexpr Field kSrc0{0, 9}, kVsrc1{9, 8}, kVdst{17, 8}, kVop2Op{25, 6}, kVop1Op{9, 8}, kVopcOp{17, 8};
inline constexpr Prefix kVop2Prefix{1, 0}, kVop1Prefix{7, 0b0111111}, kVopcPrefix{7, 0b0111110};

struct Sdwa {
  static constexpr Field kSrc0{32, 8}, kDstSel{40, 3}, kDstUnused{43, 2}, kClamp{45, 1},
      kOmod{46, 2}; ///< omod from gfx9
  static constexpr Field kSrc0Sel{48, 3}, kSrc0Sext{51, 1}, kSrc0Neg{52, 1}, kSrc0Abs{53, 1},
      kS0{55, 1}; ///< s0, s1 from gfx9
  static constexpr Field kSrc1Sel{56, 3}, kSrc1Sext{59, 1}, kSrc1Neg{60, 1}, kSrc1Abs{61, 1}, kS1{63, 1};
  static constexpr Field kSdst{40, 7}, kSd{47, 1}; ///< SDWAB: VOPC on gfx9
};
struct Dpp {
  static constexpr Field kSrc0{32, 8}, kCtrl{40, 9}, kBoundCtrl{51, 1}, kSrc0Neg{52, 1}, kSrc0Abs{53, 1},
      kSrc1Neg{54, 1}, kSrc1Abs{55, 1}, kBankMask{56, 4}, kRowMask{60, 4};
};

// VOP3a, VOP3b: the opcode moved and widened, clamp moved, op_sel appeared.
struct Vop3 {
  static constexpr Field kVdst{0, 8}, kAbs{8, 3}, kSdst{8, 7}, kSrc0{32, 9}, kSrc1{41, 9}, kSrc2{50, 9},
      kOmod{59, 2}, kNeg{61, 3};
  static constexpr Field kOpGfx6{17, 9}, kClampGfx6{11, 1};
  static constexpr Field kOpGfx8{16, 10}, kClampGfx8{15, 1}, kOpSel{11, 4};
  static constexpr Field kAttr{32, 6}, kAttrChan{38, 2},
      kHigh{40, 1}; ///< interpolation, in the place of src0
  static constexpr Prefix kPrefix{6, 0b110100};
};
struct Vop3p {
  static constexpr Field kVdst{0, 8}, kNegHi{8, 3}, kOpSel{11, 3}, kOpSelHi2{14, 1}, kClamp{15, 1},
      kOp{16, 7};
  static constexpr Field kSrc0{32, 9}, kSrc1{41, 9}, kSrc2{50, 9}, kOpSelHi{59, 2}, kNeg{61, 3};
  static constexpr Prefix kPrefix{9, 0b110100111};
};
struct Vintrp {
  static constexpr Field kVsrc{0, 8}, kAttrChan{8, 2}, kAttr{10, 6}, kOp{16, 2}, kVdst{18, 8};
  static constexpr Prefix kPrefixGfx6{6, 0b110010}, kPrefixGfx8{6, 0b110101};
};

// LDS and GDS: opcode and gds moved down by one.
struct Ds {
  static constexpr Field kOffset{0, 16}, kOffset0{0, 8}, kOffset1{8, 8};
  static constexpr Field kGdsGfx6{17, 1}, kOpGfx6{18, 8}, kGdsGfx8{16, 1}, kOpGfx8{17, 8};
  static constexpr Field kAddr{32, 8}, kData0{40, 8}, kData1{48, 8}, kVdst{56, 8};
  static constexpr Prefix kPrefix{6, 0b110110};
};

// Buffers: slc moved into the first dword of MUBUF; addr64 went away; MTBUF's opcode grew by the bit of
// addr64.
struct Buffer {
  static constexpr Field kOffset{0, 12}, kOffen{12, 1}, kIdxen{13, 1}, kGlc{14, 1}, kAddr64{15, 1},
      kLds{16, 1}, kSlcGfx8{17, 1};
  static constexpr Field kMubufOp{18, 7}, kMtbufOpGfx6{16, 3}, kMtbufOpGfx8{15, 4}, kDfmt{19, 4},
      kNfmt{23, 3};
  static constexpr Field kVaddr{32, 8}, kVdata{40, 8}, kSrsrc{48, 5}, kSlc{54, 1}, kTfe{55, 1},
      kSoffset{56, 8};
  static constexpr Prefix kMubufPrefix{6, 0b111000}, kMtbufPrefix{6, 0b111010};
};

// Images: bit 15 is r128 before gfx9 and a16 since; the opcode's upper bit and d16 came with gfx9 and gfx8.
struct Mimg {
  static constexpr Field kOpHigh{0, 1}, kDmask{8, 4}, kUnorm{12, 1}, kGlc{13, 1}, kDa{14, 1}, kR128{15, 1},
      kA16{15, 1}, kTfe{16, 1}, kLwe{17, 1}, kOp{18, 7}, kSlc{25, 1};
  static constexpr Field kVaddr{32, 8}, kVdata{40, 8}, kSrsrc{48, 5}, kSsamp{53, 5}, kD16{63, 1};
  static constexpr Prefix kPrefix{6, 0b111100};
};

// FLAT: from gfx9 with offset, segment, saddr and lds.
struct Flat {
  static constexpr Field kOffsetFlat{0, 12}, kOffsetSegment{0, 13}, kLds{13, 1}, kSeg{14, 2}, kGlc{16, 1},
      kSlc{17, 1}, kOp{18, 7};
  static constexpr Field kAddr{32, 8}, kData{40, 8}, kSaddr{48, 7}, kTfe{55, 1}, kNv{55, 1}, kVdst{56, 8};
  static constexpr unsigned kSaddrOff = 0x7f;
  static constexpr Prefix kPrefix{6, 0b110111};
};

struct Exp {
  static constexpr Field kEnable{0, 4}, kTarget{4, 6}, kCompr{10, 1}, kDone{11, 1}, kVm{12, 1};
  static constexpr Field kVsrc0{32, 8}, kVsrc1{40, 8}, kVsrc2{48, 8}, kVsrc3{56, 8};
  static constexpr Prefix kPrefixGfx6{6, 0b111110}, kPrefixGfx8{6, 0b110001};
};

} // namespace lanewise::isa::enc
