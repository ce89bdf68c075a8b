#pragma once
// AdapterDirectory: finds a loaded adapter by its digest. A snapshot that is opened has nothing
// else.
//
// Thread   any.
#include <memory>
#include <string>

#include "base/sha256.h"
#include "control/api/types.h"

namespace quire::inference {
class Adapter;
}

namespace quire::control {

class AdapterDirectory {
 public:
  virtual ~AdapterDirectory() = default;
  // One of those that `tenant` may use with the model; null: none has the digest.
  virtual std::shared_ptr<const inference::Adapter> find(TenantId tenant, ModelIndex model,
                                                         const Digest& digest) const = 0;
};

}  // namespace quire::control
