// What the programs check themselves with: main() returns what failures() counts.
#pragma once

#include <cstdio>
#include <hip/hip_runtime.h>

inline int& failures() {
  static int count = 0;
  return count;
}

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                           \
      ++failures();                                                                                          \
    }                                                                                                        \
  } while (false)

/// Of a HIP function.
#define OK(call)                                                                                             \
  do {                                                                                                       \
    const hipError_t status_ = (call);                                                                       \
    if (status_ != hipSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status_));        \
      ++failures();                                                                                          \
    }                                                                                                        \
  } while (false)

inline int result() { return failures() == 0 ? 0 : 1; }
