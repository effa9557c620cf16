// Copies of two and three dimensions, variables, managed memory, and what HIP says of pointers.
#include "check.hpp"

#include <numeric>
#include <vector>

__device__ int counter = 5;
__constant__ float factors[16];
__managed__ int managed = 7;

__global__ void use_variables(float* out, int* seen) {
  out[threadIdx.x] = factors[threadIdx.x % 16];
  if (threadIdx.x != 0) return;
  seen[0] = counter;
  seen[1] = managed;
  counter = 11;
  managed = 13;
}

static void variables() {
  float given[16], got[64];
  for (int i = 0; i < 16; ++i) given[i] = static_cast<float>(i) * 1.5f;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(factors), given, sizeof given));
  float* out;
  int *seen, values[2] = {}, value = 0;
  OK(hipMalloc(&out, sizeof got));
  OK(hipMalloc(&seen, sizeof values));
  use_variables<<<1, 64>>>(out, seen);
  OK(hipGetLastError());
  OK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
  OK(hipMemcpy(values, seen, sizeof values, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT(got[i] == given[i % 16]);
  EXPECT(values[0] == 5);
  EXPECT(values[1] == 7);
  OK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof value));
  EXPECT(value == 11);
  EXPECT(managed == 13);
  void* address = nullptr;
  std::size_t bytes = 0;
  OK(hipGetSymbolAddress(&address, HIP_SYMBOL(factors)));
  OK(hipGetSymbolSize(&bytes, HIP_SYMBOL(factors)));
  EXPECT(address != nullptr);
  EXPECT(bytes == sizeof given);
  OK(hipFree(out));
  OK(hipFree(seen));
}

static void pitched() {
  constexpr std::size_t kWidth = 100, kHeight = 50;
  char* device;
  std::size_t pitch = 0;
  OK(hipMallocPitch(reinterpret_cast<void**>(&device), &pitch, kWidth, kHeight));
  EXPECT(pitch >= kWidth);
  std::vector<char> from(kWidth * kHeight), to(from.size());
  std::iota(from.begin(), from.end(), static_cast<char>(1));
  OK(hipMemcpy2D(device, pitch, from.data(), kWidth, kWidth, kHeight, hipMemcpyHostToDevice));
  OK(hipMemcpy2D(to.data(), kWidth, device, pitch, kWidth, kHeight, hipMemcpyDeviceToHost));
  EXPECT(from == to);
  OK(hipMemset2D(device, pitch, 5, kWidth, kHeight - 1));
  OK(hipMemcpy2D(to.data(), kWidth, device, pitch, kWidth, kHeight, hipMemcpyDeviceToHost));
  EXPECT(to[77] == 5);
  EXPECT(to.back() == from.back());
  OK(hipFree(device));
}

static void boxes() {
  const hipExtent extent = make_hipExtent(40 * sizeof(int), 10, 6);
  hipPitchedPtr device;
  OK(hipMalloc3D(&device, extent));
  std::vector<int> from(40 * 10 * 6), to(from.size());
  std::iota(from.begin(), from.end(), 1);
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(from.data(), 40 * sizeof(int), 40, 10);
  copy.dstPtr = device;
  copy.extent = extent;
  copy.kind = hipMemcpyHostToDevice;
  OK(hipMemcpy3D(&copy));
  // Back without the first plane and row.
  hipMemcpy3DParms back = {};
  back.srcPtr = device;
  back.dstPtr = make_hipPitchedPtr(to.data(), 40 * sizeof(int), 40, 10);
  back.srcPos = back.dstPos = make_hipPos(0, 1, 1);
  back.extent = make_hipExtent(40 * sizeof(int), 9, 5);
  back.kind = hipMemcpyDeviceToHost;
  OK(hipMemcpy3D(&back));
  for (int i = 0; i < 40 * 10 * 6; ++i) {
    const bool copied = i / 400 >= 1 && i / 40 % 10 >= 1;
    EXPECT(to[i] == (copied ? from[i] : 0));
  }
  OK(hipMemset3D(device, 9, extent));
  OK(hipFree(device.ptr));
}

__global__ void add_one(int* numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

static void memory_that_both_have() {
  int *shared, *pinned, *seen;
  OK(hipMallocManaged(&shared, 4096 * sizeof(int)));
  OK(hipHostMalloc(&pinned, 4096 * sizeof(int), hipHostMallocMapped));
  OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), pinned, 0));
  for (int i = 0; i < 4096; ++i) shared[i] = pinned[i] = i;
  OK(hipMemPrefetchAsync(shared, 4096 * sizeof(int), 0, 0));
  add_one<<<16, 256>>>(shared);
  add_one<<<16, 256>>>(seen);
  OK(hipDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < 4096; ++i) wrong += shared[i] != i + 1 || pinned[i] != i + 1;
  EXPECT(wrong == 0);
  OK(hipFree(shared));
  OK(hipHostFree(pinned));
}

