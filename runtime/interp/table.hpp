// Which function executes which instruction.
#pragma once

#include "isa/op.hpp"
#include "runtime/interp/state.hpp"

#include <array>

namespace lanewise::interp {

/// A handler per Op; null where the interpreter has none.
class HandlerTable {
public:
  void set(isa::Op op, Handler handler) {
    Handler& entry = handlers_[static_cast<unsigned>(op)];
    duplicates_ += entry != nullptr ? 1 : 0;
    entry = handler;
  }
  [[nodiscard]] Handler of(isa::Op op) const { return handlers_[static_cast<unsigned>(op)]; }
  /// How often an Op was registered again: a mistake.
  [[nodiscard]] unsigned duplicates() const { return duplicates_; }

private:
  std::array<Handler, isa::kNumOps> handlers_{};
  unsigned duplicates_ = 0;
};

/// The one table, complete at first use.
const HandlerTable& handlers();

// One per family of instructions; each in the file of that name.
void register_valu_f32(HandlerTable& table);
void register_valu_f64(HandlerTable& table);
void register_valu_f16(HandlerTable& table);
void register_valu_int(HandlerTable& table);
void register_valu_int16(HandlerTable& table);
void register_valu_wide(HandlerTable& table);
void register_valu_bytes(HandlerTable& table);
void register_convert(HandlerTable& table);
void register_division(HandlerTable& table);
void register_compare_float(HandlerTable& table);
void register_compare_int(HandlerTable& table);
void register_vop3p(HandlerTable& table);
void register_cross_lane(HandlerTable& table);
void register_salu(HandlerTable& table);
void register_control(HandlerTable& table);
void register_smem(HandlerTable& table);
void register_ds(HandlerTable& table);
void register_buffer(HandlerTable& table);
void register_flat(HandlerTable& table);
void register_image(HandlerTable& table);

} // namespace lanewise::interp
