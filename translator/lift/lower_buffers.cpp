// The addressing of buffers (7nm guide 8.1.5; docs/SEMANTICS.md "Buffer address" and the rows after it) in
// IR.
//
// Whatever is constant in a V# folds away: usual code has constant words 2 and 3, so that little more remains
// than an addition and, for a real size, a compare. The private segment buffer is recognised by its constant
// words and by its base coming from the initial SGPRs; missing it costs speed only, as its V# means the same
// memory by the general formula.
#include "translator/lift/lower_buffers.hpp"

#include "translator/lift/emit.hpp"

#include <algorithm>

namespace lanewise::lift {

using ir::Op;
using ir::Space;

namespace {

struct Descriptor {
  ValueId base;                       ///< u64, 48 bits
  ValueId stride;                     ///< u32, bytes
  ValueId swizzle;                    ///< u1
  ValueId records;                    ///< u32
  ValueId add_tid;                    ///< u1
  ValueId index_shift, element_shift; ///< u32: log2 of index stride and element size
};

class Lowering {
public:
  Lowering(ir::Function& f, const translator::KernelSource& source) : f_(f), source_(source), b_(f) {}

  void run() {
    for (u32 block = 0; block < f_.num_blocks(); ++block) lower_block(BlockId{block});
    if (replaced_.empty()) return;
    std::vector<ValueId> map(f_.num_values());
    for (const auto& [old, now] : replaced_) map[old.index] = now;
    f_.replace_values(map);
  }

private:
  ir::Function& f_;
  const translator::KernelSource& source_;
  Emit b_;
  // The access being lowered.
  ir::Inst inst_;
  ir::InstId id_;
  std::vector<ValueId> operands_;
  std::vector<std::pair<ValueId, ValueId>> replaced_; ///< results of loads that were split

  [[nodiscard]] bool gfx8() const { return f_.target == isa::Target::gfx803; }
  [[nodiscard]] bool gfx9() const { return f_.target >= isa::Target::gfx900; }
  ValueId word(unsigned i) { return operands_[2 + i]; }
  ValueId soffset() { return operands_[6]; }
  ValueId lanes() { return operands_.back(); }

  void lower_block(BlockId block) {
    const auto is_buffer = [&](ir::InstId i) {
      return ir::info(f_[i].op).is(ir::kMemory) && f_[i].mem.space == Space::Buffer;
    };
    if (std::none_of(f_[block].insts.begin(), f_[block].insts.end(), is_buffer)) return;
    const std::vector<ir::InstId> insts = std::move(f_[block].insts);
    f_[block].insts.clear();
    b_.set_block(block);
    for (const ir::InstId i : insts) {
      if (is_buffer(i))
        lower(i);
      else
        f_[block].insts.push_back(i);
    }
  }

  void lower(ir::InstId i) {
    id_ = i;
    inst_ = f_[i];
    operands_.assign(f_.operands(i).begin(), f_.operands(i).end());
    b_.set_pc(inst_.pc);
    if (inst_.mem.addr64) return lower_addr64();
    if (is_private()) return lower_private();
    lower_general();
  }

  /// The access itself with another address, in its old place.
  void finish(Space space, ValueId address, ValueId mask, u64 offset) {
    std::vector<ValueId> operands = {address};
    operands.insert(operands.end(), operands_.begin() + 7, operands_.end() - 1);
    operands.push_back(mask);
    f_.set_operands(id_, operands);
    ir::Inst& inst = f_[id_];
    inst.mem.space = space;
    inst.mem.idxen = inst.mem.offen = inst.mem.addr64 = false;
    inst.imm = offset;
    f_[b_.block()].insts.push_back(id_);
  }

  ValueId base() { return b_.join(word(0), b_.and_(word(1), 0xffff)); }

  void lower_addr64() {
    const ValueId uniform = b_.add(base(), b_.zext(soffset()));
    const ValueId address = b_.add(b_.splat(uniform), b_.join(operands_[0], operands_[1]));
    finish(Space::Global, address, lanes(), inst_.imm);
  }

  // ---- the private segment buffer

  [[nodiscard]] bool init_sgpr(ValueId v, u64* index) const {
    const ir::Inst* inst = b_.def(v, Op::InitSgpr);
    if (inst != nullptr) *index = inst->imm;
    return inst != nullptr;
  }
  [[nodiscard]] u64 wave_offset_sgpr() const { return source_.initial_sgprs.size() - 1; }

