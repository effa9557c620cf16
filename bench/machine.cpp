#include "bench/machine.hpp"

#include <array>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace lanewise::bench {
namespace {

/// What follows the first line that starts with `key` in a file of `key : value` or `key=value` lines.
std::string lookup(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto at = line.find_first_not_of(" \t:=\"", key.size());
    const auto end = line.find_last_not_of(" \"");
    if (at != std::string::npos && end >= at) return line.substr(at, end - at + 1);
  }
  return "";
}

std::string processor() {
  const char* info = "/proc/cpuinfo";
  return fmt::format("{}, family {} model {} stepping {}", lookup(info, "model name"),
                     lookup(info, "cpu family"), lookup(info, "model\t"), lookup(info, "stepping"));
}

std::string instruction_sets() {
  std::string list;
  const auto add = [&](bool has, const char* name) {
    if (has) list += (list.empty() ? "" : " ") + std::string(name);
  };
  add(__builtin_cpu_supports("avx2"), "AVX2");
  add(__builtin_cpu_supports("fma"), "FMA");
  add(__builtin_cpu_supports("avx512f"), "AVX-512F");
  add(__builtin_cpu_supports("avx512bw"), "BW");
  add(__builtin_cpu_supports("avx512dq"), "DQ");
  add(__builtin_cpu_supports("avx512vl"), "VL");
  add(__builtin_cpu_supports("avx512vbmi"), "VBMI");
  return list;
}

std::string operating_system() {
  utsname name{};
  uname(&name);
  const bool virtual_machine = lookup("/proc/cpuinfo", "flags").find(" hypervisor") != std::string::npos;
  return fmt::format("{}, {} {}{}", lookup("/etc/os-release", "PRETTY_NAME"), name.sysname, name.release,
                     virtual_machine ? ", virtual machine" : "");
}

/// Of the last level, as one core sees it: sysconf adds up all instances of some processors.
double cache_megabytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  double kilobytes = 0;
  if (file >> kilobytes) return kilobytes / 1024;
  return static_cast<double>(sysconf(_SC_LEVEL2_CACHE_SIZE)) / 0x1p20;
}

unsigned usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

std::string today() {
  std::array<char, 32> text{};
  const std::time_t now = std::time(nullptr);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  return text.data();
}

} // namespace

Machine describe_machine() {
  Machine m;
  m.cpu = processor();
  m.instruction_sets = instruction_sets();
  m.system = operating_system();
#ifdef __clang__
  m.compiler = "clang " __clang_version__;
#else
  m.compiler = "g++ " __VERSION__;
#endif
  m.date = today();
  m.cores = usable_cores();
  m.memory_gb =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 0x1p30;
  m.cache_mb = cache_megabytes();
  double load[1];
  if (getloadavg(load, 1) == 1) m.load = load[0];
  return m;
}

std::string to_text(const Machine& m) {
  std::string text = fmt::format(
      "{}; {} cores, {:.0f} MB of last-level cache, {:.0f} GB of memory\n{}; {}; {}\n{}, load {:.1f} "
      "when the measurement began\n",
      m.cpu, m.cores, m.cache_mb, m.memory_gb, m.instruction_sets, m.system, m.compiler, m.date, m.load);
  if (m.load > 0.5)
    text += "The machine was busy with other work: wall times, and so t1/t2, say little, and CPU times are "
            "high\n";
  return text;
}

} // namespace lanewise::bench
