#include "translator/lift/lift.hpp"

#include "runtime/wave.hpp"
#include "translator/lift/cfg.hpp"
#include "translator/lift/lower_buffers.hpp"
#include "translator/passes/passes.hpp"

#include <fmt/format.h>

namespace lanewise::lift {

namespace {

Rules make_rules() {
  Rules rules = {};
  add_scalar_rules(rules);
  add_control_rules(rules);
  add_vector_integer_rules(rules);
  add_vector_float_rules(rules);
  add_packed_rules(rules);
  add_cube_rules(rules);
  add_compare_rules(rules);
  add_lane_rules(rules);
  add_memory_rules(rules);
  return rules;
}

/// The value of variable `v` when the kernel starts, made in the entry block.
ValueId initial_value(const translator::KernelSource& source, ir::Function& f, Var v) {
  const auto make = [&](ir::Op op, Type type, u64 imm) {
    ir::Inst proto;
    proto.op = op;
    proto.imm = imm;
    proto.pc = f.blocks[0].pc;
    const Type results[] = {type};
    return f.result(append_to_entry(f, proto, results));
  };
  const Type type = type_of(v);
  if (v == kExecVar) return make(ir::Op::InitExec, type, 0);
  if (v >= kFirstVgpr && v < kFirstVgpr + static_cast<int>(source.initial_vgprs))
    return make(ir::Op::InitVgpr, type, v - kFirstVgpr);
  if (type == Type::U32 && v < source.initial_sgprs.size()) {
    const translator::InitialSgpr& s = source.initial_sgprs[v];
    return s.constant ? make(ir::Op::Const, type, s.value) : make(ir::Op::InitSgpr, type, v);
  }
  return make(ir::Op::Const, type, 0);
}

constexpr unsigned kMaxAttempts = 6;

} // namespace

Rule rule_of(isa::Op op) {
  static const Rules rules = make_rules();
  return rules[static_cast<unsigned>(op)];
}

bool has_rule(isa::Op op) { return rule_of(op) != nullptr; }

Lifter::Lifter(const translator::KernelSource& s, ir::Function& f, Cfg& c, const Findings& findings,
               std::vector<Untranslated>& u)
    : b(f), ssa(f, [&s, &f](Var v) { return initial_value(s, f, v); }), source(s), target(s.target), cfg(c),
      indices_(findings.indices), descriptors_(findings.descriptors), untranslated_(u) {}

bool Lifter::learn(Findings& findings) const {
  const bool descriptors = descriptor_uses_.learn(b.function(), findings.descriptors);
  return learn_indices(findings.indices) || descriptors;
}

std::optional<std::vector<ValueId>> Lifter::descriptors() {
  std::vector<ValueId> words;
  for (unsigned n = 0; n < in->mods.resource_dwords(); ++n) words.push_back(sgpr(in->src[1].index + n));
  if (row->src[2].present())
    for (unsigned n = 0; n < 4; ++n) words.push_back(sgpr(in->src[2].index + n));
  const auto found = descriptors_.find(pc);
  if (found != descriptors_.end()) {
    for (std::size_t n = 0; n < words.size(); ++n)
      if (const auto& word = found->second[n]) words[n] = b.u32c(*word);
    return words;
  }
  descriptor_uses_.add(b.raw(), words);
  const ValueId unknown = b.splat(b.lo(b.op(ir::Op::Clock, Type::U64, {})));
  if (const isa::Operand& d = in->dst[0]; d.is(isa::OperandKind::Vgpr))
    for (unsigned n = 0; n < d.dwords + (in->mods.lwe && !in->mods.tfe ? 1u : 0u); ++n)
      set_vgpr(d.index + n, unknown, exec());
  return std::nullopt;
}

void Lifter::lift(const isa::Inst& inst, u32 offset) {
  in = &inst;
  row = &isa::row_of(inst.op);
  pc = offset;
  active_ = dpp_valid_ = {};
  if ((known.mode & kModeVskip) != 0 && inst.encoding >= isa::Encoding::Vop2) return; // a vector instruction
  if (const Rule rule = rule_of(inst.op)) {
    rule(*this);
    // How code makes the address of a function: pc-relative, or from a table.
    if (inst.op == isa::Op::s_addc_u32 || inst.op == isa::Op::s_load_dwordx2) note_address();
    return;
  }
  untranslated();
  if (row->has(isa::kTerminator)) cfg.end_program();
}

void Lifter::note_wait(unsigned outstanding) {
  const auto& insts = b.function()[b.block()].insts;
  waits.push_back({b.block(), insts.empty() ? ir::InstId{} : insts.back(), outstanding});
}

void Lifter::note_address() {
  const isa::Operand& d = in->dst[0];
  if (!d.is(isa::OperandKind::Sgpr)) return;
  u64 lo = 0, hi = 0;
  if (d.index == 0 && d.dwords != 2) return;
  const unsigned first = d.dwords == 2 ? d.index : d.index - 1u;
  if (b.is_const(sgpr(first), &lo) && b.is_const(sgpr(first + 1), &hi)) cfg.note_address(hi << 32 | lo);
}

void Lifter::untranslated(std::string why) {
  std::string text(isa::mnemonic(in->op, target));
  if (!why.empty()) text += ": " + why;
  untranslated_.push_back({pc, std::move(text)});
}

Result<Lifted> lift(const translator::KernelSource& source, const translator::LaunchFacts& launch) {
  const u64 base = reinterpret_cast<u64>(source.code.data());
  if (source.entry < base || source.entry - base >= source.code.size() || (source.entry - base) % 4 != 0 ||
      source.code.size() > 0xffff'fff0u)
    return Error{ErrorCode::BadInput, "the entry point is outside the code"};
  Cfg::Plan plan;
  Findings findings;
  FunctionAddresses addresses(source);
  for (unsigned attempt = 0;;) {
    Lifted out;
    out.function.name = source.name;
    out.function.target = source.target;
    out.function.launch = launch;
    Cfg cfg(source, out.function, plan, addresses);
    Lifter lifter(source, out.function, cfg, findings, out.untranslated);
    cfg.lift_all(lifter);
    if (cfg.too_large()) {
      if (plan.share_functions)
        return Error{ErrorCode::Unsupported,
                     fmt::format("{}: more than {} instructions with the functions it calls", source.name,
                                 kMaxGuestInstructions)};
      plan.share_functions = true;
      continue;
    }
    lifter.ssa.finish();
    out.guest_instructions = cfg.guest_instructions();
    if (lifter.learn(findings)) continue;
    mark_awaited(out.function, lifter.waits);
    lower_buffers(out.function, source);
    passes::merge_blocks(out.function);
    if (cfg.assumes_anything()) {
      passes::fold(out.function);
      passes::eliminate_dead_code(out.function);
      cfg.renumber(out.function.compact()); // what lifting has left is a small part
      const bool finished =
          passes::promote_private_memory(out.function, source.private_bytes_per_lane, true,
                                         [&](std::span<const ir::InstId> now) { cfg.renumber(now); });
      out.promotion = finished ? Promotion::Finished : Promotion::Begun;
    }
    const std::set<u32> wrong = cfg.unproved(out.function);
    const bool returns = plan.assume_returns && !cfg.returns_are_proved(out.function);
    if ((!wrong.empty() || returns) && attempt < kMaxAttempts) {
      plan.not_as_first.insert(wrong.begin(), wrong.end());
      plan.assume_returns &= !returns;
      findings = {}; // They held for the code found so far.
      ++attempt;
      continue;
    }
    for (const u32 pc : wrong)
      out.untranslated.push_back({pc, "call of an unknown function, or MODE from a variable"});
    return out;
  }
}

} // namespace lanewise::lift
