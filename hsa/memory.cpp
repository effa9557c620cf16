// Memory of both agents is the host's.
#include "hsa/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <emmintrin.h>
#include <sys/mman.h>

using namespace lanewise;
using namespace lanewise::hsa;

namespace {

/// Does `copy` when the signals are 0, here or, if it would have to wait, in a thread; then tells the other
/// signal.
template <class Copy>
void copy_after(Runtime& r, u32 count, const hsa_signal_t* signals, hsa_signal_t done, Copy copy) {
  const auto finish = [&r, done, copy] {
    const u64 start = now_ns();
    copy();
    if (done.handle == 0) return;
    Signal& signal = signal_of(done);
    signal.shared.start_ts = start;
    signal.shared.end_ts = now_ns();
    signal.value().fetch_sub(1);
    r.changes.announce();
  };
  const auto all_zero = [wanted = std::vector(signals, signals + count)] {
    return std::ranges::all_of(
        wanted, [](hsa_signal_t s) { return s.handle == 0 || signal_of(s).value().load() == 0; });
  };
  if (all_zero()) return finish();
  r.copies.add({all_zero, [finish] {
                  finish();
                  return false;
                }});
}

/// As memmove. Much is copied by several threads and past the caches (64 MB by two threads 5 times
/// faster).
void copy_bytes(void* to, const void* from, std::size_t size, unsigned threads) {
  constexpr std::size_t kMuch = 16 << 20, kPerThread = 4 << 20;
  auto* const out = static_cast<u8*>(to);
  const auto* const in = static_cast<const u8*>(from);
  if (size < kMuch || (in < out + size && out < in + size)) {
    std::memmove(to, from, size);
    return;
  }
  const auto copy = [&](std::size_t begin, std::size_t end) {
    const auto start = static_cast<std::size_t>(-reinterpret_cast<u64>(out + begin) % 64);
    std::memcpy(out + begin, in + begin, start);
    for (begin += start; end - begin >= 64; begin += 64)
      for (unsigned part = 0; part < 64; part += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i*>(out + begin + part),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + begin + part)));
    std::memcpy(out + begin, in + begin, end - begin);
    _mm_sfence();
  };
  const std::size_t parts = std::clamp<std::size_t>(size / kPerThread, 1, threads);
  std::vector<std::jthread> others;
  for (std::size_t n = 1; n < parts; ++n)
    others.emplace_back([&, n] { copy(size * n / parts, size * (n + 1) / parts); });
  copy(0, size / parts);
}

constexpr std::size_t kPage = 4096;

/// Zeroed pages, with an inaccessible one behind them: who runs off the end faults instead of reading others'
/// memory. Large ones are aligned as ROCm's are, which the device library's heap counts on. Null if there is
/// no memory.
void* map_pages(std::size_t bytes) {
  constexpr std::size_t kLarge = 2 << 20;
  const std::size_t alignment = bytes >= kLarge ? kLarge : kPage, wanted = bytes + kPage;
  const std::size_t reserved = wanted + alignment - kPage;
  void* const got =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<u8*>(got);
  auto* const start = reinterpret_cast<u8*>(align_up(reinterpret_cast<u64>(begin), alignment));
  if (start != begin) munmap(begin, static_cast<std::size_t>(start - begin));
  const auto rest = static_cast<std::size_t>(begin + reserved - (start + wanted));
  if (rest != 0) munmap(start + wanted, rest);
  mprotect(start + bytes, kPage, PROT_NONE);
  if (bytes >= kLarge) madvise(start, bytes, MADV_HUGEPAGE); // which gathers and the first touch want
  return start;
}

} // namespace

namespace lanewise::hsa {

u64 Runtime::host_address(u64 address) {
  use_host_addresses({&address, 1});
  return address;
}

void Runtime::use_host_addresses(std::span<u64> kernarg) {
  if (!has_agent_views) return; // as in nearly all programs
  const std::lock_guard lock(memory_mutex);
  for (u64& address : kernarg) {
    const auto after = agent_views.upper_bound(address);
    if (after == agent_views.begin()) continue;
    const auto& [begin, view] = *std::prev(after);
    if (address - begin < view.bytes) address += view.to_host;
  }
}

} // namespace lanewise::hsa

