#include "translator/phases/lane_rows.hpp"
#include "support/bits.hpp"

#include <bit>
#include <vector>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr u64 kMaxStride = u64{1} << 31;

/// Lanes that lie in a row, in waves of several.
u32 row_lanes(const translator::LaunchFacts& launch) {
  const u32 x = launch.workgroup[0];
  return launch.full_waves() && x > 1 && x < kWaveSize && std::has_single_bit(x) ? x : kWaveSize;
}

class Test {
public:
  Test(Builder& at, ValueId rounds) : at_(at), rounds_(rounds), row_lanes_(row_lanes(at.function().launch)) {}

  ValueId run(std::span<const LaneRow> rows) {
    // All lanes are read together, and all masks looked at: both wait for all gangs.
    std::vector<Halves> halves;
    for (const LaneRow& row : rows)
      halves.push_back(row.lanes.valid() ? Halves{at_.lo(row.lanes), at_.hi(row.lanes)} : Halves{});
    for (std::size_t n = 0; n < rows.size(); ++n) extents_.push_back(start_of(rows[n], halves[n]));
    for (std::size_t n = 0; n < rows.size(); ++n) measure(rows[n], extents_[n]);
    if (elsewhere_.valid()) require(at_.not_(at_.any(elsewhere_)));
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const Extent& written = extents_[n];
      const ValueId stride = written.stride.valid() ? written.stride : constant(0);
      if (rows[n].min_stride != 0) require(IntPred::UGe, stride, constant(rows[n].min_stride));
      if (!rows[n].writes) continue;
      require(written.pitch.valid() ? keep_apart(written) : at_.icmp(IntPred::UGe, stride, written.length));
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (k == n || (rows[k].writes && k > n)) continue;
        const ValueId apart = are_apart(written, extents_[k]);
        const bool goes_on = rows[k].writes && rows[k].before + rows[n].before != 0;
        const bool may_meet = k < n && rows[k].lanes.valid() && rows[n].growth != 0 && !goes_on &&
                              rows[k].growth == rows[n].growth && rows[k].bytes == rows[n].bytes;
        require(may_meet ? at_.or_(apart, are_same(written, extents_[k])) : apart);
      }
    }
    return all_;
  }

private:
  Builder& at_;
  ValueId rounds_;
  u32 row_lanes_; ///< a power of two
  ValueId all_;
  ValueId elsewhere_; ///< lanes that are not where the first two lanes' distance would have them
  struct Extent {
    ValueId place;       ///< of lane 0
    ValueId start;       ///< likewise, or LaneRow::before that
    ValueId first;       ///< LaneRow::lanes of lane 0
    ValueId stride;      ///< from lane to lane; none if they go to one place
    ValueId pitch;       ///< from row to row of lanes; none if the wave is one
    ValueId length, end; ///< bytes from the start to where lane 0 ends, and the last lane
  };
  std::vector<Extent> extents_;

  ValueId constant(u64 bits) { return at_.constant(Type::U64, bits); }
  void require(ValueId test) { all_ = all_.valid() ? at_.and_(all_, test) : test; }
  void require(IntPred pred, ValueId a, ValueId b) { require(at_.icmp(pred, a, b)); }

  struct Halves {
    ValueId lo, hi;
  };
  ValueId lane(const Halves& v, u32 number) {
    const auto half = [&](ValueId x) { return at_.op(Op::ReadLane, Type::U32, {x, at_.u32c(number)}); };
    const ValueId lo = half(v.lo);
    return at_.join(lo, half(v.hi));
  }

  Extent start_of(const LaneRow& row, const Halves& lanes) {
    Extent e;
    e.place = constant(row.offset);
    if (row.scalar.valid()) e.place = at_.add(e.place, row.scalar);
    if (row.lanes.valid()) {
      e.first = lane(lanes, 0);
      e.place = at_.add(e.place, e.first);
    }
    e.start = row.before == 0 ? e.place : at_.sub(e.place, constant(row.before));
    if (!row.lanes.valid()) return e;
    e.stride = at_.sub(lane(lanes, 1), e.first);
    if (row_lanes_ < kWaveSize) e.pitch = at_.sub(lane(lanes, row_lanes_), e.first);
    return e;
  }
  void measure(const LaneRow& row, Extent& e) {
    e.length = at_.add(at_.binary(Op::Mul, rounds_, constant(row.growth)), constant(row.bytes + row.before));
    e.end = e.length;
    if (!row.lanes.valid()) return;
    require(IntPred::ULt, e.stride, constant(kMaxStride));
    e.end = at_.add(e.end, along_row(e));
    const ValueId number = at_.op(Op::LaneId, Type::V32, {});
    const auto times = [&](ValueId n, ValueId stride) {
      return at_.op(Op::UMulWide, Type::V64, {n, at_.splat(at_.lo(stride))});
    };
    ValueId place = at_.splat(e.first);
    if (e.pitch.valid()) {
      require(IntPred::ULt, e.pitch, constant(kMaxStride));
      e.end = at_.add(e.end, across_rows(e));
      const u32 bits = static_cast<u32>(std::countr_zero(row_lanes_));
      place = at_.add(times(at_.and_(number, at_.v32c(row_lanes_ - 1)), e.stride), place);
      place = at_.add(times(at_.op(Op::LShr, Type::V32, {number, at_.v32c(bits)}), e.pitch), place);
    } else {
      place = at_.add(times(number, e.stride), place);
    }
    const ValueId other = at_.icmp(IntPred::Ne, row.lanes, place);
    elsewhere_ = elsewhere_.valid() ? at_.or_(elsewhere_, other) : other;
  }
  /// From the first lane of a row to the last one, and from the first row to the last.
  ValueId along_row(const Extent& e) { return at_.binary(Op::Mul, e.stride, constant(row_lanes_ - 1)); }
  ValueId across_rows(const Extent& e) {
    return at_.binary(Op::Mul, e.pitch, constant(kWaveSize / row_lanes_ - 1));
  }

  /// No two lanes, in rows, reach the same bytes.
  ValueId keep_apart(const Extent& e) {
    const auto fits = [&](ValueId step, ValueId length) { return at_.icmp(IntPred::UGe, step, length); };
    const ValueId rows = at_.and_(fits(e.stride, e.length), fits(e.pitch, at_.add(along_row(e), e.length)));
    const ValueId columns =
        at_.and_(fits(e.pitch, e.length), fits(e.stride, at_.add(across_rows(e), e.length)));
    return at_.or_(rows, columns);
  }

  /// Each begins behind the other's end, counted around the address space.
  ValueId are_apart(const Extent& a, const Extent& b) {
    return at_.and_(at_.icmp(IntPred::UGe, at_.sub(b.start, a.start), a.end),
                    at_.icmp(IntPred::UGe, at_.sub(a.start, b.start), b.end));
  }
  ValueId are_same(const Extent& a, const Extent& b) {
    const auto equal = [&](ValueId x, ValueId y) { return at_.icmp(IntPred::Eq, x, y); };
    const ValueId same = at_.and_(equal(a.place, b.place), equal(a.stride, b.stride));
    return a.pitch.valid() ? at_.and_(same, equal(a.pitch, b.pitch)) : same;
  }
};

} // namespace

ValueId test_lanes_apart(Builder& at, std::span<const LaneRow> rows, ValueId rounds) {
  return Test(at, rounds).run(rows);
}

} // namespace lanewise::phases
