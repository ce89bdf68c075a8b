#pragma once
// Fetching a model while the user looks on: the plan, the progress, and the question of `quire chat`.
//
// Thread   the main thread.
// Errors   those of ModelStore::add().
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "inference/model_store/model_store.h"

namespace quire {

// Adds `source` to the store, and reports on standard error how far it is.
Result<inference::StoredModel> add_model(const inference::ModelStore& store,
                                         const std::string& source, const std::string& name,
                                         const Clock& clock);

// If the model that `model` names (empty: the default one) is not here, and `quire model add` knows it by
// name, and a person sits at the terminal: asks once whether to fetch it, and does. The next search
// for the model finds it, or its error states how to get it.
Result<void> offer_model(const std::string& model, const Clock& clock);

}  // namespace quire
