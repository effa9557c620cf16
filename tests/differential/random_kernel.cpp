#include "tests/differential/random_kernel.hpp"

#include "tests/asm/programs.hpp"
#include "tests/differential/random.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <utility>

namespace lanewise::differential {
namespace {

constexpr u32 kFirstScalar = 20, kScalars = 8, kVectors = 7; // s20 to s27, v1 to v7
constexpr u32 kPrivateBytes = 64;
constexpr unsigned kMaxDepth = 3, kMaxLines = 200;

/// s[60:61] is the workgroup's output and s[72:75] a buffer of that, s[62:63] the table and s[76:79] a buffer
/// of that, s[80:83] and s65 are private memory, s64 is the workgroup, s66 the kernel's number. v0 is where
/// the work-item's part of the output begins, v16 its place in the workgroup, v8, v13 to v15 and v22 to v29
/// are for the moment.
class Writer {
public:
  Writer(u64 seed, const KernelPlan& plan)
      : r_(seed), plan_(plan), gfx7_(plan.target >= "gfx700"), gfx8_(plan.target >= "gfx803"),
        gfx9_(plan.target >= "gfx900"), rows_(plan.everything && r_.one_in(2)),
        lds_bytes_(plan.everything ? r_.of({48u, 1024u, 4096u}) : 48u) {}

  std::string kernel() {
    text_ = fmt::format(R"(
        .amdgcn_target "amdgcn-amd-amdhsa--{}"
        .globl  mixed
        .p2align 8
        .type   mixed,@function
mixed:
)",
                        plan_.target);
    start();
    for (u32 n = 0; n < kScalars; ++n)
      put("s_mul_i32 s{}, {}, {}", kFirstScalar + n, r_.one_in(3) ? "s67" : "s64", r_.below(1 << 20));
    for (u32 n = 0; n < kVectors; ++n)
      put("v_{}_b32 v{}, {}, {}", r_.of({"xor", "lshrrev", "or"}), n + 1, s(), r_.of({"v0", "v0", "v16"}));
    for (unsigned n = 4 + r_.below(5); n > 0; --n) piece(0);
    put("Lexit:");
    for (u32 n = 0; n < kScalars; ++n) {
      put("v_mov_b32 v13, s{}", kFirstScalar + n);
      store_own("v13", 16 + n);
    }
    for (u32 n = 0; n < kVectors; ++n) store_own(fmt::format("v{}", n + 1), n);
    put("s_endpgm");
    text_ += functions_;
    const testing::KernelText end = {.name = "mixed",
                                     .kernarg_bytes = 24,
                                     .lds_bytes = static_cast<int>(lds_bytes_),
                                     .private_bytes = plan_.everything ? static_cast<int>(kPrivateBytes) : 0,
                                     .work_item_ids = plan_.items_y > 1 ? 2 : 1,
                                     .sgprs = 100,
                                     .vgprs = 32,
                                     .max_items = static_cast<int>(plan_.items() < 64 ? 64 : plan_.items())};
    return text_ + testing::kernel_end_with(end, {"global_buffer", "global_buffer"}, {4});
  }

private:
  Random r_;
  KernelPlan plan_;
  bool gfx7_, gfx8_, gfx9_;
  bool rows_; ///< an output's dwords for all work-items are a row
  u32 lds_bytes_;
  std::string text_, functions_; ///< what is called stands behind the kernel
  unsigned labels_ = 0, lines_ = 0, num_functions_ = 0;
  bool uniform_ = true;      ///< the whole workgroup comes here
  bool in_function_ = false; ///< which calls no other

  template <class... Args>
  void put(fmt::format_string<Args...> line, Args&&... args) {
    text_ += "        " + fmt::format(line, std::forward<Args>(args)...) + "\n";
    ++lines_;
  }
  std::string label() { return fmt::format("L{}", labels_++); }
  std::string s() { return fmt::format("s{}", kFirstScalar + r_.below(kScalars)); }
  std::string v() { return fmt::format("v{}", 1 + r_.below(kVectors)); }
  /// The first of `dwords` vector registers.
  std::string vs(u32 dwords) {
    const u32 first = 1 + r_.below(kVectors - dwords + 1);
    return dwords == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + dwords - 1);
  }
  std::string vpair() { return vs(2); }
  std::string spair() {
    const u32 first = kFirstScalar + 2 * r_.below(kScalars / 2);
    return fmt::format("s[{}:{}]", first, first + 1);
  }
  /// Registers of one nesting depth: a counter and pairs for masks.
  static std::string counter(unsigned depth) { return fmt::format("s{}", 40 + depth); }
  static std::string mask(unsigned depth) { return fmt::format("s[{}:{}]", 50 + 2 * depth, 51 + 2 * depth); }

  // ---- what targets spell differently

  /// vcc may be lost.
  void add(std::string_view d, std::string_view a, std::string_view b) {
    if (gfx9_ && r_.one_in(2)) return put("v_add_u32 {}, {}, {}", d, a, b);
    put("{} {}, vcc, {}, {}", gfx9_ ? "v_add_co_u32" : gfx8_ ? "v_add_u32" : "v_add_i32", d, a, b);
  }
  void add_carry(std::string_view d, std::string_view a, std::string_view b) {
    put("{} {}, vcc, {}, {}, vcc", gfx9_ ? "v_addc_co_u32" : "v_addc_u32", d, a, b);
  }
  /// vcc may be lost.
  void subtract(std::string_view d, std::string_view a, std::string_view b) {
    if (gfx9_) return put("v_sub_u32 {}, {}, {}", d, a, b);
    put("{} {}, vcc, {}, {}", gfx8_ ? "v_sub_u32" : "v_sub_i32", d, a, b);
  }
  std::string offset_of(u32 bytes) const { return fmt::format("{:#x}", gfx8_ ? bytes : bytes / 4); }
  void lds_limit() {
    if (!gfx9_) put("s_mov_b32 m0, -1");
  }

  enum class Place { Output, Table };
  /// `op`: load_dword, store_byte, atomic_add... `data` moves to or from where `offset`, a vector, says in
  /// bytes, and `constant` on.
  void access(Place place, std::string_view op, std::string_view data, std::string_view offset,
              u32 constant = 0, std::string_view suffix = "") {
    access_by(r_.below(3), place, op, data, offset, constant, suffix);
  }
  /// `kind`: buffer, global or flat, if there is that.
  void access_by(u32 kind, Place place, std::string_view op, std::string_view data, std::string_view offset,
                 u32 constant, std::string_view suffix = "") {
    const u32 base = place == Place::Output ? 60 : 62;
    if (kind == 0 || !gfx7_) {
      const u32 buffer = place == Place::Output ? 72 : 76;
      put("buffer_{} {}, {}, s[{}:{}], 0 offen offset:{} {}", op, data, offset, buffer, buffer + 3, constant,
          suffix);
    } else {
      const bool load = op.starts_with("load") || suffix == "glc";
      const bool returns = suffix == "glc" && !op.starts_with("load");
      const auto operands = [&](std::string_view address) {
        return !load     ? fmt::format("{}, {}", address, data)
               : returns ? fmt::format("{}, {}, {}", data, address, data)
                         : fmt::format("{}, {}", data, address);
      };
      if (kind == 1 && gfx9_) {
        put("global_{} {}, s[{}:{}] offset:{} {}", op, operands(offset), base, base + 1, constant, suffix);
      } else {
        put("v_mov_b32 v15, s{}", base + 1);
        put("{} v14, vcc, s{}, {}", gfx9_ ? "v_add_co_u32" : gfx8_ ? "v_add_u32" : "v_add_i32", base, offset);
        add_carry("v15", "0", "v15");
        if (constant != 0 && !gfx9_) {
          put("{} v14, vcc, {}, v14", gfx8_ ? "v_add_u32" : "v_add_i32", constant);
          add_carry("v15", "0", "v15");
        }
        put("flat_{} {} {} {}", op, operands("v[14:15]"),
            gfx9_ && constant != 0 ? fmt::format("offset:{}", constant) : "", suffix);
      }
    }
    put("s_waitcnt vmcnt(0) lgkmcnt(0)");
  }

  /// Dword `n` of the work-item's output; `n` below kOutDwords.
  void store_own(std::string_view data, u32 n) {
    if (!rows_) return access(Place::Output, "store_dword", data, "v0", 4 * n);
    const u32 offset = n * 4 * plan_.items();
    if (offset < 4096) return access(Place::Output, "store_dword", data, "v0", offset);
    put("s_mov_b32 s68, {:#x}", offset);
    add("v8", "s68", "v0");
    access(Place::Output, "store_dword", data, "v8");
  }

