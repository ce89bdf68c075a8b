#pragma once
// AdapterDesk adds and removes adapters while the server runs, for clients whose key may, and lists
// them. An adapter that a tenant's client adds is the tenant's; one of a client that may operate is
// the server's, and all tenants use it.
//
// A name is NAME, or MODEL:NAME if it is not for the first model that takes adapters.
//
// Owns     the loader, and the counts of what was loaded.
// Thread   engine thread only.
// Errors   PermissionDenied without the right; NotSupported if no model takes adapters, and for a
//          path if the server has no folder of adapters; else those of AdapterLoader and
//          AdapterCatalog.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "application/server/adapter_loader.h"
#include "application/server/gateway_parts.h"
#include "application/server/server_limits.h"
#include "base/result.h"
#include "service/adapter.h"
#include "service/principal.h"

namespace quire::server {

// Since the server began.
struct AdapterFigures {
  std::uint64_t loaded_count = 0;
  std::uint64_t refused_count = 0;  // Adapters that could not be added.
  std::uint64_t removed_count = 0;
  control::AdapterCount use;  // Now, of all tenants and the server.
};

class AdapterDesk {
 public:
  using Then = std::function<void(Result<service::AdapterStatus>)>;

  // All of it outlives the desk.
  AdapterDesk(const GatewayParts& parts, const ServiceLimits& limits);

  // `then` is called by a later turn(), unless there is an error now. The path lies below the
  // server's folder of adapters.
  Result<void> add(const service::Principal& caller, const std::string& name,
                   const std::string& path, Then then);
  Result<void> add(const service::Principal& caller, const std::string& name, AdapterBytes files,
                   Then then);
  // When an add() that failed may succeed; empty: never.
  static std::optional<std::uint64_t> retry_after_ms(const Error& failed);
  // Requests and contexts that use the adapter go on with it.
  Result<void> remove(const service::Principal& caller, const std::string& name);
  // The adapters that the tenant may use, by model and name. A key that may launch may list them.
  Result<std::vector<service::AdapterStatus>> list(const service::Principal& caller) const;

  void refuse_loads() { takes_loads_ = false; }  // At a shutdown.
  // Hands out what was loaded. True if anything was. `are_several`: the server knows more than one
  // tenant.
  bool turn(bool are_several);
  AdapterFigures figures() const;

 private:
  struct Place {
    control::ModelIndex model{};
    std::string name;
  };

  Result<Place> find_place(const std::string& name) const;
  Result<Place> find_own(const service::Principal& caller, const std::string& name) const;
  Result<void> begin(const service::Principal& caller, const std::string& name,
                     std::variant<control::AdapterPath, AdapterBytes> files, Then then);
  service::AdapterStatus status_of(const service::Principal& caller,
                                   const control::AdapterDescription& adapter) const;
  void tell(const char* event, const std::string& how, const control::AdapterDescription& adapter,
            const service::Principal& caller);

  const GatewayParts parts_;
  std::optional<AdapterLoader> loader_;  // None: no model takes adapters.
  bool takes_loads_ = true;
  bool are_several_ = true;
  std::uint64_t loaded_count_ = 0;
  std::uint64_t refused_count_ = 0;
  std::uint64_t removed_count_ = 0;
};

}  // namespace quire::server
