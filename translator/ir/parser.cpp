#include "translator/ir/parser.hpp"

#include "isa/op.hpp"
#include "translator/ir/text.hpp"

#include <charconv>
#include <fmt/format.h>
#include <unordered_map>

namespace lanewise::ir {

namespace {

constexpr unsigned kMaxResults = 16;
constexpr std::size_t kMaxOperands = 64;

/// A value or block named before it is defined gets its definition's id once the whole text is read; until
/// then uses hold the text's own number, and the maps translate at the end.
class Parser {
public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<Function> run() {
    if (!header()) return fail();
    while (next_line()) {
      if (accept("}")) return resolve() ? Result<Function>(std::move(f_)) : fail();
      if (!(at_block() ? block() : instruction())) return fail();
      skip_space();
      if (!line_.empty()) {
        expected("end of line");
        return fail();
      }
    }
    expected("'}'");
    return fail();
  }

private:
  std::string_view rest_, line_;
  unsigned line_number_ = 0;
  std::string message_;
  Function f_;
  BlockId current_;
  std::unordered_map<u32, ValueId> values_;
  std::unordered_map<u32, BlockId> blocks_;

  Error fail() const { return {ErrorCode::BadInput, fmt::format("line {}: {}", line_number_, message_)}; }
  bool expected(std::string_view what) {
    if (message_.empty()) message_ = fmt::format("expected {} at '{}'", what, line_.substr(0, 24));
    return false;
  }

  bool next_line() {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      line_ = rest_.substr(0, end);
      rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
      ++line_number_;
      if (const auto comment = line_.find(';'); comment != std::string_view::npos)
        line_ = line_.substr(0, comment);
      skip_space();
      if (!line_.empty()) return true;
    }
    return false;
  }
  void skip_space() {
    while (!line_.empty() && (line_.front() == ' ' || line_.front() == '\t' || line_.front() == '\r'))
      line_.remove_prefix(1);
  }
  bool accept(std::string_view token) {
    skip_space();
    if (!line_.starts_with(token)) return false;
    line_.remove_prefix(token.size());
    return true;
  }
  bool require(std::string_view token) { return accept(token) || expected(fmt::format("'{}'", token)); }
  std::string_view word() {
    skip_space();
    std::size_t n = 0;
    while (n < line_.size() && (std::isalnum(static_cast<unsigned char>(line_[n])) != 0 || line_[n] == '_'))
      ++n;
    const std::string_view w = line_.substr(0, n);
    line_.remove_prefix(n);
    return w;
  }
  template <class T>
  bool number(T& value) {
    skip_space();
    int base = 10;
    if (line_.starts_with("0x")) {
      line_.remove_prefix(2);
      base = 16;
    }
    const auto [end, error] = std::from_chars(line_.data(), line_.data() + line_.size(), value, base);
    if (error != std::errc{}) return expected("a number");
    line_.remove_prefix(static_cast<std::size_t>(end - line_.data()));
    return true;
  }

  bool header() {
    if (!next_line()) return expected("'func'");
    if (!require("func") || !require("\"")) return false;
    const auto quote = line_.find('"');
    if (quote == std::string_view::npos) return expected("closing quote");
    f_.name = line_.substr(0, quote);
    line_.remove_prefix(quote + 1);
    const auto target = isa::target_named(word());
    if (!target) return expected("one of the targets gfx600 gfx700 gfx803 gfx900 gfx906");
    f_.target = *target;
    return require("{");
  }

  bool at_block() const {
    return line_.size() > 1 && line_[0] == 'b' && std::isdigit(static_cast<unsigned char>(line_[1])) != 0;
  }
  bool type(Type& t) {
    const std::string_view w = word();
    for (unsigned i = 1; i <= static_cast<unsigned>(Type::G64); ++i)
      if (w == name(static_cast<Type>(i))) {
        t = static_cast<Type>(i);
        return true;
      }
    return expected("a type");
  }
  bool define(u32 number_in_text, ValueId v) {
    return values_.emplace(number_in_text, v).second ||
           expected(fmt::format("v{} to be defined once", number_in_text));
  }
  bool value_number(u32& n) { return require("v") && number(n); }

