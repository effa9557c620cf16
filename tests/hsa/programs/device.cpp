// What kernels may call and wait for: printf, malloc, groups of threads, shared memory of a size known at the
// launch.
#include "check.hpp"

#include <hip/hip_cooperative_groups.h>
#include <vector>

namespace cg = cooperative_groups;

__global__ void print(int n) {
  if (threadIdx.x < 2)
    printf("work-item %d of %d: %s %.1f\n", static_cast<int>(threadIdx.x), n, "half of it is",
           0.5 * threadIdx.x);
}

__global__ void with_heap(int* out) {
  int* const own = static_cast<int*>(malloc(2 * sizeof(int)));
  if (own == nullptr) return;
  own[threadIdx.x & 1] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = 2 * own[threadIdx.x & 1];
  free(own);
}

static void heap() {
  int *out, got[64];
  OK(hipMalloc(&out, sizeof got));
  for (int round = 0; round < 3; ++round) with_heap<<<1, 64>>>(out);
  OK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT(got[i] == 2 * i);
  OK(hipFree(out));
}

__global__ void count_all(int* counts) {
  const cg::grid_group grid = cg::this_grid();
  atomicAdd(&counts[0], 1);
  grid.sync();
  if (grid.thread_rank() == 0) counts[1] = counts[0];
}

static void grids_that_wait() {
  int able = 0;
  OK(hipDeviceGetAttribute(&able, hipDeviceAttributeCooperativeLaunch, 0));
  if (able == 0) return; // HIP has these from gfx9 on
  int* counts;
  OK(hipMalloc(&counts, 2 * sizeof(int)));
  for (unsigned groups : {1u, 4u, 16u}) {
    OK(hipMemset(counts, 0, 2 * sizeof(int)));
    void* arguments[] = {&counts};
    OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(count_all), dim3(groups), dim3(64), arguments, 0,
                                  0));
    int got[2] = {};
    OK(hipMemcpy(got, counts, sizeof got, hipMemcpyDeviceToHost));
    EXPECT(got[1] == static_cast<int>(64 * groups));
  }
  OK(hipFree(counts));
}

/// Sums of blocks: by tiles of threads, then through shared memory.
template <class T, int kThreads>
__global__ void sums(const T* in, T* out) {
  __shared__ T of_tiles[kThreads / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  T sum = in[blockIdx.x * kThreads + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  if (tile.thread_rank() == 0) of_tiles[threadIdx.x / 32] = sum;
  block.sync();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < kThreads / 32; ++t) sum += of_tiles[t];
  out[blockIdx.x] = sum;
}

template <class T, int kThreads>
static void block_sums() {
  std::vector<T> in(4 * kThreads), got(4);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i);
  T *from, *to;
  OK(hipMalloc(&from, in.size() * sizeof(T)));
  OK(hipMalloc(&to, got.size() * sizeof(T)));
  OK(hipMemcpy(from, in.data(), in.size() * sizeof(T), hipMemcpyHostToDevice));
  sums<T, kThreads><<<4, kThreads>>>(from, to);
  OK(hipMemcpy(got.data(), to, got.size() * sizeof(T), hipMemcpyDeviceToHost));
  for (int b = 0; b < 4; ++b)
    EXPECT(got[b] == static_cast<T>(kThreads * (2 * b * kThreads + kThreads - 1) / 2));
  OK(hipFree(from));
  OK(hipFree(to));
}

extern __shared__ int dynamic[];
__global__ void reverse(int* numbers) {
  dynamic[threadIdx.x] = numbers[threadIdx.x];
  __syncthreads();
  numbers[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

static void dynamic_shared_memory() {
  std::vector<int> numbers(1024);
  for (int i = 0; i < 1024; ++i) numbers[i] = i;
  int* memory;
  OK(hipMalloc(&memory, 4096));
  OK(hipMemcpy(memory, numbers.data(), 4096, hipMemcpyHostToDevice));
  hipLaunchKernelGGL(reverse, dim3(1), dim3(1024), 4096, 0, memory);
  OK(hipMemcpy(numbers.data(), memory, 4096, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 1024; ++i) wrong += numbers[i] != 1023 - i;
  EXPECT(wrong == 0);
  int blocks = 0;
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 1024));
  EXPECT(blocks > 0);
  OK(hipFree(memory));
}

int main() {
  print<<<1, 64>>>(64);
  OK(hipDeviceSynchronize());
  heap();
  grids_that_wait();
  block_sums<int, 256>();
  block_sums<double, 64>();
  block_sums<unsigned long long, 1024>();
  dynamic_shared_memory();
  return result();
}
