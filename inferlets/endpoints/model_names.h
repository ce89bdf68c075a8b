#pragma once
// The names under which a request may ask for a model: those of the models, and of their adapters.
//
// Errors   those of the calls. unknown_model() is the error of a request that names none of them.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "left_out.h"
#include "quire/quire.h"

namespace endpoints {

using namespace quire;

// The names of a model's adapters: "NAME", or "BASE:NAME" where an earlier model has one of that
// name, or is called so.
inline Result<std::vector<std::string>> adapter_names(const Model& model, const std::string& base,
                                                      std::vector<std::string>& taken) {
  Result<std::vector<std::string>> found = model.adapters();
  if (!found.ok() && found.error().code == ErrorCode::NotSupported) {
    return std::vector<std::string>();
  }
  std::vector<std::string> names = TRY(std::move(found));
  for (std::string& each : names) {
    if (std::ranges::find(taken, each) != taken.end()) each = base + ":" + each;
    taken.push_back(each);
  }
  return names;
}

// A model or an adapter of one, under the name by which a request asks for it.
struct ServedModel {
  std::string name;
  std::string base;  // Of an adapter, the model that it changes.
  Model model;       // The model, or the base.
};

// All models, then all adapters.
inline Result<std::vector<ServedModel>> served_models() {
  std::vector<std::string> taken = TRY(Model::available());
  std::vector<ServedModel> all;
  for (const std::string& each : taken) all.push_back({each, "", TRY(Model::open(each))});
  const std::size_t model_count = all.size();
  for (std::size_t i = 0; i < model_count; ++i) {
    const ServedModel base = all[i];
    for (std::string& each : TRY(adapter_names(base.model, base.name, taken))) {
      all.push_back({std::move(each), base.name, base.model});
    }
  }
  return all;
}

// Names in a message, of which there may be hundreds.
inline std::string listed_names(const std::vector<std::string>& names) {
  constexpr std::size_t kCountMax = 32;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kCountMax); ++i) {
    text += (text.empty() ? "" : ", ") + names[i];
  }
  if (names.size() > kCountMax) {
    text += " and " + std::to_string(names.size() - kCountMax) + " more (GET /v1/models)";
  }
  return text;
}

// That `name` is none of them, with the one that may be meant.
inline Result<Error> unknown_model(const std::string& name) {
  std::vector<std::string> all;
  std::vector<std::string> models;
  std::vector<std::string> adapters;
  for (const ServedModel& each : TRY(served_models())) {
    all.push_back(each.name);
    (each.base.empty() ? models : adapters).push_back(each.name);
  }
  std::string text = "there is no model " + json_string(name);
  if (const std::string_view meant = meant_by(name, all); !meant.empty()) {
    text += "; did you mean " + json_string(meant) + "?";
  }
  text += text.ends_with('?') ? " This" : "; this";
  text += " server has " + listed_names(models);
  if (!adapters.empty()) text += ", and as adapters " + listed_names(adapters);
  return Error{ErrorCode::NotFound, "model: " + text};
}

}  // namespace endpoints
