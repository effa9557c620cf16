#include "isa/asm/register_names.hpp"

#include "isa/op.hpp"
#include "isa/registers.hpp"

#include <fmt/format.h>

namespace lanewise::isa {
namespace {

enum class File : u8 { V, S, Ttmp };

constexpr unsigned kMaxWidth = 32;

struct NamedSpecial {
  std::string_view name; ///< without src_, which is optional
  u16 code;
  u8 dwords;
  Target since;
};
constexpr NamedSpecial kSpecials[] = {
    {"shared_base", kSharedBase, 1, Target::gfx900},
    {"shared_limit", kSharedLimit, 1, Target::gfx900},
    {"private_base", kPrivateBase, 1, Target::gfx900},
    {"private_limit", kPrivateLimit, 1, Target::gfx900},
    {"pops_exiting_wave_id", kPopsExitingWaveId, 1, Target::gfx900},
    {"vccz", kVccz, 1, Target::gfx600},
    {"execz", kExecz, 1, Target::gfx600},
    {"scc", kScc, 1, Target::gfx600},
    {"lds_direct", kLdsDirect, 1, Target::gfx600},
};

/// The lower half's code of a 64-bit register with a name of its own; 0 where the target lacks it, nothing if
/// it is none.
std::optional<unsigned> pair_code(std::string_view name, Target target) {
  if (name == "vcc") return kVccLo;
  if (name == "exec") return kExecLo;
  if (name == "flat_scratch") return flat_scratch_code(target);
  if (name == "xnack_mask") return xnack_mask_code(target);
  const bool has_trap_base = target <= Target::gfx803;
  if (name == "tba") return has_trap_base ? 108 : 0;
  if (name == "tma") return has_trap_base ? 110 : 0;
  return std::nullopt;
}

class RegisterParser {
public:
  RegisterParser(TokenCursor& cursor, Target target, SymbolContext& symbols)
      : cursor_(cursor), target_(target), symbols_(symbols) {}

  ParsedRegister run() {
    const std::size_t start = cursor_.position();
    std::optional<Operand> operand = cursor_.peek().is("[") ? list() : single();
    if (!operand && !error_) cursor_.rewind(start);
    if (error_) operand.reset();
    return {operand, std::move(error_)};
  }

private:
  std::optional<Operand> fail(SourceLocation at, std::string message) {
    if (!error_) error_ = Diagnostic{at, std::move(message)};
    return std::nullopt;
  }

  /// [v0,v1,v2]
  std::optional<Operand> list() {
    const SourceLocation at = cursor_.next().at;
    std::optional<Operand> whole = single();
    if (!whole) return std::nullopt;
    while (cursor_.accept(",")) {
      const SourceLocation element_at = cursor_.peek().at;
      const std::optional<Operand> element = single();
      if (!element) return fail(element_at, "expected a register");
      if (whole->dwords + element->dwords > static_cast<int>(kMaxWidth) || element->dwords != 1 ||
          element->kind != whole->kind || element->index != whole->index + whole->dwords)
        return fail(element_at, "the registers of a list must follow each other");
      ++whole->dwords;
    }
    if (!cursor_.accept("]")) return fail(cursor_.peek().at, "expected ',' or ']'");
    return check_scalar(*whole, at);
  }

  std::optional<Operand> single() {
    const Token& token = cursor_.peek();
    if (!token.is(TokenKind::Identifier)) return std::nullopt;
    if (auto named = named_register(token)) return named;
    if (error_) return std::nullopt;
    for (auto [prefix, file] :
         {std::pair{std::string_view("v"), File::V}, {"s", File::S}, {"ttmp", File::Ttmp}}) {
      if (!token.text.starts_with(prefix)) continue;
      const std::string_view digits = token.text.substr(prefix.size());
      if (digits.empty()) return cursor_.peek(1).is("[") ? range(file) : std::nullopt;
      if (digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string_view::npos) continue;
      cursor_.next();
      i64 index = 0;
      for (char c : digits) index = index * 10 + (c - '0');
      return make(file, index, index, token.at);
    }
    return std::nullopt;
  }

