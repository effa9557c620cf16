#include "tests/kernels/launch.hpp"

#include <algorithm>

namespace lanewise::kernels {

LaunchConfig launch_config(const KernelCase& test) {
  return {test.global, test.local, {test.offset[0], test.offset[1], test.offset[2]}};
}

Result<CaseMemory> CaseMemory::create(const KernelCase& test) {
  CaseMemory memory(test);
  memory.buffers_.resize(test.args.size());
  memory.images_.resize(test.args.size());
  for (std::size_t i = 0; i < test.args.size(); ++i) {
    const Arg& arg = test.args[i];
    switch (arg.kind) {
    case ArgKind::Buffer: {
      auto buffer = Buffer::allocate(arg.bytes.size());
      if (!buffer) return std::move(buffer).error();
      memory.buffers_[i] = std::move(*buffer);
      memory.restore(i);
      memory.arguments_.push_back(Argument::pointer(memory.buffers_[i].data()));
      break;
    }
    case ArgKind::Image:
    case ArgKind::Texture:
    case ArgKind::Surface: {
      auto image = Image::create(arg.image);
      if (!image) return std::move(image).error();
      memory.images_[i] = *image;
      memory.restore(i);
      if (auto added = memory.add_image(arg, *image); !added) return std::move(added).error();
      break;
    }
    case ArgKind::Sampler: {
      auto sampler = Sampler::create(arg.sampler);
      if (!sampler) return std::move(sampler).error();
      memory.samplers_.push_back(*sampler);
      memory.arguments_.push_back(Argument::sampler(*sampler));
      break;
    }
    case ArgKind::Value: memory.arguments_.push_back(Argument::bytes(arg.bytes)); break;
    case ArgKind::Local: memory.arguments_.push_back(Argument::lds(arg.local_bytes)); break;
    }
  }
  return memory;
}

Result<void> CaseMemory::add_image(const Arg& arg, const Image& image) {
  if (arg.kind == ArgKind::Texture) {
    auto texture = Texture::create(image, arg.sampler);
    if (!texture) return std::move(texture).error();
    textures_.push_back(*texture);
    arguments_.push_back(Argument::texture(*texture));
  } else {
    arguments_.push_back(arg.kind == ArgKind::Image ? Argument::image(image) : Argument::surface(image));
  }
  return {};
}

std::vector<Arg> CaseMemory::read() const {
  std::vector<Arg> after = test_->args;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (images_[i])
      static_cast<void>(images_[i]->read(after[i].bytes)); // the size is what restore() has written
    else if (after[i].kind == ArgKind::Buffer)
      std::copy_n(buffers_[i].data(), after[i].bytes.size(), after[i].bytes.begin());
  return after;
}

void CaseMemory::restore(std::size_t argument) {
  if (const auto& image = images_[argument])
    static_cast<void>(image->write(test_->args[argument].bytes));
  else
    std::ranges::copy(test_->args[argument].bytes, buffers_[argument].data());
}

} // namespace lanewise::kernels
