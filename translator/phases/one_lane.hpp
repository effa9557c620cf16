// Blocks in which all lanes of a gang do what one of them does.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// The type of what one lane has of a value of `t`, or of what all have.
constexpr ir::Type scalar_of(ir::Type t) {
  return ir::bit_width(t) == 1 ? ir::Type::G1 : ir::is_wide(t) ? ir::Type::G64 : ir::Type::G32;
}

/// Hands a lane's values to all lanes. What differs from lane to lane is put into rows of Space::Registers,
/// in a block `rows`, and taken from there in a block `turn`, which knows whose turn it is.
class OneLane {
public:
  explicit OneLane(ir::Function& f);

  ir::Builder rows, turn; ///< at the ends of these blocks, which are to be set before start()

  /// The lanes of `mask` as bits (g32), in `rows`.
  ir::ValueId bits_of(ir::ValueId mask) { return rows.op(ir::Op::GangBits, ir::Type::G32, {mask}); }
  /// The lane that has its turn is the lowest of `bits`, which are some of those of `mask`. Returns its mask;
  /// `others` receives the bits that are left.
  ir::ValueId start(ir::ValueId bits, ir::ValueId mask, ir::ValueId& others);
  /// What that lane has of `v`, in all lanes; of a mask, all lanes or none.
  ir::ValueId spread(ir::ValueId v);
  /// The same as a scalar.
  ir::ValueId scalar(ir::ValueId v);
  /// `before` with what the lane, of which `lane` is the mask, has at the end of its turn: a new parameter of
  /// the block of `at`.
  ir::ValueId put_back(ir::Builder& at, ir::ValueId lane, ir::ValueId before);
  /// Which one it is, in the gang.
  [[nodiscard]] ir::ValueId number() const { return number_; }
  /// So many rows that nobody else has.
  unsigned take_rows(unsigned count) {
    next_row_ += count;
    return next_row_ - count;
  }
  /// Accesses to global memory in `b`, a block of which `all_lanes` is the mask, are that lane's alone, of
  /// which `lane` is the mask: a fault would be its. So are stores to the LDS and atomics there.
  void let_access(ir::BlockId b, ir::ValueId lane, ir::ValueId all_lanes);

private:
  struct Taken {
    ir::ValueId from, of_lane;
  };
  ir::Function& f_;
  unsigned next_row_ = 0; ///< behind those that the kernel has
  ir::ValueId number_;    ///< of the lane, in the gang
  std::vector<Taken> taken_;

  ir::ValueId of_lane(ir::ValueId v, unsigned depth = 0);
  ir::ValueId dword_of_lane(ir::ValueId dwords);
  ir::ValueId bit_of_lane(ir::ValueId mask, ir::Type t);
};

} // namespace lanewise::phases
