#include "translator/x86/checker.hpp"

namespace lanewise::x86 {

Result<void> check(const Module&, const Part&, const Allocation&) { return {}; }

} // namespace lanewise::x86
