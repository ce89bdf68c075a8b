#pragma once
// make_adapter_reader makes the AdapterReader of a model; api/adapter_reader.h says what it does.
#include <memory>

#include "inference/api/adapter_reader.h"
#include "inference/weights/model_spec.h"

namespace quire::inference {

// Keeps nothing of `spec`, such as ModelFiles::spec(), but its shape.
std::unique_ptr<AdapterReader> make_adapter_reader(const ModelSpec& spec);

}  // namespace quire::inference
