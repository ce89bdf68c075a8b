// Every way to break a model file that a list can name: cut anywhere, any field given an extreme
// value, counts that lie, tensors that overlap. The answer is an Error or a model that reads.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "inference/architectures/model_files.h"
#include "support/first_layer.h"
#include "support/gguf_builder.h"
#include "support/tiny_gguf.h"

namespace quire::inference {
namespace {

using test::GgufBuilder;
constexpr std::uint32_t kF32 = 0;

void add_matrix(GgufBuilder& builder, const std::string& name, std::uint64_t row_count,
                std::uint64_t column_count) {
  std::string bytes(row_count * column_count * sizeof(float), '\0');
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    bytes[index] = static_cast<char>(index % 61);
  }
  if (row_count == 1) {
    builder.add_tensor(name, {column_count}, kF32, bytes);
  } else {
    builder.add_tensor(name, {column_count, row_count}, kF32, bytes);
  }
}

constexpr std::size_t kTokenCount = 16;

// `tokens` come first among sixteen; `wide_key` is given as a u64 of 2^32 more, `no_key` not at
// all.
void add_metadata(GgufBuilder& builder, std::vector<std::string> tokens = {}, std::int32_t type = 1,
                  const std::string& wide_key = {}, const std::string& no_key = {}) {
  const auto add_count = [&](const std::string& key, std::uint32_t value) {
    if (key == no_key) return;
    if (key != wide_key) return builder.add_u32(key, value);
    builder.add_scalar(key, GgufType::U64, (std::uint64_t{1} << 32) + value);
  };
  builder.add_text("general.architecture", "llama");
  builder.add_u32("general.alignment", 32);
  add_count("llama.context_length", 128);
  add_count("llama.embedding_length", 32);
  add_count("llama.block_count", 1);
  add_count("llama.feed_forward_length", 16);
  add_count("llama.attention.head_count", 2);
  add_count("llama.attention.head_count_kv", 1);
  builder.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  builder.add_f32("llama.rope.freq_base", 10000.0f);
  while (tokens.size() < kTokenCount) tokens.push_back("t" + std::to_string(tokens.size()));
  builder.add_texts("tokenizer.ggml.tokens", tokens);
  builder.add_numbers("tokenizer.ggml.token_type", GgufType::I32,
                      std::vector<std::int32_t>(kTokenCount, type));
  builder.add_numbers("tokenizer.ggml.scores", GgufType::F32, std::vector<float>(16, 0.5f));
  builder.add_bool("tokenizer.ggml.add_bos_token", true);
  builder.add_u32("tokenizer.ggml.eos_token_id", 2);
  builder.add_scalar("test.u64", GgufType::U64, std::uint64_t{1});
  builder.add_scalar("test.i16", GgufType::I16, std::int16_t{-1});
}

void add_tensors(GgufBuilder& builder) {
  add_matrix(builder, "token_embd.weight", 16, 32);
  add_matrix(builder, "output_norm.weight", 1, 32);
  add_matrix(builder, "blk.0.attn_norm.weight", 1, 32);
  add_matrix(builder, "blk.0.attn_q.weight", 32, 32);
  add_matrix(builder, "blk.0.attn_k.weight", 16, 32);
  add_matrix(builder, "blk.0.attn_v.weight", 16, 32);
  add_matrix(builder, "blk.0.attn_output.weight", 32, 32);
  add_matrix(builder, "blk.0.ffn_norm.weight", 1, 32);
  add_matrix(builder, "blk.0.ffn_gate.weight", 16, 32);
  add_matrix(builder, "blk.0.ffn_up.weight", 16, 32);
  add_matrix(builder, "blk.0.ffn_down.weight", 32, 16);
}

// A whole llama of about 20 KB.
GgufBuilder tiny_model() {
  GgufBuilder builder;
  add_metadata(builder);
  add_tensors(builder);
  return builder;
}

Result<std::unique_ptr<ModelFiles>> open_bytes(std::string_view file) {
  return open_gguf_model(std::make_shared<MemorySource>("test.gguf", test::to_bytes(file)));
}

// An error, or a model every byte of which can be read.
bool refused_or_readable(std::string_view file) {
  Result<std::unique_ptr<ModelFiles>> model = open_bytes(file);
  return !model.ok() || digest_model(*model.value()).ok();
}

void expect_refused(const std::string& file, ErrorCode code, const std::string& says) {
  Result<std::unique_ptr<ModelFiles>> model = open_bytes(file);
  ASSERT_FALSE(model.ok()) << "accepted; expected: " << says;
  EXPECT_EQ(model.error().code(), code) << model.error().message();
  EXPECT_NE(model.error().message().find(says), std::string::npos) << model.error().message();
}

class HostileGguf : public testing::Test {
 protected:
  // The file with `value` in the named field (its first occurrence).
  template <typename T>
  std::string with(const std::string& field, T value) const {
    for (const GgufBuilder::Field& each : builder_.fields()) {
      if (each.name != field) continue;
      EXPECT_EQ(each.bytes, sizeof(T)) << field;
      std::string changed = file_;
      std::memcpy(changed.data() + each.offset, &value, sizeof(T));
      return changed;
    }
    ADD_FAILURE() << "no field " << field;
    return file_;
  }

