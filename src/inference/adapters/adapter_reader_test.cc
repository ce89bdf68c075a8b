#include "inference/api/adapter_reader.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "inference/adapters/make_adapter_reader.h"
#include "inference/weights/adapter_base.h"
#include "support/adapter_builder.h"
#include "support/first_layer.h"

namespace quire::inference {
namespace {

using test::GgufBuilder;
using test::LowRankPair;
using test::NamedTensor;
using test::peft_config;
using test::peft_tensors;

ModelSpec small_spec(const std::string& architecture = "llama") {
  return test::small_spec(architecture);
}

std::vector<LowRankPair> small_pairs(std::uint32_t rank = 4, std::uint32_t seed = 1) {
  return test::random_pairs(seed, adapter_base(small_spec()), rank);
}

using AdapterResult = Result<std::shared_ptr<const Adapter>>;

AdapterResult read_peft(const std::string& config, const std::vector<NamedTensor>& tensors,
                        const AdapterLimits& limits = {}, const ModelSpec& spec = small_spec()) {
  std::vector<AdapterFile> files;
  files.push_back({"adapter_config.json", test::to_bytes(config)});
  files.push_back({"adapter_model.safetensors", test::to_bytes(test::safetensors_of(tensors))});
  return make_adapter_reader(spec)->read(std::move(files), limits);
}

AdapterResult read_gguf(const std::string& bytes, const ModelSpec& spec = small_spec()) {
  std::vector<AdapterFile> files;
  files.push_back({"adapter.gguf", test::to_bytes(bytes)});
  return make_adapter_reader(spec)->read(std::move(files), {});
}

std::shared_ptr<const Adapter> value(AdapterResult result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message();
    return nullptr;
  }
  return std::move(result).take();
}

void expect_refused(const AdapterResult& result, ErrorCode code, const std::string& text) {
  ASSERT_FALSE(result.ok()) << "was read, and was to be refused with: " << text;
  EXPECT_EQ(result.error().code(), code) << result.error().message();
  EXPECT_NE(result.error().message().find(text), std::string::npos)
      << result.error().message() << "\nlacks: " << text;
}

float scale_of(const std::shared_ptr<const Adapter>& adapter, std::uint32_t layer,
               Projection projection) {
  const AdapterMatrix* matrix = adapter == nullptr ? nullptr : adapter->find(layer, projection);
  return matrix == nullptr ? -1.0f : matrix->scale;
}

std::vector<LowRankPair> only(std::vector<LowRankPair> pairs,
                              const std::vector<Projection>& projections) {
  std::erase_if(pairs, [&](const LowRankPair& pair) {
    return std::ranges::find(projections, pair.projection) == projections.end();
  });
  return pairs;
}

TEST(AdapterReader, ReadsPeftWithAlphaOverRank) {
  const auto adapter = value(read_peft(peft_config(4, 8), peft_tensors(small_pairs())));
  ASSERT_NE(adapter, nullptr);
  EXPECT_EQ(adapter->matrices().size(), 14u);
  EXPECT_EQ(adapter->rank_max(), 4u);
  EXPECT_EQ(scale_of(adapter, 1, Projection::Down), 2.0f);
  const LowRankPair pair = small_pairs()[7];  // The query of layer 1.
  const AdapterMatrix* matrix = adapter->find(1, Projection::Query);
  for (std::uint32_t row = 0; row < 32; ++row) {
    for (std::uint32_t r = 0; r < 4; ++r) {
      EXPECT_EQ(reinterpret_cast<const float*>(matrix->a)[r * 32 + row], pair.a[r * 32 + row]);
      EXPECT_EQ(reinterpret_cast<const float*>(matrix->b)[(row / 16 * 4 + r) * 16 + row % 16],
                pair.b[row * 4 + r]);
    }
  }
}

TEST(AdapterReader, ScalesByTheRootOfTheRankUnderRsLora) {
  const auto adapter =
      value(read_peft(peft_config(4, 8, R"("use_rslora": true)"), peft_tensors(small_pairs())));
  EXPECT_EQ(scale_of(adapter, 0, Projection::Query), 4.0f);
}

TEST(AdapterReader, TakesTheFirstPatternThatMatches) {
  std::vector<LowRankPair> pairs = small_pairs();
  std::mt19937 random(5);
  const AdapterBase base = adapter_base(small_spec());
  pairs[0] = test::random_pair(random, base, 0, Projection::Query, 2);
  pairs[7] = test::random_pair(random, base, 1, Projection::Query, 1);
  const auto adapter = value(
      read_peft(peft_config(4, 8, R"("rank_pattern": {"layers.1.self_attn.q_proj": 1, "q_proj": 2},
                     "alpha_pattern": {"[qk]_proj": 16, "q_proj": 3})"),
                peft_tensors(pairs)));
  EXPECT_EQ(scale_of(adapter, 0, Projection::Query), 8.0f);
  EXPECT_EQ(scale_of(adapter, 1, Projection::Query), 16.0f);
  EXPECT_EQ(scale_of(adapter, 0, Projection::Key), 4.0f);
  EXPECT_EQ(scale_of(adapter, 0, Projection::Value), 2.0f);
}

TEST(AdapterReader, TakesTargetsAsListOrExpressionAndLayers) {
  const std::vector<LowRankPair> pairs =
      only(small_pairs(), {Projection::Query, Projection::Value});
  const std::vector<LowRankPair> second(pairs.begin() + 2, pairs.end());
  const std::string list = R"("target_modules": ["q_proj", "v_proj"])";
  const Digest digest = value(read_peft(peft_config(4, 8, list), peft_tensors(pairs)))->digest();
  for (const char* same :
       {R"("target_modules": ".*\\.(q|v)_proj")",
        R"("target_modules": ["q_proj", "v_proj", "lm_head"])",
        R"("target_modules": "all-linear", "exclude_modules": ".*(k_|o_|mlp).*")",
        R"("target_modules": ["q_proj", "k_proj", "v_proj"],
                              "exclude_modules": ["self_attn.k_proj"])"}) {
    const auto adapter = value(read_peft(peft_config(4, 8, same), peft_tensors(pairs)));
    ASSERT_NE(adapter, nullptr) << same;
    EXPECT_EQ(adapter->digest(), digest) << same;
  }
  for (const char* layers : {R"("layers_to_transform": 1)", R"("layers_to_transform": [1])",
                             R"("layers_to_transform": [1], "layers_pattern": "layers")"}) {
    const auto adapter =
        value(read_peft(peft_config(4, 8, list + ", " + layers), peft_tensors(second)));
    ASSERT_NE(adapter, nullptr) << layers;
    EXPECT_EQ(adapter->matrices().size(), 2u);
  }
}

TEST(AdapterReader, TakesNamesOfTheInnerModelAndSplitsFusedMatrices) {
  const std::vector<LowRankPair> pairs = only(small_pairs(), {Projection::Gate, Projection::Up});
  std::vector<NamedTensor> whole = peft_tensors(pairs), inner = whole;
  for (NamedTensor& tensor : inner) {
    tensor.name.erase(tensor.name.find("model.layers"), std::string("model.").size());
  }
  const std::string targets = R"("target_modules": ["gate_proj", "up_proj"])";
  const auto expected = value(read_peft(peft_config(4, 8, targets), whole));
  ASSERT_NE(expected, nullptr);
  const auto read = value(read_peft(peft_config(4, 8, targets), inner));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->digest(), expected->digest());

