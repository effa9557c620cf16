// HIP: dynamic LDS that no argument stands for, behind LDS of fixed size, and variables that the host may write.
// min-target: gfx700
#include "hip.h"

__constant__ unsigned weights[4] = {3, 5, 7, 11};
__device__ unsigned launches;
__device__ extern const unsigned steps[32];
__device__ const unsigned steps[32] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                       17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

extern __shared__ unsigned products[];

extern "C" __global__ void hip_shared(const unsigned* in, unsigned* out) {
  __shared__ unsigned table[32];
  unsigned lane = thread_x();
  if (lane < 32) table[lane] = steps[lane];
  products[lane] = in[global_x()] * weights[lane & 3];
  if (global_x() == 0) launches++;
  sync_threads();
  out[global_x()] = products[block_size_x() - 1 - lane] + table[lane & 31];
}
