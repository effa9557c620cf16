#include "abi/asm/link.hpp"

#include "abi/asm/elf_writer.hpp"

#include <fmt/format.h>

namespace lanewise::abi::assembler {
namespace {

using isa::Expression;
using isa::SymbolVariant;

/// The reference in an expression that says how it is to be relocated, or null.
const Expression* relocated_symbol(const Expression& e) {
  if (e.kind == Expression::Kind::Symbol) return e.variant == SymbolVariant::None ? nullptr : &e;
  const Expression* found = e.lhs ? relocated_symbol(*e.lhs) : nullptr;
  return found || !e.rhs ? found : relocated_symbol(*e.rhs);
}

bool is_got(SymbolVariant variant) {
  return variant == SymbolVariant::GotPcRel || variant == SymbolVariant::GotPcRel32Lo ||
         variant == SymbolVariant::GotPcRel32Hi;
}

bool fits(i64 value, unsigned bytes) {
  if (bytes == 8) return true;
  const unsigned width = 8 * bytes;
  return value >= -(i64{1} << (width - 1)) && value < (i64{1} << width);
}

class Linker {
public:
  Linker(Program& program, std::vector<Diagnostic>& errors) : program_(program), errors_(errors) {}

  std::vector<u8> run() {
    finish_descriptors();
    make_got();
    // How many relocations there are does not depend on where things lie, but where things lie depends on it.
    ElfWriter(program_, 0);
    resolve();
    if (!errors_.empty()) return {};
    ElfWriter writer(program_, relocations_.size());
    resolve();
    check_symbols();
    return errors_.empty() ? writer.write(relocations_) : std::vector<u8>();
  }

private:
  void fail(SourceLocation at, std::string message) { errors_.push_back({at, std::move(message)}); }

  /// A descriptor is as visible as its kernel, which must not be pre-empted, since the descriptor holds its
  /// distance.
  void finish_descriptors() {
    for (const DescriptorLink& link : program_.descriptors) {
      Symbol& code = program_.symbols[link.code];
      Symbol& descriptor = program_.symbols[link.descriptor];
      descriptor.binding = code.binding;
      descriptor.visibility = code.visibility;
      if (code.visibility == Visibility::Default) code.visibility = Visibility::Protected;
    }
  }

  void make_got() {
    for (const Fixup& fixup : program_.fixups)
      if (const Expression* e = relocated_symbol(*fixup.expression); e && is_got(e->variant))
        got_.try_emplace(e->symbol, 0);
    if (got_.empty()) return;
    got_section_ = program_.section(".got", kAlloc | kWrite, kProgbits);
    Section& section = program_.sections[got_section_];
    section.alignment = std::max<u64>(section.alignment, 8);
    section.bytes.resize(align_up<std::size_t>(section.bytes.size(), 8));
    for (auto& [name, offset] : got_) {
      offset = section.bytes.size();
      section.bytes.resize(offset + 8);
    }
  }

  void resolve() {
    relocations_.clear();
    for (const Fixup& fixup : program_.fixups)
      if (errors_.size() < 20) resolve(fixup);
    for (const auto& [name, offset] : got_) {
      const auto address = address_of(name);
      if (!address) continue;
      const Section& section = program_.sections[got_section_];
      relocations_.push_back({section.address + offset, static_cast<i64>(*address)});
    }
  }

  std::optional<u64> address_of(const std::string& name) {
    Expression reference;
    reference.kind = Expression::Kind::Symbol;
    reference.symbol = name;
    const auto value = Evaluator(program_, true).evaluate(reference);
    if (auto* v = std::get_if<Value>(&value)) return static_cast<u64>(v->number);
    return std::nullopt;
  }

