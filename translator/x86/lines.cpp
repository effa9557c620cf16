#include "translator/x86/lines.hpp"

#include "translator/ir/access.hpp"
#include "translator/ir/rows.hpp"
#include "translator/ir/wide_access.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace lanewise::x86 {

using ir::InstId;
using ir::Op;

namespace {

bool can_be_in_line(const ir::Function& f, InstId i) {
  const ir::MemAttr& attr = f[i].mem;
  const bool stores = f[i].op == Op::Store;
  if ((f[i].op != Op::Load && !stores) || attr.space != ir::Space::Global || attr.bytes != kLinePiece ||
      attr.retry != 0 || attr.coherent || attr.spread || attr.table != 0)
    return false;
  const bool far_apart = std::abs(ir::row_stride(attr)) >= i64{kLinePiece} * kLinePieces;
  if (!stores && attr.form == ir::AddressForm::Row && far_apart && f.is_full(f.operands(i).back()))
    return true;
  // Several rounds of a walk: its lanes are known to be far apart.
  const bool walks = attr.element != 0 && attr.element < kLinePiece;
  if (stores && (attr.apart == 0 || attr.streams || !f.is_full(f.operands(i).back()))) return false;
  return walks && (attr.form == ir::AddressForm::Wrapped ? far_apart : attr.form != ir::AddressForm::Row);
}

/// Adds what lines there are among loads from one address, or stores to one.
void add_lines(const ir::Function& f, const std::vector<InstId>& pieces, std::vector<Line>& lines) {
  std::vector<InstId> sorted = pieces;
  std::ranges::sort(sorted, {}, [&](InstId i) { return ir::offset(f[i]); });
  const auto has_gap = [&](InstId x, InstId y) { return ir::offset(f[y]) != ir::offset(f[x]) + kLinePiece; };
  for (std::size_t n = 0; n + kLinePieces <= sorted.size();) {
    const std::span<const InstId> four(&sorted[n], kLinePieces);
    if (std::ranges::adjacent_find(four, has_gap) != four.end()) {
      ++n;
      continue;
    }
    const auto is_of_it = [&](InstId i) { return std::ranges::find(four, i) != four.end(); };
    const InstId first = *std::ranges::find_if(pieces, is_of_it);
    const bool stores = f[first].op == Op::Store;
    const InstId last = *std::find_if(pieces.rbegin(), pieces.rend(), is_of_it);
    lines.push_back({{four.begin(), four.end()}, stores ? last : first});
    n += kLinePieces;
  }
}

} // namespace

std::vector<Line> find_lines(const ir::Function& f, ir::BlockId b) {
  std::vector<Line> lines;
  if (f[b].in_ranks) return lines;
  std::vector<std::vector<InstId>> open; // loads, of one address each
  std::vector<InstId> stores;            // to one address, with no other access in between
  const auto close_stores = [&] {
    add_lines(f, stores, lines);
    stores.clear();
  };
  const auto close = [&] {
    for (const std::vector<InstId>& loads : open) add_lines(f, loads, lines);
    open.clear();
  };
  for (const InstId i : f[b].insts) {
    const bool is_store = f[i].op == Op::Store, can_be = can_be_in_line(f, i);
    const bool follows = is_store && can_be && !stores.empty() && ir::go_together(f, stores.front(), i) &&
                         ir::is_wide_access(f, stores.front()) == ir::is_wide_access(f, i);
    if (!follows && (ir::info(f[i].op).is(ir::kMemory) || ir::waits_for_waves(f[i].op))) close_stores();
    if (ir::info(f[i].op).is(ir::kStores) || f[i].op == Op::Atomic || ir::waits_for_waves(f[i].op)) close();
    if (!can_be) continue;
    if (is_store) {
      stores.push_back(i);
      continue;
    }
    const auto same = std::ranges::find_if(open, [&](const std::vector<InstId>& loads) {
      return ir::go_together(f, loads.front(), i) &&
             ir::is_wide_access(f, loads.front()) == ir::is_wide_access(f, i);
    });
    if (same != open.end())
      same->push_back(i);
    else
      open.push_back({i});
  }
  close();
  close_stores();
  return lines;
}

} // namespace lanewise::x86
