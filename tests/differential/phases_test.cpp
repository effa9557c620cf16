// What a wave's lanes may see of each other, rule by rule: for each rule of phase formation, branch decision
// and predication a small program whose result changes if the rule is dropped, with that result. Lanes of
// different gangs (8 or 16 lanes) meet in each of them.
#include "tests/differential/runner.hpp"

#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

using Value = u32 (*)(u32 lane);

/// Each lane stores 3 or 4 times 16 times itself plus the round, from a dword on that neighbours get to, too:
/// what is in dword `at` then. In each round all lanes store, before the next.
u32 where_pieces_meet(u32 at) {
  u32 found = 0;
  for (u32 round = 0; round < 4; ++round)
    for (u32 lane = 0; lane < kWaveSize; ++lane)
      if (round < 3 + lane % 2 && 2 * lane + lane % 2 + round == at) found = 16 * lane + round;
  return found;
}

struct Rule {
  const char* name;
  std::vector<std::string> lines; ///< at their start: v21 = 4 * lane, other registers and the LDS 0
  std::vector<std::pair<unsigned, Value>> after;
  u32 waves = 1;
};

/// Each lane replaces the dword at v1 = 0 of the LDS by 3 times itself + v21 + 1; v4 becomes what it
/// replaced, v5 the outcome.
std::vector<std::string> retry(std::vector<std::string> lines, const std::vector<std::string>& each_time) {
  const auto append = [&](const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  append({"s_mov_b64 s[18:19], exec", "s_mov_b64 s[16:17], 0", "s_waitcnt lgkmcnt(0)",
          "L0:", "v_mul_lo_u32 v3, v2, 3", "v_add_u32 v3, v3, v21", "v_add_u32 v3, 1, v3"});
  append(each_time);
  append({"ds_cmpst_rtn_b32 v4, v1, v2, v3", "s_waitcnt lgkmcnt(0)", "v_cmp_eq_u32 vcc, v4, v2",
          "v_mov_b32 v2, v4", "s_or_b64 s[16:17], vcc, s[16:17]", "s_andn2_b64 exec, exec, s[16:17]",
          "s_cbranch_execnz L0", "s_mov_b64 exec, s[18:19]"});
  // What tells how often the lanes have tried would keep gangs from retrying alone.
  append({"s_mov_b64 vcc, 0", "s_mov_b64 s[16:17], 0", "v_mov_b32 v2, 0", "v_mov_b32 v3, 0",
          "v_mov_b32 v7, 0", "ds_read_b32 v5, v1", "s_waitcnt lgkmcnt(0)"});
  return lines;
}
/// Likewise of 64 bits, which become 3 times their low dword + v21 + 1, and in the high dword one more.
std::vector<std::string> retry_qwords(std::vector<std::string> lines) {
  const char* const loop[] = {"v_mov_b32 v10, 0",
                              "v_mov_b32 v11, 0",
                              "s_mov_b64 s[16:17], 0",
                              "L0:",
                              "v_mul_lo_u32 v12, v10, 3",
                              "v_add_u32 v12, v12, v21",
                              "v_add_u32 v12, 1, v12",
                              "v_add_u32 v13, 1, v11",
                              "ds_cmpst_rtn_b64 v[14:15], v1, v[10:11], v[12:13]",
                              "s_waitcnt lgkmcnt(0)",
                              "v_cmp_eq_u64 vcc, v[14:15], v[10:11]",
                              "v_mov_b32 v10, v14",
                              "v_mov_b32 v11, v15",
                              "s_or_b64 s[16:17], vcc, s[16:17]",
                              "s_andn2_b64 exec, exec, s[16:17]",
                              "s_cbranch_execnz L0",
                              "s_mov_b64 exec, -1",
                              "s_mov_b64 vcc, 0",
                              "s_mov_b64 s[16:17], 0",
                              "v_mov_b32 v12, 0",
                              "v_mov_b32 v13, 0",
                              "v_mov_b32 v14, 0",
                              "v_mov_b32 v15, 0"};
  lines.insert(lines.end(), std::begin(loop), std::end(loop));
  return lines;
}
/// What `x` becomes in lanes `first` to `end` - 1.
u32 chain(u32 x, u32 first, u32 end, u32 step = 1) {
  for (u32 lane = first; lane < end; lane += step) x = 3 * x + 4 * lane + 1;
  return x;
}

/// Each lane goes round until its number, or the count of rounds in a scalar, says so; v2 becomes that.
/// Rounds take long, by loads that find nothing.
std::vector<std::string> left_lanes() {
  std::vector<std::string> lines{"v_lshrrev_b32 v1, 2, v21",
                                 "s_mov_b32 s20, 0x19660d",
                                 "s_mov_b32 s21, 0",
                                 "s_mov_b64 s[22:23], exec",
                                 "L0:",
                                 "v_mul_lo_u32 v1, v1, s20",
                                 "v_add_u32 v1, 0x3c6ef35f, v1"};
  for (unsigned n = 0; n < 50; ++n)
    for (const char* text :
         {"v_and_b32 v3, 0x1fc, v1", "ds_read_b32 v3, v3", "s_waitcnt lgkmcnt(0)", "v_add_u32 v1, v1, v3"})
      lines.emplace_back(text);
  for (const char* text : {"v_lshrrev_b32 v3, 25, v1", "v_mov_b32 v2, s21", "v_cmp_ne_u32 vcc, 0, v3",
                           "s_and_b64 exec, exec, vcc", "s_cbranch_execz L1", "s_add_u32 s21, s21, 1",
                           "s_cmp_lg_u32 s21, 0xc8", "s_cbranch_scc1 L0", "L1:", "s_mov_b64 exec, s[22:23]",
                           "v_mov_b32 v1, 0", "v_mov_b32 v3, 0", "s_mov_b32 s21, 0", "s_mov_b64 vcc, 0"})
    lines.emplace_back(text);
  return lines;
}
/// 200 at most, until the seven highest bits are 0.
u32 rounds_of_lane(u32 lane) {
  u32 x = lane, rounds = 0;
  for (; rounds < 200; ++rounds)
    if (x = x * 0x19660d + 0x3c6ef35f; x >> 25 == 0) return rounds;
  return rounds - 1;
}

std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> lines;
  for (const auto& part : parts) lines.insert(lines.end(), part.begin(), part.end());
  return lines;
}
/// Adds to v5 what each lane finds at a place of its own choice, and stores where others look.
const std::vector<std::string> kMeeting = {"v_mul_lo_u32 v22, v8, v6",  "v_and_b32 v22, 31, v22",
                                           "v_lshlrev_b32 v22, 2, v22", "global_load_dword v4, v22, s[2:3]",
                                           "v_add_u32 v6, 1, v6",       "s_waitcnt vmcnt(0)",
                                           "v_add_u32 v5, v5, v4",      "v_add_u32 v4, v4, v21",
                                           "v_mul_lo_u32 v22, v8, v6",  "v_and_b32 v22, 31, v22",
                                           "v_lshlrev_b32 v22, 2, v22", "global_store_dword v22, v4, s[2:3]"};