  /// Whether the V# has the words of the private segment buffer and a base from where that is set up.
  bool is_private() {
    u64 w3 = 0, first = 0;
    if (inst_.mem.idxen || !b_.is_const(word(3), &w3)) return false;
    const bool element4 = gfx9() || (w3 >> 19 & 3) == 1;
    if ((w3 >> 23 & 1) == 0 || (w3 >> 21 & 3) != 3 || !element4) return false;
    if (init_sgpr(word(0), &first)) return is_private_sgpr(first);
    u64 second = 0;
    return sum_of_two(word(0), &first, &second) && second == wave_offset_sgpr() && is_private_sgpr(first);
  }
  /// Whether `v` is the sum of two initial SGPRs, or the low half of a 64-bit sum of two pairs that begin
  /// with them.
  [[nodiscard]] bool sum_of_two(ValueId v, u64* first, u64* second) const {
    if (b_.def(v, Op::Lo) != nullptr) v = b_.operand(v, 0);
    if (b_.def(v, Op::Add) == nullptr) return false;
    const auto term = [&](unsigned i) {
      const ValueId t = b_.operand(v, i);
      return b_.def(t, Op::Join) != nullptr || b_.def(t, Op::ZExt) != nullptr ? b_.operand(t, 0) : t;
    };
    return init_sgpr(term(0), first) && init_sgpr(term(1), second);
  }
  /// Initial SGPRs `first`+2 and +3 are constant words, as only the private segment buffer has them.
  [[nodiscard]] bool is_private_sgpr(u64 first) const {
    const auto& s = source_.initial_sgprs;
    return first + 3 < s.size() && s[first + 2].constant && s[first + 3].constant;
  }

  /// The scalar offset moves by whole rows of 64 dwords: 256 bytes of it are one dword per lane.
  void lower_private() {
    ValueId offset = soffset();
    if (b_.def(word(0), Op::InitSgpr) != nullptr) // The wave's offset has not been added to the base.
      offset = b_.sub(offset, wave_offset());
    const ValueId rows = b_.shl(b_.lshr(offset, 8), 2);
    const ValueId address = b_.is_const_equal(rows, 0) ? operands_[1] : b_.add(b_.splat(rows), operands_[1]);
    finish(Space::Scratch, address, lanes(), inst_.imm);
  }
  ValueId wave_offset() {
    u64 index = 0;
    if (init_sgpr(soffset(), &index) && index == wave_offset_sgpr()) return soffset();
    return b_.op(Op::InitSgpr, Type::U32, {}, wave_offset_sgpr());
  }

  // ---- any V#

  Descriptor descriptor() {
    Descriptor d;
    const ValueId w1 = word(1), w3 = word(3);
    d.base = base();
    d.add_tid = b_.icmp(IntPred::Ne, b_.and_(w3, 1u << 23), 0);
    d.stride = b_.field(w1, 16, 14);
    if (gfx8() || gfx9()) // ADD_TID_ENABLE makes the data format the stride's upper bits.
      d.stride = b_.or_(d.stride, b_.select(d.add_tid, b_.shl(b_.field(w3, 15, 4), 14), b_.u32c(0)));
    d.swizzle = b_.icmp(IntPred::SLt, w1, 0);
    d.records = word(2);
    d.index_shift = b_.add(b_.field(w3, 21, 2), 3);
    d.element_shift = gfx9() ? b_.u32c(2) : b_.add(b_.field(w3, 19, 2), 1);
    return d;
  }

  /// Offset in the buffer of byte `offset` (v32) of element `index` (v32), as v64.
  ValueId buffer_offset(const Descriptor& d, ValueId index, ValueId offset) {
    const ValueId linear = b_.add(scaled(index, d.stride), b_.zext(offset));
    if (b_.is_const_equal(d.swizzle, 0)) return linear;
    const ValueId index_shift = b_.splat(d.index_shift), element_shift = b_.splat(d.element_shift);
    const ValueId one = b_.v32c(1);
    const ValueId index_low = b_.and_(index, b_.sub(b_.shl(one, index_shift), one));
    const ValueId low = b_.and_(offset, b_.sub(b_.shl(one, element_shift), one));
    const ValueId high = b_.zext(b_.sub(offset, low));
    const ValueId row = b_.add(scaled(b_.lshr(index, index_shift), d.stride), high);
    const ValueId within = b_.add(b_.zext(b_.shl(index_low, element_shift)), b_.zext(low));
    const ValueId swizzled = b_.add(b_.shl(row, index_shift), within);
    return b_.select(d.swizzle, swizzled, linear);
  }
  ValueId scaled(ValueId index, ValueId stride) {
    if (b_.is_const_equal(index, 0) || b_.is_const_equal(stride, 0)) return b_.v64c(0);
    return b_.op(Op::UMulWide, Type::V64, {index, b_.splat(stride)});
  }

