#include "application/server/adapter_desk.h"

#include <algorithm>
#include <utility>

#include "application/server/caller_gate.h"
#include "base/utf8.h"

namespace quire::server {
namespace {

using control::AdapterDescription;
using service::Principal;
using service::Right;

// The tenant whose adapters the caller adds and removes. None: the server's are meant.
std::optional<control::TenantId> owner_of(const Principal& caller) {
  if (service::may(caller, Right::Operate)) return std::nullopt;
  return caller.tenant;
}

std::string beginning_of(const std::string& text, std::size_t bytes_max) {
  return text.substr(0, utf8_valid_bytes(std::string_view(text).substr(0, bytes_max)));
}

Error none_taken() {
  return Error(ErrorCode::NotSupported, "no model of this server takes adapters");
}

}  // namespace

AdapterDesk::AdapterDesk(const GatewayParts& parts, const ServiceLimits& limits) : parts_(parts) {
  if (parts.adapters.catalog == nullptr) return;
  loader_.emplace(*parts.adapters.catalog, parts.link.engine_wakeup,
                  AdapterLoaderOptions{.count_max = limits.loading_adapter_count_max,
                                       .bytes_max = limits.loading_adapter_bytes_max});
}

Result<AdapterDesk::Place> AdapterDesk::find_place(const std::string& name) const {
  if (parts_.adapters.catalog == nullptr) return none_taken();
  const std::vector<control::ModelDescription>& models = parts_.control.models();
  const control::CalledAdapter called = control::called_adapter(name);
  std::string known;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const control::ModelIndex model{static_cast<std::uint32_t>(index)};
    const bool is_meant = called.model ? models[index].name == *called.model
                                       : parts_.adapters.catalog->is_open(model);
    if (is_meant) return Place{model, called.name};
    known += (known.empty() ? "" : ", ") + models[index].name;
  }
  if (!called.model) return none_taken();
  return Error(ErrorCode::NotFound,
               "no model is named " + in_quotes(*called.model) + "; there are: " + known);
}

// The place of an adapter that is there: without a model's name, the first model that has it.
Result<AdapterDesk::Place> AdapterDesk::find_own(const Principal& caller,
                                                 const std::string& name) const {
  if (parts_.adapters.catalog != nullptr && !control::called_adapter(name).model) {
    for (std::size_t index = 0; index < parts_.control.models().size(); ++index) {
      const control::ModelIndex model{static_cast<std::uint32_t>(index)};
      if (!parts_.adapters.catalog->is_open(model)) continue;
      for (const AdapterDescription& each :
           parts_.adapters.catalog->list(owner_of(caller), model)) {
        if (each.name == name && each.tenant == owner_of(caller)) return Place{model, name};
      }
    }
  }
  return find_place(name);
}

Result<void> AdapterDesk::begin(const Principal& caller, const std::string& name,
                                std::variant<control::AdapterPath, AdapterBytes> files, Then then) {
  if (const auto denied = denied_to(caller, Right::LoadAdapters)) return denied->copy();
  Place place = TRY(find_place(name));
  TRY(control::check_adapter_name(place.name));
  if (!takes_loads_) return Error(ErrorCode::Unavailable, "the server is shutting down");
  AdapterLoad load;
  load.caller = caller.tenant;
  load.owner = owner_of(caller);
  load.model = place.model;
  load.name = std::move(place.name);
  load.files = std::move(files);
  load.then = [this, caller, then = std::move(then)](Result<AdapterDescription> loaded) {
    if (!loaded.ok()) {
      ++refused_count_;
      then(std::move(loaded).take_error());
      return;
    }
    ++loaded_count_;
    tell("adapter_loaded", "loaded", loaded.value(), caller);
    then(status_of(caller, loaded.value()));
  };
  return loader_->add(std::move(load));
}

Result<void> AdapterDesk::add(const Principal& caller, const std::string& name,
                              const std::string& path, Then then) {
  if (parts_.adapters.folder.empty() && service::may(caller, Right::LoadAdapters)) {
    ++refused_count_;
    return Error(ErrorCode::NotSupported,
                 "the server was started without --adapters FOLDER, so it reads no adapter of its "
                 "disk for a client; upload the files");
  }
  Result<void> begun =
      begin(caller, name, control::AdapterPath{path, parts_.adapters.folder}, std::move(then));
  if (!begun.ok()) ++refused_count_;
  return begun;
}

