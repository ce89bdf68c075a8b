// The tokenizers against the recorded answers of other implementations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/sanitizer.h"
#include "inference/architectures/model_files.h"
#include "inference/tokenizer/pre_tokenizers.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/weights/byte_source.h"
#include "inference/weights/gguf_file.h"
#include "support/default_model.h"
#include "support/golden_files.h"

#ifndef QUIRE_ENGINES
TEST(PublishedTokenizer, NeedsEngines) {
  GTEST_SKIP() << "this build has no engines/ (QUIRE_WASM is OFF)";
}
#else

namespace quire::inference {
namespace {

using test::golden_path, test::read_or_fail;

std::unique_ptr<TextCodec> codec_of_gguf(const std::filesystem::path& path) {
  Result<File> opened = File::open(path.string());
  EXPECT_TRUE(opened.ok()) << opened.error().message();
  if (!opened.ok()) return nullptr;
  Result<GgufFile> file = GgufFile::parse(std::make_shared<FileSource>(std::move(opened).take()));
  EXPECT_TRUE(file.ok()) << file.error().message();
  if (!file.ok()) return nullptr;
  Result<TokenizerParts> parts = tokenizer_parts_from_gguf(*file.value().metadata);
  EXPECT_TRUE(parts.ok()) << parts.error().message();
  if (!parts.ok()) return nullptr;
  Result<std::unique_ptr<TextCodec> > codec = make_text_codec(std::move(parts).take());
  EXPECT_TRUE(codec.ok()) << codec.error().message();
  return codec.ok() ? std::move(codec).take() : nullptr;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

std::vector<TokenId> numbers_of(const std::string& line) {
  std::vector<TokenId> numbers;
  for (const std::string& word : split(line, " ")) {
    if (!word.empty()) numbers.push_back(TokenId(static_cast<std::uint32_t>(std::stoul(word))));
  }
  return numbers;
}

class PublishedTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(PublishedTokenizer, GivesTheRecordedIdsAndDecodesThem) {
  const std::string name = GetParam();
  const std::filesystem::path path = test::fetched_golden(name + ".gguf");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is missing: tools/fetch_tokenizer_goldens.sh fetches it";
  }
  const std::unique_ptr<TextCodec> codec = codec_of_gguf(path);
  ASSERT_NE(codec, nullptr);
  const std::string own_texts = golden_path("tokenizers/" + name + ".inp");
  const auto texts =
      split(read_or_fail(std::filesystem::exists(own_texts) ? own_texts
                                                            : golden_path("tokenizers/texts.inp")),
            "\n__ggml_vocab_test__\n");
  const auto lines = split(read_or_fail(golden_path("tokenizers/" + name + ".out")), "\n");
  ASSERT_EQ(texts.size(), lines.size());
  ASSERT_GT(texts.size(), 40u);
  for (std::size_t index = 0; index < texts.size(); ++index) {
    const std::vector<TokenId> wanted = numbers_of(lines[index]);
    const auto ids = codec->encode(texts[index], {.parse_special = false, .add_bos = false});
    ASSERT_TRUE(ids.ok()) << ids.error().message();
    EXPECT_EQ(ids.value(), wanted) << '"' << texts[index] << '"';
    const auto text = codec->decode(wanted, true);
    ASSERT_TRUE(text.ok()) << text.error().message();
    const bool is_sentence_piece = name == "llama-spm" || name == "phi-3";
    const bool adds_space = is_sentence_piece && !texts[index].empty();
    EXPECT_EQ(text.value(), (adds_space ? " " : "") + texts[index]);
  }
}

INSTANTIATE_TEST_SUITE_P(Names, PublishedTokenizer,
                         testing::Values("gpt-2", "llama-bpe", "qwen2", "llama-spm", "command-r",
                                         "deepseek-coder", "deepseek-llm", "falcon", "gemma-4",
                                         "mpt", "phi-3", "qwen35", "refact", "starcoder"),
                         [](const auto& each) {
                           std::string name = each.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

TEST(DefaultModel, GivesTheIdsOfAll49AwkwardStringsAndTheirBytesBack) {
  const std::string path = test::default_model_path();
  if (path.empty()) GTEST_SKIP() << "SmolLM2-135M-Instruct is not in the data folder: make model";
  const std::unique_ptr<TextCodec> codec = codec_of_gguf(path);
  ASSERT_NE(codec, nullptr);
  const auto cases = nlohmann::json::parse(read_or_fail(golden_path("smollm2_tokenizer.json")));
  ASSERT_EQ(cases.size(), 49u);
  for (const auto& each : cases) {
    const auto text = each["text"].get<std::string>();
    std::vector<TokenId> wanted;
    for (const auto& id : each["ids"]) wanted.push_back(TokenId(id.get<std::uint32_t>()));
    const auto ids = codec->encode(text, {});
    ASSERT_TRUE(ids.ok()) << ids.error().message();
    EXPECT_EQ(ids.value(), wanted) << each;
    const auto decoded = codec->decode(wanted, true);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded.value(), text);
  }
}

TEST(DefaultModel, GivesThePromptIdsOfTheGoldens) {
  const std::string path = test::default_model_path();
  if (path.empty()) GTEST_SKIP() << "SmolLM2-135M-Instruct is not in the data folder: make model";
  const std::unique_ptr<TextCodec> codec = codec_of_gguf(path);
  ASSERT_NE(codec, nullptr);
  const auto golden = nlohmann::json::parse(read_or_fail(golden_path("smollm2.json")));
  ASSERT_EQ(golden["prompts"].size(), 8u);
  for (const auto& prompt : golden["prompts"]) {
    const auto text = prompt["prompt"].get<std::string>();
    const auto ids = codec->encode(text, {});
    ASSERT_TRUE(ids.ok()) << ids.error().message();
    std::vector<TokenId> wanted;
    for (const auto& id : prompt["ids"]) wanted.push_back(TokenId(id.get<std::uint32_t>()));
    EXPECT_EQ(ids.value(), wanted) << text;
  }
}

const nlohmann::json& pre_tokenizer_golden() {
  static const nlohmann::json golden =
      nlohmann::json::parse(read_or_fail(golden_path("tokenizers/pre_tokenizers.json")));
  return golden;
}

TokenizerParts parts_of_name(const std::string& name) {
  const nlohmann::json& golden = pre_tokenizer_golden();
  const auto vocabulary = golden["names"][name]["vocabulary"].get<std::string>();
  TokenizerParts parts;
  parts.model = "gpt2";
  parts.pre = name;
  parts.tokens = golden["tokens"][vocabulary].get<std::vector<std::string> >();
  parts.token_types = golden["types"][vocabulary].get<std::vector<std::int32_t> >();
  parts.merges = golden["merges"][vocabulary].get<std::vector<std::string> >();
  return parts;
}

std::vector<TokenId> ids_of(const nlohmann::json& numbers) {
  std::vector<TokenId> ids;
  for (const auto& number : numbers) ids.push_back(TokenId(number.get<std::uint32_t>()));
  return ids;
}

TEST(PreTokenizers, EveryNameOfLlamaCppGivesItsIds) {
  const nlohmann::json& golden = pre_tokenizer_golden();
  std::set<std::string> theirs;
  for (const auto& [name, answers] : golden["names"].items()) theirs.insert(name);
  const std::vector<std::string_view> names = pre_tokenizer_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), theirs);
  std::size_t equal = 0;
  for (const auto& [name, answers] : golden["names"].items()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(find_pre_tokenizer(name).value().adds_bos, answers["adds_bos"].get<bool>());
    auto codec = make_text_codec(parts_of_name(name));
    ASSERT_TRUE(codec.ok()) << codec.error().message();
    for (std::size_t index = 0; index < golden["texts"].size(); ++index) {
      const auto text = golden["texts"][index].get<std::string>();
      const nlohmann::json& wanted =
          golden["ids"][index][answers["answers"][index].get<std::size_t>()];
      if (wanted.is_null()) continue;  // llama.cpp ends with an assertion.
      const auto ids = codec.value()->encode(text, {.parse_special = false, .add_bos = false});
      ASSERT_TRUE(ids.ok()) << ids.error().message();
      EXPECT_EQ(ids.value(), ids_of(wanted)) << nlohmann::json(text);
      equal += ids.value() == ids_of(wanted) ? 1 : 0;
    }
  }
  std::cout << names.size() << " tokenizer names x " << golden["texts"].size() << " texts equal ("
            << equal << " pairs)\n";
}

// Long enough that time in the square of the length would be minutes.
TEST(PreTokenizers, NoNameTakesLongForAnyText) {
  constexpr std::size_t kBytes = std::size_t{1} << 17;
  std::set<const std::string_view*> seen;
  double seconds_max = 0.0;
  for (const std::string_view name : pre_tokenizer_names()) {
    if (!seen.insert(find_pre_tokenizer(name).value().patterns.data()).second) continue;
    auto codec = make_text_codec(parts_of_name(std::string(name)));
    ASSERT_TRUE(codec.ok()) << codec.error().message();
    for (const std::string unit : {"a", " ", "\n", " \n", "7", "'", "\u0301", "\u4e2d", "Aa1 "}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      const std::clock_t begin = std::clock();
      const auto ids = codec.value()->encode(text, {});
      const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      ASSERT_TRUE(ids.ok()) << ids.error().message();
      EXPECT_LT(seconds, kUnderSanitizer ? 20.0 : 1.0) << name << " " << nlohmann::json(unit);
      seconds_max = std::max(seconds_max, seconds);
    }
  }
  std::cout << "128 KiB takes " << seconds_max << " s at most\n";
}

TEST(AddedTokens, AreFoundWhereThePythonPackageFindsThem) {
  const auto golden =
      nlohmann::json::parse(read_or_fail(golden_path("tokenizers/added_tokens.json")));
  std::size_t texts = 0;
  for (const nlohmann::json& each : golden["cases"]) {
    nlohmann::json tokenizer = golden["tokenizer"];
    tokenizer["normalizer"] = each["normalizer"];
    tokenizer["added_tokens"] = each["added_tokens"];
    auto codec = make_text_codec_from_json(tokenizer.dump(), "");
    ASSERT_TRUE(codec.ok()) << codec.error().message();
    for (std::size_t index = 0; index < each["texts"].size(); ++index) {
      const auto ids = codec.value()->encode(each["texts"][index].get<std::string>(), {});
      ASSERT_TRUE(ids.ok()) << ids.error().message();
      EXPECT_EQ(ids.value(), ids_of(each["ids"][index]))
          << each["texts"][index] << " " << each["normalizer"] << " " << each["added_tokens"];
      ++texts;
    }
  }
  std::cout << golden["cases"].size() << " sets of added tokens, " << texts << " texts\n";
}

TEST(Folder, TokenizerJsonEncodesAndDecodesItsOwnTokens) {
  for (const std::string name : {"tiny_llama", "tiny_qwen2", "tiny_qwen3"}) {
    const auto model = open_model(golden_path(name));
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto opened = open_text_codec(*model.value());
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    const TextCodec& codec = *opened.value().codec;
    EXPECT_FALSE(opened.value().add_bos);
    // The model has rows for more tokens than the tokenizer has texts; they decode to nothing.
    EXPECT_EQ(codec.vocabulary_size(), 1024u);
    EXPECT_EQ(codec.decode({TokenId{1023}}, true).value(), "");
    EXPECT_EQ(codec.decode({TokenId{1024}}, true).error().code(), ErrorCode::OutOfRange);
    const std::string text = read_or_fail(golden_path("text.txt")) + "\n\t h\u00e9llo \U0001f600";
    const auto ids = codec.encode(text + "<|end|>", {});
    ASSERT_TRUE(ids.ok()) << ids.error().message();
    EXPECT_EQ(ids.value().back(), codec.special("<|end|>").value());
    EXPECT_EQ(codec.decode(ids.value(), true).value(), text + "<|end|>");
    EXPECT_EQ(codec.decode(ids.value(), false).value(), text);
    const auto plain = codec.encode("<|end|>", {.parse_special = false, .add_bos = false});
    EXPECT_GT(plain.value().size(), 1u);
  }
}

}  // namespace
}  // namespace quire::inference

#endif
