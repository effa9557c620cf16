// What a kernel indexes, a compiler for GPUs keeps in registers where it is small: an element is chosen by
// comparing the index with all numbers, and set likewise. For vectors there is nothing better. A scalar is
// loaded and stored by its number, in memory that lanes use one after the other: each puts what it has there
// when its turn begins.
//
//   read:   select(i == 2, a2, select(i == 1, a1, a0))       becomes   row_get i
//   write:  a0' = select(i == 0, x, a0), a1' = ...           becomes   row_set i, x
//
// All values that an element has one after the other are a web: block parameters with what they get, and
// writes with what was there before. Where no two values of a web are wanted at the same time, one place in
// memory does for it.
#include "translator/phases/scalar_arrays.hpp"
#include "translator/ir/cfg.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMinElements = 4;
constexpr u32 kMaxElements = 32;
constexpr u32 kMaxHoles = 2; ///< numbers that an index is known not to be, so that nothing is there for them
constexpr u32 kNone = ~0u;

/// What vectors handed on for lanes that went another way is of no use to a lane that is alone.
void drop_unwanted_params(Function& f, const std::vector<BlockId>& blocks, BlockId entry) {
  std::vector<u8> is_inside(f.num_blocks(), 0), wanted(f.num_values(), 0);
  for (const BlockId b : blocks) {
    is_inside[b.index] = 1;
    for (const InstId i : f[b].insts)
      for (const ValueId v : f.operands(i)) wanted[v.index] = 1;
  }
  const auto is_wanted = [&](const Successor& s, std::size_t n) {
    return is_inside[s.block.index] == 0 || wanted[f[s.block].params[n].index] != 0;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const BlockId b : blocks)
      for (const Successor& s : f[b].successors)
        for (std::size_t n = 0; n < s.args.size(); ++n)
          if (is_wanted(s, n) && wanted[s.args[n].index] == 0) {
            wanted[s.args[n].index] = 1;
            changed = true;
          }
  }
  const auto drop_args = [&](BlockId from) {
    for (Successor& s : f[from].successors) {
      std::vector<ValueId> args;
      for (std::size_t n = 0; n < s.args.size(); ++n)
        if (is_wanted(s, n)) args.push_back(s.args[n]);
      s.args = std::move(args);
    }
  };
  drop_args(entry);
  for (const BlockId b : blocks) drop_args(b);
  for (const BlockId b : blocks) f.keep_params(b, wanted);
}

/// Brings what is done with arrays into the form in which it is looked for.
class Normalizer {
public:
  Normalizer(Function& f, const std::vector<BlockId>& blocks)
      : f_(f), blocks_(blocks), uses_(f.use_counts()) {}

  void run() {
    for (const BlockId b : blocks_) {
      indices_.clear();
      drop_dead(b);
      const std::vector<InstId> insts = std::move(f_[b].insts);
      f_[b].insts.clear();
      Builder at(f_, b);
      for (const InstId i : insts) {
        at.pc = f_[i].pc;
        if (f_[i].op == Op::Select && f_.type(f_.result(i)) == Type::G32) {
          for (ValueId& v : f_.operands(i))
            if (u64 n = 0; f_.is_const(v, &n) && f_.type(v) == Type::G32) {
              ValueId& known = constants_[n];
              if (!known.valid()) known = f_.entry_constant(Type::G32, n);
              v = known;
            }
          ask_for_equal(at, i);
          narrow(at, i);
        }
        f_[b].insts.push_back(i);
      }
      std::erase_if(f_[b].insts, [&](InstId i) { return !f_[i].block.valid(); });
    }
  }

private:
  Function& f_;
  const std::vector<BlockId>& blocks_;
  std::vector<u32> uses_;
  std::map<u64, ValueId> constants_; ///< one of each will do, so that what is written everywhere is one value
  std::map<std::tuple<u32, u32, unsigned>, ValueId> indices_; ///< of the block, by condition, index and side