  GgufBuilder builder_ = tiny_model();
  const std::string file_ = builder_.build();
};

TEST_F(HostileGguf, IsAcceptedWhole) {
  Result<std::unique_ptr<ModelFiles>> model = open_bytes(file_);
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(test::attention_of(model.value()->spec()).head_dim, 16u);
  EXPECT_TRUE(model.value()->spec().tied_embeddings);
  EXPECT_EQ(model.value()->spec().add_bos, std::optional(true));
  EXPECT_GT(file_.size(), 18000u);
}

TEST_F(HostileGguf, IsRefusedWhenCutAtAnyByte) {
  for (std::size_t bytes = 0; bytes < file_.size(); ++bytes) {
    Result<std::unique_ptr<ModelFiles>> model =
        open_bytes(std::string_view(file_).substr(0, bytes));
    ASSERT_FALSE(model.ok()) << "accepted " << bytes << " of " << file_.size() << " bytes";
  }
}

TEST_F(HostileGguf, IsRefusedOrReadableWithAnyFieldAtAnExtreme) {
  std::size_t refused_count = 0;
  for (const GgufBuilder::Field& field : builder_.fields()) {
    const std::uint64_t all_ones = ~std::uint64_t{0} >> (64 - 8 * field.bytes);
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, all_ones, all_ones - 1,
                                      std::uint64_t{1} << (8 * field.bytes - 1)}) {
      std::string changed = file_;
      std::memcpy(changed.data() + field.offset, &value, field.bytes);
      ASSERT_TRUE(refused_or_readable(changed)) << field.name << " = " << value;
      refused_count += open_bytes(changed).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused_count, builder_.fields().size() * 2);
}

TEST_F(HostileGguf, IsRefusedOrReadableWithAnyHeaderByteFlipped) {
  const std::size_t header_bytes = builder_.fields().back().offset + 8;
  for (std::size_t offset = 0; offset < header_bytes; ++offset) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = file_;
      changed[offset] = static_cast<char>(changed[offset] ^ (1 << bit));
      ASSERT_TRUE(refused_or_readable(changed)) << "byte " << offset << " bit " << bit;
    }
  }
}

TEST_F(HostileGguf, NamesTheVersionsItReads) {
  expect_refused(with("version", std::uint32_t{1}), ErrorCode::NotSupported,
                 "byte 4: GGUF version 1 is not read; versions 2 and 3 are");
  expect_refused(with("version", std::uint32_t{4}), ErrorCode::NotSupported, "version 4");
  expect_refused(with("version", std::uint32_t{0x03000000}), ErrorCode::NotSupported, "big-endian");
  expect_refused(with("magic", std::uint32_t{0x46464952}), ErrorCode::Corrupted, "GGUF");
  EXPECT_TRUE(open_bytes(with("version", std::uint32_t{2})).ok());
}

TEST_F(HostileGguf, DoesNotTrustCounts) {
  const std::uint64_t huge = std::uint64_t{1} << 60;
  expect_refused(with("tensor count", huge), ErrorCode::Corrupted, "byte 8: the file says");
  expect_refused(with("tensor count", std::uint64_t{60000}), ErrorCode::Corrupted, "byte 8");
  expect_refused(with("metadata count", huge), ErrorCode::Corrupted, "byte 16");
  expect_refused(with("tokenizer.ggml.tokens element count", huge), ErrorCode::Corrupted,
                 "\"tokenizer.ggml.tokens\" says 1152921504606846976 elements");
  expect_refused(with("tokenizer.ggml.scores element count", huge), ErrorCode::Corrupted,
                 "tokenizer.ggml.scores");
  expect_refused(with("general.architecture length", huge), ErrorCode::Corrupted, "key 0 says");
}

