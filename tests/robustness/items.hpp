// The inputs of the robustness run, each made from its number alone, and what is done with one.
#pragma once

#include "abi/code_object.hpp"
#include "support/bits.hpp"

#include <string>
#include <vector>

namespace lanewise::robustness {

/// A file that mutants are made of.
struct SeedFile {
  std::string name;
  std::vector<std::byte> bytes;
};

/// Code objects of all targets, versions and levels below the repository `source`: the small ones, as a
/// mutant costs a whole translation. In a fixed order.
std::vector<SeedFile> read_seeds(const std::string& source);

/// How far items got. Not a verdict: any error is as good as success.
struct Tally {
  u64 items = 0, loaded = 0, kernels = 0, recompiled = 0, streams = 0, streams_recompiled = 0;
  Tally& operator+=(const Tally& other);
};

/// Damages a seed, loads it, describes and recompiles its kernels; recompiles a stream of random
/// instructions. Nothing is executed. Returns, or the process dies: there is no other outcome.
void run_item(u64 number, const std::vector<SeedFile>& seeds, Tally& tally);

} // namespace lanewise::robustness
