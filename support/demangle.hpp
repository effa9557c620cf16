// C++ names as in the source.
#pragma once

#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <string>

namespace lanewise {

/// "void sum<float>(float const*)" for "_Z3sumIfEvPKT_"; a name that is not mangled as it is.
inline std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name; // what remains are names of types: "f" is float
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      ::abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? std::string(text.get()) : name;
}

} // namespace lanewise
