#include "inference/weights/gguf_shards.h"

#include <gtest/gtest.h>

#include <map>

#include "inference/architectures/model_files.h"
#include "support/tiny_gguf.h"

namespace quire::inference {
namespace {

using test::GgufBuilder;

// Files by path, as they lie in one folder.
class Folder {
 public:
  std::map<std::string, std::string> files;

  Result<std::unique_ptr<ModelFiles>> open(const std::string& path) const {
    return open_gguf_model(
        path, [this](const std::string& wanted) -> Result<std::shared_ptr<const ByteSource>> {
          const auto found = files.find(wanted);
          if (found == files.end()) {
            return Error(ErrorCode::NotFound, "cannot open " + wanted + ": no such file");
          }
          return std::shared_ptr<const ByteSource>(
              std::make_shared<MemorySource>(wanted, test::to_bytes(found->second)));
        });
  }
};

std::string path_of(std::uint32_t number, std::uint32_t count) {
  return ShardName{"m", number, count}.path_of(number);
}

Folder folder_of(const std::vector<std::string>& shards) {
  Folder folder;
  for (const std::string& shard : shards) {
    const auto number = static_cast<std::uint32_t>(folder.files.size() + 1);
    folder.files[path_of(number, static_cast<std::uint32_t>(shards.size()))] = shard;
  }
  return folder;
}

std::string digest_of(const Result<std::unique_ptr<ModelFiles>>& model) {
  if (!model.ok()) return std::string(model.error().message());
  return hex(digest_model(*model.value()).value());
}

std::string whole_digest(const std::string& model) {
  const Folder folder{{{"m.gguf", test::tiny_gguf(model)}}};
  return digest_of(folder.open("m.gguf"));
}

// tiny_llama in three shards without the keys split.*, for a test to add.
std::vector<GgufBuilder> three_shards() {
  const GgufBuilder whole = test::tiny_gguf_builder("tiny_llama");
  return whole.split({10, 10, whole.tensor_count() - 20});
}
constexpr std::int32_t kTensorCount = 3 + 4 * 9 + 1;  // With rope_freqs.weight.

Folder build(std::vector<GgufBuilder>& shards) {
  std::vector<std::string> files;
  for (GgufBuilder& shard : shards) files.push_back(shard.build());
  return folder_of(files);
}

void expect_refused(const Folder& folder, ErrorCode code, const std::vector<std::string>& says,
                    const std::string& path = path_of(1, 3)) {
  const Result<std::unique_ptr<ModelFiles>> model = folder.open(path);
  ASSERT_FALSE(model.ok()) << "accepted; expected: " << says.front();
  EXPECT_EQ(model.error().code(), code) << model.error().message();
  for (const std::string& each : says) {
    EXPECT_NE(model.error().message().find(each), std::string::npos)
        << model.error().message() << "\ndoes not say: " << each;
  }
}

TEST(GgufShards, GiveTheSameDigestInAnyNumberAsInOneFile) {
  for (const char* model : {"tiny_llama", "tiny_qwen2", "tiny_qwen3"}) {
    const std::string whole = whole_digest(model);
    for (const std::vector<std::size_t>& counts :
         {std::vector<std::size_t>{0}, {1}, {5, 0, 7}, {3, 3, 3, 3, 3, 3}}) {
      const Folder folder = folder_of(test::tiny_gguf_shards(model, counts));
      EXPECT_EQ(digest_of(folder.open(path_of(1, static_cast<std::uint32_t>(counts.size() + 1)))),
                whole)
          << model;
    }
  }
}

TEST(GgufShards, OpenByAnyOfThem) {
  const Folder folder = folder_of(test::tiny_gguf_shards("tiny_llama", {8, 8}));
  const std::string whole = whole_digest("tiny_llama");
  for (const std::uint32_t number : {1u, 2u, 3u}) {
    EXPECT_EQ(digest_of(folder.open(path_of(number, 3))), whole) << number;
  }
}

TEST(GgufShards, WithTheHeadInAnotherShardAreNotTakenForTied) {
  const std::vector<std::string> files = test::tiny_gguf_shards("tiny_llama", {20});
  const Folder folder = folder_of(files);
  const auto model = folder.open(path_of(1, 2));
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_FALSE(model.value()->spec().tied_embeddings);
  // The shard that lacks the head is refused alone, under any name.
  for (const std::string& path : {path_of(1, 2), std::string("m.gguf"), path_of(1, 1)}) {
    for (const std::string& file : files) {
      const Folder alone{{{path, file}}};
      EXPECT_FALSE(alone.open(path).ok()) << path;
    }
  }
}

TEST(GgufShards, AreReadWithIntegersOfAnyWidth) {
  std::vector<GgufBuilder> shards = three_shards();
  for (std::size_t index = 0; index < 3; ++index) {
    shards[index].add_scalar("split.no", index == 0 ? GgufType::U8 : GgufType::I8,
                             static_cast<std::uint8_t>(index));
    shards[index].add_scalar("split.count", GgufType::U64, std::uint64_t{3});
    shards[index].add_scalar("split.tensors.count", GgufType::I64, std::int64_t{kTensorCount});
  }
  EXPECT_EQ(digest_of(build(shards).open(path_of(1, 3))), whole_digest("tiny_llama"));
  shards = three_shards();
  shards[0].add_scalar("split.no", GgufType::I16, std::int16_t{-1});
  shards[0].add_scalar("split.count", GgufType::I32, std::int32_t{3});
  expect_refused(build(shards), ErrorCode::Corrupted, {"\"split.no\" is i16 -1"});
  shards = three_shards();
  shards[0].add_scalar("split.count", GgufType::F32, 3.0f);
  expect_refused(build(shards), ErrorCode::Corrupted, {"\"split.count\" is f32"});
}

GgufBuilder realigned(const GgufBuilder& shard, std::uint64_t alignment, bool with_key) {
  GgufBuilder turned = shard.split({0}).front();
  turned.alignment = alignment;
  if (with_key) turned.add_u32("general.alignment", static_cast<std::uint32_t>(alignment));
  for (const auto& tensor : shard.tensors()) {
    turned.add_tensor(tensor.name, tensor.dimensions, tensor.type, tensor.bytes);
  }
  return turned;
}

TEST(GgufShards, AreReadEachWithItsOwnAlignment) {
  std::vector<GgufBuilder> shards = three_shards();
  shards[0] = realigned(shards[0], 64, true);
  shards[2] = realigned(shards[2], 4096, true);
  for (std::uint16_t index = 0; index < 3; ++index) {
    shards[index].add_split_keys(index, 3, kTensorCount);
  }
  EXPECT_EQ(digest_of(build(shards).open(path_of(1, 3))), whole_digest("tiny_llama"));
}

// gguf-py pads all shards by the first one's alignment, and gives the key to the first alone.
TEST(GgufShards, WithoutTheAlignmentThatTheyWereWrittenWithAreRefused) {
  std::vector<GgufBuilder> shards = three_shards();
  shards[0] = realigned(shards[0], 4096, true);
  shards[1] = realigned(shards[1], 4096, false);
  shards[2] = realigned(shards[2], 4096, false);
  for (std::uint16_t index = 0; index < 3; ++index) {
    shards[index].add_split_keys(index, 3, kTensorCount);
  }
  expect_refused(build(shards), ErrorCode::Corrupted,
                 {"m-00002-of-00003.gguf: ", "no general.alignment",
                  "m-00001-of-00003.gguf has 4096", "begins at byte"});
}

TEST(GgufShards, NameTheShardThatIsMissing) {
  Folder folder = folder_of(test::tiny_gguf_shards("tiny_llama", {10, 10}));
  Folder without_first = folder;
  without_first.files.erase(path_of(1, 3));
  folder.files.erase(path_of(2, 3));
  expect_refused(folder, ErrorCode::NotFound,
                 {"shard 2 of 3 is missing", "m-00002-of-00003.gguf", "lie in one folder"});
  expect_refused(without_first, ErrorCode::NotFound, {"shard 1 of 3 is missing"}, path_of(3, 3));
}

TEST(GgufShards, NameTheFileThatIsCutShort) {
  Folder folder = folder_of(test::tiny_gguf_shards("tiny_llama", {10, 10}));
  std::string& second = folder.files[path_of(2, 3)];
  second.resize(second.size() / 2);
  expect_refused(folder, ErrorCode::Corrupted, {"m-00002-of-00003.gguf: byte ", "takes "});
  second.clear();
  expect_refused(folder, ErrorCode::Corrupted, {"m-00002-of-00003.gguf is empty"});
}

TEST(GgufShards, AreRefusedInAnotherOrder) {
  Folder folder = folder_of(test::tiny_gguf_shards("tiny_llama", {10, 10}));
  std::swap(folder.files[path_of(2, 3)], folder.files[path_of(3, 3)]);
  expect_refused(folder, ErrorCode::Corrupted,
                 {"m-00002-of-00003.gguf: split.no 2 and split.count 3 say shard 3 of 3",
                  "the name says shard 2 of 3"});
  folder = folder_of(test::tiny_gguf_shards("tiny_llama", {10, 10}));
  folder.files[path_of(3, 3)] = folder.files[path_of(2, 3)];
  expect_refused(folder, ErrorCode::Corrupted, {"m-00003-of-00003.gguf: split.no 1"});
}

TEST(GgufShards, AreRefusedUnderNamesThatSayOtherNumbers) {
  const std::vector<std::string> files = test::tiny_gguf_shards("tiny_llama", {10, 10});
  const Folder renamed{{{"model.gguf", files[0]}}};
  expect_refused(renamed, ErrorCode::Corrupted,
                 {"model.gguf: split.no 0 and split.count 3 say shard 1 of 3",
                  "does not end in \"-00001-of-00003.gguf\""},
                 "model.gguf");
  const Folder fewer{{{path_of(1, 2), files[0]}, {path_of(2, 2), files[1]}}};
  expect_refused(fewer, ErrorCode::Corrupted, {"say shard 1 of 3", "the name says shard 1 of 2"},
                 path_of(1, 2));
  const Folder whole{{{path_of(1, 2), test::tiny_gguf("tiny_llama")}}};
  expect_refused(whole, ErrorCode::Corrupted, {"the name says shard 1 of 2", "no split.count"},
                 path_of(1, 2));
}

TEST(GgufShards, OfDifferentModelsAreRefused) {
  // By the number of tensors in all.
  std::vector<GgufBuilder> shards = three_shards();
  for (std::uint16_t index = 0; index < 3; ++index) {
    shards[index].add_split_keys(index, 3, kTensorCount + index);
  }
  expect_refused(
      build(shards), ErrorCode::Corrupted,
      {"m-00002-of-00003.gguf: split.tensors.count is 41", "m-00001-of-00003.gguf says 40"});
  // By what a later shard repeats of the metadata.
  shards = three_shards();
  for (std::uint16_t index = 0; index < 3; ++index) {
    shards[index].add_split_keys(index, 3, kTensorCount);
  }
  shards[1].add_text("general.architecture", "llama");
  shards[2].add_text("general.architecture", "qwen2");
  expect_refused(build(shards), ErrorCode::Corrupted,
                 {"m-00003-of-00003.gguf: \"general.architecture\" has another value than in "
                  "m-00001-of-00003.gguf"});
  // By the number of shards.
  shards = three_shards();
  shards[0].add_split_keys(0, 3, kTensorCount);
  shards[1].add_split_keys(1, 4, kTensorCount);
  shards[2].add_split_keys(2, 3, kTensorCount);
  expect_refused(build(shards), ErrorCode::Corrupted, {"split.no 1 and split.count 4"});
  // One that is not a shard.
  shards = three_shards();
  shards[0].add_split_keys(0, 3, kTensorCount);
  expect_refused(build(shards), ErrorCode::Corrupted,
                 {"m-00002-of-00003.gguf: the metadata has no split.no"});
}

TEST(GgufShards, WithATensorTwiceAreRefused) {
  std::vector<GgufBuilder> shards = three_shards();
  const auto repeated = shards[0].tensors().front();
  shards[2].add_tensor(repeated.name, repeated.dimensions, repeated.type, repeated.bytes);
  for (std::uint16_t index = 0; index < 3; ++index) {
    shards[index].add_split_keys(index, 3, kTensorCount);
  }
  expect_refused(build(shards), ErrorCode::Corrupted,
                 {"m-00003-of-00003.gguf: tensor \"" + repeated.name + "\"",
                  "lies in m-00001-of-00003.gguf too"});
}

TEST(GgufShards, WithAnotherNumberOfTensorsThanTheySayAreRefused) {
  for (const std::int32_t said : {kTensorCount - 1, kTensorCount + 1, 0}) {
    std::vector<GgufBuilder> shards = three_shards();
    for (std::uint16_t index = 0; index < 3; ++index) shards[index].add_split_keys(index, 3, said);
    expect_refused(
        build(shards), ErrorCode::Corrupted,
        {"split.tensors.count is " + std::to_string(said), "the 3 shards hold 40 tensors"});
  }
  std::vector<GgufBuilder> shards = three_shards();
  for (std::uint16_t index = 0; index < 3; ++index) {
    shards[index].add_scalar("split.no", GgufType::U16, index);
    shards[index].add_scalar("split.count", GgufType::U16, std::uint16_t{3});
  }
  expect_refused(build(shards), ErrorCode::Corrupted, {"has no split.tensors.count"});
}

TEST(GgufShards, BeyondTheLimitAreRefused) {
  GgufBuilder many = test::tiny_gguf_builder("tiny_llama");
  many.add_split_keys(0, 513, kTensorCount);
  const Folder folder{{{path_of(1, 513), many.build()}}};
  expect_refused(folder, ErrorCode::TooLarge, {"split.count is 513; at most 512"}, path_of(1, 513));
  GgufBuilder beyond = test::tiny_gguf_builder("tiny_llama");
  beyond.add_split_keys(3, 3, kTensorCount);
  expect_refused(Folder{{{path_of(1, 3), beyond.build()}}}, ErrorCode::Corrupted,
                 {"split.no is 3, which is not below the split.count of 3"});
}

// gguf-split --merge leaves split.count 0.
TEST(GgufShards, ThatWereMergedAreAWholeModel) {
  for (const std::uint16_t count : {std::uint16_t{0}, std::uint16_t{1}}) {
    GgufBuilder merged = test::tiny_gguf_builder("tiny_llama");
    merged.add_split_keys(0, count, kTensorCount);
    const std::string file = merged.build();
    for (const std::string& path : {std::string("m.gguf"), path_of(1, 1)}) {
      EXPECT_EQ(digest_of(Folder{{{path, file}}}.open(path)), whole_digest("tiny_llama"));
    }
  }
  GgufBuilder lacking = test::tiny_gguf_builder("tiny_llama");
  lacking.add_split_keys(0, 0, kTensorCount + 1);
  expect_refused(Folder{{{"m.gguf", lacking.build()}}}, ErrorCode::Corrupted,
                 {"split.tensors.count is 41, and the file holds 40 tensors"}, "m.gguf");
}

TEST(ShardNames, EndInTwoNumbersOfFiveDigits) {
  const auto name = parse_shard_name("/a/b-00002-of-00010.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->stem, "/a/b");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 10u);
  EXPECT_EQ(name->path_of(10), "/a/b-00010-of-00010.gguf");
  for (const char* path : {"m.gguf", "m-1-of-2.gguf", "m-00001-of-00002", "m-00003-of-00002.gguf",
                           "-0001-of-00002.gguf", "m-00000-of-00002.gguf", "m-0000a-of-00002.gguf",
                           "m-00001of-00002.gguf", "", ".gguf"}) {
    EXPECT_FALSE(parse_shard_name(path).has_value()) << path;
  }
}

TEST(ShardNames, AreNotPartOfTheModelsName) {
  EXPECT_EQ(model_name_of("/a/b-00002-of-00010.gguf"), "b");
  EXPECT_EQ(model_name_of("/a/b.gguf"), "b");
  EXPECT_EQ(model_name_of("/a/folder/"), "folder");
  EXPECT_EQ(model_name_of("b"), "b");
}

}  // namespace
}  // namespace quire::inference
