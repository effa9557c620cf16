// A lane that is alone has scalars, but of floats there are only vectors. What loops carry and branches
// choose of these would be taken out of a vector and spread again each time round, which takes longer than to
// compute with it. So a web - parameters, what is chosen, and what they get - is vectors as a whole, unless
// something in it is used as a number.
//
//   v1:g32 = gang_first v0               b1(v2:v32):
//   jump -> b1(v1)                         v4 = fadd v2, ...
//   b1(v2:g32):                  becomes
//     v3:v32 = splat v2
//     v4 = fadd v3, ...
#include "translator/phases/lane_floats.hpp"
#include "translator/phases/one_lane.hpp"

namespace lanewise::phases {

using namespace ir;

namespace {

class LaneFloats {
public:
  LaneFloats(Function& f, const std::vector<BlockId>& blocks)
      : f_(f), blocks_(blocks), inside_(f.num_blocks(), false), web_(f.num_values()), webs_(f.num_values()) {
    for (const BlockId b : blocks) inside_[b.index] = true;
    for (u32 v = 0; v < web_.size(); ++v) web_[v] = v;
  }

  void run() {
    for_each_edge([&](BlockId, Successor& s, u32 n) {
      if (const ValueId p = f_[s.block].params[n]; is_member(p) && is_member(s.args[n])) join(p, s.args[n]);
    });
    for (const BlockId b : blocks_)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Select && is_member(f_.result(i)))
          for (const unsigned n : {1u, 2u})
            if (is_member(f_.operands(i)[n])) join(f_.result(i), f_.operands(i)[n]);
    weigh();
    rewrite();
  }

private:
  struct Web {
    bool good = true;
    u32 selects = 0, wanted = 0, made = 0; ///< wanted as vectors, made of vectors
  };
  Function& f_;
  const std::vector<BlockId>& blocks_;
  std::vector<bool> inside_;  ///< per block
  std::vector<u32> web_;      ///< per value: towards the web's name
  std::vector<Web> webs_;     ///< by that
  std::vector<u8> is_number_; ///< per value: not only spread

  u32 name(ValueId v) {
    u32 w = v.index;
    while (web_[w] != w) w = web_[w] = web_[web_[w]];
    return w;
  }
  Web& web(ValueId v) { return webs_[name(v)]; }
  void join(ValueId a, ValueId b) { web_[name(a)] = name(b); }
  [[nodiscard]] static bool is_number(Type t) { return t == Type::G32 || t == Type::G64; }
  /// A parameter, or chosen.
  [[nodiscard]] bool is_member(ValueId v) const {
    if (v.index >= web_.size() || !is_number(f_.type(v))) return false;
    const BlockId b = f_.def_block(v);
    if (b.index >= inside_.size() || !inside_[b.index]) return false;
    const Inst* def = f_.def(v);
    return def == nullptr || def->op == Op::Select;
  }
  bool is_chosen(ValueId v) {
    if (!is_member(v)) return false;
    const Web& w = web(v);
    return w.good && w.wanted != 0 && w.made != 0 && w.selects <= w.wanted + w.made;
  }
  template <class Visit>
  void for_each_edge(Visit visit) {
    for (u32 b = 0; b < f_.num_blocks(); ++b)
      for (Successor& s : f_[BlockId{b}].successors)
        for (u32 n = 0; n < s.args.size(); ++n) visit(BlockId{b}, s, n);
  }

  void weigh() {
    for (const Block& b : f_.blocks)
      for (const InstId i : b.insts)
        for (unsigned n = 0; n < f_[i].num_operands; ++n) {
          const ValueId v = f_.operands(i)[n];
          if (!is_member(v)) continue;
          const bool passes = (f_[i].op == Op::Select && n != 0 && is_member(f_.result(i))) ||
                              (f_[i].op == Op::RowSet && n == 1);
          const bool spreads = f_[i].op == Op::Splat;
          web(v).wanted += spreads ? 1 : 0;
          web(v).good &= passes || spreads;
        }
    for (const BlockId b : blocks_)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Select && is_member(f_.result(i))) {
          ++web(f_.result(i)).selects;
          for (const unsigned n : {1u, 2u}) note_source(f_.result(i), f_.operands(i)[n]);
        }
    for_each_edge([&](BlockId, const Successor& s, u32 n) { note_source(f_[s.block].params[n], s.args[n]); });
  }
  void note_source(ValueId member, ValueId from) {
    if (!is_member(member) || is_member(from)) return;
    const BlockId b = f_.def_block(from);
    const Inst* def = f_.def(from);
    const Op op = def == nullptr ? Op::Const : def->op;
    web(member).made += op == Op::GangFirst ? 1 : 0;
    const bool computed = op != Op::GangFirst && op != Op::Const && op != Op::RowGet && op != Op::LaneOf;
    if (b.index < inside_.size() && inside_[b.index] && computed) web(member).good = false;
  }

