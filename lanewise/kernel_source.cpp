#include "lanewise/kernel_source.hpp"

#include "abi/initial_state.hpp"

#include <algorithm>
#include <set>

namespace lanewise {
namespace {

/// Of the code object, before loading: what relocations store.
std::set<u64> addresses_in_data(const abi::CodeObject& object) {
  std::set<u64> addresses;
  for (const abi::elf::Relocation& r : object.elf.relocations) {
    const bool named = r.symbol != 0 && r.symbol < object.elf.dynamic_symbols.size();
    addresses.insert((named ? object.elf.dynamic_symbols[r.symbol].address : 0) + static_cast<u64>(r.addend));
  }
  return addresses;
}

std::vector<translator::CodeSymbol> code_symbols(const abi::CodeObject& object,
                                                 const abi::LoadedImage& image) {
  std::vector<translator::CodeSymbol> symbols;
  const std::set<u64> in_data = addresses_in_data(object);
  for (const abi::Symbol& symbol : object.symbols) {
    if (symbol.kind != abi::Symbol::Kind::Function) continue;
    translator::CodeSymbol code;
    code.name = symbol.name;
    code.address = image.address_of(symbol.address);
    code.size = symbol.size;
    code.is_kernel = object.find_kernel(symbol.name) != nullptr;
    code.in_data = in_data.contains(symbol.address);
    symbols.push_back(std::move(code));
  }
  return symbols;
}

/// Loaded bytes that nothing writes once relocations are done: the global offset table is among them.
std::vector<translator::ConstantRange> constant_ranges(const abi::CodeObject& object,
                                                       const abi::LoadedImage& image) {
  std::vector<translator::ConstantRange> ranges;
  for (const abi::elf::Segment& segment : object.elf.segments) {
    constexpr u32 kSegmentGnuRelro =
        0x6474e552; // Linux Standard Base, "Program Header": read-only after relocation
    const bool read_only = segment.type == abi::elf::kSegmentLoad && !(segment.flags & abi::elf::kFlagWrite);
    if (!read_only && segment.type != kSegmentGnuRelro) continue;
    const u64 begin = image.address_of(segment.address);
    const u64 room =
        image.contains(begin) ? image.begin() + image.size() - begin : 0; // RELRO is not checked on loading
    ranges.push_back({reinterpret_cast<const u8*>(begin), std::min(segment.file_size, room)});
  }
  return ranges;
}

std::vector<translator::InitialSgpr> initial_sgprs(const abi::KernelDescriptor& descriptor,
                                                   isa::Target target) {
  const abi::SgprLayout layout = abi::sgpr_layout(descriptor, target);
  std::vector<translator::InitialSgpr> sgprs;
  for (u32 i = 0; i < layout.count; ++i)
    sgprs.push_back({layout.sgprs[i].known_mask == ~0u, layout.sgprs[i].value});
  return sgprs;
}

} // namespace

translator::KernelSource kernel_source(const abi::CodeObject& object, const abi::LoadedImage& image,
                                       const abi::Kernel& kernel) {
  const abi::KernelDescriptor& descriptor = kernel.descriptor;
  translator::KernelSource source;
  source.name = kernel.name;
  source.target = object.target.isa;
  source.entry = image.entry(kernel);
  if (const auto* text = image.text_at(source.entry))
    source.code = {reinterpret_cast<const u8*>(text->bytes.data()), text->bytes.size()};
  source.symbols = code_symbols(object, image);
  source.constants = constant_ranges(object, image);
  source.initial_sgprs = initial_sgprs(descriptor, source.target);
  source.initial_vgprs = std::min(descriptor.enable_vgpr_workitem_id() + 1, 3u);
  source.mode = abi::initial_mode(descriptor, source.target);
  source.lds_bytes = kernel.resources.group_segment_fixed_size;
  source.private_bytes_per_lane = kernel.resources.private_segment_fixed_size;
  source.num_vgprs = descriptor.vgprs();
  return source;
}

} // namespace lanewise
