#pragma once
// Within which tenant pages are shared: the sharing domain that is part of their names.
//
// Keyed with a secret of the installation, so that a name tells nobody else what a page holds, and
// no tenant can ask for another's.
//
// Thread   any; no state.
#include "base/sha256.h"
#include "control/api/types.h"

namespace quire::control {

Digest sharing_domain(const Digest& sharing_secret, TenantId tenant);

}  // namespace quire::control
