// MIMG without a sampler: loads, stores, atomics, and what is known of an image (7nm guide 8.3, 12.16).
#include "runtime/interp/image_resource.hpp"
#include "runtime/interp/table.hpp"

namespace lanewise::interp {
namespace {

/// The texel that a lane's address names.
struct Place {
  TexelPlace at;
  bool present = true; ///< in the image, at its only level
};

Place place_of(const Wave& w, const Code& c, const Image& image, unsigned lane) {
  const AddressRegisters address{c.src[0].index, c.inst->mods.a16};
  u32 coordinate[3] = {}, layer = 0;
  unsigned n = 0;
  Place place;
  for (unsigned d = 0; d < image.dimensions; ++d) {
    coordinate[d] = address.component(w, lane, n++);
    place.present &= coordinate[d] < image.size[d];
  }
  if (has_layer(c, image)) {
    layer = address.component(w, lane, n++);
    place.present &= layer < image.layers;
  }
  if ((c.row->image & isa::kImgMip) != 0) place.present &= address.component(w, lane, n) == 0;
  place.at = {coordinate[0], coordinate[1], image.is_array ? layer : coordinate[2]};
  return place;
}

const Code* load(Wave& w, const Code& c) {
  w.use_mxcsr(w.mxcsr_formats);
  const Image image = image_of(w, c);
  Components loaded[kWaveSize];
  for_each_lane(w.exec(), [&](unsigned lane) {
    if (image.problem != ImageProblem::None) return access_problem(w, lane, image.problem, false);
    const Place place = place_of(w, c, image, lane);
    if (place.present) loaded[lane] = load_texel(w, image, lane, place.at);
  });
  const DataRegisters to = data_of(c, c.dst);
  for_each_lane(w.exec(), [&](unsigned lane) {
    put_components(w, to, lane, asked_for(c, arranged(image, loaded[lane])), image.format.num);
  });
  clear_status(w, c, to.dwords(w));
  return next(c);
}

/// What is stored: each component from the first of x, y, z, w that dst_sel sends there and dmask has.
Components components_to_store(const Wave& w, const Code& c, const Image& image, unsigned lane) {
  const DataRegisters from = data_of(c, c.src[3].index);
  Components out;
  bool have[4] = {};
  unsigned n = 0;
  for (unsigned k = 0; k < 4; ++k) {
    if ((c.inst->mods.dmask >> k & 1) == 0) continue;
    const u32 x = get_component(w, from, lane, n++, image.format.num);
    if (image.dst_sel[k] < 4) continue;
    const unsigned to = image.dst_sel[k] - 4;
    if (!have[to]) out.value[to] = x;
    have[to] = true;
  }
  return out;
}

const Code* store(Wave& w, const Code& c) {
  w.use_mxcsr(w.mxcsr_formats);
  const Image image = image_of(w, c);
  for_each_lane(w.exec(), [&](unsigned lane) {
    if (image.problem != ImageProblem::None) return access_problem(w, lane, image.problem, true);
    const Place place = place_of(w, c, image, lane);
    if (place.present) store_texel(w, image, lane, place.at, components_to_store(w, c, image, lane));
  });
  return next(c);
}

template <class T>
void atomic(Wave& w, const Code& c, const Image& image) {
  const isa::Atomic kind = c.row->memory.atomic;
  const unsigned data = c.src[3].index;
  T old[kWaveSize] = {};
  prepare_atomic(w);
  for_each_lane(w.exec(), [&](unsigned lane) {
    const Place place = place_of(w, c, image, lane);
    if (!place.present) return;
    const u64 address = texel_address(image, place.at);
    w.accessing(static_cast<int>(lane), address, true);
    old[lane] = atomic_shared<T>(kind, address, lane_value<T>(w, data, lane),
                                 compares(kind) ? lane_value<T>(w, data + sizeof(T) / 4, lane) : 0);
  });
  if (!c.inst->mods.glc) return;
  for_each_lane(w.exec(), [&](unsigned lane) { set_lane_value<T>(w, c.dst, lane, old[lane]); });
  if (c.inst->mods.tfe) clear_status(w, c, data_of(c, c.dst).count);
}

/// dmask counts the data's registers; without any bit it is one.
const Code* atomic(Wave& w, const Code& c) {
  const Image image = image_of(w, c);
  const unsigned dwords = std::max(1u, data_of(c, 0).count), each = compares(c.row->memory.atomic) ? 2 : 1;
  ImageProblem problem = image.problem;
  const bool fits = image.bytes() * each == dwords * 4 && (image.bytes() == 4 || image.bytes() == 8);
  if (problem == ImageProblem::None && !fits) problem = ImageProblem::AtomicSize;
  if (problem != ImageProblem::None)
    for_each_lane(w.exec(), [&](unsigned lane) { access_problem(w, lane, problem, true); });
  else if (image.bytes() == 8)
    atomic<u64>(w, c, image);
  else
    atomic<u32>(w, c, image);
  return next(c);
}

const Code* resinfo(Wave& w, const Code& c) {
  const Image image = image_of(w, c);
  const AddressRegisters address{c.src[0].index, c.inst->mods.a16};
  Components info;
  if (image.dimensions != 0)
    info = {{image.size[0], image.size[1], image.is_array ? image.layers : image.size[2], 1}};
  const DataRegisters to = data_of(c, c.dst);
  u64 other_level = 0;
  for_each_lane(w.exec(), [&](unsigned lane) {
    other_level |= u64{address.component(w, lane, 0) != 0 ? 1u : 0u} << lane;
  });
  for_each_lane(w.exec(), [&](unsigned lane) {
    put_components(w, to, lane, other_level >> lane & 1 ? Components{} : asked_for(c, info), kUint);
  });
  clear_status(w, c, to.dwords(w));
  return next(c);
}

Handler handler_for(const isa::Row& row) {
  switch (row.op) {
  case isa::Op::image_gather4h: // they share the other forms' properties, and no document says what they do
  case isa::Op::image_gather4h_pck:
  case isa::Op::image_gather8h_pck: return nullptr;
  default: break;
  }
  if ((row.image & isa::kImgPacked) != 0) return nullptr;
  if ((row.image & isa::kImgQuery) != 0) return (row.image & isa::kImgSampler) != 0 ? nullptr : resinfo;
  if ((row.image & isa::kImgGather4) != 0) return gather4;
  if ((row.image & isa::kImgSampler) != 0) return sample;
  if (row.memory.atomic != isa::Atomic::None) return static_cast<Handler>(atomic);
  return row.memory.load ? load : store;
}

} // namespace

void register_image(HandlerTable& t) {
  for (const isa::Row& row : isa::rows())
    if (row.encoding == isa::Encoding::Mimg)
      if (const Handler handler = handler_for(row)) t.set(row.op, handler);
}

} // namespace lanewise::interp