  void start() {
    // User scalars: private memory's buffer if there is any, the kernel's arguments; then the workgroup.
    const u32 arguments = plan_.everything ? 4 : 0, group = arguments + 2;
    put("s_load_dwordx4 s[60:63], s[{}:{}], 0", arguments, arguments + 1);
    put("s_load_dword s66, s[{}:{}], {}", arguments, arguments + 1, offset_of(16));
    put("s_mov_b32 s64, s{}", group);
    if (plan_.everything) {
      put("s_mov_b32 s65, s{}", group + 1);
      put("s_mov_b64 s[80:81], s[0:1]");
      put("s_mov_b64 s[82:83], s[2:3]");
    }
    put("v_mov_b32 v16, v0");
    if (plan_.items_y > 1) {
      put("v_mul_u32_u24 v8, {}, v1", plan_.items_x);
      add("v16", "v8", "v16");
    }
    put("v_lshlrev_b32 v0, {}, v16", rows_ ? 2 : 7);
    put("s_mul_i32 s67, s64, {:#x}", plan_.items() * kOutDwords * 4);
    put("s_waitcnt lgkmcnt(0)");
    put("s_add_u32 s60, s60, s67");
    put("s_addc_u32 s61, s61, 0");
    put("s_mov_b64 s[72:73], s[60:61]");
    put("s_mov_b32 s74, {:#x}", plan_.items() * kOutDwords * 4);
    put("s_mov_b32 s75, 0x27fac");
    put("s_mov_b64 s[76:77], s[62:63]");
    put("s_mov_b32 s78, {:#x}", kTableBytes);
    put("s_mov_b32 s79, 0x27fac");
    if (plan_.everything)
      for (u32 n = 0; n < kPrivateBytes; n += 4)
        put("buffer_store_dword v{}, off, s[80:83], s65 offset:{}", r_.of({0, 16}), n);
  }

  // ---- pieces

  void pieces(unsigned depth) {
    for (unsigned n = 1 + r_.below(3); n > 0; --n) piece(depth);
  }
  /// Where not all of the workgroup may come.
  void divergent_pieces(unsigned depth) {
    const bool before = std::exchange(uniform_, false);
    pieces(depth);
    uniform_ = before;
  }

  void piece(unsigned depth) {
    if (plan_.everything && r_.one_in(2)) return other_piece(depth, depth < kMaxDepth && lines_ < kMaxLines);
    const unsigned kinds = depth >= kMaxDepth || lines_ > kMaxLines ? 9 : 15;
    switch (r_.below(kinds)) {
    case 0: return scalars();
    case 1: return vectors();
    case 2: return crossing();
    case 3: return table_scalar();
    case 4: return table_vector();
    case 5: return lds();
    case 6: return conditions();
    case 7: return store();
    case 8: return scalars();
    case 9: return scalar_if(depth);
    case 10: return mask_if(depth);
    case 11: return mask_branch(depth);
    case 12: return counted_loop(depth);
    case 13: return mask_loop(depth);
    default:
      if (!r_.one_in(8)) return scalar_if(depth);
      compare_scalars();
      put("s_cbranch_scc1 Lexit");
    }
  }

  void other_piece(unsigned depth, bool nest) {
    if (r_.one_in(3)) return nest && r_.one_in(3) ? look_across(depth) : idiom();
    switch (r_.below(nest ? 19 : 11)) {
    case 0: return wide();
    case 1: return uniform_ ? exchange() : lds();
    case 2: return private_memory();
    case 3: return gfx8_ ? dpp() : permutation();
    case 4: return gfx8_ ? sdwa() : wide();
    case 5: return permutation();
    case 6: return r_.one_in(4) ? skip() : mode();
    case 7: return floats();
    case 8: return output_anywhere();
    case 9: return table_row();
    case 10: return spill();
    case 11: return if_else(depth);
    case 12: return loop_with_break(depth);
    case 13: return shared_loop(depth);
    case 14: return whole_wave();
    case 15: return loop_over_rows(depth);
    case 16: return few_lanes(depth);
    case 17: return call();
    default: return mask_algebra(depth);
    }
  }

  void look_across(unsigned depth) {
    switch (r_.below(3)) {
    case 0: return vote(depth);
    case 1: return waterfall(depth);
    default: return lane_by_lane(depth);
    }
  }
  /// What compilers make of things that passes look for.
  void idiom() {
    switch (r_.below(14)) {
    case 0: return retry();
    case 1: return walk();
    case 2: return search();
    case 3: return wide_atomic();
    case 4: return array_loop();
    case 5: return narrow_row();
    case 6: return backwards();
    case 7: return divide();
    case 8: return quotient();
    case 9: return own_rows();
    case 10: return table_rows();
    case 11: return tile();
    case 12: return indexed_registers();
    default: return spin_down();
    }
  }

  void scalars() {
    switch (r_.below(8)) {
    case 0: return put("s_mul_i32 {}, {}, {}", s(), s(), s());
    case 1: return put("s_lshl_b32 {}, {}, {}", s(), s(), s());
    case 2: return put("s_ashr_i32 {}, {}, {}", s(), s(), r_.below(32));
    case 3: return put("s_bfe_u32 {}, {}, {:#x}", s(), s(), r_.below(20) | r_.below(20) << 16);
    case 4: return put("s_bcnt1_i32_b32 {}, {}", s(), s());
    case 5: return put("s_lshl_b64 s[20:21], s[{}:{}], {}", 22, 23, s());
    case 6: put("s_add_u32 s24, s24, {}", s()); return put("s_addc_u32 s25, s25, {}", s());
    default: return put("s_{}_b32 {}, {}, {}", r_.of({"and", "or", "xor", "andn2", "nor"}), s(), s(), s());
    }
  }
  void vectors() {
    switch (r_.below(6)) {
    case 0: return put("v_mul_lo_u32 {}, {}, {}", v(), v(), s());
    case 1: return add(v(), s(), v());
    case 2: return put("v_lshlrev_b32 {}, {}, {}", v(), s(), v());
    case 3: return put("v_cvt_f32_u32 {}, {}", v(), v());
    case 4: return put("v_fma_f32 {}, {}, {}, {}", v(), v(), s(), v());
    default: return put("v_xor_b32 {}, {}, {}", v(), s(), v());
    }
  }
  void crossing() {
    switch (r_.below(7)) {
    case 0: return put("v_readlane_b32 {}, {}, 0", s(), v());
    case 1: return put("v_writelane_b32 {}, {}, {}", v(), s(), r_.of({0, 0, 5}));
    case 2: return put("s_bcnt1_i32_b64 {}, exec", s());
    case 3:
      put("v_mbcnt_lo_u32_b32 {}, exec_lo, {}", v(), v());
      return put("v_mbcnt_hi_u32_b32 {}, {}, {}", v(), s(), v());
    case 4: return put("v_mov_b32 {}, {}", v(), s());
    default: return put("v_readfirstlane_b32 {}, {}", s(), v());
    }
  }
  void table_scalar() {
    put("s_and_b32 s28, {}, {}", s(), kTableBytes - 64);
    switch (r_.below(4)) {
    case 0: put("s_load_dwordx4 s[24:27], s[62:63], s28"); break;
    case 1: put("s_load_dwordx8 s[20:27], s[62:63], s28"); break;
    case 2: put("s_buffer_load_dwordx2 {}, s[76:79], s28", spair()); break;
    default: put("s_load_dword {}, s[62:63], s28", s());
    }
    put("s_waitcnt lgkmcnt(0)");
  }
  void table_vector() {
    put("v_and_b32 v8, {}, {}", kTableBytes - 16, v());
    access(Place::Table, r_.of({"load_dword", "load_ubyte", "load_sshort"}), v(), "v8");
  }
  /// Some of it beyond the allocation.
  void lds() {
    lds_limit();
    if (lds_bytes_ > 48 && r_.one_in(2))
      put("v_lshlrev_b32 v8, 2, v16");
    else
      put("v_and_b32 v8, {}, {}", r_.of({12, 28, 60, 61}), v());
    switch (r_.below(10)) {
    case 0: put("ds_write_b32 v8, {} offset:{}", v(), r_.of({0, 4, 20})); break;
    case 1:
      put("v_and_b32 v8, -8, v8"); // it is open what elements that overlap in part leave
      put("ds_write_b64 v8, v[2:3] offset:8");
      break;
    case 2: put("ds_write_b8 v8, {}", v()); break;
    case 3: put("ds_{}_rtn_u32 {}, v8, {}", r_.of({"add", "max", "sub", "inc"}), v(), v()); break;
    case 4: put("ds_read_b64 v[4:5], v8"); break;
    case 5: put("ds_read2_b32 v[6:7], v8 offset0:1 offset1:3"); break;
    case 6:
      put("ds_{} {}, v8 offset:{}", r_.of({"read_u8", "read_i8", "read_u16", "read_i16"}), v(), r_.below(4));
      break;
    case 7: put("ds_{}_u32 v8, {}", r_.of({"add", "min"}), v()); break;
    case 8: put("ds_cmpst_rtn_b32 {}, v8, {}, {}", v(), v(), v()); break;
    default: put("ds_read_b32 {}, v8 offset:{}", v(), r_.of({0, 4, 20})); break;
    }
    put("s_waitcnt lgkmcnt(0)");
  }
  void store() { store_own(v(), 24 + r_.below(8)); }