TEST_F(HostileGguf, RefusesTypesThatItDoesNotKnow) {
  expect_refused(with("general.architecture type", std::uint32_t{13}), ErrorCode::Corrupted,
                 "has the unknown type 13");
  expect_refused(with("tokenizer.ggml.scores element type", std::uint32_t{77}),
                 ErrorCode::Corrupted, "has the unknown element type 77");
  expect_refused(with("tokenizer.ggml.scores element type", std::uint32_t{9}),
                 ErrorCode::NotSupported, "is an array of arrays");
  expect_refused(with("token_embd.weight type", std::uint32_t{10}), ErrorCode::NotSupported,
                 "has the number format Q2_K");
  expect_refused(with("token_embd.weight type", std::uint32_t{4}), ErrorCode::Corrupted,
                 "has the unknown number format 4");
  expect_refused(with("tokenizer.ggml.add_bos_token value", std::uint8_t{2}), ErrorCode::Corrupted,
                 "is a bool of 2");
  expect_refused(with("blk.0.attn_q.weight type", std::uint32_t{12}), ErrorCode::Corrupted,
                 "not whole Q4_K blocks of 256");
}

TEST_F(HostileGguf, ChecksWhereTensorsLie) {
  expect_refused(with("blk.0.attn_q.weight offset", std::uint64_t{0}), ErrorCode::Corrupted,
                 "overlap");
  expect_refused(with("blk.0.attn_q.weight offset", std::uint64_t{8}), ErrorCode::Corrupted,
                 "is not a multiple of the alignment 32");
  expect_refused(with("blk.0.attn_q.weight offset", std::uint64_t{1} << 40), ErrorCode::Corrupted,
                 "takes 4096 bytes at offset");
  expect_refused(with("blk.0.attn_q.weight offset", ~std::uint64_t{31}), ErrorCode::Corrupted,
                 "takes 4096 bytes at offset");
  for (const std::uint32_t alignment : {0u, 3u, 33u, 1u << 31}) {
    expect_refused(with("general.alignment value", alignment), ErrorCode::Corrupted,
                   "general.alignment is");
  }
}

TEST_F(HostileGguf, ChecksDimensions) {
  const std::uint64_t huge = std::uint64_t{1} << 62;
  expect_refused(with("token_embd.weight dimension", std::uint64_t{0}), ErrorCode::Corrupted,
                 "dimension 0 is 0");
  expect_refused(with("token_embd.weight dimension", huge), ErrorCode::Corrupted,
                 "is larger than the file's");
  expect_refused(with("token_embd.weight dimension count", std::uint32_t{5}), ErrorCode::Corrupted,
                 "has 5 dimensions; 1 to 4 were expected");
  expect_refused(with("token_embd.weight dimension", std::uint64_t{16}), ErrorCode::Corrupted,
                 "the model's shape wants");
}

TEST_F(HostileGguf, ChecksHyperparameters) {
  expect_refused(with("llama.attention.head_count value", std::uint32_t{0}), ErrorCode::Corrupted,
                 "head_count is 0");
  expect_refused(with("llama.attention.head_count value", std::uint32_t{3}),
                 ErrorCode::NotSupported, "head_dim is 10");
  expect_refused(with("llama.attention.head_count_kv value", std::uint32_t{0}),
                 ErrorCode::Corrupted, "kv head count is 0");
  expect_refused(with("llama.block_count value", std::uint32_t{5000}), ErrorCode::Corrupted,
                 "layer count is 5000; 1 to 1024");
  expect_refused(with("llama.block_count value", std::uint32_t{2}), ErrorCode::Corrupted,
                 "the tensor blk.1.attn_norm.weight is missing");
  expect_refused(with("llama.attention.layer_norm_rms_epsilon value", -1.0f), ErrorCode::Corrupted,
                 "rms epsilon");
  expect_refused(with("llama.rope.freq_base value", 0.0f), ErrorCode::Corrupted, "rope theta");
  expect_refused(with("tokenizer.ggml.eos_token_id value", std::uint32_t{16}), ErrorCode::Corrupted,
                 "beyond the vocabulary of 16");
  expect_refused(with("llama.block_count type", std::uint32_t{6}), ErrorCode::Corrupted,
                 "\"llama.block_count\" is f32 where an integer");
}

