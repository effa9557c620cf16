// Particle simulation, option pricing and softmax: kernels that lean on approximate instructions.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <cmath>

namespace lanewise::kernels {
namespace {

using Float4 = std::array<float, 4>;

/// One step for body i, in double precision.
void move_body(std::span<const Float4> position, size_t i, float dt, float softening, Float4& p, Float4& v) {
  double force[3] = {0, 0, 0};
  for (const Float4& other : position) {
    double d[3], square = softening;
    for (int c = 0; c < 3; ++c) {
      d[c] = static_cast<double>(other[c]) - position[i][c];
      square += d[c] * d[c];
    }
    for (int c = 0; c < 3; ++c) force[c] += d[c] * other[3] / (square * std::sqrt(square));
  }
  for (int c = 0; c < 3; ++c) {
    double speed = v[c] + force[c] * dt;
    v[c] = static_cast<float>(speed);
    p[c] = static_cast<float>(p[c] + speed * dt);
  }
}

KernelCase nbody(uint32_t scale) {
  Random random(10);
  uint32_t n = 256 * scale, block = 64;
  float dt = 0.01f, softening = 0.01f;
  auto body = [](Random& r) {
    return Float4{static_cast<float>(r.uniform(-1, 1)), static_cast<float>(r.uniform(-1, 1)),
                  static_cast<float>(r.uniform(-1, 1)), static_cast<float>(r.uniform(0.1, 1))};
  };
  auto flat = [](const std::vector<Float4>& v) {
    const float* first = v.front().data();
    return std::vector<float>(first, first + v.size() * 4);
  };
  Tolerance tolerance{1e-4, 2e-4, 0, "approximate rsqrt, single-precision sums"};
  return Builder("nbody")
      .grid({n, 1, 1}, {block, 1, 1})
      .value("n", n)
      .value("dt", dt)
      .value("softening", softening)
      .buffer("position", flat(random.fill(n, body)))
      .buffer("velocity", flat(random.fill(n, body)))
      .output<float>("new_position", size_t{n} * 4, tolerance)
      .output<float>("new_velocity", size_t{n} * 4, tolerance)
      .lds("tile", block * 16)
      .reference([=](std::span<Arg> args) {
        auto position = args[3].as<Float4>(), velocity = args[4].as<Float4>();
        auto p = args[5].as<Float4>(), v = args[6].as<Float4>();
        for (size_t i = 0; i < n; ++i) {
          p[i] = position[i];
          v[i] = velocity[i];
          move_body(position, i, dt, softening, p[i], v[i]);
        }
      });
}

double cumulative_normal(double d) {
  double k = 1 / (1 + 0.2316419 * std::fabs(d));
  double poly =
      k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  double tail = 0.39894228040143267794 * std::exp(-0.5 * d * d) * poly;
  return d > 0 ? 1 - tail : tail;
}

KernelCase black_scholes(uint32_t scale) {
  Random random(11);
  uint32_t n = 1500 * scale;
  float rate = 0.02f, volatility = 0.3f;
  Tolerance tolerance{1e-5, 5e-4, 0, "approximate exp, log, sqrt and division in single precision"};
  return Builder("black_scholes")
      .grid({round_up(n, 128), 1, 1}, {128, 1, 1})
      .value("n", n)
      .value("rate", rate)
      .value("volatility", volatility)
      .buffer("price", random.floats(n, 5, 30))
      .buffer("strike", random.floats(n, 1, 100))
      .buffer("years", random.floats(n, 0.25, 10))
      .output<float>("call", n, tolerance)
      .output<float>("put", n, tolerance)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          double s = args[3].as<float>()[i], x = args[4].as<float>()[i], t = args[5].as<float>()[i];
          double v = volatility, r = rate, root = std::sqrt(t);
          double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * root), d2 = d1 - v * root;
          double n1 = cumulative_normal(d1), n2 = cumulative_normal(d2), discounted = x * std::exp(-r * t);
          args[6].as<float>()[i] = static_cast<float>(s * n1 - discounted * n2);
          args[7].as<float>()[i] = static_cast<float>(discounted * (1 - n2) - s * (1 - n1));
        }
      });
}

KernelCase softmax(uint32_t scale) {
  Random random(12);
  uint32_t rows = 12 * scale, columns = 150 * scale;
  return Builder("softmax")
      .grid({rows * 64, 1, 1}, {64, 1, 1})
      .value("columns", columns)
      .buffer("in", random.floats(size_t{rows} * columns, -8, 8))
      .output<float>("out", size_t{rows} * columns, {1e-5, 1e-9, 0, "approximate exp and division"})
      .reference([=](std::span<Arg> args) {
        for (size_t row = 0; row < rows; ++row) {
          auto in = args[1].as<float>().subspan(row * columns, columns);
          auto out = args[2].as<float>().subspan(row * columns, columns);
          double top = *std::max_element(in.begin(), in.end()), sum = 0;
          for (float x : in) sum += std::exp(x - top);
          for (size_t c = 0; c < columns; ++c) out[c] = static_cast<float>(std::exp(in[c] - top) / sum);
        }
      });
}

constexpr CaseEntry kCases[] = {{"nbody", nbody}, {"black_scholes", black_scholes}, {"softmax", softmax}};

} // namespace

std::span<const CaseEntry> simulation_cases() { return kCases; }

} // namespace lanewise::kernels