  void compare_scalars() {
    if (r_.one_in(4))
      put("s_bitcmp1_b32 {}, {}", s(), r_.below(32));
    else
      put("s_cmp_{}_{} {}, {}", r_.of({"lt", "gt", "ge", "eq", "lg"}), r_.of({"u32", "i32"}), s(), s());
  }
  void compare_vectors(const std::string& to) {
    put("v_cmp_{}_u32 {}, {}, {}", r_.of({"lt", "ge", "eq", "ne"}), to, r_.one_in(2) ? s() : v(), v());
  }
  void conditions() {
    switch (r_.below(4)) {
    case 0: compare_scalars(); return put("s_cselect_b32 {}, {}, {}", s(), s(), s());
    case 1: compare_vectors("vcc"); return put("v_cndmask_b32 {}, {}, {}, vcc", v(), v(), v());
    case 2:
      compare_vectors("vcc");
      if (gfx8_)
        put("s_cmp_lg_u64 vcc, 0");
      else
        put("s_or_b64 s[30:31], vcc, 0");
      return put("s_cselect_b32 {}, {}, {}", s(), s(), s());
    default: compare_scalars(); return put("s_addc_u32 {}, {}, {}", s(), s(), s());
    }
  }

  void scalar_if(unsigned depth) {
    const std::string otherwise = label(), end = label();
    compare_scalars();
    put("s_cbranch_scc{} {}", r_.below(2), otherwise);
    divergent_pieces(depth + 1);
    if (r_.one_in(2)) {
      put("s_branch {}", end);
      put("{}:", otherwise);
      divergent_pieces(depth + 1);
    } else {
      put("{}:", otherwise);
    }
    put("{}:", end);
  }
  void mask_if(unsigned depth) {
    const std::string end = label();
    compare_vectors("vcc");
    put("s_and_saveexec_b64 {}, vcc", mask(depth));
    if (!r_.one_in(3)) put("s_cbranch_execz {}", end);
    divergent_pieces(depth + 1);
    put("{}:", end);
    put("s_or_b64 exec, exec, {}", mask(depth));
  }
  /// What lies behind the branch is not under its mask.
  void mask_branch(unsigned depth) {
    const std::string end = label();
    compare_vectors("vcc");
    put("s_cbranch_vcc{} {}", r_.of({"z", "nz"}), end);
    divergent_pieces(depth + 1);
    put("{}:", end);
  }
  void counted_loop(unsigned depth) {
    const std::string loop = label();
    put("s_mov_b32 {}, {}", counter(depth), 1 + r_.below(4));
    put("{}:", loop);
    pieces(depth + 1);
    put("s_sub_u32 {0}, {0}, 1", counter(depth));
    put("s_cmp_lg_u32 {}, 0", counter(depth));
    put("s_cbranch_scc1 {}", loop);
  }
  /// Each work-item as often as its own bits say.
  void mask_loop(unsigned depth) {
    const std::string loop = label();
    put("v_and_b32 v{}, {}, {}", 9 + depth, 1 + r_.below(7), v());
    put("s_mov_b64 {}, exec", mask(depth));
    put("{}:", loop);
    divergent_pieces(depth + 1);
    count_down(depth);
    put("v_cmp_lt_i32 vcc, 0, v{}", 9 + depth);
    put("s_and_b64 exec, exec, vcc");
    put("s_cbranch_execnz {}", loop);
    put("s_mov_b64 exec, {}", mask(depth));
  }
  void count_down(unsigned depth) {
    const std::string n = fmt::format("v{}", 9 + depth);
    add(n, "-1", n);
  }

  // ---- what only plans with everything have

  void wide() {
    switch (r_.below(8)) {
    case 0:
      return put(fmt::runtime(gfx8_ ? "v_lshlrev_b64 {0}, {2}, {1}" : "v_lshl_b64 {0}, {1}, {2}"), vpair(),
                 vpair(), r_.one_in(2) ? s() : v());
    case 1:
      return put(fmt::runtime(gfx8_ ? "v_ashrrev_i64 {0}, {2}, {1}" : "v_ashr_i64 {0}, {1}, {2}"), vpair(),
                 vpair(), v());
    case 2:
      if (!gfx7_) return put("v_mul_hi_u32 {}, {}, {}", v(), v(), s());
      return put("v_mad_u64_u32 {}, vcc, {}, {}, {}", vpair(), v(), s(), vpair());
    case 3:
      put("{} v2, vcc, {}, v3", gfx9_ ? "v_add_co_u32" : gfx8_ ? "v_add_u32" : "v_add_i32", s());
      return add_carry("v3", v(), v());
    case 4:
      put("v_cmp_{}_u64 vcc, {}, {}", r_.of({"lt", "ge", "eq"}), r_.one_in(2) ? spair() : vpair(), vpair());
      return put("v_cndmask_b32 {}, {}, {}, vcc", v(), v(), v());
    case 5: return put("s_{}_b64 {}, {}, {}", r_.of({"and", "or", "xor", "nand"}), spair(), spair(), spair());
    case 6: return put("s_{}_b64 {}, {}, {}", r_.of({"lshr", "lshl"}), spair(), spair(), s());
    default: return put("v_alignbit_b32 {}, {}, {}, {}", v(), v(), v(), s());
    }
  }

  /// What one work-item writes, another reads, of another wave perhaps.
  void exchange() {
    lds_limit();
    if (r_.one_in(3)) {
      put("s_barrier");
      store_own(v(), 8 + r_.below(8));
      put("s_barrier");
      return output_anywhere();
    }
    put("v_lshlrev_b32 v8, 2, v16");
    put("ds_write_b32 v8, {}", v());
    put("s_waitcnt lgkmcnt(0)");
    put("s_barrier");
    switch (r_.below(3)) {
    case 0: put("v_xor_b32 v8, {:#x}, v8", r_.of({4, 8, 64, 252, 256})); break;
    case 1: put("v_and_b32 v8, {:#x}, {}", std::bit_floor(lds_bytes_) - 4, v()); break;
    default: add("v8", r_.one_in(2) ? "4" : s(), "v8"); break;
    }
    put("ds_read_b32 {}, v8", v());
    put("s_waitcnt lgkmcnt(0)");
    if (r_.one_in(2)) put("s_barrier");
  }

  void private_memory() {
    const bool indexed = !r_.one_in(3);
    const u32 kind = r_.below(6), alignment = kind == 0 ? 1 : kind == 1 ? 2 : 4;
    if (indexed) put("v_and_b32 v8, {}, {}", kPrivateBytes - (kind == 2 || kind == 3 ? 12 : alignment), v());
    const std::string address = indexed ? "v8, s[80:83], s65 offen" : "off, s[80:83], s65";
    const u32 offset = indexed ? 0 : 4 * r_.below(8) + alignment % 4;
    switch (kind) {
    case 0:
      put("buffer_{} {}, {} offset:{}", r_.of({"load_ubyte", "load_sbyte", "store_byte"}), v(), address,
          offset);
      break;
    case 1:
      put("buffer_{} {}, {} offset:{}", r_.of({"load_ushort", "load_sshort", "store_short"}), v(), address,
          offset);
      break;
    case 2: put("buffer_load_dwordx2 {}, {} offset:{}", vpair(), address, offset); break;
    case 3: put("buffer_store_dwordx2 {}, {} offset:{}", vpair(), address, offset); break;
    case 4: put("buffer_load_dword {}, {} offset:{}", v(), address, offset); break;
    default: put("buffer_store_dword {}, {} offset:{}", v(), address, offset); break;
    }
    put("s_waitcnt vmcnt(0)");
  }

  void dpp() {
    const std::string move = r_.of<const char*>(
        {"quad_perm:[1,0,3,2]", "quad_perm:[3,3,0,1]", "row_shl:1", "row_shr:3", "row_ror:5", "wave_shl:1",
         "wave_shr:1", "wave_rol:1", "row_mirror", "row_half_mirror", "row_bcast:15", "row_bcast:31"});
    const std::string masks = fmt::format("row_mask:{:#x} bank_mask:{:#x}{}", r_.of({15, 15, 10, 12}),
                                          r_.of({15, 15, 3}), r_.one_in(2) ? " bound_ctrl:0" : "");
    put("s_nop 4");
    switch (r_.below(3)) {
    case 0: return put("v_mov_b32_dpp {}, {} {} {}", v(), v(), move, masks);
    case 1: return put("v_xor_b32_dpp {}, {}, {} {} {}", v(), v(), v(), move, masks);
    default: return put("v_max_u32_dpp {}, {}, {} {} {}", v(), v(), v(), move, masks);
    }
  }

  void sdwa() {
    const auto part = [&] {
      return r_.of<const char*>({"BYTE_0", "BYTE_1", "BYTE_3", "WORD_0", "WORD_1", "DWORD"});
    };
    if (r_.one_in(4)) {
      put("v_cmp_{}_u32_sdwa vcc, {}, {} src0_sel:{} src1_sel:{}", r_.of({"lt", "eq"}), v(), v(), part(),
          part());
      return put("v_cndmask_b32 {}, {}, {}, vcc", v(), v(), v());
    }
    put("v_{}_sdwa {}, {}, {} dst_sel:{} dst_unused:{} src0_sel:{} src1_sel:{}",
        r_.of({"and_b32", "xor_b32", "mul_u32_u24", "min_u16", "lshlrev_b32"}), v(), v(), v(), part(),
        r_.of({"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"}), part(), part());
  }