  bool block() {
    u32 n = 0;
    if (!require("b") || !number(n)) return false;
    current_ = f_.add_block();
    if (!blocks_.emplace(n, current_).second) return expected(fmt::format("b{} to be defined once", n));
    if (accept("(")) {
      do {
        u32 v = 0;
        Type t{};
        if (!value_number(v) || !require(":") || !type(t) || !define(v, f_.add_param(current_, t)))
          return false;
      } while (accept(","));
      if (!require(")")) return false;
    }
    u32 gangs = 0;
    if (accept("first_gangs")) {
      if (!number(gangs) || (gangs != 2 && gangs != 4)) return expected("2 or 4 gangs");
    } else if (accept("first_gang")) {
      gangs = 1;
    }
    f_[current_].first_gangs = static_cast<u8>(gangs);
    f_[current_].in_ranks = accept("in_ranks");
    return require(":");
  }

  bool instruction() {
    if (!current_.valid()) return expected("a block label first");
    std::vector<u32> result_numbers;
    std::vector<Type> results;
    if (line_.size() > 1 && line_[0] == 'v' && std::isdigit(static_cast<unsigned char>(line_[1])) != 0) {
      do {
        if (results.size() == kMaxResults) return expected("at most 16 results");
        if (!value_number(result_numbers.emplace_back()) || !require(":") || !type(results.emplace_back()))
          return false;
      } while (accept(","));
      if (!require("=")) return false;
    }
    Inst proto;
    if (!opcode(proto.op)) return false;
    std::vector<ValueId> operands; // numbers of the text until resolve()
    skip_space();
    if (line_.starts_with("v")) {
      do {
        u32 n = 0;
        if (operands.size() == kMaxOperands || !value_number(n)) return expected("an operand");
        operands.emplace_back(n);
      } while (accept(","));
    }
    if (accept("#") && !number(proto.imm)) return false;
    if (accept("{") && !attributes(proto)) return false;
    std::vector<Successor> successors;
    if (accept("->") && !successor_list(successors)) return false;
    if (accept("@") && !number(proto.pc)) return false;
    const InstId id = f_.append(current_, proto, operands, results);
    if (info(proto.op).is(kEndsBlock))
      f_[current_].successors = std::move(successors);
    else if (!successors.empty())
      return expected("successors only at a block's end");
    for (unsigned r = 0; r < results.size(); ++r)
      if (!define(result_numbers[r], f_.result(id, r))) return false;
    return true;
  }

  bool opcode(Op& op) {
    static const auto* const kByText = [] {
      auto* map = new std::unordered_map<std::string_view, Op>;
      for (unsigned i = 0; i <= static_cast<unsigned>(Op::BadJump); ++i)
        map->emplace(info(static_cast<Op>(i)).text, static_cast<Op>(i));
      return map;
    }();
    const auto it = kByText->find(word());
    if (it == kByText->end()) return expected("an op");
    op = it->second;
    return true;
  }

  bool successor_list(std::vector<Successor>& successors) {
    do {
      u32 n = 0;
      if (successors.size() == 2 || !require("b") || !number(n)) return expected("a block");
      Successor& s = successors.emplace_back();
      s.block = BlockId{n};
      if (!accept("(")) continue;
      do {
        u32 v = 0;
        if (!value_number(v)) return false;
        s.args.emplace_back(v);
      } while (accept(","));
      if (!require(")")) return false;
    } while (accept(","));
    return true;
  }

  template <std::size_t N>
  static bool lookup(const char* const (&names)[N], std::string_view w, auto& out) {
    for (std::size_t i = 0; i < N; ++i)
      if (w == names[i]) {
        out = static_cast<std::remove_reference_t<decltype(out)>>(i);
        return true;
      }
    return false;
  }

  /// What is said by a word and a number.
  static u8* memory_number(MemAttr& mem, std::string_view w) {
    if (w == "table") return &mem.table;
    if (w == "retry") return &mem.retry;
    if (w == "apart") return &mem.apart;
    return nullptr;
  }