TEST_F(HostileGguf, RefusesRepeatedNames) {
  GgufBuilder keys = tiny_model();
  keys.add_u32("llama.block_count", 1);
  expect_refused(keys.build(), ErrorCode::Corrupted, "key \"llama.block_count\" appears twice");
  GgufBuilder tensors = tiny_model();
  add_matrix(tensors, "blk.0.attn_q.weight", 32, 32);
  expect_refused(tensors.build(), ErrorCode::Corrupted,
                 "tensor \"blk.0.attn_q.weight\" appears twice");
}

TEST_F(HostileGguf, RefusesTensorsThatNoSwitchExplains) {
  GgufBuilder builder = tiny_model();
  add_matrix(builder, "blk.0.attn_sub_norm.weight", 1, 32);
  expect_refused(builder.build(), ErrorCode::NotSupported,
                 "has no use for the tensor \"blk.0.attn_sub_norm.weight\"");
}

TEST_F(HostileGguf, RefusesArchitecturesAndScalingsByName) {
  GgufBuilder architecture;
  architecture.add_text("general.architecture", "mamba\n\"x\"");
  add_matrix(architecture, "token_embd.weight", 16, 32);
  expect_refused(architecture.build(), ErrorCode::NotSupported, "\"mamba\\x0a\\x22x\\x22\"");
  GgufBuilder yarn = tiny_model();
  yarn.add_text("llama.rope.scaling.type", "yarn");
  expect_refused(yarn.build(), ErrorCode::NotSupported, "rope.scaling.type is \"yarn\"");
  GgufBuilder experts = tiny_model();
  experts.add_u32("llama.expert_count", 8);
  expect_refused(experts.build(), ErrorCode::NotSupported,
                 "models of this architecture have no experts");
  GgufBuilder partial = tiny_model();
  partial.add_u32("llama.rope.dimension_count", 8);
  expect_refused(partial.build(), ErrorCode::NotSupported, "rope.dimension_count is 8");
}

// The table has what llama.cpp does with each pair of type and factor: load_hparams of its
// llama-model.cpp.
TEST_F(HostileGguf, ReadsLinearScalingAsLlamaCppDoes) {
  struct Case {
    const char* type;
    const char* key;
    float factor;
    float divisor;
  };
  for (const Case& each :
       {Case{"linear", "factor", 4.0f, 4.0f}, Case{nullptr, "factor", 4.0f, 4.0f},
        Case{nullptr, "factor", 0.5f, 0.5f}, Case{"none", "factor", 4.0f, 1.0f},
        Case{nullptr, nullptr, 3.0f, 3.0f}, Case{"linear", nullptr, 3.0f, 3.0f},
        Case{"none", nullptr, 3.0f, 1.0f}, Case{"none", "other", 0.0f, 1.0f}}) {
    GgufBuilder builder = tiny_model();
    if (each.type != nullptr) builder.add_text("llama.rope.scaling.type", each.type);
    builder.add_f32(each.key == nullptr ? std::string("llama.rope.scale_linear")
                                        : std::string("llama.rope.scaling.") + each.key,
                    each.factor);
    Result<std::unique_ptr<ModelFiles>> model = open_bytes(builder.build());
    ASSERT_TRUE(model.ok()) << model.error().message();
    std::vector<float> factors = model.value()->spec().ropes.front().factors;
    if (factors.empty()) factors.assign(8, 1.0f);
    EXPECT_EQ(factors, std::vector<float>(8, each.divisor)) << each.factor;
  }
  GgufBuilder both = tiny_model();
  both.add_f32("llama.rope.scale_linear", 2.0f);
  both.add_f32("llama.rope.scaling.factor", 8.0f);
  EXPECT_EQ(open_bytes(both.build()).value()->spec().ropes.front().factors,
            std::vector<float>(8, 8.0f));
}

