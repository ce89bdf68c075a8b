#pragma once
// Keys and members of models in which some layers attend with gates and the others are recurrent
// (a gated delta rule): keys of GGUF as llama.cpp reads them, members of config.json as
// transformers does.
//
// Errors   NotFound for a key that is missing, Corrupted for numbers that contradict each other,
//          NotSupported for what no layer of this build computes; each names the key.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {

// Turns the layers of `spec`, which all attend, into those of the file.
Result<void> read_gguf_hybrid(const GgufMetadata& metadata, ModelSpec& spec);

// The sizes of the model, and its layers.
Result<void> read_config_hybrid(const JsonObject& config, const ShapeDefaults& defaults,
                                ModelSpec& spec);

// The share of a head that RoPE turns in transformers if the file does not say it.
constexpr double kHybridPartialRotaryFactor = 0.25;
// Parts of published checkpoints that read images or draft tokens.
inline constexpr UnservedPart kHybridUnservedParts[] = {{"model.visual.", "vision tower"},
                                                        {"visual.", "vision tower"},
                                                        {"mtp.", kDraftBlock},
                                                        {"model.mtp.", kDraftBlock}};

}  // namespace quire::inference
