// How values change from gang to gang where several run side by side, and from workgroup to workgroup.
#pragma once

#include "translator/ir/ir.hpp"
#include "translator/passes/value_limits.hpp"

#include <optional>
#include <span>
#include <vector>

namespace lanewise::x86 {

/// By how much values grow from one place to the next, followed through their definitions up to what differs
/// between the places. Answers on demand; valid while the function does not change.
class ValueSteps {
public:
  /// By how much the value - of a vector, each lane - grows, modulo its width; nothing if that differs or is
  /// not known.
  [[nodiscard]] std::optional<i64> of(ir::ValueId v) const { return of(v, 0); }
  [[nodiscard]] bool is_same(ir::ValueId v) const { return of(v) == 0; }

protected:
  explicit ValueSteps(const ir::Function& f) : f_(f), known_(f.num_values()) {}
  ValueSteps(const ValueSteps&) = default;
  virtual ~ValueSteps() = default;
  /// Of what a definition takes from elsewhere than its operands.
  [[nodiscard]] virtual std::optional<i64> of_input(const ir::Inst& inst) const = 0;
  [[nodiscard]] virtual bool is_known_same(ir::Type) const { return false; }
  /// `v`, which grows by `step`, does the same when it becomes 64 bits wide.
  [[nodiscard]] virtual bool is_exact(ir::ValueId v, i64 step, bool is_signed) const = 0;

  const ir::Function& f_;

private:
  struct Known {
    bool computed = false;
    std::optional<i64> step;
  };
  mutable std::vector<Known> known_; ///< by value

  [[nodiscard]] std::optional<i64> of(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] std::optional<i64> compute(ir::ValueId v, unsigned depth) const;
};

/// Of up to `members` gangs side by side, the neighbours that lie in one row of work-items: there ids along x
/// count on, and the others are the same.
class GangSteps final : public ValueSteps {
public:
  GangSteps(const ir::Function& f, unsigned gang_lanes, unsigned members);

  /// How many gangs that is, a power of two: those from a multiple of it on. 1 if nothing is known.
  [[nodiscard]] unsigned group() const { return group_; }

private:
  unsigned gang_lanes_, group_;
  passes::ValueLimits limits_;

  [[nodiscard]] std::optional<i64> of_input(const ir::Inst& inst) const override;
  [[nodiscard]] bool is_known_same(ir::Type t) const override { return ir::is_uniform(t); }
  [[nodiscard]] bool is_exact(ir::ValueId v, i64 step, bool is_signed) const override;
};

/// The same of gangs in one place of neighbouring rows of work-items: ids along x are the same there.
class ColumnSteps final : public ValueSteps {
public:
  /// `row`: how many gangs a row has.
  ColumnSteps(const ir::Function& f, unsigned gang_lanes, unsigned row)
      : ValueSteps(f), known_(f.launch.x_restarts(row * gang_lanes)) {}

  /// Whether rows are known to lie below one another.
  [[nodiscard]] bool known() const { return known_; }

private:
  bool known_;

  [[nodiscard]] std::optional<i64> of_input(const ir::Inst& inst) const override;
  [[nodiscard]] bool is_known_same(ir::Type t) const override { return ir::is_uniform(t); }
  [[nodiscard]] bool is_exact(ir::ValueId, i64, bool) const override { return false; }
};

/// What gangs side by side have in common: neighbours in a row of work-items, and gangs below one another.
/// One of them computes it, or loads it, for the others.
class CommonValues {
public:
  /// `members` gangs are side by side.
  CommonValues(const ir::Function& f, unsigned gang_lanes, unsigned members)
      : f_(f), row_(f, gang_lanes, members), column_(f, gang_lanes, row_.group()),
        below_(members > row_.group() && column_.known()), loaded_(f.num_values()) {}

  [[nodiscard]] const GangSteps& row() const { return row_; }
  /// Looks for loads that gangs have in common, and what is made of them, in these blocks, in reverse
  /// postorder, of one phase: there each of its instructions is done by all at once.
  void find_loads(std::span<const ir::BlockId> blocks);
  /// Of neighbours in a row, which there are.
  [[nodiscard]] bool in_row(ir::ValueId v) const { return row_.group() > 1 && is_same(v, row_, kRow); }
  /// Of gangs below one another, which there are.
  [[nodiscard]] bool in_column(ir::ValueId v) const { return below_ && is_same(v, column_, kColumn); }

private:
  enum : u8 { kRow = 1, kColumn = 2 };
  const ir::Function& f_;
  GangSteps row_;
  ColumnSteps column_;
  bool below_;
  std::vector<u8> loaded_; ///< per value
  std::vector<ir::ValueId> found_;

  [[nodiscard]] bool is_same(ir::ValueId v, const ValueSteps& steps, u8 kind) const {
    return (loaded_[v.index] & kind) != 0 || steps.is_same(v);
  }
  [[nodiscard]] bool may_be_common(ir::InstId i) const;
};

/// Workgroups that follow each other along x; what happens where 32 bits wrap is left aside.
class WorkgroupSteps final : public ValueSteps {
public:
  explicit WorkgroupSteps(const ir::Function& f) : ValueSteps(f) {}

private:
  [[nodiscard]] std::optional<i64> of_input(const ir::Inst& inst) const override;
  [[nodiscard]] bool is_exact(ir::ValueId, i64, bool) const override { return true; }
};

} // namespace lanewise::x86
