// The CPU and the GPU as programs see them, and their memory pools.
#include "hsa/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

using namespace lanewise;
using namespace lanewise::hsa;

namespace {

bool is_gpu(hsa_agent_t agent) { return agent.handle == kGpuAgent.handle; }

void put_text(void* value, std::string_view text, std::size_t size) {
  auto* const to = static_cast<char*>(value);
  std::fill_n(to, size, '\0');
  std::copy_n(text.begin(), std::min(text.size(), size - 1), to);
}

u64 host_memory() {
  return static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE));
}

/// Device ids of a card of each kind, for programs that show them.
u32 chip_id(isa::Target target) {
  switch (target) {
  case isa::Target::gfx600: return 0x6798;
  case isa::Target::gfx700: return 0x67a0;
  case isa::Target::gfx803: return 0x67df;
  case isa::Target::gfx900: return 0x6863;
  case isa::Target::gfx906: return 0x66a1;
  }
  return 0;
}

std::string isa_name(isa::Target target) {
  // Those with these features have names that say whether they are on.
  const char* features = target == isa::Target::gfx906   ? ":sramecc-:xnack-"
                         : target == isa::Target::gfx900 ? ":xnack-"
                                                         : "";
  return fmt::format("amdgcn-amd-amdhsa--{}{}", isa::target_name(target), features);
}

constexpr u32 kLdsBytes = 64 << 10;

