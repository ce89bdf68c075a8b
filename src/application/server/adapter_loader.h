#pragma once
// AdapterLoader adds adapters to the catalog on two threads of its own: reading their files waits
// for the disk. One thread reads small adapters, and one large adapters, so that a small one does
// not wait for seconds of a large one. On each thread tenants take turns, so that a tenant with
// many adapters delays another one by one of them.
//
// An adapter that is named by a path goes to the thread of the small ones, which finds its bytes
// and hands a large one over. Two adapters of one client can be added in another order than they
// were asked for.
//
// Owns     the threads, each of which starts with the first adapter that needs it, and the
//          adapters that wait for them.
// Thread   engine thread. `then` is called there, by turn().
// Errors   Unavailable if the tenant has as many adapters under way, or bytes of them, as its share
//          allows, and if a thread cannot be started; else those of AdapterCatalog::add().
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

// Files of at most so many bytes are read on the thread of the small adapters. A disk of 50 MB/s
// reads them within 0.7 s. Rank 16 of the queries and values of a model of 8 billion parameters has
// 14 MB.
inline constexpr std::uint64_t kSmallAdapterBytesMax = 32u << 20;

struct AdapterLoaderOptions {
  std::uint64_t count_max = default_of<ServerLimit::LoadingAdapterCountMax>();
  std::uint64_t bytes_max = default_of<ServerLimit::LoadingAdapterBytesMax>();
  std::uint64_t small_bytes_max = kSmallAdapterBytesMax;
};

class AdapterLoader {
 public:
  // Both outlive the loader.
  AdapterLoader(control::AdapterCatalog& catalog, Wakeup& engine,
                const AdapterLoaderOptions& options = {});
  ~AdapterLoader();  // Waits for the adapters that are being read; those that wait are dropped.
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

  // The adapters that wait for one thread. The lock guards them, but not the thread.
  struct Lane {
    std::optional<std::thread> thread;
    std::map<control::TenantId, std::deque<AdapterLoad>> waiting;
    control::TenantId last{};  // Whose turn it was.
    std::condition_variable changed;
  };

  Result<void> start(Lane& lane);
  void run(Lane& lane);
  // Adds it, or hands it over.
  void work_on(AdapterLoad load, const Lane& lane);
  void put(AdapterLoad load, Lane& lane);
  AdapterLoad take_next(Lane& lane);  // Under the lock; there is one.
  bool is_large(const AdapterLoad& load) const;
  Result<control::AdapterDescription> load(AdapterLoad& load);

  control::AdapterCatalog& catalog_;
  Wakeup& engine_;
  // The engine thread alone uses these shares, which count all adapters that were added and not
  // handed out.
  control::TenantShares counts_;
  control::TenantShares bytes_;
  const std::uint64_t small_bytes_max_;

  std::mutex mutex_;  // Guards all below.
  Lane small_;
  Lane large_;
  std::deque<Loaded> loaded_;
  bool is_ending_ = false;
};

}  // namespace quire::server
