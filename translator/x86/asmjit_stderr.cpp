// The stream asmjit reports its own assertions to; see translator/CMakeLists.txt.
#include <cstdio>

extern "C" {
extern FILE* lanewise_asmjit_stderr;
[[gnu::visibility("hidden")]] FILE* lanewise_asmjit_stderr = stderr;
}
