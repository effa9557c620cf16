// Buffer resources and where their elements lie (7nm guide 8.1.5; docs/SEMANTICS.md "Memory").
#pragma once

#include "runtime/interp/memory.hpp"

namespace lanewise::interp {

/// The fields of a V# that addressing needs, for one instruction.
struct BufferAddressing {
  u64 base = 0; ///< with soffset
  u64 num_records = 0;
  u32 stride = 0;
  u32 element_size = 4, index_stride = 64;
  bool swizzle = false, add_tid = false, null = false;
  bool is_private = false; ///< the V# that a kernel gets for its private memory, or a copy
  bool idxen = false, offen = false, addr64 = false;
  u32 inst_offset = 0;
  unsigned vaddr = 0;
  u32 word3 = 0;

  enum class Check : u8 { None, Index, Bytes, LinearBytes } check = Check::None;
};

/// One lane's element.
struct BufferPlace {
  u64 address = 0;
  u64 checked = 0; ///< the offset that the byte range check looks at
  bool in_range = true;
};

BufferAddressing addressing_of(Wave& w, const Code& c);
BufferPlace place_of(const Wave& w, const BufferAddressing& a, unsigned lane);

/// Whether `bytes` at `at` bytes after the element's start are in range.
inline bool in_range(const BufferAddressing& a, const BufferPlace& p, unsigned at, unsigned bytes) {
  if (!p.in_range) return false;
  if (a.check == BufferAddressing::Check::Bytes || a.check == BufferAddressing::Check::LinearBytes)
    return p.checked + at + bytes <= a.num_records;
  return true;
}

/// Address of the byte `at` bytes into a swizzled or linear element whose offset is known only per dword:
/// swizzled elements of several dwords may be spread.
u64 component_address(const Wave& w, const BufferAddressing& a, unsigned lane, const BufferPlace& p,
                      unsigned at);

} // namespace lanewise::interp