  std::vector<LowRankPair> shared = pairs;
  for (std::size_t i = 0; i < shared.size(); i += 2) shared[i + 1].a = shared[i].a;
  std::vector<NamedTensor> fused;
  for (std::size_t i = 0; i < shared.size(); i += 2) {
    std::vector<LowRankPair> both(shared.begin() + static_cast<long>(i),
                                  shared.begin() + static_cast<long>(i) + 2);
    std::vector<NamedTensor> parts = peft_tensors(both);
    parts[1].shape[0] *= 2;
    parts[1].bytes += parts[3].bytes;
    for (NamedTensor& part : {std::ref(parts[0]), std::ref(parts[1])}) {
      part.name.replace(part.name.find("gate_proj"), 9, "gate_up_proj");
      fused.push_back(part);
    }
  }
  const auto split =
      value(read_peft(peft_config(4, 8, R"("target_modules": ["gate_up_proj"])"), fused));
  const auto single = value(read_peft(peft_config(4, 8, targets), peft_tensors(shared)));
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(split->digest(), single->digest());
}

TEST(AdapterReader, GivesPeftAndGgufOneDigestInAllFormatsAndArchitectures) {
  for (const std::string architecture : {"llama", "qwen2", "qwen3"}) {
    const ModelSpec spec = small_spec(architecture);
    const auto expected = value(read_peft(peft_config(4, 8), peft_tensors(small_pairs())));
    for (const NumberFormat format : {NumberFormat::F32, NumberFormat::F16, NumberFormat::BF16}) {
      const auto adapter = value(
          read_gguf(test::gguf_adapter_builder(spec, small_pairs(), 8.0f, format).build(), spec));
      ASSERT_NE(adapter, nullptr) << architecture;
      EXPECT_EQ(adapter->digest(), expected->digest()) << architecture;
      EXPECT_EQ(adapter->find(0, Projection::Up)->a_format, format);
      const auto peft = value(read_peft(peft_config(4, 8), peft_tensors(small_pairs(), format)));
      EXPECT_EQ(peft->digest(), expected->digest());
    }
  }
}

