#pragma once
// An adapter in PEFT's form: adapter_config.json and adapter_model.safetensors.
//
// Thread   any; no state.
// Errors   those of PeftConfig, SafetensorsFile and assemble(); Corrupted for a tensor that the
//          configuration does not name, and for a module that it names and that has no tensors;
//          NotSupported, by name, for tensors of what is not implemented.
#include <memory>
#include <string>
#include <string_view>

#include "inference/adapters/stored_pair.h"

namespace quire::inference {

inline constexpr const char* kPeftConfigName = "adapter_config.json";
inline constexpr const char* kPeftWeightsName = "adapter_model.safetensors";

// `config_name` is for messages.
Result<std::shared_ptr<const Adapter>> read_peft_adapter(const PairShape& shape,
                                                         std::string_view config,
                                                         const std::string& config_name,
                                                         std::shared_ptr<const ByteSource> weights,
                                                         const AdapterLimits& limits);

}  // namespace quire::inference
