#include "tests/differential/straight_code.hpp"

#include "tests/differential/random_image.hpp"
#include "tests/differential/random_instruction.hpp"

namespace lanewise::differential {
namespace {

using isa::Op;

/// Operations of which straight-line parts consist besides what is spelled out below.
constexpr Op kScalarOps[] = {
    Op::s_add_u32,       Op::s_sub_u32,     Op::s_and_b64,  Op::s_or_b64,      Op::s_xor_b64,
    Op::s_andn2_b64,     Op::s_lshl_b32,    Op::s_lshr_b64, Op::s_cselect_b32, Op::s_cselect_b64,
    Op::s_bcnt1_i32_b64, Op::s_ff1_i32_b64, Op::s_not_b64,  Op::s_mul_i32,     Op::s_cmp_lt_u32,
    Op::s_cmp_eq_u32,    Op::s_addc_u32,    Op::s_mov_b64,  Op::s_mov_b32,     Op::s_flbit_i32_b64,
    Op::s_bfe_u32,       Op::s_bitcmp1_b32, Op::s_min_i32,  Op::s_max_u32,     Op::s_cmov_b32};
constexpr Op kVectorOps[] = {
    Op::v_add_co_u32,       Op::v_sub_co_u32,       Op::v_addc_co_u32,   Op::v_and_b32,
    Op::v_or_b32,           Op::v_xor_b32,          Op::v_mov_b32,       Op::v_cndmask_b32,
    Op::v_lshlrev_b32,      Op::v_lshrrev_b32,      Op::v_mul_lo_u32,    Op::v_min_u32,
    Op::v_max_i32,          Op::v_add_f32,          Op::v_mul_f32,       Op::v_bfe_u32,
    Op::v_mbcnt_lo_u32_b32, Op::v_mbcnt_hi_u32_b32, Op::v_cmp_lt_u32,    Op::v_cmp_eq_u32,
    Op::v_cmp_gt_i32,       Op::v_cmp_lt_f32,       Op::v_cmp_ne_u32,    Op::v_alignbit_b32,
    Op::v_fma_f64,          Op::v_readlane_b32,     Op::v_writelane_b32, Op::v_readfirstlane_b32,
    Op::ds_swizzle_b32,     Op::ds_bpermute_b32,    Op::ds_permute_b32,  Op::v_add_u32,
    Op::v_lshlrev_b64,      Op::v_mad_u32_u24};
constexpr Op kDppOps[] = {Op::v_mov_b32, Op::v_add_f32, Op::v_and_b32, Op::v_max_u32};

} // namespace

void StraightCode::straight() {
  for (unsigned n = 1 + r_.below(4); n > 0; --n) {
    switch (r_.below(19)) {
    case 0:
    case 1:
    case 2:
    case 3: instruction(r_.element(kVectorOps)); break;
    case 4:
    case 5:
    case 6: instruction(r_.element(kScalarOps)); break;
    case 7: instruction(r_.element(kDppOps)); break;
    case 8: put("s_add_u32 s{}, s{}, {}", s(), s(), r_.below(64)); break;
    case 9: put("v_mov_b32 v{}, s{}", v(), s()); break;
    case 10: put("v_mov_b32 v{}, {}", v(), r_.of({"vcc_lo", "vcc_hi", "exec_lo", "exec_hi"})); break;
    case 11: put("s_bcnt1_i32_b64 s{}, {}", s(), r_.of({"vcc", "exec"})); break;
    case 12:
    case 13: communicate(); break;
    case 14: put("v_readfirstlane_b32 s{}, v{}", s(), v()); break;
    case 15: flat(); break;
    case 16: relative_register(); break;
    case 17: image(); break;
    default: put("s_mov_b64 {}, {}", pair(s2()), r_.of({"vcc", "exec"})); break;
    }
  }
}

void StraightCode::instruction(Op op) {
  if (!is_testable(op, t_)) return;
  for (unsigned attempt = 0; attempt < 8; ++attempt) {
    auto made = random_instruction(op, t_, r_);
    // EXEC changes only where the structure says so.
    if (!made || made->text.find(" exec") < made->text.find(',')) continue;
    made->group = group_;
    p_.lines.push_back(std::move(*made));
    return;
  }
}

/// The data once more, as images.
void StraightCode::image() {
  if (!p_.images) return;
  auto made = random_image_access(p_, r_.element(image_ops(t_)), r_);
  if (!made) return;
  made->group = group_;
  p_.lines.push_back(std::move(*made));
}

/// Stores, and loads from other lanes, in LDS or a buffer, without a barrier: a wave sees its own stores.
void StraightCode::communicate() {
  static constexpr Width kStores[] = {{"ds_write_b32", "buffer_store_dword", 1, 4},
                                      {"ds_write_b32", "buffer_store_dword", 1, 4},
                                      {"ds_write_b64", "buffer_store_dwordx2", 2, 8},
                                      {"ds_write_b16", "buffer_store_short", 1, 2},
                                      {"ds_write_b8", "buffer_store_byte", 1, 1}};
  static constexpr Width kLoads[] = {{"ds_read_b32", "buffer_load_dword", 1, 4},
                                     {"ds_read_b32", "buffer_load_dword", 1, 4},
                                     {"ds_read_b64", "buffer_load_dwordx2", 2, 8},
                                     {"ds_read_i16", "buffer_load_sshort", 1, 2},
                                     {"ds_read_u8", "buffer_load_ubyte", 1, 1}};
  const bool local = r_.one_in(2);
  const unsigned offset = 256 * r_.below(3);
  const auto wait = [&](unsigned once_in) {
    if (r_.one_in(once_in)) put("s_waitcnt vmcnt(0) lgkmcnt(0)");
  };
  const auto perform = [&](const Width& width, bool is_load) {
    address(is_load ? r_.one_in(3) : r_.one_in(2), width, is_load);
    access(local, width, is_load, 22, offset);
  };
  if (r_.below(3) != 0) perform(r_.element(kStores), false);
  wait(4);
  if (r_.one_in(3)) atomic(local, offset);
  if (r_.below(3) != 0) {
    perform(r_.element(kLoads), true);
    wait(2);
  }
}

/// Addresses into v22: a lane's own element or those of others, in steps from lane to lane or not.
void StraightCode::address(bool own, const Width& width, bool is_load) {
  const auto scalar = [&](unsigned mask) { put("s_and_b32 s38, s{}, {}", s(), mask); };
  switch (own ? 0 : r_.below(9)) {
  case 0: put("v_mov_b32 v22, v21"); break;
  case 1: put("v_xor_b32 v22, {}, v21", 4 * r_.below(16)); break;
  case 2: put("v_and_b32 v22, 0xfc, v{}", v()); break;
  case 3:
    scalar(60);
    put("v_mov_b32 v22, s38");
    break;
  case 4:
    scalar(60);
    add(22, "s38", 21);
    break;
  case 5: put("v_sub_{} v22, vcc, 0xfc, v21", carry_type()); break;
  case 6: // before the first byte, or beyond the last
    add(22, r_.of({"-8", "-16", "0xf80", "0xe40", "0x7fffffe0"}), 21);
    break;
  case 7: put("v_lshlrev_b32 v22, {}, v21", 1 + r_.below(2)); break;
  default: put("v_lshrrev_b32 v22, {}, v21", is_load ? 1 : 0); break; // loads may overlap
  }
  if (width.bytes == 8) put("v_lshlrev_b32 v22, 1, v22"); // so that elements coincide or do not overlap
}

const char* StraightCode::carry_type() const {
  return t_ >= Target::gfx900 ? "co_u32" : t_ == Target::gfx803 ? "u32" : "i32";
}

void StraightCode::add(unsigned to, const std::string& a, unsigned b) {
  put("v_add_{} v{}, vcc, {}, v{}", carry_type(), to, a, b);
}

void StraightCode::access(bool local, const Width& width, bool is_load, unsigned address, unsigned offset) {
  if (width.bytes < 4) offset += r_.below(4) & ~(width.bytes - 1);
  const unsigned first = v() & ~(width.dwords - 1);
  const std::string data =
      width.dwords == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + 1);
  if (!local)
    put("{} {}, v{}, s[12:15], 0 offen offset:{}", width.buffer, data, address, offset);
  else if (is_load)
    put("{} {}, v{} offset:{}", width.ds, data, address, offset);
  else
    put("{} v{}, {} offset:{}", width.ds, address, data, offset);
}

