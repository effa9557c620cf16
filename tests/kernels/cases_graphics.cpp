// The Mandelbrot set (exact), the ray tracer, pictures.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <cmath>

namespace lanewise::kernels {
namespace {

KernelCase mandelbrot(uint32_t scale) {
  uint32_t width = 64 * scale, height = 48 * scale, limit = 100;
  float left = -2.2f, top = -1.2f, step = 3.2f / static_cast<float>(width);
  return Builder("mandelbrot")
      .grid({width, height, 1}, {16, 8, 1})
      .value("left", left)
      .value("top", top)
      .value("step", step)
      .value("width", width)
      .value("limit", limit)
      .output<uint32_t>("count", size_t{width} * height)
      .reference([=](std::span<Arg> args) {
        auto count = args[5].as<uint32_t>();
        for (size_t p = 0; p < count.size(); ++p) {
          float cx = left + static_cast<float>(p % width) * step,
                cy = top + static_cast<float>(p / width) * step;
          float x = 0, y = 0;
          uint32_t i = 0;
          for (; i < limit; ++i) {
            float xx = x * x, yy = y * y;
            if (xx + yy > 4.0f) break;
            y = 2.0f * x * y + cy;
            x = xx - yy + cx;
          }
          count[p] = i;
        }
      });
}

// The same scene as src/ray_tracer.cl, in double precision.
struct Vec {
  double x, y, z;
  Vec operator+(Vec o) const { return {x + o.x, y + o.y, z + o.z}; }
  Vec operator-(Vec o) const { return {x - o.x, y - o.y, z - o.z}; }
  Vec operator*(double s) const { return {x * s, y * s, z * s}; }
};
double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Sphere {
  float center[3], radius, color[3], mirror;
  [[nodiscard]] Vec middle() const { return {center[0], center[1], center[2]}; }
};

constexpr double kFar = 1e20, kNear = 1e-3;

double hit_sphere(const Sphere& s, Vec origin, Vec dir) {
  Vec oc = origin - s.middle();
  double b = dot(oc, dir), disc = b * b - (dot(oc, oc) - static_cast<double>(s.radius) * s.radius);
  if (disc < 0) return kFar;
  double root = std::sqrt(disc);
  if (-b - root > kNear) return -b - root;
  return root - b > kNear ? root - b : kFar;
}

/// What a ray meets first: a sphere, or the plane (null) at a finite distance, or the sky.
struct Hit {
  double distance = kFar;
  const Sphere* sphere = nullptr;
};

Hit nearest(std::span<const Sphere> spheres, Vec origin, Vec dir) {
  Hit hit;
  if (dir.y < -1e-4 && -origin.y / dir.y > kNear) hit.distance = -origin.y / dir.y;
  for (const Sphere& s : spheres)
    if (double t = hit_sphere(s, origin, dir); t < hit.distance) hit = {t, &s};
  return hit;
}

Vec trace(std::span<const Sphere> spheres, Vec origin, Vec dir, uint32_t bounces) {
  const Vec light{0.5345225, 0.8017837, -0.2672612};
  Vec color{0, 0, 0};
  double weight = 1;
  for (uint32_t bounce = 0;; ++bounce) {
    Hit hit = nearest(spheres, origin, dir);
    if (hit.distance == kFar) {
      double up = 0.5 + 0.5 * dir.y;
      return color + (Vec{1, 1, 1} * (1 - up) + Vec{0.35, 0.55, 0.95} * up) * weight;
    }
    Vec point = origin + dir * hit.distance, normal{0, 1, 0}, surface{0.2, 0.25, 0.3};
    double mirror = 0.15;
    if (hit.sphere) {
      normal = (point - hit.sphere->middle()) * (1.0 / hit.sphere->radius);
      surface = {hit.sphere->color[0], hit.sphere->color[1], hit.sphere->color[2]};
      mirror = hit.sphere->mirror;
    } else if ((static_cast<int>(std::floor(point.x)) + static_cast<int>(std::floor(point.z))) & 1) {
      surface = {0.9, 0.9, 0.85};
    }
    double diffuse = std::max(dot(normal, light), 0.0);
    if (diffuse > 0 && std::any_of(spheres.begin(), spheres.end(),
                                   [&](const Sphere& s) { return hit_sphere(s, point, light) < kFar; }))
      diffuse = 0;
    color = color + surface * (weight * (1 - mirror) * (0.2 + 0.8 * diffuse));
    weight *= mirror;
    if (bounce == bounces || weight < 0.02) return color;
    dir = dir - normal * (2 * dot(dir, normal));
    origin = point;
  }
}

uint8_t to_byte(double c) { return static_cast<uint8_t>(std::clamp(c, 0.0, 1.0) * 255 + 0.5); }

void render(std::span<Arg> args) {
  auto width = args[0].value<uint32_t>(), height = args[1].value<uint32_t>(),
       bounces = args[4].value<uint32_t>();
  auto spheres = args[3].as<Sphere>();
  auto image = args[5].as<uint8_t>();
  for (uint32_t p = 0; p < width * height; ++p) {
    double u = (p % width + 0.5 - 0.5 * width) / height, v = (0.5 * height - p / width - 0.5) / height;
    Vec dir{u, v - 0.12, 1.1};
    Vec c = trace(spheres, {0, 1.2, -4.5}, dir * (1 / std::sqrt(dot(dir, dir))), bounces);
    image[p * 4] = to_byte(c.x);
    image[p * 4 + 1] = to_byte(c.y);
    image[p * 4 + 2] = to_byte(c.z);
    image[p * 4 + 3] = 255;
  }
}

KernelCase ray_tracer(uint32_t scale) {
  uint32_t width = 80 * scale, height = 45 * scale;
  std::vector<float> spheres{
      -1.9f, 0.8f,  0.3f,  0.8f,  0.85f, 0.20f, 0.15f, 0.25f, // red
      0.0f,  1.0f,  1.2f,  1.0f,  0.90f, 0.90f, 0.95f, 0.75f, // mirror
      1.9f,  0.7f,  0.1f,  0.7f,  0.15f, 0.45f, 0.85f, 0.30f, // blue
      0.75f, 0.3f,  -1.0f, 0.3f,  0.95f, 0.75f, 0.20f, 0.40f, // gold
      -0.8f, 0.25f, -1.2f, 0.25f, 0.25f, 0.75f, 0.35f, 0.20f, // green
  };
  return Builder("ray_tracer")
      .grid({round_up(width, 16), round_up(height, 16), 1}, {16, 16, 1})
      .value("width", width)
      .value("height", height)
      .value("count", static_cast<uint32_t>(spheres.size() / 8))
      .buffer("spheres", spheres)
      .value("bounces", uint32_t{4})
      .output<uint8_t>(
          "image", size_t{width} * height * 4,
          {0, 2, 0.02, "single precision against double; pixels on edges may fall on either side"})
      .reference(render);
}

KernelCase interleaved(uint32_t scale) {
  Random random(73);
  uint32_t n = 1100 * scale;
  return Builder("interleaved")
      .grid({round_up(n, 256), 1, 1}, {256, 1, 1})
      .buffer("rgb", random.bytes(size_t{3} * n))
      .output<uint8_t>("yuv", size_t{3} * n)
      .buffer("stereo",
              random.fill(size_t{2} * n, [](Random& r) { return static_cast<int16_t>(r.u32() >> 16); }))
      .output<int16_t>("side", size_t{2} * n)
      .value("n", n)
      .reference([=](std::span<Arg> args) {
        auto rgb = args[0].as<uint8_t>(), yuv = args[1].as<uint8_t>();
        auto stereo = args[2].as<int16_t>(), side = args[3].as<int16_t>();
        for (size_t i = 0; i < n; ++i) {
          const int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
          yuv[3 * i] = static_cast<uint8_t>((77 * r + 150 * g + 29 * b) >> 8);
          yuv[3 * i + 1] = static_cast<uint8_t>(((-43 * r - 85 * g + 128 * b) >> 8) + 128);
          yuv[3 * i + 2] = static_cast<uint8_t>(((128 * r - 107 * g - 21 * b) >> 8) + 128);
          const int pair = rgb[i] | rgb[i + 1] << 8;
          side[2 * i + 1] = static_cast<int16_t>(stereo[2 * i] - stereo[2 * i + 1] + pair);
        }
      });
}

KernelCase hough_votes(uint32_t scale) {
  Random random(77);
  constexpr uint32_t kWidth = 64, kAngles = 45, kDistances = 128, kOnEdge = 230;
  const uint32_t pixels = kWidth * 32 * scale;
  auto image = random.fill(pixels, [](Random& r) { return static_cast<uint8_t>(r.below(256)); });
  auto directions =
      random.fill(2 * kAngles, [](Random& r) { return static_cast<int32_t>(r.below(513)) - 256; });
  return Builder("hough_votes")
      .grid({pixels, 1, 1}, {128, 1, 1})
      .value("width", kWidth)
      .value("angles", kAngles)
      .buffer("image", image)
      .buffer("directions", directions)
      .buffer("votes", std::vector<uint32_t>(kAngles * kDistances))
      .output<int32_t>("farthest", pixels)
      .reference([=](std::span<Arg> args) {
        for (uint32_t id = 0; id < pixels; ++id) {
          int32_t far = -1;
          for (uint32_t a = 0; image[id] >= kOnEdge && a < kAngles; ++a) {
            const int32_t x = static_cast<int32_t>(id % kWidth), y = static_cast<int32_t>(id / kWidth);
            const int32_t distance = (x * directions[2 * a] + y * directions[2 * a + 1]) >> 8;
            ++args[4].as<uint32_t>()[a * kDistances + (static_cast<uint32_t>(distance) & 127)];
            far = std::max(far, distance);
          }
          args[5].as<int32_t>()[id] = far;
        }
      });
}

KernelCase yuv420(uint32_t scale) {
  Random random(70);
  const int width = static_cast<int>(70 * scale), height = static_cast<int>(45 * scale);
  const size_t pixels = size_t{70} * 45 * scale * scale;
  const int pitch = width / 2 + 1;
  const size_t colours = static_cast<size_t>(pitch) * static_cast<size_t>(height / 2 + 1);
  return Builder("yuv420")
      .grid({round_up(70 * scale, 32), round_up(45 * scale, 8), 1}, {32, 8, 1})
      .value("width", width)
      .value("height", height)
      .buffer("luma", random.bytes(pixels))
      .buffer("u", random.bytes(colours))
      .buffer("v", random.bytes(colours))
      .output<uint8_t>("out", 4 * pixels)
      .reference([=](std::span<Arg> args) {
        auto luma = args[2].as<uint8_t>(), u = args[3].as<uint8_t>(), v = args[4].as<uint8_t>();
        uint8_t* out = args[5].as<uint8_t>().data();
        const auto byte = [](int x) { return static_cast<uint8_t>(std::clamp(x >> 8, 0, 255)); };
        for (int y = 0; y < height; ++y)
          for (int x = 0; x < width; ++x) {
            const auto mixed = [&](std::span<uint8_t> plane) {
              return (3 * plane[y / 2 * pitch + x / 2] + plane[(y + 1) / 2 * pitch + (x + 1) / 2]) / 4 - 128;
            };
            const int bright = (luma[y * width + x] - 16) * 298 + 128, blue = mixed(u), red = mixed(v);
            *out++ = byte(bright + 409 * red);
            *out++ = byte(bright - 100 * blue - 208 * red);
            *out++ = byte(bright + 516 * blue);
            *out++ = 255;
          }
      });
}

constexpr CaseEntry kCases[] = {{"mandelbrot", mandelbrot},
                                {"ray_tracer", ray_tracer},
                                {"interleaved", interleaved},
                                {"hough_votes", hough_votes},
                                {"yuv420", yuv420}};

} // namespace

std::span<const CaseEntry> graphics_cases() { return kCases; }

} // namespace lanewise::kernels
