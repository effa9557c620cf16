// The few words of HIP that the .hip kernels need; the real headers are not part of the distribution's compiler.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __noinline__ __attribute__((noinline))

extern "C" __device__ float __ocml_sqrt_f32(float);

__device__ inline unsigned thread_x() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline unsigned block_x() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline unsigned block_size_x() { return __builtin_amdgcn_workgroup_size_x(); }
__device__ inline unsigned global_x() { return block_x() * block_size_x() + thread_x(); }

__device__ inline void sync_threads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
