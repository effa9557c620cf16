// Renders a Mandelbrot set and a ray-traced scene from the committed code objects, once by the interpreter
// and once recompiled, writes PNGs and compares times. Started by tools/demo.
#include "lanewise/lanewise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <png.h>
#include <vector>

using lanewise::Argument;
using lanewise::Result;

namespace {

struct Picture {
  std::uint32_t width, height;
  std::vector<std::uint8_t> rgba;
};

bool write_png(const std::string& path, const Picture& picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = PNG_FORMAT_RGBA;
  return png_image_write_to_file(&image, path.c_str(), 0, picture.rgba.data(), 0, nullptr) != 0;
}

/// A kernel launch that leaves a picture in `output`.
struct Scene {
  std::string kernel;
  lanewise::LaunchConfig config;
  std::vector<Argument> arguments;
  lanewise::Buffer output;
  Picture (*develop)(const lanewise::Buffer& output, std::uint32_t width, std::uint32_t height);
  std::uint32_t width, height;
};

/// Escape counts as colours: a smooth walk round a palette, black inside the set.
Picture develop_counts(const lanewise::Buffer& output, std::uint32_t width, std::uint32_t height) {
  Picture picture = {width, height, std::vector<std::uint8_t>(std::size_t{width} * height * 4, 255)};
  const auto* counts = reinterpret_cast<const std::uint32_t*>(output.data());
  const std::uint32_t limit = *std::max_element(counts, counts + std::size_t{width} * height);
  for (std::size_t i = 0; i < std::size_t{width} * height; ++i) {
    const double phase = std::sqrt(static_cast<double>(counts[i])) * 0.35;
    for (unsigned channel = 0; channel < 3; ++channel) {
      const double level = 0.5 - 0.5 * std::cos(phase + 0.6 * channel + (channel == 2 ? 0.5 : 0.0));
      picture.rgba[i * 4 + channel] = counts[i] == limit ? 0 : static_cast<std::uint8_t>(level * 255);
    }
  }
  return picture;
}

Picture develop_pixels(const lanewise::Buffer& output, std::uint32_t width, std::uint32_t height) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(output.data());
  return {width, height, {bytes, bytes + std::size_t{width} * height * 4}};
}

Result<Scene> mandelbrot() {
  constexpr std::uint32_t kWidth = 1024, kHeight = 768, kLimit = 300;
  auto counts = lanewise::Buffer::allocate(std::uint64_t{kWidth} * kHeight * 4);
  if (!counts) return std::move(counts).error();
  Scene scene = {"mandelbrot", {}, {}, *counts, develop_counts, kWidth, kHeight};
  scene.config.grid = {kWidth, kHeight, 1};
  scene.config.block = {16, 8, 1};
  scene.arguments = {Argument::value(-2.2f),  Argument::value(-1.2f),  Argument::value(3.2f / kWidth),
                     Argument::value(kWidth), Argument::value(kLimit), Argument::pointer(counts->data())};
  return scene;
}

/// Centre, radius, colour, mirror.
constexpr std::array<std::array<float, 8>, 8> kSpheres = {{
    {-1.9f, 0.8f, 0.3f, 0.8f, 0.85f, 0.20f, 0.15f, 0.25f},
    {0.0f, 1.0f, 1.2f, 1.0f, 0.90f, 0.90f, 0.95f, 0.75f},
    {1.9f, 0.7f, 0.1f, 0.7f, 0.15f, 0.45f, 0.85f, 0.30f},
    {0.75f, 0.3f, -1.0f, 0.3f, 0.95f, 0.75f, 0.20f, 0.40f},
    {-0.8f, 0.25f, -1.2f, 0.25f, 0.25f, 0.75f, 0.35f, 0.20f},
    {-2.9f, 1.4f, 4.0f, 1.4f, 0.55f, 0.35f, 0.80f, 0.35f},
    {3.2f, 1.1f, 3.2f, 1.1f, 0.95f, 0.55f, 0.30f, 0.45f},
    {0.1f, 0.18f, -1.9f, 0.18f, 0.90f, 0.90f, 0.95f, 0.65f},
}};

