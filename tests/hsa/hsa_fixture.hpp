// What the tests of the HSA runtime share: they use it as a program does, by ROCm's headers alone.
#pragma once

#include "tests/source_dir.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace lanewise {

inline constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

inline std::vector<char> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::vector<char> code_object(const std::string& name, const std::string& target = "gfx906") {
  return read_bytes(source_dir() + "/tests/kernels/bin/" + target + "/" + name + ".co");
}

/// The runtime, initialised for a gfx906.
class Hsa : public ::testing::Test {
protected:
  void SetUp() override {
    setenv("LANEWISE_TARGET", "gfx906", 1);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    find_agents();
  }
  void TearDown() override {
    EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
    unsetenv("LANEWISE_TARGET");
  }

  hsa_agent_t cpu = {}, gpu = {};

  void find_agents() {
    const auto visit = [](hsa_agent_t agent, void* data) {
      auto* const self = static_cast<Hsa*>(data);
      hsa_device_type_t type = {};
      EXPECT_EQ(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), HSA_STATUS_SUCCESS);
      (type == HSA_DEVICE_TYPE_GPU ? self->gpu : self->cpu) = agent;
      return HSA_STATUS_SUCCESS;
    };
    ASSERT_EQ(hsa_iterate_agents(visit, this), HSA_STATUS_SUCCESS);
    ASSERT_NE(cpu.handle, 0u);
    ASSERT_NE(gpu.handle, 0u);
  }

  static std::vector<hsa_amd_memory_pool_t> pools_of(hsa_agent_t agent) {
    std::vector<hsa_amd_memory_pool_t> pools;
    const auto visit = [](hsa_amd_memory_pool_t pool, void* data) {
      static_cast<std::vector<hsa_amd_memory_pool_t>*>(data)->push_back(pool);
      return HSA_STATUS_SUCCESS;
    };
    EXPECT_EQ(hsa_amd_agent_iterate_memory_pools(agent, visit, &pools), HSA_STATUS_SUCCESS);
    return pools;
  }

  /// Of the GPU's memory.
  template <class T>
  T* allocate(std::size_t count) const {
    void* memory = nullptr;
    EXPECT_EQ(hsa_amd_memory_pool_allocate(pools_of(gpu).front(), count * sizeof(T), 0, &memory),
              HSA_STATUS_SUCCESS);
    return static_cast<T*>(memory);
  }
  template <class T>
  T* allocate(const std::vector<T>& values) const {
    T* const memory = allocate<T>(values.size());
    std::copy(values.begin(), values.end(), memory);
    return memory;
  }

  static hsa_signal_t signal(hsa_signal_value_t value) {
    hsa_signal_t made = {};
    EXPECT_EQ(hsa_signal_create(value, 0, nullptr, &made), HSA_STATUS_SUCCESS);
    return made;
  }
  static void wait_for_zero(hsa_signal_t s) {
    EXPECT_EQ(hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_EQ, 0, kForever, HSA_WAIT_STATE_BLOCKED), 0);
  }

  static hsa_executable_t executable() {
    hsa_executable_t made = {};
    EXPECT_EQ(
        hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, nullptr, &made),
        HSA_STATUS_SUCCESS);
    return made;
  }
  hsa_status_t load(hsa_executable_t into, const std::vector<char>& bytes) const {
    hsa_code_object_reader_t reader = {};
    EXPECT_EQ(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader),
              HSA_STATUS_SUCCESS);
    const hsa_status_t status = hsa_executable_load_agent_code_object(into, gpu, reader, nullptr, nullptr);
    EXPECT_EQ(hsa_code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
    return status;
  }
  hsa_executable_symbol_t symbol(hsa_executable_t in, const char* name) const {
    hsa_executable_symbol_t found = {};
    EXPECT_EQ(hsa_executable_get_symbol_by_name(in, name, &gpu, &found), HSA_STATUS_SUCCESS) << name;
    return found;
  }
  template <class T>
  static T info(hsa_executable_symbol_t of, hsa_executable_symbol_info_t attribute) {
    T value = {};
    EXPECT_EQ(hsa_executable_symbol_get_info(of, attribute, &value), HSA_STATUS_SUCCESS) << attribute;
    return value;
  }
};

/// A kernel of a test's code object, and packets that dispatch it.
struct TestKernel {
  hsa_executable_t executable = {};
  hsa_kernel_dispatch_packet_t packet = {};
  std::uint32_t kernarg_bytes = 0;
};

