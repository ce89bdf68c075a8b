#pragma once
// The status of the engine in the words of src/service.
#include "application/lifecycle/usage.h"
#include "application/server/gateway_parts.h"
#include "control/api/control_port.h"
#include "service/figures.h"

namespace quire::server {

// Of one tenant: what its own clients may see.
service::StatusDetail detail_of(const lifecycle::Usage& usage);
// The counts of that tenant.
service::Status status_about(const lifecycle::Usage& usage);

// For the operator alone: tenants and instances one by one.
service::StatusDetail detail_of(const lifecycle::Usage& usage,
                                const control::ControlStatistics& control,
                                const RequestCounts& requests);

}  // namespace quire::server
