#include "translator/phases/place_in_array.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 24;

i64 wrapping_sum(i64 a, u64 b) { return static_cast<i64>(static_cast<u64>(a) + b); }

void add(const Function& f, PlaceInArray& place, ValueId v, u64 times, unsigned depth) {
  const InstId i = f.def_id(v);
  const auto x = i.valid() ? f.operands(i) : std::span<const ValueId>{};
  u64 constant = 0;
  if (f.is_const(v, &constant)) {
    if (f.type(v) == Type::U32) constant = static_cast<u64>(i64{static_cast<i32>(constant)});
    place.constant = wrapping_sum(place.constant, times * constant);
    return;
  }
  switch (i.valid() && depth < kMaxDepth ? f[i].op : Op::Select) {
  case Op::SExt:
  case Op::ZExt: return add(f, place, x[0], times, depth + 1);
  case Op::Add:
  case Op::Sub:
    add(f, place, x[0], times, depth + 1);
    return add(f, place, x[1], f[i].op == Op::Add ? times : 0 - times, depth + 1);
  case Op::Shl:
    if (!f.is_const(x[1], &constant)) break;
    return add(f, place, x[0], times << (constant & 63), depth + 1);
  case Op::Mul:
    if (!f.is_const(x[1], &constant)) break;
    return add(f, place, x[0], times * constant, depth + 1);
  case Op::Join: return place.arrays.push_back(v.index);
  default: break;
  }
  place.times = wrapping_sum(place.times, times);
}

} // namespace

PlaceInArray place_in_array(const Function& f, ValueId address, u64 offset) {
  PlaceInArray place;
  place.constant = static_cast<i64>(offset);
  add(f, place, address, 1, 0);
  std::ranges::sort(place.arrays);
  return place;
}

} // namespace lanewise::phases
