// HIP: templates, aggregates, references into LDS, generic pointers throughout (at -O0 even to the stack).
// min-target: gfx700
#include "hip.h"

struct Span {
  const float* data;
  unsigned size;
  __device__ float at(unsigned i) const { return i < size ? data[i] : 0.0f; }
};

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return a < b ? b : a; }
};

template <class Op>
__device__ float block_reduce(float (&scratch)[128], float value, Op op) {
  unsigned lane = thread_x();
  sync_threads();
  scratch[lane] = value;
  for (unsigned width = block_size_x() / 2; width > 0; width /= 2) {
    sync_threads();
    if (lane < width) scratch[lane] = op(scratch[lane], scratch[lane + width]);
  }
  sync_threads();
  return scratch[0];
}

extern "C" __global__ void hip_reduce(const float* in, unsigned size, float* sums, float* maxima,
                                      unsigned* finished) {
  __shared__ float scratch[128];
  Span span{in, size};
  float value = span.at(global_x());
  float sum = block_reduce(scratch, value, Add{});
  float top = block_reduce(scratch, value, Max{});
  if (thread_x() != 0) return;
  sums[block_x()] = sum;
  maxima[block_x()] = top;
  __atomic_fetch_add(finished, 1u, __ATOMIC_RELAXED);
}
