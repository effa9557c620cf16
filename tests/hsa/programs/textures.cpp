// Texture and surface objects of arrays and of linear memory.
#include "check.hpp"

#include <cmath>
#include <vector>

constexpr int kWidth = 200, kHeight = 100;

__global__ void sample(hipTextureObject_t texture, float* out, float step) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < kWidth && y < kHeight) out[y * kWidth + x] = tex2D<float>(texture, x + step, y + step);
}
__global__ void fetch(hipTextureObject_t texture, int* out) {
  out[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x);
}

static hipTextureDesc points(hipTextureFilterMode filter) {
  hipTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = hipAddressModeClamp;
  description.filterMode = filter;
  description.readMode = hipReadModeElementType;
  return description;
}

static void arrays() {
  std::vector<float> texels(kWidth * kHeight), got(texels.size());
  for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(i);
  const hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  hipArray* array;
  OK(hipMallocArray(&array, &format, kWidth, kHeight));
  OK(hipMemcpy2DToArray(array, 0, 0, texels.data(), kWidth * sizeof(float), kWidth * sizeof(float), kHeight,
                        hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  float* out;
  OK(hipMalloc(&out, got.size() * sizeof(float)));
  for (const auto filter : {hipFilterModePoint, hipFilterModeLinear}) {
    const hipTextureDesc description = points(filter);
    hipTextureObject_t texture;
    OK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
    // In the middle of texels, then between four of them.
    sample<<<dim3(13, 7), dim3(16, 16)>>>(texture, out, filter == hipFilterModePoint ? 0.5f : 1.0f);
    OK(hipMemcpy(got.data(), out, got.size() * sizeof(float), hipMemcpyDeviceToHost));
    int wrong = 0;
    for (int y = 0; y + 1 < kHeight; ++y)
      for (int x = 0; x + 1 < kWidth; ++x) {
        const float texel = texels[y * kWidth + x];
        wrong += got[y * kWidth + x] != (filter == hipFilterModePoint ? texel : texel + 0.5f * (kWidth + 1));
      }
    EXPECT(wrong == 0);
    OK(hipDestroyTextureObject(texture));
  }
  std::vector<float> back(texels.size());
  OK(hipMemcpy2DFromArray(back.data(), kWidth * sizeof(float), array, 0, 0, kWidth * sizeof(float), kHeight,
                          hipMemcpyDeviceToHost));
  EXPECT(back == texels);
  OK(hipFreeArray(array));
  OK(hipFree(out));
}

static void linear_memory() {
  int numbers[64], got[64], *memory, *out;
  for (int i = 0; i < 64; ++i) numbers[i] = i * i;
  OK(hipMalloc(&memory, sizeof numbers));
  OK(hipMalloc(&out, sizeof got));
  OK(hipMemcpy(memory, numbers, sizeof numbers, hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = hipCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = sizeof numbers;
  const hipTextureDesc description = points(hipFilterModePoint);
  hipTextureObject_t texture;
  OK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
  fetch<<<1, 64>>>(texture, out);
  OK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT(got[i] == numbers[i]);
  OK(hipDestroyTextureObject(texture));
  OK(hipFree(memory));
  OK(hipFree(out));
}

static void pitched_memory() {
  std::vector<float> texels(kWidth * kHeight), got(texels.size());
  for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(i) * 2;
  float *memory, *out;
  std::size_t pitch = 0;
  OK(hipMallocPitch(reinterpret_cast<void**>(&memory), &pitch, kWidth * sizeof(float), kHeight));
  OK(hipMalloc(&out, got.size() * sizeof(float)));
  OK(hipMemcpy2D(memory, pitch, texels.data(), kWidth * sizeof(float), kWidth * sizeof(float), kHeight,
                 hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = hipCreateChannelDesc<float>();
  resource.res.pitch2D.width = kWidth;
  resource.res.pitch2D.height = kHeight;
  resource.res.pitch2D.pitchInBytes = pitch;
  const hipTextureDesc description = points(hipFilterModePoint);
  hipTextureObject_t texture;
  OK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
  sample<<<dim3(13, 7), dim3(16, 16)>>>(texture, out, 0.5f);
  OK(hipMemcpy(got.data(), out, got.size() * sizeof(float), hipMemcpyDeviceToHost));
  EXPECT(got == texels);
  OK(hipDestroyTextureObject(texture));
  OK(hipFree(memory));
  OK(hipFree(out));
}

// As programs from before texture objects have them.
texture<float, hipTextureType1D, hipReadModeElementType> reference1;
texture<float, hipTextureType2D, hipReadModeElementType> reference2;
__global__ void fetch_by_reference(float* out) { out[threadIdx.x] = tex1Dfetch(reference1, threadIdx.x); }
__global__ void sample_by_reference(float* out) {
  out[blockIdx.x * 64 + threadIdx.x] = tex2D(reference2, threadIdx.x + 0.5f, blockIdx.x + 0.5f);
}

static void texture_references() {
  constexpr int kSide = 64, kCount = kSide * kSide;
  std::vector<float> texels(kCount), got(kCount);
  for (int i = 0; i < kCount; ++i) texels[i] = static_cast<float>(i);
  float *in, *out;
  OK(hipMalloc(&in, kCount * sizeof(float)));
  OK(hipMalloc(&out, kCount * sizeof(float)));
  OK(hipMemcpy(in, texels.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  std::size_t offset = 1;
  OK(hipBindTexture(&offset, reference1, in, kCount * sizeof(float)));
  fetch_by_reference<<<1, 256>>>(out);
  OK(hipMemcpy(got.data(), out, 256 * sizeof(float), hipMemcpyDeviceToHost));
  EXPECT(offset == 0 && got[0] == 0 && got[255] == 255);
  OK(hipUnbindTexture(reference1));
  const hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  hipArray* array;
  OK(hipMallocArray(&array, &format, kSide, kSide));
  OK(hipMemcpy2DToArray(array, 0, 0, texels.data(), kSide * sizeof(float), kSide * sizeof(float), kSide,
                        hipMemcpyHostToDevice));
  OK(hipBindTextureToArray(reference2, array, format));
  sample_by_reference<<<kSide, kSide>>>(out);
  OK(hipMemcpy(got.data(), out, kCount * sizeof(float), hipMemcpyDeviceToHost));
  EXPECT(got == texels);
  OK(hipUnbindTexture(reference2));
  OK(hipFreeArray(array));
  OK(hipFree(in));
  OK(hipFree(out));
}

int main() {
  arrays();
  texture_references();
  linear_memory();
  pitched_memory();
  return result();
}
