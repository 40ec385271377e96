// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/verdict.hpp"

namespace nearpool {

VerdictFunction verdict_function(Verdict verdict) {
  switch (verdict) {
    case Verdict::kDrop:
      return verdict_drop;
    case Verdict::kTx:
      return verdict_tx;
    case Verdict::kRedirectCpu:
      return verdict_redirect_cpu;
    case Verdict::kPass:
      return verdict_pass;
    case Verdict::kRedirect:
      break;
  }
  return verdict_redirect;
}

}  // namespace nearpool
