// Tests of the numbers that adapters compute on the CPU, per kernel table. The logits are near
// those of a base whose weights were merged with the adapters in F32. The bits depend on a row's
// own history only.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "inference/adapters/make_adapter_reader.h"
#include "inference/kernels/kernels.h"
#include "inference/weights/adapter_base.h"
#include "inference/weights/safetensors_file.h"
#include "support/adapter_builder.h"
#include "support/backend_driver.h"
#include "support/golden.h"
#include "support/tiny_gguf.h"

namespace quire::test::adapters_test {
namespace {

namespace fs = std::filesystem;
using inference::Adapter;
using inference::AdapterSet;
using inference::AdapterUse;
using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::KvFormat;
using inference::NumberFormat;
using inference::Projection;
using AdapterPointer = std::shared_ptr<const Adapter>;

constexpr std::uint32_t kPages = 256;

inference::ModelSpec spec_of(const std::string& model) {
  return inference::open_model(golden_path(model)).value()->spec();
}

std::vector<std::int32_t> some_ids(std::uint32_t count, std::uint32_t seed = 3) {
  std::vector<std::int32_t> ids;
  for (std::uint32_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int32_t>(3 + (i * 37 + seed * 11) % 250));
  }
  return ids;
}

// An adapter as this test knows it: its numbers, and the scale of each pair.
struct Known {
  std::vector<LowRankPair> pairs;
  std::vector<double> scales;
  AdapterPointer adapter;
};

AdapterPointer read_files(const inference::ModelSpec& spec,
                          std::vector<inference::AdapterFile> files) {
  auto read = inference::make_adapter_reader(spec)->read(std::move(files), {});
  if (!read.ok()) ADD_FAILURE() << read.error().message();
  return read.ok() ? std::move(read).take() : nullptr;
}

AdapterPointer read_peft(const inference::ModelSpec& spec, const std::string& config,
                         const std::vector<LowRankPair>& pairs,
                         NumberFormat format = NumberFormat::F32) {
  std::vector<inference::AdapterFile> files;
  files.push_back({"adapter_config.json", to_bytes(config)});
  files.push_back(
      {"adapter_model.safetensors", to_bytes(safetensors_of(peft_tensors(pairs, format)))});
  return read_files(spec, std::move(files));
}

Known random_adapter(const inference::ModelSpec& spec, std::uint32_t seed, std::uint32_t rank,
                     double alpha, NumberFormat format = NumberFormat::F32) {
  Known known;
  known.pairs = random_pairs(seed, inference::adapter_base(spec), rank);
  known.scales.assign(known.pairs.size(), alpha / rank);
  known.adapter = read_peft(spec, peft_config(rank, alpha), known.pairs, format);
  return known;
}

// Ranks and alphas by patterns, rsLoRA, and only some modules.
Known patterned_adapter(const inference::ModelSpec& spec, std::uint32_t seed) {
  Known known;
  std::mt19937 random(seed);
  const auto base = inference::adapter_base(spec);
  for (std::uint32_t layer = 0; layer < spec.layer_count(); ++layer) {
    for (const Projection projection : {Projection::Query, Projection::Value, Projection::Down}) {
      const std::uint32_t rank = projection == Projection::Down ? 3 : layer == 0 ? 2 : 8;
      const double alpha = projection == Projection::Value ? 1.0 : 2.0;
      known.pairs.push_back(random_pair(random, base, layer, projection, rank));
      known.scales.push_back(alpha / std::sqrt(rank));
    }
  }
  known.adapter = read_peft(
      spec, peft_config(8, 2, R"("use_rslora": true, "target_modules": ".*\\.(q|v|down)_proj",
                           "rank_pattern": {"mlp.down_proj": 3, "layers\\.0\\..*": 2},
                           "alpha_pattern": {"v_proj": 1})"),
      known.pairs);
  return known;
}

struct Merged {
  const Known* known;
  double scale;
};

// The folder of the model with W + s B A in place of each W, in F32.
class MergedModel {
 public:
  MergedModel(const std::string& model, const std::vector<Merged>& adapters) {
    static int count = 0;
    path_ = testing::TempDir() + "quire_merged_" + std::to_string(getpid()) + "_" +
            std::to_string(count++);
    fs::create_directories(path_);
    for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"}) {
      fs::copy_file(golden_path(model) + "/" + name, path_ + "/" + name);
    }
    const auto file = inference::SafetensorsFile::open_folder(golden_path(model)).take();
    std::vector<NamedTensor> tensors;
    for (const auto& tensor : file.tensors) {
      std::vector<float> numbers(tensor.bytes / sizeof(float));
      EXPECT_TRUE(
          tensor.source->read(tensor.offset, std::as_writable_bytes(std::span(numbers))).ok());
      for (const Merged& each : adapters) merge(each, tensor.name, numbers);
      tensors.push_back(
          {tensor.name, "F32", tensor.dimensions, number_bytes(NumberFormat::F32, numbers)});
    }
    std::ofstream(path_ + "/model.safetensors", std::ios::binary) << safetensors_of(tensors);
  }
  ~MergedModel() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  static void merge(const Merged& adapter, const std::string& name, std::vector<float>& numbers) {
    for (std::size_t p = 0; p < adapter.known->pairs.size(); ++p) {
      const LowRankPair& pair = adapter.known->pairs[p];
      if (name != peft_module(pair.layer, pair.projection) + ".weight") continue;
      const std::size_t columns = pair.a.size() / pair.rank, rows = pair.b.size() / pair.rank;
      const double scale = adapter.known->scales[p] * adapter.scale;
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
          double sum = 0.0;
          for (std::size_t r = 0; r < pair.rank; ++r) {
            sum += double{pair.b[row * pair.rank + r]} * pair.a[r * columns + column];
          }
          float& number = numbers[row * columns + column];
          number = static_cast<float>(number + scale * sum);
        }
      }
    }
  }
  std::string path_;
};

