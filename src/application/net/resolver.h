#pragma once
// LookupPool finds the addresses of names. A Resolver may take its time, and the pool asks it on
// threads of its own: so a silent name server delays no other transfer. The owner with the fewest
// lookups under way is served first, and none has more than a few, counting those that were given
// up.
//
// Owns     its threads. They outlive the pool by the lookup that they are in, because that cannot
//          be stopped.
// Thread   the pool: one, the net thread. `notify` is called from any, until the pool is destroyed.
// Errors   begin(): Unavailable when kLookupCountMax lookups wait.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "application/net/ip_address.h"
#include "base/result.h"
#include "base/server_limits.h"
#include "control/api/types.h"

namespace quire::net {

class Resolver {
 public:
  virtual ~Resolver() = default;
  // All addresses of the name. Any thread, several at once. NotFound: there is no such name.
  virtual Result<std::vector<IpAddress>> resolve(const std::string& name) = 0;
};

// The system's: its files, its name servers.
class SystemResolver final : public Resolver {
 public:
  Result<std::vector<IpAddress>> resolve(const std::string& name) override;
};

struct Lookup {
  std::string name;
  std::uint64_t owner = 0;
  control::TenantId tenant{};           // Of the owner.
  std::atomic<bool> is_dropped{false};  // The answer is not needed any more.
  Result<std::vector<IpAddress>> answer = std::vector<IpAddress>();  // Once it is taken.
};

class LookupPool {
 public:
  static constexpr std::size_t kThreadCountMax = default_of<ServerLimit::LookupThreadCountMax>();
  static constexpr std::size_t kThreadsPerOwnerMax = 4;
  static constexpr std::size_t kLookupCountMax = default_of<ServerLimit::LookupCountMax>();

  LookupPool(std::shared_ptr<Resolver> resolver, std::function<void()> notify);
  ~LookupPool();
  LookupPool(const LookupPool&) = delete;
  LookupPool& operator=(const LookupPool&) = delete;

  Result<std::shared_ptr<Lookup>> begin(std::string name, std::uint64_t owner,
                                        control::TenantId tenant = {});
  std::vector<std::shared_ptr<Lookup>> take_finished();

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared);
  const std::shared_ptr<Shared> shared_;
};

}  // namespace quire::net
