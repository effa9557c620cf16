#include "translator/phases/lane_rows.hpp"
#include "support/bits.hpp"

#include <vector>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr u64 kMaxStride = u64{1} << 31;

class Test {
public:
  Test(Builder& at, ValueId rounds) : at_(at), rounds_(rounds) {}

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
      if (!rows[n].writes) continue;
      require(IntPred::UGe, written.stride, written.length);
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (k == n || (rows[k].writes && k > n)) continue;
        const ValueId apart = are_apart(written, extents_[k]);
        const bool may_meet = k < n && rows[k].lanes.valid() && rows[k].growth == rows[n].growth &&
                              rows[k].bytes == rows[n].bytes;
        require(may_meet ? at_.or_(apart, are_same(written, extents_[k])) : apart);
      }
    }
    return all_;
  }

private:
  Builder& at_;
  ValueId rounds_;
  ValueId all_;
  ValueId elsewhere_; ///< lanes that are not where the first two lanes' distance would have them
  struct Extent {
    ValueId start;       ///< of lane 0
    ValueId first;       ///< LaneRow::lanes of lane 0
    ValueId stride;      ///< from lane to lane; none if they go to one place
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
    e.start = constant(row.offset);
    if (row.scalar.valid()) e.start = at_.add(e.start, row.scalar);
    if (!row.lanes.valid()) return e;
    e.first = lane(lanes, 0);
    e.start = at_.add(e.start, e.first);
    e.stride = at_.sub(lane(lanes, 1), e.first);
    return e;
  }
  void measure(const LaneRow& row, Extent& e) {
    e.length = at_.add(at_.binary(Op::Mul, rounds_, constant(row.growth)), constant(row.bytes));
    e.end = e.length;
    if (!row.lanes.valid()) return;
    require(IntPred::ULt, e.stride, constant(kMaxStride));
    e.end = at_.add(e.end, at_.binary(Op::Mul, e.stride, constant(kWaveSize - 1)));
    const ValueId offset =
        at_.op(Op::UMulWide, Type::V64, {at_.op(Op::LaneId, Type::V32, {}), at_.splat(at_.lo(e.stride))});
    const ValueId other = at_.icmp(IntPred::Ne, row.lanes, at_.add(offset, at_.splat(e.first)));
    elsewhere_ = elsewhere_.valid() ? at_.or_(elsewhere_, other) : other;
  }

  /// Each begins behind the other's end, counted around the address space.
  ValueId are_apart(const Extent& a, const Extent& b) {
    return at_.and_(at_.icmp(IntPred::UGe, at_.sub(b.start, a.start), a.end),
                    at_.icmp(IntPred::UGe, at_.sub(a.start, b.start), b.end));
  }
  ValueId are_same(const Extent& a, const Extent& b) {
    return at_.and_(at_.icmp(IntPred::Eq, a.start, b.start), at_.icmp(IntPred::Eq, a.stride, b.stride));
  }
};

} // namespace

ValueId test_lanes_apart(Builder& at, std::span<const LaneRow> rows, ValueId rounds) {
  return Test(at, rounds).run(rows);
}

} // namespace lanewise::phases
