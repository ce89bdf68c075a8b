#pragma once
// Figures of a service, of its tenants and of its instances: how much of each limit is used.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.h"

namespace quire::service {

// One limit of an instance or a tenant, by the name that errors use.
struct LimitUse {
  std::string name;
  std::uint64_t maximum = 0;          // All ones: none.
  std::optional<std::uint64_t> used;  // None: it limits one call or thing, and nothing adds up.
};

// How much of a limit is used; or a count that has none.
struct Figure {
  std::uint64_t used = 0;
  std::optional<std::uint64_t> maximum;
  bool operator==(const Figure&) const = default;
};
using Figures = std::map<std::string, Figure>;  // By the names that errors use.

struct TenantStatus {
  std::uint64_t tenant = 0;
  std::uint64_t weight = 1;
  Figures figures;
  bool operator==(const TenantStatus&) const = default;
};

struct InstanceStatus {
  std::uint64_t instance = 0;
  std::uint64_t tenant = 0;
  std::uint64_t parent = 0;  // The instance that launched it; 0: a client.
  Digest program{};
  std::string stage;  // "queued", "ready", "background", "parked" or "ended".
  Figures figures;    // Those that are not 0.
  // "attached", "detached" or "gone" (the client, so that the instance is stopped soon). "program"
  // or "request" launched an instance without a client. Empty: an older server does not report it.
  std::string client = {};
  std::string program_name = {};  // Empty: the program has none.
  bool operator==(const InstanceStatus&) const = default;
};

// A name by which the caller may launch a program, and the program.
struct NamedProgram {
  std::string name;
  Digest program{};
  bool operator==(const NamedProgram&) const = default;
};

// A status has this detail on request, for the operator alone.
struct StatusDetail {
  Figures figures;  // Of the server: queues and batches.
  std::vector<TenantStatus> tenants;
  std::vector<InstanceStatus> instances;  // The first of them,
  std::uint64_t left_out_count = 0;       // and how many more there are.
  std::vector<NamedProgram> programs;     // By their names; the first of them, too.
  std::uint64_t left_out_program_count = 0;
  bool operator==(const StatusDetail&) const = default;
};

// Counts since the service began, unless they say now.
struct Status {
  std::string version;
  std::vector<std::string> models;
  std::uint64_t uptime_ms = 0;
  std::uint64_t connection_count = 0;  // Now.
  std::uint64_t instance_count = 0;    // Now; launched and not yet collected.
  std::uint64_t instance_count_max = 0;
  std::uint64_t waiting_count = 0;     // Now, of these: launched and not yet started.
  std::uint64_t unattached_count = 0;  // Now, of these: without a client.
  std::uint64_t program_count = 0;     // Now.
  std::uint64_t launched_count = 0;
  std::uint64_t refused_count = 0;    // Launches.
  std::uint64_t page_count = 0;       // Of all pools.
  std::uint64_t page_count_free = 0;  // Now.
  std::uint64_t computed_token_count = 0;
  std::uint64_t found_token_count = 0;
  std::uint64_t batch_count = 0;
  std::optional<StatusDetail> detail;
  bool operator==(const Status&) const = default;
};

}  // namespace quire::service
