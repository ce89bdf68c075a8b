#include "application/server/adapter_loader.h"

#include <iterator>
#include <span>
#include <utility>

#include "base/start_thread.h"
#include "control/api/tenant_turns.h"

namespace quire::server {
namespace {

control::AdapterUpload taken_apart(AdapterBytes whole) {
  control::AdapterUpload upload;
  std::span<const std::byte> rest = whole.bytes;
  for (wire::UploadedFile& each : whole.files) {
    const std::span<const std::byte> bytes = rest.first(each.bytes);
    upload.files.push_back({std::move(each.name), {bytes.begin(), bytes.end()}});
    rest = rest.subspan(each.bytes);
  }
  return upload;
}

}  // namespace

std::uint64_t AdapterLoad::bytes() const {
  const auto* whole = std::get_if<AdapterBytes>(&files);
  return whole == nullptr ? 0 : whole->bytes.size();
}

AdapterLoader::AdapterLoader(control::AdapterCatalog& catalog, Wakeup& engine,
                             const AdapterLoaderOptions& options)
    : catalog_(catalog), engine_(engine), counts_(options.count_max), bytes_(options.bytes_max) {}

AdapterLoader::~AdapterLoader() {
  if (!thread_) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  thread_->join();
}

void AdapterLoader::set_several(bool are_several) {
  counts_.set_several(are_several);
  bytes_.set_several(are_several);
}

Result<void> AdapterLoader::add(AdapterLoad load) {
  const std::uint64_t bytes = load.bytes();
  if (!counts_.may_take(load.caller, 1)) {
    return Error(ErrorCode::Unavailable,
                 "loading_adapter_count_max: " + std::to_string(counts_.count_of(load.caller)) +
                     " adapters of the tenant are being loaded, and it may have " +
                     std::to_string(counts_.share_of(load.caller)) + " at once");
  }
  if (!bytes_.may_take(load.caller, bytes)) {
    return Error(ErrorCode::Unavailable,
                 "loading_adapter_bytes_max: " + std::to_string(bytes) + " bytes, beside " +
                     std::to_string(bytes_.count_of(load.caller)) +
                     " of adapters that are being loaded, are more than the tenant's share of " +
                     std::to_string(bytes_.share_of(load.caller)));
  }
  if (!thread_) thread_ = TRY(start_thread("loading adapters", [this] { run(); }));
  counts_.take(load.caller, 1);
  bytes_.take(load.caller, bytes);
  {
    const std::lock_guard lock(mutex_);
    waiting_[load.caller].push_back(std::move(load));
  }
  changed_.notify_one();
  return {};
}

bool AdapterLoader::turn() {
  bool any = false;
  while (true) {
    std::deque<Loaded> loaded;
    {
      const std::lock_guard lock(mutex_);
      loaded.swap(loaded_);
    }
    if (loaded.empty()) return any;
    any = true;
    for (Loaded& each : loaded) {
      counts_.give(each.caller, 1);
      bytes_.give(each.caller, each.bytes);
      each.then(std::move(each.adapter));
    }
  }
}

// ---- The thread.

// The tenant after the last one, by number.
AdapterLoad AdapterLoader::take_next() {
  const auto next = control::next_tenant(waiting_, last_);
  last_ = next->first;
  AdapterLoad load = std::move(next->second.front());
  next->second.pop_front();
  if (next->second.empty()) waiting_.erase(next);
  return load;
}

Result<control::AdapterDescription> AdapterLoader::load(AdapterLoad& load) {
  if (const auto* path = std::get_if<control::AdapterPath>(&load.files)) {
    return catalog_.add(load.owner, load.model, load.name, *path);
  }
  return catalog_.add(load.owner, load.model, load.name,
                      taken_apart(std::get<AdapterBytes>(std::move(load.files))));
}

void AdapterLoader::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (is_ending_) return;
    AdapterLoad next = take_next();
    lock.unlock();
    const std::uint64_t bytes = next.bytes();
    Result<control::AdapterDescription> adapter = load(next);
    lock.lock();
    loaded_.push_back({next.caller, bytes, std::move(next.then), std::move(adapter)});
    engine_.notify();
  }
}

}  // namespace quire::server