void StraightCode::atomic(bool local, unsigned offset) {
  static constexpr const char* kPlain[] = {"add_u32", "sub_u32", "max_i32", "or_b32", "inc_u32"};
  static constexpr const char* kReturning[] = {"add_rtn_u32", "min_rtn_u32", "xor_rtn_b32", "wrxchg_rtn_b32"};
  static constexpr const char* kBuffer[] = {"add", "sub", "smax", "or", "inc", "swap"};
  address(r_.one_in(2), {"", "", 1, 4}, false);
  if (!local)
    put("buffer_atomic_{} v{}, v22, s[12:15], 0 offen offset:{}{}", r_.element(kBuffer), v(), offset,
        r_.one_in(2) ? " glc" : "");
  else if (r_.one_in(2))
    put("ds_{} v{}, v22, v{} offset:{}", r_.element(kReturning), v(), v(), offset);
  else
    put("ds_{} v22, v{} offset:{}", r_.element(kPlain), v(), offset);
}

/// The data again, by addresses; and each lane's scratch.
void StraightCode::flat() {
  if (p_.private_values && !r_.one_in(4)) return private_value();
  if (t_ >= Target::gfx900 && r_.one_in(p_.private_values ? 16 : 4)) return generic_pointer();
  if (t_ >= Target::gfx900 && r_.one_in(p_.private_values ? 16 : 3)) {
    const unsigned offset = 4 * r_.below(8);
    if (r_.one_in(2))
      put("scratch_store_dword v20, v{}, off offset:{}", v(), offset);
    else
      put("scratch_load_dword v{}, v20, off offset:{}", v(), offset);
    return;
  }
  if (t_ == Target::gfx600) return;
  switch (r_.below(5)) {
  case 3: // base and 32-bit offset
    if (t_ < Target::gfx900) break;
    address(r_.one_in(2), {"", "", 1, 4}, true);
    put("v_and_b32 v22, 0xffc, v22");
    switch (r_.below(4)) {
    case 0: return put("global_store_dword v22, v{}, s[2:3]", v());
    case 1: return put("global_atomic_{} v{}, v22, v{}, s[2:3] glc", r_.of({"add", "swap"}), v(), v());
    default: break;
    }
    return put("global_load_dword v{}, v22, s[2:3] offset:{}", v(), 4 * r_.below(64));
  case 4: // the same as a sum of 64 bits
    put("v_mov_b32 v23, s3");
    add(22, "s2", 21);
    put("v_addc_{} v23, vcc, 0, v23, vcc", t_ >= Target::gfx900 ? "co_u32" : "u32");
    if (r_.one_in(2)) return put("flat_store_dword v[22:23], v{}", v());
    return put("flat_load_dword v{}, v[22:23]", v());
  case 0: return put("flat_store_dword v[18:19], v{}", v());
  case 1: return put("flat_load_dword v{}, v[18:19]", v());
  default: put("flat_atomic_add v{}, v[18:19], v{} glc", v(), v()); break;
  }
}

