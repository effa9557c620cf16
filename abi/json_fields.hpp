// Typed, forgiving access to the members of a metadata map. Internal to abi/.
#pragma once

#include "support/bits.hpp"
#include "support/result.hpp"

#include <array>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lanewise::abi {

/// Reads members of one JSON object by key. A member that is absent keeps the target's value; one of the
/// wrong type or out of range is remembered as the first error, which error() returns.
class Fields {
public:
  /// `where` is put in front of error messages.
  Fields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  Fields& text(const char* key, std::string& out) {
    const auto* v = find(key);
    if (v && v->is_string())
      out = v->get<std::string>();
    else if (v)
      fail(key, "a string");
    return *this;
  }
  Fields& number(const char* key, u32& out) {
    const auto* v = find(key);
    if (v && !to_u32(*v, out)) fail(key, "an integer of 32 bits");
    return *this;
  }
  Fields& flag(const char* key, bool& out) {
    const auto* v = find(key);
    if (!v) return *this;
    u32 number = 0;
    if (v->is_boolean())
      out = v->get<bool>();
    else if (to_u32(*v, number))
      out = number != 0;
    else
      fail(key, "a boolean");
    return *this;
  }
  template <std::size_t N>
  Fields& numbers(const char* key, std::array<u32, N>& out) {
    const auto* v = find(key);
    if (!v) return *this;
    bool good = v->is_array() && v->size() >= N;
    for (std::size_t i = 0; good && i < N; ++i) good = to_u32((*v)[i], out[i]);
    if (!good) fail(key, "a list of integers");
    return *this;
  }
  Fields& texts(const char* key, std::vector<std::string>& out) {
    const auto* v = find(key);
    if (!v) return *this;
    if (!v->is_array()) fail(key, "a list of strings");
    for (const auto& item : list(key)) {
      if (item.is_string())
        out.push_back(item.get<std::string>());
      else
        fail(key, "a list of strings");
    }
    return *this;
  }
  /// The list under `key`; empty if absent.
  const nlohmann::json& list(const char* key) {
    static const nlohmann::json kEmpty = nlohmann::json::array();
    const auto* v = find(key);
    if (v && !v->is_array()) fail(key, "a list");
    return v && v->is_array() ? *v : kEmpty;
  }
  Fields& require(const char* key) {
    if (!find(key) && ok()) error_ = fmt::format("{}: {} is missing", where_, key);
    return *this;
  }

  [[nodiscard]] bool ok() const { return error_.empty(); }
  [[nodiscard]] Error error() const { return {ErrorCode::BadInput, error_}; }

private:
  [[nodiscard]] const nlohmann::json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }
  static bool to_u32(const nlohmann::json& value, u32& out) {
    if (!value.is_number_integer()) return false;
    if (!value.is_number_unsigned() && value.get<i64>() < 0) return false;
    const auto number = value.get<u64>();
    if (number > std::numeric_limits<u32>::max()) return false;
    out = static_cast<u32>(number);
    return true;
  }
  void fail(const char* key, const char* expected) {
    if (ok()) error_ = fmt::format("{}: {} is not {}", where_, key, expected);
  }

  const nlohmann::json& object_;
  std::string where_, error_;
};

} // namespace lanewise::abi
