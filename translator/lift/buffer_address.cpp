#include "translator/lift/buffer_address.hpp"

namespace lanewise::lift {

using ir::Op;

BufferAddress::BufferAddress(Emit& b, isa::Target target, const Operands& o)
    : b_(b), gfx8_(target == isa::Target::gfx803), gfx9_(target >= isa::Target::gfx900), idxen_(o.idxen) {
  const ValueId w1 = o.words[1], w3 = o.words[3];
  addr64_ = o.addr64;
  start_ =
      b.add(addr64_.valid() ? signed_base(b, o.words[0], w1) : base(b, o.words[0], w1), b.zext(o.soffset));
  add_tid_ = b.icmp(IntPred::Ne, b.and_(w3, 1u << 23), 0);
  stride_ = b.field(w1, 16, 14);
  if ((gfx8_ || gfx9_) && !o.format) // ADD_TID_ENABLE makes the data format the stride's upper bits.
    stride_ = b.or_(stride_, b.select(add_tid_, b.shl(b.field(w3, 15, 4), 14), b.u32c(0)));
  swizzle_ = b.icmp(IntPred::SLt, w1, 0);
  records_ = o.words[2];
  index_shift_ = b.add(b.field(w3, 21, 2), 3);
  element_shift_ = gfx9_ ? b.u32c(2) : b.add(b.field(w3, 19, 2), 1);
  index_ = o.index;
  if (!b.is_const_equal(add_tid_, 0))
    index_ = b.add(index_, b.select(add_tid_, b.op(Op::LaneId, Type::V32, {}), b.v32c(0)));
  offset_ = b.add(o.offset, o.inst_offset);
}

ValueId BufferAddress::scaled(ValueId index) {
  if (b_.is_const_equal(index, 0) || b_.is_const_equal(stride_, 0)) return b_.v64c(0);
  return b_.op(Op::UMulWide, Type::V64, {index, b_.splat(stride_)});
}

/// Offset in the buffer of byte `offset` (v32) of the element, as v64.
ValueId BufferAddress::buffer_offset(ValueId offset) {
  const ValueId linear = b_.add(scaled(index_), b_.zext(offset));
  if (!swizzled()) return linear;
  const ValueId index_shift = b_.splat(index_shift_), element_shift = b_.splat(element_shift_);
  const ValueId one = b_.v32c(1);
  const ValueId index_low = b_.and_(index_, b_.sub(b_.shl(one, index_shift), one));
  const ValueId low = b_.and_(offset, b_.sub(b_.shl(one, element_shift), one));
  const ValueId high = b_.zext(b_.sub(offset, low));
  const ValueId row = b_.add(scaled(b_.lshr(index_, index_shift)), high);
  const ValueId within = b_.add(b_.zext(b_.shl(index_low, element_shift)), b_.zext(low));
  return b_.select(swizzle_, b_.add(b_.shl(row, index_shift), within), linear);
}

ValueId BufferAddress::at(u32 extra) {
  if (addr64_.valid()) return b_.add(b_.add(b_.splat(start_), addr64_), b_.zext(b_.add(offset_, u64{extra})));
  return b_.add(b_.splat(start_), buffer_offset(b_.add(offset_, u64{extra})));
}

ValueId BufferAddress::in_range(u32 extra, ValueId size) {
  if (addr64_.valid()) return b_.maskc(kAllLanes);
  const ValueId structured = b_.icmp(IntPred::Ne, stride_, 0);
  ValueId by_records = structured;
  if (gfx8_) by_records = b_.and_(structured, swizzle_);
  if (gfx9_ && !idxen_) by_records = b_.u1(false);
  ValueId in = bytes_in_range(b_.add(offset_, u64{extra}), size);
  if (!b_.is_const_equal(by_records, 0))
    in = b_.select(by_records, b_.icmp(IntPred::ULt, index_, b_.splat(records_)), in);
  return idxen_ ? in : b_.or_(in, b_.splat(add_tid_));
}

ValueId BufferAddress::bytes_in_range(ValueId offset, ValueId size) {
  if (gfx8_ && idxen_) {
    const ValueId begin = b_.add(scaled(index_), b_.zext(offset));
    return b_.icmp(IntPred::ULe, b_.add(begin, b_.splat(b_.zext(size))), b_.splat(b_.zext(records_)));
  }
  // First offset that is too high, or 0.
  const ValueId fits = b_.icmp(IntPred::UGe, records_, size);
  const ValueId end = b_.add(b_.sub(records_, size), 1);
  return b_.icmp(IntPred::ULt, offset, b_.splat(b_.select(fits, end, b_.u32c(0))));
}

} // namespace lanewise::lift
