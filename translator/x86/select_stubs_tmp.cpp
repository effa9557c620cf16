#include "translator/x86/selector.hpp"
namespace lanewise::x86 {
void Selector::scratch_access(InstId i, Access&) { unsupported(i, "scratch"); }
void Selector::flat_access(InstId i, Access&) { unsupported(i, "flat"); }
void Selector::atomic(InstId i, const Access&) { unsupported(i, "atomic"); }
} // namespace lanewise::x86
