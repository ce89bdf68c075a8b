#include "control/pages/eviction_policy.h"

#include <string>

#include "base/check.h"
#include "control/pages/lru_policy.h"
#include "control/pages/reuse_policy.h"
#include "control/pages/s3_fifo_policy.h"

namespace quire::control {

std::unique_ptr<EvictionPolicy> make_eviction_policy(const EvictionPolicyOptions& options) {
  QUIRE_CHECK(options.entry_count > 0, "a pool has a page");
  switch (options.kind) {
    case EvictionPolicyKind::Lru:
      return std::make_unique<LruPolicy>();
    case EvictionPolicyKind::S3Fifo:
      return std::make_unique<S3FifoPolicy>(options.entry_count);
    case EvictionPolicyKind::Default:
      break;
  }
  return std::make_unique<ReusePolicy>(options.entry_count);
}

Result<EvictionPolicyKind> parse_eviction_policy(std::string_view name) {
  for (const EvictionPolicyKind kind :
       {EvictionPolicyKind::Default, EvictionPolicyKind::Lru, EvictionPolicyKind::S3Fifo}) {
    if (name == name_of(kind)) return kind;
  }
  return Error(ErrorCode::InvalidArgument, "unknown eviction policy \"" + std::string(name) +
                                               "\" (supported: default, lru, s3-fifo)");
}

std::string_view name_of(EvictionPolicyKind kind) {
  switch (kind) {
    case EvictionPolicyKind::Lru:
      return "lru";
    case EvictionPolicyKind::S3Fifo:
      return "s3-fifo";
    case EvictionPolicyKind::Default:
      break;
  }
  return "default";
}

}  // namespace quire::control
