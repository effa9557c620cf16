#include "tests/differential/random_program.hpp"

#include "tests/differential/random_image.hpp"
#include "tests/differential/random_state.hpp"
#include "tests/differential/straight_code.hpp"

namespace lanewise::differential {
namespace {

constexpr unsigned kMaxDepth = 3;

class Writer : StraightCode {
public:
  using StraightCode::StraightCode;

  void body() {
    const unsigned n = 3 + r_.below(5);
    for (unsigned i = 0; i < n && p_.lines.size() < 160; ++i) {
      piece(0);
      if (p_.waves.size() > 1 && r_.one_in(2)) barrier();
    }
  }

private:
  std::string label() { return fmt::format("L{}", labels_++); }
  void barrier() {
    put("s_waitcnt vmcnt(0) lgkmcnt(0)");
    put("s_barrier");
  }

  // ---- control flow

  /// A lane mask into VCC, or into a scalar pair.
  void compare(const std::string& pair) {
    const char* how = r_.of({"lt", "gt", "eq", "ne", "le"});
    if (r_.one_in(2))
      put("v_cmp_{}_u32 {}, s{}, v{}", how, pair, s(), v());
    else
      put("v_cmp_{}_f32 {}, v{}, v{}", r_.of({"lt", "gt", "neq", "nlt"}), pair, v(), v());
  }
  void compare() {
    const char* type = r_.of({"u32", "i32"});
    const char* how = r_.of({"lt", "gt", "eq", "ne", "le"});
    switch (r_.below(5)) {
    case 0: put("v_cmp_{}_{} vcc, s{}, v{}", how, type, s(), v()); break;
    case 1: put("v_cmp_{}_{} vcc, {}, v{}", how, type, r_.below(64), v()); break;
    case 2: put("v_cmp_{}_u32 vcc, {}, v21", how, 4 * r_.below(64)); break;
    case 3: {
      put("v_and_b32 v23, {}, v{}", 1 + r_.below(7), v());
      put("v_cmp_{}_u32 vcc, {}, v23", how, r_.below(4));
      break;
    }
    default: put("v_cmp_{}_{} vcc, v{}, v{}", how, type, v(), v()); break;
    }
  }
  void scalar_compare() {
    if (r_.one_in(2))
      put("s_cmp_{}_u32 s{}, s{}", r_.of({"lt", "gt", "eq", "lg"}), s(), s());
    else
      put("s_bitcmp1_b32 s{}, {}", s(), r_.below(32));
  }

  void piece(unsigned depth) {
    if (p_.lines.size() > 160) return;
    if (depth >= kMaxDepth) return straight();
    switch (r_.below(16)) {
    case 0: divergent_if(depth); break;
    case 1: divergent_if_else(depth); break;
    case 2: cmpx_if(depth); break;
    case 3: mask_branch(depth); break;
    case 4: uniform_branch(depth); break;
    case 5: divergent_loop(depth); break;
    case 6: counted_loop(depth); break;
    case 7: mask_loop(depth); break;
    case 8: loop_with_break(depth); break;
    case 9: waterfall_loop(depth); break;
    case 10: loop_over_lanes(depth); break;
    case 11: other_exec(depth); break;
    default: straight(); break;
    }
  }
  void pieces(unsigned depth) {
    straight();
    for (unsigned n = r_.below(3); n > 0; --n) piece(depth);
  }
  std::string saved(unsigned depth, unsigned n = 0) const { return pair(56 + 8 * depth + 2 * n); }