std::optional<std::uint64_t> AdapterDesk::retry_after_ms(const Error& failed) {
  constexpr std::uint64_t kLoadMs = 1'000;
  return failed.code() == ErrorCode::Unavailable ? std::optional(kLoadMs) : std::nullopt;
}

Result<void> AdapterDesk::add(const Principal& caller, const std::string& name, AdapterBytes files,
                              Then then) {
  Result<void> begun = begin(caller, name, std::move(files), std::move(then));
  if (!begun.ok()) ++refused_count_;
  return begun;
}

Result<void> AdapterDesk::remove(const Principal& caller, const std::string& name) {
  if (const auto denied = denied_to(caller, Right::LoadAdapters)) return denied->copy();
  const Place place = TRY(find_own(caller, name));
  TRY(control::check_adapter_name(place.name));
  TRY(parts_.adapters.catalog->remove(owner_of(caller), place.model, place.name));
  ++removed_count_;
  AdapterDescription removed;
  removed.name = place.name;
  removed.tenant = owner_of(caller);
  removed.model = place.model;
  tell("adapter_removed", "removed", removed, caller);
  return {};
}

service::AdapterStatus AdapterDesk::status_of(const Principal& caller,
                                              const AdapterDescription& adapter) const {
  const bool is_own = adapter.tenant.has_value();
  // A tenant must not learn where the server's adapters lie, nor whether another tenant uses them.
  const bool may_know = is_own || service::may(caller, Right::Operate);
  service::AdapterStatus status;
  status.name = adapter.name;
  status.model = parts_.control.models().at(static_cast<std::size_t>(adapter.model)).name;
  status.digest = adapter.digest;
  status.rank_max = adapter.rank_max;
  status.parameter_count = adapter.parameter_count;
  status.bytes = adapter.bytes;
  if (may_know) status.source = beginning_of(adapter.source, wire::kAdapterPathBytesMax);
  status.is_own = is_own;
  status.is_in_use = may_know && adapter.is_in_use;
  return status;
}

Result<std::vector<service::AdapterStatus>> AdapterDesk::list(const Principal& caller) const {
  if (!service::may(caller, Right::Launch)) {
    if (const auto denied = denied_to(caller, Right::LoadAdapters)) return denied->copy();
  }
  std::vector<service::AdapterStatus> all;
  if (parts_.adapters.catalog == nullptr) return all;
  for (std::size_t index = 0; index < parts_.control.models().size(); ++index) {
    const control::ModelIndex model{static_cast<std::uint32_t>(index)};
    if (!parts_.adapters.catalog->is_open(model)) continue;
    for (const AdapterDescription& each : parts_.adapters.catalog->list(owner_of(caller), model)) {
      all.push_back(status_of(caller, each));
    }
  }
  return all;
}

void AdapterDesk::tell(const char* event, const std::string& how, const AdapterDescription& adapter,
                       const Principal& caller) {
  const std::string& model =
      parts_.control.models().at(static_cast<std::size_t>(adapter.model)).name;
  const std::string owner =
      adapter.tenant ? "tenant " + std::to_string(static_cast<std::uint32_t>(*adapter.tenant))
                     : "all tenants";
  LogFields fields = {{"adapter", adapter.name}, {"model", model}};
  if (adapter.tenant) {
    fields.emplace_back("tenant", std::uint64_t{static_cast<std::uint32_t>(*adapter.tenant)});
  }
  if (adapter.bytes > 0) {
    fields.emplace_back("digest", "sha256:" + hex(adapter.digest));
    fields.emplace_back("bytes", adapter.bytes);
  }
  add_key_name(fields, caller.key_name);
  parts_.tell({event, Severity::Info,
               "adapter " + adapter.name + " of " + model + " " + how + " for " + owner,
               std::move(fields)});
}

bool AdapterDesk::turn(bool are_several) {
  if (!loader_) return false;
  if (std::exchange(are_several_, are_several) != are_several) {
    loader_->set_several(are_several);
    parts_.adapters.catalog->set_several(are_several);
  }
  return loader_->turn();
}

AdapterFigures AdapterDesk::figures() const {
  AdapterFigures figures{loaded_count_, refused_count_, removed_count_, {}};
  if (parts_.adapters.catalog != nullptr) figures.use = parts_.adapters.catalog->count();
  return figures;
}

}  // namespace quire::server
