// The loops that the roofline is measured with. Callers have asked whether the host has the instructions.
#pragma once

#include <cstddef>

namespace lanewise::bench::loops {

/// Fused multiply-adds in 24 independent chains (12 of 256 bits); returns the floating-point operations done.
/// `sink` keeps the result alive.
double fma_f32_512(std::size_t rounds, double& sink);
double fma_f64_512(std::size_t rounds, double& sink);
double fma_f32_256(std::size_t rounds, double& sink);
double fma_f64_256(std::size_t rounds, double& sink);

/// a = b + s * c over `n` floats, a multiple of 16, at addresses that are multiples of 64.
void triad_512(float* a, const float* b, const float* c, std::size_t n);
void triad_256(float* a, const float* b, const float* c, std::size_t n);
void triad_plain(float* a, const float* b, const float* c, std::size_t n);
void triad_streaming_512(float* a, const float* b, const float* c, std::size_t n);
void triad_streaming_256(float* a, const float* b, const float* c, std::size_t n);

} // namespace lanewise::bench::loops
