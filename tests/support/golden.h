#pragma once
// The reference answers of the tiny models (tests/golden), as tests want them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/golden_files.h"
#include "support/npz.h"

namespace quire::test {

// One mask over the 64 tokens of expected.npz and the logits it gives.
struct GoldenMask {
  std::string name;                     // "causal", "modules", ...
  std::vector<std::uint8_t> visible;    // [64][64], row = query
  std::vector<std::int32_t> positions;  // [64]
  std::vector<float> logits;            // [64][vocabulary]
};

struct Golden {
  std::vector<std::int32_t> ids;
  std::vector<GoldenMask> masks;  // "causal" first.
};

// The rows of other masks that equal the causal ones bit for bit are stored once: there,
// rows_NAME says which rows logits_NAME holds.
inline Golden read_golden(const std::string& model) {
  Golden golden;
  Result<NpzArrays> read = read_npz(golden_path(model + "/expected.npz"));
  if (!read.ok()) {
    ADD_FAILURE() << read.error().message();
    return golden;
  }
  const NpzArrays& arrays = read.value();
  golden.ids = arrays.at("ids").values<std::int32_t>().value();
  const std::vector<float> causal = arrays.at("logits_causal").values<float>().value();
  const std::size_t width = causal.size() / golden.ids.size();
  for (const char* name : {"causal", "sink4_window16", "window16", "drop_16_32", "modules"}) {
    const auto named = [&](const char* what) -> const NpyArray& {
      return arrays.at(std::string(what) + "_" + name);
    };
    GoldenMask mask{name, named("mask").values<std::uint8_t>().value(),
                    named("positions").values<std::int32_t>().value(), causal};
    if (golden.masks.empty()) {
      golden.masks.push_back(std::move(mask));
      continue;
    }
    const std::vector<float> own = named("logits").values<float>().value();
    const std::vector<std::int32_t> rows = named("rows").values<std::int32_t>().value();
    for (std::size_t index = 0; index < rows.size(); ++index) {
      std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(index * width), width,
                  mask.logits.begin() + static_cast<std::ptrdiff_t>(rows[index] * width));
    }
    golden.masks.push_back(std::move(mask));
  }
  return golden;
}

}  // namespace quire::test
