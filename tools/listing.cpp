#include "tools/listing.hpp"

#include "isa/asm/instruction.hpp"
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace lanewise::tools {
namespace {

using isa::Target;

/// One stretch of code being listed.
class Listing {
public:
  Listing(Target target, std::span<const u8> code, u64 address, const ListingOptions& options,
          unsigned& labels, std::string& out)
      : target_(target), code_(code), address_(address), options_(options), next_label_(labels), out_(out) {}

  void name(u64 address, std::string_view symbol) { names_[address].push_back(symbol); }

  void run() {
    find_labels();
    for (u64 at = 0; at < code_.size();) at += line(at);
  }

private:
  static const isa::Operand* branch_operand(const isa::Inst& inst) {
    for (const isa::Operand& source : inst.src)
      if (source.type == isa::OperandType::Label) return &source;
    return nullptr;
  }

  /// Addresses inside the stretch at which instructions begin and to which branches go.
  void find_labels() {
    std::vector<u64> starts, targets;
    for (u64 at = 0; at < code_.size();) {
      starts.push_back(at);
      const auto inst = isa::decode(target_, code_.subspan(at));
      if (const isa::Operand* branch = inst ? branch_operand(*inst) : nullptr)
        targets.push_back(at + inst->size + 4 * branch->value);
      at += inst ? inst->size : step(at);
    }
    for (u64 target : targets)
      if (std::binary_search(starts.begin(), starts.end(), target)) labels_[target];
    for (auto& [target, label] : labels_) label = fmt::format(".L{}", next_label_++);
  }

  u64 step(u64 at) const { return std::min<u64>(4, code_.size() - at); }

  u64 line(u64 at) {
    for (std::string_view symbol : names_[address_ + at])
      fmt::format_to(std::back_inserter(out_), "\n\t.globl\t{0}\n\t.type\t{0},@function\n{0}:\n", symbol);
    if (const auto label = labels_.find(at); label != labels_.end()) out_ += label->second + ":\n";
    const auto rest = code_.subspan(at);
    if (rest.size() < 4) {
      for (u8 byte : rest) fmt::format_to(std::back_inserter(out_), "\t.byte {:#04x}\n", byte);
      return rest.size();
    }
    const auto inst = isa::decode(target_, rest);
    if (!inst) {
      emit(at, 4, fmt::format(".long {:#010x}", load_le<u32>(rest.data())), inst.error().message);
      return 4;
    }
    const isa::Operand* branch = branch_operand(*inst);
    const auto label = branch ? labels_.find(at + inst->size + 4 * branch->value) : labels_.end();
    const std::string text = isa::text(
        *inst, target_,
        {.label = label != labels_.end() ? std::string_view(label->second) : "", .lit = options_.lit});
    if (reads_back(*inst, text, rest))
      emit(at, inst->size, text, "");
    else
      emit(at, inst->size, as_data(rest.first(inst->size)), text);
    return inst->size;
  }

  /// Whether `text` assembles to the bytes it came from. Most instructions need no look: their encoding is
  /// determined by what they do. Literals that could have been inline constants, bits that are ignored, and
  /// scalar values that the hardware cannot read together are the exceptions.
  bool reads_back(const isa::Inst& inst, const std::string& text, std::span<const u8> bytes) const {
    const auto same = [&](const isa::EncodedInst& words) {
      return 4u * words.count == inst.size && std::memcmp(words.words.data(), bytes.data(), inst.size) == 0;
    };
    const auto packed = isa::pack(inst, target_);
    if (!packed || !same(*packed)) return false;
    unsigned scalars = 0;
    for (const isa::Operand& src : inst.src) {
      if (src.is(isa::OperandKind::Literal)) scalars = 2;
      scalars += src.is(isa::OperandKind::Sgpr) || src.is(isa::OperandKind::Special);
    }
    if (scalars < 2 || branch_operand(inst)) return true;
    const auto assembled = isa::assemble(text, target_);
    return assembled && same(assembled->words);
  }

  static std::string as_data(std::span<const u8> bytes) {
    std::string text = ".long ";
    for (std::size_t i = 0; i < bytes.size(); i += 4)
      text += fmt::format("{}{:#010x}", i ? ", " : "", load_le<u32>(bytes.data() + i));
    return text;
  }

  void emit(u64 at, u64 size, const std::string& text, const std::string& remark) {
    std::string comment;
    if (options_.addresses) comment += fmt::format(" {:012X}{}", address_ + at, options_.bytes ? ":" : "");
    for (u64 i = 0; options_.bytes && i < size; i += 4)
      comment += fmt::format(" {:08X}", load_le<u32>(code_.data() + at + i));
    if (!remark.empty()) comment += " " + remark;
    if (comment.empty())
      fmt::format_to(std::back_inserter(out_), "\t{}\n", text);
    else
      fmt::format_to(std::back_inserter(out_), "\t{:<58} //{}\n", text, comment);
  }

  const Target target_;
  const std::span<const u8> code_;
  const u64 address_;
  const ListingOptions& options_;
  unsigned& next_label_; ///< counted over all stretches of a file
  std::string& out_;
  std::map<u64, std::vector<std::string_view>> names_;
  std::map<u64, std::string> labels_; ///< by offset
};

/// Whether the assembler takes the name as it is.
bool is_plain(std::string_view name) {
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), good);
}

void list_range(const abi::CodeObject& object, u64 address, u64 size, const ListingOptions& options,
                unsigned& labels, std::string& out) {
  const auto bytes = object.elf.at_address(address, size);
  if (!bytes) return;
  Listing listing(object.target.isa, {reinterpret_cast<const u8*>(bytes->data()), bytes->size()}, address,
                  options, labels, out);
  for (const abi::Symbol& symbol : object.symbols)
    if (symbol.kind == abi::Symbol::Kind::Function && symbol.address >= address &&
        symbol.address - address < size && is_plain(symbol.name))
      listing.name(symbol.address, symbol.name);
  listing.run();
}

} // namespace

std::string list_code(const abi::CodeObject& object, const abi::Kernel* only, const ListingOptions& options) {
  std::string out = fmt::format("// {}\n\t.amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n\t.text\n\t.p2align 8\n",
                                object.name, object.target.to_string());
  unsigned labels = 0;
  if (only) {
    list_range(object, only->entry_address, only->code_size, options, labels, out);
    return out;
  }
  for (const abi::elf::Segment& segment : object.elf.segments)
    if (segment.type == abi::elf::kSegmentLoad && segment.flags & abi::elf::kFlagExecute)
      list_range(object, segment.address, segment.file_size, options, labels, out);
  return out;
}

std::string list_words(std::span<const u32> words, Target target, const ListingOptions& options) {
  std::string out;
  unsigned labels = 0;
  const auto bytes = std::as_bytes(words);
  Listing(target, {reinterpret_cast<const u8*>(bytes.data()), bytes.size()}, 0, options, labels, out).run();
  return out;
}

} // namespace lanewise::tools
