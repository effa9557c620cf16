// Where the lanes of a wave go whose addresses are a sum of scalars, ids, and ids times scalars: the pixels
// of a tile of an image, say, also if they are limited to the image. Not all of what lies between the first
// byte and the last is accessed.
#pragma once

#include "translator/passes/id_values.hpp"
#include "translator/phases/head_scalars.hpp"

namespace lanewise::phases {

/// The lanes of a wave, as scalars at the start (HeadScalars).
struct Box {
  ir::ValueId start;  ///< U64: where lane 0 goes; no lane goes to a lower address
  ir::ValueId spread; ///< U64: how many bytes further the last one goes; none if `bytes` is all
  i64 bytes = 0;      ///< likewise, a constant in addition
  u32 short_row = 0;  ///< in so many lanes, 8 or 4, each goes `short_stride` bytes further; 0: unknown
  i64 short_stride = 0;
  std::vector<ir::ValueId> holds; ///< U1: what is said here is true if all of these are
};

/// The box of `access`, a Load or Store of global memory, and of others with its address, which are between
/// bytes `first` and `end` from it on. With `own`, no gang gets to bytes that another gang of its wave gets
/// to. Nothing if the address is no such sum, or what is asked for cannot be known.
std::optional<Box> find_box(ir::Function& f, HeadScalars& head, const passes::IdValues& ids,
                            unsigned gang_lanes, ir::InstId access, i64 first, i64 end, bool own);

} // namespace lanewise::phases
