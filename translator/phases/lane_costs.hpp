// What a loop takes lane by lane, and for all lanes of a gang.
#pragma once

#include "translator/passes/lane_shape.hpp"
#include "translator/phases/load_loops.hpp"

#include <functional>

namespace lanewise::phases {

/// How a value goes from lane to lane, if no index wraps and all lanes take part.
enum class LaneKind : u8 { Uniform, Row, Any };

/// `of_param` says it of block parameters of which shapes do not.
LaneKind lane_kind(const ir::Function& f, const passes::LaneShapes& shapes, ir::ValueId v,
                   const std::function<LaneKind(ir::ValueId, unsigned depth)>& of_param, unsigned depth = 0);

/// Of what lanes load from anywhere, in instructions. Bytes and half-words are cut out of dwords; elements of
/// three or four dwords are loaded lane by lane and transposed, which takes about as long as a gather of one.
constexpr unsigned gather_cost(const ir::MemAttr& mem, unsigned gang_lanes) {
  return mem.bytes == 4 || mem.bytes >= 12 ? gang_lanes + 8 : (gang_lanes + 8) * 3 / 2;
}

/// Up to how many lanes a gang does sooner one after the other than together, by rough costs; more than it
/// has if even all of them. 0 if `loop` gathers nothing, or lanes would wait for memory one after the other;
/// less than `gang_lanes` if all lanes may turn out to go along a row. `back_edge` is the way round, and the
/// header's parameter `mask` has the lanes that are left. `shapes` may be of the function as it was before
/// loops were copied, and `cfg` as well.
unsigned lanes_done_sooner_alone(const ir::Function& f, const ir::Cfg& cfg, const passes::LaneShapes& shapes,
                                 const LoadLoop& loop, const ir::Successor& back_edge, u32 mask,
                                 unsigned gang_lanes);

/// What is loaded in a round says who goes on, but not where the next round loads: how long lanes stay is not
/// known before, and each may go along by itself. The arguments are as above.
bool lanes_leave_by_loads(const ir::Function& f, const ir::Cfg& cfg, const passes::LaneShapes& shapes,
                          const LoadLoop& loop, const ir::Successor& back_edge, u32 mask);

} // namespace lanewise::phases
