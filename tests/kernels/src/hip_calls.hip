// HIP: calls through a table of function pointers that differ between lanes, virtual functions, and recursion.
// min-target: gfx700
#include "hip.h"

using Function = unsigned (*)(unsigned, unsigned);

__device__ __noinline__ unsigned add(unsigned a, unsigned b) { return a + b; }
__device__ __noinline__ unsigned mix(unsigned a, unsigned b) { return (a ^ b) * 0x9e3779b1u; }
__device__ __noinline__ unsigned gcd(unsigned a, unsigned b) { return b == 0 ? a : gcd(b, a % b); }
__device__ __noinline__ unsigned depth(unsigned a, unsigned b) { return a < 2 ? b : depth(a / 3, b + 1) + depth(a / 4, 1); }

__device__ const Function functions[4] = {add, mix, gcd, depth};

struct Shape {
  unsigned size;
  __device__ explicit Shape(unsigned s) : size(s) {}
  __device__ virtual unsigned area() const { return size; }
};
struct Square : Shape {
  using Shape::Shape;
  __device__ unsigned area() const override { return size * size; }
};
struct Strip : Shape {
  using Shape::Shape;
  __device__ unsigned area() const override { return size * 3 + 1; }
};

extern "C" __global__ void hip_calls(const unsigned* in, unsigned* out, unsigned n) {
  unsigned i = global_x();
  if (i >= n) return;
  unsigned value = in[i];
  Square square(value & 255);
  Strip strip(value & 127);
  const Shape* shape = &square;
  if (value & 4) shape = &strip;
  Shape plain(i);
  if (value & 8) shape = &plain;
  out[2 * i] = functions[value & 3](value >> 20, i);
  out[2 * i + 1] = shape->area();
}
