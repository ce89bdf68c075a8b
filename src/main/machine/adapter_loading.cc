#include "main/machine/adapter_loading.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace quire {
namespace {

// No programs of tenants run under it: the server's adapters alone are meant.
constexpr control::TenantId kNobody{0};

Result<control::ModelIndex> index_of(const std::vector<control::AdapterModel>& models,
                                     const cli::AdapterOption& option) {
  if (option.model.empty()) return control::ModelIndex{0};
  std::string names;
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (models[index].name == option.model) {
      return control::ModelIndex{static_cast<std::uint32_t>(index)};
    }
    names += (names.empty() ? "" : ", ") + models[index].name;
  }
  return Error(ErrorCode::InvalidArgument, "--adapter " + option.model + ":" + option.name +
                                               ": no model is named " + in_quotes(option.model) +
                                               "; there are: " + names);
}

}  // namespace

Result<std::unique_ptr<control::AdapterRegistry>> load_adapters(
    std::vector<control::AdapterModel> models, const std::vector<cli::AdapterOption>& options) {
  auto registry =
      std::make_unique<control::AdapterRegistry>(models, control::AdapterRegistryOptions{});
  for (const cli::AdapterOption& option : options) {
    const control::ModelIndex model = TRY(index_of(models, option));
    const Result<control::AdapterDescription> added =
        registry->add(std::nullopt, model, option.name, control::AdapterPath{option.path, ""});
    if (added.ok()) continue;
    return Error(added.error().code(), "--adapter " + option.name + "=" + option.path + ": " +
                                           std::string(added.error().message()));
  }
  return registry;
}

Result<control::ChosenAdaptersRef> choose_adapters(const control::AdapterRegistry& registry,
                                                   const std::vector<cli::AdapterOption>& options,
                                                   const std::string& first_model) {
  std::vector<control::AdapterChoice> choices;
  for (const cli::AdapterOption& option : options) {
    if (!option.model.empty() && option.model != first_model) continue;
    choices.push_back({option.name, option.scale.value_or(1.0f)});
  }
  if (choices.empty()) return control::ChosenAdaptersRef{};
  return registry.choose(kNobody, control::ModelIndex{0}, choices);
}

}  // namespace quire