Result<Scene> ray_tracer() {
  constexpr std::uint32_t kWidth = 960, kHeight = 544;
  auto image = lanewise::Buffer::allocate(std::uint64_t{kWidth} * kHeight * 4);
  if (!image) return std::move(image).error();
  Scene scene = {"ray_tracer", {}, {}, *image, develop_pixels, kWidth, kHeight};
  scene.config.grid = {kWidth, kHeight, 1};
  scene.config.block = {16, 16, 1};
  scene.arguments = {Argument::value(kWidth),
                     Argument::value(kHeight),
                     Argument::value(static_cast<std::uint32_t>(kSpheres.size())),
                     Argument::pointer(kSpheres.data()),
                     Argument::value(std::uint32_t{6}),
                     Argument::pointer(image->data())};
  return scene;
}

struct Rendering {
  Picture picture;
  double translate_ms, run_ms;
};

/// The best of several runs; the interpreter's are long enough for one to do.
Result<Rendering> render(const Scene& scene, const std::string& folder, lanewise::Engine engine) {
  lanewise::DeviceOptions options;
  options.engine = engine;
  auto device = lanewise::Device::create(options);
  if (!device) return std::move(device).error();
  auto module = device->load_file(folder + "/" + scene.kernel + ".O3.co");
  if (!module) return std::move(module).error();
  auto kernel = module->kernel(scene.kernel);
  if (!kernel) return std::move(kernel).error();
  auto prepared = kernel->prepare(scene.config);
  if (!prepared) return std::move(prepared).error();
  double best = 1e30;
  for (int run = 0; run < (engine == lanewise::Engine::Interp ? 1 : 5); ++run) {
    auto times = kernel->launch(scene.config, scene.arguments);
    if (!times) return std::move(times).error();
    best = std::min(best, times->wall_ms);
  }
  return Rendering{scene.develop(scene.output, scene.width, scene.height), prepared->translate_ms, best};
}

Result<void> show(Result<Scene> scene, const std::string& kernels, const std::string& out) {
  if (!scene) return std::move(scene).error();
  auto slow = render(*scene, kernels, lanewise::Engine::Interp);
  if (!slow) return std::move(slow).error();
  auto fast = render(*scene, kernels, lanewise::Engine::Jit);
  if (!fast) return std::move(fast).error();
  const std::string interp_png = fmt::format("{}/{}-interp.png", out, scene->kernel);
  const std::string jit_png = fmt::format("{}/{}-jit.png", out, scene->kernel);
  for (const auto& [path, picture] :
       {std::pair(interp_png, &slow->picture), std::pair(jit_png, &fast->picture)})
    if (!write_png(path, *picture))
      return lanewise::Error{lanewise::ErrorCode::Usage, path + ": cannot write"};
  fmt::print("{:<12} {:>4} x {:<4}  interpreter {:8.1f} ms   recompiled {:7.1f} ms (+ {:.1f} ms translation) "
             "  {:5.1f} times "
             "as fast, pictures {}\n    {}\n    {}\n",
             scene->kernel, scene->width, scene->height, slow->run_ms, fast->run_ms, fast->translate_ms,
             slow->run_ms / fast->run_ms,
             slow->picture.rgba == fast->picture.rgba ? "identical" : "DIFFERENT", interp_png, jit_png);
  if (slow->picture.rgba != fast->picture.rgba)
    return lanewise::Error{lanewise::ErrorCode::Internal, scene->kernel + ": the engines disagree"};
  return {};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: demo_pictures CODE_OBJECT_FOLDER OUTPUT_FOLDER\n", stderr);
    return 2;
  }
  for (auto make : {mandelbrot, ray_tracer}) {
    auto shown = show(make(), argv[1], argv[2]);
    if (shown) continue;
    fmt::print(stderr, "demo: {}\n", shown.error().message);
    return 1;
  }
  return 0;
}
