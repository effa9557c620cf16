// Golden tests of the IR passes. A file under cases/ holds one function, the passes to run on it and the text
// that must come out; LANEWISE_BLESS=1 rewrites the expectation. Read the diffs as code.
//
//   ; passes: fold eliminate_dead_code
//   func "name" gfx900 { ... }
//   ; expect
//   func "name" gfx900 { ... }
#include "tests/source_dir.hpp"
#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"
#include "translator/passes/flat_pointers.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/byte_walks.hpp"
#include "translator/phases/close_ranks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/disjoint_rows.hpp"
#include "translator/phases/even_rounds.hpp"
#include "translator/phases/full_masks.hpp"
#include "translator/phases/gang_rounds.hpp"
#include "translator/phases/lane_ranges.hpp"
#include "translator/phases/lane_turns.hpp"
#include "translator/phases/last_lanes.hpp"
#include "translator/phases/phases.hpp"
#include "translator/phases/retry_chains.hpp"
#include "translator/phases/scalar_ranges.hpp"
#include "translator/phases/unify_gangs.hpp"
#include "translator/phases/walks.hpp"
#include "translator/translator.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace lanewise {
namespace {

namespace fs = std::filesystem;

fs::path cases_folder() { return source_dir() + "/tests/golden/cases"; }

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What the passes that look at the launch find: lines of 64 work-items, workgroup ids in s8 and s6, one
/// group along the axis of s6, and behind the pointer in s[4:5] 7 at byte 16, the grid's work-items at 12 and
/// 40, its workgroups at 20 and 24, an aligned pointer at 32.
translator::LaunchFacts launch_facts() {
  translator::LaunchFacts facts;
  facts.workgroup = {64, 1, 1};
  facts.ragged = {};
  facts.sgpr_max = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0};
  facts.dwords = {{4, 16, 7}};
  facts.group_id_sgpr = {8, 6, -1};
  facts.grid = {{4, 12, 0, false}, {4, 40, 1, false}, {4, 20, 0, true}, {4, 24, 1, true}};
  facts.pointers = {{4, 32}};
  return facts;
}

