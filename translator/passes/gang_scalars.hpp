// Scalars beside vectors: lane 0 of a gang computed on its own.
#pragma once

#include "translator/passes/lane_shape.hpp"

#include <optional>
#include <unordered_map>

namespace lanewise::passes {

/// Integer work that addresses are made of, and that is done alike with scalars and lanes.
bool is_address_arithmetic(ir::Op op);

/// Makes the scalars that a pass asks for and, in finish(), puts them into the function: each right behind
/// the vector that it is the first lane of, so that it is there wherever the vector is. What is not needed in
/// the end is dead code.
class GangScalars {
public:
  GangScalars(ir::Function& f, const ir::Cfg& cfg, const LaneShapes& shapes);

  /// Lane 0 of a strided vector: a U* where the vector is a splat of one, else a G*. Goes down the
  /// definitions of strided vectors and through loops; whatever is beyond is read off the vector.
  ir::ValueId first(ir::ValueId v);
  /// The same as a G*, for use by `i`.
  ir::ValueId gang_first(ir::InstId i, ir::ValueId v) { return as_gang(before(i), first(v)); }

  /// A loop's vector that starts as `start`, which does not change in the loop, and has grown by `growth` (a
  /// scalar per gang), since all that is added to it is uniform.
  struct Induction {
    ir::ValueId start, growth;
  };
  std::optional<Induction> induction(ir::ValueId parameter);

  /// Emits right before `i`; U* where all operands are, else G*.
  ir::ValueId op(ir::InstId before, ir::Op op, ir::ValueId a, ir::ValueId b);
  ir::ValueId extended(ir::InstId before, ir::ValueId v); ///< with zeros
  ir::ValueId constant(ir::InstId before, ir::Type t, u64 bits);

  void finish();

private:
  ir::Function& f_;
  const ir::Cfg& cfg_;
  const ir::Dominators dom_;
  const LaneShapes& shapes_;
  std::unordered_map<u32, std::optional<Induction>> inductions_; ///< by parameter
  /// Per edge to the block; none where the loop starts.
  using Increments = std::vector<std::vector<ir::ValueId>>;
  struct Growth {
    ir::BlockId block;
    Increments grown;
    ir::ValueId value;
  };
  std::vector<Growth> growths_;
  std::unordered_map<u32, ir::ValueId> first_;                              ///< by vector
  std::vector<std::vector<ir::InstId>> before_, after_, at_start_, at_end_; ///< per instruction; per block

  /// A place to put instructions at.
  struct Place {
    std::vector<ir::InstId>* list;
    ir::BlockId block;
    u32 pc;
  };
  Place behind(ir::ValueId v);
  Place before(ir::InstId i);
  ir::ValueId emit(const Place& at, const ir::Inst& proto, std::initializer_list<ir::ValueId> operands,
                   ir::Type t);
  ir::ValueId as_gang(const Place& at, ir::ValueId v);
  ir::ValueId binary(const Place& at, ir::Op op, ir::ValueId a, ir::ValueId b, u64 imm = 0);
  ir::ValueId of_parameter(ir::ValueId v);
  ir::ValueId add_parameter(ir::BlockId b, ir::Type t);
  template <class Visit>
  void for_each_edge(ir::BlockId b, Visit visit);
  [[nodiscard]] bool increments(ir::ValueId from, ir::ValueId to, std::vector<ir::ValueId>& out) const;
  std::optional<Induction> find_induction(ir::ValueId parameter);
  ir::ValueId growth(ir::ValueId parameter, const Increments& grown);
  ir::ValueId of_instruction(ir::ValueId v);
  [[nodiscard]] bool sinks_through(ir::InstId i) const;
};

} // namespace lanewise::passes