  void divergent_if(unsigned depth) {
    const std::string end = label(), mask = saved(depth);
    if (r_.one_in(3)) {
      compare(saved(depth, 1));
      straight();
      put("s_and_saveexec_b64 {}, {}", mask, saved(depth, 1));
    } else {
      compare();
      put("s_and_saveexec_b64 {}, vcc", mask);
    }
    if (r_.below(3) != 0) put("s_cbranch_execz {}", end);
    pieces(depth + 1);
    put("{}:", end);
    put("s_or_b64 exec, exec, {}", mask);
  }
  void divergent_if_else(unsigned depth) {
    const std::string otherwise = label(), end = label(), mask = saved(depth);
    compare();
    put("s_and_saveexec_b64 {}, vcc", mask);
    put("s_xor_b64 {0}, exec, {0}", mask);
    if (r_.below(3) != 0) put("s_cbranch_execz {}", otherwise);
    pieces(depth + 1);
    put("{}:", otherwise);
    if (r_.one_in(2)) {
      put("s_or_saveexec_b64 {0}, {0}", mask);
      put("s_xor_b64 exec, exec, {}", mask);
    } else {
      put("s_andn2_saveexec_b64 {0}, {0}", mask);
    }
    if (r_.below(3) != 0) put("s_cbranch_execz {}", end);
    pieces(depth + 1);
    put("{}:", end);
    put("s_or_b64 exec, exec, {}", mask);
  }
  void cmpx_if(unsigned depth) {
    const std::string end = label(), mask = saved(depth);
    put("s_mov_b64 {}, exec", mask);
    put("v_cmpx_{}_u32 vcc, {}, v{}", r_.of({"lt", "gt", "ne"}), r_.below(64), v());
    if (r_.one_in(2)) put("s_cbranch_execz {}", end);
    pieces(depth + 1);
    put("{}:", end);
    put("s_mov_b64 exec, {}", mask);
  }
  /// A branch on VCC: what is under it runs for all lanes, or for none.
  void mask_branch(unsigned depth) {
    const std::string end = label();
    compare();
    if (r_.one_in(4)) {
      put("s_and_b64 {}, exec, vcc", saved(depth));
      put("{} {}", r_.of({"s_cbranch_scc0", "s_cbranch_scc1"}), end);
    } else {
      if (r_.one_in(3)) put("s_and_b64 vcc, exec, vcc");
      put("{} {}", r_.of({"s_cbranch_vccz", "s_cbranch_vccnz"}), end);
    }
    pieces(depth + 1);
    put("{}:", end);
  }
  void uniform_branch(unsigned depth) {
    const std::string otherwise = label(), end = label();
    scalar_compare();
    put("{} {}", r_.of({"s_cbranch_scc0", "s_cbranch_scc1"}), otherwise);
    pieces(depth + 1);
    if (r_.one_in(2)) {
      put("s_branch {}", end);
      put("{}:", otherwise);
      pieces(depth + 1);
      put("{}:", end);
    } else {
      put("{}:", otherwise);
    }
  }

  /// EXEC as a number, or any mask.
  void other_exec(unsigned depth) {
    const std::string before = saved(depth);
    put("s_mov_b64 {}, exec", before);
    switch (r_.below(8)) {
    case 0: put("s_mov_b64 exec, {}", pair(s2())); break;
    case 1: put("s_mov_b32 exec_{}, {}", r_.of({"lo", "hi"}), r_.of({"0", "-1", "0xff00ff"})); break;
    case 2: put("{} exec, exec, {}", r_.of({"s_lshl_b64", "s_lshr_b64"}), r_.below(64)); break;
    case 3: put("s_bfm_b64 exec, {}, {}", r_.below(64), r_.below(64)); break;
    case 4: put("s_wqm_b64 exec, exec"); break;
    case 5: put("s_not_b64 exec, exec"); break;
    case 6: put("s_mov_b64 exec, 0"); break;
    default: put("s_mov_b64 exec, -1"); break;
    }
    pieces(depth + 1);
    put("s_mov_b64 exec, {}", before);
  }

  /// Lines that go together, so that a shrunk loop ends as well.
  class Group {
  public:
    explicit Group(Writer& w) : w_(w), outer_(w.group_), id_(++w.groups_) {}
    template <class F>
    void operator()(F f) {
      w_.group_ = id_;
      f();
      w_.group_ = outer_;
    }

  private:
    Writer& w_;
    u32 outer_, id_;
  };