TEST(AdapterReader, ReadsTheEmbeddingsOfBothForms) {
  ModelSpec spec = small_spec();
  spec.vocabulary_size = 50;
  std::mt19937 random(3);
  const std::vector<float> a = test::random_numbers(random, 50 * 2, 50);  // [token][rank]
  const std::vector<float> b = test::random_numbers(random, 32 * 2, 2);
  std::vector<float> turned(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) turned[i % 2 * 50 + i / 2] = a[i];
  const auto bytes = [](const std::vector<float>& values) {
    return test::number_bytes(NumberFormat::F32, values);
  };
  std::vector<AdapterFile> peft;
  peft.push_back({"adapter_config.json",
                  test::to_bytes(peft_config(2, 4, R"("target_modules": ["embed_tokens"])"))});
  const std::string name = "base_model.model.model.embed_tokens.lora_embedding_";
  peft.push_back({"adapter_model.safetensors",
                  test::to_bytes(test::safetensors_of({{name + "A", "F32", {2, 50}, bytes(turned)},
                                                       {name + "B", "F32", {32, 2}, bytes(b)}}))});
  const auto read = value(make_adapter_reader(spec)->read(std::move(peft), {}));
  ASSERT_NE(read, nullptr);
  const AdapterMatrix* matrix = read->find(0, Projection::Embedding);
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->scale, 2.0f);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), reinterpret_cast<const float*>(matrix->a)));
  GgufBuilder gguf = test::gguf_adapter_builder(spec, {}, 4.0f);
  gguf.add_tensor("token_embd.weight.lora_a", {2, 50}, 0, bytes(a));
  gguf.add_tensor("token_embd.weight.lora_b", {2, 32}, 0, bytes(b));
  const auto same = value(read_gguf(gguf.build(), spec));
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->digest(), read->digest());
}

TEST(AdapterReader, ScalesGgufByOneWithoutAlpha) {
  const auto adapter =
      value(read_gguf(test::gguf_adapter_builder(small_spec(), small_pairs(), 0.0f).build()));
  EXPECT_EQ(scale_of(adapter, 0, Projection::Query), 1.0f);
}

