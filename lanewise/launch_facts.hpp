// What a launch tells the translator. Launches that differ little get the same facts and share a translation.
#pragma once

#include "abi/hsa_packets.hpp"
#include "abi/kernarg.hpp"
#include "lanewise/lanewise.hpp"
#include "translator/launch_facts.hpp"

#include <optional>
#include <span>

namespace lanewise {

/// True of every launch of the kernel.
translator::LaunchFacts general_facts(const abi::Kernel& kernel, isa::Target target);

/// The hidden arguments that are the same in every launch.
abi::HiddenValues steady_hidden_values();

/// True of launches with this shape's workgroup, raggedness, number of dimensions and rough size, and with
/// these hidden arguments as far as they do not depend on the grid. Of `kernarg` counts which pointers are
/// aligned, and where local memory begins, of which there are `dynamic_lds_bytes` besides the kernel's own;
/// where it is not known yet, and empty, all are taken to be aligned.
translator::LaunchFacts launch_facts(const abi::Kernel& kernel, isa::Target target,
                                     const abi::DispatchShape& shape, const abi::HiddenValues& hidden,
                                     std::span<const std::byte> kernarg = {}, u32 dynamic_lds_bytes = 0);

/// What a launch with this kernarg segment passes by value, as far as that makes whole dwords. Nothing if it
/// is more than a few hundred bytes.
std::vector<translator::KnownDword> values_passed(const abi::Kernel& kernel, isa::Target target,
                                                  std::span<const std::byte> kernarg);

/// An image, a sampler or a texture behind a pointer in the kernarg segment.
struct PassedDescriptor {
  u32 offset = 0; ///< of the pointer in the segment
  Argument::Kind kind = Argument::Kind::Image;
  const u32* object = nullptr; ///< what it points to (abi/image.hpp)
};
/// Those among the arguments of a launch, which are the ones that the kernel declares.
std::vector<PassedDescriptor> descriptors_among(const abi::Kernel& kernel, isa::Target target,
                                                std::span<const Argument> arguments);
/// What is steady in descriptors: the formats, and how coordinates are taken.
std::vector<translator::DescriptorDword> descriptors_passed(const abi::Kernel& kernel, isa::Target target,
                                                            std::span<const PassedDescriptor> descriptors);

/// Weaker than the facts of one launch: true also of launches with other sizes of local memory, and of images
/// of other formats.
translator::LaunchFacts for_any_local_memory(translator::LaunchFacts facts);

/// Weaker still: true also of launches with smaller and larger grids of as many dimensions.
translator::LaunchFacts for_any_grid(translator::LaunchFacts facts);

/// Weaker still: true also of launches with other workgroups that have full waves only, in rows of a multiple
/// of 64 work-items for workgroups of one row, else of 16. Nothing if `facts`, those of a launch, are not of
/// such workgroups.
std::optional<translator::LaunchFacts> for_any_block(const abi::Kernel& kernel, isa::Target target,
                                                     const translator::LaunchFacts& facts);

/// The part of the dispatch packet that the shape determines.
abi::KernelDispatchPacket dispatch_packet(const abi::DispatchShape& shape);

} // namespace lanewise
