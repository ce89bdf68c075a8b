#pragma once
// For tests: a catalog whose add() waits until it is let go. It refuses an adapter named "bad", and
// takes one named "free" at once. The path of an adapter is its bytes.
#include <condition_variable>
#include <mutex>
#include <string>

#include "support/empty_catalog.h"

namespace quire {

class WaitingCatalog final : public EmptyCatalog {
 public:
  // Waits until an add() has begun.
  void await_first() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_begun_; });
  }
  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      may_go_ = true;
    }
    changed_.notify_all();
  }

  Result<std::uint64_t> bytes_of(control::ModelIndex,
                                 const control::AdapterPath& path) const override {
    return std::stoull(path.path);
  }
  Result<control::AdapterDescription> add(std::optional<control::TenantId>, control::ModelIndex,
                                          const std::string& name,
                                          const control::AdapterPath&) override {
    return wait_and_add(name);
  }
  Result<control::AdapterDescription> add(std::optional<control::TenantId>, control::ModelIndex,
                                          const std::string& name,
                                          control::AdapterUpload) override {
    return wait_and_add(name);
  }

 private:
  Result<control::AdapterDescription> wait_and_add(const std::string& name) {
    std::unique_lock lock(mutex_);
    has_begun_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return may_go_ || name == "free"; });
    if (name == "bad") return Error(ErrorCode::Corrupted, "it is bad");
    control::AdapterDescription added;
    added.name = name;
    return added;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_begun_ = false;
  bool may_go_ = false;
};

}  // namespace quire
