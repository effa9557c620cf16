// Boolean functions against their truth tables.
#include "translator/passes/bdd.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace lanewise::passes {
namespace {

constexpr u32 kVariables = 5;
using Table = u32; ///< a bit for each assignment

Table table_of(u32 var) {
  Table t = 0;
  for (u32 n = 0; n < 1u << kVariables; ++n) t |= (n >> var & 1) << n;
  return t;
}

/// The table of t where variable `var` is `value`, for both values of it.
Table restricted(Table t, u32 var, bool value) {
  Table r = 0;
  for (u32 n = 0; n < 1u << kVariables; ++n) {
    const u32 from = value ? n | 1u << var : n & ~(1u << var);
    r |= (t >> from & 1) << n;
  }
  return r;
}

/// How many functions there are below `t`, itself included, when variables are decided in turn.
std::size_t size_of(Table t) {
  std::set<Table> seen, now = {t};
  for (u32 var = 0; var < kVariables; ++var) {
    std::set<Table> next;
    for (const Table f : now) {
      const Table lo = restricted(f, var, false), hi = restricted(f, var, true);
      if (lo != hi) seen.insert(f);
      next.insert({lo, hi});
    }
    now = std::move(next);
  }
  return seen.size();
}

TEST(Bdd, LiteralsAreVariablesAndTheirOpposites) {
  Bdd bdd;
  const Bdd::Node a = bdd.var(0), b = bdd.var(3);
  for (const Bdd::Node n : {a, b, Bdd::not_(a), Bdd::not_(b)}) EXPECT_TRUE(bdd.is_literal(n));
  for (const Bdd::Node n : {Bdd::kFalse, Bdd::kTrue, bdd.and_(a, b), bdd.or_(a, b), bdd.xor_(a, b)})
    EXPECT_FALSE(bdd.is_literal(n));
}

TEST(Bdd, EqualFunctionsAreOneNode) {
  std::mt19937 random(1);
  Bdd bdd;
  std::vector<std::pair<Bdd::Node, Table>> known = {{Bdd::kFalse, 0}, {Bdd::kTrue, ~0u}};
  for (u32 v = 0; v < kVariables; ++v) known.emplace_back(bdd.var(v), table_of(v));
  std::map<Table, Bdd::Node> node_of;
  for (const auto& [node, table] : known) node_of[table] = node;
  for (unsigned n = 0; n < 5000; ++n) {
    const auto any = [&] { return known[random() % known.size()]; };
    const auto [a, ta] = any();
    const auto [b, tb] = any();
    const auto [c, tc] = any();
    const u32 var = random() % kVariables;
    const std::array<std::pair<Bdd::Node, Table>, 8> made = {{
        {bdd.and_(a, b), ta & tb},
        {bdd.or_(a, b), ta | tb},
        {bdd.xor_(a, b), ta ^ tb},
        {bdd.andnot(a, b), ta & ~tb},
        {bdd.not_(a), ~ta},
        {bdd.ite(a, b, c), (ta & tb) | (~ta & tc)},
        {bdd.for_all(a, var), restricted(ta, var, false) & restricted(ta, var, true)},
        {bdd.substitute(a, [&, by = b](u32 v) { return v == var ? by : Bdd::kKept; }),
         (tb & restricted(ta, var, true)) | (~tb & restricted(ta, var, false))},
    }};
    const auto& [node, table] = made[random() % made.size()];
    const auto [it, is_new] = node_of.try_emplace(table, node);
    ASSERT_EQ(it->second, node) << n;
    if (is_new) known.emplace_back(node, table);
  }
}

TEST(Bdd, SizeSupportAndSamples) {
  std::mt19937 random(2);
  Bdd bdd;
  std::vector<std::pair<Bdd::Node, Table>> known;
  for (u32 v = 0; v < kVariables; ++v) known.emplace_back(bdd.var(v), table_of(v));
  for (unsigned n = 0; n < 500; ++n) {
    const auto [a, ta] = known[random() % known.size()];
    const auto [b, tb] = known[random() % known.size()];
    const bool both = random() % 2 != 0;
    const Bdd::Node node = both ? bdd.and_(a, bdd.not_(b)) : bdd.xor_(a, b);
    const Table table = both ? ta & ~tb : ta ^ tb;
    known.emplace_back(node, table);
    std::vector<u32> vars, expected;
    for (u32 v = 0; v < kVariables; ++v)
      if (restricted(table, v, false) != restricted(table, v, true)) expected.push_back(v);
    ASSERT_TRUE(bdd.support(node, vars));
    EXPECT_EQ(vars, expected);
    const std::size_t size = size_of(table);
    EXPECT_TRUE(bdd.is_simple(node, size, kVariables));
    EXPECT_TRUE(size == 0 || !bdd.is_simple(node, size - 1, kVariables));
    for (unsigned bit = 0; bit < 64; ++bit) {
      u32 assignment = 0;
      for (u32 v = 0; v < kVariables; ++v) assignment |= (Bdd::samples_of(v) >> bit & 1) << v;
      EXPECT_EQ(bdd.samples(node) >> bit & 1, table >> assignment & 1);
    }
  }
}

/// What is shared most, and what has most variables: not as large as it would be without sharing, or too
/// large.
TEST(Bdd, SizeOfWhatIsShared) {
  Bdd bdd;
  Bdd::Node parity = Bdd::kFalse, all = Bdd::kTrue;
  std::vector<u32> vars;
  for (u32 v = 0; v < 2 * Bdd::kMaxSupport; ++v) {
    parity = bdd.xor_(parity, bdd.var(v));
    all = bdd.and_(all, bdd.var(v));
    const std::size_t n = v + 1,
                      size = 2 * n - 1; // of parities, each but the first is there with its opposite
    const bool fits = n <= Bdd::kMaxSupport;
    EXPECT_EQ(bdd.support(parity, vars), fits);
    EXPECT_EQ(vars.size(), fits ? n : 0);
    EXPECT_EQ(bdd.is_simple(parity, size, n), fits);
    EXPECT_FALSE(bdd.is_simple(parity, size - 1, n));
    EXPECT_FALSE(bdd.is_simple(parity, size, n - 1));
    EXPECT_EQ(bdd.support(all, vars), fits);
    EXPECT_EQ(vars.size(), fits ? n : 0);
    EXPECT_TRUE(n > Bdd::kMaxSupport || bdd.is_simple(all, n, n));
    EXPECT_FALSE(bdd.is_simple(all, n - 1, n));
    EXPECT_FALSE(bdd.is_simple(all, n, n - 1));
  }
}

} // namespace
} // namespace lanewise::passes
