// Any bytes as an adapter_config.json: an error, or a configuration that answers for every module.
// Then the same bytes as an expression for names of modules.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "inference/adapters/peft_config.h"

using quire::Result;
using namespace quire::inference;

namespace {

constexpr const char* kModules[] = {"model.layers.0.self_attn.q_proj",
                                    "layers.11.mlp.down_proj",
                                    "model.layers.1.self_attn.qkv_proj",
                                    "",
                                    "...",
                                    "0.1.2."};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string text(reinterpret_cast<const char*>(data), bytes);
  const Result<PeftConfig> config = PeftConfig::parse(text, "fuzz");
  QUIRE_CHECK(config.ok() || !config.error().message().empty(), "an error says what is wrong");
  const Result<ModulePattern> pattern = ModulePattern::parse(text, "fuzz");
  QUIRE_CHECK(pattern.ok() || !pattern.error().message().empty(), "an error says what is wrong");
  for (const char* module : kModules) {
    if (config.ok()) {
      (void)config.value().targets(module);
      (void)config.value().rank_of(module);
      (void)config.value().scale_of(module);
    }
    if (!pattern.ok()) continue;
    const bool is_end = pattern.value().matches_end(module);
    QUIRE_CHECK(is_end || !pattern.value().matches(module), "a whole name is an end of it");
  }
  return 0;
}
