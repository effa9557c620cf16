// A program between source and ELF file: sections with bytes, symbols, and places that wait for the values of
// symbols.
#pragma once

#include "abi/target_id.hpp"
#include "isa/asm/expression.hpp"

#include <map>
#include <unordered_map>

namespace lanewise::abi::assembler {

using isa::Diagnostic;
using isa::ExpressionPtr;
using isa::SourceLocation;

inline constexpr u32 kNoSection = ~0u;

/// sh_flags and sh_type values that the assembler knows (System V gABI).
inline constexpr u64 kWrite = 1, kAlloc = 2, kExecute = 4;
inline constexpr u32 kProgbits = 1, kNote = 7, kNobits = 8;

struct Section {
  std::string name;
  u64 flags = kAlloc;
  u32 type = kProgbits;
  u64 alignment = 1;
  std::vector<u8> bytes; ///< of NOBITS sections too, all zero
  u64 address = 0;       ///< set by the layout
};

enum class Binding : u8 { Local, Global, Weak };
enum class Visibility : u8 { Default, Internal, Hidden, Protected };
enum class SymbolType : u8 { None, Object, Function };

struct Symbol {
  std::string name;
  enum class State : u8 { Undefined, Label, Absolute, Alias } state = State::Undefined;
  u32 section = kNoSection; ///< Label
  u64 offset = 0;           ///< Label
  i64 value = 0;            ///< Absolute
  ExpressionPtr expression; ///< Alias
  ExpressionPtr size;       ///< .size
  SourceLocation at;        ///< of the first mention
  Binding binding = Binding::Local;
  Visibility visibility = Visibility::Default;
  SymbolType type = SymbolType::None;

  [[nodiscard]] bool is_temporary() const { return name.starts_with(".L"); }
};

/// A place that gets the value of an expression.
struct Fixup {
  enum class Kind : u8 { Branch16, Literal32, Data };
  Kind kind = Kind::Data;
  u32 section = 0;
  u64 offset = 0;
  u8 bytes = 4; ///< of Data: 1, 2, 4 or 8
  ExpressionPtr expression;
  SourceLocation at;
};

/// A kernel descriptor and the code it belongs to.
struct DescriptorLink {
  u32 descriptor = 0, code = 0; ///< symbols
};

struct Program {
  TargetId target;
  unsigned code_object_version = 4;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;
  std::unordered_map<std::string, u32> symbol_index;
  std::vector<Fixup> fixups;
  std::vector<DescriptorLink> descriptors;
  std::vector<u8> metadata; ///< MessagePack; empty when there is none

  /// The symbol of that name, made if it does not exist.
  u32 symbol(std::string_view name, SourceLocation at);
  [[nodiscard]] const Symbol* find(std::string_view name) const;
  /// The section of that name, made with these attributes if it does not exist.
  u32 section(std::string_view name, u64 flags, u32 type);
};

/// The value of an expression: a number plus `addresses` times the load address (0: a number, 1: an address).
struct Value {
  i64 number = 0;
  int addresses = 0;
};

/// Evaluates expressions over a program's symbols. Before the layout, sections lie at unrelated places, so
/// only differences within one section are numbers; after it, every symbol has an address.
class Evaluator {
public:
  Evaluator(const Program& program, bool laid_out) : program_(program), laid_out_(laid_out) {}

  /// The value, or what keeps it from being known.
  std::variant<Value, Diagnostic> evaluate(const isa::Expression& expression);

private:
  struct Partial {
    i64 number = 0;
    std::map<u32, int> sections; ///< how often each section's address is added, before the layout
    int addresses = 0;           ///< after it
  };
  std::optional<Partial> visit(const isa::Expression& expression, unsigned depth);
  std::optional<Partial> symbol(const isa::Expression& reference, unsigned depth);
  std::nullopt_t fail(SourceLocation at, std::string message);

  const Program& program_;
  const bool laid_out_;
  unsigned steps_ = 0;
  std::optional<Diagnostic> error_;
};

} // namespace lanewise::abi::assembler
