// Bytes that each lane takes from its own place and its neighbours', as a stencil on an image does, are
// loaded together by compilers: two or four at once, from rows that overlap. To bring those into lanes takes
// shuffles, and to take them apart shifts, while a load that widens a row of bytes is one instruction.
#include "translator/ir/cfg.hpp"
#include "translator/ir/rows.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>

namespace lanewise::passes {

using namespace ir;

namespace {

class Splitter {
public:
  explicit Splitter(Function& f) : f_(f), part_(f.num_values()), map_(f.num_values()) {}

  void run() {
    const Cfg cfg(f_);
    for (const BlockId b : cfg.rpo) {
      for (const InstId i : f_[b].insts) look_at(i);
      for (const Successor& s : f_[b].successors)
        for (const ValueId v : s.args) keep(v);
    }
    if (taken_.empty()) return;
    for (const BlockId b : cfg.rpo) {
      std::vector<InstId> insts;
      insts.reserve(f_[b].insts.size());
      for (const InstId i : f_[b].insts) {
        insts.push_back(i);
        if (is_candidate(i)) split(i, insts);
      }
      f_[b].insts = std::move(insts);
    }
    map_.resize(f_.num_values());
    f_.replace_values(map_);
  }

private:
  /// What a value begins with: the load's byte `at`. No load: it is none of these.
  struct Part {
    InstId load;
    u32 at = 0;
  };
  struct Taken {
    ValueId value; ///< this byte of the load alone
    Part part;
  };
  Function& f_;
  std::vector<Part> part_; ///< per value
  std::vector<Taken> taken_;
  std::vector<InstId> kept_; ///< loads of which something takes more than a byte
  std::vector<ValueId> map_;

  bool is_candidate(InstId i) const {
    const MemAttr& mem = f_[i].mem;
    const bool is_row = mem.form == AddressForm::Row || mem.form == AddressForm::Wrapped;
    return f_[i].op == Op::Load && f_[i].num_results == 1 && mem.space == Space::Global && mem.bytes != 1 &&
           !mem.sign_extend &&
           (is_row ? row_stride(mem) == 1 : mem.short_row != 0 && short_row_stride(mem) == 1);
  }

  void look_at(InstId i) {
    if (is_candidate(i)) part_[f_.result(i).index] = {i, 0};
    const auto x = f_.operands(i);
    u64 bits = 0;
    for (unsigned n = 0; n < x.size(); ++n) {
      Part part = part_[x[n].index];
      if (!part.load.valid()) continue;
      const u32 last = f_[part.load].mem.bytes - 1u;
      const bool by_constant = x.size() == 2 && f_.is_const(x[1 - n], &bits);
      if (by_constant && f_[i].op == Op::And && bits == 0xff) {
        taken_.push_back({f_.result(i), part});
      } else if (by_constant && f_[i].op == Op::LShr && n == 0 && bits % 8 == 0 &&
                 part.at + bits / 8 <= last) {
        part.at += static_cast<u32>(bits / 8);
        if (part.at == last)
          taken_.push_back({f_.result(i), part});
        else
          part_[f_.result(i).index] = part;
      } else {
        keep(x[n]);
      }
    }
  }
  void keep(ValueId v) {
    if (part_[v.index].load.valid()) kept_.push_back(part_[v.index].load);
  }

  void split(InstId load, std::vector<InstId>& out) {
    if (std::ranges::find(kept_, load) != kept_.end()) return;
    std::array<ValueId, 4> bytes;
    for (const Taken& t : taken_) {
      if (t.part.load != load) continue;
      ValueId& byte = bytes[t.part.at];
      if (!byte.valid()) {
        Inst proto = f_[load];
        proto.mem.bytes = 1;
        proto.imm += t.part.at;
        const auto x = f_.operands(load);
        const std::vector<ValueId> operands(x.begin(), x.end());
        const Type type = Type::V32;
        out.push_back(f_.make(proto, operands, {&type, 1}));
        f_[out.back()].block = f_[load].block;
        byte = f_.result(out.back());
      }
      map_[t.value.index] = byte;
    }
  }
};

} // namespace

void split_bytes(Function& f) { Splitter(f).run(); }

} // namespace lanewise::passes
