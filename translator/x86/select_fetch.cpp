// Lines that accesses to come will need, fetched ahead where the hardware does not see which these are.
#include "translator/ir/access.hpp"
#include "translator/ir/rows.hpp"
#include "translator/x86/interleave.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>

namespace lanewise::x86 {

using ir::Op;

namespace {

constexpr u64 kMinBytesToFetchAhead = 4 << 20;
constexpr i64 kLineLog2 = 6, kLine = 1 << kLineLog2; ///< bytes of a cache line
constexpr i64 kMaxRecord = 256;                      ///< bytes, of which a gang goes through all lines
/// Bytes of a gang's lanes, so that those of two gangs, in several arrays, stay in the second-level cache.
constexpr u32 kMaxOwnRows = 64 << 10;

} // namespace

/// How many bytes ahead it pays to fetch what a load or store of consecutive elements comes to.
/// Workgroups of several rows, in a launch that goes through more than the caches of a core hold: each of the
/// rows is short, so that many of them take turns, which the hardware does not see through. Next to each
/// other along x they go on with the same rows, or come to others at a known distance (tiles turned over: 1.4
/// times faster). Or a row of more lines than it follows, where streaming stores tell that memory bounds.
std::optional<i64> Selector::distance_to_fetch(InstId i) {
  constexpr i64 kAhead = 256;
  constexpr u32 kFewWorkgroups = 4; ///< along x: what the last of them fetches is not used
  const ir::Inst& inst = f_[i];
  const translator::LaunchFacts& launch = f_.launch;
  const ir::MemAttr& mem_attr = inst.mem;
  if (inst.op == Op::Atomic || mem_attr.space != ir::Space::Global || mem_attr.streams) return std::nullopt;
  const Components* record = mem_attr.wave_row ? nullptr : components_of(i); // Else: fetch_next_rows().
  const u32 bytes = record != nullptr ? record->record : mem_attr.bytes;
  if (ir::element_stride(mem_attr) != i64{bytes}) return std::nullopt;
  if (inst.op == Op::Load && num_streams_ != 0 && mem_attr.wave_row &&
      mem_attr.bytes * lanes() > kFollowedStep)
    return kAhead;
  if (!launch.knows_workgroup() || launch.workgroup[0] == launch.items()) return std::nullopt;
  if (launch.min_items * bytes < kMinBytesToFetchAhead) return std::nullopt;
  const auto x = f_.operands(i);
  std::optional<i64> step = along_x_.of(x[0]);
  if (step && ir::address_operands(mem_attr) != 1) {
    const std::optional<i64> index = along_x_.of(x[1]);
    step = index ? std::optional(*step + (*index << mem_attr.scale)) : std::nullopt;
  }
  if (!step) return std::nullopt;
  if (*step == i64{bytes} * launch.workgroup[0]) return kAhead;
  const i32 id = launch.group_id_sgpr[0];
  if (std::abs(*step) < kLine || id < 0 || launch.max_sgpr(static_cast<u64>(id)) < kFewWorkgroups ||
      is_in_loop(f_[i].block))
    return std::nullopt;
  return step;
}

/// Whether a gang before it in the workgroup's row, or an access before it of the same row, fetches that
/// line.
bool Selector::is_line_fetched(InstId i, i64 row) const {
  if (member_ % row_size() * row % kLine != 0) return true;
  if (components_of(i) != nullptr) return false; // Once for all of them.
  const auto& insts = f_[f_[i].block].insts;
  const auto place = ir::address_of(f_, i);
  return std::any_of(insts.begin(), std::ranges::find(insts, i), [&](InstId other) {
    return (f_[other].op == Op::Load || f_[other].op == Op::Store) &&
           ir::row_stride(f_[other].mem) == ir::row_stride(f_[i].mem) &&
           std::ranges::equal(ir::address_of(f_, other), place) &&
           std::abs(ir::offset(f_[other]) - ir::offset(f_[i])) < kLine;
  });
}

/// Fetches a line into the second-level cache, also one that is to be stored to. By the time a wave or
/// workgroup gets there, the first level would have dropped it again, and what is in use before (Zen 4, of
/// memory beyond the caches: 1.4 to 3 times slower).
void Selector::fetch(const Operand& line) { b_->emit(Inst::kIdPrefetcht1, {line}); }

/// What the workgroups that come next along x access instead of this row of a gang, or short row; of rounds
/// that are lanes (phases/round_lanes.hpp), what the next work-items go through: the end of each one's piece
/// is as good as the beginning of the next one's, and the hardware starts anew.
void Selector::fetch_ahead(InstId i, VReg base, i64 disp, i64 stride) {
  constexpr i64 kPiecesAhead = 12288;
  const ir::Inst& inst = f_[i];
  const i64 row = stride * (has_short_rows(i) ? inst.mem.short_row : lanes());
  const bool pieces = inst.mem.listed && inst.mem.space == ir::Space::Global && stride > 0;
  const auto place = ir::address_of(f_, i);
  const auto stores_there = [&](InstId other) {
    return f_[other].op == Op::Store && std::ranges::equal(ir::address_of(f_, other), place) &&
           ir::offset(f_[other]) == ir::offset(inst);
  };
  if (pieces && inst.op == Op::Load && std::ranges::any_of(f_[inst.block].insts, stores_there)) return;
  const std::optional<i64> distance = pieces ? kPiecesAhead : distance_to_fetch(i);
  if (!distance || (!pieces && is_line_fetched(i, row))) return;
  const Components* record = components_of(i);
  const i64 offset = record != nullptr ? record->first : ir::offset(inst);
  const i64 first = disp + offset + *distance;
  for (i64 at = 0; at < row; at += kLine) fetch(mem(base, first + at, View::Xmm));
}

/// An access in a loop in which each lane goes along a short row of its own. The hardware sees as many
/// streams as a gang has lanes, and learns of none before its row has ended.
bool Selector::goes_along_own_rows(InstId i) {
  const ir::Inst& inst = f_[i];
  const ir::MemAttr& mem_attr = inst.mem;
  if (inst.op == Op::Atomic || mem_attr.space != ir::Space::Global || mem_attr.bytes != 16) return false;
  const i32 stride = mem_attr.stride;
  if (!mem_attr.wave_row || stride <= mem_attr.bytes || static_cast<u32>(stride) * lanes() > kMaxOwnRows)
    return false;
  const i32 loop = structure().loops.innermost[inst.block.index];
  return loop >= 0 && structure().loops.contains(loop, f_.def_block(f_.operands(i)[0]));
}

/// What the next gang's lanes access where this one's do now, or in records a later one's. Of accesses to one
/// line the first does it.
void Selector::fetch_next_rows(InstId i, VReg base, i64 disp) {
  constexpr i64 kRecordsAhead = 2048;
  const bool records = goes_through_records(i), loop = !records && is_before_loop(i);
  if (!records && !loop && !goes_along_own_rows(i)) return;
  const ir::Inst& inst = f_[i];
  const auto is_of_row = [&](InstId other) {
    const Op op = f_[other].op;
    return (op == Op::Load || op == Op::Store) && f_[other].mem.form == inst.mem.form &&
           f_.operands(other)[0] == f_.operands(i)[0];
  };
  const auto& insts = f_[inst.block].insts;
  const u64 start = f_[*std::ranges::find_if(insts, is_of_row)].imm;
  const auto line = [&](InstId other) { return static_cast<i64>(f_[other].imm - start) >> kLineLog2; };
  const auto has_fetched = [&](InstId before) { // Records are fetched whole.
    return is_of_row(before) && (records || line(before) == line(i));
  };
  if (std::any_of(insts.begin(), std::ranges::find(insts, i), has_fetched)) return;
  const i64 stride = inst.mem.stride, row = stride * lanes(), gangs = interleave_ * row;
  const i64 ahead = records ? (kRecordsAhead + gangs - 1) / gangs * gangs
                    : loop  ? std::max(gangs, kLine)
                            : gangs;
  const i64 next = disp + ir::offset(inst) + ahead;
  for (i64 at = 0; at < row; at += records || loop ? kLine : stride) fetch(mem(base, next + at, View::Xmm));
}

/// A load before a loop that gangs go through one after the other: there are more instructions, and branches
/// foreseen wrongly, than a processor looks past, so that each gang would wait for its row (sparse rows 1.2
/// times faster).
bool Selector::is_before_loop(InstId i) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  if (f_[i].op != Op::Load || mem_attr.space != ir::Space::Global || !mem_attr.wave_row || interleave_ != 1 ||
      ir::element_stride(mem_attr) != i64{mem_attr.bytes} || plan_.phases[phase_].first_gangs != 0)
    return false;
  const auto in_loop = [&](IrBlockId b) { return is_in_loop(b); };
  return !is_in_loop(f_[i].block) && std::ranges::any_of(plan_.phases[phase_].blocks, in_loop);
}

/// An access to a part of each lane's element, once per gang: it goes through all lines for one part after
/// the other, further apart than the hardware follows.
bool Selector::goes_through_records(InstId i) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  const i64 stride = ir::row_stride(mem_attr);
  if (f_[i].op == Op::Atomic || mem_attr.space != ir::Space::Global ||
      mem_attr.form != ir::AddressForm::Row || !mem_attr.wave_row || mem_attr.streams ||
      stride <= std::max<i64>(mem_attr.bytes, 16) || stride > kMaxRecord)
    return false;
  return !is_in_loop(f_[i].block);
}

} // namespace lanewise::x86
