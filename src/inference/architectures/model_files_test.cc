#include "inference/architectures/model_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/first_layer.h"
#include "support/golden_files.h"
#include "support/tiny_gguf.h"

namespace quire::inference {
namespace {

using test::attention_of;
using test::dense_of;

using test::golden_path;

std::unique_ptr<ModelFiles> open_or_fail(const std::string& path) {
  Result<std::unique_ptr<ModelFiles>> opened = open_model(path);
  EXPECT_TRUE(opened.ok()) << opened.error().message();
  return opened.ok() ? std::move(opened).take() : nullptr;
}

TEST(ModelFiles, ReadsALlamaFolderWithLlama3Scaling) {
  const auto model = open_or_fail(golden_path("tiny_llama"));
  ASSERT_NE(model, nullptr);
  const ModelSpec& spec = model->spec();
  EXPECT_EQ(spec.name, "tiny_llama");
  EXPECT_EQ(spec.architecture, "llama");
  EXPECT_EQ(spec.vocabulary_size, 1024u);
  EXPECT_EQ(spec.context_length, 2048u);
  EXPECT_EQ(spec.embedding_width, 128u);
  EXPECT_EQ(spec.layer_count(), 4u);
  EXPECT_EQ(attention_of(spec).head_count, 8u);
  EXPECT_EQ(attention_of(spec).kv_head_count, 2u);
  EXPECT_EQ(attention_of(spec).head_dim, 16u);
  EXPECT_EQ(dense_of(spec).width, 352u);
  EXPECT_EQ(spec.rms_epsilon, 1e-5f);
  EXPECT_EQ(spec.ropes.front().theta, 500000.0);
  ASSERT_EQ(spec.ropes.front().factors.size(), 8u);
  EXPECT_EQ(spec.ropes.front().factors.front(), 1.0f);
  EXPECT_EQ(spec.ropes.front().factors.back(), 8.0f);
  EXPECT_EQ(attention_of(spec).qk_norm, QkNorm::None);
  EXPECT_FALSE(attention_of(spec).has_qkv_bias);
  EXPECT_FALSE(spec.tied_embeddings);
  EXPECT_EQ(spec.eos_id, 0);
  EXPECT_EQ(spec.stop_ids, std::vector<TokenId>{TokenId{0}});
  EXPECT_EQ(model->weights().tensor_count(), 3u + 4 * 9);
  EXPECT_FALSE(model->tokenizer_texts().tokenizer_json.empty());
  EXPECT_EQ(model->gguf_metadata(), nullptr);
}

TEST(ModelFiles, ReadsTheSwitchesOfQwen2AndQwen3) {
  const auto qwen2 = open_or_fail(golden_path("tiny_qwen2"));
  ASSERT_NE(qwen2, nullptr);
  EXPECT_TRUE(attention_of(qwen2->spec()).has_qkv_bias);
  EXPECT_FALSE(attention_of(qwen2->spec()).has_output_bias);
  EXPECT_TRUE(qwen2->spec().tied_embeddings);
  EXPECT_EQ(attention_of(qwen2->spec()).sliding_window, 0u);
  EXPECT_NE(qwen2->weights().find(TensorRole::AttentionKBias, 1), nullptr);
  EXPECT_EQ(qwen2->weights().find(TensorRole::Output), nullptr);

  const auto qwen3 = open_or_fail(golden_path("tiny_qwen3"));
  ASSERT_NE(qwen3, nullptr);
  EXPECT_EQ(attention_of(qwen3->spec()).qk_norm, QkNorm::EachHead);
  EXPECT_FALSE(attention_of(qwen3->spec()).has_qkv_bias);
  EXPECT_EQ(attention_of(qwen3->spec()).head_dim, 32u);
  EXPECT_TRUE(qwen3->spec().ropes.front().factors.empty());
  EXPECT_EQ(qwen3->weights().find(TensorRole::AttentionQ, 2)->row_count, 192u);
}

// The digest covers roles, shapes and every byte in the order read, so that equal digests say that
// un-interleaving, factors, names and hyperparameters all came out the same.
TEST(ModelFiles, GivesTheSameDigestFromGgufAsFromSafetensors) {
  for (const char* name : {"tiny_llama", "tiny_qwen2", "tiny_qwen3"}) {
    const auto folder = open_or_fail(golden_path(name));
    const std::string path = test::write_tiny_gguf(name);
    const auto gguf = open_or_fail(path);
    ASSERT_NE(folder, nullptr);
    ASSERT_NE(gguf, nullptr);
    EXPECT_EQ(hex(digest_model(*folder).value()), hex(digest_model(*gguf).value())) << name;
    EXPECT_EQ(gguf->gguf_metadata()->texts("tokenizer.ggml.tokens").value()->size(), 1024u);
    std::remove(path.c_str());
  }
}

// Pages and snapshots that exist are named by these.
TEST(ModelFiles, KeepsTheDigestsOfModelsThatWereSaved) {
  const std::pair<const char*, const char*> saved[] = {
      {"tiny_llama", "cc4a74165117ab5a56f807fd4d6e6c3c98eaf3d9ae0bf36d73a08cab8e278d84"},
      {"tiny_qwen2", "4dc539171f0d7e1b01db00fcdfd584c60ad6b40c38b50fbef7b528f8b799fb88"},
      {"tiny_qwen3", "53b458d1368d8577468da589b308c48163ca0f3ee97765091015e2bbb947442a"},
      {"experts/qwen2moe_8", "0d22ee229805bcad77308e4d342ba7ebafc46285443bca66d2941450aa075c82"},
      {"experts/qwen3moe_8.gguf",
       "84981001c5e93db99db5c6ca0ef5ad1714e781fd0d422b5dc9d09ad067cd968b"}};
  for (const auto& [name, digest] : saved) {
    const auto model = open_or_fail(golden_path(name));
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(hex(digest_model(*model).value()), digest) << name;
  }
  ModelSpec spec;  // Its layers differ.
  spec.architecture = "smollm3";
  spec.vocabulary_size = 64;
  spec.embedding_width = 32;
  spec.rms_epsilon = 1e-5f;
  spec.ropes.resize(1);
  spec.layers.assign(2, {AttentionSpec{.head_count = 2, .kv_head_count = 1, .head_dim = 16},
                         DenseSpec{.width = 48}});
  spec.layers[1].attention()->rope.reset();
  spec.layers[1].attention()->sliding_window = 8;
  EXPECT_EQ(hex(ModelDigester(spec).finish()),
            "ed900941b16cb8180cdbee8edc0633f1a5035aa2f0173d320e5da2b5d1f892ea");
}

TEST(ModelFiles, ReadsInterleavedRowsTheSameInAnyPieces) {
  auto source = std::make_shared<MemorySource>(
      "memory", test::to_bytes(test::tiny_gguf("tiny_llama", NumberFormat::Q8_0)));
  Result<std::unique_ptr<ModelFiles>> model = open_gguf_model(source);
  ASSERT_TRUE(model.ok()) << model.error().message();
  const WeightSource& weights = model.value()->weights();
  const TensorInfo& q = *weights.find(TensorRole::AttentionQ, 1);
  std::size_t index = 0;
  while (&weights.tensor(index) != &q) ++index;
  std::vector<std::byte> whole(q.bytes());
  ASSERT_TRUE(weights.read(index, 0, q.row_count, whole).ok());
  for (const std::uint32_t step : {1u, 7u, 16u, 50u}) {
    std::vector<std::byte> pieces(whole.size());
    for (std::uint32_t row = 0; row < q.row_count; row += step) {
      const std::uint32_t count = std::min(step, q.row_count - row);
      const auto piece = std::span(pieces).subspan(row * q.row_bytes(), count * q.row_bytes());
      ASSERT_TRUE(weights.read(index, row, count, piece).ok());
    }
    EXPECT_EQ(pieces, whole) << step;
  }
}

TEST(ModelFiles, GivesAnErrorWhenTheFileShrinksAfterwards) {
  const std::string path = test::write_tiny_gguf("tiny_qwen2", NumberFormat::F16);
  const auto model = open_or_fail(path);
  ASSERT_NE(model, nullptr);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  Result<Digest> digest = digest_model(*model);
  ASSERT_FALSE(digest.ok());
  EXPECT_EQ(digest.error().code(), ErrorCode::Corrupted);
  EXPECT_NE(digest.error().message().find("ends at byte"), std::string::npos);
  std::remove(path.c_str());
}

TEST(ModelFiles, RefusesWhatIsNoRegularFileAtOnce) {
  const std::string path = testing::TempDir() + "quire_pipe_" + std::to_string(getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto model = open_model(path);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message().find("is not a regular file"), std::string::npos);
  std::remove(path.c_str());
}

TEST(ModelFiles, NamesTheGgufModelsOfAFolderWithoutConfig) {
  const std::string folder = testing::TempDir() + "quire_ggufs_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const auto message = [&] { return std::string(open_model(folder).error().message()); };
  EXPECT_NE(message().find("\"" + folder +
                           "\": it is a folder without config.json, and so not a checkpoint"),
            std::string::npos);
  const std::string first = test::write_tiny_shards(folder, "one", "tiny_qwen2", {4});
  EXPECT_NE(message().find("it holds a GGUF model: name " + first), std::string::npos) << message();
  std::ofstream(folder + "/two.gguf") << "x";
  EXPECT_NE(message().find("it holds 2 GGUF models: name one, such as " + first), std::string::npos)
      << message();
  std::filesystem::remove_all(folder);
}

TEST(ModelFiles, SaysThatAFileIsEmpty) {
  const std::string path = testing::TempDir() + "quire_zero_" + std::to_string(getpid()) + ".gguf";
  std::ofstream(path).flush();
  const auto model = open_model(path);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message(), "cannot open the model \"" + path + "\": it is empty");
  std::remove(path.c_str());
}

// If the head differs from the embedding, transformers does not tie them either.
TEST(ModelFiles, TakesTheHeadOfAFileThatCallsItselfTied) {
  const std::string folder = testing::TempDir() + "quire_tied_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::copy(golden_path("tiny_llama/model.safetensors"), folder);
  nlohmann::json config =
      nlohmann::json::parse(read_file(golden_path("tiny_llama/config.json"), 1 << 20).value());
  config["tie_word_embeddings"] = true;
  std::ofstream(folder + "/config.json") << config.dump();
  const auto model = open_or_fail(folder);
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(model->spec().tied_embeddings);
  EXPECT_NE(model->weights().find(TensorRole::Output), nullptr);
  std::filesystem::remove_all(folder);
}

// Without head_dim, Qwen 3's class has 128; the norm of each head says what the file was made with.
TEST(ModelFiles, TakesTheHeadDimOfTheNormsWhereConfigHasNone) {
  const std::string folder = testing::TempDir() + "quire_norms_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::copy(golden_path("tiny_qwen3/model.safetensors"), folder);
  nlohmann::json config =
      nlohmann::json::parse(read_file(golden_path("tiny_qwen3/config.json"), 1 << 20).value());
  config.erase("head_dim");
  std::ofstream(folder + "/config.json") << config.dump();
  const auto model = open_or_fail(folder);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(attention_of(model->spec()).head_dim, 32u);
  std::filesystem::remove_all(folder);
}

TEST(ModelFiles, SaysWhichFileIsMissing) {
  const auto missing = open_model(golden_path("no_such_model"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::NotFound);
  const auto empty = open_model(golden_path(""));
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code(), ErrorCode::NotFound);
  EXPECT_NE(empty.error().message().find("config.json"), std::string::npos);
}

}  // namespace
}  // namespace quire::inference
