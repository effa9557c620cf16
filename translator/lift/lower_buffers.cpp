// The private segment buffer is recognised by its constant words and by its base coming from the initial
// SGPRs; missing it costs speed only, as its V# means the same memory by the general formula.
#include "translator/lift/lower_buffers.hpp"

#include "translator/lift/buffer_address.hpp"

#include <algorithm>
#include <array>

namespace lanewise::lift {

using ir::Op;
using ir::Space;

namespace {

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
    operands_.erase(operands_.begin() + 1, operands_.begin() + 7);
    operands_.front() = address;
    operands_.back() = mask;
    f_.set_operands(id_, operands_);
    ir::Inst& inst = f_[id_];
    inst.mem.space = space;
    inst.mem.idxen = inst.mem.offen = inst.mem.addr64 = false;
    inst.imm = offset;
    f_[b_.block()].insts.push_back(id_);
  }

  void lower_addr64() {
    const ValueId uniform = b_.add(BufferAddress::signed_base(b_, word(0), word(1)), b_.zext(soffset()));
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

  void lower_general() {
    BufferAddress address(b_, f_.target,
                          {operands_[0],
                           operands_[1],
                           {word(0), word(1), word(2), word(3)},
                           soffset(),
                           static_cast<u32>(inst_.imm),
                           inst_.mem.idxen});
    const u32 bytes = inst_.mem.bytes;
    const bool atomic = inst_.op == Op::Atomic;
    // Dwords are checked and swizzled one by one.
    const ValueId first = address.in_range(0, atomic || bytes <= 4 ? bytes : 4u);
    const bool whole = atomic || bytes <= 4 ||
                       (!address.swizzled() && b_.is_const_equal(first, kAllLanes) &&
                        b_.is_const_equal(address.in_range(0, u32{bytes}), kAllLanes));
    if (whole) return finish(Space::Global, address.at(0), b_.and_(lanes(), first), 0);
    split(address);
  }

  /// One access per dword. But lanes whose dwords lie side by side store qwords at once, and load them so
  /// where they look for what others have stored: nobody sees half of one. The results of a load take the
  /// places of the old ones.
  void split(BufferAddress& address) {
    const bool in_qwords = inst_.mem.bytes % 8 == 0 && (inst_.op == Op::Store || inst_.mem.coherent);
    for (u32 n = 0; n < inst_.mem.bytes / 4u; n += in_qwords ? 2 : 1) {
      std::array<ValueId, 2> found{};
      ValueId rest = lanes();
      if (in_qwords) {
        const ValueId whole = b_.and_(b_.and_(lanes(), address.in_range(4 * n, 8u)), address.linear_lanes());
        rest = b_.and_(rest, b_.not_(whole));
        if (!b_.is_const_equal(whole, 0)) found = part(address, n, 2, whole);
      }
      for (u32 d = 0; d < (in_qwords ? 2 : 1); ++d) {
        const ValueId own = part(address, n + d, 1, b_.and_(rest, address.in_range(4 * (n + d), 4u)))[0];
        if (inst_.op != Op::Load) continue;
        replaced_.emplace_back(ValueId{inst_.first_result.index + n + d},
                               found[d].valid() ? b_.or_(found[d], own) : own);
      }
    }
  }

  /// Dwords `first` and, of two, the next one; the results, of a load.
  std::array<ValueId, 2> part(BufferAddress& address, u32 first, u32 dwords, ValueId mask) {
    ir::Inst proto;
    proto.op = inst_.op;
    proto.pc = inst_.pc;
    proto.mem = inst_.mem;
    proto.mem.space = Space::Global;
    proto.mem.bytes = static_cast<u8>(4 * dwords);
    proto.mem.idxen = proto.mem.offen = false;
    std::vector<ValueId> operands = {address.at(4 * first)};
    for (u32 d = 0; d < dwords && inst_.op == Op::Store; ++d) operands.push_back(operands_[7 + first + d]);
    operands.push_back(mask);
    const std::vector<Type> types(inst_.op == Op::Load ? dwords : 0, Type::V32);
    const ir::InstId i = f_.append(b_.block(), proto, operands, types);
    std::array<ValueId, 2> results{};
    for (u32 d = 0; d < types.size(); ++d) results[d] = f_.result(i, d);
    return results;
  }
};

} // namespace

void lower_buffers(ir::Function& f, const translator::KernelSource& source) {
  Lowering lowering(f, source);
  lowering.run();
}

} // namespace lanewise::lift
