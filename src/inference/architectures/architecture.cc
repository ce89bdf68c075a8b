#include "inference/architectures/architecture.h"

#include <algorithm>

namespace quire::inference {
namespace {

constexpr const Architecture* kArchitectures[] = {
    &kLlama, &kQwen2, &kQwen3, &kQwen2Moe, &kQwen3Moe, &kQwen35, &kQwen35Moe, &kOlmo2, &kSmolLm3};
constexpr const ConfigType* kConfigTypes[] = {
    &kLlamaConfig,     &kMistralConfig,       &kQwen2Config,  &kQwen3Config,
    &kQwen2MoeConfig,  &kQwen3MoeConfig,      &kQwen35Config, &kQwen35TextConfig,
    &kQwen35MoeConfig, &kQwen35MoeTextConfig, &kOlmo2Config,  &kSmolLm3Config};

// "a, b and c"
template <typename T>
std::string listed(std::span<const T* const> all, std::string_view T::* name) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += i == 0 ? "" : i + 1 == all.size() ? " and " : ", ";
    text += all[i]->*name;
  }
  return text;
}

template <typename T>
const T* find(std::span<const T* const> all, std::string_view T::* name, std::string_view wanted) {
  const auto found =
      std::ranges::find_if(all, [&](const T* each) { return each->*name == wanted; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace

std::span<const Architecture* const> architectures() {
  return kArchitectures;
}
const Architecture* find_architecture(std::string_view name) {
  return find(architectures(), &Architecture::name, name);
}
std::string_view unserved_part(const Architecture& architecture, std::string_view tensor_name) {
  for (const UnservedPart& part : architecture.unserved) {
    if (tensor_name.starts_with(part.prefix)) return part.name;
  }
  return {};
}
std::span<const ConfigType* const> config_types() {
  return kConfigTypes;
}
const ConfigType* find_config_type(std::string_view model_type) {
  return find(config_types(), &ConfigType::model_type, model_type);
}
std::string architecture_names() {
  return listed(architectures(), &Architecture::name);
}
std::string config_type_names() {
  return listed(config_types(), &ConfigType::model_type);
}
std::string config_class_names() {
  return listed(config_types(), &ConfigType::class_name);
}

}  // namespace quire::inference