  void resolve(const Fixup& fixup) {
    const auto evaluated = Evaluator(program_, true).evaluate(*fixup.expression);
    if (auto* error = std::get_if<Diagnostic>(&evaluated)) return errors_.push_back(*error);
    const Value value = std::get<Value>(evaluated);
    const auto place = static_cast<i64>(program_.sections[fixup.section].address + fixup.offset);
    if (fixup.kind == Fixup::Kind::Branch16) return branch(fixup, value, place);
    const Expression* reference = relocated_symbol(*fixup.expression);
    if (reference) return relocated(fixup, value, place, *reference);
    if (value.addresses == 0) return number(fixup, value.number);
    if (value.addresses != 1) return fail(fixup.at, "the expression is neither a number nor an address");
    // A bare symbol as a literal is relative to the literal.
    if (fixup.kind == Fixup::Kind::Literal32) return number(fixup, value.number - place);
    if (fixup.bytes != 8) return fail(fixup.at, "an address needs 8 bytes: .quad");
    if (!(program_.sections[fixup.section].flags & kWrite))
      return fail(
          fixup.at,
          "an address is known only after loading, so it must be in a writable section, such as .data");
    put(fixup, 0, 8);
    relocations_.push_back({static_cast<u64>(place), value.number});
  }

  void relocated(const Fixup& fixup, Value value, i64 place, const Expression& reference) {
    if (is_got(reference.variant)) {
      const auto target = address_of(reference.symbol);
      if (!target) return;
      const u64 slot = program_.sections[got_section_].address + got_[reference.symbol];
      value.number += static_cast<i64>(slot - *target);
    }
    switch (reference.variant) {
    case SymbolVariant::Abs32Lo:
    case SymbolVariant::Abs32Hi:
      if (value.addresses != 0)
        return fail(fixup.at, "the address is known only after loading; use @rel32@lo and @rel32@hi");
      return put(fixup,
                 static_cast<u64>(value.number) >> (reference.variant == SymbolVariant::Abs32Hi ? 32 : 0),
                 fixup.bytes);
    case SymbolVariant::Rel32Hi:
    case SymbolVariant::GotPcRel32Hi:
      return put(fixup, static_cast<u64>(value.number - place) >> 32, fixup.bytes);
    case SymbolVariant::GotPcRel: return number(fixup, value.number - place);
    default: return put(fixup, static_cast<u64>(value.number - place), fixup.bytes);
    }
  }

  void branch(const Fixup& fixup, Value value, i64 place) {
    const i64 distance = value.number - (place + 4);
    if (value.addresses != 1) return fail(fixup.at, "expected a label");
    if (distance % 4 != 0) return fail(fixup.at, "the label is not at a multiple of 4 bytes");
    if (distance / 4 < INT16_MIN || distance / 4 > INT16_MAX)
      return fail(fixup.at, fmt::format("the label is {} bytes away, more than a branch reaches", distance));
    put(fixup, static_cast<u64>(distance / 4), 2);
  }

  void number(const Fixup& fixup, i64 value) {
    const unsigned bytes = fixup.kind == Fixup::Kind::Literal32 ? 4 : fixup.bytes;
    if (!fits(value, bytes))
      return fail(fixup.at, fmt::format("the value {} does not fit {} bytes", value, bytes));
    put(fixup, static_cast<u64>(value), bytes);
  }

  void put(const Fixup& fixup, u64 value, unsigned bytes) {
    std::memcpy(program_.sections[fixup.section].bytes.data() + fixup.offset, &value, bytes);
  }

  void check_symbols() {
    for (const Symbol& symbol : program_.symbols) {
      for (const ExpressionPtr& e :
           {symbol.size, symbol.state == Symbol::State::Alias ? symbol.expression : nullptr}) {
        if (!e || errors_.size() >= 20) continue;
        const auto value = Evaluator(program_, true).evaluate(*e);
        if (auto* error = std::get_if<Diagnostic>(&value)) errors_.push_back(*error);
      }
    }
  }

  Program& program_;
  std::vector<Diagnostic>& errors_;
  std::map<std::string, u64> got_; ///< offset of each symbol's slot
  u32 got_section_ = kNoSection;
  std::vector<RelativeRelocation> relocations_;
};

} // namespace

std::vector<u8> link(Program& program, std::vector<Diagnostic>& errors) {
  return Linker(program, errors).run();
}

} // namespace lanewise::abi::assembler