TEST(AdapterReader, DecodesQuantisedNumbersOfGguf) {
  GgufBuilder builder = test::gguf_adapter_builder(small_spec(), {}, 4.0f);
  std::string blocks;
  for (int row = 0; row < 4; ++row) {
    const std::uint16_t scale = f16_from_float(0.5f);
    blocks.append(reinterpret_cast<const char*>(&scale), 2);
    for (int i = 0; i < 32; ++i) blocks += static_cast<char>(i - 16);
  }
  builder.add_tensor("blk.0.attn_v.weight.lora_a", {32, 4}, 8, blocks);
  builder.add_tensor("blk.0.attn_v.weight.lora_b", {4, 16}, 0, std::string(4 * 16 * 4, '\0'));
  const auto adapter = value(read_gguf(builder.build()));
  ASSERT_NE(adapter, nullptr);
  const AdapterMatrix* matrix = adapter->find(0, Projection::Value);
  EXPECT_EQ(matrix->a_format, NumberFormat::F32);
  EXPECT_EQ(reinterpret_cast<const float*>(matrix->a)[3 * 32 + 1], -7.5f);
}

TEST(AdapterReader, RefusesExpertsAndTheirRouterByTheirTarget) {
  for (const char* module : {"mlp.experts.3.gate_proj", "mlp.gate", "mlp.shared_expert.up_proj"}) {
    std::vector<test::NamedTensor> tensors = test::peft_tensors(small_pairs());
    for (test::NamedTensor& each : tensors) {
      const std::size_t at = each.name.find("layers.1.mlp.gate_proj");
      if (at != std::string::npos) each.name.replace(at + 9, 13, module);
    }
    expect_refused(read_peft(peft_config(4, 8), tensors), ErrorCode::NotSupported, module);
  }
}

// The second of two layers attends with gates; the first is recurrent.
ModelSpec hybrid_spec() {
  ModelSpec spec = small_spec("qwen35");
  spec.layers[0].mixer = DeltaNetSpec{2, 2, 16, 16, 4, false};
  spec.layers[1].attention()->has_gate = true;
  return spec;
}

std::vector<LowRankPair> hybrid_pairs() {
  const AdapterBase base = adapter_base(hybrid_spec());
  std::mt19937 random(5);
  std::vector<LowRankPair> pairs;
  for (const Projection each : {Projection::Query, Projection::AttentionOutput}) {
    pairs.push_back(test::random_pair(random, base, 1, each, 4));
  }
  for (const std::uint32_t layer : {0u, 1u}) {
    pairs.push_back(test::random_pair(random, base, layer, Projection::Up, 4));
  }
  return pairs;
}

TEST(AdapterReader, ReadsTheGateOfAQueryAndNoAttentionOfRecurrentLayers) {
  const std::string config =
      peft_config(4, 8, R"("target_modules": ["q_proj", "o_proj", "up_proj"])");
  const auto adapter = value(read_peft(config, peft_tensors(hybrid_pairs()), {}, hybrid_spec()));
  ASSERT_NE(adapter, nullptr);
  EXPECT_EQ(adapter->find(1, Projection::Query)->output_count, 2u * 4 * 8);
  EXPECT_EQ(adapter->find(1, Projection::AttentionOutput)->input_count, 4u * 8);
  EXPECT_NE(adapter->find(0, Projection::Up), nullptr);
  EXPECT_EQ(adapter->find(0, Projection::Query), nullptr);
  // The names of a checkpoint that also reads images.
  std::vector<NamedTensor> nested = peft_tensors(hybrid_pairs());
  for (NamedTensor& each : nested) {
    each.name.replace(each.name.find("model.layers."), 13, "model.language_model.layers.");
  }
  const auto same = value(read_peft(config, nested, {}, hybrid_spec()));
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->digest(), adapter->digest());
}