  void permutation() {
    lds_limit();
    if (gfx8_ && r_.one_in(2))
      put("ds_{}_b32 {}, {}, {}", r_.of({"permute", "bpermute"}), v(), v(), v());
    else
      put("ds_swizzle_b32 {}, {} offset:{:#x}", v(), v(), r_.of({0x041f, 0x801b, 0x8055, 0x401f, 0x1c07}));
    put("s_waitcnt lgkmcnt(0)");
  }

  void skip() {
    put("s_setvskip {}, {}", s(), r_.below(32));
    floats();
    put("s_add_u32 {}, {}, {}", s(), s(), s());
    floats();
    put("s_setvskip 0, 0");
  }
  void mode() { put("s_setreg_imm32_b32 hwreg(HW_REG_MODE, {}, 4), {}", r_.of({0, 4}), r_.below(16)); }
  void floats() {
    switch (r_.below(6)) {
    case 0: return put("v_mul_f32 {}, {}, {}", v(), r_.one_in(2) ? s() : v(), v());
    case 1: return put("v_add_f32 {}, {}, {}", v(), v(), v());
    case 2: return put("v_cvt_u32_f32 {}, {}", v(), v());
    case 3: return put("v_mac_f32 {}, {}, {}", v(), v(), v());
    case 4: return put("v_cvt_f16_f32 {}, {}", v(), v());
    default: return put("v_max_f32 {}, {}, {}", v(), v(), v());
    }
  }

  /// In the workgroup's part of the output, also where other work-items are.
  void output_anywhere() {
    if (r_.one_in(4)) return r_.one_in(2) ? components() : records();
    const u32 bytes = plan_.items() * kOutDwords * 4;
    if (r_.one_in(2)) {
      put("v_and_b32 v8, {:#x}, {}", std::bit_floor(bytes / 2) - 16, v());
    } else {
      put("v_lshlrev_b32 v8, {}, v16", r_.of({2, 3, 4}));
      if (r_.one_in(2)) put("v_xor_b32 v8, {}, v8", r_.of({4, 16, 32}));
    }
    const u32 constant = 4 * r_.below(8);
    switch (r_.below(9)) {
    case 0: return access(Place::Output, "load_dword", v(), "v8", constant);
    case 1: return access(Place::Output, "load_dwordx2", vpair(), "v8", constant);
    case 2:
      put("v_and_b32 v8, -8, v8");
      return access(Place::Output, "store_dwordx2", vpair(), "v8", constant & ~7u);
    case 3: return access(Place::Output, r_.of({"store_byte", "store_short"}), v(), "v8", constant);
    case 4:
      return access(Place::Output, r_.of({"load_ubyte", "load_sbyte", "load_ushort"}), v(), "v8", constant);
    case 5:
      return access(Place::Output, r_.of({"atomic_add", "atomic_umax", "atomic_xor"}), v(), "v8", constant);
    case 6:
      return access(Place::Output, r_.of({"atomic_add", "atomic_swap", "atomic_inc"}), v(), "v8", constant,
                    "glc");
    case 7:
      put("v_and_b32 v8, -16, v8");
      return access(Place::Output, "store_dwordx4", vs(4), "v8", constant & ~15u);
    default: return access(Place::Output, "store_dword", v(), "v8", constant);
    }
  }

  /// Of elements that work-items have side by side, stored and loaded one by one.
  void components() {
    const u32 stride = r_.of({2u, 3u, 4u, 5u, 6u, 8u, 12u, 16u}), kind = r_.below(3), bytes = 1 + r_.below(3);
    put("v_mul_u32_u24 v8, {}, v16", stride);
    const auto any = [&] { return bytes == 3 ? 1 << r_.below(3) : static_cast<int>(bytes); };
    for (u32 n = 2 + r_.below(5); n > 0; --n) {
      const int size = any();
      const char* type = size == 1 ? "byte" : size == 2 ? "short" : "dword";
      const bool load = r_.one_in(5);
      const std::string op =
          fmt::format("{}_{}{}", load ? "load" : "store", load && size < 4 ? r_.of({"s", "u"}) : "", type);
      access_by(kind, Place::Output, op, v(), "v8", r_.below(stride));
    }
  }

  /// Likewise of larger ones, mostly all of them, part by part.
  void records() {
    const u32 stride = r_.of({20u, 24u, 32u, 32u, 40u, 48u, 64u, 96u}), kind = r_.below(3);
    put("v_mul_u32_u24 v8, {}, v16", stride);
    for (u32 at = r_.one_in(4) ? 4 * r_.below(3) : 0, size; at < stride; at += size) {
      size = std::min(r_.of({2u, 4u, 8u, 16u, 16u}), std::bit_floor(stride - at));
      if (r_.one_in(12)) access_by(kind, Place::Output, "load_dword", v(), "v8", r_.below(stride) & ~3u);
      if (r_.one_in(12)) continue;
      switch (size) {
      case 2: access_by(kind, Place::Output, "store_short", v(), "v8", at); break;
      case 4: access_by(kind, Place::Output, "store_dword", v(), "v8", at); break;
      case 8: access_by(kind, Place::Output, "store_dwordx2", vpair(), "v8", at); break;
      default: access_by(kind, Place::Output, "store_dwordx4", vs(4), "v8", at); break;
      }
    }
  }

  void table_row() {
    put("v_lshlrev_b32 v8, {}, v16", r_.of({0, 1, 2, 2, 3, 4}));
    if (r_.one_in(3)) put("v_mul_u32_u24 v8, {}, v16", r_.of({12, 20, 6}));
    if (r_.one_in(3)) add("v8", s(), "v8");
    put("v_and_b32 v8, {:#x}, v8", r_.of({kTableBytes - 16, kTableBytes - 1, kTableBytes * 2 - 4}));
    switch (r_.below(6)) {
    case 0: return access(Place::Table, "load_dwordx2", vpair(), "v8", 8);
    case 1: return access(Place::Table, "load_dwordx4", vs(4), "v8");
    case 2: return access(Place::Table, r_.of({"load_ubyte", "load_sbyte"}), v(), "v8", r_.below(4));
    case 3: return access(Place::Table, r_.of({"load_ushort", "load_sshort"}), v(), "v8", 2);
    default: return access(Place::Table, "load_dword", v(), "v8", 4 * r_.below(4));
    }
  }

  /// v22 becomes a place in the LDS or in the workgroup's part of the output, of few.
  void some_place(bool in_lds, u32 alignment) {
    const u32 places = r_.of({1u, 2u, 4u, 16u}),
              bytes = in_lds ? std::bit_floor(lds_bytes_) : plan_.items() * kOutDwords * 4;
    if (r_.one_in(4))
      put("v_lshlrev_b32 v22, {}, v16", std::countr_zero(alignment));
    else
      put("v_lshlrev_b32 v22, {}, {}", std::countr_zero(alignment), v());
    put("v_and_b32 v22, {:#x}, v22", std::min(places * alignment, std::bit_floor(bytes)) - alignment);
  }
  /// Adds, or the like, by a compare-and-swap that is retried; some leave when there is nothing to do.
  void retry() {
    const bool in_lds = r_.one_in(2), returns = r_.one_in(2), leaves = r_.one_in(3);
    const std::string loop = label(), end = label(), seen = returns ? v() : "v25", with = v();
    const u32 kind = r_.below(3);
    const char* op =
        r_.of<const char*>({"v_add_f32", "v_max_u32", "v_min_i32", "v_xor_b32", "v_mul_f32", "v_max_f32"});
    some_place(in_lds, 4);
    if (in_lds) {
      lds_limit();
      put("ds_read_b32 v25, v22");
      put("s_waitcnt lgkmcnt(0)");
    } else {
      access_by(kind, Place::Output, "load_dword", "v25", "v22", 0, r_.one_in(2) ? "glc" : "");
    }
    put("s_mov_b64 s[84:85], 0");
    if (leaves) put("s_mov_b64 s[86:87], exec");
    put("{}:", loop);
    if (leaves) {
      put("v_cmp_{}_u32 vcc, v25, {}", r_.of({"lt", "ne", "gt"}), with);
      put("s_and_b64 exec, exec, vcc");
      put("s_cbranch_execz {}", end);
    }
    put("{} v24, {}, v25", op, with);
    if (in_lds) {
      put("ds_cmpst_rtn_b32 v26, v22, v25, v24");
      put("s_waitcnt lgkmcnt(0)");
    } else {
      put("v_mov_b32 v26, v24");
      put("v_mov_b32 v27, v25");
      retry_swap(kind);
    }
    put("v_cmp_eq_u32 vcc, v26, v25");
    put("v_mov_b32 v25, v26");
    put("s_or_b64 s[84:85], vcc, s[84:85]");
    put("s_andn2_b64 exec, exec, s[84:85]");
    put("s_cbranch_execnz {}", loop);
    put("{}:", end);
    put(fmt::runtime(leaves ? "s_mov_b64 exec, s[86:87]" : "s_or_b64 exec, exec, s[84:85]"));
    if (returns) put("v_mov_b32 {}, v25", seen);
  }
  /// v26 becomes what was at v22 of the output.
  void retry_swap(u32 kind) {
    if (kind == 0 || !gfx7_) {
      put("buffer_atomic_cmpswap v[26:27], v22, s[72:75], 0 offen glc");
    } else if (kind == 1 && gfx9_) {
      put("global_atomic_cmpswap v26, v22, v[26:27], s[60:61] glc");
    } else {
      put("v_mov_b32 v15, s61");
      put("{} v14, vcc, s60, v22", gfx9_ ? "v_add_co_u32" : gfx8_ ? "v_add_u32" : "v_add_i32");
      add_carry("v15", "0", "v15");
      put("flat_atomic_cmpswap v26, v[14:15], v[26:27] glc");
    }
    put("s_waitcnt vmcnt(0) lgkmcnt(0)");
  }