/// A flat access by which lanes go to the LDS, to the data and to their own scratch, each where it likes.
void StraightCode::generic_pointer() {
  struct Access {
    const char* name;
    unsigned dwords, bytes;
  };
  static constexpr Access kLoads[] = {
      {"load_dword", 1, 4},    {"load_dword", 1, 4},  {"load_dwordx2", 2, 8},
      {"load_dwordx4", 4, 16}, {"load_ubyte", 1, 1},  {"load_sbyte", 1, 1},
      {"load_ushort", 1, 2},   {"load_sshort", 1, 2}, {"load_short_d16_hi", 1, 2}};
  static constexpr Access kStores[] = {
      {"store_dword", 1, 4}, {"store_dword", 1, 4}, {"store_dwordx2", 2, 8},    {"store_dwordx4", 4, 16},
      {"store_byte", 1, 1},  {"store_short", 1, 2}, {"store_byte_d16_hi", 1, 1}};
  static constexpr Access kAtomics[] = {{"atomic_add", 1, 4},    {"atomic_smax", 1, 4},
                                        {"atomic_swap", 1, 4},   {"atomic_xor", 1, 4},
                                        {"atomic_add_x2", 2, 8}, {"atomic_umin_x2", 2, 8}};
  const unsigned kind = r_.below(5);
  const Access& access = kind < 2   ? r_.element(kLoads)
                         : kind < 4 ? r_.element(kStores)
                                    : r_.element(kAtomics);
  address(r_.one_in(3), {"", "", access.dwords, access.bytes}, kind < 2);
  if (access.bytes == 16) put("v_lshlrev_b32 v22, 2, v22");
  put("v_and_b32 v22, 0x1fff, v22");
  put("s_mov_b64 s[38:39], src_shared_base");
  put("v_mov_b32 v23, s39");
  const auto others = [&](unsigned low, unsigned high) {
    put("v_cmp_{}_i32 vcc, {}, v{}", r_.of({"lt", "gt", "le"}), r_.below(32), v());
    put("v_cndmask_b32 v22, v22, v{}, vcc", low);
    put("v_cndmask_b32 v23, v23, v{}, vcc", high);
  };
  if (r_.below(3) != 0) others(kAddressVgpr, kAddressVgpr + 1);
  if (r_.one_in(2)) {
    const unsigned high = v();
    put("s_mov_b64 s[38:39], src_private_base");
    put("v_mov_b32 v{}, s39", high);
    others(kScratchVgpr, high);
  }
  const unsigned first = v() & ~(access.dwords - 1), offset = access.bytes * r_.below(4);
  const std::string data = access.dwords == 1 ? fmt::format("v{}", first)
                                              : fmt::format("v[{}:{}]", first, first + access.dwords - 1);
  if (kind < 2)
    put("flat_{} {}, v[22:23] offset:{}", access.name, data, offset);
  else if (kind < 4)
    put("flat_{} v[22:23], {} offset:{}", access.name, data, offset);
  else if (r_.one_in(2))
    put("flat_{} v[22:23], {} offset:{}", access.name, data, offset);
  else
    put("flat_{0} {1}, v[22:23], {1} offset:{2} glc", access.name, data, offset);
}

