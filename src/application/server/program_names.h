#pragma once
// ProgramNames holds the names by which clients, and programs, may launch programs, and which tenants may
// see which program. A name is the operator's, and all tenants find it, or it is a tenant's own. The name of
// PROGRAMs of the command line stays; any other one may be given to another program.
//
// Thread   engine thread only.
// Errors   do not reveal the names and programs of one tenant to another.
// Bound    ServiceLimits::program_name_count_max for all names. A tenant has at most as many as it
//          leaves for the other tenants.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "application/lifecycle/instance_manager.h"
#include "base/result.h"
#include "base/sha256.h"
#include "control/api/tenant_shares.h"
#include "service/figures.h"
#include "service/principal.h"
#include "service/program.h"

namespace quire::server {

class ProgramNames {
 public:
  ProgramNames(lifecycle::InstanceManager& manager, std::uint32_t count_max)
      : manager_(manager), count_max_(count_max), own_counts_(count_max) {}

  // For all tenants. AlreadyExists if another program has the name.
  Result<void> name_by_operator(const std::string& name, lifecycle::ProgramId program,
                                const Digest& digest);
  // The operator's program of that name is another from here on, whether the name stays or not.
  void replace_by_operator(const std::string& name, lifecycle::ProgramId program,
                           const Digest& digest);
  // For all tenants, and an operator's client may give the name to another program.
  Result<void> name_replaceable(const std::string& name, lifecycle::ProgramId program,
                                const Digest& digest);
  // For the caller's tenant, or for all if the caller operates the server. QuotaExceeded, or AlreadyExists
  // for a name of name_by_operator().
  Result<void> name_by_client(const service::Principal& caller, const std::string& name,
                              lifecycle::ProgramId program, const Digest& digest);
  // The caller brought a program, perhaps for the second time: its names lead to it.
  void arrived(const service::Principal& caller, lifecycle::ProgramId program,
               const Digest& digest);

  // Whether the caller may know that a program with this digest is here.
  bool may_see(const service::Principal& caller, const Digest& digest) const;
  // A tenant's own name goes before the operator's. NotFound says which names there are for the caller.
  Result<Digest> digest_of(const service::Principal& caller,
                           const service::ProgramName& program) const;
  // Whether the operator named the program, on the command line.
  bool is_operators(const Digest& digest) const { return operators_.contains(digest); }
  // The operator named it as the program of an endpoint.
  void note_operators(const Digest& digest) { operators_.insert(digest); }
  // Writes the name of each program, if it has one: the tenant's own, or else one for all tenants.
  void add_names(std::vector<service::InstanceStatus>& instances) const;
  // The programs that the caller may launch by name, in the order of the names.
  std::map<std::string, Digest> seen_by(const service::Principal& caller) const;
  bool has_name(const std::string& name) const { return shared_.contains(name); }

 private:
  struct Named {
    Digest digest{};
    bool stays = false;
  };
  using OwnName = std::pair<control::TenantId, std::string>;

  Result<void> name_own(control::TenantId tenant, const std::string& name,
                        lifecycle::ProgramId program, const Digest& digest);
  std::string names_for(const service::Principal& caller) const;
  void forget_holders();

  lifecycle::InstanceManager& manager_;
  const std::uint32_t count_max_;
  std::map<std::string, Named> shared_;
  std::map<OwnName, Digest> own_;
  std::set<Digest> operators_;
  control::TenantShares own_counts_;
  // The tenants whose clients brought a program. Programs that the store forgot are forgotten here later.
  std::map<Digest, std::set<control::TenantId>> holders_;
};

}  // namespace quire::server
