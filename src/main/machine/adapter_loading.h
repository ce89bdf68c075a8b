#pragma once
// The adapters of --adapter, read into the server's registry.
//
// Errors   InvalidArgument for a model that is not served; what reading gives, with the option.
#include <memory>
#include <string>
#include <vector>

#include "cli/adapter_option.h"
#include "control/adapters/adapter_registry.h"

namespace quire {

// `models` are in the order in which they are served.
Result<std::unique_ptr<control::AdapterRegistry>> load_adapters(
    std::vector<control::AdapterModel> models, const std::vector<cli::AdapterOption>& options);

// All adapters of the options that are of the first model, together; null: there are none. It is
// for verbs that generate text themselves: a server may have more adapters than can act together.
Result<control::ChosenAdaptersRef> choose_adapters(const control::AdapterRegistry& registry,
                                                   const std::vector<cli::AdapterOption>& options,
                                                   const std::string& first_model);

}  // namespace quire