  /// What is computed and not used might be taken for a use.
  void drop_dead(BlockId b) {
    auto& insts = f_[b].insts;
    for (auto i = insts.rbegin(); i != insts.rend(); ++i) {
      const Inst& inst = f_[*i];
      if (!info(inst.op).is(kPure) || inst.num_results != 1 || uses_[f_.result(*i).index] != 0) continue;
      for (const ValueId x : f_.operands(*i)) --uses_[x.index];
      f_[*i].block = {};
    }
    std::erase_if(insts, [&](InstId i) { return !f_[i].block.valid(); });
  }
  /// Which scalar is asked whether it is a number, or is not.
  struct Question {
    ValueId scalar, number;
    bool is_equal = false;
  };
  std::optional<Question> question(ValueId condition) const {
    bool inverted = false;
    const Inst* c = f_.def(condition);
    for (; c != nullptr && c->op == Op::Not; c = f_.def(condition), inverted = !inverted)
      condition = f_.operands(f_.def_id(condition))[0];
    if (c == nullptr || c->op != Op::ICmp) return std::nullopt;
    const auto p = static_cast<IntPred>(c->imm);
    const auto x = f_.operands(f_.def_id(condition));
    if (p != IntPred::Eq && p != IntPred::Ne) return std::nullopt;
    for (const unsigned k : {0u, 1u})
      if (f_.is_const(x[k]) && f_.type(x[1 - k]) == Type::G32)
        return Question{x[1 - k], x[k], (p == IntPred::Eq) != inverted};
    return std::nullopt;
  }
  static ValueId equal(Builder& at, ValueId scalar, ValueId number) {
    return at.op(Op::ICmp, Type::G1, {scalar, number}, static_cast<u64>(IntPred::Eq));
  }
  /// select(i != 2, a, b) is select(i == 2, b, a).
  void ask_for_equal(Builder& at, InstId i) {
    const ValueId condition = f_.operands(i)[0];
    const auto asked = question(condition);
    if (!asked || (asked->is_equal && f_.def(condition)->op == Op::ICmp)) return;
    const ValueId is = equal(at, asked->scalar, asked->number);
    const auto x = f_.operands(i);
    x[0] = is;
    if (!asked->is_equal) std::swap(x[1], x[2]);
  }
  /// select(c, select(i == 2, x, a), a) is select((c ? i : none) == 2, x, a): what is written if c, is
  /// written beyond the array if not.
  void narrow(Builder& at, InstId i) {
    const ValueId condition = f_.operands(i)[0];
    if (question(condition)) return;
    for (const unsigned n : {1u, 2u}) {
      const ValueId written = f_.operands(i)[n], kept = f_.operands(i)[3 - n];
      const InstId w = f_.def_id(written);
      if (!w.valid() || f_[w].op != Op::Select || f_[w].block != f_[i].block ||
          written.index >= uses_.size() || uses_[written.index] != 1 || f_.operands(w)[2] != kept)
        continue;
      const auto asked = question(f_.operands(w)[0]);
      u64 number = 0;
      if (!asked || !asked->is_equal || !f_.is_const(asked->number, &number) || number == kNone) continue;
      const ValueId index = asked->scalar;
      ValueId& narrowed = indices_[{condition.index, index.index, n}];
      if (!narrowed.valid()) {
        const ValueId none = f_.entry_constant(Type::G32, kNone);
        narrowed = at.select(condition, n == 1 ? index : none, n == 1 ? none : index);
      }
      const ValueId is = equal(at, narrowed, asked->number), value = f_.operands(w)[1];
      const auto x = f_.operands(i);
      x[0] = is;
      x[1] = value;
      x[2] = kept;
      f_[w].block = {};
      return;
    }
  }
};

class Arrays {
public:
  Arrays(Function& f, const std::vector<BlockId>& blocks, BlockId entry, OneLane& one)
      : f_(f), blocks_(blocks), entry_(entry), one_(one), uses_(f.use_counts()),
        inside_(f.num_blocks(), false), place_(f.num_insts(), 0), role_(f.num_insts()), web_(f.num_values()) {
    for (const BlockId b : blocks) inside_[b.index] = true;
    for (u32 v = 0; v < web_.size(); ++v) web_[v] = v;
    for (const BlockId b : blocks)
      for (u32 n = 0; n < f[b].insts.size(); ++n) place_[f[b].insts[n].index] = n;
  }