TEST(AdapterReader, RefusesRecurrentProjectionsByTheirNames) {
  for (const std::string module : {"in_proj_qkv", "in_proj_qkvz", "in_proj_a", "out_proj"}) {
    const std::string name = "model.layers.0.linear_attn." + module;
    const auto read = [&](const std::string& targets) {
      std::vector<NamedTensor> tensors = peft_tensors(hybrid_pairs());
      tensors.push_back(
          {"base_model.model." + name + ".lora_A.weight", "F32", {1}, std::string(4, '\0')});
      return read_peft(peft_config(4, 8, "\"target_modules\": " + targets), tensors, {},
                       hybrid_spec());
    };
    const std::string why = "recurrent projections take no adapters";
    expect_refused(read("[\"q_proj\", \"" + module + "\"]"), ErrorCode::NotSupported,
                   "\"target_modules\" names \"" + name + "\"; " + why);
    expect_refused(read("[\"q_proj\"]"), ErrorCode::NotSupported,
                   name + ".lora_A.weight\": " + why);
  }
  for (const std::string module : {"blk.0.attn_qkv", "blk.0.attn_gate", "blk.0.ssm_out"}) {
    GgufBuilder gguf = test::gguf_adapter_builder(hybrid_spec(), {}, 4.0f);
    gguf.add_tensor(module + ".weight.lora_a", {32, 4}, 0, std::string(32 * 4 * 4, '\0'));
    gguf.add_tensor(module + ".weight.lora_b", {4, 96}, 0, std::string(4 * 96 * 4, '\0'));
    expect_refused(read_gguf(gguf.build(), hybrid_spec()), ErrorCode::NotSupported,
                   "recurrent projections take no adapters");
  }
}

TEST(AdapterReader, RefusesWhatIsNotImplementedByItsName) {
  for (const char* member :
       {R"("use_dora": true)", R"("bias": "all")", R"("modules_to_save": ["lm_head"])",
        R"("init_lora_weights": "pissa")", R"("init_lora_weights": "pissa_niter_4")",
        R"("init_lora_weights": "olora")", R"("init_lora_weights": "loftq")",
        R"("target_parameters": ["mlp.experts"])", R"("lora_bias": true)", R"("use_qalora": true)",
        R"("layer_replication": [[0, 1], [0, 1]])", R"("trainable_token_indices": [1, 2])",
        R"("arrow_config": {"top_k": 2})", R"("a_member_of_tomorrow": 3)"}) {
    const std::string name = std::string(member).substr(1, std::string(member).find('"', 1) - 1);
    std::string config = peft_config(4, 8);
    for (const char* given : {R"("bias": "none", )", R"("init_lora_weights": true, )"}) {
      if (std::string(given).find(name) != std::string::npos) {
        config.erase(config.find(given), std::string(given).size());
      }
    }
    config.insert(1, std::string(member) + ", ");
    expect_refused(read_peft(config, peft_tensors(small_pairs())), ErrorCode::NotSupported, name);
  }
  expect_refused(read_peft(R"({"peft_type": "IA3"})", {}), ErrorCode::NotSupported, "IA3");
}

TEST(AdapterReader, AcceptsMembersThatSayNothingOrOnlyWhenItActs) {
  const auto adapter =
      value(read_peft(peft_config(4, 8, R"("alora_invocation_tokens": [3, 4], "use_dora": false,
                          "modules_to_save": null, "layer_replication": null, "kasa_config": {},
                          "task_type": "CAUSAL_LM", "lora_dropout": 0.1, "peft_version": "0.21.2",
                          "eva_config": null, "tomorrow": false)"),
                      peft_tensors(small_pairs())));
  EXPECT_NE(adapter, nullptr);
}

TEST(AdapterReader, RefusesTensorsItHasNoUseForByWhatTheyAre) {
  const auto with = [](const std::string& name) {
    std::vector<NamedTensor> tensors = peft_tensors(small_pairs());
    tensors.push_back({"base_model.model." + name, "F32", {1}, std::string(4, '\0')});
    return read_peft(peft_config(4, 8), tensors);
  };
  expect_refused(with("model.layers.0.self_attn.q_proj.lora_magnitude_vector"),
                 ErrorCode::NotSupported, "DoRA: not supported");
  expect_refused(with("model.embed_tokens.base_layer.weight"), ErrorCode::NotSupported,
                 "whole embeddings (PEFT leaves them out with save_embedding_layers=False)");
  expect_refused(with("lm_head.lora_A.weight"), ErrorCode::NotSupported,
                 "LoRA of the output matrix: not supported");
  expect_refused(with("model.layers.0.self_attn.q_proj.lora_B.bias"), ErrorCode::NotSupported,
                 "biases of LoRA matrices: not supported");
  expect_refused(with("model.layers.2.self_attn.q_proj.lora_A.weight"), ErrorCode::NotSupported,
                 "belongs to no linear module of this llama model with 2 layers");
}