extern "C" {

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, std::size_t size, u32, void** pointer) {
  HSA_RUNTIME(r);
  if (pointer == nullptr || size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (pool.handle == kGroupMemory) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  std::size_t most = 0;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, &most);
  if (size > most) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  void* const memory = map_pages(align_up(size, kPage));
  if (memory == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  Allocation a;
  a.bytes = size;
  a.type = HSA_EXT_POINTER_TYPE_HSA;
  a.owner = pool.handle >= kDeviceLocal ? kGpuAgent : kCpuAgent;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &a.global_flags);
  a.ours = true;
  const std::lock_guard lock(r->memory_mutex);
  r->allocations[reinterpret_cast<u64>(memory)] = a;
  *pointer = memory;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_pool_free(void* pointer) {
  HSA_RUNTIME(r);
  if (pointer == nullptr) return HSA_STATUS_SUCCESS;
  const std::lock_guard lock(r->memory_mutex);
  const auto found = r->allocations.find(reinterpret_cast<u64>(pointer));
  if (found == r->allocations.end() || !found->second.ours) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  munmap(pointer, align_up(found->second.bytes, kPage) + kPage);
  r->allocations.erase(found);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_agents_allow_access(u32, const hsa_agent_t*, const u32*, const void*) {
  return HSA_STATUS_SUCCESS; // all memory is accessible to all
}

hsa_status_t hsa_memory_copy(void* to, const void* from, std::size_t size) {
  HSA_RUNTIME(r);
  std::memmove(r->host_address(to), r->host_address(from), size);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_memory_register(void*, std::size_t) { return HSA_STATUS_SUCCESS; }
hsa_status_t hsa_memory_deregister(void*, std::size_t) { return HSA_STATUS_SUCCESS; }

hsa_status_t hsa_amd_memory_async_copy(void* to, hsa_agent_t, const void* from, hsa_agent_t, std::size_t size,
                                       u32 dependencies, const hsa_signal_t* signals, hsa_signal_t done) {
  HSA_RUNTIME(r);
  if (to == nullptr || from == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  to = r->host_address(to);
  from = r->host_address(from);
  copy_after(*r, dependencies, signals, done, [to, from, size, threads = r->device->dispatcher.threads()] {
    copy_bytes(to, from, size, threads);
  });
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset,
                                            const hsa_pitched_ptr_t* from, const hsa_dim3_t* from_offset,
                                            const hsa_dim3_t* range, hsa_agent_t, hsa_amd_copy_direction_t,
                                            u32 dependencies, const hsa_signal_t* signals,
                                            hsa_signal_t done) {
  HSA_RUNTIME(r);
  if (to->base == nullptr || from->base == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto of_host = [r](hsa_pitched_ptr_t p) {
    p.base = r->host_address(p.base);
    return p;
  };
  copy_after(
      *r, dependencies, signals, done,
      [to = of_host(*to), to_at = *to_offset, from = of_host(*from), from_at = *from_offset, range = *range] {
        const auto row = [](const hsa_pitched_ptr_t& p, const hsa_dim3_t& at, u32 y, u32 z) {
          return static_cast<u8*>(p.base) + (at.z + u64{z}) * p.slice + (at.y + u64{y}) * p.pitch + at.x;
        };
        for (u32 z = 0; z < range.z; ++z)
          for (u32 y = 0; y < range.y; ++y)
            std::memmove(row(to, to_at, y, z), row(from, from_at, y, z), range.x);
      });
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_fill(void* pointer, u32 value, std::size_t count) {
  HSA_RUNTIME(r);
  std::fill_n(static_cast<u32*>(r->host_address(pointer)), count, value);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_lock_to_pool(void* host, std::size_t size, hsa_agent_t*, int,
                                         hsa_amd_memory_pool_t, u32, void** agent_pointer) {
  HSA_RUNTIME(r);
  if (host == nullptr || size == 0 || agent_pointer == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const u64 address = reinterpret_cast<u64>(host);
  const std::lock_guard lock(r->memory_mutex);
  const auto known = r->find_allocation(host);
  if (known != r->allocations.end()) {
    Allocation& a = known->second;
    const bool locked = a.locks != 0;
    if (locked) ++a.locks;
    *agent_pointer = reinterpret_cast<void*>(locked ? a.agent_base + (address - known->first) : address);
    return HSA_STATUS_SUCCESS;
  }
  const u64 begin = address & ~(kPage - 1), bytes = align_up(address + size, kPage) - begin + 2 * kPage;
  void* const view = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (view == MAP_FAILED) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const u64 at = reinterpret_cast<u64>(view), to_host = begin - kPage - at;
  r->agent_views[at] = {bytes, to_host};
  r->has_agent_views = true;
  Allocation& a = r->allocations[address];
  a.bytes = size;
  a.type = HSA_EXT_POINTER_TYPE_LOCKED;
  a.owner = kCpuAgent;
  a.global_flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  a.agent_base = address - to_host;
  a.locks = 1;
  *agent_pointer = reinterpret_cast<void*>(a.agent_base);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_memory_lock(void* host, std::size_t size, hsa_agent_t* agents, int count,
                                 void** agent_pointer) {
  return hsa_amd_memory_lock_to_pool(host, size, agents, count, {kFineGrained}, 0, agent_pointer);
}
hsa_status_t hsa_amd_memory_unlock(void* host) {
  HSA_RUNTIME(r);
  const std::lock_guard lock(r->memory_mutex);
  const auto found = r->find_allocation(host);
  if (found == r->allocations.end() || found->second.locks == 0 || --found->second.locks != 0)
    return HSA_STATUS_SUCCESS;
  const auto view = std::prev(r->agent_views.upper_bound(found->second.agent_base));
  munmap(reinterpret_cast<void*>(view->first), view->second.bytes);
  r->agent_views.erase(view);
  r->has_agent_views = !r->agent_views.empty();
  r->allocations.erase(found);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_pointer_info(const void* pointer, hsa_amd_pointer_info_t* info,
                                  void* (*alloc)(std::size_t), u32* accessible_count,
                                  hsa_agent_t** accessible) {
  HSA_RUNTIME(r);
  if (info == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const void* const at = r->host_address(pointer);
  const std::lock_guard lock(r->memory_mutex);
  const auto found = r->find_allocation(at);
  hsa_amd_pointer_info_t out = {};
  out.size = std::min<u32>(info->size, sizeof out);
  if (found != r->allocations.end()) {
    const Allocation& a = found->second;
    out.type = a.type;
    out.hostBaseAddress = reinterpret_cast<void*>(found->first);
    out.agentBaseAddress = a.locks != 0 ? reinterpret_cast<void*>(a.agent_base) : out.hostBaseAddress;
    out.sizeInBytes = a.bytes;
    out.userData = a.user_data;
    out.agentOwner = a.owner;
    out.global_flags = a.global_flags;
  }
  std::memcpy(info, &out, out.size);
  if (alloc != nullptr && accessible_count != nullptr && accessible != nullptr) {
    *accessible_count = 2;
    *accessible = static_cast<hsa_agent_t*>(alloc(2 * sizeof(hsa_agent_t)));
    (*accessible)[0] = kCpuAgent;
    (*accessible)[1] = kGpuAgent;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_pointer_info_set_userdata(const void* pointer, void* user_data) {
  HSA_RUNTIME(r);
  const void* const at = r->host_address(pointer);
  const std::lock_guard lock(r->memory_mutex);
  const auto found = r->find_allocation(at);
  if (found == r->allocations.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  found->second.user_data = user_data;
  return HSA_STATUS_SUCCESS;
}

// Shared virtual memory: all memory is, and advice makes no difference.
hsa_status_t hsa_amd_svm_attributes_set(void*, std::size_t, hsa_amd_svm_attribute_pair_t*, std::size_t) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_svm_attributes_get(void*, std::size_t, hsa_amd_svm_attribute_pair_t* pairs,
                                        std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    switch (pairs[n].attribute) {
    case HSA_AMD_SVM_ATTRIB_ACCESS_QUERY: pairs[n].attribute = HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE; break;
    case HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION:
    case HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION: pairs[n].value = kCpuAgent.handle; break;
    default: pairs[n].value = 0; break;
    }
  }
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_svm_prefetch_async(void*, std::size_t, hsa_agent_t, u32 dependencies,
                                        const hsa_signal_t* signals, hsa_signal_t done) {
  HSA_RUNTIME(r);
  copy_after(*r, dependencies, signals, done, [] {});
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t, hsa_amd_coherency_type_t) { return HSA_STATUS_SUCCESS; }

} // extern "C"
