// From the IR as it was lifted to the IR that phases are formed of: the passes, in their order.
#pragma once

#include "translator/ir/ir.hpp"
#include "translator/lift/lift.hpp"
#include "translator/phases/decide.hpp"
#include "translator/translator.hpp"

namespace lanewise::translator {

/// Which loops may have a copy in which lanes run alone.
enum class LanesAlone : u8 {
  LastAndRetrying,
  Retrying, ///< those that add with a compare-and-swap
  None,
};

/// Why code is as it is, for dumps.
struct Reasons {
  std::vector<phases::Reason> branches; ///< kept at wave level
  bool packed = false;                  ///< workgroups of one work-item are lanes
  std::string not_packed;               ///< why they are waves of their own
};

/// Runs all passes on `f`. `promotion` is what lifting has done of them already. Times and counts go to
/// `stats`. docs/PASSES.md says what each pass is for, and why it stands where it does. Error Internal, with
/// the pass's name, if the IR is not valid behind one and `options.verify` asks for that.
Result<void> optimize(ir::Function& f, const KernelSource& source, const Options& options, LanesAlone alone,
                      lift::Promotion promotion, Reasons& reasons, Stats& stats);

} // namespace lanewise::translator