  bool attributes(Inst& proto) {
    const bool memory = info(proto.op).is(kMemory);
    if (!memory && !info(proto.op).is(kFloat)) return expected("no attributes on this op");
    while (!accept("}")) {
      skip_space();
      if (memory && !line_.empty() && std::isdigit(static_cast<unsigned char>(line_[0])) != 0) {
        if (!number(proto.mem.bytes)) return false;
        continue;
      }
      const std::string_view w = word();
      if (memory && lookup(kFormNames, w, proto.mem.form)) {
        if (!form_numbers(proto.mem)) return false;
        continue;
      }
      if (memory && w == "element") {
        u8 bytes = 0;
        if (!number(bytes)) return false;
        proto.mem.element = bytes & 31;
        continue;
      }
      if (memory && w == "first_lanes") {
        u8 lanes = 0;
        if (!number(lanes)) return false;
        if (!std::has_single_bit(lanes) || lanes > 8) return expected("1, 2, 4 or 8 lanes");
        proto.mem.first_lanes_width = static_cast<u8>(std::bit_width(lanes)) & 7;
        continue;
      }
      if (memory && w == "short") {
        if (!number(proto.mem.short_row) || !stride(proto.mem.short_stride)) return false;
        continue;
      }
      if (memory && w == "places") {
        LanePlaces places;
        if (!number(places.row) || !number(places.digits)) return false;
        if (places.row != 8 && places.row != 16) return expected("8 or 16 lanes");
        if (!places.are_in_row()) return expected("a digit below that for each lane");
        proto.mem.places = f_.number_of(places);
        continue;
      }
      if (u8* const numbered = memory ? memory_number(proto.mem, w) : nullptr) {
        if (!number(*numbered)) return false;
        continue;
      }
      if (w.empty() || !((memory && memory_word(proto.mem, w)) ||
                         ((!memory || proto.op == Op::Atomic) && float_word(proto.fp, w))))
        return expected("an attribute");
    }
    return true;
  }
  static bool float_word(FpAttr& fp, std::string_view w) {
    if (lookup(kFloatKindNames, w, fp.kind) || lookup(kRoundNames, w, fp.round)) return true;
    if (w == "flush_in") return fp.flush_in = true;
    if (w == "flush_out") return fp.flush_out = true;
    if (w == "ieee") return fp.ieee = true;
    if (w == "keep_nan") return !(fp.dx10_clamp = false);
    return false;
  }
  /// row <stride>, wrapped <step> <scale>, indexed <scale>
  bool form_numbers(MemAttr& mem) {
    if (mem.form != AddressForm::Indexed && !stride(mem.stride)) return false;
    return mem.form == AddressForm::Row || number(mem.scale);
  }
  bool stride(i16& out) {
    const bool negative = accept("-");
    i16 magnitude = 0;
    if (!number(magnitude)) return false;
    out = static_cast<i16>(negative ? -magnitude : magnitude);
    return true;
  }
  static bool memory_word(MemAttr& mem, std::string_view w) {
    if (lookup(kSpaceNames, w, mem.space) || lookup(kAtomicNames, w, mem.atomic) ||
        lookup(kFloatKindNames, w, mem.kind))
      return true;
    if (w == "sext") return mem.sign_extend = true;
    if (w == "returns") return mem.returns = true;
    if (w == "awaited") return mem.awaited = true;
    if (w == "deferred") return mem.deferred = true;
    if (w == "idxen") return mem.idxen = true;
    if (w == "offen") return mem.offen = true;
    if (w == "addr64") return mem.addr64 = true;
    if (w == "sindex") return mem.index_sign = true;
    if (w == "wave") return mem.wave_row = true;
    if (w == "in_range") return mem.in_range = true;
    if (w == "masked_in_range") return mem.masked_in_range = true;
    if (w == "exact") return mem.exact = true;
    if (w == "spread") return mem.spread = true;
    if (w == "listed") return mem.listed = true;
    if (w == "coherent") return mem.coherent = true;
    if (w == "public") return mem.public_only = true;
    if (w == "streams") return mem.streams = true;
    if (w == "any_lanes") return mem.any_lanes = true;
    if (w == "unaligned") return mem.may_tear = true;
    return false;
  }

  bool resolve() {
    const auto value = [&](ValueId& v) {
      const auto it = values_.find(v.index);
      if (it == values_.end()) {
        message_ = fmt::format("v{} is used but not defined", v.index);
        return false;
      }
      v = it->second;
      return true;
    };
    for (Block& b : f_.blocks) {
      for (const InstId i : b.insts)
        for (ValueId& v : f_.operands(i))
          if (!value(v)) return false;
      for (Successor& s : b.successors) {
        const auto it = blocks_.find(s.block.index);
        if (it == blocks_.end()) {
          message_ = fmt::format("b{} is used but not defined", s.block.index);
          return false;
        }
        s.block = it->second;
        for (ValueId& v : s.args)
          if (!value(v)) return false;
      }
    }
    return true;
  }
};

} // namespace

Result<Function> parse(std::string_view text) { return Parser(text).run(); }

} // namespace lanewise::ir