TEST(AdapterReader, RefusesAnAdapterOfAnotherModelOrWithAMissingHalf) {
  std::vector<NamedTensor> tensors = peft_tensors(small_pairs());
  tensors.pop_back();
  expect_refused(read_peft(peft_config(4, 8), tensors), ErrorCode::Corrupted,
                 "has no matrix B to go with it");
  tensors.pop_back();
  expect_refused(read_peft(peft_config(4, 8), tensors), ErrorCode::Corrupted,
                 "for which there are no matrices");
  expect_refused(read_peft(peft_config(8, 8), peft_tensors(small_pairs())), ErrorCode::Corrupted,
                 "is 8, and its matrix A has 4 rows");
  expect_refused(
      read_peft(peft_config(4, 8, R"("target_modules": ["q_proj"])"), peft_tensors(small_pairs())),
      ErrorCode::Corrupted, "which the configuration does not name");
  ModelSpec wider = small_spec();
  wider.embedding_width = 64;
  const auto other = test::random_pairs(1, adapter_base(wider), 4);
  expect_refused(read_peft(peft_config(4, 8), peft_tensors(other)), ErrorCode::Corrupted,
                 "it is an adapter of another model");
  expect_refused(
      read_gguf(test::gguf_adapter_builder(small_spec("qwen2"), small_pairs(), 8).build()),
      ErrorCode::Corrupted, "general.architecture is \"qwen2\"");
}

TEST(AdapterReader, RefusesRanksAndSizesBeyondTheLimits) {
  const AdapterLimits rank{.rank_max = 3};
  expect_refused(read_peft(peft_config(4, 8), peft_tensors(small_pairs()), rank),
                 ErrorCode::TooLarge, "has rank 4; at most 3 is allowed");
  const AdapterLimits bytes{.bytes_max = 1000};
  expect_refused(read_peft(peft_config(4, 8), peft_tensors(small_pairs()), bytes),
                 ErrorCode::TooLarge, "more than the 1000 bytes");
  std::vector<NamedTensor> none = peft_tensors(small_pairs());
  for (NamedTensor& tensor : none) {
    tensor.shape[tensor.name.find("lora_A") != std::string::npos ? 0 : 1] = 0;
    tensor.bytes.clear();
  }
  expect_refused(read_peft(peft_config(0, 8), none), ErrorCode::Corrupted, "has rank 0");
  std::vector<NamedTensor> huge;
  huge.push_back({"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
                  "BF16",
                  {1'000'000, 0},
                  ""});
  huge.push_back({"base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight",
                  "BF16",
                  {0, 1'000'000},
                  ""});
  expect_refused(read_peft(peft_config(1'000'000, 8,
                                       R"("target_modules": ["model.layers.0.self_attn.q_proj"])"),
                           huge),
                 ErrorCode::TooLarge, "has rank 1000000; at most 1024 is allowed");
}

TEST(AdapterReader, RefusesNumbersAndScalesThatAreNotFinite) {
  std::vector<LowRankPair> pairs = small_pairs();
  pairs[3].b[5] = std::nanf("");
  expect_refused(read_peft(peft_config(4, 8), peft_tensors(pairs)), ErrorCode::Corrupted,
                 "layer 0, attention_output, B: number 5 of 128 is nan");
  expect_refused(read_peft(peft_config(4, 1e300), peft_tensors(small_pairs())),
                 ErrorCode::Corrupted, "has the scale");
}

