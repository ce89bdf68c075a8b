#include "inference/model_store/known_models.h"

#include <algorithm>
#include <array>

namespace quire::inference {
namespace {

constexpr KnownModel kKnownModels[] = {
#define QUIRE_KNOWN_MODEL(name, repository, revision, file, bytes, sha256, license, note) \
  {name, repository, revision, file, bytes, sha256, license, note},
#include "inference/model_store/known_models.inc"
#undef QUIRE_KNOWN_MODEL
};

}  // namespace

ModelReference KnownModel::reference() const {
  return {.repository = std::string(repository),
          .revision = std::string(revision),
          .file = std::string(file)};
}

ChosenModel KnownModel::choice() const {
  ChosenModel chosen;
  chosen.name = name;
  chosen.files = {{.path = std::string(file), .bytes = bytes, .sha256 = std::string(sha256)}};
  return chosen;
}

std::span<const KnownModel> known_models() {
  return kKnownModels;
}

const KnownModel* find_known_model(std::string_view name) {
  const auto found = std::ranges::find(kKnownModels, name, &KnownModel::name);
  return found == std::end(kKnownModels) ? nullptr : &*found;
}

std::string known_model_names() {
  std::string names;
  for (const KnownModel& each : kKnownModels) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  return names;
}

}  // namespace quire::inference