hsa_status_t gpu_info(Runtime& r, u32 attribute, void* value) {
  switch (attribute) {
  case HSA_AGENT_INFO_NAME: put_text(value, isa::target_name(r.target), 64); break;
  case HSA_AGENT_INFO_VENDOR_NAME: put_text(value, "AMD", 64); break;
  case HSA_AMD_AGENT_INFO_PRODUCT_NAME: put_text(value, "Lanewise", 64); break;
  case HSA_AGENT_INFO_FEATURE: put<u32>(value, HSA_AGENT_FEATURE_KERNEL_DISPATCH); break;
  case HSA_AGENT_INFO_DEVICE: put<hsa_device_type_t>(value, HSA_DEVICE_TYPE_GPU); break;
  case HSA_AGENT_INFO_WAVEFRONT_SIZE: put<u32>(value, kWaveSize); break;
  case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: {
    const u16 sizes[3] = {1024, 1024, 1024};
    std::memcpy(value, sizes, sizeof sizes);
    break;
  }
  case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE: put<u32>(value, 1024); break;
  case HSA_AGENT_INFO_GRID_MAX_DIM: put(value, hsa_dim3_t{~0u, ~0u, ~0u}); break;
  case HSA_AGENT_INFO_GRID_MAX_SIZE: put<u32>(value, ~0u); break;
  case HSA_AGENT_INFO_QUEUES_MAX: put<u32>(value, 128); break;
  case HSA_AGENT_INFO_QUEUE_MIN_SIZE: put<u32>(value, 64); break;
  case HSA_AGENT_INFO_QUEUE_MAX_SIZE: put<u32>(value, 1 << 17); break;
  case HSA_AGENT_INFO_QUEUE_TYPE: put<u32>(value, HSA_QUEUE_TYPE_MULTI); break;
  case HSA_AGENT_INFO_EXTENSIONS:
    std::memset(value, 0, 128);
    static_cast<u8*>(value)[HSA_EXTENSION_IMAGES / 8] = 1 << HSA_EXTENSION_IMAGES % 8;
    break;
  case HSA_AGENT_INFO_ISA: put(value, hsa_isa_t{static_cast<u64>(r.target) + 1}); break;
  case HSA_AMD_AGENT_INFO_CHIP_ID: put<u32>(value, chip_id(r.target)); break;
  // The threads that run workgroups are what a program should fill.
  case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
  case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
    put<u32>(value, r.device->dispatcher.threads());
    break;
  case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY: put<u32>(value, 1000); break; // MHz
  case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID: put<u32>(value, 1); break;
  case HSA_AMD_AGENT_INFO_BDFID: put<u32>(value, 1 << 8); break;
  case HSA_AMD_AGENT_INFO_MEMORY_WIDTH: put<u32>(value, 64); break;
  case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY: put<u32>(value, 1000); break;
  case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU: put<u32>(value, 40); break;
  case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU: put<u32>(value, 4); break;
  case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES: put<u32>(value, 1); break;
  case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE: put<u32>(value, 1); break;
  case HSA_AMD_AGENT_INFO_HDP_FLUSH: put(value, hsa_amd_hdp_flush_t{}); break;
  case HSA_AMD_AGENT_INFO_UUID: put_text(value, "GPU-XX", 21); break;
  case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES: put<bool>(value, true); break;
  case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS: put<bool>(value, true); break;
  case HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS: put<u32>(value, 16384); break;
  case HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS:
  case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS: {
    const u32 sizes[2] = {16384, 16384};
    std::memcpy(value, sizes, sizeof sizes);
    break;
  }
  case HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS: put<u32>(value, 1u << 27); break;
  case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS: {
    const u32 sizes[3] = {16384, 16384, 8192};
    std::memcpy(value, sizes, sizeof sizes);
    break;
  }
  case HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS: put<u32>(value, 8192); break;
  case HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES: put<u32>(value, 128); break;
  case HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES: put<u32>(value, 64); break;
  case HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS: put<u32>(value, 16); break;
  case HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT: put<u32>(value, 256); break;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t cpu_info(u32 attribute, void* value) {
  switch (attribute) {
  case HSA_AGENT_INFO_NAME:
  case HSA_AMD_AGENT_INFO_PRODUCT_NAME: put_text(value, "CPU", 64); break;
  case HSA_AGENT_INFO_VENDOR_NAME: put_text(value, "CPU", 64); break;
  case HSA_AGENT_INFO_FEATURE: put<u32>(value, 0); break;
  case HSA_AGENT_INFO_DEVICE: put<hsa_device_type_t>(value, HSA_DEVICE_TYPE_CPU); break;
  case HSA_AGENT_INFO_WAVEFRONT_SIZE:
  case HSA_AGENT_INFO_QUEUES_MAX:
  case HSA_AMD_AGENT_INFO_CHIP_ID:
  case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
  case HSA_AMD_AGENT_INFO_BDFID: put<u32>(value, 0); break;
  case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
    put<u32>(value, static_cast<u32>(sysconf(_SC_NPROCESSORS_ONLN)));
    break;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

/// Of both: attributes that are the same.
hsa_status_t common_info(u32 attribute, void* value) {
  switch (attribute) {
  case HSA_AGENT_INFO_MACHINE_MODEL: put<hsa_machine_model_t>(value, HSA_MACHINE_MODEL_LARGE); break;
  case HSA_AGENT_INFO_PROFILE: put<hsa_profile_t>(value, HSA_PROFILE_BASE); break;
  case HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
    put<hsa_default_float_rounding_mode_t>(value, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
    break;
  case HSA_AGENT_INFO_FAST_F16_OPERATION: put<bool>(value, false); break;
  case HSA_AGENT_INFO_NODE: put<u32>(value, 0); break;
  case HSA_AGENT_INFO_FBARRIER_MAX_SIZE: put<u32>(value, 0); break;
  case HSA_AGENT_INFO_CACHE_SIZE: {
    const u32 sizes[4] = {32 << 10, 4 << 20, 0, 0};
    std::memcpy(value, sizes, sizeof sizes);
    break;
  }
  case HSA_AGENT_INFO_VERSION_MAJOR: put<u16>(value, 1); break;
  case HSA_AGENT_INFO_VERSION_MINOR: put<u16>(value, 1); break;
  case HSA_AGENT_INFO_EXTENSIONS: std::memset(value, 0, 128); break;
  case HSA_AMD_AGENT_INFO_CACHELINE_SIZE: put<u32>(value, 64); break;
  case HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS:
  case HSA_AMD_AGENT_INFO_DOMAIN:
  case HSA_AMD_AGENT_INFO_ASIC_REVISION: put<u32>(value, 0); break;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

} // namespace

extern "C" {

hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) {
  HSA_RUNTIME(r);
  (void)r;
  for (const hsa_agent_t agent : {kCpuAgent, kGpuAgent})
    if (const hsa_status_t status = callback(agent, data); status != HSA_STATUS_SUCCESS) return status;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  HSA_RUNTIME(r);
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto number = static_cast<u32>(attribute);
  const hsa_status_t own = is_gpu(agent) ? gpu_info(*r, number, value) : cpu_info(number, value);
  return own == HSA_STATUS_SUCCESS ? own : common_info(number, value);
}

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void*),
                                    void* data) {
  HSA_RUNTIME(r);
  if (!is_gpu(agent)) return HSA_STATUS_SUCCESS;
  return callback(hsa_isa_t{static_cast<u64>(r->target) + 1}, data);
}

hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void* value) {
  HSA_RUNTIME(r);
  (void)r;
  const std::string name = isa_name(static_cast<isa::Target>(isa.handle - 1));
  switch (attribute) {
  case HSA_ISA_INFO_NAME_LENGTH: put(value, static_cast<u32>(name.size() + 1)); break;
  case HSA_ISA_INFO_NAME: std::memcpy(value, name.c_str(), name.size() + 1); break;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                                void* data) {
  HSA_RUNTIME(r);
  (void)r;
  const std::initializer_list<Pool> cpu = {kFineGrained, kKernarg, kCoarseGrained},
                                    gpu = {kDeviceLocal, kDeviceFineGrained, kGroupMemory};
  for (const Pool pool : is_gpu(agent) ? gpu : cpu)
    if (const hsa_status_t status = callback(hsa_amd_memory_pool_t{pool}, data); status != HSA_STATUS_SUCCESS)
      return status;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                                          void* value) {
  HSA_RUNTIME(r);
  (void)r;
  const bool group = pool.handle == kGroupMemory;
  switch (attribute) {
  case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
    put(value, group ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL);
    break;
  case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
    put<u32>(value, pool.handle == kFineGrained || pool.handle == kDeviceFineGrained
                        ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED
                    : pool.handle == kKernarg ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED |
                                                    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT
                                              : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
    break;
  case HSA_AMD_MEMORY_POOL_INFO_SIZE:
  case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
    put<std::size_t>(value, group ? kLdsBytes : host_memory());
    break;
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED: put<bool>(value, !group); break;
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT: put<std::size_t>(value, 4096); break;
  case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL: put<bool>(value, !group); break;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                                hsa_amd_agent_memory_pool_info_t attribute, void* value) {
  HSA_RUNTIME(r);
  (void)r;
  const bool own = is_gpu(agent) == (pool.handle >= kDeviceLocal);
  switch (attribute) {
  case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
    put(value, pool.handle == kGroupMemory ? HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED
                                           : HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
    break;
  case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS: put<u32>(value, own ? 0 : 1); break;
  case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO: {
    if (own) break; // there is none
    // As by PCIe; HIP learns from it whether atomics of host and device know of each other, which they do.
    hsa_amd_memory_pool_link_info_t link = {};
    link.atomic_support_32bit = link.atomic_support_64bit = link.coherent_support = true;
    link.link_type = HSA_AMD_LINK_INFO_TYPE_PCIE;
    put(value, link);
    break;
  }
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

} // extern "C"