/// Each lane in which v7 is 1 does so as often as v1 says: lanes of all gangs meet in all rounds.
const std::vector<std::string> kMeetings =
    joined({{"v_mbcnt_lo_u32_b32 v8, -1, 0", "v_mbcnt_hi_u32_b32 v8, -1, v8", "v_cmp_eq_u32 vcc, 1, v7",
             "s_mov_b64 s[18:19], exec", "s_mov_b64 s[16:17], 0", "s_and_b64 exec, exec, vcc", "L0:"},
            kMeeting,
            {"v_cmp_gt_u32 vcc, v6, v1", "s_or_b64 s[16:17], vcc, s[16:17]",
             "s_andn2_b64 exec, exec, s[16:17]", "s_cbranch_execnz L0", "s_mov_b64 exec, s[18:19]",
             "s_mov_b64 s[16:17], 0", "s_mov_b64 vcc, 0", "s_waitcnt vmcnt(0)"}});
/// Likewise nine times, in as many lanes as `lanes` says, anywhere in the wave.
std::vector<std::string> meetings_behind_branch(const std::string& lanes) {
  return joined({{"v_mbcnt_lo_u32_b32 v8, -1, 0", "v_mbcnt_hi_u32_b32 v8, -1, v8", "s_mov_b32 s20, 37",
                  "v_mul_lo_u32 v7, v8, s20", "v_and_b32 v7, 63, v7", "v_cmp_gt_u32 vcc, " + lanes + ", v7",
                  "s_and_saveexec_b64 s[18:19], vcc", "s_cbranch_execz L1", "s_mov_b32 s20, 9", "L0:"},
                 kMeeting,
                 {"s_sub_u32 s20, s20, 1", "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 L0", "L1:",
                  "s_mov_b64 exec, s[18:19]", "s_mov_b64 vcc, 0", "s_mov_b32 s20, 0", "s_waitcnt vmcnt(0)"}});
}
std::vector<std::string> meetings(const std::vector<std::string>& lines) {
  return joined({lines, kMeetings});
}
/// What v5 is then, where a lane goes round if it `takes_part`, as often as `rounds` says, once at least.
u32 sum_of_meetings(u32 of, bool (*takes_part)(u32 lane), u32 (*rounds)(u32 lane)) {
  std::array<u32, 32> data{};
  std::array<u32, kWaveSize> sum{}, found{};
  for (u32 round = 0; round < kWaveSize; ++round) {
    const auto goes_on = [&](u32 lane) { return takes_part(lane) && (round == 0 || round <= rounds(lane)); };
    for (u32 lane = 0; lane < kWaveSize; ++lane)
      if (goes_on(lane)) sum[lane] += found[lane] = data[lane * round % 32];
    for (u32 lane = 0; lane < kWaveSize; ++lane)
      if (goes_on(lane)) data[lane * (round + 1) % 32] = found[lane] + 4 * lane;
  }
  return sum[of];
}