/// Runs one named pass; its own output, if it has any besides the function, is appended to `extra`.
bool run_pass(const std::string& name, ir::Function& f, std::string& extra) {
  static const std::map<std::string, void (*)(ir::Function&)> kPasses = {
      {"fold", passes::fold},
      {"join_pairs", [](ir::Function& g) { passes::join_pairs(g); }},
      {"join_vector_pairs", passes::join_vector_pairs},
      {"merge_common", passes::merge_common},
      {"eliminate_dead_code", [](ir::Function& g) { passes::eliminate_dead_code(g); }},
      {"scalarize_lanes", [](ir::Function& g) { passes::scalarize_lanes(g); }},
      {"promote_private_memory", [](ir::Function& g) { passes::promote_private_memory(g, 1024); }},
      {"promote_private_memory_launched",
       [](ir::Function& g) {
         g.launch = launch_facts();
         passes::promote_private_memory(g, 1024);
       }},
      {"remove_dead_stores", [](ir::Function& g) { passes::remove_dead_stores(g, 1024); }},
      {"predicate", [](ir::Function& g) { passes::predicate(g); }},
      {"fill_masks", [](ir::Function& g) { (void)passes::fill_masks(g); }},
      {"merge_selects", passes::merge_selects},
      {"decide_scalar_comparisons",
       [](ir::Function& g) { (void)phases::decide_scalar_comparisons(g); }},
      {"use_known_masks",
       [](ir::Function& g) {
         g.launch = launch_facts();
         (void)passes::use_known_masks(g, 16);
       }},
      {"change_elements", [](ir::Function& g) { (void)passes::change_elements(g); }},
      {"split_packed_halves", [](ir::Function& g) { (void)passes::split_packed_halves(g); }},
      {"pack_on_the_way_out", passes::pack_on_the_way_out},
      {"simplify_masks", [](ir::Function& g) { passes::simplify_masks(g); }},
      {"unmask_pointers", [](ir::Function& g) { passes::unmask_pointers(g); }},
      {"rotate_loops", [](ir::Function& g) { (void)passes::rotate_loops(g); }},
      {"join_bounds", [](ir::Function& g) { (void)passes::join_bounds(g); }},
      {"share_arm_loads", [](ir::Function& g) { (void)passes::share_arm_loads(g, 16); }},
      {"spread_loads",
       [](ir::Function& g) {
         g.launch = launch_facts();
         (void)passes::spread_loads(g, 16);
       }},
      {"scalarize_counters", [](ir::Function& g) { (void)passes::scalarize_counters(g); }},
      {"restore_masks", [](ir::Function& g) { (void)passes::restore_masks(g); }},
      {"use_branches", passes::use_branches},
      {"skip_decided_branches", passes::skip_decided_branches},
      {"join_branches", [](ir::Function& g) { (void)passes::join_branches(g); }},
      {"go_short_ways", [](ir::Function& g) { (void)phases::go_short_ways(g); }},
      {"merge_equal_parameters", passes::merge_equal_parameters},
      {"merge_kept_values", [](ir::Function& g) { (void)passes::merge_kept_values(g); }},
      {"split_pairs", [](ir::Function& g) { passes::split_pairs(g); }},
      {"split_pairs_apart", [](ir::Function& g) { passes::split_pairs(g, true); }},
      {"replace_divisions", [](ir::Function& g) { passes::replace_divisions(g); }},
      {"replace_medians", [](ir::Function& g) { passes::replace_divisions(g, true); }},
      {"replace_wide_divisions", [](ir::Function& g) { (void)passes::replace_wide_divisions(g); }},
      {"replace_small_divisions", [](ir::Function& g) { (void)passes::replace_small_divisions(g); }},
      {"replace_narrow_divisions", [](ir::Function& g) { (void)passes::replace_narrow_divisions(g); }},
      {"legalize", passes::legalize},
      {"drop_unseen_bits", passes::drop_unseen_bits},
      {"join_dot_products", [](ir::Function& g) { (void)passes::join_dot_products(g); }},
      {"merge_blocks", passes::merge_blocks},
      {"load_scalars", passes::load_scalars},
      {"merge_rows",
       [](ir::Function& g) {
         g.launch = launch_facts();
         passes::merge_rows(g, 16);
       }},
      {"share_halves", [](ir::Function& g) { passes::share_halves(g, 16); }},
      {"share_halves_8", [](ir::Function& g) { passes::share_halves(g, 8); }},
      {"widen_accesses", passes::widen_accesses},
      {"thread_exits", [](ir::Function& g) { passes::thread_exits(g); }},
      {"thread_decided_exits", [](ir::Function& g) { passes::thread_exits(g, true); }},
      {"unscale_roots", passes::unscale_roots},
      {"drop_root_corrections", passes::drop_root_corrections},
      {"shorten_rows",
       [](ir::Function& g) {
         g.launch.workgroup = {64, 1, 1};
         g.launch.ragged = {};
         passes::shorten_rows(g, 16);
       }},
      {"unmask_accesses", passes::unmask_accesses},
      {"unroll_loops", passes::unroll_loops},
      {"join_loops", passes::join_loops},
      {"unroll_array_loops", [](ir::Function& g) { (void)passes::unroll_array_loops(g, {}); }},
      {"hoist", passes::hoist},
      {"order_sums", passes::order_sums},
      {"schedule", passes::schedule},
      {"split_bytes", passes::split_bytes},
      {"load_bytes_ahead", [](ir::Function& g) { (void)phases::load_bytes_ahead(g, 16); }},
      {"load_bytes_ahead_8", [](ir::Function& g) { (void)phases::load_bytes_ahead(g, 8); }},
      {"merge_parts", [](ir::Function& g) { (void)passes::merge_parts(g, 16); }},
      {"split_chosen_rows", [](ir::Function& g) { (void)passes::split_chosen_rows(g, 8); }},
      {"merge_bytes",
       [](ir::Function& g) {
         g.launch = launch_facts();
         passes::merge_bytes(g, 1024);
       }},
      {"resolve_flat_accesses",
       [](ir::Function& g) {
         g.launch.knows_apertures = true;
         g.launch.dwords = {{4, 0, 0x1'0002}, {6, 68, 0x2'0000}}; // a packet of one dimension, the queue
         (void)passes::resolve_flat_accesses(g);
       }},
      {"resolve_masked_flat_accesses",
       [](ir::Function& g) { (void)passes::resolve_masked_flat_accesses(g); }},
      {"sink", passes::sink},
      {"name_permutes", [](ir::Function& g) { (void)passes::name_permutes(g, 8); }},
      {"group_looks", [](ir::Function& g) { phases::group_looks(g, 8); }},
      {"finish_before_barriers", passes::finish_before_barriers},
      {"load_expected_once", [](ir::Function& g) { (void)passes::load_expected_once(g); }},
      {"add_without_retrying", [](ir::Function& g) { (void)passes::add_without_retrying(g); }},
      {"shorten_waves", // 16 work-items
       [](ir::Function& g) {
         g.launch.workgroup = {16, 1, 1};
         g.launch.ragged = {};
         passes::shorten_waves(g, 8);
       }},
      {"use_lane_ids", // 8 x 8 work-items
       [](ir::Function& g) {
         g.launch.workgroup = {8, 8, 1};
         g.launch.ragged = {};
         passes::use_lane_ids(g);
       }},
      {"remove_lds_accesses",
       [](ir::Function& g) {
         g.launch = launch_facts();
         passes::remove_lds_accesses(g);
       }},
      {"compare_as_signed",
       [](ir::Function& g) {
         g.launch = launch_facts();
         passes::compare_as_signed(g);
       }},
      {"choose_private_elements", [](ir::Function& g) { passes::choose_private_elements(g, 64); }},
      {"find_retry_loops", [](ir::Function& g) { (void)passes::find_retry_loops(g); }},
      {"chain_retries",
       [](ir::Function& g) { phases::chain_retries(g, passes::find_retry_loops(g), 16, 0); }},
      {"defer_adds", passes::defer_adds},
      {"stream_stores",
       [](ir::Function& g) {
         g.launch.min_items = u64{1} << 22;
         passes::stream_stores(g, 16);
       }},
      {"split_loops_by_full_masks",
       [](ir::Function& g) {
         g.launch = launch_facts();
         phases::split_loops_by_full_masks(g);
       }},
      {"split_rounds_by_full_masks",
       [](ir::Function& g) {
         g.launch = launch_facts();
         (void)phases::split_rounds_by_full_masks(g, 8, true);
       }},
      {"count_indices_up", [](ir::Function& g) { (void)passes::count_indices_up(g, 16); }},
      {"count_even_rounds", [](ir::Function& g) { (void)phases::count_even_rounds(g, 8); }},
      {"load_walks_together", [](ir::Function& g) { phases::load_walks_together(g, 16); }},
      {"load_walks_in_short_rows",
       [](ir::Function& g) {
         g.launch.workgroup = {32, 2, 1};
         phases::load_walks_together(g, 16);
       }},
      {"close_ranks", [](ir::Function& g) { phases::close_ranks(g, 16); }},
      {"close_ranks_of_8", [](ir::Function& g) { phases::close_ranks(g, 8); }},
      {"close_ranks_in_loops", [](ir::Function& g) { phases::close_ranks_in_loops(g, 16); }},
      {"close_ranks_behind_branches", [](ir::Function& g) { phases::close_ranks_behind_branches(g, 16); }},
      {"close_ranks_of_8_behind_branches",
       [](ir::Function& g) { phases::close_ranks_behind_branches(g, 8); }},
      {"run_lanes_in_turn",
       [](ir::Function& g) {
         if (phases::run_lanes_in_turn(g, 16)) passes::eliminate_dead_code(g);
       }},
      {"unroll_gang_rounds", [](ir::Function& g) { phases::unroll_gang_rounds(g); }},
      {"split_by_lane_ranges", 
       [](ir::Function& g) {
         g.launch.workgroup = {64, 1, 1};
         g.launch.ragged = {};
         phases::split_by_lane_ranges(g, 16);
       }},
      {"split_by_lane_ranges_of_8",
       [](ir::Function& g) {
         g.launch.workgroup = {64, 1, 1};
         g.launch.ragged = {};
         phases::split_by_lane_ranges(g, 8);
       }},
      {"run_last_lanes_alone", [](ir::Function& g) { phases::run_last_lanes_alone(g, 16); }},
      {"split_by_guards",
       [](ir::Function& g) {
         g.launch.workgroup = {64, 1, 1};
         phases::split_by_guards(g, 16);
       }},
      {"split_by_disjoint_rows",
       [](ir::Function& g) {
         g.launch = launch_facts();
         phases::split_by_disjoint_rows(g, 16);
       }},
      {"use_launch_facts",
       [](ir::Function& g) {
         g.launch = launch_facts();
         passes::use_launch_facts(g);
       }},
  };
  if (const auto it = kPasses.find(name); it != kPasses.end()) {
    it->second(f);
    return true;
  }
  if (name == "decide_branches") {
    std::vector<phases::Reason> reasons;
    phases::decide_branches(f, &reasons);
    for (const auto& r : reasons) extra += "; b" + std::to_string(r.block.index) + ": " + r.text + "\n";
    return true;
  }
  if (name == "pack_workgroups") { // ids in s8 and s6
    f.launch = launch_facts();
    f.launch.workgroup = {1, 1, 1};
    f.launch.packs = true;
    const std::string why = passes::pack_workgroups(f, 0);
    if (!why.empty()) extra += "; " + why + "\n";
    return true;
  }
  if (name == "shape_addresses16" || name == "shape_addresses8") { // 16 x 16 work-items
    f.launch.workgroup = {16, 16, 1};
    f.launch.ragged = {};
    f.launch.sgpr_max = {0xffff};
    passes::shape_addresses(f, name == "shape_addresses16" ? 16 : 8, 4096, 1024);
    return true;
  }
  if (name == "shape_addresses_of_halves" || name == "shape_addresses_of_quarters") { // 8 x 8, 4 x 8
    f.launch.workgroup = {name == "shape_addresses_of_halves" ? 8u : 4u, 8, 1};
    f.launch.ragged = {};
    passes::shape_addresses(f, 16, 4096, 1024);
    return true;
  }
  if (name == "unify_gangs") {
    const phases::Plan plan = phases::form_phases(f, 16);
    phases::unify_gangs(f, plan);
    return true;
  }
  const bool launched = name == "form_phases_launched" || name == "form_phases_square";
  if (launched) f.launch = launch_facts();
  if (name == "form_phases_square") f.launch.workgroup = {16, 16, 1};
  if (name == "form_phases16" || name == "form_phases8" || name == "form_phases_lockstep" || launched) {
    const phases::Plan plan =
        phases::form_phases(f, name == "form_phases8" ? 8 : 16, name == "form_phases_lockstep");
    std::istringstream lines(phases::print(plan, f));
    for (std::string line; std::getline(lines, line);) extra += "; " + line + "\n";
    return true;
  }
  return false;
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, Matches) {
  const std::string text = read(GetParam());
  const std::string marker = "; expect\n";
  const auto split = text.find(marker);
  const std::string input = text.substr(0, split);
  const std::string expected = split == std::string::npos ? "" : text.substr(split + marker.size());

  auto parsed = ir::parse(input);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ir::Function f = std::move(*parsed);
  auto valid = ir::verify(f);
  ASSERT_TRUE(valid.ok()) << valid.error().message;

  const auto header = input.find("; passes:");
  ASSERT_NE(header, std::string::npos);
  std::istringstream names(input.substr(header + 9, input.find('\n', header) - header - 9));
  std::string extra;
  for (std::string name; names >> name;) {
    ASSERT_TRUE(run_pass(name, f, extra)) << "no pass " << name;
    valid = ir::verify(f);
    ASSERT_TRUE(valid.ok()) << "after " << name << ": " << valid.error().message << "\n" << ir::print(f);
  }
  // Through the parser once more: numbers come out in order, and the text form is checked on the way.
  auto again = ir::parse(ir::print(f));
  ASSERT_TRUE(again.ok()) << again.error().message;
  const std::string actual = (extra.empty() ? ir::print(*again) : ir::print(f)) + extra;
  if (std::getenv("LANEWISE_BLESS") != nullptr) {
    std::ofstream(GetParam()) << input << marker << actual;
    return;
  }
  EXPECT_EQ(expected, actual);

  f.compact(); // is the same function without what the passes have dropped
  u32 instructions = 0;
  for (const ir::Block& block : f.blocks) instructions += static_cast<u32>(block.insts.size());
  EXPECT_EQ(f.num_insts(), instructions);
  valid = ir::verify(f);
  ASSERT_TRUE(valid.ok()) << "after compact: " << valid.error().message << "\n" << ir::print(f);
  const auto compacted = ir::parse(ir::print(f));
  ASSERT_TRUE(compacted.ok()) << compacted.error().message;
  EXPECT_EQ(ir::print(*again), ir::print(*compacted));
}