  /// Each lane runs as often as its own counter says; the mask of those that are done grows.
  void divergent_loop(unsigned depth) {
    Group loop(*this);
    const std::string begin = label(), done = saved(depth), out = saved(depth, 1);
    const unsigned counter = 24 + depth, scalar = s();
    loop([&] {
      put("v_and_b32 v{}, {}, v{}", counter, r_.of({1, 3, 7}), v());
      if (r_.one_in(2))
        put("s_and_saveexec_b64 {}, vcc", out);
      else
        put("s_mov_b64 {}, exec", out);
      put("s_mov_b64 {}, 0", done);
      put("{}:", begin);
    });
    if (r_.one_in(2)) put("s_add_u32 s{}, s{}, 1", scalar, scalar);
    if (r_.one_in(3)) put("v_mov_b32 v{}, s{}", v(), scalar);
    pieces(depth + 1);
    loop([&] {
      const bool exclusive = r_.one_in(2);
      put("v_cmp_eq_u32 vcc, 0, v{}", counter);
      put("v_subrev_{} v{}, vcc, 1, v{}",
          t_ >= Target::gfx900   ? "co_u32"
          : t_ == Target::gfx803 ? "u32"
                                 : "i32",
          30, counter);
      put("v_cmp_eq_u32 vcc, 0, v{}", counter);
      put("v_mov_b32 v{}, v30", counter);
      if (exclusive) {
        put("s_or_b64 {0}, vcc, {0}", done);
        put("s_andn2_b64 exec, exec, {}", done);
      } else {
        put("s_and_b64 vcc, exec, vcc");
        put("s_andn2_b64 exec, exec, vcc");
      }
      put("s_cbranch_execnz {}", begin);
      if (exclusive && r_.one_in(2)) put("s_or_b64 exec, exec, {}", done);
      put("s_or_b64 exec, exec, {}", out);
    });
    if (r_.one_in(2)) put("v_mov_b32 v{}, s{}", v(), scalar);
  }
  void counted_loop(unsigned depth) {
    Group loop(*this);
    const std::string begin = label();
    const unsigned counter = 80 + depth, pointer = 27 + depth;
    const bool walks = r_.one_in(2), local = r_.one_in(2);
    loop([&] {
      put("s_mov_b32 s{}, {}", counter, 1 + r_.below(3));
      if (walks) put("v_mov_b32 v{}, {}", pointer, r_.of({"v21", "v21", "s46"}));
      put("{}:", begin);
    });
    if (walks) {
      const bool loads = r_.below(3) != 0;
      access(
          local,
          {loads ? "ds_read_b32" : "ds_write_b32", loads ? "buffer_load_dword" : "buffer_store_dword", 1, 4},
          loads, pointer, 4 * r_.below(64));
      add(pointer, r_.of({"4", "0x100", "-4", "s47", "12"}), pointer);
    }
    pieces(depth + 1);
    if (depth == 0 && p_.waves.size() > 1 && r_.one_in(2)) loop([&] { barrier(); });
    loop([&] {
      put("s_sub_u32 s{0}, s{0}, 1", counter);
      put("s_cmp_lg_u32 s{}, 0", counter);
      put("s_cbranch_scc1 {}", begin);
    });
  }
  /// All lanes go round until none of them wants to.
  void mask_loop(unsigned depth) {
    Group loop(*this);
    const std::string begin = label();
    const unsigned counter = 24 + depth, limit = 80 + depth;
    const bool uniform = r_.one_in(3);
    loop([&] {
      if (uniform)
        put("v_mov_b32 v{}, {}", counter, r_.below(4));
      else
        put("v_and_b32 v{}, 3, v{}", counter, v());
      put("s_movk_i32 s{}, 6", limit); // lanes that the counter does not reach, being off
      put("{}:", begin);
    });
    pieces(depth + 1);
    loop([&] {
      put("v_max_u32 v{0}, 1, v{0}", counter);
      put("v_add_{} v{}, vcc, -1, v{}",
          t_ >= Target::gfx900   ? "co_u32"
          : t_ == Target::gfx803 ? "u32"
                                 : "i32",
          counter, counter);
      put("s_sub_u32 s{0}, s{0}, 1", limit);
      put("s_cmp_eq_u32 s{}, 0", limit);
      const std::string end = label();
      put("s_cbranch_scc1 {}", end);
      put("v_cmp_ne_u32 vcc, 0, v{}", counter);
      if (r_.one_in(2)) put("s_and_b64 vcc, exec, vcc");
      put("s_cbranch_vccnz {}", begin);
      put("{}:", end);
    });
  }
  /// As many times round as a register has values among the lanes, each time for the lanes of one.
  void waterfall_loop(unsigned depth) {
    Group loop(*this);
    const std::string begin = label(), out = saved(depth), left = saved(depth, 1);
    const unsigned key = 24 + depth, value = 80 + depth;
    loop([&] {
      put("s_mov_b64 {}, exec", out);
      put("v_and_b32 v{}, {}, v{}", key, r_.of({1, 3, 6}), v());
      put("{}:", begin);
      put("v_readfirstlane_b32 s{}, v{}", value, key);
      put("v_cmp_eq_u32 vcc, s{}, v{}", value, key);
      put("s_and_saveexec_b64 {}, vcc", left);
    });
    put("v_mov_b32 v{}, s{}", v(), value);
    pieces(depth + 1);
    loop([&] {
      put("s_xor_b64 exec, exec, {}", left);
      put("s_cbranch_execnz {}", begin);
      put("s_mov_b64 exec, {}", out);
    });
  }
  /// Once for each lane of a mask, in the order of the lanes.
  void loop_over_lanes(unsigned depth) {
    Group loop(*this);
    const std::string begin = label(), end = label(), left = saved(depth), bit = saved(depth, 1);
    const unsigned lane = 80 + depth, value = s();
    compare();
    loop([&] {
      put("s_and_b64 {}, exec, vcc", left);
      put("s_cbranch_scc0 {}", end);
      put("{}:", begin);
      put("s_ff1_i32_b64 s{}, {}", lane, left);
    });
    put("v_readlane_b32 s{}, v{}, s{}", value, v(), lane);
    if (r_.one_in(2)) straight();
    put("v_writelane_b32 v{}, s{}, s{}", v(), value, lane);
    loop([&] {
      put("s_lshl_b64 {}, 1, s{}", bit, lane);
      put("s_andn2_b64 {0}, {0}, {1}", left, bit);
      put("s_cbranch_scc1 {}", begin);
      put("{}:", end);
    });
  }
  /// A scalar-counted loop that lanes leave early by a break in the middle.
  void loop_with_break(unsigned depth) {
    Group loop(*this);
    const std::string begin = label(), end = label(), out = saved(depth), left = saved(depth, 1);
    const unsigned counter = 80 + depth;
    loop([&] {
      put("s_mov_b64 {}, exec", out);
      put("s_mov_b32 s{}, {}", counter, 2 + r_.below(3));
      put("{}:", begin);
    });
    straight();
    compare();
    put("s_mov_b64 {}, vcc", left);
    put("s_andn2_b64 exec, exec, {}", left);
    if (r_.below(3) != 0) put("s_cbranch_execz {}", end);
    pieces(depth + 1);
    loop([&] {
      put("s_sub_u32 s{0}, s{0}, 1", counter);
      put("s_cmp_lg_u32 s{}, 0", counter);
      put("s_cbranch_scc1 {}", begin);
      put("{}:", end);
      put("s_mov_b64 exec, {}", out);
    });
  }

  unsigned labels_ = 0;
  u32 groups_ = 0;
};

} // namespace

Program random_program(Target target, u64 seed) {
  Random random(~(seed * isa::kNumTargets + static_cast<u64>(target)));
  Program program;
  program.target = target;
  program.seed = seed;
  program.mode = 0xf0;
  program.waves.resize(random.below(3) != 0 ? 1 : 2 + random.below(3));
  for (WaveState& wave : program.waves) {
    wave = random_wave(random);
    wave.m0 = ~0u;
    if (random.one_in(2)) wave.exec = ~u64{0};
  }
  randomize_memory(program, random);
  if (random.one_in(3)) randomize_images(program, random);
  program.private_values = target >= Target::gfx900 && random.one_in(2);
  Writer(program, random).body();
  return program;
}

} // namespace lanewise::differential