const Rule kRules[] = {
    // ---- what is read whole is defined in an earlier phase
    {"ReadlaneSeesOtherGangs",
     {"v_add_u32 v1, v21, v21", "v_readlane_b32 s16, v1, 63", "v_mov_b32 v2, s16"},
     {{2, [](u32) { return 504u; }}}},
    {"ReadlaneInALoop",
     {"v_mov_b32 v1, v21", "s_mov_b32 s20, 3", "L0:", "v_readlane_b32 s16, v1, 63", "v_add_u32 v1, s16, v1",
      "s_sub_u32 s20, s20, 1", "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 L0"},
     {{1, [](u32 lane) { return 4 * lane + 252 * 7; }}}},
    {"PermuteOfALoopsOwnValue", // each time round the value moves on by 20 lanes
     {"v_mov_b32 v1, v21", "v_add_u32 v2, 0x50, v21", "s_mov_b32 s20, 3", "L0:", "ds_bpermute_b32 v1, v2, v1",
      "s_sub_u32 s20, s20, 1", "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 L0"},
     {{1, [](u32 lane) { return 4 * ((lane + 60) % 64); }}}},
    {"PullsByBitsOfTheLanesNumber", // within fours, from the first of eight if it takes part, from one lane
     {"v_mbcnt_lo_u32_b32 v4, -1, 0", "v_mbcnt_hi_u32_b32 v4, -1, v4", "v_xor_b32 v5, 3, v4", "v_lshlrev_b32 v5, 2, v5",
      "v_add_u32 v1, v21, v21", "ds_bpermute_b32 v1, v5, v1", "v_and_b32 v6, 0x38, v4", "v_lshlrev_b32 v6, 2, v6",
      "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc", "ds_bpermute_b32 v2, v6, v1",
      "s_mov_b64 exec, s[18:19]", "s_movk_i32 s20, 0x94", "v_mov_b32 v7, s20", "ds_bpermute_b32 v3, v7, v1"},
     {{1, [](u32 lane) { return 8 * (lane ^ 3); }},
      {2, [](u32 lane) { return lane < 40 ? 0 : 8 * ((lane & 0x38) ^ 3); }},
      {3, [](u32) { return 8 * (37u ^ 3u); }}}},
    {"MaskAsAnInteger",
     {"v_cmp_lt_u32 vcc, 0x40, v21", "s_bcnt1_i32_b64 s16, vcc", "v_mov_b32 v1, s16"},
     {{1, [](u32) { return 47u; }}}},
    {"MirrorOfARowCrossesGangsOfEight",
     {"v_add_u32 v1, v21, v21", "v_mov_b32_dpp v2, v1 row_mirror row_mask:0xf bank_mask:0xf"},
     {{2, [](u32 lane) { return 8 * (lane ^ 15); }}}},
    {"BroadcastCrossesRows",
     {"v_add_u32 v1, v21, v21", "v_mov_b32_dpp v2, v1 row_bcast:31 row_mask:0xf bank_mask:0xf"},
     {{2, [](u32 lane) { return lane < 32 ? 0 : 8 * 31u; }}}},
    {"SwizzleAcrossGangs", // exchanges lanes 16 apart, then 8 apart
     {"v_add_u32 v1, v21, v21", "ds_swizzle_b32 v2, v1 offset:0x401f", "v_add_u32 v3, v2, v21",
      "ds_swizzle_b32 v4, v3 offset:0x201f"},
     {{2, [](u32 lane) { return 8 * (lane ^ 16); }},
      {4, [](u32 lane) { return 8 * (lane ^ 24) + 4 * (lane ^ 8); }}}},

    // ---- accesses that can conflict
    {"LoadAfterStoreOfAnotherGang",
     {"ds_write_b32 v21, v21", "v_xor_b32 v1, 0x80, v21", "ds_read_b32 v2, v1"},
     {{2, [](u32 lane) { return 4 * (lane ^ 32); }}}},
    {"StoreAfterLoadOfAnotherGang",
     {"ds_write_b32 v21, v21", "v_xor_b32 v1, 0x80, v21", "ds_read_b32 v2, v1", "ds_write_b32 v21, v2",
      "ds_read_b32 v3, v21"},
     {{3, [](u32 lane) { return 4 * (lane ^ 32); }}}},
    {"BufferLoadAfterStoreOfAnotherGang",
     {"buffer_store_dword v21, v21, s[12:15], 0 offen", "v_xor_b32 v1, 0x80, v21",
      "buffer_load_dword v2, v1, s[12:15], 0 offen", "s_waitcnt vmcnt(0)"},
     {{2, [](u32 lane) { return 4 * (lane ^ 32); }}}},
    {"FlatLoadReachesTheLds",
     {"ds_write_b32 v21, v21", "s_getreg_b32 s16, hwreg(HW_REG_SH_MEM_BASES, 16, 16)",
      "s_lshl_b32 s16, s16, 16", "v_xor_b32 v2, 0x80, v21", "v_mov_b32 v3, s16", "flat_load_dword v1, v[2:3]",
      "s_waitcnt vmcnt(0) lgkmcnt(0)"},
     {{1, [](u32 lane) { return 4 * (lane ^ 32); }}}},
    {"LoopOfAccessesToOtherGangs", // v1 += its partner's v1, twice
     {"v_mov_b32 v1, v21", "v_xor_b32 v3, 0x80, v21", "s_mov_b32 s20, 2", "L0:", "ds_write_b32 v21, v1",
      "ds_read_b32 v2, v3", "v_add_u32 v1, v1, v2", "s_sub_u32 s20, s20, 1", "s_cmp_lg_u32 s20, 0",
      "s_cbranch_scc1 L0"},
     {{1, [](u32 lane) { return 8 * (lane + (lane ^ 32)); }}}},
    {"LoopOfOneAtomic", // with itself, one time round later
     {"v_mov_b32 v2, 1", "s_mov_b32 s20, 2", "L0:", "ds_add_rtn_u32 v3, v1, v2", "s_sub_u32 s20, s20, 1",
      "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 L0"},
     {{3, [](u32 lane) { return 64 + lane; }}}},
    {"AtomicsThatReturnDoNotCommute",
     {"v_mov_b32 v2, 1", "ds_add_rtn_u32 v3, v1, v2", "ds_add_rtn_u32 v4, v1, v2"},
     {{3, [](u32 lane) { return lane; }}, {4, [](u32 lane) { return 64 + lane; }}}},
    {"AtomicsOfTwoKindsDoNotCommute",
     {"v_mov_b32 v2, 1", "v_mov_b32 v3, 0x64", "ds_add_u32 v1, v2", "ds_max_u32 v1, v3",
      "ds_read_b32 v4, v1"},
     {{4, [](u32) { return 100u; }}}},
    {"AtomicsOfTwoSizesDoNotCommute", // the lower half's carries are lost or not
     {"v_mov_b32 v2, 0x18000000", "v_mov_b32 v4, 0x8000000", "ds_add_u32 v1, v2", "ds_add_u64 v1, v[4:5]",
      "ds_read_b32 v6, v1 offset:4"},
     {{6, [](u32) { return 2u; }}}},
    {"IncrementsWithTwoLimitsDoNotCommute",
     {"v_mov_b32 v2, 10", "v_mov_b32 v3, 0x64", "ds_inc_u32 v1, v2", "ds_inc_u32 v1, v3",
      "ds_read_b32 v4, v1"},
     {{4, [](u32) { return 64 % 11 + 64u; }}}},

    // ---- loops that retry a compare-and-swap: lanes get through one by one, x becomes 3 * x + 4 * lane + 1
    {"RetriesInAscendingOrder",
     retry({"ds_read_b32 v2, v1"}, {}),
     {{4, [](u32 lane) { return chain(0, 0, lane); }}, {5, [](u32) { return chain(0, 0, 64); }}}},
    {"LanesLeftInALoopThatIsInNoPhase", // What they load was stored by another gang.
     {"v_and_b32 v9, 4, v21", "v_add_u32 v9, -1, v9", "v_mov_b32 v2, 0x550000", "ds_write_b32 v8, v2 offset:8",
      "s_mov_b64 s[16:17], exec", "L0:", "v_and_b32 v8, 28, v21", "ds_read_u8 v3, v8 offset:2",
      "s_waitcnt lgkmcnt(0)", "v_add_u32 v9, -1, v9", "v_cmp_lt_i32 vcc, 0, v9", "s_and_b64 exec, exec, vcc",
      "s_cbranch_execnz L0", "s_mov_b64 exec, s[16:17]"},
     {{3, [](u32 lane) { return lane % 8 == 2 ? 0x55u : 0u; }},
      {9, [](u32 lane) { return lane % 2 == 1 ? 0u : ~u32{1}; }}}},
    {"RetriesThatExpectDifferentValuesAtFirst", // The last lane expects the right one, so it is first.
     retry({"v_sub_u32 v2, 0xfc, v21"}, {}),
     {{5, [](u32) { return chain(253, 0, 63); }}}},
    {"RetriesAtFourAddresses",
     retry({"v_and_b32 v1, 12, v21", "ds_read_b32 v2, v1"}, {}),
     {{4, [](u32 lane) { return chain(0, lane % 4, lane, 4); }},
      {5, [](u32 lane) { return chain(0, lane % 4, 64, 4); }}}},
    {"RetriesAtAnAddressOfTheirOwn",
     retry({"v_mov_b32 v1, v21", "ds_read_b32 v2, v1"}, {}),
     {{4, [](u32) { return 0u; }}, {5, [](u32 lane) { return 4 * lane + 1; }}}},
    {"RetriesThatKeepWhatTheyExpected", // as `do assumed = old, old = cas(...); while (old != assumed);` does
     {"v_and_b32 v1, 12, v21", "ds_read_b32 v2, v1", "s_mov_b64 s[16:17], 0", "s_waitcnt lgkmcnt(0)", "L0:",
      "v_mov_b32 v4, v2", "v_mul_lo_u32 v3, v2, 3", "v_add_u32 v3, v3, v21", "v_add_u32 v3, 1, v3",
      "ds_cmpst_rtn_b32 v2, v1, v4, v3", "s_waitcnt lgkmcnt(0)", "v_cmp_eq_u32 vcc, v4, v2",
      "s_or_b64 s[16:17], vcc, s[16:17]", "s_andn2_b64 exec, exec, s[16:17]", "s_cbranch_execnz L0",
      "s_mov_b64 exec, -1", "s_mov_b64 vcc, 0", "s_mov_b64 s[16:17], 0", "v_mov_b32 v2, 0",
      "v_mov_b32 v3, 0", "ds_read_b32 v5, v1", "s_waitcnt lgkmcnt(0)"},
     {{4, [](u32 lane) { return chain(0, lane % 4, lane, 4); }},
      {5, [](u32 lane) { return chain(0, lane % 4, 64, 4); }}}},
    {"RetriesThatLoadEachTime", // as `do old = *p; while (cas(p, old, f(old)) != old);` does
     {"v_and_b32 v1, 12, v21", "s_mov_b64 s[16:17], 0", "L0:", "ds_read_b32 v2, v1", "s_waitcnt lgkmcnt(0)",
      "v_mul_lo_u32 v3, v2, 3", "v_add_u32 v3, v3, v21", "v_add_u32 v3, 1, v3",
      "ds_cmpst_rtn_b32 v4, v1, v2, v3", "s_waitcnt lgkmcnt(0)", "v_cmp_eq_u32 vcc, v4, v2",
      "s_or_b64 s[16:17], vcc, s[16:17]", "s_andn2_b64 exec, exec, s[16:17]", "s_cbranch_execnz L0",
      "s_mov_b64 exec, -1", "s_mov_b64 vcc, 0", "s_mov_b64 s[16:17], 0", "v_mov_b32 v2, 0",
      "v_mov_b32 v3, 0", "ds_read_b32 v5, v1", "s_waitcnt lgkmcnt(0)"},
     {{4, [](u32 lane) { return chain(0, lane % 4, lane, 4); }},
      {5, [](u32 lane) { return chain(0, lane % 4, 64, 4); }}}},
    {"RetriesThatGoOnWhenTheyAreThrough", // Each lane gets through twice.
     {"v_and_b32 v1, 12, v21", "s_mov_b64 s[16:17], 0", "v_mov_b32 v6, 0", "L0:", "ds_read_b32 v2, v1",
      "s_waitcnt lgkmcnt(0)", "v_mul_lo_u32 v3, v2, 3", "v_add_u32 v3, v3, v21", "v_add_u32 v3, 1, v3",
      "ds_cmpst_rtn_b32 v4, v1, v2, v3", "s_waitcnt lgkmcnt(0)", "v_cmp_eq_u32 vcc, v4, v2",
      "v_addc_co_u32 v6, vcc, 0, v6, vcc", "v_cmp_eq_u32 vcc, 2, v6", "s_or_b64 s[16:17], vcc, s[16:17]",
      "s_andn2_b64 exec, exec, s[16:17]", "s_cbranch_execnz L0", "s_mov_b64 exec, -1", "s_mov_b64 vcc, 0",
      "s_mov_b64 s[16:17], 0", "v_mov_b32 v2, 0", "v_mov_b32 v3, 0", "v_mov_b32 v4, 0", "ds_read_b32 v5, v1",
      "s_waitcnt lgkmcnt(0)"},
     {{5,
       [](u32 lane) {
         u32 x = 0;
         for (u32 l = lane % 4; l < 64; l += 4) x = chain(chain(x, l, l + 1), l, l + 1);
         return x;
       }},
      {6, [](u32) { return 2u; }}}},
    {"RetriesOfSomeLanes", // the others do nothing
     retry({"v_and_b32 v1, 12, v21", "v_and_b32 v7, 8, v21", "v_cmp_ne_u32 vcc, 0, v7",
            "s_and_b64 exec, exec, vcc", "ds_read_b32 v2, v1"},
           {}),
     {{4, [](u32 lane) { return lane & 2 ? chain(0, lane % 4, lane, 4) : 0; }},
      {5, [](u32 lane) { return lane & 2 ? chain(0, lane % 4, 64, 4) : 0; }}}},
    {"RetriesBeyondTheLds", // Who goes there finds 0, each time.
     retry({"v_mov_b32 v7, 0x100000", "v_and_b32 v1, 4, v21", "v_mul_lo_u32 v1, v1, v7",
            "ds_read_b32 v2, v1"},
           {}),
     {{4, [](u32 lane) { return lane % 2 == 0 ? chain(0, 0, lane, 2) : 0; }},
      {5, [](u32 lane) { return lane % 2 == 0 ? chain(0, 0, 64, 2) : 0; }}}},
    {"RetriesAtAnOddAddress", // which is that of the dword around it, but not for the load
     retry({"v_mov_b32 v7, 5", "ds_write_b32 v1, v7", "v_mov_b32 v1, 1", "ds_read_b32 v2, v1"}, {}),
     {{4, [](u32 lane) { return chain(5, 0, lane); }}, {5, [](u32) { return chain(5, 0, 64) >> 8; }}}},
    {"RetriesOfQwords",
     retry_qwords({}),
     {{10, [](u32 lane) { return chain(0, 0, lane); }}, {11, [](u32 lane) { return lane; }}}},
    {"RetriesOfQwordsAtFourAddresses",
     retry_qwords({"v_and_b32 v1, 12, v21", "v_lshlrev_b32 v1, 1, v1"}),
     {{10, [](u32 lane) { return chain(0, lane % 4, lane, 4); }}, {11, [](u32 lane) { return lane / 4; }}}},
    {"RetriesThatAreCounted",
     retry({"ds_read_b32 v2, v1"}, {"v_add_u32 v6, 1, v6"}),
     {{6, [](u32 lane) { return lane + 1; }}}},
    {"RetriesThatWriteTheirCount",
     retry({"ds_read_b32 v2, v1"}, {"v_add_u32 v3, v3, v7", "v_add_u32 v7, 1, v7"}),
     {{5,
       [](u32) {
         u32 x = 0;
         for (u32 lane = 0; lane < 64; ++lane) x = 3 * x + 5 * lane + 1;
         return x;
       }}}},
    {"RetriesOfMoreLanesThanWereLoadedFor", // Those come first.
     retry({"v_cmp_lt_u32 vcc, 0x7c, v21", "v_mov_b32 v7, 5", "ds_write_b32 v1, v7", "v_mov_b32 v2, 0",
            "s_and_saveexec_b64 s[22:23], vcc", "ds_read_b32 v2, v1", "s_mov_b64 exec, s[22:23]"},
           {}),
     {{5, [](u32) { return chain(chain(5, 32, 64), 0, 32); }}}},

    // ---- barriers
    {"BarrierBetweenWaves", // the second wave's lanes see the first one's and the reverse; m0 tells waves
                            // apart
     {"s_lshl_b32 s16, s16, 8", "v_add_u32 v1, s16, v21", "ds_write_b32 v1, v1", "s_waitcnt lgkmcnt(0)",
      "s_barrier", "v_xor_b32 v2, 0x100, v1", "ds_read_b32 v3, v2", "v_sub_u32 v4, v2, v3"},
     {{4, [](u32) { return 0u; }}},
     2},
    {"BarrierInALoop",
     {"s_lshl_b32 s16, s16, 8", "v_add_u32 v1, s16, v21", "v_mov_b32 v2, 1", "v_xor_b32 v3, 0x100, v1",
      "s_mov_b32 s20, 3", "L0:", "ds_write_b32 v1, v2", "s_waitcnt lgkmcnt(0)", "s_barrier",
      "ds_read_b32 v4, v3", "s_waitcnt lgkmcnt(0)", "s_barrier", "v_add_u32 v2, v2, v4",
      "s_sub_u32 s20, s20, 1", "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 L0"},
     {{2, [](u32) { return 8u; }}},
     2},

    {"BarrierInALoopWithoutAccesses",
     {"s_mov_b32 s20, 3", "L0:", "v_add_u32 v1, s20, v1", "s_barrier", "s_sub_u32 s20, s20, 1",
      "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 L0"},
     {{1, [](u32) { return 6u; }}},
     2},

    // ---- branches on masks that each gang decides
    {"ScalarOutOfADivergentLoop", // gangs leave at different times, the wave counts
     {"v_lshrrev_b32 v1, 5, v21", "s_mov_b32 s16, 0", "s_mov_b64 s[18:19], exec", "L0:",
      "s_add_u32 s16, s16, 1", "v_mov_b32 v3, s16", "v_cmp_eq_u32 vcc, 0, v1", "v_subrev_u32 v1, 1, v1",
      "s_andn2_b64 exec, exec, vcc", "s_cbranch_execnz L0", "s_mov_b64 exec, s[18:19]", "v_mov_b32 v2, s16"},
     {{2, [](u32) { return 8u; }}, {3, [](u32 lane) { return lane / 8 + 1; }}}},
    {"ScalarOutOfABranch",
     {"s_mov_b32 s16, 1", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "s_cbranch_execz L0", "s_mov_b32 s16, 5", "L0:", "s_mov_b64 exec, s[18:19]", "v_mov_b32 v1, s16"},
     {{1, [](u32) { return 5u; }}}},
    {"LoopLeftWhenAnyLaneIsDone", // its other lanes have not counted down
     {"v_lshrrev_b32 v1, 5, v21", "L0:", "v_cmp_eq_u32 vcc, 0, v1", "v_subrev_u32 v1, 1, v1",
      "s_cbranch_vccz L0"},
     {{1, [](u32 lane) { return lane / 8 - 1; }}}},
    {"LoopThatOneLaneEnds", // no other lane ever could
     {"s_mov_b32 s20, 0", "L0:", "s_add_u32 s20, s20, 1", "v_add_u32 v1, s20, v21", "v_cmp_eq_u32 vcc, 3, v1",
      "s_cbranch_vccz L0", "s_mov_b32 s20, 0", "s_mov_b64 vcc, 0", "v_mov_b32 v1, 0", "v_mov_b32 v2, 5"},
     {{2, [](u32) { return 5u; }}}},
    {"StoreOutsideTheBranchsMask",
     {"v_mov_b32 v1, 7", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "s_cbranch_execz L0", "s_mov_b64 exec, -1", "ds_write_b32 v21, v1", "L0:", "s_mov_b64 exec, s[18:19]",
      "ds_read_b32 v2, v21"},
     {{2, [](u32) { return 7u; }}}},
    {"ValueOutsideTheBranchsMask",
     {"v_mov_b32 v1, 7", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "s_cbranch_execz L0", "s_mov_b64 exec, -1", "v_add_u32 v1, v1, v21", "L0:", "s_mov_b64 exec, s[18:19]"},
     {{1, [](u32 lane) { return 7 + 4 * lane; }}}},
    {"ReadlaneUnderABranch", // of a lane that the branch leaves out
     {"v_add_u32 v1, v21, v21", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "s_cbranch_execz L0", "v_add_u32 v1, 1, v1", "v_readlane_b32 s16, v1, 2", "v_readlane_b32 s17, v1, 63",
      "v_mov_b32 v2, s16", "v_mov_b32 v3, s17", "L0:", "s_mov_b64 exec, s[18:19]", "v_mov_b32 v4, s17"},
     {{2, [](u32 lane) { return lane > 32 ? 16u : 0u; }},
      {3, [](u32 lane) { return lane > 32 ? 505u : 0u; }},
      {4, [](u32) { return 505u; }}}},
    {"WaterfallLoop", // as many times round as there are values among the lanes
     {"v_lshrrev_b32 v1, 2, v21", "v_and_b32 v1, 3, v1", "s_mov_b32 s20, 0", "s_mov_b64 s[22:23], exec",
      "L0:", "v_readfirstlane_b32 s16, v1", "v_cmp_eq_u32 vcc, s16, v1", "s_and_saveexec_b64 s[18:19], vcc",
      "v_mov_b32 v2, s16", "v_mov_b32 v3, s20", "s_add_u32 s20, s20, 1", "s_xor_b64 exec, exec, s[18:19]",
      "s_cbranch_execnz L0", "s_mov_b64 exec, s[22:23]", "v_mov_b32 v4, s20"},
     {{2, [](u32 lane) { return lane & 3; }},
      {3, [](u32 lane) { return lane & 3; }},
      {4, [](u32) { return 4u; }}}},
    {"LoopOverActiveLanes", // the running sum of the odd lanes' numbers, in the order of the lanes
     {"v_lshrrev_b32 v1, 2, v21", "v_and_b32 v2, 1, v1", "v_cmp_eq_u32 s[24:25], 1, v2", "s_mov_b32 s20, 0",
      "L0:", "s_ff1_i32_b64 s16, s[24:25]", "s_mov_b32 m0, s16", "v_readlane_b32 s17, v1, s16",
      "v_writelane_b32 v3, s20, m0", "s_add_u32 s20, s20, s17", "s_lshl_b64 s[26:27], 1, s16",
      "s_andn2_b64 s[24:25], s[24:25], s[26:27]", "s_cmp_lg_u64 s[24:25], 0", "s_cbranch_scc1 L0",
      "v_mov_b32 v4, s20"},
     {{3, [](u32 lane) { return lane % 2 == 1 ? lane / 2 * (lane / 2) : 0; }},
      {4, [](u32) { return 1024u; }}}},

    // ---- predication
    {"ValueWrittenUnderAMaskAndReadUnderMore",
     {"v_mov_b32 v1, 3", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "v_mov_b32 v1, v21", "s_mov_b64 exec, s[18:19]", "ds_write_b32 v21, v1", "ds_read_b32 v2, v21"},
     {{2, [](u32 lane) { return lane > 32 ? 4 * lane : 3; }}}},
    {"ValueWrittenUnderTwoMasks",
     {"v_mov_b32 v1, 3", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc", "v_mov_b32 v1, v21",
      "v_cmp_lt_u32 vcc, 0xc0, v21", "s_and_saveexec_b64 s[20:21], vcc", "v_mov_b32 v1, 9", "s_mov_b64 exec, s[18:19]",
      "ds_write_b32 v21, v1", "ds_read_b32 v2, v21", "v_mov_b32 v1, 0"},
     {{2, [](u32 lane) { return lane > 48 ? 9 : lane > 32 ? 4 * lane : 3; }}}},
    {"MasksWithinMasks", // each compare is true of lanes that the one before leaves out, too
     {"v_and_b32 v4, 16, v21", "v_and_b32 v5, 32, v21", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "s_cbranch_execz L0", "v_cmp_ne_u32 vcc, 0, v4", "s_and_saveexec_b64 s[20:21], vcc", "s_cbranch_execz L1",
      "v_cmp_ne_u32 vcc, 0, v5", "s_and_saveexec_b64 s[22:23], vcc", "v_mov_b32 v1, 1", "v_mov_b32 v3, 2", "s_mov_b64 exec, -1",
      "ds_write_b32 v21, v3", "s_mov_b64 exec, s[22:23]", "L1:", "s_mov_b64 exec, s[20:21]", "L0:", "s_mov_b64 exec, s[18:19]",
      "ds_read_b32 v2, v21"},
     {{1, [](u32 lane) { return lane > 32 && (lane & 12) == 12 ? 1u : 0u; }},
      {2, [](u32 lane) { return lane > 32 && (lane & 12) == 12 ? 2u : 0u; }}}},
    {"LaneOutsideTheMaskIsReadByOneInside",
     {"v_mov_b32 v1, 7", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "v_mov_b32 v1, v21", "s_mov_b64 exec, s[18:19]", "v_xor_b32 v4, 0x80, v21",
      "ds_bpermute_b32 v2, v4, v1", "s_and_b64 exec, exec, vcc", "v_mov_b32 v3, v2",
      "s_mov_b64 exec, s[18:19]", "v_mov_b32 v1, 0", "v_mov_b32 v2, 0"},
     {{3, [](u32 lane) { return lane > 32 ? 7u : 0u; }}}},
    {"ReadlaneOutsideTheMask",
     {"v_mov_b32 v1, 7", "v_cmp_lt_u32 vcc, 0x80, v21", "s_and_saveexec_b64 s[18:19], vcc",
      "v_mov_b32 v1, v21", "v_readlane_b32 s16, v1, 2", "v_readlane_b32 s17, v1, 40",
      "s_mov_b64 exec, s[18:19]", "v_mov_b32 v1, 0", "v_mov_b32 v2, s16", "v_mov_b32 v3, s17"},
     {{2, [](u32) { return 7u; }}, {3, [](u32) { return 160u; }}}},
    {"SpilledScalars", // to lanes of a register, some of them by the same number modulo 64
     {"s_movk_i32 s16, 11", "s_movk_i32 s17, 22", "v_writelane_b32 v1, s16, 1", "v_writelane_b32 v1, s17, 2",
      "s_mov_b32 s20, 2", "L0:", "v_readlane_b32 s22, v1, 1", "s_add_u32 s22, s22, 1",
      "v_writelane_b32 v1, s22, 1", "s_sub_u32 s20, s20, 1", "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 L0",
      "v_readlane_b32 s23, v1, 1", "v_readlane_b32 s24, v1, 2", "s_movk_i32 s25, 65",
      "v_readlane_b32 s26, v1, s25", "v_mov_b32 v2, s23", "v_mov_b32 v3, s24", "v_mov_b32 v4, s26"},
     {{1, [](u32 lane) { return lane == 1   ? 13u
                                : lane == 2 ? 22u
                                            : 0u; }},
      {2, [](u32) { return 13u; }},
      {3, [](u32) { return 22u; }},
      {4, [](u32) { return 13u; }}}},
    {"FewLanesOfAllGangs", // 8 of them, from the first round on
     meetings({"v_lshrrev_b32 v1, 4, v21", "v_and_b32 v7, 0x1c, v21", "v_cmp_eq_u32 vcc, 12, v7",
               "v_cndmask_b32 v7, 0, 1, vcc"}),
     {{5,
       [](u32 lane) {
         return sum_of_meetings(
             lane, [](u32 l) { return l % 8 == 3; }, [](u32 l) { return l / 4; });
       }}}},
    {"LanesBecomeFew", // the others keep what they have left with
     meetings({"v_lshrrev_b32 v1, 3, v21", "v_mov_b32 v7, 1"}),
     {{5,
       [](u32 lane) {
         return sum_of_meetings(
             lane, [](u32) { return true; }, [](u32 l) { return l / 2; });
       }}}},
    {"AllLanesOfTheLastGang", // as many as a gang has, or twice
     meetings({"v_mov_b32 v1, 9", "v_lshrrev_b32 v7, 6, v21", "v_cmp_eq_u32 vcc, 3, v7",
               "v_cndmask_b32 v7, 0, 1, vcc"}),
     {{5,
       [](u32 lane) {
         return sum_of_meetings(
             lane, [](u32 l) { return l >= 48; }, [](u32) { return 9u; });
       }}}},
    {"FewLanesBehindABranch", // no more than a gang has
     meetings_behind_branch("7"),
     {{5,
       [](u32 lane) {
         return sum_of_meetings(
             lane, [](u32 l) { return l * 37 % 64 < 7; }, [](u32) { return 8u; });
       }}}},
    {"LanesOfTwoGangsBehindABranch", // or no more than two gangs have
     meetings_behind_branch("15"),
     {{5,
       [](u32 lane) {
         return sum_of_meetings(
             lane, [](u32 l) { return l * 37 % 64 < 15; }, [](u32) { return 8u; });
       }}}},
    {"ManyLanesBehindABranch",
     meetings_behind_branch("40"),
     {{5,
       [](u32 lane) {
         return sum_of_meetings(
             lane, [](u32 l) { return l * 37 % 64 < 40; }, [](u32) { return 8u; });
       }}}},
    {"LanesThatAreLeftCountForThemselves", left_lanes(), {{2, rounds_of_lane}}},
    {"PiecesThatMeet", // Where each lane gets to is known before.
     {"v_lshrrev_b32 v3, 2, v21",
      "v_and_b32 v3, 1, v3",
      "v_add_u32 v1, 3, v3",
      "v_lshlrev_b32 v22, 1, v21",
      "v_lshlrev_b32 v3, 2, v3",
      "v_add_u32 v22, v22, v3",
      "v_lshlrev_b32 v4, 2, v21",
      "s_mov_b64 s[18:19], exec",
      "s_mov_b64 s[16:17], 0",
      "L0:",
      "global_store_dword v22, v4, s[2:3]",
      "v_add_u32 v22, 4, v22",
      "v_add_u32 v4, 1, v4",
      "v_add_u32 v1, -1, v1",
      "v_cmp_eq_u32 vcc, 0, v1",
      "s_or_b64 s[16:17], vcc, s[16:17]",
      "s_andn2_b64 exec, exec, s[16:17]",
      "s_cbranch_execnz L0",
      "s_mov_b64 exec, s[18:19]",
      "s_mov_b64 vcc, 0",
      "s_mov_b64 s[16:17], 0",
      "v_mov_b32 v3, 0",
      "v_mov_b32 v4, 0",
      "v_lshlrev_b32 v22, 1, v21",
      "s_waitcnt vmcnt(0)",
      "global_load_dword v1, v22, s[2:3]",
      "global_load_dword v2, v22, s[2:3] offset:4",
      "s_waitcnt vmcnt(0)"},
     {{1, [](u32 lane) { return where_pieces_meet(2 * lane); }},
      {2, [](u32 lane) { return where_pieces_meet(2 * lane + 1); }}}},
    {"PlaceThatIsStoredTo", // It is loaded in each round, by nobody but the lane that has stored there.
     {"v_lshrrev_b32 v3, 2, v21",
      "v_and_b32 v3, 1, v3",
      "v_add_u32 v1, 3, v3",
      "v_lshlrev_b32 v22, 3, v21",
      "v_lshlrev_b32 v3, 2, v3",
      "v_add_u32 v22, v22, v3",
      "v_mov_b32 v3, v22",
      "global_store_dword v22, v21, s[2:3]",
      "s_mov_b64 s[18:19], exec",
      "s_mov_b64 s[16:17], 0",
      "s_waitcnt vmcnt(0)",
      "L0:",
      "global_load_dword v5, v3, s[2:3]",
      "v_add_u32 v1, -1, v1",
      "s_waitcnt vmcnt(0)",
      "v_add_u32 v5, 1, v5",
      "global_store_dword v22, v5, s[2:3]",
      "v_add_u32 v22, 4, v22",
      "v_cmp_eq_u32 vcc, 0, v1",
      "s_or_b64 s[16:17], vcc, s[16:17]",
      "s_andn2_b64 exec, exec, s[16:17]",
      "s_cbranch_execnz L0",
      "s_mov_b64 exec, s[18:19]",
      "s_mov_b64 vcc, 0",
      "s_mov_b64 s[16:17], 0",
      "v_mov_b32 v5, 0",
      "v_mov_b32 v22, 0",
      "s_waitcnt vmcnt(0)",
      "global_load_dword v1, v3, s[2:3]",
      "global_load_dword v2, v3, s[2:3] offset:4",
      "v_mov_b32 v3, 0",
      "s_waitcnt vmcnt(0)"},
     {{1, [](u32 lane) { return 4 * lane + 1; }}, {2, [](u32 lane) { return 4 * lane + 2; }}}},
    {"FirstLaneOfNone", // EXEC = 0 reads lane 0
     {"v_add_u32 v1, 9, v21", "s_mov_b64 exec, 0", "v_readfirstlane_b32 s16, v1", "v_mov_b32 v1, 0",
      "s_mov_b64 exec, -1", "v_mov_b32 v2, s16"},
     {{1, [](u32 lane) { return 4 * lane + 9; }}, {2, [](u32) { return 9u; }}}},
    {"MaskOfOneTimeRoundIsNotTheNexts", // v2 is written under each time's mask and read after the last
     {"v_lshrrev_b32 v1, 5, v21", "s_mov_b64 s[22:23], exec", "L0:", "v_add_u32 v2, v2, v1",
      "v_cmp_lt_u32 vcc, 3, v1", "v_subrev_u32 v1, 1, v1", "s_and_b64 exec, exec, vcc", "s_cbranch_execnz L0",
      "s_mov_b64 exec, s[22:23]", "v_add_u32 v3, v1, v2"},
     {{3,
       [](u32 lane) {
         u32 sum = 0, n = lane / 8;
         for (bool more = true; more; --n) sum += n, more = n > 3;
         return n + sum;
       }}}},
};