  void rewrite() {
    std::vector<ValueId> map(f_.num_values()), chosen;
    for (ValueId v{0}; v.index < web_.size(); ++v.index)
      if (is_chosen(v)) chosen.push_back(v);
    find_numbers();
    std::vector<u8> is_vector(f_.num_values(), 0);
    for (const ValueId v : chosen) is_vector[v.index] = 1;
    const auto becomes_vector = [&](ValueId v) {
      return v.index < is_vector.size() && is_vector[v.index] != 0;
    };
    for (const ValueId v : chosen) f_.set_type(v, f_.type(v) == Type::G64 ? Type::V64 : Type::V32);
    for (u32 n = 0; n < inside_.size(); ++n) {
      const std::vector<InstId> insts = std::move(f_[BlockId{n}].insts);
      f_[BlockId{n}].insts.clear();
      Builder at(f_, BlockId{n});
      for (const InstId i : insts) {
        at.pc = f_[i].pc;
        const bool ends = info(f_[i].op).is(kEndsBlock);
        if (ends) {
          for (u32 way = 0; way < f_[BlockId{n}].successors.size(); ++way)
            for (u32 k = 0; k < f_[BlockId{n}].successors[way].args.size(); ++k) {
              const Successor s = f_[BlockId{n}].successors[way];
              const bool to = becomes_vector(f_[s.block].params[k]), from = becomes_vector(s.args[k]);
              if (to == from) continue;
              const ValueId arg = to ? spread(at, s.args[k]) : first(at, s.args[k]);
              f_[BlockId{n}].successors[way].args[k] = arg;
            }
        } else if (f_[i].op == Op::Splat && becomes_vector(f_.operands(i)[0])) {
          map[f_.result(i).index] = f_.operands(i)[0];
          f_[i].block = {};
          continue;
        } else if (f_[i].op == Op::Splat && is_made_of_vector(f_.operands(i)[0])) {
          map[f_.result(i).index] = f_.operands(f_.def_id(f_.operands(i)[0]))[0];
          f_[i].block = {};
          continue;
        } else if (f_[i].op == Op::Select && becomes_vector(f_.result(i))) {
          f_.operands(i)[0] = mask(at, f_.operands(i)[0]);
          for (const unsigned k : {1u, 2u})
            if (const ValueId v = f_.operands(i)[k]; !becomes_vector(v)) {
              const ValueId all = spread(at, v);
              f_.operands(i)[k] = all;
            }
        } else if (f_[i].op == Op::RowSet && becomes_vector(f_.operands(i)[1])) {
          const ValueId one = first(at, f_.operands(i)[1]);
          f_.operands(i)[1] = one;
        }
        f_[BlockId{n}].insts.push_back(i);
      }
    }
    map.resize(f_.num_values());
    f_.replace_values(map);
  }
  /// In a block in which all lanes have the same. What is loaded is a scalar at once if it is wanted as one.
  [[nodiscard]] bool is_made_of_vector(ValueId v) const {
    const Inst* def = f_.def(v);
    if (def == nullptr || def->op != Op::GangFirst || !inside_[def->block.index]) return false;
    const Inst* from = f_.def(f_.operands(f_.def_id(v))[0]);
    return from == nullptr || from->op != Op::Load || v.index >= is_number_.size() ||
           is_number_[v.index] == 0;
  }
  void find_numbers() {
    is_number_.assign(f_.num_values(), 0);
    for (const Block& b : f_.blocks)
      for (const InstId i : b.insts)
        if (f_[i].op != Op::Splat && !(f_[i].op == Op::Select && is_chosen(f_.result(i))))
          for (const ValueId v : f_.operands(i)) is_number_[v.index] = 1;
    for_each_edge([&](BlockId, const Successor& s, u32 n) {
      if (!is_chosen(f_[s.block].params[n])) is_number_[s.args[n].index] = 1;
    });
  }
  ValueId first(Builder& at, ValueId v) { return at.op(Op::GangFirst, scalar_of(f_.type(v)), {v}); }
  ValueId spread(Builder& at, ValueId v) {
    const Type t = f_.type(v) == Type::G64 ? Type::V64 : Type::V32;
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return f_.entry_constant(t, bits);
    if (is_made_of_vector(v)) return f_.operands(f_.def_id(v))[0];
    return at.op(Op::Splat, t, {v});
  }
  /// In all lanes, or none.
  ValueId mask(Builder& at, ValueId condition) {
    const InstId i = f_.def_id(condition);
    if (!i.valid() || f_[i].op != Op::FCmp) return at.op(Op::Splat, Type::Mask, {condition});
    const Type t = Type::Mask;
    const std::array x{f_.operands(i)[0], f_.operands(i)[1]};
    return f_.result(f_.append(at.block(), f_[i], x, {&t, 1}));
  }
};

} // namespace

void keep_floats_in_vectors(Function& f, const std::vector<BlockId>& blocks) { LaneFloats(f, blocks).run(); }

} // namespace lanewise::phases
