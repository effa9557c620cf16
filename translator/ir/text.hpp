// The words of the IR's text form, shared by printer and parser.
#pragma once

namespace lanewise::ir {

inline constexpr const char* kFloatKindNames[] = {"f16", "f32", "f64"};
inline constexpr const char* kRoundNames[] = {"rne", "rpi", "rmi", "rtz"};
inline constexpr const char* kSpaceNames[] = {"global",  "flat",   "lds",      "gds",
                                              "scratch", "buffer", "registers"};
inline constexpr const char* kFormNames[] = {"lanes", "row", "wrapped", "indexed"};
inline constexpr const char* kAtomicNames[] = {
    "swap", "cmpswap", "add", "sub",  "rsub", "smin", "umin",     "smax",  "umax", "and",  "or",
    "xor",  "inc",     "dec", "fadd", "fmin", "fmax", "fcmpswap", "mskor", "wrap", "rfadd"};

} // namespace lanewise::ir
