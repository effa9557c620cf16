// min-target: gfx700
// Texture and surface objects, as HIP's tex1D, tex2D, tex3D, tex1Dfetch, surf2Dread and surf2Dwrite reach them: a
// texture object is an image object of 12 dwords and the sampler's behind it, a surface object is an image object.
#include "hip.h"

typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef int int2v __attribute__((ext_vector_type(2)));
typedef unsigned __attribute__((address_space(4))) const_dword;
struct Texture;
struct Surface;

extern "C" __device__ float4v __ockl_image_sample_1D(const_dword* image, const_dword* sampler, float at);
extern "C" __device__ float4v __ockl_image_sample_2D(const_dword* image, const_dword* sampler, float2v at);
extern "C" __device__ float4v __ockl_image_sample_3D(const_dword* image, const_dword* sampler, float4v at);
extern "C" __device__ float4v __ockl_image_load_1Db(const_dword* image, int at);
extern "C" __device__ float4v __ockl_image_load_2D(const_dword* image, int2v at);
extern "C" __device__ void __ockl_image_store_2D(const_dword* image, int2v at, float4v color);

__device__ inline const_dword* object(const void* texture) { return (const_dword*)texture; }
__device__ inline const_dword* sampler(const void* texture) { return object(texture) + 12; }

extern "C" __global__ void hip_textures(Texture* line, Texture* picture, Texture* volume, Texture* numbers,
                                        Surface* canvas, float* out, int width, int height) {
  int i = global_x(), x = i % width, y = i / width;
  if (y >= height) return;
  float u = (x + 0.5f) / width, v = (y + 0.5f) / height;
  float4v mixed = __ockl_image_sample_1D(object(line), sampler(line), u * 2 - 0.5f);
  mixed += __ockl_image_sample_2D(object(picture), sampler(picture), float2v{x * 0.5f, y * 0.75f});
  mixed += __ockl_image_sample_3D(object(volume), sampler(volume), float4v{u, v, (u + v) * 0.5f, 0});
  float4v number = __ockl_image_load_1Db(object(numbers), (i * 7) % (width * 3));
  out[i] = mixed.x + mixed.y * 2 + mixed.w * 4 + __builtin_bit_cast(int, number.x);
  int2v at = {x, y};
  float4v color = __ockl_image_load_2D(object(canvas), at);
  __ockl_image_store_2D(object(canvas), at, float4v{color.w, color.z, color.y, color.x});
}