std::vector<fs::path> all_cases() {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cases_folder(), error))
    if (entry.path().extension() == ".ir") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.stem().string(); });

// Not a case in the folder, since the places of constants differ from run to run. What lies beyond them, or
// is not at one place, is loaded.
TEST(LoadConstants, PutsInWhatIsThere) {
  const std::array<u8, 8> table = {0x81, 2, 3, 4, 5, 6, 7, 8};
  const u64 at = reinterpret_cast<u64>(table.data());
  auto f = ir::parse(fmt::format(R"(func "load_constants" gfx906 {{
b0:
  v0:mask = init_exec
  v1:v64 = init_vgpr
  v3:v32 = init_vgpr #0x1
  v2:v64 = const #{:#x}
  v5:v32 = load v2, v0 {{global 1 sext}}
  v10:v32 = const #0x2
  v11:v32 = select v0, v10, v3
  v12:v64 = zext v11
  v13:v64 = add v2, v12
  v14:v32 = load v13, v0 {{global 2}}
  v6:v32, v7:v32 = load v2, v0 {{global 8}}
  v8:v32 = load v2, v0 #0x6 {{global 4}}
  v9:v32 = load v1, v0 {{global 4}}
  store v1, v5, v6, v7, v8, v0 {{global 16}}
  store v1, v9, v0 #0x10 {{global 4}}
  store v1, v14, v0 #0x14 {{global 4}}
  endpgm
}}
)",
                                 at));
  ASSERT_TRUE(f.ok()) << f.error().message;
  translator::KernelSource source;
  source.constants = {{table.data(), table.size()}};
  passes::load_constants(*f, source);
  passes::eliminate_dead_code(*f);
  const auto valid = ir::verify(*f);
  ASSERT_TRUE(valid.ok()) << valid.error().message;
  const auto again = ir::parse(ir::print(*f));
  ASSERT_TRUE(again.ok()) << again.error().message;
  const std::string text = ir::print(*again);
  for (const char* wanted : {"const #0xffffff81", "const #0x4030281", "const #0x8070605", "#0x6 {global 4}",
                             "load v1, v0 {global 4}"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << " is not in\n" << text;
  EXPECT_EQ(text.find("global 1 sext"), std::string::npos) << text;
  EXPECT_EQ(text.find("global 8"), std::string::npos) << text;
  EXPECT_EQ(text.find("global 2"), std::string::npos) << text;
}

// Of registers that are indexed by what a table of constants has for a counter, it is known in each round
// which they are; not of those indexed by what a variable has.
TEST(UnrollArrayLoops, KnowsTables) {
  const std::array<u8, 4> table = {2, 0, 3, 1};
  for (const bool is_constant : {true, false}) {
    auto f = ir::parse(fmt::format(R"(func "unroll_tables" gfx906 {{
b0:
  v0:v32 = init_vgpr
  v2:mask = init_exec
  v3:u32 = const #0x0
  v4:u32 = const #0x1
  v5:u32 = const #0x28
  v15:u64 = const #{:#x}
  v17:u32 = const #0x3
  store v3, v0, v2 #0x10008 {{registers 4}}
  jump -> b1(v3)
b1(v6:u32):
  v18:u32 = and v6, v17
  v16:u64 = zext v18
  v19:u64 = add v15, v16
  v20:v64 = splat v19
  v21:v32 = load v20, v2 {{global 1}}
  v22:u32 = readfirst v21, v2
  v7:v32 = load v22, v2 #0x40008 {{registers 4}}
  v8:v32 = splat v6
  v9:v32 = add v7, v8
  store v22, v9, v2 #0x40008 {{registers 4}}
  v10:u32 = add v6, v4
  v11:u1 = icmp v10, v5 #0x2
  branch v11 -> b1(v10), b2
b2:
  v12:v32 = load v3, v2 #0x10008 {{registers 4}}
  store v0, v12, v2 {{lds 4}}
  endpgm
}}
)",
                                   reinterpret_cast<u64>(table.data())));
    ASSERT_TRUE(f.ok()) << f.error().message;
    translator::KernelSource source;
    if (is_constant) source.constants = {{table.data(), table.size()}};
    EXPECT_EQ(passes::unroll_array_loops(*f, source), is_constant);
    const auto valid = ir::verify(*f);
    ASSERT_TRUE(valid.ok()) << valid.error().message;
  }
}

TEST(Parser, RefusesPlacesBeyondTheRow) {
  const auto message = [](std::string_view places) {
    const auto f = ir::parse(fmt::format(R"(func "places" gfx906 {{
b0:
  v0:v32 = init_vgpr
  v1:mask = init_exec
  v2:u64 = const #0x1000
  v3:v32 = load v2, v0, v1 {{global 4 indexed 2 places {}}} @0x10
  endpgm
}}
)",
                                         places));
    return f.ok() ? std::string("none") : f.error().message;
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_PRED2(says, message("12 0x0"), "8 or 16 lanes");
  EXPECT_PRED2(says, message("8 0x8"), "a digit below that");
  EXPECT_PRED2(says, message("8 0x700000000"), "a digit below that");
  EXPECT_EQ(message("8 0x77777777"), "none");
  EXPECT_EQ(message("16 0xf000000000000000"), "none");
}

TEST(GoldenFolder, HasCases) { EXPECT_FALSE(all_cases().empty()) << cases_folder(); }

} // namespace
} // namespace lanewise
