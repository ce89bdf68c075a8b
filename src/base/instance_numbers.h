#pragma once
// InstanceNumbers gives instances the numbers by which clients, programs and the operator's log
// know them. Inside, an instance has the next count. A client that saw two counts would know how
// many launches of other clients came between them. So a server shows a keyed permutation of the
// count: each number is there once, and says nothing of another one.
//
// Thread   any; nothing changes.
// Bound    numbers are from 1 to kInstanceNumberMax, which a double of JSON holds exactly.
#include <cstdint>
#include <optional>

#include "base/instance_id.h"
#include "base/random.h"
#include "base/siphash.h"

namespace quire {

inline constexpr std::uint64_t kInstanceNumberMax = (std::uint64_t{1} << 53) - 1;

class InstanceNumbers {
 public:
  // Without a key the number is the count: where one user has all instances, and in simulations.
  InstanceNumbers() = default;
  explicit InstanceNumbers(RandomSource& random);

  // Requires: at most kInstanceNumberMax instances were launched. InstanceId{}, which none has, gives 0.
  std::uint64_t of(InstanceId id) const;
  // The instance that has, had or will have this number; InstanceId{} if `number` is not valid.
  InstanceId id_of(std::uint64_t number) const;

 private:
  std::optional<SipKey> key_;
};

}  // namespace quire
