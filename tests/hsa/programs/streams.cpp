// Streams, events, callbacks, graphs, and threads of the host that have a stream each.
#include "check.hpp"

#include <thread>
#include <vector>

__global__ void scale(float* a, float factor, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] *= factor;
}

constexpr int kCount = 1 << 16;

static void copies_and_kernels_in_four_streams() {
  hipEvent_t begin, end;
  OK(hipEventCreate(&begin));
  OK(hipEventCreate(&end));
  OK(hipEventRecord(begin, 0));
  hipStream_t streams[4];
  float *device[4], *host[4];
  for (int k = 0; k < 4; ++k) {
    OK(hipStreamCreate(&streams[k]));
    OK(hipMalloc(&device[k], kCount * sizeof(float)));
    OK(hipHostMalloc(&host[k], kCount * sizeof(float)));
    for (int i = 0; i < kCount; ++i) host[k][i] = static_cast<float>(i % 97 + k);
    OK(hipMemcpyAsync(device[k], host[k], kCount * sizeof(float), hipMemcpyHostToDevice, streams[k]));
    scale<<<32, 256, 0, streams[k]>>>(device[k], 2, kCount);
    scale<<<32, 256, 0, streams[k]>>>(device[k], 0.25f, kCount);
    OK(hipMemcpyAsync(host[k], device[k], kCount * sizeof(float), hipMemcpyDeviceToHost, streams[k]));
  }
  OK(hipDeviceSynchronize());
  OK(hipEventRecord(end, 0));
  OK(hipEventSynchronize(end));
  float ms = -1;
  OK(hipEventElapsedTime(&ms, begin, end));
  EXPECT(ms >= 0);
  for (int k = 0; k < 4; ++k) {
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += host[k][i] != static_cast<float>(i % 97 + k) * 0.5f;
    EXPECT(wrong == 0);
    OK(hipStreamDestroy(streams[k]));
    OK(hipFree(device[k]));
    OK(hipHostFree(host[k]));
  }
}

static void one_stream_waits_for_another() {
  hipStream_t a, b;
  OK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  hipEvent_t filled;
  OK(hipEventCreateWithFlags(&filled, hipEventDisableTiming));
  std::vector<float> ones(kCount, 1);
  float* memory;
  OK(hipMalloc(&memory, kCount * sizeof(float)));
  for (int round = 0; round < 20; ++round) {
    OK(hipMemcpyAsync(memory, ones.data(), kCount * sizeof(float), hipMemcpyHostToDevice, a));
    scale<<<16, 256, 0, a>>>(memory, 3, kCount);
    OK(hipEventRecord(filled, a));
    OK(hipStreamWaitEvent(b, filled, 0));
    scale<<<16, 256, 0, b>>>(memory, 5, kCount);
    OK(hipStreamSynchronize(b));
    float last = 0;
    OK(hipMemcpy(&last, memory + kCount - 1, sizeof last, hipMemcpyDeviceToHost));
    EXPECT(last == 15);
  }
  EXPECT(hipStreamQuery(a) == hipSuccess);
  EXPECT(hipEventQuery(filled) == hipSuccess);
  OK(hipFree(memory));
}

static void callbacks_are_called() {
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  float* memory;
  OK(hipMalloc(&memory, 4096));
  std::vector<int> seen;
  const auto note = [](hipStream_t, hipError_t status, void* data) {
    EXPECT(status == hipSuccess);
    auto* const list = static_cast<std::vector<int>*>(data);
    list->push_back(static_cast<int>(list->size()));
  };
  for (int n = 0; n < 10; ++n) {
    scale<<<1, 64, 0, stream>>>(memory, 1, 1024);
    OK(hipStreamAddCallback(stream, note, &seen, 0));
  }
  OK(hipStreamSynchronize(stream));
  EXPECT(seen.size() == 10);
  OK(hipFree(memory));
}