AdapterSet set_of(std::vector<AdapterUse> uses) {
  std::ranges::sort(uses, {}, [](const AdapterUse& use) { return use.adapter->digest(); });
  return std::make_shared<const std::vector<AdapterUse>>(std::move(uses));
}

// The tokens of one sequence, and the set of each.
struct Text {
  std::vector<std::int32_t> ids;
  std::vector<AdapterSet> sets;  // Null: the base.
  Sequence sequence;

  static Text under(std::uint32_t count, AdapterSet set, std::uint32_t number = 0) {
    return {some_ids(count, number),
            std::vector<AdapterSet>(count, set),
            {.id = inference::SequenceId{number}, .first_page = number * 8}};
  }
};

// Adds [begin, end) to the batch, and asks for the logits of the last.
void add_text(Batch& batch, const Text& text, std::uint32_t begin, std::uint32_t end) {
  const std::size_t first = batch.rows.size();
  add_pass(batch, text.sequence, text.ids, {begin, end}, {end - 1, end});
  for (std::uint32_t i = begin; i < end; ++i) {
    if (text.sets[i] == nullptr) continue;
    batch.rows[first + i - begin].adapters = static_cast<std::uint32_t>(batch.adapter_sets.size());
    batch.adapter_sets.push_back(text.sets[i]);
  }
}

// The logits after the last token, computed in chunks.
std::vector<float> last_logits(Device& device, const Text& text, std::uint32_t chunk = 512) {
  std::vector<float> logits;
  for (std::uint32_t begin = 0; begin < text.ids.size(); begin += chunk) {
    Batch batch;
    add_text(batch, text, begin,
             std::min(begin + chunk, static_cast<std::uint32_t>(text.ids.size())));
    Completion completion = device.run(std::move(batch));
    logits = logits_of(completion, 0);
  }
  return logits;
}

float largest_difference(const std::vector<float>& one, const std::vector<float>& other) {
  EXPECT_EQ(one.size(), other.size());
  float largest = 0.0f;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    largest = std::max(largest, std::abs(one[i] - other[i]));
  }
  return largest;
}

