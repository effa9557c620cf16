#include "abi/asm/program.hpp"

#include <fmt/format.h>

namespace lanewise::abi::assembler {

using isa::Expression;

u32 Program::symbol(std::string_view name, SourceLocation at) {
  const auto [it, inserted] = symbol_index.try_emplace(std::string(name), static_cast<u32>(symbols.size()));
  if (inserted) {
    symbols.emplace_back();
    symbols.back().name = name;
    symbols.back().at = at;
  }
  return it->second;
}

const Symbol* Program::find(std::string_view name) const {
  const auto it = symbol_index.find(std::string(name));
  return it == symbol_index.end() ? nullptr : &symbols[it->second];
}

u32 Program::section(std::string_view name, u64 flags, u32 type) {
  for (u32 i = 0; i < sections.size(); ++i)
    if (sections[i].name == name) return i;
  sections.emplace_back();
  sections.back().name = name;
  sections.back().flags = flags;
  sections.back().type = type;
  return static_cast<u32>(sections.size() - 1);
}

std::nullopt_t Evaluator::fail(SourceLocation at, std::string message) {
  if (!error_) error_ = Diagnostic{at, std::move(message)};
  return std::nullopt;
}

std::variant<Value, Diagnostic> Evaluator::evaluate(const Expression& expression) {
  steps_ = 0;
  error_.reset();
  const std::optional<Partial> result = visit(expression, 0);
  if (!result) return *std::move(error_);
  Value value{.number = result->number, .addresses = result->addresses};
  for (const auto& [section, count] : result->sections)
    if (count != 0) return Diagnostic{expression.at, "expected a number that is known here"};
  return value;
}

std::optional<Evaluator::Partial> Evaluator::symbol(const Expression& reference, unsigned depth) {
  const Symbol* symbol = program_.find(reference.symbol);
  Partial out;
  switch (symbol ? symbol->state : Symbol::State::Undefined) {
  case Symbol::State::Undefined:
    if (symbol && symbol->binding == Binding::Weak && laid_out_) return out;
    return fail(reference.at, fmt::format("undefined symbol '{}'", reference.symbol));
  case Symbol::State::Absolute: out.number = symbol->value; return out;
  case Symbol::State::Alias: return visit(*symbol->expression, depth + 1);
  case Symbol::State::Label: break;
  }
  out.number = static_cast<i64>(symbol->offset);
  if (laid_out_) {
    out.number += static_cast<i64>(program_.sections[symbol->section].address);
    out.addresses = 1;
  } else {
    out.sections[symbol->section] = 1;
  }
  return out;
}

std::optional<Evaluator::Partial> Evaluator::visit(const Expression& e, unsigned depth) {
  // Aliases can refer to aliases: without limits a short source could mean an endless or an exponential
  // evaluation.
  constexpr unsigned kMaxDepth = 3000, kMaxSteps = 200000;
  if (depth > kMaxDepth || ++steps_ > kMaxSteps)
    return fail(e.at, "the expression is too deep, or refers to itself");
  if (e.is_constant()) return Partial{.number = e.value, .sections = {}, .addresses = 0};
  if (e.kind == Expression::Kind::Symbol) return symbol(e, depth);
  std::optional<Partial> lhs = visit(*e.lhs, depth + 1);
  if (!lhs) return std::nullopt;
  const auto is_number = [](const Partial& p) {
    for (const auto& [section, count] : p.sections)
      if (count != 0) return false;
    return p.addresses == 0;
  };
  if (e.kind == Expression::Kind::Unary) {
    if (!is_number(*lhs)) return fail(e.at, fmt::format("'{}' of an address is not possible", e.op));
    lhs->number = *isa::apply_unary(e.op, lhs->number);
    return lhs;
  }
  const std::optional<Partial> rhs = visit(*e.rhs, depth + 1);
  if (!rhs) return std::nullopt;
  if (e.op == "+" || e.op == "-") {
    const int sign = e.op == "+" ? 1 : -1;
    lhs->number = *isa::apply_binary(e.op, lhs->number, rhs->number);
    lhs->addresses += sign * rhs->addresses;
    for (const auto& [section, count] : rhs->sections) lhs->sections[section] += sign * count;
    return lhs;
  }
  if (!is_number(*lhs) || !is_number(*rhs))
    return fail(e.at, fmt::format("'{}' of addresses is not possible", e.op));
  const auto value = isa::apply_binary(e.op, lhs->number, rhs->number);
  if (!value) return fail(e.at, "division by zero");
  lhs->number = *value;
  return lhs;
}

} // namespace lanewise::abi::assembler
