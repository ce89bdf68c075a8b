#include "inference/model_store/model_reference.h"

#include <gtest/gtest.h>

namespace quire::inference::model_reference_test {
namespace {

// "repository revision quant file", or the error.
std::string parts_of(const std::string& text) {
  const Result<ModelReference> parsed = ModelReference::parse(text);
  if (!parsed.ok()) return std::string(parsed.error().message());
  const ModelReference& reference = parsed.value();
  return reference.repository + " " + reference.revision + " " + reference.quant + " " +
         reference.file;
}

TEST(ModelReference, IsWrittenInEveryFormThatUsersKnow) {
  for (const char* text :
       {"hf:Qwen/Qwen3-0.6B-GGUF", "hf://Qwen/Qwen3-0.6B-GGUF", "hf.co/Qwen/Qwen3-0.6B-GGUF",
        "huggingface.co/Qwen/Qwen3-0.6B-GGUF", "https://hf.co/Qwen/Qwen3-0.6B-GGUF",
        "https://huggingface.co/Qwen/Qwen3-0.6B-GGUF",
        "https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/",
        "https://huggingface.co/Qwen/Qwen3-0.6B-GGUF?library=transformers#usage",
        "https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/tree/main",
        "hf.co/Qwen/Qwen3-0.6B-GGUF:latest"}) {
    EXPECT_EQ(parts_of(text), "Qwen/Qwen3-0.6B-GGUF main  ") << text;
    EXPECT_TRUE(ModelReference::names_hub(text)) << text;
  }
}

TEST(ModelReference, NamesAQuantizationARevisionOrAFile) {
  EXPECT_EQ(parts_of("hf:a/b:Q4_K_M"), "a/b main Q4_K_M ");
  EXPECT_EQ(parts_of("hf.co/a/b:q8_0"), "a/b main q8_0 ");
  EXPECT_EQ(parts_of("hf:a/b@v1.0:Q8_0"), "a/b v1.0 Q8_0 ");
  EXPECT_EQ(parts_of("hf:a/b/UD-Q4_K_XL/c d-00001-of-00002.gguf"),
            "a/b main  UD-Q4_K_XL/c d-00001-of-00002.gguf");
  EXPECT_EQ(parts_of("hf:a/b@0123abc/c%20d.gguf"), "a/b 0123abc  c%20d.gguf");
  EXPECT_EQ(parts_of("https://huggingface.co/a/b/blob/main/c%20d.gguf"), "a/b main  c d.gguf");
  EXPECT_EQ(parts_of("https://huggingface.co/a/b/resolve/v2/x/c.gguf?download=true"),
            "a/b v2  x/c.gguf");
  EXPECT_EQ(parts_of("hf:a/b/resolve/v2/c.gguf"), "a/b v2  c.gguf");
}

TEST(ModelReference, ItsTextIsTheSameReference) {
  for (const char* text : {"hf:a/b", "hf:a/b:Q4_0", "hf:a/b@v1:Q4_0", "hf:a/b@v1/x/y z.gguf"}) {
    EXPECT_EQ(ModelReference::parse(text).value().text(), text);
  }
}

TEST(ModelReference, SaysWhichPartIsWrong) {
  const auto expect = [](const char* text, const char* what) {
    EXPECT_NE(parts_of(text).find(what), std::string::npos) << text << ": " << parts_of(text);
  };
  expect("hf:", "a repository is USER/REPO");
  expect("hf:model", "a repository is USER/REPO");
  expect("hf:/b", "the name \"\"");
  expect("hf:a/", "the name \"\"");
  expect("hf:../b", "the name \"..\"");
  expect("hf:a/..", "the name \"..\"");
  expect("hf:a b/c", "the name \"a b\"");
  expect("hf:a/b:", "the quantization is a word");
  expect("hf:a/b:Q4 K", "the quantization is a word");
  expect("hf:a/b@", "the revision \"\"");
  expect("hf:a/b:Q4_0/c.gguf", "not both");
  expect("hf:a/b/../../c.gguf", "\"..\" is not a file");
  expect("hf:a/b//c.gguf", "\"\" is not a file");
  expect("https://hf.co/a/b/blob/main/c%2Fd.gguf", "is not a file");
  expect("https://hf.co/a/b/blob/main/c%00d.gguf", "is not a file");
  expect("https://hf.co/a/b/tree/main/c", "a folder of a repository is not a model");
  expect(("hf:a/b/" + std::string(3000, 'c')).c_str(), "longer than 2048 bytes");
  EXPECT_FALSE(ModelReference::names_hub("https://example.com/a/b"));
  EXPECT_FALSE(ModelReference::names_hub("./hf.co/a/b"));
  EXPECT_FALSE(ModelReference::names_hub("https://huggingface.co.example/a/b"));
  EXPECT_FALSE(ModelReference::names_hub("model.gguf"));
}

}  // namespace
}  // namespace quire::inference::model_reference_test
