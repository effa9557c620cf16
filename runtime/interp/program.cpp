#include "runtime/interp/program.hpp"

#include "isa/decoder.hpp"
#include "runtime/interp/control.hpp"

#include <algorithm>
#include <atomic>
#include <unordered_map>

namespace lanewise::interp {

struct Program::Range {
  CodeRange where;
  std::unique_ptr<std::atomic<const Code*>[]> index; ///< by dword
};

/// A straight-line run; never moves once made.
struct Program::Run {
  std::vector<Code> codes;
  std::vector<isa::Inst> insts;
};

Program::Program(Target target, std::span<const CodeRange> ranges) : target_(target) {
  for (const CodeRange& range : ranges) {
    auto made = std::make_unique<Range>();
    made->where = range;
    made->index = std::make_unique<std::atomic<const Code*>[]>(range.bytes / 4);
    ranges_.push_back(std::move(made));
  }
}

Program::~Program() = default;

const Program::Range* Program::range_of(u64 pc) const {
  for (const auto& range : ranges_)
    if (pc >= range->where.address && pc - range->where.address + 4 <= range->where.bytes && (pc & 3) == 0)
      return range.get();
  return nullptr;
}

/// Decodes everything that direct control flow reaches from one address.
class Program::Builder {
public:
  explicit Builder(const Program& program) : program_(program) {}

  void build(u64 pc) {
    pending_.push_back(pc);
    while (!pending_.empty()) {
      const u64 next_pc = pending_.back();
      pending_.pop_back();
      if (!known(next_pc)) decode_run(next_pc);
    }
    for (auto& run : made_)
      for (Code& code : run->codes)
        if (code.imm != 0 && code.target == nullptr) code.target = known(static_cast<u64>(code.imm));
    for (const auto& [pc_of, code] : fresh_) {
      const Range* range = program_.range_of(pc_of);
      range->index[(pc_of - range->where.address) / 4].store(code, std::memory_order_release);
    }
    for (auto& run : made_) program_.runs_.push_back(std::move(run));
  }

private:
  const Code* known(u64 pc) const {
    const Range* range = program_.range_of(pc);
    if (!range) return nullptr;
    if (const Code* code = range->index[(pc - range->where.address) / 4].load(std::memory_order_relaxed))
      return code;
    const auto found = fresh_.find(pc);
    return found == fresh_.end() ? nullptr : found->second;
  }

  // Control that arrives here leaves the run: to code that exists already, or out of all code.
  static Code leave(u64 pc, const Code* to) {
    Code code;
    code.pc = pc;
    code.run = to ? jump : bad_jump;
    code.target = to;
    return code;
  }

  void decode_run(u64 pc) {
    auto run = std::make_unique<Run>();
    std::vector<u64> pcs;
    while (true) {
      const Range* range = program_.range_of(pc);
      const Code* there = known(pc);
      if (!range || there) {
        pcs.push_back(0);
        run->insts.emplace_back();
        break;
      }
      const u64 left = (range->where.address + range->where.bytes - pc) / 4;
      isa::Inst inst;
      const std::span words(reinterpret_cast<const u32*>(pc), std::min<u64>(left, 4));
      const bool ok = isa::decode(program_.target_, words, inst) == isa::DecodeStatus::Ok;
      if (!ok) inst = {};
      pcs.push_back(pc);
      run->insts.push_back(inst);
      if (!ok) break;
      const isa::Row& row = isa::row_of(inst.op);
      pc += inst.size;
      if (row.has(isa::kTerminator)) {
        if (row.has(isa::kCall)) pending_.push_back(pc);
        if (row.has(isa::kFork)) pending_.push_back(pc);
        break;
      }
    }
    finish(std::move(run), pcs, pc);
  }

  void finish(std::unique_ptr<Run> run, const std::vector<u64>& pcs, u64 end) {
    run->codes.resize(pcs.size());
    for (std::size_t i = 0; i < pcs.size(); ++i) {
      Code& code = run->codes[i];
      const isa::Inst& inst = run->insts[i];
      if (pcs[i] == 0) {
        code = leave(end, known(end));
        continue;
      }
      if (inst.size == 0) {
        code.pc = pcs[i];
        code.run = illegal;
      } else {
        bind(inst, pcs[i], program_.target_, code);
        broadcast_constants(code);
      }
      fresh_[pcs[i]] = &code;
      if (code.imm != 0 && !known(static_cast<u64>(code.imm))) pending_.push_back(static_cast<u64>(code.imm));
    }
    made_.push_back(std::move(run));
  }

  void broadcast_constants(Code& code) {
    if (!code.valu) return;
    for (Source& s : code.src) {
      if (s.kind != Source::Constant) continue;
      const unsigned dwords = std::max<unsigned>(1, s.dwords);
      auto& rows = program_.constants_[{s.value, dwords}];
      if (!rows) {
        rows = std::make_unique<u32[]>(dwords * kWaveSize);
        for (unsigned d = 0; d < dwords; ++d)
          std::fill_n(rows.get() + d * kWaveSize, kWaveSize, static_cast<u32>(s.value >> 32 * d));
      }
      s.rows = rows.get();
    }
  }

  const Program& program_;
  std::vector<u64> pending_;
  std::vector<std::unique_ptr<Run>> made_;
  std::unordered_map<u64, const Code*> fresh_;
};

const Code* Program::at(u64 pc) const {
  const Range* range = range_of(pc);
  if (!range) return nullptr;
  auto& entry = range->index[(pc - range->where.address) / 4];
  if (const Code* code = entry.load(std::memory_order_acquire)) return code;
  std::lock_guard lock(mutex_);
  if (!entry.load(std::memory_order_acquire)) Builder(*this).build(pc);
  return entry.load(std::memory_order_acquire);
}

} // namespace lanewise::interp
