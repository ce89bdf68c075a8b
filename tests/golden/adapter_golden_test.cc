// The reference answers of adapters (adapters/manifest.json, made by make_adapter_goldens.py with
// PEFT): every case in both forms of its adapters, and what is refused. Adapters of the output
// matrix are not supported: they must be refused by that name, and their cases are left out.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "inference/adapters/make_adapter_reader.h"
#include "inference/kernels/kernels.h"
#include "support/backend_driver.h"
#include "support/golden.h"

namespace quire::test::adapter_golden_test {
namespace {

using inference::AdapterSet;
using inference::AdapterUse;
using inference::Batch;
using inference::Completion;
using AdapterPointer = std::shared_ptr<const inference::Adapter>;

constexpr const char* kOutputMatrix = "LoRA of the output matrix";

Json manifest() {
  const std::string path = golden_path("adapters/manifest.json");
  auto text = read_file(path, std::uint64_t{16} << 20);
  if (!text.ok()) {
    ADD_FAILURE() << text.error().message();
    return Json::object();
  }
  return parse_json(text.value(), path).take();
}

const Json& named(const Json& list, const std::string& name) {
  return *std::ranges::find_if(list, [&](const Json& each) { return each["name"] == name; });
}

// Null for an adapter of the output matrix; anything else must be read.
AdapterPointer read_adapter(const Json& all, const std::string& name, const char* form) {
  const Json& entry = named(all["adapters"], name);
  if (entry[form].is_null()) form = "peft";
  const Json& base = named(all["bases"], entry["base"].get<std::string>());
  const auto files = inference::open_model(golden_path(base["path"].get<std::string>())).take();
  auto read = inference::make_adapter_reader(files->spec())
                  ->read({.path = golden_path(entry[form].get<std::string>())}, {});
  if (read.ok()) return std::move(read).take();
  EXPECT_NE(read.error().message().find(kOutputMatrix), std::string::npos)
      << read.error().message();
  return nullptr;
}

// Nothing where one of the adapters cannot be used.
std::optional<AdapterSet> set_of(const Json& all, const Json& uses, const char* form) {
  std::vector<AdapterUse> set;
  for (const Json& use : uses) {
    AdapterPointer adapter = read_adapter(all, use["name"].get<std::string>(), form);
    if (adapter == nullptr) return std::nullopt;
    set.push_back({std::move(adapter), use["scale"].get<float>()});
  }
  if (set.empty()) return AdapterSet();
  std::ranges::sort(set, {}, [](const AdapterUse& use) { return use.adapter->digest(); });
  return AdapterSet(std::make_shared<const std::vector<AdapterUse>>(std::move(set)));
}

struct Answers {
  std::map<std::uint32_t, std::vector<float>> of_row;
};

// Each segment is a batch of its own.
std::optional<Answers> compute(Device& device, const Json& all, const Json& entry,
                               const char* form) {
  Answers answers;
  const Json& base = named(all["bases"], entry["base"].get<std::string>());
  const auto ids = base["tokens"].get<std::vector<std::int32_t>>();
  for (const Json& segment : entry["segments"]) {
    const auto set = set_of(all, segment["adapters"], form);
    if (!set) return std::nullopt;
    Batch batch;
    const auto begin = segment["begin"].get<std::uint32_t>();
    const auto end = segment["end"].get<std::uint32_t>();
    add_pass(batch, {}, ids, {begin, end}, {begin, end});
    if (*set != nullptr) {
      batch.adapter_sets.push_back(*set);
      for (inference::Row& row : batch.rows) row.adapters = 0;
    }
    Completion completion = device.run(std::move(batch));
    for (std::uint32_t row = begin; row < end; ++row) {
      answers.of_row[row] = logits_of(completion, row - begin);
    }
  }
  return answers;
}

void expect_answers(const Answers& answers, const Json& entry, const std::vector<float>& expected,
                    float tolerance, const std::string& what) {
  const auto rows = entry["rows"].get<std::vector<std::uint32_t>>();
  const std::size_t width = expected.size() / rows.size();
  float largest = 0.0f;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<float>& logits = answers.of_row.at(rows[i]);
    ASSERT_EQ(logits.size(), width) << what;
    for (std::size_t token = 0; token < width; ++token) {
      const float difference = std::abs(logits[token] - expected[i * width + token]);
      largest = std::max(largest, std::isnan(difference) ? INFINITY : difference);
    }
  }
  EXPECT_LE(largest, tolerance) << what;
}

class AdapterGolden : public testing::TestWithParam<std::string> {};

TEST_P(AdapterGolden, LogitsAreThoseOfPeftInBothForms) {
  const Json all = manifest();
  const auto arrays = read_npz(golden_path("adapters/expected.npz")).take();
  std::map<std::string, std::unique_ptr<Device>> devices;
  std::uint32_t case_count = 0;
  for (const Json& entry : all["cases"]) {
    const auto base = entry["base"].get<std::string>();
    std::unique_ptr<Device>& device = devices[base];
    if (device == nullptr) {
      inference::DeviceOptions options;
      options.name = GetParam();
      options.threads = 2;
      options.page_count = 8;
      options.kv_format = inference::KvFormat::F32;
      device =
          Device::open(golden_path(named(all["bases"], base)["path"].get<std::string>()), options);
    }
    for (const char* form : {"peft", "gguf"}) {
      const auto name = entry["name"].get<std::string>();
      const auto answers = compute(*device, all, entry, form);
      if (!answers) continue;
      expect_answers(*answers, entry, arrays.at("logits_" + name).values<float>().value(),
                     all["tolerance"].get<float>(), name + ", " + form);
      ++case_count;
    }
  }
  EXPECT_GE(case_count, 60u);
}

TEST(AdapterGoldenFiles, WhatIsNotImplementedIsRefusedByItsMember) {
  const Json all = manifest();
  for (const Json& entry : all["refused"]) {
    const Json& base = named(all["bases"], entry["base"].get<std::string>());
    const auto files = inference::open_model(golden_path(base["path"].get<std::string>())).take();
    const auto read = inference::make_adapter_reader(files->spec())
                          ->read({.path = golden_path(entry["peft"].get<std::string>())}, {});
    const auto member = entry["member"].get<std::string>();
    ASSERT_FALSE(read.ok()) << member;
    EXPECT_EQ(read.error().code(), ErrorCode::NotSupported) << read.error().message();
    EXPECT_NE(read.error().message().find(member), std::string::npos) << read.error().message();
  }
}

std::vector<std::string> golden_table_names() {
  std::vector<std::string> names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names.emplace_back(table->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tables, AdapterGolden, testing::ValuesIn(golden_table_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace quire::test::adapter_golden_test
