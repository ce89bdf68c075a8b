#pragma once
// The control layer's word for a policy that the user chose.
#include "cli/options.h"
#include "control/pages/eviction_policy.h"

namespace quire {

inline control::EvictionPolicyKind eviction_kind(cli::PagePolicyChoice choice) {
  switch (choice) {
    case cli::PagePolicyChoice::Lru:
      return control::EvictionPolicyKind::Lru;
    case cli::PagePolicyChoice::S3Fifo:
      return control::EvictionPolicyKind::S3Fifo;
    case cli::PagePolicyChoice::Default:
      break;
  }
  return control::EvictionPolicyKind::Default;
}

}  // namespace quire
