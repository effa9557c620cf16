// What a kernel argument is, and who fills it.
#pragma once

#include "support/bits.hpp"

#include <optional>
#include <string_view>

namespace lanewise::abi {

/// `.value_kind` of an argument (AMDGPUUsage, kernel argument metadata of code objects 3 to 5). Hidden ones
/// are filled by the runtime and follow the explicit ones.
enum class ValueKind : u8 {
  ByValue,
  GlobalBuffer,
  DynamicSharedPointer,
  Sampler,
  Image,
  Pipe,
  Queue,
  HiddenNone, ///< the first hidden kind: see is_hidden()
  HiddenGlobalOffsetX,
  HiddenGlobalOffsetY,
  HiddenGlobalOffsetZ,
  HiddenPrintfBuffer,
  HiddenHostcallBuffer,
  HiddenDefaultQueue,
  HiddenCompletionAction,
  HiddenMultigridSyncArg,
  HiddenBlockCountX, ///< version 5 from here on
  HiddenBlockCountY,
  HiddenBlockCountZ,
  HiddenGroupSizeX,
  HiddenGroupSizeY,
  HiddenGroupSizeZ,
  HiddenRemainderX,
  HiddenRemainderY,
  HiddenRemainderZ,
  HiddenGridDims,
  HiddenHeapV1,
  HiddenDynamicLdsSize,
  HiddenPrivateBase,
  HiddenSharedBase,
  HiddenQueuePtr,
};

constexpr bool is_hidden(ValueKind kind) { return kind >= ValueKind::HiddenNone; }

/// The metadata's name of a kind, as versions 3 and later spell it.
std::string_view to_string(ValueKind kind);

/// The kind called `name` in either spelling: `global_buffer` (3 and later) or `GlobalBuffer` (2).
std::optional<ValueKind> value_kind_from_name(std::string_view name);

} // namespace lanewise::abi
