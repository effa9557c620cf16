// Code objects, and the kernels and variables in them.
#include "hsa/runtime.hpp"

#include "abi/initial_state.hpp"
#include "abi/kernarg.hpp"

#include <cstdio>
#include <cstring>

using namespace lanewise;
using namespace lanewise::hsa;

namespace {

struct Reader {
  std::span<const std::byte> bytes;
};

Executable* executable_of(Runtime& r, hsa_executable_t executable) {
  const auto found = r.executables.find(executable.handle);
  return found == r.executables.end() ? nullptr : found->second.get();
}

std::unique_ptr<Symbol> find_symbol(const Executable& executable, std::string name) {
  const std::string_view kDescriptor = ".kd";
  auto symbol = std::make_unique<Symbol>();
  symbol->name = name;
  for (const auto& module : executable.modules) {
    if (name.ends_with(kDescriptor)) {
      const std::string_view kernel_name = std::string_view(name).substr(0, name.size() - kDescriptor.size());
      for (Kernel::State& kernel : module->kernels)
        if (kernel.info.name == kernel_name) {
          symbol->kernel = &kernel;
          symbol->object = module->image.descriptor(kernel.kernel);
          return symbol;
        }
    } else if (auto variable = find_variable(*module, name)) {
      symbol->variable = *variable;
      return symbol;
    }
  }
  return nullptr;
}

} // namespace

extern "C" {

hsa_status_t hsa_code_object_reader_create_from_memory(const void* code_object, std::size_t size,
                                                       hsa_code_object_reader_t* reader) {
  HSA_RUNTIME(r);
  (void)r;
  if (code_object == nullptr || size == 0 || reader == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  reader->handle = reinterpret_cast<u64>(new Reader{{static_cast<const std::byte*>(code_object), size}});
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) {
  delete reinterpret_cast<Reader*>(reader.handle);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_create_alt(hsa_profile_t, hsa_default_float_rounding_mode_t, const char*,
                                       hsa_executable_t* executable) {
  HSA_RUNTIME(r);
  auto made = std::make_unique<Executable>();
  executable->handle = reinterpret_cast<u64>(made.get());
  const std::lock_guard lock(r->kernels_mutex);
  r->executables[executable->handle] = std::move(made);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_destroy(hsa_executable_t executable) {
  HSA_RUNTIME(r);
  const std::lock_guard lock(r->kernels_mutex);
  Executable* const e = executable_of(*r, executable);
  if (e == nullptr) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  for (const auto& module : e->modules)
    for (Kernel::State& kernel : module->kernels) r->kernels.erase(module->image.descriptor(kernel.kernel));
  r->executables.erase(executable.handle);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                   hsa_code_object_reader_t reader, const char*,
                                                   hsa_loaded_code_object_t* loaded) {
  HSA_RUNTIME(r);
  if (agent.handle != kGpuAgent.handle) return HSA_STATUS_ERROR_INVALID_AGENT;
  auto module = load_module(r->device, reinterpret_cast<Reader*>(reader.handle)->bytes, "code object",
                            isa::target_name(r->target), {});
  if (!module) {
    std::fprintf(stderr, "lanewise: %s\n", module.error().message.c_str());
    return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  }
  const std::lock_guard lock(r->kernels_mutex);
  Executable* const e = executable_of(*r, executable);
  if (e == nullptr) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  for (Kernel::State& kernel : (*module)->kernels)
    r->kernels[(*module)->image.descriptor(kernel.kernel)] = {*module, &kernel};
  e->modules.push_back(*module);
  if (loaded != nullptr) loaded->handle = reinterpret_cast<u64>(module->get());
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_freeze(hsa_executable_t, const char*) { return HSA_STATUS_SUCCESS; }

hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t, hsa_agent_t, const char* name,
                                                         void*) {
  std::fprintf(stderr,
               "lanewise: the variable %s is defined outside of its code object, which is not supported\n",
               name);
  return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
}

hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t executable, const char* name,
                                               const hsa_agent_t*, hsa_executable_symbol_t* symbol) {
  HSA_RUNTIME(r);
  const std::lock_guard lock(r->kernels_mutex);
  Executable* const e = executable_of(*r, executable);
  if (e == nullptr) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  auto& known = e->symbols[name];
  if (!known) known = find_symbol(*e, name);
  if (!known) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  symbol->handle = reinterpret_cast<u64>(known.get());
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t symbol,
                                            hsa_executable_symbol_info_t attribute, void* value) {
  const Symbol& s = *reinterpret_cast<const Symbol*>(symbol.handle);
  switch (attribute) {
  case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
    return put(value, s.kernel != nullptr ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
  case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH: return put(value, static_cast<u32>(s.name.size()));
  case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
    std::memcpy(value, s.name.data(), s.name.size());
    return HSA_STATUS_SUCCESS;
  case HSA_EXECUTABLE_SYMBOL_INFO_AGENT: return put(value, kGpuAgent);
  case HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE: return put(value, HSA_SYMBOL_LINKAGE_PROGRAM);
  case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION: return put(value, true);
  case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
    return put(value, reinterpret_cast<u64>(s.variable.data()));
  case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE: return put(value, static_cast<u32>(s.variable.size()));
  default: break;
  }
  if (s.kernel == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const abi::Kernel& kernel = s.kernel->kernel;
  switch (attribute) {
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: return put(value, s.object);
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
    return put(value, static_cast<u32>(abi::kernarg_segment_size(kernel)));
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT: return put(value, u32{64});
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE: return put(value, u32{s.kernel->info.lds_bytes});
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
    return put(value, u32{abi::scratch_lane_bytes(kernel.descriptor, 0)});
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
    return put(value, kernel.resources.uses_dynamic_stack);
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

} // extern "C"
