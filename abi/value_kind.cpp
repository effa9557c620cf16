#include "abi/value_kind.hpp"

namespace lanewise::abi {
namespace {

struct Row {
  ValueKind kind;
  std::string_view name;    ///< versions 3 and later
  std::string_view name_v2; ///< empty where version 2 has no such kind
};

// clang-format off
// In the order of the enumeration, so that a kind is its row's index.
constexpr Row kRows[] = {
    {ValueKind::ByValue,                "by_value",                  "ByValue"},
    {ValueKind::GlobalBuffer,           "global_buffer",             "GlobalBuffer"},
    {ValueKind::DynamicSharedPointer,   "dynamic_shared_pointer",    "DynamicSharedPointer"},
    {ValueKind::Sampler,                "sampler",                   "Sampler"},
    {ValueKind::Image,                  "image",                     "Image"},
    {ValueKind::Pipe,                   "pipe",                      "Pipe"},
    {ValueKind::Queue,                  "queue",                     "Queue"},
    {ValueKind::HiddenNone,             "hidden_none",               "HiddenNone"},
    {ValueKind::HiddenGlobalOffsetX,    "hidden_global_offset_x",    "HiddenGlobalOffsetX"},
    {ValueKind::HiddenGlobalOffsetY,    "hidden_global_offset_y",    "HiddenGlobalOffsetY"},
    {ValueKind::HiddenGlobalOffsetZ,    "hidden_global_offset_z",    "HiddenGlobalOffsetZ"},
    {ValueKind::HiddenPrintfBuffer,     "hidden_printf_buffer",      "HiddenPrintfBuffer"},
    {ValueKind::HiddenHostcallBuffer,   "hidden_hostcall_buffer",    "HiddenHostcallBuffer"},
    {ValueKind::HiddenDefaultQueue,     "hidden_default_queue",      "HiddenDefaultQueue"},
    {ValueKind::HiddenCompletionAction, "hidden_completion_action",  "HiddenCompletionAction"},
    {ValueKind::HiddenMultigridSyncArg, "hidden_multigrid_sync_arg", "HiddenMultiGridSyncArg"},
    {ValueKind::HiddenBlockCountX,      "hidden_block_count_x",      ""},
    {ValueKind::HiddenBlockCountY,      "hidden_block_count_y",      ""},
    {ValueKind::HiddenBlockCountZ,      "hidden_block_count_z",      ""},
    {ValueKind::HiddenGroupSizeX,       "hidden_group_size_x",       ""},
    {ValueKind::HiddenGroupSizeY,       "hidden_group_size_y",       ""},
    {ValueKind::HiddenGroupSizeZ,       "hidden_group_size_z",       ""},
    {ValueKind::HiddenRemainderX,       "hidden_remainder_x",        ""},
    {ValueKind::HiddenRemainderY,       "hidden_remainder_y",        ""},
    {ValueKind::HiddenRemainderZ,       "hidden_remainder_z",        ""},
    {ValueKind::HiddenGridDims,         "hidden_grid_dims",          ""},
    {ValueKind::HiddenHeapV1,           "hidden_heap_v1",            ""},
    {ValueKind::HiddenDynamicLdsSize,   "hidden_dynamic_lds_size",   ""},
    {ValueKind::HiddenPrivateBase,      "hidden_private_base",       ""},
    {ValueKind::HiddenSharedBase,       "hidden_shared_base",        ""},
    {ValueKind::HiddenQueuePtr,         "hidden_queue_ptr",          ""},
};
// clang-format on

constexpr bool rows_are_in_order() {
  for (unsigned i = 0; i < std::size(kRows); ++i)
    if (static_cast<unsigned>(kRows[i].kind) != i) return false;
  return std::size(kRows) == static_cast<unsigned>(ValueKind::HiddenQueuePtr) + 1;
}
static_assert(rows_are_in_order());

} // namespace

std::string_view to_string(ValueKind kind) { return kRows[static_cast<unsigned>(kind)].name; }

std::optional<ValueKind> value_kind_from_name(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const auto& row : kRows)
    if (row.name == name || row.name_v2 == name) return row.kind;
  return std::nullopt;
}

} // namespace lanewise::abi
