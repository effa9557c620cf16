#include "vectors.hpp"

#include "isa/op.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace lanewise::isa::testing {
namespace {

std::string folder() {
  const char* source = std::getenv("LANEWISE_SOURCE_DIR");
  return std::string(source ? source : LANEWISE_TEST_SOURCE_DIR) + "/tests/isa/";
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream in(line);
  for (std::string column; std::getline(in, column, '\t');) columns.push_back(column);
  return columns;
}

/// "target\tdwords" to the disassembly, for the vectors in which it is not the text.
std::map<std::string, std::string> read_echoed() {
  std::map<std::string, std::string> result;
  std::ifstream in(folder() + "vectors_echoed.tsv");
  for (std::string line; std::getline(in, line);) {
    const auto columns = split(line);
    if (columns.size() == 3 && line[0] != '#') result[columns[0] + '\t' + columns[1]] = columns[2];
  }
  return result;
}

std::vector<Vector> read_vectors() {
  std::vector<Vector> result;
  const auto echoed = read_echoed();
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen((folder() + "vectors.tsv.gz").c_str(), "rb"),
                                                        gzclose);
  char line[512];
  while (file && gzgets(file.get(), line, sizeof line)) {
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    const auto columns = split(text);
    if (columns.size() != 3) return {};
    Vector vector{.target = target_named(columns[0]).value(),
                  .dwords = {},
                  .text = columns[2],
                  .disassembly = columns[2]};
    std::istringstream words(columns[1]);
    for (std::string word; words >> word;)
      vector.dwords.push_back(static_cast<u32>(std::stoul(word, nullptr, 16)));
    if (const auto it = echoed.find(columns[0] + '\t' + columns[1]); it != echoed.end())
      vector.disassembly = it->second;
    result.push_back(std::move(vector));
  }
  return result;
}

} // namespace

const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all = read_vectors();
  return all;
}

std::string hex(const std::vector<u32>& dwords) {
  std::string out;
  for (const u32 dword : dwords) out += fmt::format("{}{:08x}", out.empty() ? "" : " ", dword);
  return out;
}

} // namespace lanewise::isa::testing