class Adapters : public testing::TestWithParam<std::string> {
 protected:
  static DeviceOptions options(std::uint32_t threads = 2) {
    DeviceOptions options;
    options.name = GetParam();
    options.threads = threads;
    options.page_count = kPages;
    options.kv_format = KvFormat::F32;
    return options;
  }
  static std::unique_ptr<Device> open(const std::string& path, std::uint32_t threads = 2) {
    return Device::open(path, options(threads));
  }
  // Expects the logits of base and adapter near those of the merged model, and far from the base's.
  static void expect_merged(Device& base, const std::string& model,
                            const std::vector<Merged>& merged, const std::string& what) {
    std::vector<AdapterUse> uses;
    for (const Merged& each : merged) {
      uses.push_back({each.known->adapter, static_cast<float>(each.scale)});
    }
    const MergedModel merged_model(model, merged);
    const auto oracle = open(merged_model.path());
    const std::vector<float> expected = last_logits(*oracle, Text::under(40, nullptr));
    const std::vector<float> adapted = last_logits(base, Text::under(40, set_of(uses)));
    EXPECT_LT(largest_difference(adapted, expected), 1e-3f) << what;
    const std::vector<float> plain = last_logits(base, Text::under(40, nullptr));
    EXPECT_GT(largest_difference(plain, expected), 1e-2f) << what;
  }
};

constexpr const char* kModels[] = {"tiny_llama", "tiny_qwen2", "tiny_qwen3"};

TEST_P(Adapters, GiveTheLogitsOfMergedWeights) {
  for (const std::string model : kModels) {
    const auto spec = spec_of(model);
    const auto base = open(golden_path(model));
    for (const std::uint32_t rank : {1u, 8u, 64u}) {
      const Known known = random_adapter(spec, rank, rank, 1.0);
      expect_merged(*base, model, {{&known, 1.0}}, model + ", rank " + std::to_string(rank));
    }
    const Known patterned = patterned_adapter(spec, 5);
    expect_merged(*base, model, {{&patterned, 1.0}}, model + ", patterns");
    const Known one = random_adapter(spec, 6, 4, 1.0, NumberFormat::BF16);
    const Known other = random_adapter(spec, 7, 16, 1.0, NumberFormat::F16);
    expect_merged(*base, model, {{&one, 0.5}, {&other, 1.5}}, model + ", two");
    expect_merged(*base, model, {{&one, -1.0}, {&patterned, 0.25}}, model + ", a negative scale");
  }
}

TEST_P(Adapters, GiveTheLogitsOfMergedWeightsOnGgufBasesInBothForms) {
  for (const std::string model : kModels) {
    const auto spec = spec_of(model);
    const std::string path = write_tiny_gguf(model);
    const auto base = open(path);
    Known known = random_adapter(spec, 9, 8, 1.0);
    expect_merged(*base, model, {{&known, 1.0}}, model + ", PEFT on GGUF");
    std::vector<inference::AdapterFile> files;
    files.push_back(
        {"adapter.gguf", to_bytes(gguf_adapter_builder(spec, known.pairs, 1.0f).build())});
    known.adapter = read_files(spec, std::move(files));
    expect_merged(*base, model, {{&known, 1.0}}, model + ", GGUF on GGUF");
    fs::remove(path);
  }
}

// The oracle computes the first part as the base, and goes on in the merged model on its pages.
TEST_P(Adapters, ActFromTheTokenOnThatTheyAreSwitchedOnAt) {
  constexpr std::uint32_t kSwitch = 21, kCount = 45;
  for (const std::string model : kModels) {
    const auto base = open(golden_path(model));
    const Known known = random_adapter(spec_of(model), 11, 8, 1.0);
    const MergedModel merged(model, {{&known, 1.0}});
    const auto oracle = open(merged.path());
    Text text = Text::under(kCount, set_of({{known.adapter, 1.0f}}));
    std::fill_n(text.sets.begin(), kSwitch, nullptr);
    const std::vector<float> adapted = last_logits(*base, text);

    const Text plain = Text::under(kCount, nullptr);
    Batch prefix, rest;
    add_text(prefix, plain, 0, kSwitch);
    for (std::uint32_t page = 0; page < 2; ++page) {
      prefix.saves.push_back({.page = inference::PageId{page}});
    }
    Completion saved = base->run(std::move(prefix));
    add_text(rest, plain, kSwitch, kCount);
    for (std::uint32_t page = 0; page < 2; ++page) {
      rest.loads.push_back({inference::PageId{page}, std::move(saved.saves[page]).take()});
    }
    Completion completion = oracle->run(std::move(rest));
    EXPECT_LT(largest_difference(adapted, logits_of(completion, 0)), 1e-3f) << model;
    EXPECT_GT(largest_difference(adapted, last_logits(*base, plain)), 1e-2f) << model;
    EXPECT_GT(largest_difference(adapted, last_logits(*oracle, plain)), 1e-3f) << model;
  }
}

