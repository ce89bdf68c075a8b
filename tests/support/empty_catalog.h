#pragma once
// For tests: an AdapterCatalog that has no adapters and takes none. A test's own catalog overrides
// what it is about.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/api/adapter_catalog.h"

namespace quire {

class EmptyCatalog : public control::AdapterCatalog {
 public:
  void set_several(bool) override {}
  bool is_open(control::ModelIndex) const override { return true; }
  Result<control::ChosenAdaptersRef> choose(
      control::TenantId, control::ModelIndex,
      const std::vector<control::AdapterChoice>&) const override {
    return Error(ErrorCode::NotFound, "it has none");
  }
  std::shared_ptr<const inference::Adapter> find(control::TenantId, control::ModelIndex,
                                                 const Digest&) const override {
    return nullptr;
  }
  std::vector<control::AdapterDescription> list(std::optional<control::TenantId>,
                                                control::ModelIndex) const override {
    return {};
  }
  Result<control::AdapterDescription> add(std::optional<control::TenantId>, control::ModelIndex,
                                          const std::string&,
                                          const control::AdapterPath&) override {
    return Error(ErrorCode::NotSupported, "it takes none");
  }
  Result<control::AdapterDescription> add(std::optional<control::TenantId>, control::ModelIndex,
                                          const std::string&, control::AdapterUpload) override {
    return Error(ErrorCode::NotSupported, "it takes none");
  }
  Result<std::uint64_t> bytes_of(control::ModelIndex, const control::AdapterPath&) const override {
    return Error(ErrorCode::NotFound, "it has none");
  }
  Result<void> check_room(std::optional<control::TenantId>, const std::string&,
                          std::uint64_t) override {
    return {};
  }
  Result<void> remove(std::optional<control::TenantId>, control::ModelIndex,
                      const std::string&) override {
    return Error(ErrorCode::NotFound, "it has none");
  }
  control::AdapterCount count() const override { return {}; }
  control::AdapterCount count_of(control::TenantId) const override { return {}; }
  control::AdapterQuota quota_of(control::TenantId) const override { return {}; }
};

}  // namespace quire
