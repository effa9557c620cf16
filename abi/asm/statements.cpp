#include "abi/asm/statements.hpp"

#include "isa/registers.hpp"

#include <fmt/format.h>

namespace lanewise::abi::assembler {

using isa::Token;
using isa::TokenKind;

namespace {

constexpr std::string_view kNextFreeVgpr = ".amdgcn.next_free_vgpr", kNextFreeSgpr = ".amdgcn.next_free_sgpr";

} // namespace

Statements::Statements(std::string_view source, const AssembleOptions& options, Program& program,
                       std::vector<Diagnostic>& errors)
    : source_(source), options_(options), program_(program), errors_(errors), tokens_(isa::tokenize(source)),
      cursor_(tokens_), target_(options.target) {
  section_ = previous_section_ = program.section(".text", kAlloc | kExecute, kProgbits);
  section().alignment = 4;
  for (std::string_view counter : {kNextFreeVgpr, kNextFreeSgpr})
    program.symbols[program.symbol(counter, {})].state = Symbol::State::Absolute;
}

void Statements::run() {
  do line();
  while (errors_.size() < Assembly::kMaxErrors && cursor_.next_line());
  if (!conditions_.empty()) fail(cursor_.peek().at, "'.endif' is missing");
  if (target_) program_.target = *target_;
}

// ---------------------------------------------------------------- errors and tokens

void Statements::fail(SourceLocation at, std::string message) {
  if (failed_) return;
  failed_ = true;
  if (expanded_at_) message = fmt::format("in the expansion, line {}: {}", at.line, message);
  errors_.push_back({expanded_at_.value_or(at), std::move(message)});
}

bool Statements::expect(std::string_view punctuation) {
  if (failed_) return false;
  if (cursor_.accept(punctuation)) return true;
  fail(cursor_.peek().at, fmt::format("expected '{}'", punctuation));
  return false;
}

void Statements::expect_end() {
  const Token& token = cursor_.peek();
  if (failed_ || cursor_.at_end()) return;
  fail(token.at, token.is(TokenKind::Error) ? std::string(token.text) : "expected the end of the line");
}

std::string Statements::name(std::string_view what) {
  const Token& token = cursor_.peek();
  if (token.is(TokenKind::Identifier)) return std::string(cursor_.next().text);
  if (token.is(TokenKind::String)) return isa::unescape(cursor_.next().text);
  fail(token.at, fmt::format("expected {}", what));
  return {};
}

ExpressionPtr Statements::expression() {
  auto parsed = isa::parse_expression(cursor_, *this);
  if (auto* e = std::get_if<ExpressionPtr>(&parsed)) return std::move(*e);
  auto& error = std::get<Diagnostic>(parsed);
  fail(error.at, std::move(error.message));
  return nullptr;
}

std::optional<i64> Statements::number() {
  const SourceLocation at = cursor_.peek().at;
  const ExpressionPtr e = failed_ ? nullptr : expression();
  if (!e) return std::nullopt;
  auto value = Evaluator(program_, false).evaluate(*e);
  if (auto* error = std::get_if<Diagnostic>(&value)) {
    fail(at, std::move(error->message));
    return std::nullopt;
  }
  return std::get<Value>(value).number;
}

std::optional<i64> Statements::number_in(i64 min, i64 max, std::string_view what) {
  const SourceLocation at = cursor_.peek().at;
  const std::optional<i64> value = number();
  if (!value || (*value >= min && *value <= max)) return value;
  fail(at, fmt::format("{} must be from {} to {}", what, min, max));
  return std::nullopt;
}

// ---------------------------------------------------------------- symbols

std::optional<i64> Statements::absolute(std::string_view symbol_name) {
  const Symbol* symbol = program_.find(symbol_name);
  if (symbol && symbol->state == Symbol::State::Absolute) return symbol->value;
  return std::nullopt;
}

ExpressionPtr Statements::alias(std::string_view symbol_name) {
  const Symbol* symbol = program_.find(symbol_name);
  return symbol && symbol->state == Symbol::State::Alias ? symbol->expression : nullptr;
}

// Names with \1 cannot be written, and stay out of the symbol table.
std::string Statements::here() {
  std::string symbol_name = fmt::format("\1.{}", places_++);
  define_label(symbol_name, cursor_.peek().at);
  return symbol_name;
}

std::string Statements::local_label(u64 number, bool forward) {
  const unsigned count = local_labels_[number];
  if (!forward && count == 0) return {};
  return fmt::format("\1{}.{}", number, forward ? count + 1 : count);
}

void Statements::define_label(std::string_view symbol_name, SourceLocation at) {
  Symbol& symbol = program_.symbols[program_.symbol(symbol_name, at)];
  if (symbol.state != Symbol::State::Undefined)
    return fail(at, fmt::format("'{}' is defined twice", symbol_name));
  symbol.state = Symbol::State::Label;
  symbol.section = section_;
  symbol.offset = section().bytes.size();
}

void Statements::label(const Token& token) {
  if (token.is(TokenKind::Identifier)) return define_label(token.text, token.at);
  const unsigned count = ++local_labels_[token.integer];
  define_label(fmt::format("\1{}.{}", token.integer, count), token.at);
}

void Statements::assign(std::string_view symbol_name, SourceLocation at, bool may_exist) {
  const ExpressionPtr e = expression();
  if (!e) return;
  if (symbol_name == ".") return fail(at, "the location cannot be set; use .zero or .p2align");
  Symbol& symbol = program_.symbols[program_.symbol(symbol_name, at)];
  const bool redefines =
      symbol.state == Symbol::State::Label || (!may_exist && symbol.state != Symbol::State::Undefined);
  if (redefines) return fail(at, fmt::format("'{}' is defined already", symbol_name));
  symbol.state = e->is_constant() ? Symbol::State::Absolute : Symbol::State::Alias;
  symbol.value = e->value;
  symbol.expression = e->is_constant() ? nullptr : e;
}

// ---------------------------------------------------------------- statements

void Statements::line() {
  failed_ = false;
  if (skipping()) {
    const Token& token = cursor_.peek();
    static constexpr std::string_view kConditional[] = {".if",   ".ifdef",  ".ifndef",
                                                        ".else", ".elseif", ".endif"};
    bool conditional = false;
    for (std::string_view word : kConditional) conditional |= token.is_identifier(word);
    if (!conditional) return;
  }
  while ((cursor_.peek().is(TokenKind::Identifier) || cursor_.peek().is(TokenKind::Integer)) &&
         cursor_.peek(1).is(":")) {
    label(cursor_.next());
    cursor_.next();
  }
  if (!cursor_.at_end() && !failed_) statement();
}

void Statements::statement() {
  const Token token = cursor_.peek();
  if (token.is(TokenKind::Identifier) && cursor_.peek(1).is("=")) {
    cursor_.next();
    cursor_.next();
    assign(token.text, token.at, true);
    return expect_end();
  }
  if (token.is(TokenKind::Identifier) && call_macro(token)) return;
  if (!token.is(TokenKind::Identifier) || token.text[0] != '.') return instruction();
  const Directive directive = find_directive(token.text);
  if (!directive) return fail(token.at, fmt::format("unknown directive '{}'", token.text));
  cursor_.next();
  (this->*directive)();
  expect_end();
}

void Statements::instruction() {
  const SourceLocation at = cursor_.peek().at;
  if (!target_) return fail(at, "no target: the source needs .amdgcn_target, or the command --target");
  auto parsed = isa::parse_instruction(cursor_, target_->isa, *this, {.permissive = options_.permissive});
  if (auto* error = std::get_if<Diagnostic>(&parsed)) return fail(error->at, std::move(error->message));
  const auto& assembled = std::get<isa::AssembledInst>(parsed);
  if (section().bytes.size() % 4 != 0) return fail(at, "the instruction is not at a multiple of 4 bytes");
  count_registers(assembled.inst);
  add_fixup(assembled, at);
  append(assembled.words.words.data(), 4 * assembled.words.count);
}

/// Keeps .amdgcn.next_free_vgpr and _sgpr above every register that instructions name.
void Statements::count_registers(const isa::Inst& inst) {
  const auto raise = [this](std::string_view counter, i64 count) {
    Symbol& symbol = program_.symbols[program_.symbol(counter, {})];
    if (symbol.state == Symbol::State::Absolute) symbol.value = std::max(symbol.value, count);
  };
  const auto count = [&](const isa::Operand& operand) {
    const i64 end = operand.index + std::max<i64>(operand.dwords, 1);
    if (operand.is(isa::OperandKind::Vgpr)) raise(kNextFreeVgpr, end);
    if (operand.is(isa::OperandKind::Sgpr) && operand.index < isa::num_sgprs(target_->isa))
      raise(kNextFreeSgpr, end);
  };
  for (const isa::Operand& operand : inst.dst) count(operand);
  for (const isa::Operand& operand : inst.src) count(operand);
}

void Statements::add_fixup(const isa::AssembledInst& assembled, SourceLocation at) {
  if (!assembled.fixup) return;
  const bool branch = assembled.fixup->kind == isa::InstructionFixup::Kind::Branch16;
  program_.fixups.push_back({.kind = branch ? Fixup::Kind::Branch16 : Fixup::Kind::Literal32,
                             .section = section_,
                             .offset = section().bytes.size() + assembled.fixup->offset,
                             .expression = assembled.fixup->expression,
                             .at = expanded_at_.value_or(at)});
}

// ---------------------------------------------------------------- bytes

void Statements::append(const void* bytes, std::size_t size) {
  constexpr u64 kMaxBytes = 256u << 20;
  if (failed_) return;
  total_bytes_ += size;
  if (total_bytes_ > kMaxBytes) return fail(cursor_.peek().at, "the program is larger than 256 MiB");
  auto& out = section().bytes;
  const std::size_t at = out.size();
  out.resize(at + size); // with zeros
  if (bytes && size) std::memcpy(out.data() + at, bytes, size);
}

/// Pads code with s_nop, anything else with zeros, unless told otherwise.
void Statements::align(u64 alignment, std::optional<u64> fill, unsigned fill_bytes, u64 max_padding) {
  section().alignment = std::max(section().alignment, alignment);
  const u64 size = section().bytes.size(), padding = align_up(size, alignment) - size;
  if (padding > max_padding) return;
  const bool code = section().flags & kExecute;
  const u64 value = fill.value_or(code ? 0xbf800000 : 0);
  const unsigned unit = fill ? fill_bytes : 4;
  append(nullptr, padding % unit);
  for (u64 done = padding % unit; done < padding && !failed_; done += unit) append_value(value, unit);
}

void Statements::data(unsigned bytes) {
  if (cursor_.at_end()) return;
  do {
    const SourceLocation at = cursor_.peek().at;
    const ExpressionPtr e = expression();
    if (!e) return;
    if (e->is_constant()) {
      const i64 limit = bytes == 8 ? 0 : i64{1} << (8 * bytes);
      if (bytes < 8 && (e->value < -limit / 2 || e->value >= limit))
        return fail(at, fmt::format("{} does not fit {} bytes", e->value, bytes));
    } else {
      program_.fixups.push_back({.kind = Fixup::Kind::Data,
                                 .section = section_,
                                 .offset = section().bytes.size(),
                                 .bytes = static_cast<u8>(bytes),
                                 .expression = e,
                                 .at = expanded_at_.value_or(at)});
    }
    append_value(static_cast<u64>(e->value), bytes);
  } while (!failed_ && cursor_.accept(","));
}

// ---------------------------------------------------------------- macros and conditions

/// The source from the next line to the one that `end` closes, which is left as the current line.
std::string Statements::body_until(std::string_view begin, std::string_view end) {
  const SourceLocation at = cursor_.peek().at;
  while (!cursor_.at_end()) cursor_.next();
  const char* first = cursor_.peek().text.data();
  unsigned depth = 1;
  while (cursor_.next_line()) {
    const Token& token = cursor_.peek();
    if (token.is_identifier(begin)) ++depth;
    if (!token.is_identifier(end) || --depth > 0) continue;
    cursor_.next();
    return {first, static_cast<std::size_t>(token.text.data() - first)};
  }
  fail(at, fmt::format("'{}' is missing", end));
  return {};
}

void Statements::macro() {
  const std::string macro_name = name("the macro's name");
  Macro definition;
  cursor_.accept(",");
  while (!failed_ && !cursor_.at_end()) {
    std::string parameter = name("a parameter"), value;
    if (cursor_.accept(":")) cursor_.next(); // :req, :vararg
    if (cursor_.accept("="))
      while (!cursor_.at_end() && !cursor_.peek().is(",")) value += cursor_.next().text;
    definition.parameters.emplace_back(std::move(parameter), std::move(value));
    cursor_.accept(",");
  }
  definition.body = body_until(".macro", ".endm");
  if (!failed_) macros_[macro_name] = std::move(definition);
}

void Statements::repeat() {
  const auto count = number_in(0, 100000, "the repetition count");
  const std::string body = body_until(".rept", ".endr");
  const SourceLocation at = cursor_.peek().at;
  for (i64 i = 0; count && i < *count && !failed_ && errors_.size() < Assembly::kMaxErrors; ++i)
    expand(body, at);
}

/// Runs the statement as a macro, if it is one. \name in the body stands for the argument, \@ for a number of
/// its own.
bool Statements::call_macro(const Token& token) {
  const auto it = macros_.find(token.text);
  if (it == macros_.end()) return false;
  const Macro definition = it->second;
  cursor_.next();
  std::vector<std::string> arguments;
  while (!cursor_.at_end()) { // Arguments end at commas that are not in brackets.
    const char* first = cursor_.peek().text.data();
    const char* last = first;
    for (int depth = 0; !cursor_.at_end() && (depth > 0 || !cursor_.peek().is(","));) {
      const Token& part = cursor_.next();
      depth += part.is("(") || part.is("[");
      depth -= part.is(")") || part.is("]");
      last = part.text.data() + part.text.size() + (part.is(TokenKind::String) ? 1 : 0);
      if (part.is(TokenKind::Error)) {
        fail(part.at, std::string(part.text));
        return true;
      }
    }
    if (source_.data() < first && first[-1] == '"') --first;
    arguments.emplace_back(first, static_cast<std::size_t>(last - first));
    if (!cursor_.accept(",")) break;
  }
  if (arguments.size() > definition.parameters.size()) {
    fail(token.at, fmt::format("the macro takes {} arguments", definition.parameters.size()));
    return true;
  }
  const std::string unique = fmt::format("{}", expansions_++);
  std::string text;
  for (std::size_t i = 0; i < definition.body.size(); ++i) {
    const std::string_view rest = std::string_view(definition.body).substr(i);
    if (rest.starts_with("\\@") || rest.starts_with("\\()")) {
      text += rest[1] == '@' ? unique : "";
      i += rest[1] == '@' ? 1 : 2;
      continue;
    }
    std::size_t longest = 0, which = 0;
    for (std::size_t p = 0; rest[0] == '\\' && p < definition.parameters.size(); ++p) {
      const std::string& parameter = definition.parameters[p].first;
      if (rest.substr(1).starts_with(parameter) && parameter.size() > longest)
        longest = parameter.size(), which = p;
    }
    if (longest == 0) {
      text += rest[0];
      continue;
    }
    const bool given = which < arguments.size() && !arguments[which].empty();
    text += given ? arguments[which] : definition.parameters[which].second;
    i += longest;
  }
  expand(text, token.at);
  return true;
}

/// Assembles `text` in the place of the current statement; errors are reported at `at`.
void Statements::expand(const std::string& text, SourceLocation at) {
  constexpr unsigned kMaxDepth = 50;
  constexpr u64 kMaxText = 64u << 20;
  expanded_bytes_ += text.size() + 1;
  if (expansion_depth_ >= kMaxDepth || expanded_bytes_ > kMaxText)
    return fail(at, "the macros expand without end");
  ++expansion_depth_;
  const auto outer_cursor = cursor_;
  const auto outer_source = source_;
  const auto outer_at = expanded_at_;
  if (!expanded_at_) expanded_at_ = at;
  const std::vector<Token> tokens = isa::tokenize(text);
  source_ = text;
  cursor_ = isa::TokenCursor(tokens);
  bool failed = false;
  do {
    line();
    failed |= failed_;
  } while (errors_.size() < Assembly::kMaxErrors && cursor_.next_line());
  failed_ = failed;
  cursor_ = outer_cursor;
  source_ = outer_source;
  expanded_at_ = outer_at;
  --expansion_depth_;
}

void Statements::if_() {
  Condition condition{.parent_active = !skipping()};
  if (condition.parent_active)
    condition.active = condition.taken = number().value_or(0) != 0;
  else
    condition.active = false, ignore();
  conditions_.push_back(condition);
}

void Statements::if_defined(bool wanted) {
  Condition condition{.parent_active = !skipping()};
  const Symbol* symbol = program_.find(name("a symbol"));
  const bool defined = symbol && symbol->state != Symbol::State::Undefined;
  condition.active = condition.taken = condition.parent_active && defined == wanted;
  conditions_.push_back(condition);
}

void Statements::else_if() {
  if (conditions_.empty()) return fail(cursor_.peek().at, "there is no '.if' before");
  Condition& condition = conditions_.back();
  const bool look = condition.parent_active && !condition.taken;
  condition.active = true; // so that the expression is read
  const bool value = look ? number().value_or(0) != 0 : (ignore(), false);
  condition.active = value;
  condition.taken |= value;
}

void Statements::else_() {
  if (conditions_.empty()) return fail(cursor_.peek().at, "there is no '.if' before");
  Condition& condition = conditions_.back();
  condition.active = condition.parent_active && !condition.taken;
  condition.taken = true;
}

void Statements::endif() {
  if (conditions_.empty()) return fail(cursor_.peek().at, "there is no '.if' before");
  conditions_.pop_back();
}

} // namespace lanewise::abi::assembler
