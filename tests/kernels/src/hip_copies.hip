// HIP: copies as its headers do them where nothing is optimised, in dwords and what is left, from and to variables that go by
// pointers; an index of 64 bits, and one that goes down without a sign.
// min-target: gfx700
#include "hip.h"

using size_t = decltype(sizeof(0));

__device__ void copy(void* to, const void* from, size_t size) {
  unsigned char* t = static_cast<unsigned char*>(to);
  const unsigned char* f = static_cast<const unsigned char*>(from);
  while (size >= 4u) {
    t[0] = f[0];
    t[1] = f[1];
    t[2] = f[2];
    t[3] = f[3];
    size -= 4u;
    f += 4u;
    t += 4u;
  }
  switch (size) {
  case 3: t[2] = f[2]; [[fallthrough]];
  case 2: t[1] = f[1]; [[fallthrough]];
  case 1: t[0] = f[0];
  }
}

struct Number { // the upper half of an f32
  unsigned short bits;
  __device__ explicit Number(float x) {
    unsigned all;
    copy(&all, &x, sizeof all);
    bits = static_cast<unsigned short>((all + 0x7fffu + (all >> 16 & 1)) >> 16);
  }
  __device__ float value() const {
    unsigned all = static_cast<unsigned>(bits) << 16;
    float x;
    copy(&x, &all, sizeof x);
    return x;
  }
};

struct Record {
  unsigned char bytes[11];
  unsigned short tag;
};

extern "C" __global__ void hip_copies(const float* in, unsigned* out, unsigned n) {
  unsigned i = global_x();
  if (i >= n) return;
  float sums[4];
  for (size_t j = 0; j < 4; ++j) sums[j] = Number(in[4 * i + j] * 3.0f).value();
  Record record, other;
  record.tag = static_cast<unsigned short>(i);
  copy(record.bytes, sums, sizeof record.bytes);
  copy(&other, &record, sizeof other);
  unsigned hash = other.tag;
  for (unsigned j = sizeof other.bytes; j > 0; --j) hash = hash * 31 + other.bytes[j - 1];
  unsigned last;
  copy(&last, sums + 3, sizeof last);
  out[i] = hash ^ last;
}
