// Random straight-line code for programs: arithmetic, lanes that look at each other, memory that lanes share.
#pragma once

#include "tests/differential/program.hpp"
#include "tests/differential/random.hpp"

#include <fmt/format.h>

namespace lanewise::differential {

class StraightCode {
public:
  StraightCode(Program& program, Random& random) : p_(program), r_(random), t_(program.target) {}

  /// A few instructions.
  void straight();

  /// An access to LDS or a buffer.
  struct Width {
    const char *ds, *buffer;
    unsigned dwords, bytes;
  };

protected:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    p_.lines.push_back(line(t_, fmt::format(format, std::forward<Args>(args)...), group_));
  }
  unsigned v() { return r_.below(kValueVgprs); }
  unsigned s() { return kFirstValueSgpr + r_.below(kValueSgprs); }
  unsigned s2() { return kFirstValueSgpr + 2 * r_.below(kValueSgprs / 2); }
  static std::string pair(unsigned n) { return fmt::format("s[{}:{}]", n, n + 1); }

  Program& p_;
  Random& r_;
  Target t_;
  u32 group_ = 0; ///< of the lines that are put

  /// A sum of 32 bits; the carry goes to VCC.
  void add(unsigned to, const std::string& a, unsigned b);
  /// The access at v`address` + `offset`.
  void access(bool local, const Width& width, bool is_load, unsigned address, unsigned offset);

private:
  /// How additions and subtractions that give a carry end.
  [[nodiscard]] const char* carry_type() const;
  void instruction(isa::Op op);
  void image();
  void communicate();
  void address(bool own, const Width& width, bool is_load);
  void atomic(bool local, unsigned offset);
  void flat();
  void generic_pointer();
  void private_value();
  void relative_register();
};

} // namespace lanewise::differential
