// Tables of extensions, and services of ROCm's runtime that do not exist here.
#include "hsa/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>

using namespace lanewise;
using namespace lanewise::hsa;

namespace {

/// Code is where programs see it.
hsa_status_t query_host_address(const void* device, const void** host) {
  *host = device;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t query_segment_descriptors(hsa_ven_amd_loader_segment_descriptor_t*, std::size_t* count) {
  *count = 0;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t query_executable(const void*, hsa_executable_t*) { return HSA_STATUS_ERROR_INVALID_ARGUMENT; }
hsa_status_t iterate_code_objects(hsa_executable_t,
                                  hsa_status_t (*)(hsa_executable_t, hsa_loaded_code_object_t, void*),
                                  void*) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t code_object_info(hsa_loaded_code_object_t, hsa_ven_amd_loader_loaded_code_object_info_t, void*) {
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_ven_amd_loader_1_01_pfn_t loader_table() {
  return {query_host_address, query_segment_descriptors, query_executable, iterate_code_objects,
          code_object_info};
}

hsa_ext_images_1_pfn_t images_table() {
  hsa_ext_images_1_pfn_t table = {};
  table.hsa_ext_image_get_capability = hsa_ext_image_get_capability;
  table.hsa_ext_image_data_get_info = hsa_ext_image_data_get_info;
  table.hsa_ext_image_create = hsa_ext_image_create;
  table.hsa_ext_image_destroy = hsa_ext_image_destroy;
  table.hsa_ext_image_import = hsa_ext_image_import;
  table.hsa_ext_image_export = hsa_ext_image_export;
  table.hsa_ext_sampler_create = hsa_ext_sampler_create;
  table.hsa_ext_sampler_destroy = hsa_ext_sampler_destroy;
  table.hsa_ext_image_create_with_layout = hsa_ext_image_create_with_layout;
  return table;
}

template <class Table>
hsa_status_t give(const Table& from, std::size_t size, void* to) {
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof from));
  return HSA_STATUS_SUCCESS;
}

} // namespace

extern "C" {

hsa_status_t hsa_system_get_major_extension_table(u16 extension, u16 major, std::size_t size, void* table) {
  HSA_RUNTIME(r);
  (void)r;
  if (table == nullptr || major != 1) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (extension == HSA_EXTENSION_AMD_LOADER) return give(loader_table(), size, table);
  if (extension == HSA_EXTENSION_IMAGES) return give(images_table(), size, table);
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

// Faults end the program with a message, so that nobody is left to be told of one.
hsa_status_t hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t, void*) {
  return HSA_STATUS_SUCCESS;
}

// Memory of other processes, and of graphics.
hsa_status_t hsa_amd_ipc_memory_create(void*, std::size_t, hsa_amd_ipc_memory_t*) { return HSA_STATUS_ERROR; }
hsa_status_t hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t*, std::size_t, u32, const hsa_agent_t*,
                                       void**) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_amd_ipc_memory_detach(void*) { return HSA_STATUS_ERROR; }
hsa_status_t hsa_amd_interop_map_buffer(u32, hsa_agent_t*, int, u32, std::size_t*, void**, std::size_t*,
                                        const void**) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_amd_interop_unmap_buffer(void*) { return HSA_STATUS_ERROR; }

} // extern "C"
