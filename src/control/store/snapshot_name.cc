#include "control/store/snapshot_name.h"

#include "base/guest_name.h"
#include "control/store/records.h"

namespace quire::store {

static_assert(kSnapshotNameBytesMax == kGuestNameBytesMax);

Result<void> check_snapshot_name(std::string_view name) {
  return check_guest_name(name, "snapshot name");
}

}  // namespace quire::store
