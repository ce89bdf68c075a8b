#pragma once
// AdapterLoader adds adapters to the catalog on a thread of its own: reading their files waits for
// the disk. Tenants take turns, so that a tenant with many adapters delays another one by one of
// them.
//
// Owns     the thread, which starts with the first adapter, and the adapters that wait for it.
// Thread   engine thread. `then` is called there, by turn().
// Errors   Unavailable if the tenant has as many adapters under way, or bytes of them, as its share
//          allows; else those of AdapterCatalog::add().
// Bound    ServerLimit::LoadingAdapterCountMax and LoadingAdapterBytesMax, of which each tenant has
//          a share.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/server_limits.h"
#include "base/wakeup.h"
#include "control/api/adapter_catalog.h"
#include "control/api/tenant_shares.h"
#include "wire/frames.h"

namespace quire::server {

// The files of an adapter, one after the other.
struct AdapterBytes {
  std::vector<wire::UploadedFile> files;
  std::vector<std::byte> bytes;  // As many as the files have together.
};

struct AdapterLoad {
  using Then = std::function<void(Result<control::AdapterDescription>)>;

  control::TenantId caller{};              // For whom it takes its turn.
  std::optional<control::TenantId> owner;  // None: the server.
  control::ModelIndex model{};
  std::string name;
  std::variant<control::AdapterPath, AdapterBytes> files;
  Then then;

  std::uint64_t bytes() const;
};

struct AdapterLoaderOptions {
  std::uint64_t count_max = default_of<ServerLimit::LoadingAdapterCountMax>();
  std::uint64_t bytes_max = default_of<ServerLimit::LoadingAdapterBytesMax>();
};

class AdapterLoader {
 public:
  // Both outlive the loader.
  AdapterLoader(control::AdapterCatalog& catalog, Wakeup& engine,
                const AdapterLoaderOptions& options = {});
  ~AdapterLoader();  // Waits for the adapter that is being read; those that wait are dropped.
  AdapterLoader(const AdapterLoader&) = delete;
  AdapterLoader& operator=(const AdapterLoader&) = delete;

  Result<void> add(AdapterLoad load);
  // Hands out what was read. True if anything was.
  bool turn();
  void set_several(bool are_several);

 private:
  struct Loaded {
    control::TenantId caller{};
    std::uint64_t bytes = 0;
    AdapterLoad::Then then;
    Result<control::AdapterDescription> adapter;
  };

  void run();
  AdapterLoad take_next();  // Under the lock; there is one.
  Result<control::AdapterDescription> load(AdapterLoad& load);

  control::AdapterCatalog& catalog_;
  Wakeup& engine_;
  // The engine thread alone uses these shares, which count all adapters that were added and not
  // handed out.
  control::TenantShares counts_;
  control::TenantShares bytes_;
  std::optional<std::thread> thread_;

  std::mutex mutex_;  // Guards all below.
  std::condition_variable changed_;
  std::map<control::TenantId, std::deque<AdapterLoad>> waiting_;
  control::TenantId last_{};  // Whose turn it was.
  std::deque<Loaded> loaded_;
  bool is_ending_ = false;
};

}  // namespace quire::server
