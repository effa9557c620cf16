#include "runtime/interp/table.hpp"

namespace lanewise::interp {

const HandlerTable& handlers() {
  static const HandlerTable table = [] {
    HandlerTable t;
    for (const auto& add :
         {register_valu_f32,   register_valu_f64,   register_valu_f16,      register_convert,
          register_valu_int,   register_valu_int16, register_valu_wide,     register_valu_bytes,
          register_division,   register_vop3p,      register_compare_float, register_compare_int,
          register_cross_lane, register_salu,       register_control,       register_smem,
          register_ds,         register_buffer,     register_flat,          register_image})
      add(t);
    return t;
  }();
  return table;
}

} // namespace lanewise::interp
