// The directives: one table, one function each.
#include "abi/asm/kernel_directives.hpp"
#include "abi/asm/statements.hpp"
#include "abi/yaml.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <bit>

namespace lanewise::abi::assembler {

using isa::Token;
using isa::TokenKind;

Statements::Directive Statements::find_directive(std::string_view directive) {
  using S = Statements;
  // clang-format off
  static const std::map<std::string_view, Directive> kDirectives = {
      {".amdgcn_target", &S::amdgcn_target}, {".amdhsa_code_object_version", &S::code_object_version},
      {".amdhsa_kernel", &S::amdhsa_kernel}, {".amdgpu_metadata", &S::amdgpu_metadata},
      {".text", &S::to_text}, {".data", &S::to_data}, {".rodata", &S::to_rodata}, {".bss", &S::to_bss},
      {".section", &S::section_directive}, {".pushsection", &S::push_section}, {".popsection", &S::pop_section}, {".previous", &S::previous},
      {".globl", &S::binding<Binding::Global>}, {".global", &S::binding<Binding::Global>}, {".weak", &S::binding<Binding::Weak>},
      {".local", &S::binding<Binding::Local>}, {".hidden", &S::visibility<Visibility::Hidden>},
      {".internal", &S::visibility<Visibility::Internal>}, {".protected", &S::visibility<Visibility::Protected>},
      {".type", &S::type}, {".size", &S::size}, {".set", &S::set<true>}, {".equ", &S::set<true>}, {".equiv", &S::set<false>},
      {".p2align", &S::aligned<true, 1>}, {".p2alignw", &S::aligned<true, 2>}, {".p2alignl", &S::aligned<true, 4>},
      {".balign", &S::aligned<false, 1>}, {".balignw", &S::aligned<false, 2>}, {".balignl", &S::aligned<false, 4>}, {".align", &S::aligned<false, 1>},
      {".byte", &S::data<1>}, {".short", &S::data<2>}, {".hword", &S::data<2>}, {".2byte", &S::data<2>}, {".value", &S::data<2>},
      {".long", &S::data<4>}, {".int", &S::data<4>}, {".word", &S::data<4>}, {".4byte", &S::data<4>}, {".quad", &S::data<8>}, {".8byte", &S::data<8>},
      {".float", &S::real<4>}, {".single", &S::real<4>}, {".double", &S::real<8>},
      {".ascii", &S::string<false>}, {".asciz", &S::string<true>}, {".string", &S::string<true>},
      {".zero", &S::zero}, {".skip", &S::zero}, {".space", &S::zero}, {".fill", &S::fill},
      {".if", &S::if_}, {".ifdef", &S::if_defined<true>}, {".ifndef", &S::if_defined<false>}, {".elseif", &S::else_if}, {".else", &S::else_}, {".endif", &S::endif},
      {".macro", &S::macro}, {".rept", &S::repeat},
      // Written by compilers, without influence on code.
      {".file", &S::ignore}, {".ident", &S::ignore}, {".loc", &S::ignore}, {".addrsig", &S::ignore}, {".addrsig_sym", &S::ignore},
      {".cfi_startproc", &S::ignore}, {".cfi_endproc", &S::ignore}, {".cfi_sections", &S::ignore},
  };
  // clang-format on
  const auto it = kDirectives.find(directive);
  return it == kDirectives.end() ? nullptr : it->second;
}

void Statements::ignore() {
  while (!cursor_.at_end()) cursor_.next();
}

// ---------------------------------------------------------------- target, kernels, metadata

void Statements::amdgcn_target() {
  const SourceLocation at = cursor_.peek().at;
  const std::string text = name("a target in quotes");
  if (failed_) return;
  auto target = parse_target_id(text);
  if (!target) return fail(at, target.error().message);
  if (options_.target && options_.target->isa != target->isa)
    return fail(at, fmt::format("the source is for {}, but {} was asked for", target->processor,
                                options_.target->processor));
  if (target_ && !options_.target && target_->to_string() != target->to_string())
    return fail(at, "the source names two targets");
  target_ = *target;
}

void Statements::code_object_version() {
  const SourceLocation at = cursor_.peek().at;
  const auto version = number();
  if (!version) return;
  if (*version < 3 || *version > 6) return fail(at, "code object versions 3 to 6 can be written");
  program_.code_object_version = static_cast<unsigned>(*version);
}

void Statements::amdhsa_kernel() {
  const SourceLocation at = cursor_.peek().at;
  const std::string kernel = name("the kernel's name");
  if (failed_) return;
  if (!target_) return fail(at, "no target: the source needs .amdgcn_target, or the command --target");
  expect_end();
  KernelFields fields(*target_);
  bool good = true;
  for (;;) {
    good &= !failed_;
    failed_ = false;
    if (errors_.size() >= Assembly::kMaxErrors) return;
    if (!cursor_.next_line()) return fail(at, "'.end_amdhsa_kernel' is missing");
    if (cursor_.at_end()) continue;
    const Token token = cursor_.next();
    if (token.is_identifier(".end_amdhsa_kernel")) break;
    if (!token.is(TokenKind::Identifier) || !token.text.starts_with(".amdhsa_")) {
      fail(token.at, "expected an .amdhsa_ directive or .end_amdhsa_kernel");
      continue;
    }
    const auto value = number();
    if (!value) continue;
    if (std::string error = fields.set(token.text.substr(1), *value); !error.empty())
      fail(token.at, std::move(error));
    expect_end();
  }
  if (!good) return;
  auto bytes = fields.descriptor();
  if (auto* error = std::get_if<std::string>(&bytes)) return fail(at, std::move(*error));
  add_descriptor(kernel, std::get<0>(bytes), at);
}

void Statements::add_descriptor(const std::string& kernel, const std::array<u8, 64>& bytes,
                                SourceLocation at) {
  constexpr u64 kDescriptorAlignment = 64, kEntryOffset = 16;
  align(kDescriptorAlignment, std::nullopt, 1, kDescriptorAlignment);
  const std::string descriptor = kernel + ".kd";
  define_label(descriptor, at);
  if (failed_) return;
  const auto reference = [&](const std::string& symbol_name) {
    isa::Expression e;
    e.kind = isa::Expression::Kind::Symbol;
    e.symbol = symbol_name;
    e.at = at;
    return std::make_shared<const isa::Expression>(std::move(e));
  };
  isa::Expression distance;
  distance.kind = isa::Expression::Kind::Binary;
  distance.op = "-";
  distance.lhs = reference(kernel);
  distance.rhs = reference(descriptor);
  distance.at = at;
  program_.fixups.push_back({.kind = Fixup::Kind::Data,
                             .section = section_,
                             .offset = section().bytes.size() + kEntryOffset,
                             .bytes = 8,
                             .expression = std::make_shared<const isa::Expression>(std::move(distance)),
                             .at = at});
  isa::Expression size;
  size.value = static_cast<i64>(bytes.size());
  const u32 code_symbol = program_.symbol(kernel, at), descriptor_symbol = program_.symbol(descriptor, at);
  program_.symbols[descriptor_symbol].type = SymbolType::Object;
  program_.symbols[descriptor_symbol].size = std::make_shared<const isa::Expression>(std::move(size));
  program_.descriptors.push_back({.descriptor = descriptor_symbol, .code = code_symbol});
  append(bytes.data(), bytes.size());
}

void Statements::amdgpu_metadata() {
  const SourceLocation at = cursor_.peek().at;
  const std::string text = body_until(".amdgpu_metadata", ".end_amdgpu_metadata");
  if (failed_) return;
  if (!program_.metadata.empty()) return fail(at, "there is metadata already");
  const auto document = parse_yaml(text);
  if (!document) return fail(at, fmt::format("metadata: {}", document.error().message));
  if (!document->is_object()) return fail(at, "metadata: expected a mapping");
  program_.metadata = nlohmann::json::to_msgpack(*document);
}

// ---------------------------------------------------------------- sections

void Statements::to_section(std::string_view section_name, u64 flags, u32 section_type) {
  if (failed_) return;
  previous_section_ = section_;
  section_ = program_.section(section_name, flags, section_type);
}

void Statements::to_text() { to_section(".text", kAlloc | kExecute, kProgbits); }
void Statements::to_data() { to_section(".data", kAlloc | kWrite, kProgbits); }
void Statements::to_rodata() { to_section(".rodata", kAlloc, kProgbits); }
void Statements::to_bss() { to_section(".bss", kAlloc | kWrite, kNobits); }

namespace {

/// What a section is when its name alone says it.
void default_attributes(std::string_view name, u64& flags, u32& type) {
  const auto is = [&](std::string_view family) {
    return name.starts_with(family) && (name.size() == family.size() || name[family.size()] == '.');
  };
  type = is(".bss") ? kNobits : is(".note") ? kNote : kProgbits;
  flags = is(".text")                 ? kAlloc | kExecute
          : is(".data") || is(".bss") ? kAlloc | kWrite
          : is(".rodata")             ? kAlloc
                                      : 0;
}

} // namespace

/// `.section NAME[, "FLAGS"[, @TYPE[, ...]]]`, or with flags as in `#alloc,#write`.
void Statements::section_directive() {
  const Token first = cursor_.next();
  std::string section_name;
  if (first.is(TokenKind::String))
    section_name = isa::unescape(first.text);
  else if (first.is(TokenKind::Identifier)) { // A name can contain characters that are tokens of their own.
    const char* end = first.text.data() + first.text.size();
    while (!cursor_.at_end() && !cursor_.peek().is(",")) {
      const Token& part = cursor_.next();
      end = part.text.data() + part.text.size();
    }
    section_name.assign(first.text.data(), static_cast<std::size_t>(end - first.text.data()));
  } else {
    return fail(first.at, "expected a section's name");
  }
  u64 flags = 0;
  u32 section_type = kProgbits;
  default_attributes(section_name, flags, section_type);
  bool stated = false;
  while (cursor_.accept(",")) {
    const Token& token = cursor_.next();
    if (token.is("#")) {
      if (!std::exchange(stated, true)) flags = 0;
      const std::string_view flag = cursor_.next().text;
      flags |= flag == "alloc" ? kAlloc : flag == "write" ? kWrite : flag == "execinstr" ? kExecute : 0;
    } else if (token.is(TokenKind::String) && !std::exchange(stated, true)) {
      flags = 0;
      for (char c : token.text) flags |= c == 'a' ? kAlloc : c == 'w' ? kWrite : c == 'x' ? kExecute : 0;
    } else if (token.is_identifier("@nobits")) {
      section_type = kNobits;
    } else if (token.is_identifier("@note")) {
      section_type = kNote;
    }
  }
  to_section(section_name, flags, section_type);
}

void Statements::push_section() {
  section_stack_.push_back(section_);
  section_directive();
}

void Statements::pop_section() {
  if (section_stack_.empty()) return fail(cursor_.peek().at, "there is no '.pushsection' before");
  section_ = section_stack_.back();
  section_stack_.pop_back();
}

void Statements::previous() { std::swap(section_, previous_section_); }

// ---------------------------------------------------------------- symbols

void Statements::each_symbol(const std::function<void(Symbol&)>& apply) {
  do {
    const SourceLocation at = cursor_.peek().at;
    const std::string symbol_name = name("a symbol");
    if (failed_) return;
    apply(program_.symbols[program_.symbol(symbol_name, at)]);
  } while (cursor_.accept(","));
}

void Statements::type() {
  const SourceLocation at = cursor_.peek().at;
  const std::string symbol_name = name("a symbol");
  if (!expect(",")) return;
  cursor_.accept("%");
  std::string kind = name("@function, @object or @notype");
  if (failed_) return;
  if (kind.starts_with('@')) kind.erase(0, 1);
  Symbol& symbol = program_.symbols[program_.symbol(symbol_name, at)];
  if (kind == "function" || kind == "STT_FUNC")
    symbol.type = SymbolType::Function;
  else if (kind == "object" || kind == "STT_OBJECT")
    symbol.type = SymbolType::Object;
  else if (kind == "notype" || kind == "STT_NOTYPE")
    symbol.type = SymbolType::None;
  else
    fail(at, "expected @function, @object or @notype");
}

void Statements::size() {
  const SourceLocation at = cursor_.peek().at;
  const std::string symbol_name = name("a symbol");
  if (!expect(",")) return;
  const ExpressionPtr e = expression();
  if (e) program_.symbols[program_.symbol(symbol_name, at)].size = e;
}

// ---------------------------------------------------------------- data

void Statements::align_directive(bool power, unsigned fill_bytes) {
  constexpr i64 kMaxPower = 16;
  const SourceLocation at = cursor_.peek().at;
  const auto stated = number_in(0, power ? kMaxPower : i64{1} << kMaxPower, "the alignment");
  if (!stated) return;
  const u64 alignment = power ? u64{1} << *stated : std::max<u64>(static_cast<u64>(*stated), 1);
  if (!std::has_single_bit(alignment)) return fail(at, "the alignment must be a power of two");
  std::optional<u64> value;
  u64 max_padding = ~u64{0};
  if (cursor_.accept(",") && !cursor_.peek().is(",") && !cursor_.at_end())
    if (const auto v = number()) value = static_cast<u64>(*v);
  if (cursor_.accept(","))
    if (const auto v = number_in(0, INT64_MAX, "the limit")) max_padding = static_cast<u64>(*v);
  if (!failed_) align(alignment, value, fill_bytes, max_padding);
}

void Statements::real_value(unsigned bytes) {
  do {
    const bool minus = cursor_.accept("-");
    const Token& token = cursor_.next();
    if (!token.is(TokenKind::Real) && !token.is(TokenKind::Integer))
      return fail(token.at, "expected a number");
    double value =
        token.is(TokenKind::Real) ? std::bit_cast<double>(token.integer) : static_cast<double>(token.integer);
    if (minus) value = -value;
    if (bytes == 8)
      append_value(std::bit_cast<u64>(value), 8);
    else
      append_value(std::bit_cast<u32>(static_cast<float>(value)), 4);
  } while (cursor_.accept(","));
}

void Statements::string_value(bool terminated) {
  do {
    const Token& token = cursor_.next();
    if (!token.is(TokenKind::String))
      return fail(token.at, token.is(TokenKind::Error) ? std::string(token.text)
                                                       : "expected a string in double quotes");
    const std::string bytes = isa::unescape(token.text);
    append(bytes.data(), bytes.size());
    if (terminated) append_value(0, 1);
  } while (cursor_.accept(","));
}

namespace {
constexpr i64 kMaxFill = 256 << 20;
}

void Statements::zero() {
  const auto count = number_in(0, kMaxFill, "the size");
  i64 value = 0;
  if (cursor_.accept(",")) value = number_in(-128, 255, "the value").value_or(0);
  if (!count || failed_) return;
  if (value == 0) return append(nullptr, static_cast<std::size_t>(*count));
  const std::vector<u8> bytes(static_cast<std::size_t>(*count), static_cast<u8>(value));
  append(bytes.data(), bytes.size());
}

/// `.fill COUNT[, SIZE[, VALUE]]`
void Statements::fill() {
  const auto count = number_in(0, kMaxFill, "the count");
  i64 bytes = 1, value = 0;
  if (cursor_.accept(",")) bytes = number_in(0, 8, "the size").value_or(0);
  if (cursor_.accept(",")) value = number().value_or(0);
  if (!count || failed_) return;
  if (bytes == 0) return;
  for (i64 i = 0; i < *count && !failed_; ++i)
    append_value(static_cast<u64>(value), static_cast<unsigned>(bytes));
}

} // namespace lanewise::abi::assembler