  /// The end of a loop that lanes in VCC leave.
  void next_round(const std::string& loop) {
    put("s_or_b64 s[84:85], vcc, s[84:85]");
    put("s_andn2_b64 exec, exec, s[84:85]");
    put("s_cbranch_execnz {}", loop);
    put("s_or_b64 exec, exec, s[84:85]");
  }
  /// Each lane as often as it likes from one load to the next, or through elements one by one.
  void walk() {
    const std::string loop = label(), to = v(), start = v(), count = v();
    const bool chases = r_.one_in(2);
    const u32 kind = r_.below(3), step = r_.of({4u, 4u, 4u, 1u, 8u, 16u});
    const char* load = step == 1 ? "load_ubyte" : "load_dword";
    put("v_and_b32 v23, {}, {}", r_.of({3, 7, 15, 31}), count);
    put("v_and_b32 v22, {:#x}, {}", kTableBytes / 2 - 16, start);
    put("s_mov_b64 s[84:85], 0");
    put("{}:", loop);
    access_by(kind, Place::Table, load, "v24", "v22", 0);
    if (r_.one_in(3)) access_by(kind, Place::Table, "load_dword", "v25", "v22", 16);
    switch (r_.below(3)) {
    case 0: put("v_xor_b32 {0}, {0}, v24", to); break;
    case 1: put("v_add_f32 {0}, {0}, v24", to); break;
    default: put("v_max_u32 {0}, {0}, v24", to); break;
    }
    if (chases)
      put("v_and_b32 v22, {:#x}, v24", kTableBytes / 2 - 16);
    else
      add("v22", std::to_string(step), "v22");
    add("v23", "-1", "v23");
    put("v_cmp_gt_i32 vcc, 1, v23");
    if (r_.one_in(3)) {
      put("v_cmp_eq_u32 s[86:87], {}, v24", r_.below(16));
      put("s_or_b64 vcc, vcc, s[86:87]");
    }
    next_round(loop);
  }
  /// Where in the table something would stand, were it sorted.
  void search() {
    const std::string loop = label(), what = v(), to = v();
    put("v_mov_b32 v22, 0");
    put("v_mov_b32 v23, {}", r_.of({16, 64, 31}));
    put("s_mov_b64 s[84:85], 0");
    put("{}:", loop);
    add("v24", "v22", "v23");
    put("v_lshrrev_b32 v24, 1, v24");
    put("v_lshlrev_b32 v25, 2, v24");
    access(Place::Table, "load_dword", "v26", "v25");
    put("v_cmp_lt_u32 vcc, v26, {}", what);
    add_one_if(what);
    put("v_cmp_ge_u32 vcc, v22, v23");
    next_round(loop);
    put("v_mov_b32 {}, v22", to);
  }
  void add_one_if(const std::string& what) {
    put("v_cmp_lt_u32 s[86:87], v26, {}", what);
    add("v27", "1", "v24");
    put("v_cndmask_b32 v22, v22, v27, s[86:87]");
    put("v_cndmask_b32 v23, v24, v23, s[86:87]");
  }

  /// Of 64 bits, or two at once.
  void wide_atomic() {
    const bool in_lds = r_.one_in(2);
    const u32 kind = r_.below(3);
    some_place(in_lds, 8);
    put("v_mov_b32 v24, {}", v());
    put("v_mov_b32 v25, {}", v());
    if (in_lds) {
      lds_limit();
      switch (r_.below(4)) {
      case 0: put("ds_{}_u64 v22, v[24:25]", r_.of({"add", "max", "min", "sub"})); break;
      case 1: put("ds_{}_rtn_u64 v[26:27], v22, v[24:25]", r_.of({"add", "min", "inc"})); break;
      case 2: put("ds_cmpst_rtn_b64 v[26:27], v22, {}, v[24:25]", vpair()); break;
      default: put("ds_wrxchg_rtn_b64 v[26:27], v22, v[24:25]"); break;
      }
      put("s_waitcnt lgkmcnt(0)");
    } else {
      put("v_mov_b32 v26, v24");
      put("v_mov_b32 v27, v25");
      const char* op = r_.of<const char*>(
          {"atomic_add_x2", "atomic_smax_x2", "atomic_swap_x2", "atomic_xor_x2", "atomic_umin_x2"});
      access_by(kind, Place::Output, op, "v[26:27]", "v22", 0, r_.one_in(2) ? "glc" : "");
    }
    if (r_.one_in(2)) put("v_xor_b32 {0}, v26, {0}", v());
    if (r_.one_in(2)) put("v_mov_b32 {}, v27", v());
  }

  /// Over an array in private memory, in all lanes alike or as far as each goes.
  void array_loop() {
    const std::string loop = label(), x = v();
    const u32 elements = r_.of({3u, 4u, 8u, 16u}), first = r_.below(17 - elements);
    const bool even = r_.one_in(2), store = r_.one_in(2);
    put("v_mov_b32 v22, 0");
    if (even)
      put("v_mov_b32 v23, {}", elements);
    else
      put("v_and_b32 v23, {}, {}", std::bit_floor(elements) - 1, v());
    put("s_mov_b64 s[84:85], 0");
    put("{}:", loop);
    put("v_lshlrev_b32 v24, 2, v22");
    put("buffer_load_dword v25, v24, s[80:83], s65 offen offset:{}", 4 * first);
    put("s_waitcnt vmcnt(0)");
    if (r_.one_in(3)) {
      put("v_lshlrev_b32 v26, 2, v25");
      put("v_and_b32 v26, {}, v26", 4 * std::bit_floor(elements) - 4);
      put("buffer_load_dword v26, v26, s[80:83], s65 offen offset:{}", 4 * first);
      put("s_waitcnt vmcnt(0)");
      put("v_xor_b32 {0}, {0}, v26", x);
    }
    put("v_mul_lo_u32 {0}, {0}, v25", x);
    put("v_xor_b32 {0}, v22, {0}", x);
    if (store) put("buffer_store_dword {}, v24, s[80:83], s65 offen offset:{}", x, 4 * first);
    add("v22", "1", "v22");
    put("v_cmp_ge_u32 vcc, v22, v23");
    next_round(loop);
  }

  /// Rows of bytes or half-words through a few operations.
  void narrow_row() {
    const bool bytes = r_.one_in(2);
    const u32 kind = r_.below(3), size = bytes ? 1 : 2, row = size * plan_.items();
    const char* type = bytes ? "byte" : "short";
    put("v_lshlrev_b32 v22, {}, v16", bytes ? 0 : 1);
    put("v_and_b32 v29, {:#x}, v22", kTableBytes - 16);
    const bool inside = plan_.items() * size <= kTableBytes;
    const char* from = inside ? "v22" : "v29";
    access_by(kind, Place::Table, fmt::format("load_{}{}", r_.of({"u", "s"}), type), "v24", from,
              size * r_.below(3));
    access_by(kind, Place::Table, fmt::format("load_{}{}", r_.of({"u", "s"}), type), "v25", from,
              size * r_.below(4));
    if (r_.one_in(3)) access_by(kind, Place::Output, fmt::format("load_u{}", type), "v25", "v22", 0);
    for (u32 n = 1 + r_.below(5); n > 0; --n) {
      switch (r_.below(9)) {
      case 0: add("v24", "v24", "v25"); break;
      case 1: subtract("v24", "v24", "v25"); break;
      case 2: put("v_mul_u32_u24 v24, v24, v25"); break;
      case 3: put("v_{}_{}32 v24, v24, v25", r_.of({"min", "max"}), r_.of({"i", "u"})); break;
      case 4: put("v_{}_b32 v24, {}, v24", r_.of({"lshrrev", "lshlrev"}), r_.below(9)); break;
      case 5: put("v_and_b32 v24, {:#x}, v24", r_.of({0xff, 0xffff, 0x7f, 0xf0})); break;
      case 6: put("v_bfe_{}32 v24, v24, 0, {}", r_.of({"i", "u"}), 8 * size); break;
      case 7:
        put("v_cmp_{}_{}32 vcc, v24, v25", r_.of({"lt", "gt", "eq"}), r_.of({"i", "u"}));
        put("v_cndmask_b32 v24, v24, v25, vcc");
        break;
      default: put("v_{}_b32 v24, v24, v25", r_.of({"xor", "and", "or"})); break;
      }
    }
    access_by(kind, Place::Output, fmt::format("store_{}", type), "v24", "v22",
              row < 2048 ? r_.of({0u, size, row}) : 0);
    if (r_.one_in(3)) put("v_xor_b32 {0}, {0}, v24", v());
  }

