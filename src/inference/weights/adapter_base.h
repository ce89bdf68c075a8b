#pragma once
// The shape of a model as adapters see it.
#include "inference/api/adapter.h"
#include "inference/weights/model_spec.h"

namespace quire::inference {

AdapterBase adapter_base(const ModelSpec& spec);

}  // namespace quire::inference
