#pragma once
// Proofs that one tenant, or one address, cannot take all of a shared limit: one for each row of
// base/server_limits.inc that says so.
#include <cstdint>
#include <functional>
#include <map>

#include "base/server_limits.h"
#include "control/api/types.h"

namespace quire::limits_test {

// Fails the test that runs it if the limit is not shared out.
using Proof = void (*)();
using Proofs = std::map<ServerLimit, Proof>;

Proofs application_proofs();
Proofs control_proofs();

// Takes one of the pool for a tenant; false: the tenant gets no more. The pool knows that there are
// several.
using TakeOne = std::function<bool(control::TenantId)>;

// Each of two tenants in turn takes all that it gets: the first half of `count_max`, the second
// half of the rest. A third finds some.
void expect_halves(std::uint64_t count_max, const TakeOne& take_one);

}  // namespace quire::limits_test
