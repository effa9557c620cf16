// The text form of the IR. One instruction a line:
//   v5:v32 = fadd v3, v4 {f32 flush_out} @0x14
// `#` is the immediate, braces hold the attributes that differ from their defaults, `@` is the guest address.
#include "isa/op.hpp"
#include "translator/ir/ir.hpp"
#include "translator/ir/text.hpp"

#include <fmt/format.h>
#include <iterator>

namespace lanewise::ir {

namespace {

using Out = std::back_insert_iterator<std::string>;

void print_flushes(Out out, const FpAttr& fp) {
  if (fp.flush_in) fmt::format_to(out, " flush_in");
  if (fp.flush_out) fmt::format_to(out, " flush_out");
}

void print_fp(Out out, const FpAttr& fp) {
  fmt::format_to(out, " {{{}", kFloatKindNames[static_cast<unsigned>(fp.kind)]);
  if (fp.round != Round::NearestEven)
    fmt::format_to(out, " {}", kRoundNames[static_cast<unsigned>(fp.round)]);
  print_flushes(out, fp);
  if (fp.ieee) fmt::format_to(out, " ieee");
  if (!fp.dx10_clamp) fmt::format_to(out, " keep_nan");
  fmt::format_to(out, "}}");
}

void print_mem(Out out, const Function& f, const Inst& inst) {
  const Op op = inst.op;
  const MemAttr& mem = inst.mem;
  fmt::format_to(out, " {{{} {}", kSpaceNames[static_cast<unsigned>(mem.space)], mem.bytes);
  if (mem.sign_extend) fmt::format_to(out, " sext");
  if (op == Op::Atomic) {
    fmt::format_to(out, " {}", kAtomicNames[static_cast<unsigned>(mem.atomic)]);
    if (mem.kind != FloatKind::F32)
      fmt::format_to(out, " {}", kFloatKindNames[static_cast<unsigned>(mem.kind)]);
    print_flushes(out, inst.fp);
    if (mem.returns) fmt::format_to(out, " returns");
  }
  if (mem.awaited) fmt::format_to(out, " awaited");
  if (mem.deferred) fmt::format_to(out, " deferred");
  if (mem.retry != 0) fmt::format_to(out, " retry {}", mem.retry);
  if (mem.form != AddressForm::Lanes) {
    fmt::format_to(out, " {}", kFormNames[static_cast<unsigned>(mem.form)]);
    if (mem.form != AddressForm::Indexed) fmt::format_to(out, " {}", mem.stride);
    if (mem.form != AddressForm::Row) fmt::format_to(out, " {}", mem.scale);
  }
  if (mem.index_sign) fmt::format_to(out, " sindex");
  if (mem.short_row != 0) fmt::format_to(out, " short {} {}", mem.short_row, mem.short_stride);
  if (mem.places != 0)
    fmt::format_to(out, " places {} {:#x}", f.places[mem.places - 1u].row, f.places[mem.places - 1u].digits);
  if (mem.exact) fmt::format_to(out, " exact");
  if (mem.table != 0) fmt::format_to(out, " table {}", mem.table);
  if (mem.wave_row) fmt::format_to(out, " wave");
  if (mem.in_range) fmt::format_to(out, " in_range");
  if (mem.masked_in_range) fmt::format_to(out, " masked_in_range");
  if (mem.first_lanes() != 0) fmt::format_to(out, " first_lanes {}", mem.first_lanes());
  if (mem.spread) fmt::format_to(out, " spread");
  if (mem.apart != 0) fmt::format_to(out, " apart {}", mem.apart);
  if (mem.listed) fmt::format_to(out, " listed");
  if (mem.element != 0) fmt::format_to(out, " element {}", u32{mem.element});
  if (mem.idxen) fmt::format_to(out, " idxen");
  if (mem.offen) fmt::format_to(out, " offen");
  if (mem.addr64) fmt::format_to(out, " addr64");
  if (mem.coherent) fmt::format_to(out, " coherent");
  if (mem.public_only) fmt::format_to(out, " public");
  if (mem.streams) fmt::format_to(out, " streams");
  if (mem.any_lanes) fmt::format_to(out, " any_lanes");
  if (mem.may_tear) fmt::format_to(out, " unaligned");
  fmt::format_to(out, "}}");
}

void print_successor(Out out, const Successor& s) {
  fmt::format_to(out, "b{}", s.block.index);
  if (s.args.empty()) return;
  const char* separator = "(";
  for (const ValueId v : s.args) {
    fmt::format_to(out, "{}v{}", separator, v.index);
    separator = ", ";
  }
  fmt::format_to(out, ")");
}

void print_inst(Out out, const Function& f, InstId id) {
  const Inst& inst = f[id];
  const char* separator = "";
  for (unsigned r = 0; r < inst.num_results; ++r) {
    const ValueId v = f.result(id, r);
    fmt::format_to(out, "{}v{}:{}", separator, v.index, name(f.type(v)));
    separator = ", ";
  }
  fmt::format_to(out, "{}{}", inst.num_results != 0 ? " = " : "", info(inst.op).text);
  separator = " ";
  for (const ValueId v : f.operands(id)) {
    fmt::format_to(out, "{}v{}", separator, v.index);
    separator = ", ";
  }
  if (inst.imm != 0 || inst.op == Op::Const) fmt::format_to(out, " #{:#x}", inst.imm);
  if (info(inst.op).is(kFloat)) print_fp(out, inst.fp);
  if (info(inst.op).is(kMemory)) print_mem(out, f, inst);
  if (info(inst.op).is(kEndsBlock) && inst.block.valid()) {
    separator = " -> ";
    for (const Successor& s : f[inst.block].successors) {
      fmt::format_to(out, "{}", separator);
      print_successor(out, s);
      separator = ", ";
    }
  }
  if (inst.pc != 0) fmt::format_to(out, " @{:#x}", inst.pc);
}

std::string first_gangs(unsigned n) {
  return n == 0 ? "" : n == 1 ? " first_gang" : fmt::format(" first_gangs {}", n);
}

} // namespace

std::string print(const Function& f, InstId i) {
  std::string text;
  print_inst(std::back_inserter(text), f, i);
  return text;
}

std::string print(const Function& f) {
  std::string text;
  const Out out = std::back_inserter(text);
  fmt::format_to(out, "func \"{}\" {} {{\n", f.name, isa::target_name(f.target));
  for (u32 b = 0; b < f.num_blocks(); ++b) {
    const Block& block = f.blocks[b];
    if (block.insts.empty()) continue; // removed as unreachable
    fmt::format_to(out, "b{}", b);
    const char* separator = "(";
    for (const ValueId v : block.params) {
      fmt::format_to(out, "{}v{}:{}", separator, v.index, name(f.type(v)));
      separator = ", ";
    }
    fmt::format_to(out, "{}{}{}:\n", block.params.empty() ? "" : ")", first_gangs(block.first_gangs),
                   block.in_ranks ? " in_ranks" : "");
    for (const InstId i : block.insts) {
      text += "  ";
      print_inst(out, f, i);
      text += '\n';
    }
  }
  text += "}\n";
  return text;
}

} // namespace lanewise::ir
