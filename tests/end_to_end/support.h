#pragma once
// Common parts of the tests of the whole program: the default model or a reason to skip, its
// reference answers, and arrays written for `quire eval`.
#include <gtest/gtest.h>
#include <quire_paths.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/npy.h"
#include "support/default_model.h"
#include "support/golden.h"
#include "support/process.h"

namespace quire::test {

inline const std::string kTiny = golden_path("tiny_llama");

inline std::string inferlet(const std::string& name) {
  return std::string(QUIRE_BINARY_DIR "/inferlets/") + name + ".wasm";
}

inline nlohmann::json read_json(const std::string& path) {
  Result<std::string> text = read_file(path, 64u << 20);
  if (!text.ok()) {
    ADD_FAILURE() << text.error().message();
    return {};
  }
  return nlohmann::json::parse(text.value(), nullptr, false);
}

// The one JSON object that a command printed.
inline nlohmann::json output_json(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << result.out << result.err;
  return json;
}

struct GoldenPrompt {
  std::string prompt;
  std::vector<std::uint32_t> prompt_ids;
  std::vector<std::uint32_t> ids;
  std::vector<double> gaps;
};

inline std::vector<GoldenPrompt> golden_prompts() {
  std::vector<GoldenPrompt> prompts;
  const nlohmann::json json = read_json(golden_path("smollm2.json"));
  for (const nlohmann::json& each : json["prompts"]) {
    GoldenPrompt prompt{each["prompt"], each["ids"], {}, {}};
    for (const nlohmann::json& step : each["greedy"]) {
      prompt.ids.push_back(step["id"]);
      prompt.gaps.push_back(step["gap"]);
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

// Equal up to the first step whose gap to the runner-up is under `gap_min`: there, rounding
// decides.
inline void expect_ids(const GoldenPrompt& golden, const std::vector<std::uint32_t>& ids,
                       double gap_min) {
  for (std::size_t step = 0; step < golden.ids.size() && step < ids.size(); ++step) {
    if (golden.gaps[step] < gap_min) return;
    ASSERT_EQ(ids[step], golden.ids[step]) << golden.prompt << ", step " << step;
  }
}

// A .npy file of numbers as numpy writes them; `descr` as "|b1", "<i4".
template <typename T>
std::string npy_bytes(const char* descr, const std::vector<std::size_t>& shape,
                      const std::vector<T>& numbers) {
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::size_t each : shape) header += std::to_string(each) + ",";
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const std::size_t at = bytes.size();
  bytes.resize(at + numbers.size() * sizeof(T));
  std::memcpy(bytes.data() + at, numbers.data(), numbers.size() * sizeof(T));
  return bytes;
}

// Skips with the reason where the default model is not there.
#define QUIRE_NEEDS_DEFAULT_MODEL()                                            \
  const std::string default_model = quire::test::default_model_path();         \
  if (default_model.empty()) {                                                 \
    GTEST_SKIP() << "the default model is not there: `make model` fetches it"; \
  }                                                                            \
  static_assert(true)

}  // namespace quire::test