TEST_F(HostileGguf, RefusesRopeNumbersThatMeanNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float factor : {0.0f, -4.0f, nan, infinity, 1e30f}) {
    GgufBuilder builder = tiny_model();
    builder.add_f32("llama.rope.scaling.factor", factor);
    expect_refused(builder.build(), ErrorCode::Corrupted, "factor");
  }
  for (const float theta : {0.0f, -1.0f, nan, infinity}) {
    expect_refused(with("llama.rope.freq_base value", theta), ErrorCode::Corrupted, "rope theta");
  }
  for (const float epsilon : {0.0f, nan, infinity}) {
    expect_refused(with("llama.attention.layer_norm_rms_epsilon value", epsilon),
                   ErrorCode::Corrupted, "rms epsilon");
  }
  GgufBuilder whole = tiny_model();
  whole.add_u32("llama.rope.scaling.factor", 4);
  expect_refused(whole.build(), ErrorCode::Corrupted,
                 "\"llama.rope.scaling.factor\" is u32 4 where a floating-point number");
  GgufBuilder missing = tiny_model();
  missing.add_text("llama.rope.scaling.type", "linear");
  expect_refused(missing.build(), ErrorCode::Corrupted, "there is no rope.scaling.factor");
  for (const char* type : {"yarn", "longrope", "llama3", ""}) {
    GgufBuilder builder = tiny_model();
    builder.add_text("llama.rope.scaling.type", type);
    builder.add_f32("llama.rope.scaling.factor", 4.0f);
    expect_refused(builder.build(), ErrorCode::NotSupported,
                   "rope.scaling.type is \"" + std::string(type) + "\"");
  }
  GgufBuilder magnitude = tiny_model();
  magnitude.add_f32("llama.rope.scaling.attn_factor", 1.5f);
  expect_refused(magnitude.build(), ErrorCode::NotSupported, "rope.scaling.attn_factor is 1.5");
}

// llama.cpp reads these for other architectures alone.
TEST_F(HostileGguf, IgnoresKeysThatTheArchitectureDoesNotRead) {
  GgufBuilder builder = tiny_model();
  builder.add_u32("llama.attention.sliding_window", 24);
  builder.add_f32("llama.attention.scale", 0.5f);
  builder.add_f32("llama.residual_scale", 0.22f);
  builder.add_f32("llama.embedding_scale", 12.0f);
  builder.add_f32("llama.logit_scale", 8.0f);
  builder.add_f32("llama.final_logit_softcapping", 30.0f);
  builder.add_f32("llama.attention.clamp_kqv", 0.1f);
  Result<std::unique_ptr<ModelFiles>> model = open_bytes(builder.build());
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(test::attention_of(model.value()->spec()).sliding_window, 0u);
  EXPECT_EQ(hex(digest_model(*model.value()).value()),
            hex(digest_model(*open_bytes(file_).value()).value()));
}

TEST_F(HostileGguf, RefusesWhatChangesTheOutputAndIsNotSupported) {
  GgufBuilder bidirectional = tiny_model();
  bidirectional.add_bool("llama.attention.causal", false);
  expect_refused(bidirectional.build(), ErrorCode::NotSupported, "attention.causal is false");
  GgufBuilder drafting = tiny_model();
  drafting.add_u32("llama.nextn_predict_layers", 1);
  expect_refused(drafting.build(), ErrorCode::NotSupported, "nextn_predict_layers is 1");
}

// Without its biases a Qwen 2 model would run, and say something else.
TEST_F(HostileGguf, MissesTheTensorsThatEveryModelOfAnArchitectureHas) {
  for (const auto& [model, part, missing] :
       {std::tuple("tiny_qwen2", ".bias", "blk.0.attn_q.bias"),
        std::tuple("tiny_qwen3", "_norm.weight", "blk.0.attn_q_norm.weight")}) {
    const GgufBuilder whole = test::tiny_gguf_builder(model);
    GgufBuilder without = whole.split({0}).front();
    for (const auto& tensor : whole.tensors()) {
      const bool is_left_out = tensor.name.find("attn_") != std::string::npos &&
                               tensor.name.find("attn_norm") == std::string::npos &&
                               tensor.name.ends_with(part);
      if (is_left_out) continue;
      without.add_tensor(tensor.name, tensor.dimensions, tensor.type, tensor.bytes);
    }
    expect_refused(without.build(), ErrorCode::Corrupted,
                   "the tensor " + std::string(missing) + " is missing");
  }
}