  /// Lanes whose `size` bytes at `offset` of element `index` are inside the buffer.
  ValueId in_range(const Descriptor& d, ValueId index, ValueId offset, u32 size) {
    const ValueId bytes = in_range_bytes(d, index, offset, size);
    const ValueId structured = b_.icmp(IntPred::Ne, d.stride, 0);
    ValueId by_records = structured;
    if (gfx8()) by_records = b_.and_(structured, d.swizzle);
    if (gfx9() && !inst_.mem.idxen) by_records = b_.u1(false);
    ValueId in = bytes;
    if (!b_.is_const_equal(by_records, 0))
      in = b_.select(by_records, b_.icmp(IntPred::ULt, index, b_.splat(d.records)), bytes);
    return inst_.mem.idxen ? in : b_.or_(in, b_.splat(d.add_tid));
  }
  ValueId in_range_bytes(const Descriptor& d, ValueId index, ValueId offset, u32 size) {
    if (gfx8() && inst_.mem.idxen) {
      const ValueId end = b_.add(b_.add(scaled(index, d.stride), b_.zext(offset)), u64{size});
      return b_.icmp(IntPred::ULe, end, b_.splat(b_.zext(d.records)));
    }
    const ValueId fits = b_.icmp(IntPred::UGe, d.records, size);
    const ValueId room = b_.select(fits, b_.add(d.records, u64{0} - (size - 1)), b_.u32c(0));
    return b_.icmp(IntPred::ULt, offset, b_.splat(room));
  }

  void lower_general() {
    const Descriptor d = descriptor();
    ValueId index = operands_[0];
    if (!b_.is_const_equal(d.add_tid, 0)) {
      const ValueId lane = b_.op(Op::LaneId, Type::V32, {});
      index = b_.add(index, b_.select(d.add_tid, lane, b_.v32c(0)));
    }
    const ValueId offset = b_.add(operands_[1], inst_.imm);
    const u32 bytes = inst_.mem.bytes;
    const bool atomic = inst_.op == Op::Atomic;
    // Dwords are checked and swizzled one by one.
    const ValueId first = in_range(d, index, offset, atomic || bytes <= 4 ? bytes : 4);
    const bool whole = atomic || bytes <= 4 ||
                       (b_.is_const_equal(d.swizzle, 0) && b_.is_const_equal(first, kAllLanes) &&
                        b_.is_const_equal(in_range(d, index, offset, bytes), kAllLanes));
    if (whole) return finish(Space::Global, address(d, index, offset), b_.and_(lanes(), first), 0);
    split(d, index, offset);
  }
  ValueId address(const Descriptor& d, ValueId index, ValueId offset) {
    const ValueId uniform = b_.add(d.base, b_.zext(soffset()));
    return b_.add(b_.splat(uniform), buffer_offset(d, index, offset));
  }

  /// One access per dword. The results of a load take the places of the old ones.
  void split(const Descriptor& d, ValueId index, ValueId offset) {
    for (u32 n = 0; n < inst_.mem.bytes / 4u; ++n) {
      const ValueId at = b_.add(offset, u64{4} * n);
      ir::Inst proto;
      proto.op = inst_.op;
      proto.pc = inst_.pc;
      proto.mem = inst_.mem;
      proto.mem.space = Space::Global;
      proto.mem.bytes = 4;
      proto.mem.idxen = proto.mem.offen = false;
      std::vector<ValueId> operands = {address(d, index, at)};
      if (inst_.op == Op::Store) operands.push_back(operands_[7 + n]);
      operands.push_back(b_.and_(lanes(), in_range(d, index, at, 4)));
      const std::vector<Type> types(inst_.op == Op::Load ? 1 : 0, Type::V32);
      const ir::InstId part = f_.append(b_.block(), proto, operands, types);
      if (inst_.op == Op::Load)
        replaced_.emplace_back(ValueId{inst_.first_result.index + n}, f_.result(part));
    }
  }
};

} // namespace

void lower_buffers(ir::Function& f, const translator::KernelSource& source) {
  Lowering lowering(f, source);
  lowering.run();
}

} // namespace lanewise::lift