/// A kernarg segment that is filled by hand; what is hidden stays 0.
class Kernarg {
public:
  Kernarg(void* memory, std::size_t bytes) : begin_(static_cast<char*>(memory)), bytes_(bytes) {}
  template <class T>
  Kernarg& add(T value) {
    used_ = (used_ + sizeof value - 1) / sizeof value * sizeof value;
    EXPECT_LE(used_ + sizeof value, bytes_);
    std::memcpy(begin_ + used_, &value, sizeof value);
    used_ += sizeof value;
    return *this;
  }

private:
  char* begin_;
  std::size_t bytes_, used_ = 0;
};

/// ... and a queue for its kernels.
class HsaQueue : public Hsa {
protected:
  void SetUp() override {
    Hsa::SetUp();
    queue = make_queue(64);
  }
  void TearDown() override {
    EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
    Hsa::TearDown();
  }

  hsa_queue_t* queue = nullptr;

  hsa_queue_t* make_queue(std::uint32_t size, void (*callback)(hsa_status_t, hsa_queue_t*, void*) = nullptr,
                          void* data = nullptr) const {
    hsa_queue_t* made = nullptr;
    EXPECT_EQ(hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, callback, data, 0, 0, &made),
              HSA_STATUS_SUCCESS);
    return made;
  }

  /// A kernel in workgroups of one row, without arguments yet.
  TestKernel kernel(const std::string& name, std::uint32_t grid, std::uint16_t workgroup) const {
    return kernel_in(code_object(name + ".O3"), name, grid, workgroup);
  }
  TestKernel kernel_in(const std::vector<char>& code, const std::string& name, std::uint32_t grid,
                       std::uint16_t workgroup) const {
    TestKernel k;
    k.executable = executable();
    EXPECT_EQ(load(k.executable, code), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_executable_freeze(k.executable, nullptr), HSA_STATUS_SUCCESS);
    const auto s = symbol(k.executable, (name + ".kd").c_str());
    k.kernarg_bytes = info<std::uint32_t>(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
    k.packet.setup = 1;
    k.packet.workgroup_size_x = workgroup;
    k.packet.workgroup_size_y = k.packet.workgroup_size_z = 1;
    k.packet.grid_size_x = grid;
    k.packet.grid_size_y = k.packet.grid_size_z = 1;
    k.packet.group_segment_size =
        info<std::uint32_t>(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
    k.packet.private_segment_size =
        info<std::uint32_t>(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
    k.packet.kernel_object = info<std::uint64_t>(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
    k.packet.kernarg_address = allocate<char>(k.kernarg_bytes);
    return k;
  }

  static Kernarg arguments(const TestKernel& k) { return {k.packet.kernarg_address, k.kernarg_bytes}; }

  /// y += a * x
  TestKernel saxpy(std::uint32_t n, float a, const float* x, float* y) const {
    TestKernel k = kernel("saxpy", (n + 63) / 64 * 64, 64);
    arguments(k).add(n).add(a).add(x).add(y);
    return k;
  }

  static constexpr std::uint16_t header(unsigned type, bool barrier = false) {
    return static_cast<std::uint16_t>(type << HSA_PACKET_HEADER_TYPE |
                                      (barrier ? 1 << HSA_PACKET_HEADER_BARRIER : 0) |
                                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
  }

  /// Writes a packet as programs have to: the header last.
  template <class Packet>
  static void submit(hsa_queue_t* to, Packet packet, std::uint16_t header) {
    static_assert(sizeof packet == 64);
    const std::uint64_t index = hsa_queue_add_write_index_screlease(to, 1);
    while (index - hsa_queue_load_read_index_scacquire(to) >= to->size) std::this_thread::yield();
    auto* const slot = static_cast<char*>(to->base_address) + index % to->size * 64;
    std::memcpy(slot + 2, reinterpret_cast<const char*>(&packet) + 2, 62);
    std::atomic_ref<std::uint16_t>(*reinterpret_cast<std::uint16_t*>(slot))
        .store(header, std::memory_order_release);
    hsa_signal_store_screlease(to->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }
  static void dispatch(hsa_queue_t* to, const TestKernel& k, hsa_signal_t done = {}) {
    hsa_kernel_dispatch_packet_t packet = k.packet;
    packet.completion_signal = done;
    submit(to, packet, header(HSA_PACKET_TYPE_KERNEL_DISPATCH));
  }
  void run(const TestKernel& k) const {
    const hsa_signal_t done = signal(1);
    dispatch(queue, k, done);
    wait_for_zero(done);
    hsa_signal_destroy(done);
  }
  static void barrier(hsa_queue_t* to, unsigned type, std::vector<hsa_signal_t> wanted, hsa_signal_t done) {
    hsa_barrier_and_packet_t packet = {};
    std::copy(wanted.begin(), wanted.end(), packet.dep_signal);
    packet.completion_signal = done;
    submit(to, packet, header(type, true));
  }
};

} // namespace lanewise