static void what_is_known() {
  std::size_t free = 0, total = 0;
  OK(hipMemGetInfo(&free, &total));
  EXPECT(total > 0);
  EXPECT(free <= total);
  int* memory;
  OK(hipMalloc(&memory, 1000));
  hipPointerAttribute_t attributes;
  OK(hipPointerGetAttributes(&attributes, memory + 10));
  EXPECT(attributes.memoryType == hipMemoryTypeDevice);
  OK(hipFree(memory));
  void* much = nullptr;
  EXPECT(hipMalloc(&much, std::size_t{1} << 60) == hipErrorOutOfMemory);
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  EXPECT(properties.warpSize == 64);
  EXPECT(properties.maxThreadsPerBlock == 1024);
  EXPECT(properties.sharedMemPerBlock == 65536);
}

__global__ void late(int* a, int n, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i;
  for (int k = 0; k < rounds; ++k) x = x * 1664525 + 1013904223;
  if (i < n) a[i] = x | 1;
}

__global__ void add_one(int* a, const int* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i] + 1;
}

// Of memory that HIP does not know, asynchronous copies have read or written all when they return.
static void copies_of_pageable_memory() {
  for (const int n : {64, 1 << 20}) {
    std::vector<int> in(n, 5), out(n, 0);
    int *a, *b;
    OK(hipMalloc(&a, n * sizeof(int)));
    OK(hipMalloc(&b, n * sizeof(int)));
    OK(hipMemset(a, 0, n * sizeof(int)));
    hipStream_t stream;
    OK(hipStreamCreate(&stream));
    const int blocks = (n + 255) / 256, rounds = (1 << 24) / n + 100;
    late<<<blocks, 256, 0, stream>>>(a, n, rounds);
    OK(hipMemcpyAsync(out.data(), a, n * sizeof(int), hipMemcpyDeviceToHost, stream));
    EXPECT(out[0] != 0 && out[n - 1] != 0);
    late<<<blocks, 256, 0, stream>>>(a, n, rounds);
    OK(hipMemcpyAsync(a, in.data(), n * sizeof(int), hipMemcpyHostToDevice, stream));
    for (int& x : in) x = 7;
    add_one<<<blocks, 256, 0, stream>>>(b, a, n);
    OK(hipMemcpyAsync(out.data(), b, n * sizeof(int), hipMemcpyDeviceToHost, stream));
    OK(hipStreamSynchronize(stream));
    EXPECT(out[0] == 6 && out[n - 1] == 6);
    OK(hipStreamDestroy(stream));
    OK(hipFree(a));
    OK(hipFree(b));
  }
}

static void fine_grained_memory() {
  int* a;
  OK(hipExtMallocWithFlags(reinterpret_cast<void**>(&a), 64 * sizeof(int), hipDeviceMallocFinegrained));
  OK(hipMemset(a, 0, 64 * sizeof(int)));
  add_one<<<1, 64>>>(a, a, 64);
  int seen = 0;
  OK(hipMemcpy(&seen, a + 63, sizeof(int), hipMemcpyDeviceToHost));
  EXPECT(seen == 1);
  OK(hipFree(a));
}

__global__ void add_to(int* begin, const int* end) {
  for (int* i = begin + threadIdx.x; i < end; i += blockDim.x) *i += 1;
}

// Memory of the host's own: by its address and by the one that HIP has for the device, again and again.
static void registered_memory() {
  std::vector<int> numbers(5000);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int round = 1; round <= 3; ++round) {
    int *device = nullptr, *inside = nullptr, *copied;
    OK(hipHostRegister(numbers.data(), numbers.size() * sizeof(int), hipHostRegisterMapped));
    OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), numbers.data(), 0));
    OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&inside), &numbers[7], 0));
    EXPECT(inside == device + 7);
    add_to<<<1, 64>>>(device, device + 2500);
    add_to<<<1, 64>>>(&numbers[2500], numbers.data() + 5000);
    OK(hipDeviceSynchronize());
    int wrong = 0;
    for (int i = 0; i < 5000; ++i) wrong += numbers[i] != i + round;
    EXPECT(wrong == 0);
    OK(hipMalloc(&copied, 5000 * sizeof(int)));
    OK(hipMemcpyAsync(copied, device, 5000 * sizeof(int), hipMemcpyDefault, nullptr));
    OK(hipMemset(device, 0xff, 5000 * sizeof(int)));
    OK(hipDeviceSynchronize());
    EXPECT(numbers[0] == -1 && numbers[4999] == -1);
    OK(hipMemcpy2D(numbers.data(), 4000, copied, 4000, 4000, 5, hipMemcpyDeviceToHost));
    EXPECT(numbers[7] == 7 + round && numbers[4999] == 4999 + round);
    OK(hipHostUnregister(numbers.data()));
    EXPECT(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), numbers.data(), 0) != hipSuccess);
    OK(hipFree(copied));
  }
}

int main() {
  registered_memory();
  variables();
  copies_of_pageable_memory();
  fine_grained_memory();
  pitched();
  boxes();
  memory_that_both_have();
  what_is_known();
  return result();
}