TEST(AdapterReader, RefusesEveryTruncation) {
  const std::string config = peft_config(4, 8);
  const std::vector<LowRankPair> pairs = only(small_pairs(), {Projection::Query});
  const std::string weights = test::safetensors_of(peft_tensors(pairs));
  const std::string gguf = test::gguf_adapter_builder(small_spec(), pairs, 8.0f).build();
  const auto reader = make_adapter_reader(small_spec());
  for (std::size_t bytes = 0; bytes < weights.size(); bytes += bytes < 1200 ? 1 : 37) {
    std::vector<AdapterFile> files;
    files.push_back({"adapter_config.json",
                     test::to_bytes(peft_config(4, 8, R"("target_modules": ["q_proj"])"))});
    files.push_back({"adapter_model.safetensors", test::to_bytes(weights.substr(0, bytes))});
    EXPECT_FALSE(reader->read(std::move(files), {}).ok()) << bytes;
  }
  for (std::size_t bytes = 0; bytes < gguf.size(); bytes += bytes < 1200 ? 1 : 37) {
    EXPECT_FALSE(read_gguf(gguf.substr(0, bytes)).ok()) << bytes;
  }
  for (std::size_t bytes = 0; bytes < config.size(); ++bytes) {
    EXPECT_FALSE(read_peft(config.substr(0, bytes), peft_tensors(small_pairs())).ok()) << bytes;
  }
}

TEST(AdapterReader, RefusesOtherGgufFilesAndDuplicateTensors) {
  GgufBuilder model;
  model.add_text("general.architecture", "llama");
  expect_refused(read_gguf(model.build()), ErrorCode::NotSupported, "general.type is \"model\"");
  GgufBuilder vector;
  vector.add_text("general.type", "adapter");
  vector.add_text("adapter.type", "control_vector");
  expect_refused(read_gguf(vector.build()), ErrorCode::NotSupported,
                 "adapter.type is \"control_vector\"");
  GgufBuilder twice = test::gguf_adapter_builder(small_spec(), small_pairs(), 8.0f);
  twice.add_tensor("blk.0.attn_q.weight.lora_a", {32, 4}, 0, std::string(512, '\0'));
  EXPECT_FALSE(read_gguf(twice.build()).ok());
  std::vector<NamedTensor> tensors = peft_tensors(small_pairs());
  NamedTensor again = tensors[0];
  again.name = again.name.substr(std::string("base_model.model.").size());
  tensors.push_back(again);
  expect_refused(read_peft(peft_config(4, 8), tensors), ErrorCode::Corrupted, "is the same matrix");
  expect_refused(read_gguf(test::gguf_adapter_builder(small_spec(), {}, 8.0f).build()),
                 ErrorCode::InvalidArgument, "has no matrix");
}

class AdapterFolder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "quire_adapter_" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/adapters/french");
    write("adapters/french/adapter_config.json", peft_config(4, 8));
    write("adapters/french/adapter_model.safetensors",
          test::safetensors_of(peft_tensors(small_pairs())));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(root_ + "/" + name, std::ios::binary) << bytes;
  }
  AdapterResult read(const AdapterSource& source) const {
    return make_adapter_reader(small_spec())->read(source, {});
  }
  std::string root_;
};

TEST_F(AdapterFolder, IsReadByItsPathOrBelowAnotherAndAFileAlike) {
  write("adapters/french.gguf",
        test::gguf_adapter_builder(small_spec(), small_pairs(), 8.0f).build());
  const Digest digest = value(read({.path = root_ + "/adapters/french"}))->digest();
  for (const AdapterSource& source : {AdapterSource{"french", root_ + "/adapters"},
                                      AdapterSource{"french/.", root_ + "/adapters"},
                                      AdapterSource{root_ + "/adapters/french.gguf", ""},
                                      AdapterSource{"french.gguf", root_ + "/adapters"}}) {
    const auto adapter = value(read(source));
    ASSERT_NE(adapter, nullptr) << source.path;
    EXPECT_EQ(adapter->digest(), digest);
  }
}

