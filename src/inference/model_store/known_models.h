#pragma once
// The short list: models that `quire model add NAME` fetches, with the digest that their bytes must have.
//
// The digests are part of this program, so a hub or a mirror can refuse a model and not replace it.
//
// Thread   any; constants.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "inference/model_store/hub_choice.h"
#include "inference/model_store/model_reference.h"

namespace quire::inference {

struct KnownModel {
  std::string_view name;
  std::string_view repository;
  std::string_view revision;  // A commit.
  std::string_view file;
  std::uint64_t bytes = 0;
  std::string_view sha256;
  std::string_view license;  // As SPDX names it.
  std::string_view note;     // What it is good for.

  ModelReference reference() const;
  ChosenModel choice() const;
};

// The default model first.
std::span<const KnownModel> known_models();
// Null if no model has this name.
const KnownModel* find_known_model(std::string_view name);
std::string known_model_names();  // With commas.

}  // namespace quire::inference
