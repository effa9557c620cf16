// Where a buffer access goes and whether it is inside the buffer (7nm guide 8.1.5; docs/SEMANTICS.md, "Buffer
// address" and the rows after it). Whatever is constant in the V# folds away.
#pragma once

#include "translator/lift/emit.hpp"

#include <array>

namespace lanewise::lift {

/// One access: the V#, and the index and offset of each lane. Built where `b` stands.
class BufferAddress {
public:
  struct Operands {
    ValueId index, offset;        ///< v32; without idxen the index is 0
    std::array<ValueId, 4> words; ///< of the V#
    ValueId soffset;              ///< u32
    u32 inst_offset = 0;
    bool idxen = false;
    bool format = false; ///< buffer_*_format, tbuffer_*: the data format is one, not bits of the stride
    ValueId addr64 = {}; ///< v64, or none: an address to add, with which nothing is checked
  };
  BufferAddress(Emit& b, isa::Target target, const Operands& operands);

  /// 48 bits of the V#, as u64.
  static ValueId base(Emit& b, ValueId w0, ValueId w1) { return b.join(w0, b.and_(w1, 0xffff)); }
  /// With addr64 they are a signed number: compilers put constants of a few bytes back there.
  static ValueId signed_base(Emit& b, ValueId w0, ValueId w1) {
    return b.join(w0, b.ashr(b.shl(w1, 16), 16));
  }

  /// The address (v64) of the byte `extra` bytes into what each lane accesses.
  ValueId at(u32 extra);
  /// Lanes for which `size` bytes (u32) from there are in the buffer.
  ValueId in_range(u32 extra, ValueId size);
  ValueId in_range(u32 extra, u32 size) { return in_range(extra, b_.u32c(size)); }
  /// Consecutive bytes may lie apart.
  [[nodiscard]] bool swizzled() const { return !b_.is_const_equal(swizzle_, 0); }

  /// All lanes, or none, if they may.
  ValueId linear_lanes() { return b_.not_(b_.splat(swizzle_)); }

private:
  ValueId scaled(ValueId index);
  ValueId buffer_offset(ValueId offset);
  ValueId bytes_in_range(ValueId offset, ValueId size);

  Emit& b_;
  bool gfx8_, gfx9_, idxen_;
  ValueId start_;                       ///< u64: base and scalar offset
  ValueId addr64_;                      ///< v64, or none
  ValueId index_, offset_;              ///< v32
  ValueId stride_, records_;            ///< u32
  ValueId swizzle_, add_tid_;           ///< u1
  ValueId index_shift_, element_shift_; ///< u32: log2 of index stride and element size
};

} // namespace lanewise::lift