  /// v[first:last] or v[first]
  std::optional<Operand> range(File file) {
    const SourceLocation at = cursor_.next().at;
    cursor_.next();
    const std::optional<i64> first = index();
    if (!first) return std::nullopt;
    std::optional<i64> last = first;
    if (cursor_.accept(":")) last = index();
    if (!last) return std::nullopt;
    if (!cursor_.accept("]")) return fail(cursor_.peek().at, "expected ']'");
    return make(file, *first, *last, at);
  }

  std::optional<i64> index() {
    auto parsed = parse_absolute(cursor_, symbols_);
    if (auto* error = std::get_if<Diagnostic>(&parsed)) {
      fail(error->at, std::move(error->message));
      return std::nullopt;
    }
    return std::get<i64>(parsed);
  }

  std::optional<Operand> make(File file, i64 first, i64 last, SourceLocation at) {
    const unsigned limits[] = {256, num_sgprs(target_), kM0 - first_ttmp(target_)};
    const i64 limit = limits[static_cast<unsigned>(file)];
    if (first < 0 || first > last)
      return fail(at, "the first register of a range must not be above the last");
    if (last >= limit)
      return fail(at, fmt::format("register {} does not exist on {}: the last one is {}", last,
                                  target_name(target_), limit - 1));
    if (last - first >= i64{kMaxWidth}) return fail(at, "the range has too many registers");
    Operand operand{.kind = file == File::V ? OperandKind::Vgpr : OperandKind::Sgpr};
    operand.dwords = static_cast<u8>(last - first + 1);
    operand.index = static_cast<u16>(first + (file == File::Ttmp ? first_ttmp(target_) : 0));
    return check_scalar(operand, at);
  }

  std::optional<Operand> check_scalar(const Operand& operand, SourceLocation at) {
    if (operand.is(OperandKind::Sgpr) && operand.dwords > 1 &&
        operand.index % (operand.dwords == 2 ? 2 : 4) != 0)
      return fail(at, fmt::format("{} scalar registers must start at a multiple of {}", operand.dwords,
                                  operand.dwords == 2 ? 2 : 4));
    return operand;
  }

  std::optional<Operand> named_register(const Token& token) {
    std::string_view name = token.text;
    if (name == "m0") return take({.kind = OperandKind::Sgpr, .dwords = 1, .index = kM0});
    const std::string_view half = name.size() > 3 ? name.substr(name.size() - 3) : "";
    const bool lo = half == "_lo", hi = half == "_hi";
    if (const auto code = pair_code(lo || hi ? name.substr(0, name.size() - 3) : name, target_)) {
      if (*code == 0) return missing(token);
      return take({.kind = OperandKind::Sgpr,
                   .dwords = static_cast<u8>(lo || hi ? 1 : 2),
                   .index = static_cast<u16>(*code + hi)});
    }
    if (name.starts_with("src_")) name.remove_prefix(4);
    for (const NamedSpecial& special : kSpecials) {
      if (special.name != name) continue;
      if (target_ < special.since) return missing(token);
      return take({.kind = OperandKind::Special, .dwords = special.dwords, .index = special.code});
    }
    return std::nullopt;
  }

  std::optional<Operand> take(const Operand& operand) {
    cursor_.next();
    return operand;
  }
  std::optional<Operand> missing(const Token& token) {
    return fail(token.at, fmt::format("'{}' does not exist on {}", token.text, target_name(target_)));
  }

  TokenCursor& cursor_;
  const Target target_;
  SymbolContext& symbols_;
  std::optional<Diagnostic> error_;
};

} // namespace

ParsedRegister parse_register(TokenCursor& cursor, Target target, SymbolContext& symbols) {
  return RegisterParser(cursor, target, symbols).run();
}

} // namespace lanewise::isa