Program program_of(const Rule& rule) {
  Program program;
  program.target = Target::gfx900;
  program.mode = 0xf0;
  program.waves.resize(rule.waves);
  for (u32 wave = 0; wave < rule.waves; ++wave) program.waves[wave].sgprs[0] = wave;
  for (const std::string& text : rule.lines) program.lines.push_back(line(program.target, text));
  program.lines.push_back(line(program.target, "s_cmp_eq_u32 0, 0")); // SCC says nothing about EXEC any more
  return program;
}

class Rules : public testing::TestWithParam<Rule> {};

TEST_P(Rules, Holds) {
  const Rule& rule = GetParam();
  const Program program = program_of(rule);
  bool unsupported = false;
  EXPECT_EQ(disagreement(program, &unsupported), "");
  EXPECT_FALSE(unsupported);
  for (u32 wave = 0; wave < rule.waves; ++wave) {
    const auto vgprs = interpreted_vgprs(program, wave);
    for (const auto& [vgpr, value] : rule.after)
      for (u32 lane = 0; lane < kWaveSize; ++lane)
        EXPECT_EQ(vgprs[vgpr][lane], value(lane)) << "wave " << wave << " v" << vgpr << " lane " << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rules, testing::ValuesIn(kRules),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace lanewise::differential