  /// The last work-item's element first.
  void backwards() {
    const u32 size = r_.of({4u, 4u, 8u, 16u}), kind = r_.below(3), constant = 4 * r_.below(3);
    put("v_mul_i32_i24 v22, {}, v16", -static_cast<i32>(size));
    put("s_movk_i32 s68, {:#x}", std::min(size * (plan_.items() - 1), 0x7ff0u));
    add("v22", "s68", "v22");
    if (size * (plan_.items() - 1) > 0x7ff0) put("v_and_b32 v22, {:#x}, v22", 0x3ff0);
    const auto data = [&] { return size == 4 ? v() : size == 8 ? vpair() : vs(4); };
    const char* dwords = size == 4 ? "dword" : size == 8 ? "dwordx2" : "dwordx4";
    if (r_.one_in(2))
      access_by(kind, Place::Output, fmt::format("load_{}", dwords), data(), "v22", size == 4 ? constant : 0);
    if (r_.one_in(2))
      access_by(kind, Place::Output, fmt::format("store_{}", dwords), data(), "v22",
                size == 4 ? constant : 0);
  }

  /// Unsigned, as compilers do.
  void divide() {
    const std::string a = r_.one_in(3) ? s() : v(), b = v();
    if (r_.one_in(2))
      put("v_and_b32 v22, {:#x}, {}", r_.of({0xff, 0xffff, 7}), b);
    else
      put("v_mov_b32 v22, {}", b);
    put("v_mov_b32 v23, {}", a);
    put("v_cvt_f32_u32 v24, v22");
    put("v_rcp_iflag_f32 v24, v24");
    put("v_mul_f32 v24, 0x4f7ffffe, v24");
    put("v_cvt_u32_f32 v24, v24");
    subtract("v25", "0", "v22");
    put("v_mul_lo_u32 v25, v25, v24");
    put("v_mul_hi_u32 v25, v24, v25");
    add("v24", "v24", "v25");
    put("v_mul_hi_u32 v24, v23, v24");
    put("v_mul_lo_u32 v25, v24, v22");
    subtract("v25", "v23", "v25");
    for (unsigned n = 0; n < 2; ++n) {
      add("v26", "1", "v24");
      subtract("v27", "v25", "v22");
      put("v_cmp_ge_u32 vcc, v25, v22");
      put("v_cndmask_b32 v24, v24, v26, vcc");
      if (n == 0 || r_.one_in(2)) put("v_cndmask_b32 v25, v25, v27, vcc");
    }
    put("v_mov_b32 {}, v{}", v(), r_.of({24, 25}));
  }

  /// Of floats, as compilers divide them; or a packed or permuting operation.
  void quotient() {
    const std::string a = v(), b = v(), to = v();
    switch (r_.below(gfx9_ ? 4 : gfx8_ ? 3 : 2)) {
    case 0:
      put("v_div_scale_f32 v22, s[86:87], {1}, {1}, {0}", a, b);
      put("v_div_scale_f32 v23, vcc, {0}, {1}, {0}", a, b);
      put("v_rcp_f32 v24, v22");
      if (r_.one_in(2)) put("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3");
      put("v_fma_f32 v25, -v22, v24, 1.0");
      put("v_fma_f32 v24, v25, v24, v24");
      put("v_mul_f32 v25, v23, v24");
      put("v_fma_f32 v26, -v22, v25, v23");
      put("v_fma_f32 v25, v26, v24, v25");
      put("v_fma_f32 v22, -v22, v25, v23");
      if (r_.one_in(2)) put("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0");
      put("v_div_fmas_f32 v22, v22, v24, v25");
      return put("v_div_fixup_f32 {}, v22, {}, {}", to, b, a);
    case 1:
      put("v_cvt_f64_{}32 v[22:23], {}", r_.of({"f", "u", "i"}), a);
      put("v_cvt_f64_f32 v[24:25], {}", b);
      switch (r_.below(4)) {
      case 0: put("v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]"); break;
      case 1: put("v_max_f64 v[22:23], v[22:23], -v[24:25]"); break;
      case 2: put("v_add_f64 v[22:23], v[22:23], v[24:25]"); break;
      default:
        put("v_cmp_lt_f64 vcc, v[22:23], v[24:25]");
        put("v_cndmask_b32 v22, v22, v24, vcc");
        put("v_cndmask_b32 v23, v23, v25, vcc");
      }
      return put("v_cvt_{}32_f64 {}, v[22:23]", r_.of({"f", "u", "i"}), to);
    case 2: return put("v_perm_b32 {}, {}, {}, {}", to, a, b, s());
    default:
      return put("v_pk_{} {}, {}, {}",
                 r_.of({"add_u16", "mul_lo_u16", "max_i16", "min_u16", "sub_i16", "lshlrev_b16"}), to, a, b);
    }
  }

  /// Lanes with the same value together, one value after the other.
  void waterfall(unsigned depth) {
    const std::string loop = label(), by = fmt::format("v{}", 9 + depth);
    put("v_and_b32 {}, {}, {}", by, r_.of({1, 3, 7}), v());
    put("s_mov_b64 {}, exec", mask(depth));
    put("{}:", loop);
    put("v_readfirstlane_b32 {}, {}", counter(depth), by);
    put("v_cmp_eq_u32 vcc, {}, {}", counter(depth), by);
    put("s_and_saveexec_b64 s[{}:{}], vcc", 88 + 2 * depth, 89 + 2 * depth);
    if (r_.one_in(2)) put("v_add_f32 {0}, {1}, {0}", v(), counter(depth));
    divergent_pieces(depth + 1);
    put("s_xor_b64 exec, exec, s[{}:{}]", 88 + 2 * depth, 89 + 2 * depth);
    put("s_cbranch_execnz {}", loop);
    put("s_mov_b64 exec, {}", mask(depth));
  }

  /// Of those that a mask has, one lane after the other says something to all.
  void lane_by_lane(unsigned depth) {
    const std::string loop = label(), end = label(), left = mask(depth);
    compare_vectors(left);
    put("s_and_b64 {0}, {0}, exec", left);
    put("s_cmp_eq_u32 s{}, 0", 50 + 2 * depth);
    put("s_cbranch_scc1 {}", end);
    put("{}:", loop);
    put("s_ff1_i32_b32 s28, s{}", 50 + 2 * depth);
    put("s_nop 4");
    put("v_readlane_b32 s29, {}, s28", v());
    switch (r_.below(3)) {
    case 0: put("v_xor_b32 {0}, s29, {0}", v()); break;
    case 1:
      put("v_cmp_lt_u32 vcc, s29, {}", v());
      put("v_addc{}_u32 {}, vcc, 0, {}, vcc", gfx9_ ? "_co" : "", v(), v());
      break;
    default: put("s_xor_b32 {0}, s29, {0}", s()); break;
    }
    put("s_lshl_b32 s28, 1, s28");
    put("s_andn2_b32 s{0}, s{0}, s28", 50 + 2 * depth);
    put("s_cmp_lg_u32 s{}, 0", 50 + 2 * depth);
    put("s_cbranch_scc1 {}", loop);
    put("{}:", end);
  }

  /// What any or all lanes say decides where all go, or those of a mask.
  void vote(unsigned depth) {
    const std::string end = label(), otherwise = label();
    const bool all = r_.one_in(3);
    compare_vectors("s[30:31]");
    if (gfx8_) {
      put("s_mov_b64 s[28:29], {}", all ? "exec" : "0");
      put("s_cmp_{}_u64 s[30:31], s[28:29]", all ? "eq" : "lg");
    } else if (all) {
      put("s_xor_b64 s[28:29], s[30:31], exec");
      put("s_cmp_eq_u32 s28, 0");
    } else {
      put("s_or_b64 s[28:29], s[30:31], 0");
    }
    put("s_cselect_b64 s[28:29], -1, 0");
    const bool through_vector = r_.one_in(2);
    if (through_vector) {
      put("v_cndmask_b32 v8, 0, 1, s[28:29]");
      if (r_.one_in(4)) put("v_xor_b32 {0}, v8, {0}", v());
      put("v_cmp_ne_u32 vcc, 0, v8");
    } else {
      put("s_mov_b64 vcc, s[28:29]");
    }
    if (r_.one_in(4)) {
      compare_vectors("s[30:31]");
      put("s_{}_b64 vcc, vcc, s[30:31]", r_.of({"and", "or", "xor"}));
    }
    put("s_and_saveexec_b64 {}, vcc", mask(depth));
    if (!r_.one_in(3)) put("s_cbranch_execz {}", end);
    if (r_.one_in(2)) put("v_mov_b32 {}, {}", v(), r_.below(60));
    divergent_pieces(depth + 1);
    put("{}:", end);
    if (r_.one_in(2)) {
      put("s_andn2_b64 exec, {}, exec", mask(depth));
      if (r_.one_in(2)) put("s_cbranch_execz {}", otherwise);
      divergent_pieces(depth + 1);
      put("{}:", otherwise);
    }
    put("s_mov_b64 exec, {}", mask(depth));
  }

