// Typed buffer access: BUFFER_*_FORMAT_* and MTBUF.
#pragma once

#include "runtime/interp/buffer_address.hpp"

namespace lanewise::interp {

const Code* load_format(Wave& w, const Code& c);
const Code* store_format(Wave& w, const Code& c);

} // namespace lanewise::interp
