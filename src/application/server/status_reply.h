#pragma once
// The status of the engine in the words of src/service.
#include <map>
#include <string>

#include "application/server/server_snapshot.h"
#include "base/sha256.h"
#include "service/figures.h"

namespace quire::server {

// With tenants and instances one by one where the snapshot has its usage, which is for the operator
// alone.
service::Status status_of(const ServerSnapshot& snapshot);

// The detail of `usage` alone. If that is of one tenant, the tenant's clients may see all of it.
service::StatusDetail detail_of(const lifecycle::Usage& usage);
// Adds the programs that the caller may launch by name.
void add_programs(const std::map<std::string, Digest>& programs, service::StatusDetail& detail);
// The counts of that tenant.
service::Status status_about(const lifecycle::Usage& usage);

}  // namespace quire::server
