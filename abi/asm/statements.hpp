// The statements of an assembly source, one after the other, into a Program. Internal to abi/asm.
#pragma once

#include "abi/asm/assembler.hpp"
#include "abi/asm/program.hpp"
#include "isa/asm/instruction.hpp"

#include <functional>

namespace lanewise::abi::assembler {

class Statements final : public isa::SymbolContext {
public:
  Statements(std::string_view source, const AssembleOptions& options, Program& program,
             std::vector<Diagnostic>& errors);

  void run();
  [[nodiscard]] const std::optional<TargetId>& target() const { return target_; }

  // isa::SymbolContext
  std::optional<i64> absolute(std::string_view name) override;
  ExpressionPtr alias(std::string_view name) override;
  std::string here() override;
  std::string local_label(u64 number, bool forward) override;

private:
  using Directive = void (Statements::*)();
  static Directive find_directive(std::string_view name);

  // Errors and tokens. A statement that fails throws nothing: `failed_` ends it.
  void fail(SourceLocation at, std::string message);
  bool expect(std::string_view punctuation);
  void expect_end();
  std::string name(std::string_view what);
  std::optional<i64> number(); ///< an expression that has a value by now
  std::optional<i64> number_in(i64 min, i64 max, std::string_view what);
  ExpressionPtr expression();

  void line();
  void statement();
  void label(const isa::Token& token);
  void define_label(std::string_view symbol_name, SourceLocation at);
  void assign(std::string_view symbol_name, SourceLocation at, bool may_exist);
  void instruction();
  void count_registers(const isa::Inst& inst);
  void add_fixup(const isa::AssembledInst& assembled, SourceLocation at);

  // Bytes.
  Section& section() { return program_.sections[section_]; }
  void append(const void* bytes, std::size_t size); ///< zeros when null
  void append_value(u64 value, unsigned bytes) { append(&value, bytes); }
  void align(u64 alignment, std::optional<u64> fill, unsigned fill_bytes, u64 max_padding);
  void data(unsigned bytes);

  // Directives.
  void amdgcn_target();
  void code_object_version();
  void amdhsa_kernel();
  void add_descriptor(const std::string& kernel, const std::array<u8, 64>& bytes, SourceLocation at);
  void amdgpu_metadata();
  void to_section(std::string_view section_name, u64 flags, u32 section_type);
  void to_text();
  void to_data();
  void to_rodata();
  void to_bss();
  void section_directive();
  void push_section();
  void pop_section();
  void previous();
  void each_symbol(const std::function<void(Symbol&)>& apply);
  template <Binding value>
  void binding() {
    each_symbol([](Symbol& symbol) { symbol.binding = value; });
  }
  template <Visibility value>
  void visibility() {
    each_symbol([](Symbol& symbol) { symbol.visibility = value; });
  }
  void type();
  void size();
  template <bool may_exist>
  void set() {
    const SourceLocation at = cursor_.peek().at;
    const std::string symbol_name = name("a symbol");
    if (expect(",")) assign(symbol_name, at, may_exist);
  }
  void align_directive(bool power, unsigned fill_bytes);
  template <bool power, unsigned fill_bytes>
  void aligned() {
    align_directive(power, fill_bytes);
  }
  template <unsigned bytes>
  void data() {
    data(bytes);
  }
  void real_value(unsigned bytes);
  template <unsigned bytes>
  void real() {
    real_value(bytes);
  }
  void string_value(bool terminated);
  template <bool terminated>
  void string() {
    string_value(terminated);
  }
  void zero();
  void fill();
  void ignore();
  bool skipping() const { return !conditions_.empty() && !conditions_.back().active; }
  void if_();
  void if_defined(bool wanted);
  template <bool wanted>
  void if_defined() {
    if_defined(wanted);
  }
  void else_if();
  void else_();
  void endif();
  void macro();
  void repeat();
  bool call_macro(const isa::Token& token);
  void expand(const std::string& text, SourceLocation at);
  std::string body_until(std::string_view begin, std::string_view end);

  struct Condition {
    bool parent_active = true, active = true, taken = true;
  };
  struct Macro {
    std::vector<std::pair<std::string, std::string>> parameters; ///< names and defaults
    std::string body;
  };

  std::string_view source_;
  const AssembleOptions& options_;
  Program& program_;
  std::vector<Diagnostic>& errors_;
  std::vector<isa::Token> tokens_;
  isa::TokenCursor cursor_;
  std::optional<TargetId> target_;
  u32 section_ = 0, previous_section_ = 0;
  std::vector<u32> section_stack_;
  std::vector<Condition> conditions_;
  std::map<std::string, Macro, std::less<>> macros_;
  std::unordered_map<u64, unsigned> local_labels_; ///< how many of each number there are so far
  unsigned places_ = 0, expansion_depth_ = 0, expansions_ = 0;
  std::optional<SourceLocation> expanded_at_; ///< where errors inside a macro are reported
  u64 total_bytes_ = 0, expanded_bytes_ = 0;
  bool failed_ = false;
};

} // namespace lanewise::abi::assembler