  unsigned run() {
    find_writes();
    if (writes_.empty()) return 0;
    find_webs();
    find_arrays();
    find_reads();
    find_live();
    unsigned found = 0;
    for (Array& a : arrays_)
      if (a.good && a.reads && a.numbers.size() >= kMinElements) {
        a.chosen = true;
        // One more for what is written beyond. The last gang's part begins not far before the row's end.
        const unsigned rows = (kWaveSize + a.count()) / kWaveSize + 1;
        a.rows = row_range(one_.take_rows(rows), rows);
        ++found;
      }
    if (found != 0) rewrite();
    return found;
  }

private:
  struct Element {
    u32 number;
    InstId select;
  };
  struct Write {
    ValueId index, value;
    std::vector<Element> elements; ///< in their order
  };
  struct Read {
    ValueId index, otherwise;
    std::vector<Element> elements; ///< the last one chosen is what comes of it
    u32 array = kNone;
  };
  struct Array {
    std::map<u32, u32> numbers; ///< web, by the element's number
    bool good = true, reads = false, chosen = false;
    u64 rows = 0; ///< row_range()
    [[nodiscard]] u32 first() const { return numbers.begin()->first; }
    [[nodiscard]] u32 last() const { return numbers.rbegin()->first; }
    [[nodiscard]] u32 count() const { return last() - first() + 1; }
  };
  struct Role {
    i32 write = -1, read = -1; ///< which one it belongs to
    bool first = false;        ///< and that is done here
  };
  struct Place {
    u32 array = kNone, number = 0;
  };

  Function& f_;
  const std::vector<BlockId>& blocks_;
  const BlockId entry_;
  OneLane& one_;
  const std::vector<u32> uses_;
  std::vector<bool> inside_; ///< per block
  std::vector<u32> place_;   ///< per instruction
  std::vector<Role> role_;
  std::vector<Write> writes_;
  std::vector<Read> reads_;
  std::vector<u32> web_;          ///< per value: towards the web's name
  std::map<u32, Place> place_of_; ///< per web
  std::vector<u8> member_;        ///< per value
  std::vector<Array> arrays_;
  std::vector<std::map<u32, ValueId>> live_in_; ///< per block, by web: the value that is wanted

  u32 web(ValueId v) {
    u32 w = v.index;
    while (web_[w] != w) w = web_[w] = web_[web_[w]];
    return w;
  }
  bool is_member(ValueId v) const { return v.index < member_.size() && member_[v.index] != 0; }
  [[nodiscard]] bool is_param(ValueId v) const {
    const BlockId b = f_.def_block(v);
    return !f_.def_id(v).valid() && b.index < inside_.size() && inside_[b.index];
  }
  [[nodiscard]] bool is_written(ValueId v) const {
    const InstId i = f_.def_id(v);
    return i.valid() && i.index < role_.size() && role_[i.index].write >= 0;
  }
  Array* array_of(ValueId v) {
    if (!is_member(v)) return nullptr;
    const auto it = place_of_.find(web(v));
    return it == place_of_.end() ? nullptr : &arrays_[it->second.array];
  }
  bool is_chosen(ValueId v) {
    const Array* a = array_of(v);
    return a != nullptr && a->chosen;
  }

  /// The index and the number it is compared with.
  std::optional<std::pair<ValueId, u32>> comparison(InstId select) const {
    if (f_[select].op != Op::Select || f_.type(f_.result(select)) != Type::G32) return std::nullopt;
    const InstId c = f_.def_id(f_.operands(select)[0]);
    if (!c.valid() || f_[c].op != Op::ICmp || static_cast<IntPred>(f_[c].imm) != IntPred::Eq)
      return std::nullopt;
    u64 n = 0;
    for (const unsigned k : {0u, 1u})
      if (const ValueId index = f_.operands(c)[1 - k];
          f_.type(index) == Type::G32 && f_.is_const(f_.operands(c)[k], &n) && n < kMaxElements)
        return std::pair{index, static_cast<u32>(n)};
    return std::nullopt;
  }