/// A variable in private memory, as code that is not optimised has them.
void StraightCode::private_value() {
  static constexpr const char* kLoads[] = {"dword",     "dword",        "dword",  "dwordx2",
                                           "dwordx4",   "ubyte",        "sbyte",  "ushort",
                                           "short_d16", "short_d16_hi", "sshort", "ubyte_d16"};
  static constexpr const char* kStores[] = {"dword",   "dword", "dword", "dwordx2",
                                            "dwordx4", "byte",  "short", "short_d16_hi"};
  const bool is_load = r_.one_in(2);
  const std::string_view width = is_load ? r_.element(kLoads) : r_.element(kStores);
  const unsigned dwords = width == "dwordx4" ? 4 : width == "dwordx2" ? 2 : 1;
  const unsigned bytes = width.find("dword") == 0 ? 4 : width.find("byte") <= 1 ? 1 : 2;
  const unsigned first = v() & ~(dwords - 1);
  const std::string data =
      dwords == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + dwords - 1);
  const unsigned offset = r_.below(12 * 4) & ~(bytes - 1);
  put("s_movk_i32 s39, {}", 4 * r_.below(3));
  if (is_load)
    put("scratch_load_{} {}, off, s39 offset:{}", width, data, offset);
  else
    put("scratch_store_{} off, {}, s39 offset:{}", width, data, offset);
}

/// Registers indexed at run time: reads anywhere, writes among the registers of values.
void StraightCode::relative_register() {
  const bool writes = r_.one_in(2), reads = !writes || r_.one_in(3);
  const unsigned to = writes ? r_.below(kValueVgprs - 7) : v(), from = v();
  const unsigned bound = writes || r_.one_in(2) ? 7 : r_.of({15, 31, 255});
  const unsigned index = r_.one_in(3) ? 80 + r_.below(3) : s();
  put("s_and_b32 s38, {}, s{}", bound, index);
  if (t_ < Target::gfx803 || (t_ == Target::gfx803 && r_.one_in(2))) {
    put("s_mov_b32 m0, s38");
    if (r_.one_in(6)) {
      put("s_and_b32 m0, m0, 7");
      put("s_movrels_b32 s{}, s{}", s(), kFirstValueSgpr + r_.below(kValueSgprs - 7));
      put("s_movreld_b32 s{}, s{}", kFirstValueSgpr + r_.below(kValueSgprs - 7), s());
    } else if (writes && reads) {
      put("v_movrelsd_b32 v{}, v{}", to, from);
    } else if (writes && r_.one_in(4)) {
      put("v_movreld_b32 v{}, s{}", to, s());
    } else {
      put("v_movrel{}_b32 v{}, v{}", writes ? 'd' : 's', to, from);
    }
  } else {
    const char* enables = !writes ? r_.of({"SRC0", "SRC1", "SRC0,SRC1"})
                          : reads ? r_.of({"SRC0,DST", "SRC1,DST"})
                                  : "DST";
    put("s_set_gpr_idx_on s38, gpr_idx({})", enables);
    for (unsigned n = 1 + r_.below(2); n > 0; --n) {
      if (r_.one_in(2))
        put("v_mov_b32 v{}, v{}", to, from);
      else
        put("v_{}_b32 v{}, v{}, v{}", r_.of({"xor", "and", "or"}), to, from, v());
      if (n == 2 && r_.one_in(3)) put("s_set_gpr_idx_idx {}", r_.below(8));
    }
    put("s_set_gpr_idx_off");
  }
  put("s_mov_b32 m0, -1"); // which is also the limit of the LDS
}

} // namespace lanewise::differential
