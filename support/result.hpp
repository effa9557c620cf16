// Errors as values: what every border of the project returns.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace lanewise {

/// What kind of failure an Error is; the command maps it to its exit status.
enum class ErrorCode {
  Usage,       ///< the caller asked for something that makes no sense (wrong argument count, bad option)
  BadInput,    ///< a file or a text is malformed
  NotFound,    ///< a named kernel, symbol or file does not exist
  Unsupported, ///< well-formed, but not implemented
  Fault,       ///< the guest program faulted
  Internal,    ///< a bug in Lanewise, caught
};

/// A failure with a one-line message that says where it happened and what to do about it.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;

  /// The same error with `where: ` put in front, for callers that know the place.
  [[nodiscard]] Error in(const std::string& where) && { return {code, where + ": " + message}; }
};

/// Either a value or an Error. `Result<void>` below carries only success.
template <class T>
class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  Error& error() & {
    assert(!ok_);
    return error_;
  }
  const Error& error() const& {
    assert(!ok_);
    return error_;
  }
  Error&& error() && {
    assert(!ok_);
    return std::move(error_);
  }

private:
  Error error_;
  bool ok_ = true;
};

} // namespace lanewise