std::vector<std::uint32_t> stop_ids(GgufBuilder& builder) {
  Result<std::unique_ptr<ModelFiles>> model = open_bytes(builder.build());
  std::vector<std::uint32_t> ids;
  if (!model.ok()) {
    ADD_FAILURE() << model.error().message();
    return ids;
  }
  for (const TokenId id : model.value()->spec().stop_ids) {
    ids.push_back(static_cast<std::uint32_t>(id));
  }
  return ids;
}

// A whole llama with these tokens, of the type normal (1) or another.
GgufBuilder with_tokens(std::vector<std::string> tokens, std::int32_t type) {
  GgufBuilder builder;
  add_metadata(builder, std::move(tokens), type);
  add_tensors(builder);
  return builder;
}

TEST_F(HostileGguf, StopsAtTokensByTheirTextWhateverTheirType) {
  for (const std::int32_t type : {1, 3, 4, 5}) {
    GgufBuilder chat =
        with_tokens({"a", "b", "</s>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>",
                     "<\uff5cend\u2581of\u2581sentence\uff5c>", "<|im_end|> ", "<|file_sep|>"},
                    type);
    EXPECT_EQ(stop_ids(chat), (std::vector<std::uint32_t>{2, 4, 5, 6, 7, 9})) << type;
  }
  // In these vocabularies, <|end|> and </s> stand within a text.
  GgufBuilder harmony =
      with_tokens({"<|end|>", "<|return|>", "b", "<|call|>", "<|start|>", "</s>"}, 3);
  EXPECT_EQ(stop_ids(harmony), (std::vector<std::uint32_t>{1, 2, 3, 5})) << "2 is the eos_token_id";
  GgufBuilder gemma = with_tokens({"</s>", "<|tool_response>", "<eos>"}, 3);
  EXPECT_EQ(stop_ids(gemma), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(HostileGguf, StopsAtEveryTokenThatTheMetadataNames) {
  GgufBuilder builder = tiny_model();
  std::uint32_t id = 3;
  for (const char* key : {"eot_token_id", "eom_token_id", "fim_pad_token_id", "fim_rep_token_id",
                          "fim_sep_token_id"}) {
    builder.add_u32(std::string("tokenizer.ggml.") + key, id++);
  }
  EXPECT_EQ(stop_ids(builder), (std::vector<std::uint32_t>{2, 3, 4, 5, 6, 7}));
  GgufBuilder none = tiny_model();
  none.add_scalar("tokenizer.ggml.eot_token_id", GgufType::I32, std::int32_t{-1});
  EXPECT_EQ(stop_ids(none), std::vector<std::uint32_t>{2});
  GgufBuilder negative = tiny_model();
  negative.add_scalar("tokenizer.ggml.eot_token_id", GgufType::I32, std::int32_t{-2});
  expect_refused(negative.build(), ErrorCode::Corrupted, "eot_token_id is -2");
  for (const std::uint64_t beyond : {std::uint64_t{16}, std::uint64_t{1} << 31,
                                     (std::uint64_t{1} << 32) + 2, ~std::uint64_t{0}}) {
    GgufBuilder builder_of_beyond = tiny_model();
    builder_of_beyond.add_scalar("tokenizer.ggml.eot_token_id", GgufType::U64, beyond);
    expect_refused(builder_of_beyond.build(), ErrorCode::Corrupted, "");
  }
}

// llama.cpp takes a number for all layers or a list of one for each.
TEST_F(HostileGguf, TakesAListOfEqualNumbersForAllLayers) {
  for (const char* key : {"llama.attention.head_count", "llama.attention.head_count_kv",
                          "llama.feed_forward_length"}) {
    const auto build = [&](const std::vector<std::int32_t>& numbers) {
      GgufBuilder builder;
      add_metadata(builder, {}, 1, {}, key);
      builder.add_numbers(key, GgufType::I32, numbers);
      add_tensors(builder);
      return builder.build();
    };
    const std::map<std::string, std::int32_t> right = {{"llama.attention.head_count", 2},
                                                       {"llama.attention.head_count_kv", 1},
                                                       {"llama.feed_forward_length", 16}};
    EXPECT_TRUE(open_bytes(build({right.at(key)})).ok()) << key;
    expect_refused(build({right.at(key), right.at(key)}), ErrorCode::Corrupted,
                   std::string(key) + " has 2 numbers for 1 layers");
    expect_refused(build({}), ErrorCode::Corrupted, "has 0 numbers for 1 layers");
    expect_refused(build({-1}), ErrorCode::Corrupted, std::string(key) + " holds -1");
  }
}

TEST_F(HostileGguf, NeverWrapsANumber) {
  for (const char* key : {"llama.block_count", "llama.context_length", "llama.embedding_length",
                          "llama.attention.head_count", "llama.feed_forward_length"}) {
    GgufBuilder wide;
    add_metadata(wide, {}, 1, key);
    add_tensors(wide);
    expect_refused(wide.build(), ErrorCode::Corrupted,
                   "where an integer of 0 to 2^32 - 1 was expected");
  }
}

TEST_F(HostileGguf, ReadsEveryTypeOfMetadata) {
  GgufBuilder builder = tiny_model();
  builder.add_scalar("a.u8", GgufType::U8, std::uint8_t{200});
  builder.add_scalar("a.i8", GgufType::I8, std::int8_t{-100});
  builder.add_scalar("a.u16", GgufType::U16, std::uint16_t{60000});
  builder.add_scalar("a.i64", GgufType::I64, std::int64_t{-5});
  builder.add_scalar("a.f64", GgufType::F64, 0.25);
  builder.add_numbers("a.bools", GgufType::Bool, std::vector<std::uint8_t>{1, 0, 1});
  builder.add_numbers("a.u8s", GgufType::U8, std::vector<std::uint8_t>{1, 255});
  builder.add_numbers("a.empty", GgufType::I32, std::vector<std::int32_t>{});
  Result<std::unique_ptr<ModelFiles>> model = open_bytes(builder.build());
  ASSERT_TRUE(model.ok()) << model.error().message();
  const GgufMetadata& metadata = *model.value()->gguf_metadata();
  EXPECT_EQ(metadata.u32("a.u8").value(), 200u);
  EXPECT_EQ(metadata.find_i32("a.i8").value(), std::optional(-100));
  EXPECT_FALSE(metadata.u32("a.i8").ok());
  EXPECT_EQ(metadata.find_u64("a.u16").value(), std::optional<std::uint64_t>(60000));
  EXPECT_EQ(metadata.find_i32("a.i64").value(), std::optional(-5));
  EXPECT_EQ(metadata.real("a.f64").value(), 0.25);
  EXPECT_EQ(metadata.find("a.bools")->count, 3u);
  EXPECT_EQ(metadata.integers("a.u8s").value(), (std::vector<std::int32_t>{1, 255}));
  EXPECT_TRUE(metadata.integers("a.empty").value().empty());
  EXPECT_EQ(metadata.reals("tokenizer.ggml.scores").value(), std::vector<float>(16, 0.5f));
  EXPECT_EQ((*metadata.texts("tokenizer.ggml.tokens").value())[15], "t15");
  EXPECT_EQ(metadata.find_i32("test.i16").value(), std::optional(-1));
  EXPECT_EQ(metadata.text("no.such").error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(metadata.texts("a.u8s").ok());
  EXPECT_FALSE(metadata.reals("a.u8s").ok());
  EXPECT_FALSE(metadata.integers("tokenizer.ggml.tokens").ok());
  EXPECT_FALSE(metadata.find_bool("a.u8").ok());
  EXPECT_FALSE(metadata.find_text("a.u8").ok());
  EXPECT_FALSE(metadata.find_real("a.u8").ok());
}

TEST(GgufModel, EachFourthLayerOfSmolLm3DoesNotTurnItsHeads) {
  const auto model =
      open_bytes(test::tiny_gguf_builder("tiny_llama", NumberFormat::F32, "smollm3").build());
  ASSERT_TRUE(model.ok()) << model.error().message();
  const ModelSpec& spec = model.value()->spec();
  ASSERT_EQ(spec.layer_count(), 4u);
  for (std::uint32_t layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(spec.layers[layer].attention()->rope.has_value(), layer != 3) << layer;
  }
}

}  // namespace
}  // namespace quire::inference
