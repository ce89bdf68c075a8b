#pragma once
// sharing_domain() gives the sharing domain that is part of the names of pages; a tenant shares
// pages within it.
//
// It is keyed with a secret of the installation. So a name discloses the content of a page to no
// one else, and no tenant can ask for another's pages.
//
// Thread   any; no state.
#include "base/sha256.h"
#include "control/api/types.h"

namespace quire::control {

Digest sharing_domain(const Digest& sharing_secret, TenantId tenant);

}  // namespace quire::control