  /// Selects that set the same by the same index, with several numbers.
  void find_writes() {
    for (const BlockId b : blocks_) {
      std::map<std::pair<u32, u32>, Write> here;
      const auto close = [&](const Write& w) {
        if (w.elements.size() < 3) return;
        for (const Element& e : w.elements) role_[e.select.index].write = static_cast<i32>(writes_.size());
        role_[w.elements[0].select.index].first = true;
        writes_.push_back(w);
      };
      for (const InstId i : f_[b].insts) {
        const auto c = comparison(i);
        if (!c) continue;
        const ValueId value = f_.operands(i)[1];
        Write& w = here[{c->first.index, value.index}];
        if (std::ranges::find(w.elements, c->second, &Element::number) != w.elements.end()) {
          close(w);
          w = {};
        }
        w.index = c->first;
        w.value = value;
        w.elements.push_back({c->second, i});
      }
      for (const auto& [key, w] : here) close(w);
    }
  }

  template <class Visit>
  void for_each_edge(Visit visit) {
    for (const BlockId b : blocks_)
      for (Successor& s : f_[b].successors) visit(b, s);
  }

  void find_webs() {
    member_.assign(f_.num_values(), 0);
    std::map<u32, std::vector<const Successor*>> ways_to;
    for_each_edge([&](BlockId, const Successor& s) { ways_to[s.block.index].push_back(&s); });
    std::vector<ValueId> work;
    const auto join = [&](ValueId a, ValueId b) {
      web_[web(a)] = web(b);
      for (const ValueId v : {a, b}) {
        if (member_[v.index] != 0) continue;
        member_[v.index] = 1;
        work.push_back(v);
      }
    };
    for (const Write& w : writes_)
      for (const Element& e : w.elements) join(f_.result(e.select), f_.operands(e.select)[2]);
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      if (!is_param(v)) continue;
      for (const Successor* s : ways_to[f_.def_block(v).index])
        if (const ValueId arg = s->args[f_[v].index]; is_param(arg) || is_written(arg)) join(v, arg);
    }
  }

  void find_arrays() {
    std::vector<u32> same;       // per write: towards the name of its array
    std::map<u32, u32> first_of; // per web
    const auto name = [&](u32 n) {
      while (same[n] != n) n = same[n];
      return n;
    };
    for (u32 n = 0; n < writes_.size(); ++n) {
      same.push_back(n);
      for (const Element& e : writes_[n].elements) {
        const auto [it, is_new] = first_of.try_emplace(web(f_.result(e.select)), n);
        if (!is_new) same[name(n)] = name(it->second);
      }
    }
    std::map<u32, u32> array_named;
    for (u32 n = 0; n < writes_.size(); ++n) {
      const auto [it, is_new] = array_named.try_emplace(name(n), static_cast<u32>(arrays_.size()));
      if (is_new) arrays_.emplace_back();
      Array& a = arrays_[it->second];
      a.good &= !is_member(writes_[n].index);
      for (const Element& e : writes_[n].elements) {
        const u32 w = web(f_.result(e.select));
        const auto [known, is_first] = a.numbers.try_emplace(e.number, w);
        const auto [place, is_only] = place_of_.try_emplace(w, Place{it->second, e.number});
        const bool fits =
            known->second == w && place->second.array == it->second && place->second.number == e.number;
        a.good &= fits;
        arrays_[place->second.array].good &= fits;
      }
      a.good &= is_range(writes_[n].elements);
    }
    for (Array& a : arrays_) a.good &= a.count() <= a.numbers.size() + kMaxHoles;
    for (ValueId v{0}; v.index < member_.size(); ++v.index)
      if (Array* a = array_of(v)) a->good &= is_param(v) || is_written(v);
  }
  static bool is_range(const std::vector<Element>& elements) {
    const auto [least, most] = std::ranges::minmax(elements, {}, &Element::number);
    return most.number - least.number + 1 <= elements.size() + kMaxHoles;
  }
  /// The numbers between those of the elements that none of these has.
  static std::vector<u32> holes(const std::vector<Element>& elements) {
    const auto [least, most] = std::ranges::minmax(elements, {}, &Element::number);
    std::vector<u32> found;
    for (u32 n = least.number; n < most.number; ++n)
      if (std::ranges::find(elements, n, &Element::number) == elements.end()) found.push_back(n);
    return found;
  }

  /// From the last select down.
  void find_reads() {
    for (const BlockId b : blocks_)
      for (auto last = f_[b].insts.rbegin(); last != f_[b].insts.rend(); ++last) {
        if (role_[last->index].read >= 0 || role_[last->index].write >= 0) continue;
        Read r;
        InstId i = *last;
        for (;;) {
          const auto c = comparison(i);
          if (!c || (r.index.valid() && r.index != c->first) || is_member(c->first)) break;
          const ValueId chosen = f_.operands(i)[1];
          const Array* a = array_of(chosen);
          if (a == nullptr || !a->good || place_of_[web(chosen)].number != c->second) break;
          const u32 array = place_of_[web(chosen)].array;
          if ((r.array != kNone && r.array != array) ||
              std::ranges::find(r.elements, c->second, &Element::number) != r.elements.end())
            break;
          r.index = c->first;
          r.array = array;
          r.elements.push_back({c->second, i});
          r.otherwise = f_.operands(i)[2];
          const InstId next = f_.def_id(r.otherwise);
          if (!next.valid() || f_[next].block != b || uses_[r.otherwise.index] != 1 ||
              role_[next.index].write >= 0)
            break;
          i = next;
        }
        if (r.elements.size() < 2 || !is_range(r.elements)) continue;
        arrays_[r.array].reads = true;
        for (const Element& e : r.elements) role_[e.select.index].read = static_cast<i32>(reads_.size());
        role_[r.elements.back().select.index].first = true;
        reads_.push_back(r);
      }
  }

  /// Which value of each web is wanted where; arrays of which two would be are none.
  void find_live() {
    live_in_.assign(f_.num_blocks(), {});
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = blocks_.rbegin(); b != blocks_.rend(); ++b) {
        auto live = live_in(*b);
        changed |= live != live_in_[b->index];
        live_in_[b->index] = std::move(live);
      }
    }
  }
  std::map<u32, ValueId> live_in(BlockId b) {
    std::map<u32, ValueId> live;
    const auto use = [&](ValueId v) {
      Array* a = array_of(v);
      if (a == nullptr) return;
      const auto [it, is_new] = live.try_emplace(web(v), v);
      a->good &= it->second == v;
    };
    for (const Successor& s : f_[b].successors) {
      if (inside_at(s.block))
        for (const auto& [w, v] : live_in_[s.block.index])
          if (f_.def_block(v) != s.block) use(v);
      for (u32 n = 0; n < s.args.size(); ++n) {
        const ValueId param = f_[s.block].params[n];
        const bool is_element = array_of(param) != nullptr && inside_at(s.block);
        if (!is_element || is_live(param)) use(s.args[n]);
      }
    }
    for (auto i = f_[b].insts.rbegin(); i != f_[b].insts.rend(); ++i) {
      const Role& role = role_[i->index];
      if (role.write >= 0) {
        const Write& write = writes_[static_cast<u32>(role.write)];
        if (!role.first) { // where it may stay as it is
          use(write.value);
          continue;
        }
        for (const Element& e : write.elements) {
          const ValueId now = f_.result(e.select);
          const auto it = live.find(web(now));
          if (it == live.end()) continue;
          array_of(now)->good &= it->second == now;
          it->second = f_.operands(e.select)[2];
        }
        use(write.value);
        continue;
      }
      if (role.read >= 0) {
        if (!role.first) continue;
        const Read& read = reads_[static_cast<u32>(role.read)];
        for (const Element& e : read.elements) use(f_.operands(e.select)[1]);
        use(read.otherwise);
        continue;
      }
      for (const ValueId v : f_.operands(*i)) use(v);
    }
    for (const auto& [w, v] : live) // defined further down
      if (f_.def_block(v) == b && f_.def_id(v).valid()) array_of(v)->good = false;
    for (const ValueId p : f_[b].params)
      if (Array* a = array_of(p))
        if (const auto it = live.find(web(p)); it != live.end())
          a->good &= f_.def_block(it->second) != b || it->second == p;
    return live;
  }
  [[nodiscard]] bool inside_at(BlockId b) const { return b.index < inside_.size() && inside_[b.index]; }
  bool is_live(ValueId param) {
    const auto& live = live_in_[f_.def_block(param).index];
    const auto it = live.find(web(param));
    return it != live.end() && it->second == param;
  }

  // --- rewriting

  ValueId g32(u32 n) { return f_.entry_constant(Type::G32, n); }
  /// Counted from the gang's part of the first of the array's rows.
  ValueId get(Builder& at, const Array& a, ValueId number) {
    return at.op(Op::RowGet, Type::G32, {number}, a.rows);
  }
  void set(Builder& at, const Array& a, ValueId number, ValueId value) {
    at.inst({.op = Op::RowSet, .imm = a.rows}, {number, value}, {});
  }
  /// A value as it is there now: where one of an element is wanted, that is loaded.
  ValueId now(Builder& at, ValueId v) {
    if (!is_chosen(v)) return v;
    const Place p = place_of_[web(v)];
    return get(at, arrays_[p.array], g32(p.number - arrays_[p.array].first()));
  }
  /// `index` as the number of an element, `otherwise` where it is none of those from `least` to `most`; and
  /// whether it is, if that is not known.
  ValueId number(Builder& at, const Array& a, ValueId index, u32 least, u32 most, u32 otherwise,
                 ValueId* is_one) {
    u64 ones = 0;
    const InstId i = f_.def_id(index);
    const bool is_known = least == 0 && i.valid() && f_[i].op == Op::And &&
                          (f_.is_const(f_.operands(i)[0], &ones) || f_.is_const(f_.operands(i)[1], &ones)) &&
                          ones <= most;
    if (is_known) return index;
    const ValueId counted = least == 0 ? index : at.sub(index, g32(least));
    const ValueId fits =
        at.op(Op::ICmp, Type::G1, {counted, g32(most - least)}, static_cast<u64>(IntPred::ULe));
    if (is_one != nullptr) *is_one = fits;
    const ValueId from_first = least == a.first() ? counted : at.sub(index, g32(a.first()));
    return at.select(fits, from_first, g32(otherwise));
  }
  ValueId is_other(Builder& at, ValueId index, u32 number) {
    return at.op(Op::ICmp, Type::G1, {index, g32(number)}, static_cast<u64>(IntPred::Ne));
  }

  void rewrite() {
    std::vector<ValueId> map(f_.num_values());
    std::vector<u8> stays(f_.num_values(), 1);
    for (const BlockId b : blocks_)
      for (const ValueId p : f_[b].params) stays[p.index] = is_chosen(p) ? 0 : 1;
    for (const BlockId b : blocks_) rewrite(b, map);
    rewrite_edges(entry_);
    for (const BlockId b : blocks_) rewrite_edges(b);
    stays.resize(f_.num_values(), 1);
    for (const BlockId b : blocks_) f_.keep_params(b, stays);
    map.resize(f_.num_values());
    f_.replace_values(map);
  }

  void rewrite(BlockId b, std::vector<ValueId>& map) {
    const std::vector<InstId> insts = std::move(f_[b].insts);
    f_[b].insts.clear();
    for (const InstId i : insts) {
      Builder at(f_, b);
      at.pc = f_[i].pc;
      const Role role = role_[i.index];
      if (role.write >= 0 && is_chosen(f_.result(i))) {
        if (role.first) write(at, writes_[static_cast<u32>(role.write)]);
        f_[i].block = {};
        continue;
      }
      if (role.read >= 0 && arrays_[reads_[static_cast<u32>(role.read)].array].chosen) {
        const Read& r = reads_[static_cast<u32>(role.read)];
        if (role.first) map[f_.result(r.elements[0].select).index] = read(at, r);
        f_[i].block = {};
        continue;
      }
      if (info(f_[i].op).is(kEndsBlock)) { // Its operand is a condition.
        f_[b].insts.push_back(i);
        continue;
      }
      for (unsigned n = 0; n < f_[i].num_operands; ++n) {
        const ValueId v = now(at, f_.operands(i)[n]);
        f_.operands(i)[n] = v;
      }
      f_[b].insts.push_back(i);
    }
  }
  void write(Builder& at, const Write& w) {
    const Array& a = *array_of(f_.result(w.elements[0].select));
    const auto [least, most] = std::ranges::minmax(w.elements, {}, &Element::number);
    const ValueId value = now(at, w.value);
    ValueId n = number(at, a, w.index, least.number, most.number, a.count(), nullptr);
    for (const u32 hole : holes(w.elements))
      if (a.numbers.contains(hole)) n = at.select(is_other(at, w.index, hole), n, g32(a.count()));
    set(at, a, n, value);
  }
  ValueId read(Builder& at, const Read& r) {
    const Array& a = arrays_[r.array];
    auto [least, most] = std::ranges::minmax(r.elements, {}, &Element::number);
    const Array* rest = array_of(r.otherwise);
    if (rest != &a) {
      const ValueId otherwise = now(at, r.otherwise);
      ValueId is_one;
      const ValueId element = get(at, a, number(at, a, r.index, least.number, most.number, 0, &is_one));
      for (const u32 hole : holes(r.elements)) {
        const ValueId other_than_hole = is_other(at, r.index, hole);
        is_one = is_one.valid() ? at.and_(is_one, other_than_hole) : other_than_hole;
      }
      return is_one.valid() ? at.select(is_one, element, otherwise) : element;
    }
    const u32 other = place_of_[web(r.otherwise)].number; // One more of the range, or elsewhere.
    u32 from = least.number, to = most.number;
    if (other + 1 == from) from = other;
    if (other == to + 1) to = other;
    ValueId n = number(at, a, r.index, from, to, other - a.first(), nullptr);
    for (const u32 hole : holes(r.elements))
      if (hole != other) n = at.select(is_other(at, r.index, hole), n, g32(other - a.first()));
    return get(at, a, n);
  }

  /// What an edge does with its n-th argument, if that, or the parameter, is an element.
  enum class Pass : u8 { AsIs, Load, Stays, Set };
  Pass pass(const Successor& s, u32 n) {
    const ValueId arg = s.args[n];
    if (!inside_at(s.block) || !is_chosen(f_[s.block].params[n]))
      return is_chosen(arg) ? Pass::Load : Pass::AsIs;
    const ValueId param = f_[s.block].params[n];
    return is_live(param) && !(is_member(arg) && web(arg) == web(param)) ? Pass::Set : Pass::Stays;
  }
  /// Elements that are set to what is no value of theirs, and values of theirs that others want: on the way
  /// there, if there are several.
  void rewrite_edges(BlockId b) {
    const std::size_t ways = f_[b].successors.size();
    const InstId end = f_.terminator(b);
    f_[b].insts.pop_back();
    for (std::size_t way = 0; way < ways; ++way) {
      Successor s = f_[b].successors[way];
      std::vector<Pass> passes;
      for (u32 n = 0; n < s.args.size(); ++n) passes.push_back(pass(s, n));
      const bool is_work =
          std::ranges::any_of(passes, [](Pass p) { return p == Pass::Load || p == Pass::Set; });
      BlockId on_way = b;
      if (is_work && ways > 1) {
        on_way = f_.add_block(f_[b].pc);
        f_[on_way].take_lanes_of(f_[b]);
      }
      Builder at(f_, on_way);
      at.pc = f_[end].pc;
      std::vector<ValueId> args;
      std::vector<std::tuple<const Array*, u32, ValueId>> sets;
      for (u32 n = 0; n < s.args.size(); ++n) {
        if (passes[n] == Pass::Set) {
          const Place p = place_of_[web(f_[s.block].params[n])];
          sets.emplace_back(&arrays_[p.array], p.number - arrays_[p.array].first(), now(at, s.args[n]));
        } else if (passes[n] != Pass::Stays) {
          args.push_back(now(at, s.args[n]));
        }
      }
      for (const auto& [a, k, v] : sets) set(at, *a, g32(k), v);
      s.args = args;
      if (on_way == b) {
        f_[b].successors[way] = s;
      } else {
        at.jump(s.block, s.args);
        f_[b].successors[way] = {on_way, {}};
      }
    }
    f_[b].insts.push_back(end);
  }
};

} // namespace

unsigned put_arrays_into_rows(Function& f, const std::vector<BlockId>& blocks, BlockId entry, OneLane& one) {
  drop_unwanted_params(f, blocks, entry);
  Normalizer(f, blocks).run();
  return Arrays(f, blocks, entry, one).run();
}

} // namespace lanewise::phases
