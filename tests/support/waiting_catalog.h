#pragma once
// For tests: an AdapterCatalog whose add() waits until it is let go. It has no adapters, and
// refuses one named "bad".
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "control/api/adapter_catalog.h"

namespace quire {

class WaitingCatalog final : public control::AdapterCatalog {
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

  void set_several(bool) override {}
  bool is_open(control::ModelIndex) const override { return true; }
  Result<control::AdapterSetRef> choose(control::TenantId, control::ModelIndex,
                                        const std::vector<control::AdapterChoice>&) const override {
    return Error(ErrorCode::NotFound, "it has none");
  }
  std::vector<control::AdapterDescription> list(std::optional<control::TenantId>,
                                                control::ModelIndex) const override {
    return {};
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
  Result<void> check_room(std::optional<control::TenantId>, const std::string&,
                          std::uint64_t) override {
    return {};
  }
  Result<void> remove(std::optional<control::TenantId>, control::ModelIndex,
                      const std::string&) override {
    return Error(ErrorCode::NotFound, "it has none");
  }
  control::AdapterUse use() const override { return {}; }
  control::AdapterUse use_of(control::TenantId) const override { return {}; }
  control::AdapterQuota quota_of(control::TenantId) const override { return {}; }

 private:
  Result<control::AdapterDescription> wait_and_add(const std::string& name) {
    std::unique_lock lock(mutex_);
    has_begun_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return may_go_; });
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
