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
  const std::vector<std::string> models = TRY(Model::available());
  std::vector<std::string> all = models;
  std::vector<std::string> adapters;
  for (const std::string& each : models) {
    const Model model = TRY(Model::open(each));
    for (std::string& adapter : TRY(adapter_names(model, each, all))) {
      adapters.push_back(std::move(adapter));
    }
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
