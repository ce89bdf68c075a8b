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
    : catalog_(catalog),
      engine_(engine),
      counts_(options.count_max),
      bytes_(options.bytes_max),
      small_bytes_max_(options.small_bytes_max) {}

AdapterLoader::~AdapterLoader() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  for (Lane* lane : {&small_, &large_}) {
    lane->changed.notify_one();
    if (lane->thread) lane->thread->join();
  }
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
  // Only the thread of the small ones finds whether an adapter on the disk is large.
  const bool is_upload = std::holds_alternative<AdapterBytes>(load.files);
  Lane& lane = is_upload && bytes > small_bytes_max_ ? large_ : small_;
  TRY(start(lane));
  if (!is_upload) TRY(start(large_));
  counts_.take(load.caller, 1);
  bytes_.take(load.caller, bytes);
  put(std::move(load), lane);
  return {};
}

Result<void> AdapterLoader::start(Lane& lane) {
  if (!lane.thread) {
    lane.thread = TRY(start_thread("loading adapters", [this, &lane] { run(lane); }));
  }
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

void AdapterLoader::put(AdapterLoad load, Lane& lane) {
  {
    const std::lock_guard lock(mutex_);
    lane.waiting[load.caller].push_back(std::move(load));
  }
  lane.changed.notify_one();
}

// ---- The threads.

// The tenant after the last one, by number.
AdapterLoad AdapterLoader::take_next(Lane& lane) {
  const auto next = control::next_tenant(lane.waiting, lane.last);
  lane.last = next->first;
  AdapterLoad load = std::move(next->second.front());
  next->second.pop_front();
  if (next->second.empty()) lane.waiting.erase(next);
  return load;
}

// An adapter whose files cannot be opened is small: add() reports why.
bool AdapterLoader::is_large(const AdapterLoad& load) const {
  const auto* path = std::get_if<control::AdapterPath>(&load.files);
  if (path == nullptr) return load.bytes() > small_bytes_max_;
  const Result<std::uint64_t> bytes = catalog_.bytes_of(load.model, *path);
  return bytes.ok() && bytes.value() > small_bytes_max_;
}

Result<control::AdapterDescription> AdapterLoader::load(AdapterLoad& load) {
  if (const auto* path = std::get_if<control::AdapterPath>(&load.files)) {
    return catalog_.add(load.owner, load.model, load.name, *path);
  }
  return catalog_.add(load.owner, load.model, load.name,
                      taken_apart(std::get<AdapterBytes>(std::move(load.files))));
}

void AdapterLoader::work_on(AdapterLoad next, const Lane& lane) {
  if (&lane == &small_ && is_large(next)) {
    put(std::move(next), large_);
    return;
  }
  const std::uint64_t bytes = next.bytes();
  Result<control::AdapterDescription> adapter = load(next);
  const std::lock_guard lock(mutex_);
  loaded_.push_back({next.caller, bytes, std::move(next.then), std::move(adapter)});
  engine_.notify();
}

void AdapterLoader::run(Lane& lane) {
  while (true) {
    std::unique_lock lock(mutex_);
    lane.changed.wait(lock, [&] { return is_ending_ || !lane.waiting.empty(); });
    if (is_ending_) return;
    AdapterLoad next = take_next(lane);
    lock.unlock();
    work_on(std::move(next), lane);
  }
}

}  // namespace quire::server
