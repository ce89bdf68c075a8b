// Models whose layers differ, against a reference in double precision (make_layer_goldens.py), and
// the same bits in chunks, in batches and over shared pages.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/backend_logits.h"
#include "support/golden.h"

namespace quire::test::layers_test {
namespace {

using inference::AttentionSpec;
using inference::DenseSpec;
using inference::LayerSpec;
using inference::ModelFiles;
using inference::ModelSpec;
using inference::TensorPlace;
using inference::TensorRole;
using inference::WeightSource;

// ---- the models ----

// A golden model with other members of its config.json; null removes one.
std::unique_ptr<ModelFiles> changed(const std::string& model, const nlohmann::json& members) {
  const std::filesystem::path folder =
      testing::TempDir() + "quire_layers_" + std::to_string(getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::copy(golden_path(model), folder);
  auto config =
      nlohmann::json::parse(read_file(golden_path(model + "/config.json"), 1 << 20).value());
  config.merge_patch(members);
  std::ofstream(folder / "config.json") << config.dump();
  auto files = inference::open_model(folder.string());
  EXPECT_TRUE(files.ok()) << files.error().message();
  return std::move(files).take();  // The open file outlives its name.
}

std::unique_ptr<ModelFiles> windowed_qwen3() {
  return changed("tiny_qwen3",
                 {{"layer_types", {"full_attention", "sliding_attention", "full_attention"}},
                  {"use_sliding_window", true},
                  {"sliding_window", 24}});
}

std::unique_ptr<ModelFiles> llama_as_smollm3() {
  return changed("tiny_llama", {{"model_type", "smollm3"},
                                {"architectures", {"SmolLM3ForCausalLM"}},
                                {"no_rope_layer_interval", 2},
                                {"rope_scaling", nullptr},
                                {"rope_parameters", nullptr},
                                {"rope_theta", 10000.0}});
}

class Bytes final : public inference::ByteSource {
 public:
  const std::string& name() const override { return name_; }
  std::uint64_t bytes() const override { return all_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    std::memcpy(into.data(), all_.data() + offset, into.size());
    return {};
  }
  void add(float number) {
    const auto* from = reinterpret_cast<const std::byte*>(&number);
    all_.insert(all_.end(), from, from + sizeof(number));
  }

 private:
  std::string name_ = "seeded";
  std::vector<std::byte> all_;
};

// The numbers of make_layer_goldens.py.
class SeededWeights {
 public:
  explicit SeededWeights(const ModelSpec& spec) : spec_(spec) {
    for (const TensorRole role :
         {TensorRole::TokenEmbedding, TensorRole::Output, TensorRole::OutputNorm}) {
      add(role, 0);
    }
    for (std::uint32_t layer = 0; layer < spec.layer_count(); ++layer) {
      for (const inference::TensorRow& row : inference::tensor_rows()) {
        const bool is_there = row.shape(spec, spec.layers[layer]).has_value();
        if (row.place == TensorPlace::Layer && is_there) add(row.role, layer);
      }
    }
  }
  WeightSource source() && {
    for (WeightSource::Entry& each : entries_) each.source = bytes_;
    return WeightSource(std::move(entries_));
  }

 private:
  void add(TensorRole role, std::uint32_t layer) {
    const auto shape = *row_of(role).shape(spec_, spec_.layers[layer]);
    const bool is_norm = row_of(role).kind == inference::TensorKind::Vector;
    WeightSource::Entry& entry = entries_.emplace_back();
    entry.info.role = role;
    entry.info.layer = layer;
    entry.info.format = inference::NumberFormat::F32;
    entry.info.row_count = static_cast<std::uint32_t>(shape.row_count);
    entry.info.column_count = static_cast<std::uint32_t>(shape.column_count);
    entry.offset = bytes_->bytes();
    for (std::uint64_t i = 0; i < shape.row_count * shape.column_count; ++i) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      const float drawn = (static_cast<float>(state_ >> 48) - 32768.0f) / 32768.0f;
      bytes_->add((is_norm ? 1.0f : 0.0f) + drawn / 4.0f);
    }
  }

  const ModelSpec& spec_;
  std::uint64_t state_ = 1;
  std::shared_ptr<Bytes> bytes_ = std::make_shared<Bytes>();
  std::vector<WeightSource::Entry> entries_;
};

std::unique_ptr<ModelFiles> seeded_model(ModelSpec spec) {
  spec.vocabulary_size = 96;
  spec.context_length = 512;
  spec.embedding_width = 64;
  spec.rms_epsilon = 1e-5f;
  spec.ropes.resize(1);
  EXPECT_TRUE(spec.validate().ok());
  WeightSource weights = SeededWeights(spec).source();
  return std::make_unique<ModelFiles>(spec.name, spec, std::move(weights), nullptr,
                                      inference::TokenizerTexts{});
}

// Norms lie after each part, and queries and keys are normed over their whole width.
std::unique_ptr<ModelFiles> seeded_olmo2() {
  ModelSpec spec;
  spec.name = "seeded_olmo2";
  spec.architecture = "olmo2";
  spec.layers.assign(3, {AttentionSpec{.head_count = 4,
                                       .kv_head_count = 2,
                                       .head_dim = 16,
                                       .qk_norm = inference::QkNorm::WholeWidth},
                         DenseSpec{.width = 96}, inference::NormPlace::After});
  return seeded_model(std::move(spec));
}

// Odd layers have other heads, another head size, another width and a window.
std::unique_ptr<ModelFiles> mixed_heads() {
  ModelSpec spec;
  spec.name = "mixed_heads";
  spec.architecture = "llama";
  const LayerSpec even{AttentionSpec{.head_count = 4, .kv_head_count = 2, .head_dim = 16},
                       DenseSpec{.width = 96}};
  const LayerSpec odd{
      AttentionSpec{.head_count = 2, .kv_head_count = 1, .head_dim = 32, .sliding_window = 20},
      DenseSpec{.width = 160}};
  spec.layers = {even, odd, even, odd};
  return seeded_model(std::move(spec));
}

// ---- what they give ----

// Some rows of a golden model's own tokens.
void expect_logits(const ModelFiles& files, const char* model, const char* wanted_name) {
  const NpzArrays arrays = read_npz(golden_path("layers.npz")).take();
  const auto rows = arrays.at("rows").values<std::int32_t>().value();
  const auto wanted = arrays.at(wanted_name).values<float>().value();
  const std::vector<std::int32_t> ids = read_golden(model).ids;
  const auto device = Device::open(files, exact_options());
  ASSERT_NE(device, nullptr);
  const Logits logits = in_chunks(*device, ids, 64);
  const std::size_t width = wanted.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expect_near(logits, static_cast<std::uint32_t>(rows[i]),
                std::span(wanted).subspan(i * width, width));
  }
  expect_same_bits(files, ids);
}

TEST(Layers, AWindowInSomeLayersGivesTheLogitsOfTheReference) {
  const auto files = windowed_qwen3();
  ASSERT_NE(files, nullptr);
  expect_logits(*files, "tiny_qwen3", "windows");
}

TEST(Layers, OfSmolLm3DoNotAllTurnTheirHeads) {
  const auto files = llama_as_smollm3();
  ASSERT_NE(files, nullptr);
  expect_logits(*files, "tiny_llama", "no_rope");
}

void expect_seeded_logits(const ModelFiles& files, const char* wanted_name) {
  const NpzArrays arrays = read_npz(golden_path("layers.npz")).take();
  const auto ids = arrays.at("heads_ids").values<std::int32_t>().value();
  const auto wanted = arrays.at(wanted_name).values<float>().value();
  const auto device = Device::open(files, exact_options());
  ASSERT_NE(device, nullptr);
  const Logits logits = in_chunks(*device, ids, 64);
  const std::size_t width = wanted.size() / ids.size();
  for (std::uint32_t row = 0; row < ids.size(); ++row) {
    expect_near(logits, row, std::span(wanted).subspan(row * width, width));
  }
  expect_same_bits(files, ids);
}

TEST(Layers, OtherHeadsInSomeLayersGiveTheLogitsOfTheReference) {
  expect_seeded_logits(*mixed_heads(), "heads");
}

TEST(Layers, NormsAfterEachPartGiveTheLogitsOfTheReference) {
  expect_seeded_logits(*seeded_olmo2(), "norms_after");
}

TEST(Layers, OfAnotherWindowAreAnotherModel) {
  const auto plain = inference::open_model(golden_path("tiny_qwen3")).take();
  EXPECT_NE(inference::digest_model(*windowed_qwen3()).value(),
            inference::digest_model(*plain).value());
}

}  // namespace
}  // namespace quire::test::layers_test
