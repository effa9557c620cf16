#include "translator/phases/timed_ways.hpp"

namespace lanewise::phases {

using namespace ir;

namespace {

/// What the first gang has in its part of the row.
enum Number : u32 {
  kTimes,   ///< that it has come here, and the key
  kFirst,   ///< ticks that the first way takes in the mean of the last times,
  kSecond,  ///< and the second
  kWay,     ///< the one taken, 0 or 1
  kStarted, ///< when
};

/// The first time says little, since code and data come from beyond the caches. Then both ways are tried, and
/// once again, since the system may have run something else meanwhile.
constexpr u32 kTried = 5, kTriedSecond = 0b01101, kTriedOnce = 3;
constexpr unsigned kOutlierLog2 = 2; ///< more than so many times the mean is no time of the way's,
constexpr u32 kLittle = 16;          ///< and this: the mean may be of waves that had nothing to do
/// How often the slower one is tried again, which costs more where it is much slower, and finds less there.
constexpr u32 kSometimes = 32, kSeldom = 1024;
constexpr u32 kMuchLog2 = 1;           ///< more than so by half
constexpr unsigned kMarginLog2 = 3;    ///< the usual way is taken if it seems slower by less than this part
constexpr u32 kMostTimes = 1u << 16;   ///< then all is forgotten
constexpr unsigned kMeanLog2 = 3;      ///< about so many times make the mean
constexpr unsigned kTickLog2 = 6;      ///< cycles of the clock
constexpr u32 kScatter = 0x9e37'79b1u; ///< keys, so that other numbers are hardly taken for times

/// Reads and writes these, at the end of a block.
class Numbers {
public:
  Numbers(Builder& at, u64 row) : at_(at), f_(at.function()), row_(row) {}

  ValueId g32(u32 n) { return f_.entry_constant(Type::G32, n); }
  ValueId get(ValueId n) { return at_.op(Op::RowGet, Type::G32, {n}, row_); }
  void set(ValueId n, ValueId x) { at_.inst({.op = Op::RowSet, .imm = row_}, {n, x}, {}); }
  ValueId is(IntPred p, ValueId a, ValueId b) {
    return at_.op(Op::ICmp, Type::G1, {a, b}, static_cast<u64>(p));
  }
  ValueId now() {
    const ValueId clock = at_.op(Op::GangClock, Type::G64, {});
    return at_.op(Op::Lo, Type::G32, {at_.op(Op::LShr, Type::G64, {clock, at_.u32c(kTickLog2)})});
  }

private:
  Builder& at_;
  Function& f_;
  const u64 row_;
};

} // namespace

TimedWays::TimedWays(Function& f, u64 row, u32 key, Usual usual)
    : f_(f), row_(row), key_(key * kScatter), usual_(usual) {}

ValueId TimedWays::takes_first(Builder& at) {
  Numbers in(at, row_);
  const ValueId zero = in.g32(0), one = in.g32(1), key = in.g32(key_);
  const ValueId counted = at.sub(in.get(in.g32(kTimes)), key);
  const ValueId times = at.select(in.is(IntPred::ULt, counted, in.g32(kMostTimes)), counted, zero);
  in.set(in.g32(kTimes), at.add(at.add(times, one), key));
  const ValueId first = in.get(in.g32(kFirst)), second = in.get(in.g32(kSecond));
  const auto with_margin = [&](ValueId x) {
    return at.add(x, at.op(Op::LShr, Type::G32, {x, in.g32(kMarginLog2)}));
  };
  const ValueId is_second = usual_ == Usual::Second ? in.is(IntPred::ULe, second, with_margin(first))
                                                    : in.is(IntPred::ULt, with_margin(second), first);
  const ValueId sooner = at.op(Op::UMin, Type::G32, {first, second});
  const ValueId later = at.op(Op::UMax, Type::G32, {first, second});
  const ValueId much = at.add(sooner, at.op(Op::LShr, Type::G32, {sooner, in.g32(kMuchLog2)}));
  const ValueId period =
      at.select(in.is(IntPred::ULt, much, later), in.g32(kSeldom - 1), in.g32(kSometimes - 1));
  const ValueId tries = in.is(IntPred::Eq, at.and_(times, period), period);
  const ValueId usual = at.select(is_second, one, zero);
  const ValueId known = at.select(tries, at.sub(one, usual), usual);
  const ValueId tried =
      at.and_(at.op(Op::LShr, Type::G32, {in.g32(kTriedSecond), at.and_(times, in.g32(31))}), one);
  const ValueId way = at.select(in.is(IntPred::ULt, times, in.g32(kTried)), tried, known);
  in.set(in.g32(kWay), way);
  in.set(in.g32(kStarted), in.now());
  return in.is(IntPred::Eq, way, zero);
}

void TimedWays::arrive(Builder& at) {
  Numbers in(at, row_);
  const ValueId ticks = at.sub(in.now(), in.get(in.g32(kStarted)));
  const ValueId way = at.add(in.get(in.g32(kWay)), in.g32(kFirst));
  const ValueId mean = in.get(way);
  const ValueId most = at.add(at.op(Op::Shl, Type::G32, {mean, in.g32(kOutlierLog2)}), in.g32(kLittle));
  const ValueId change = at.sub(at.op(Op::UMin, Type::G32, {ticks, most}), mean);
  const ValueId next = at.add(mean, at.op(Op::AShr, Type::G32, {change, in.g32(kMeanLog2)}));
  const ValueId times = at.sub(in.get(in.g32(kTimes)), in.g32(key_)); // this one included
  const ValueId less = at.op(Op::UMin, Type::G32, {ticks, mean});
  const ValueId tried = at.select(in.is(IntPred::ULe, times, in.g32(kTriedOnce)), ticks, less);
  in.set(way, at.select(in.is(IntPred::ULe, times, in.g32(kTried)), tried, next));
}

} // namespace lanewise::phases