  /// A loop inside which few lanes store, to where they like.
  void spin_down() {
    const std::string loop = label(), skip = label(), x = v(), y = v();
    put("v_and_b32 v23, {}, {}", r_.of({1, 7, 31}), v());
    put("s_mov_b64 s[84:85], 0");
    put("{}:", loop);
    put("v_cmp_{}_u32 vcc, {}, v23", r_.of({"eq", "lt", "gt"}), r_.below(8));
    put("s_and_saveexec_b64 s[86:87], vcc");
    put("s_cbranch_execz {}", skip);
    some_place(false, 4);
    switch (r_.below(3)) {
    case 0: access(Place::Output, "store_dword", x, "v22"); break;
    case 1: access(Place::Output, "atomic_add", x, "v22"); break;
    default: access(Place::Output, "load_dword", x, "v22"); break;
    }
    put("{}:", skip);
    put("s_or_b64 exec, exec, s[86:87]");
    if (r_.one_in(2)) put("v_xor_b32 {0}, v23, {0}", y);
    add("v23", "-1", "v23");
    put("v_cmp_gt_i32 vcc, 1, v23");
    next_round(loop);
  }

  /// The end of a loop whose rounds a scalar counts, or each lane; what begin_rounds() has begun.
  bool begin_rounds(unsigned rounds) {
    const bool scalar = r_.below(3) != 0;
    if (scalar) {
      put("s_movk_i32 s32, {}", rounds);
    } else {
      put("v_and_b32 v23, {}, {}", std::bit_floor(rounds) - 1, r_.one_in(3) ? "v16" : v());
      put("s_mov_b64 s[84:85], 0");
    }
    return scalar;
  }
  void end_rounds(const std::string& loop, bool scalar) {
    if (scalar) {
      put("s_sub_u32 s32, s32, 1");
      put("s_cmp_lg_u32 s32, 0");
      put("s_cbranch_scc1 {}", loop);
    } else {
      add("v23", "-1", "v23");
      put("v_cmp_gt_i32 vcc, 1, v23");
      next_round(loop);
    }
  }
  void accumulate(const std::string& to, std::string_view with) {
    switch (r_.below(4)) {
    case 0: return put("v_xor_b32 {0}, {0}, {1}", to, with);
    case 1: return put("v_add_f32 {0}, {0}, {1}", to, with);
    case 2: return put("v_max_u32 {0}, {0}, {1}", to, with);
    default: return add(to, with, to);
    }
  }

  /// Each lane along a row of its own in the output, in place, or to where others read.
  void own_rows() {
    const std::string loop = label(), to = v();
    const u32 row = r_.of({4u, 8u, 12u, 16u, 32u, 36u, 64u}), step = r_.of({4u, 4u, 4u, 1u, 2u, 8u}),
              kind = r_.below(3);
    const char* type = step == 1 ? "byte" : step == 2 ? "short" : "dword";
    const std::string load = fmt::format("load_{}{}", step < 4 ? "u" : "", type);
    put("v_mul_u32_u24 v22, {}, v16", row);
    if (r_.one_in(4)) add("v22", std::to_string(step), "v22");
    const bool scalar = begin_rounds(r_.of({2u, 4u, 5u, 7u})), twice = r_.one_in(3);
    const u32 from = r_.of({0u, 0u, step, 4u}), where = r_.of({0u, 0u, step, 4u, 16u});
    put("{}:", loop);
    access_by(kind, Place::Output, load, "v24", "v22", from);
    if (twice) access_by(kind, Place::Output, load, "v25", "v22", from + step);
    accumulate(to, "v24");
    if (twice) put("v_xor_b32 v24, v25, v24");
    const std::string mask = "s[86:87]";
    const bool some = r_.one_in(4);
    if (some) {
      put("v_cmp_{}_u32 vcc, v24, {}", r_.of({"lt", "ne", "gt"}), v());
      put("s_and_saveexec_b64 {}, vcc", mask);
    }
    access_by(kind, Place::Output, fmt::format("store_{}", type), r_.one_in(3) ? "v24" : to, "v22", where);
    if (some) put("s_or_b64 exec, exec, {}", mask);
    add("v22", std::to_string(step), "v22");
    end_rounds(loop, scalar);
  }

  /// Rows of the table, far from each other or not, that are only read, for many rounds; or a few at once.
  void table_rows() {
    const std::string loop = label(), to = v();
    const u32 items = plan_.items(), kind = r_.below(3), step = r_.of({4u, 4u, 4u, 1u, 2u, 16u});
    const u32 longest = std::min(kTableBytes / std::max(items, 1u), 1024u);
    const u32 row = r_.one_in(2) ? longest : 4 + 4 * r_.below(std::max(longest / 4, 1u));
    const char* load = step == 1 ? "load_sbyte" : step == 2 ? "load_ushort" : "load_dword";
    const u32 rounds = std::min(r_.of({3u, 8u, 16u, 20u, 37u, 64u}), kTableBytes / step);
    if (items > 64)
      put("v_and_b32 v22, 0x3f, v16");
    else
      put("v_mov_b32 v22, v16");
    put("v_mul_u32_u24 v22, {}, v22", std::min(row, kTableBytes / 64));
    const bool scalar = begin_rounds(rounds), twice = r_.one_in(3);
    put("{}:", loop);
    access_by(kind, Place::Table, load, "v24", "v22", 0);
    if (twice) access_by(kind, Place::Table, load, "v25", "v22", step < 4 ? step : 8);
    accumulate(to, "v24");
    if (twice) accumulate(to, "v25");
    if (r_.one_in(4)) {
      put("v_cmp_eq_u32 vcc, {}, v24", r_.below(16));
      put("v_cndmask_b32 {0}, {0}, v24, vcc", v());
    }
    add("v22", std::to_string(step), "v22");
    end_rounds(loop, scalar);
  }

  /// Lines and columns in the LDS, by which work-item it is, and a way along one of them.
  void tile() {
    const u32 width = r_.of({4u, 8u, 16u}), bits = static_cast<u32>(std::countr_zero(width)),
              size = r_.of({4u, 4u, 4u, 8u, 1u, 2u});
    const u32 line = size * (width + r_.of({0u, 0u, 1u})), mask = 1023;
    const auto line_and_column = [&](std::string_view x, std::string_view y) {
      put("v_and_b32 {}, {}, v16", x, width - 1);
      put("v_bfe_u32 {}, v16, {}, {}", y, bits, bits);
    };
    lds_limit();
    line_and_column("v22", "v23");
    const bool turned = r_.one_in(2);
    put("v_mul_u32_u24 v24, {}, {}", line, turned ? "v22" : "v23");
    put("v_mul_u32_u24 v25, {}, {}", size, turned ? "v23" : "v22");
    add("v24", "v25", "v24");
    put("v_and_b32 v24, {}, v24", mask & ~(size - 1));
    const char* write = size == 1 ? "b8" : size == 2 ? "b16" : size == 4 ? "b32" : "b64";
    put("ds_write_{} v24, {}", write, size == 8 ? vpair() : v());
    put("s_waitcnt lgkmcnt(0)");
    if (uniform_ && r_.below(3) != 0) put("s_barrier");
    const bool down = r_.one_in(2);
    put("v_mul_u32_u24 v24, {}, {}", down ? size : line, r_.of({"v22", "v23"}));
    const std::string loop = label(), to = v();
    const u32 step = down ? line : size;
    put("s_movk_i32 s32, {}", r_.of({width, width, width / 2, 3u}));
    put("{}:", loop);
    const char* read = size == 1 ? "i8" : size == 2 ? "u16" : size == 4 ? "b32" : "b64";
    put("ds_read_{} {}, v24 offset:{}", read, size == 8 ? "v[26:27]" : "v26",
        r_.one_in(4) ? step & ~(size - 1) : 0);
    put("s_waitcnt lgkmcnt(0)");
    accumulate(to, size == 8 && r_.one_in(2) ? "v27" : "v26");
    if (r_.one_in(4)) put("ds_write_{} v24, {}", write, size == 8 ? vpair() : to);
    add("v24", std::to_string(step), "v24");
    put("s_sub_u32 s32, s32, 1");
    put("s_cmp_lg_u32 s32, 0");
    put("s_cbranch_scc1 {}", loop);
    if (uniform_ && r_.one_in(2)) put("s_barrier");
  }

  /// v1 to v7 by an index.
  void indexed_registers() {
    const u32 first = 1 + r_.below(4);
    put("s_and_b32 s28, {}, 3", s());
    const bool to = r_.one_in(2);
    if (gfx8_) {
      put("s_set_gpr_idx_on s28, {}", to ? "gpr_idx(DST)" : "gpr_idx(SRC0)");
      put("v_mov_b32 {}, {}", to ? fmt::format("v{}", first) : "v22", to ? "v16" : fmt::format("v{}", first));
      put("s_set_gpr_idx_off");
    } else {
      put("s_mov_b32 m0, s28");
      put("s_nop 4");
      put("v_movrel{}_b32 {}, {}", to ? "d" : "s", to ? fmt::format("v{}", first) : "v22",
          to ? "v16" : fmt::format("v{}", first));
    }
    if (!to) put("v_xor_b32 {0}, v22, {0}", v());
  }

