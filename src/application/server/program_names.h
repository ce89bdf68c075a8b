#pragma once
// ProgramNames holds the names by which clients, and programs, may launch programs. A client may give a
// name that a client gave before to another program; a name of the operator stays.
//
// Thread   engine thread only.
// Bound    ServiceLimits::program_name_count_max, the operator's names included.
#include <cstdint>
#include <map>
#include <string>

#include "application/lifecycle/instance_manager.h"
#include "base/result.h"
#include "base/sha256.h"
#include "service/program.h"

namespace quire::server {

class ProgramNames {
 public:
  ProgramNames(lifecycle::InstanceManager& manager, std::uint32_t count_max)
      : manager_(manager), count_max_(count_max) {}

  // AlreadyExists if another program has the name.
  Result<void> name_by_operator(const std::string& name, lifecycle::ProgramId program,
                                const Digest& digest);
  // QuotaExceeded, or AlreadyExists for a name of the operator's.
  Result<void> name_by_client(const std::string& name, lifecycle::ProgramId program,
                              const Digest& digest);
  // A program came, perhaps for the second time: its names lead to it.
  void arrived(lifecycle::ProgramId program, const Digest& digest);
  // NotFound says which names there are.
  Result<Digest> digest_of(const service::ProgramName& program) const;

 private:
  struct Named {
    Digest digest{};
    bool is_operators = false;
  };

  lifecycle::InstanceManager& manager_;
  const std::uint32_t count_max_;
  std::map<std::string, Named> programs_;
};

}  // namespace quire::server
