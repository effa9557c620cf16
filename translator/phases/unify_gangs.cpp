#include "translator/phases/unify_gangs.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

class Unifier {
public:
  Unifier(Function& f, const Plan& plan) : f_(f), plan_(plan), same_(f.num_values(), false) {}

  void run() {
    assume();
    if (!any_same()) return;
    refute();
    apply();
  }

private:
  Function& f_;
  const Plan& plan_;
  std::vector<bool> same_; ///< per value: a G* that may be a U*

  template <class Visit>
  void for_each_block(Visit visit) const {
    for (const Phase& p : plan_.phases)
      for (const BlockId b : p.blocks) visit(b);
  }

  /// All that is used nowhere but in its own phase: gangs may leave a phase with different values of what is
  /// the same whenever they compute it (from loops that they leave on their own).
  void assume() {
    const auto is_entry = [&](BlockId b) { return plan_.phases[plan_.phase_of[b.index].index].entry == b; };
    for_each_block([&](BlockId b) {
      if (!is_entry(b))
        for (const ValueId v : f_[b].params) same_[v.index] = is_number(v);
      for (const InstId i : f_[b].insts)
        if (f_[i].num_results == 1) same_[f_.result(i).index] = is_number(f_.result(i));
    });
    if (!any_same()) return;
    for_each_block([&](BlockId b) {
      const auto use = [&](ValueId v) {
        if (same_[v.index] && plan_.phase_of[f_.def_block(v).index] != plan_.phase_of[b.index])
          same_[v.index] = false;
      };
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) use(v);
      for (const Successor& s : f_[b].successors)
        for (const ValueId v : s.args) use(v);
    });
  }

  bool any_same() const { return std::ranges::find(same_, true) != same_.end(); }
  bool is_number(ValueId v) const { return is_gang(f_.type(v)) && f_.type(v) != Type::G1; }
  bool is_same(ValueId v) const { return is_uniform(f_.type(v)) || same_[v.index]; }

  void refute() {
    for (bool changed = true; changed;) {
      changed = false;
      const auto drop = [&](ValueId v) {
        if (same_[v.index]) changed = true;
        same_[v.index] = false;
      };
      for_each_block([&](BlockId b) {
        for (const InstId i : f_[b].insts) {
          if (f_[i].num_results != 1 || !same_[f_.result(i).index]) continue;
          const auto x = f_.operands(i);
          if (!info(f_[i].op).is(kPure) ||
              !std::all_of(x.begin(), x.end(), [&](ValueId v) { return is_same(v); }))
            drop(f_.result(i));
        }
        for (const Successor& s : f_[b].successors)
          for (u32 n = 0; n < s.args.size(); ++n)
            if (!is_same(s.args[n])) drop(f_[s.block].params[n]);
      });
    }
  }

  void apply() {
    std::vector<ValueId> map(f_.num_values());
    std::vector<Type> was(f_.num_values());
    for (u32 v = 0; v < was.size(); ++v) {
      was[v] = f_.type(ValueId{v});
      if (same_[v]) f_.set_type(ValueId{v}, uniform_of(was[v]));
    }
    for_each_block([&](BlockId b) {
      std::vector<InstId> insts;
      insts.reserve(f_[b].insts.size());
      const auto respread = [&](ValueId v) { // For those who still want one per gang.
        Inst again;
        const bool constant = f_.is_const(v, &again.imm);
        again.op = constant ? Op::Const : Op::Splat;
        const InstId i = f_.make(again, {&v, constant ? 0u : 1u}, {&was[v.index], 1});
        f_[i].block = b;
        f_[i].pc = insts.empty() ? f_[b].pc : f_[insts.back()].pc;
        insts.push_back(i);
        return f_.result(i);
      };
      const auto fix = [&](ValueId& v) {
        if (v.index < was.size() && same_[v.index]) v = respread(v);
      };
      for (const InstId i : f_[b].insts) {
        const bool is_end = i == f_.terminator(b);
        const bool compares = f_[i].op == Op::ICmp && is_gang(was[f_.operands(i)[0].index]);
        const bool stays =
            compares || f_[i].op == Op::RowSet || (f_[i].num_results == 1 && is_gang(f_.type(f_.result(i))));
        const bool shift_amount = f_[i].op == Op::Shl || f_[i].op == Op::LShr || f_[i].op == Op::AShr;
        if (stays)
          for (unsigned n = 0; n < f_[i].num_operands; ++n)
            if (!(shift_amount && n == 1)) {
              ValueId v = f_.operands(i)[n];
              fix(v);
              f_.operands(i)[n] = v;
            }
        if (is_end)
          for (Successor& s : f_[b].successors)
            for (u32 n = 0; n < s.args.size(); ++n)
              if (is_gang(f_.type(f_[s.block].params[n]))) fix(s.args[n]);
        const bool was_splat =
            f_[i].op == Op::Splat && same_[f_.result(i).index]; // Now a copy of the same type.
        if (was_splat)
          map[f_.result(i).index] = f_.operands(i)[0];
        else
          insts.push_back(i);
      }
      f_[b].insts = std::move(insts);
    });
    map.resize(f_.num_values());
    f_.replace_values(map);
  }
};

} // namespace

void unify_gangs(Function& f, const Plan& plan) { Unifier(f, plan).run(); }

} // namespace lanewise::phases
