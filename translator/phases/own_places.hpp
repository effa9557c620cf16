// Places in the LDS of which each lane has its own: counters, stacks and tables per work-item.
#pragma once

#include "support/flat_map.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/value_limits.hpp"

#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lanewise::phases {

/// Of loads and stores in the LDS whose addresses are something that work-item ids make, plus something that
/// nothing is known of but limits and that it is a multiple of a power of two. Answers on demand, and
/// remembers; valid while the function does not change, as `limits` and `ids` are.
class OwnPlaces {
public:
  OwnPlaces(const ir::Function& f, const passes::ValueLimits& limits, const passes::IdValues& ids,
            unsigned gang_lanes)
      : f_(f), limits_(limits), ids_(ids), gang_lanes_(gang_lanes) {}

  /// Lanes of different gangs of a wave never get to the same byte by these two: their parts, from the least
  /// to the greatest address, are apart; or they have columns that go on at multiples of that power, as
  /// `lds[n * size + id]`, which are others in each lane.
  [[nodiscard]] bool keep_apart(ir::InstId first, ir::InstId second) const;

private:
  /// An address, modulo 2^32: what ids make of it, and what is added to that.
  struct Sum {
    std::vector<u64> own; ///< per lane of a workgroup; empty: 0
    passes::Limits rest{.max = 0, .ones = 0};

    void add_rest(const passes::Limits& limits, unsigned shift);
  };
  /// From the first byte to the one behind the last.
  struct Span {
    u64 first = ~u64{0}, end = 0;
    [[nodiscard]] bool meets(const Span& other) const { return first < other.end && other.first < end; }
  };
  /// Where each lane of a workgroup goes, and which can.
  struct Places {
    Sum address;
    const std::vector<u64>* mask; ///< none: all lanes
    u32 offset, step, bytes;
    u32 kind;                ///< the same for accesses that differ in offsets alone
    std::vector<Span> spans; ///< of the workgroup's gangs; empty if an address may wrap

    [[nodiscard]] bool has(u32 lane) const { return mask == nullptr || (*mask)[lane] != 0; }
    /// The first byte if the rest of the address is 0.
    [[nodiscard]] u64 first(u32 lane, u32 in_gang) const {
      return address.own[lane] + offset + u64{in_gang} * step;
    }
  };

  const ir::Function& f_;
  const passes::ValueLimits& limits_;
  const passes::IdValues& ids_;
  unsigned gang_lanes_;
  mutable std::unordered_map<u32, std::optional<Places>> places_; ///< by instruction
  mutable std::map<std::array<u32, 4>, u32> kinds_;               ///< by all that but offsets differ in
  mutable FlatMap<bool> columns_;                                 ///< by two kinds and offsets

  [[nodiscard]] u64 ones(ir::ValueId v) const;
  void add(Sum& sum, ir::ValueId v, unsigned shift, unsigned depth) const;
  [[nodiscard]] std::optional<Places> find_places(ir::InstId i) const;
  [[nodiscard]] const Places* places_of(ir::InstId i) const;
  void find_spans(Places& places) const;
  [[nodiscard]] bool have_parts(const Places& a, const Places& b) const;
  [[nodiscard]] bool have_columns(const Places& a, const Places& b) const;
  [[nodiscard]] bool are_columns_of_gangs(const Places& a, const Places& b, u32 columns) const;
};

} // namespace lanewise::phases