static void graphs_are_launched_again() {
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  float* memory;
  OK(hipMalloc(&memory, 4096));
  std::vector<float> ones(1024, 1);
  OK(hipMemcpy(memory, ones.data(), 4096, hipMemcpyHostToDevice));
  hipGraph_t graph;
  hipGraphExec_t executable;
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  scale<<<1, 64, 0, stream>>>(memory, 4, 1024);
  scale<<<1, 64, 0, stream>>>(memory, 0.5f, 1024);
  OK(hipStreamEndCapture(stream, &graph));
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int n = 0; n < 5; ++n) OK(hipGraphLaunch(executable, stream));
  OK(hipStreamSynchronize(stream));
  float first = 0;
  OK(hipMemcpy(&first, memory, sizeof first, hipMemcpyDeviceToHost));
  EXPECT(first == 32);
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(graph));
  OK(hipFree(memory));
}

static void threads_have_streams() {
  constexpr int kThreads = 6, kRounds = 50;
  std::vector<std::thread> threads;
  std::vector<float> results(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&results, t] {
      hipStream_t stream;
      float *memory, one = 1;
      OK(hipStreamCreate(&stream));
      OK(hipMalloc(&memory, sizeof(float)));
      OK(hipMemcpyAsync(memory, &one, sizeof one, hipMemcpyHostToDevice, stream));
      for (int n = 0; n < kRounds; ++n) scale<<<1, 64, 0, stream>>>(memory, n % 2 == 0 ? 2.0f : 0.5f, 1);
      scale<<<1, 64, 0, stream>>>(memory, static_cast<float>(t), 1);
      OK(hipMemcpyAsync(&results[t], memory, sizeof(float), hipMemcpyDeviceToHost, stream));
      OK(hipStreamSynchronize(stream));
      OK(hipStreamDestroy(stream));
      OK(hipFree(memory));
    });
  for (auto& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) EXPECT(results[t] == static_cast<float>(t));
}

__global__ void wait_for(const int* flag, int* seen) {
  int value;
  while ((value = __atomic_load_n(flag, __ATOMIC_ACQUIRE)) == 0) {
  }
  seen[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
__global__ void raise(int* flag, int value) { __atomic_store_n(flag, value, __ATOMIC_RELEASE); }

/// As on a card, whose streams have queues of their own, up to four.
static void a_kernel_waits_for_another_streams() {
  hipStream_t a, b;
  OK(hipStreamCreate(&a));
  OK(hipStreamCreate(&b));
  int *flag, *seen, host[512];
  OK(hipMalloc(&flag, sizeof(int)));
  OK(hipMalloc(&seen, sizeof host));
  for (int value = 1; value <= 3; ++value) {
    OK(hipMemset(flag, 0, sizeof(int)));
    OK(hipDeviceSynchronize());
    wait_for<<<8, 64, 0, a>>>(flag, seen);
    raise<<<1, 1, 0, b>>>(flag, value);
    OK(hipDeviceSynchronize());
    OK(hipMemcpy(host, seen, sizeof host, hipMemcpyDeviceToHost));
    int wrong = 0;
    for (const int v : host) wrong += v != value;
    EXPECT(wrong == 0);
  }
  OK(hipFree(flag));
  OK(hipFree(seen));
}

__global__ void say(int stream) { printf("stream %d\n", stream); }

/// Each queue has its own buffer for that.
static void kernels_of_all_streams_print() {
  for (int round = 0; round < 2; ++round)
    for (int k = 0; k < 6; ++k) {
      static hipStream_t streams[6];
      if (round == 0) OK(hipStreamCreate(&streams[k]));
      say<<<1, 1, 0, streams[k]>>>(k);
    }
  say<<<1, 1>>>(-1);
  OK(hipDeviceSynchronize());
}

int main() {
  copies_and_kernels_in_four_streams();
  one_stream_waits_for_another();
  callbacks_are_called();
  graphs_are_launched_again();
  threads_have_streams();
  a_kernel_waits_for_another_streams();
  kernels_of_all_streams_print();
  return result();
}