  /// Much is done by few lanes, who meet others'; behind it all have what one of the two ways says.
  void few_lanes(unsigned depth) {
    const std::string end = label(), way = mask(depth);
    const u32 lanes = r_.of({1u, 3u, 7u, 15u});
    put("v_mul_u32_u24 v22, {}, v16", r_.of({1, 5, 37}));
    put("v_xor_b32 v22, {}, v22", r_.one_in(2) ? s() : v());
    put("v_and_b32 v22, 63, v22");
    put("v_cmp_gt_u32 vcc, {}, v22", lanes);
    const std::string which = v(), other = v();
    put("s_and_saveexec_b64 {}, vcc", way);
    put("s_cbranch_execz {}", end);
    if (r_.one_in(2)) put("v_mov_b32 {}, {}", which, other);
    for (u32 n = 2 + r_.below(3); n > 0; --n) own_rows();
    if (r_.one_in(3)) divergent_pieces(depth + 1);
    put("{}:", end);
    if (r_.one_in(2)) put("s_andn2_b64 {0}, {0}, exec", way);
    put("s_or_b64 exec, exec, {}", way);
    if (r_.one_in(3)) put("v_cndmask_b32 {0}, {0}, {1}, vcc", v(), which);
  }

  /// A function, or one of two by a scalar.
  void call() {
    if (in_function_) return vectors();
    const auto function = [&] {
      if (num_functions_ > 2 || (num_functions_ > 0 && r_.one_in(2))) return r_.below(num_functions_);
      std::string outer = std::exchange(text_, {});
      const bool before = std::exchange(uniform_, false);
      in_function_ = true;
      for (u32 n = 1 + r_.below(3); n > 0; --n) piece(kMaxDepth);
      put("s_setpc_b64 s[34:35]");
      in_function_ = false;
      uniform_ = before;
      functions_ += fmt::format("        .type f{0},@function\nf{0}:\n{1}.Lf{0}: .size f{0}, .Lf{0}-f{0}\n",
                                num_functions_, std::exchange(text_, std::move(outer)));
      return num_functions_++;
    };
    const std::string here = label();
    const u32 one = function(), other = r_.one_in(3) ? function() : one;
    put("s_getpc_b64 s[36:37]");
    put("{}:", here);
    if (one == other) {
      put("s_add_u32 s36, s36, f{}-{}", one, here);
    } else {
      put("s_mov_b32 s38, f{}-{}", one, here);
      put("s_mov_b32 s39, f{}-{}", other, here);
      compare_scalars();
      put("s_cselect_b32 s38, s38, s39");
      put("s_add_u32 s36, s36, s38");
    }
    put("s_addc_u32 s37, s37, 0");
    put("s_swappc_b64 s[34:35], s[36:37]");
  }

  /// Scalars that go through lanes.
  void spill() {
    switch (r_.below(4)) {
    case 0: put("v_writelane_b32 v17, {}, {}", s(), r_.below(64)); return;
    case 1: put("v_readlane_b32 {}, v17, {}", s(), r_.below(64)); return;
    case 2:
      put("s_and_b32 s28, {}, 63", s());
      put("s_nop 4");
      return put("v_readlane_b32 {}, {}, s28", s(), v());
    default:
      put("s_and_b32 m0, {}, 63", s());
      put("s_nop 4");
      return put("v_writelane_b32 {}, {}, m0", v(), r_.below(64));
    }
  }

  void if_else(unsigned depth) {
    const std::string otherwise = label(), end = label();
    compare_vectors("vcc");
    put("s_and_saveexec_b64 {}, vcc", mask(depth));
    put("s_xor_b64 {0}, exec, {0}", mask(depth));
    if (r_.one_in(2)) put("s_cbranch_execz {}", otherwise);
    divergent_pieces(depth + 1);
    put("{}:", otherwise);
    put("s_or_saveexec_b64 {0}, {0}", mask(depth));
    put("s_xor_b64 exec, exec, {}", mask(depth));
    if (r_.one_in(2)) put("s_cbranch_execz {}", end);
    divergent_pieces(depth + 1);
    put("{}:", end);
    put("s_or_b64 exec, exec, {}", mask(depth));
  }

  /// Lanes leave by a mask of those that have, all by a scalar.
  void loop_with_break(unsigned depth) {
    const std::string loop = label(), end = label();
    put("v_and_b32 v{}, {}, {}", 9 + depth, 1 + r_.below(7), v());
    put("s_mov_b64 {}, 0", mask(depth));
    put("{}:", loop);
    divergent_pieces(depth + 1);
    if (r_.one_in(3)) {
      compare_scalars();
      put("s_cbranch_scc1 {}", end);
    }
    if (r_.one_in(2)) {
      compare_vectors("vcc");
      put("s_and_b64 vcc, exec, vcc");
      put("s_or_b64 {0}, vcc, {0}", mask(depth));
    }
    count_down(depth);
    put("v_cmp_gt_i32 vcc, 1, v{}", 9 + depth);
    put("s_or_b64 {0}, vcc, {0}", mask(depth));
    if (r_.one_in(2)) vectors();
    put("s_andn2_b64 exec, exec, {}", mask(depth));
    put("s_cbranch_execnz {}", loop);
    put("{}:", end);
    put("s_or_b64 exec, exec, {}", mask(depth));
  }

  /// for (e = id; e < n; e += size)
  void shared_loop(unsigned depth) {
    const std::string loop = label(), end = label(), e = fmt::format("v{}", 9 + depth);
    const std::string bound = r_.one_in(2) ? std::string("s66") : fmt::format("s{}", 45 + depth);
    if (bound != "s66")
      put("s_mov_b32 {}, {}", bound, r_.of({64u, 200u, 3 * plan_.items(), 4 * plan_.items()}) % 1024);
    put("v_mov_b32 {}, v16", e);
    put("s_mov_b64 {}, exec", mask(depth));
    put("v_cmp_gt_u32 vcc, {}, {}", bound, e);
    put("s_and_b64 exec, exec, vcc");
    put("s_cbranch_execz {}", end);
    put("{}:", loop);
    put("v_lshlrev_b32 v8, 2, {}", e);
    const std::string to = v();
    access(Place::Table, "load_dword", "v13", "v8");
    put("v_xor_b32 {0}, v13, {0}", to);
    if (r_.one_in(2)) {
      lds_limit();
      put("v_lshlrev_b32 v8, 2, {}", e);
      put("ds_write_b32 v8, {}", v());
      put("s_waitcnt lgkmcnt(0)");
    }
    if (r_.one_in(2)) divergent_pieces(depth + 1);
    put("s_movk_i32 s68, {}", plan_.items() < 16 ? 16 : plan_.items());
    add(e, "s68", e);
    put("v_cmp_gt_u32 vcc, {}, {}", bound, e);
    put("s_and_b64 exec, exec, vcc");
    put("s_cbranch_execnz {}", loop);
    put("{}:", end);
    put("s_mov_b64 exec, {}", mask(depth));
  }

  /// Rows of the output, one each round.
  void loop_over_rows(unsigned depth) {
    const std::string loop = label(), place = fmt::format("v{}", 18 + depth);
    const u32 row = r_.of({4u, std::min(64u, 16 * plan_.items()), 4 * plan_.items()});
    put("v_lshlrev_b32 {}, 2, v16", place);
    put("s_mov_b32 {}, {}", counter(depth), 1 + r_.below(4));
    put("{}:", loop);
    access(Place::Output, "load_dword", v(), place, 0);
    if (r_.one_in(2)) pieces(depth + 1);
    if (r_.one_in(2))
      access(Place::Output, "store_dword", v(), place, r_.of({0u, 4u, row < 4096 ? row : 0u}));
    put("s_movk_i32 s68, {}", row);
    add(place, "s68", place);
    put("s_sub_u32 {0}, {0}, 1", counter(depth));
    put("s_cmp_lg_u32 {}, 0", counter(depth));
    put("s_cbranch_scc1 {}", loop);
  }

  /// In all lanes, also those that the wave began without.
  void whole_wave() {
    put("s_or_saveexec_b64 s[30:31], -1");
    for (u32 n = 1 + r_.below(3); n > 0; --n) r_.one_in(2) ? vectors() : gfx8_ ? dpp() : crossing();
    put("s_mov_b64 exec, s[30:31]");
  }

  void mask_algebra(unsigned depth) {
    compare_vectors("s[30:31]");
    compare_vectors("vcc");
    put("s_{}_b64 s[30:31], s[30:31], vcc", r_.of({"and", "or", "xor", "andn2", "orn2"}));
    if (r_.one_in(2)) return put("v_cndmask_b32 {}, {}, {}, s[30:31]", v(), v(), v());
    put("s_and_saveexec_b64 {}, s[30:31]", mask(depth));
    divergent_pieces(depth + 1);
    put("s_or_b64 exec, exec, {}", mask(depth));
  }
};

} // namespace

std::string random_kernel(u64 seed, const KernelPlan& plan) { return Writer(seed, plan).kernel(); }

} // namespace lanewise::differential