TEST_F(AdapterFolder, SaysTheBytesOfItsMatricesUnread) {
  write("adapters/any.gguf", "not of an adapter");
  const auto reader = make_adapter_reader(small_spec());
  const auto bytes_of = [&](const AdapterSource& source) { return reader->bytes_of(source); };
  EXPECT_EQ(bytes_of({root_ + "/adapters/any.gguf", ""}).value(), 17u);
  EXPECT_EQ(bytes_of({"any.gguf", root_ + "/adapters"}).value(), 17u);
  EXPECT_EQ(bytes_of({"french", root_ + "/adapters"}).value(),
            std::filesystem::file_size(root_ + "/adapters/french/adapter_model.safetensors"));
  EXPECT_EQ(bytes_of({"none", root_ + "/adapters"}).error().code(), ErrorCode::NotFound);
}

TEST_F(AdapterFolder, IsACopyOnceRead) {
  const auto adapter = value(read({.path = root_ + "/adapters/french"}));
  const auto* number = reinterpret_cast<const float*>(adapter->find(0, Projection::Query)->a);
  const float before = *number;
  write("adapters/french/adapter_model.safetensors",
        test::safetensors_of(peft_tensors(small_pairs(4, 2))));
  EXPECT_EQ(*number, before);
  EXPECT_NE(value(read({.path = root_ + "/adapters/french"}))->digest(), adapter->digest());
}

TEST_F(AdapterFolder, IsRefusedIfAPathOrALinkLeavesIt) {
  const std::string adapters = root_ + "/adapters";
  std::filesystem::create_directories(root_ + "/other");
  std::filesystem::rename(adapters + "/french/adapter_model.safetensors",
                          root_ + "/other/adapter_model.safetensors");
  expect_refused(read({.path = adapters + "/french"}), ErrorCode::NotFound,
                 "has no adapter_model.safetensors");
  write("adapters/french/adapter_model.bin", "");
  expect_refused(read({.path = adapters + "/french"}), ErrorCode::NotFound,
                 "adapter_model.bin can run code");
  std::filesystem::create_symlink(root_ + "/other/adapter_model.safetensors",
                                  adapters + "/french/adapter_model.safetensors");
  expect_refused(read({"french", adapters}), ErrorCode::PermissionDenied,
                 "adapter_model.safetensors is a link that leaves its folder");
  expect_refused(read({"../other", adapters}), ErrorCode::PermissionDenied, "does not lie below");
  expect_refused(read({root_ + "/other", adapters}), ErrorCode::PermissionDenied,
                 "does not lie below");
  std::filesystem::create_directory_symlink(root_ + "/other", adapters + "/linked");
  expect_refused(read({"linked", adapters}), ErrorCode::PermissionDenied,
                 "linked is a link that leaves its folder");
  expect_refused(read({"none", adapters}), ErrorCode::NotFound, "none");
  expect_refused(read({.path = root_ + "/other"}), ErrorCode::NotFound,
                 "has no adapter_config.json");
}

// A snapshot in Hugging Face's cache consists of links to ../../blobs.
TEST_F(AdapterFolder, OfTheUserOfThisMachineMayConsistOfLinksThatLeadOut) {
  namespace fs = std::filesystem;
  const fs::path french = root_ + "/adapters/french";
  const fs::path snapshot = root_ + "/snapshots/1";
  fs::create_directories(snapshot);
  fs::create_directories(root_ + "/blobs");
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"}) {
    fs::copy_file(french / name, root_ + "/blobs/" + name);
    fs::create_symlink(fs::path("../../blobs") / name, snapshot / name);
  }
  EXPECT_EQ(value(read({.path = snapshot.string()}))->digest(),
            value(read({.path = french.string()}))->digest());
  expect_refused(read({"1", root_ + "/snapshots"}), ErrorCode::PermissionDenied,
                 "is a link that leaves its folder");
}

TEST(AdapterReader, RefusesAnUploadThatIsNoAdapter) {
  std::vector<AdapterFile> files;
  files.push_back({"readme.md", {}});
  expect_refused(make_adapter_reader(small_spec())->read(std::move(files), {}),
                 ErrorCode::InvalidArgument, "given are 1 files: \"readme.md\"");
}

}  // namespace
}  // namespace quire::inference