// Sequences with no set, one and two adapters, and switches between them.
std::vector<Text> mixed_texts(const std::vector<Known>& known) {
  const AdapterSet one = set_of({{known[0].adapter, 1.0f}});
  const AdapterSet other = set_of({{known[1].adapter, 0.5f}});
  const AdapterSet both = set_of({{known[0].adapter, 0.5f}, {known[1].adapter, 1.5f}});
  std::vector<Text> texts;
  const AdapterSet sets[] = {nullptr, one, other, both, one, nullptr};
  for (std::uint32_t i = 0; i < 6; ++i) texts.push_back(Text::under(50 + i, sets[i], i));
  Text switching = Text::under(70, both, 6);
  for (std::uint32_t i = 0; i < 70; ++i) switching.sets[i] = sets[i / 13];
  texts.push_back(switching);
  return texts;
}

TEST_P(Adapters, GiveBitsThatDoNotDependOnOtherRowsChunksOrThreads) {
  for (const std::string model : kModels) {
    const auto spec = spec_of(model);
    const std::vector<Known> known = {random_adapter(spec, 21, 5, 1.0, NumberFormat::F16),
                                      random_adapter(spec, 22, 16, 1.0)};
    const std::vector<Text> texts = mixed_texts(known);
    std::vector<std::vector<float>> alone;
    {
      const auto device = open(golden_path(model), 1);
      for (const Text& text : texts) alone.push_back(last_logits(*device, text));
    }
    for (const std::uint32_t threads : {1u, 2u, 3u}) {
      const auto device = open(golden_path(model), threads);
      for (const std::uint32_t chunk : {1u, 7u, 64u}) {
        for (std::size_t i = 0; i < texts.size(); ++i) {
          EXPECT_EQ(last_logits(*device, texts[i], chunk), alone[i])
              << model << ", text " << i << ", chunks of " << chunk;
        }
      }
      Batch together;  // All at once.
      for (const Text& text : texts) {
        add_text(together, text, 0, static_cast<std::uint32_t>(text.ids.size()));
      }
      Completion completion = device->run(std::move(together));
      for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(logits_of(completion, i), alone[i]) << model << ", text " << i << ", together";
      }
    }
  }
}

TEST_P(Adapters, LeaveBaseRowsTheBitsOfABatchWithoutAdapters) {
  const auto spec = spec_of("tiny_llama");
  const std::vector<Known> known = {random_adapter(spec, 31, 8, 1.0),
                                    random_adapter(spec, 32, 8, 1.0)};
  const std::string path = write_tiny_gguf("tiny_llama", NumberFormat::Q8_0);
  const auto device = open(path);
  const std::vector<Text> texts = mixed_texts(known);
  const std::vector<float> plain = last_logits(*device, texts[0]);
  Batch together;
  for (const Text& text : texts) add_text(together, text, 0, 50);
  Completion completion = device->run(std::move(together));
  EXPECT_EQ(logits_of(completion, 0), plain);
  EXPECT_NE(logits_of(completion, 1), plain);
  fs::remove(path);
}

TEST(AdapterTables, GiveEqualBitsInVectorTables) {
  const auto spec = spec_of("tiny_qwen3");
  const std::vector<Known> known = {random_adapter(spec, 41, 8, 1.0, NumberFormat::BF16),
                                    random_adapter(spec, 42, 8, 1.0)};
  std::vector<std::vector<float>> first;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    if (std::string(table->name) == "scalar") continue;
    DeviceOptions options;
    options.name = table->name;
    options.page_count = kPages;
    const auto device = Device::open(golden_path("tiny_qwen3"), options);
    std::vector<std::vector<float>> logits;
    for (const Text& text : mixed_texts(known)) logits.push_back(last_logits(*device, text));
    if (first.empty()) first = logits;
    EXPECT_EQ(logits, first) << table->name;
  }
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names.emplace_back(table->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tables, Adapters, testing::ValuesIn(table_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace quire::test::adapters_test
