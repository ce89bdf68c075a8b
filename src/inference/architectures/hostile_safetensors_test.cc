// Every way to break a safetensors file or an index that a list can name.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "inference/architectures/model_files.h"
#include "inference/weights/safetensors_file.h"
#include "support/gguf_builder.h"
#include "support/golden.h"
#include "support/safetensors_builder.h"

namespace quire::inference::hostile_safetensors_test {
namespace {

using test::build_safetensors;
using test::safetensors_with_header;

Result<SafetensorsFile> parse(std::string_view file) {
  return SafetensorsFile::parse(
      std::make_shared<MemorySource>("test.safetensors", test::to_bytes(file)));
}

void expect_refused(const std::string& file, ErrorCode code, const std::string& says) {
  Result<SafetensorsFile> parsed = parse(file);
  ASSERT_FALSE(parsed.ok()) << "accepted; expected: " << says;
  EXPECT_EQ(parsed.error().code(), code) << parsed.error().message();
  EXPECT_NE(parsed.error().message().find(says), std::string::npos) << parsed.error().message();
}

// Two tensors and 20 KB.
std::string two_tensors() {
  return build_safetensors({{"a", "F32", {32, 128}, 16384}, {"b", "BF16", {1, 2, 1024}, 4096}});
}

std::string described(const std::string& description, std::size_t data_bytes) {
  return safetensors_with_header("{\"a\":" + description + "}", std::string(data_bytes, 'x'));
}

TEST(HostileSafetensors, IsAcceptedWhole) {
  Result<SafetensorsFile> parsed = parse(two_tensors());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  ASSERT_EQ(parsed.value().tensors.size(), 2u);
  EXPECT_EQ(parsed.value().tensors[1].name, "b");
  EXPECT_EQ(parsed.value().tensors[1].format, NumberFormat::BF16);
  EXPECT_EQ(parsed.value().tensors[1].offset, two_tensors().size() - 4096);
}

TEST(HostileSafetensors, IsRefusedWhenCutAtAnyByte) {
  const std::string file = two_tensors();
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes) {
    ASSERT_FALSE(parse(std::string_view(file).substr(0, bytes)).ok()) << bytes;
  }
}

TEST(HostileSafetensors, SurvivesAnyByteOfItsHeader) {
  const std::string file = two_tensors();
  for (std::size_t offset = 0; offset < file.size() - 20480; ++offset) {
    for (const char value : {'\0', '\xff', '"', '{', ']', '9', '-', '\\', ','}) {
      std::string changed = file;
      changed[offset] = value;
      Result<SafetensorsFile> parsed = parse(changed);
      if (!parsed.ok()) continue;
      for (const SafetensorsTensor& tensor : parsed.value().tensors) {
        ASSERT_LE(tensor.offset + tensor.bytes, changed.size()) << offset;
      }
    }
  }
}

TEST(HostileSafetensors, DoesNotTrustTheHeaderLength) {
  std::string file = two_tensors();
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0},
                                     std::uint64_t{1} << 63, ~std::uint64_t{0} - 7}) {
    std::memcpy(file.data(), &length, sizeof length);
    EXPECT_FALSE(parse(file).ok()) << length;
  }
  expect_refused("abc", ErrorCode::Corrupted, "byte 0: the file has 3 bytes");
}

TEST(HostileSafetensors, ChecksOffsetsAgainstShapesAndTheFile) {
  expect_refused(described(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
                 ErrorCode::Corrupted, "span 4 bytes, which is not what \"shape\" takes");
  expect_refused(described(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4),
                 ErrorCode::Corrupted, "within the 4 bytes of data");
  expect_refused(described(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4),
                 ErrorCode::Corrupted, "are not two ascending offsets");
  expect_refused(described(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8),
                 ErrorCode::Corrupted, "begins at data byte 4");
  expect_refused(described(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 8),
                 ErrorCode::Corrupted, "end at data byte 4, and the file has 8");
  const std::string overflow =
      R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})";
  expect_refused(described(overflow, 0), ErrorCode::Corrupted, "not what \"shape\" takes");
  const std::string overlapping = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                  R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  expect_refused(safetensors_with_header(overlapping, std::string(8, 'x')), ErrorCode::Corrupted,
                 "inside the tensor before it");
}

TEST(HostileSafetensors, ChecksTypesInTheHeader) {
  expect_refused(described(R"({"dtype":"I64","shape":[1],"data_offsets":[0,8]})", 8),
                 ErrorCode::NotSupported, "dtype \"I64\" is not read");
  for (const char* description :
       {R"(7)", R"({"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":7,"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})",
        R"({"dtype":"F32","shape":[1]})"}) {
    EXPECT_FALSE(parse(described(description, 4)).ok()) << description;
  }
  expect_refused(safetensors_with_header("[]", ""), ErrorCode::Corrupted, "is not an object");
}

TEST(HostileSafetensors, RefusesRepeatedKeysAndDeepNesting) {
  const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_refused(safetensors_with_header("{\"a\":" + tensor + ",\"a\":" + tensor + "}", "xxxx"),
                 ErrorCode::Corrupted, "key \"a\" appears twice");
  expect_refused(safetensors_with_header(std::string(1000000, '['), ""), ErrorCode::Corrupted,
                 "byte 72: JSON nested deeper than 64");
  expect_refused(safetensors_with_header("{\"a\":\xff}", ""), ErrorCode::Corrupted,
                 "not valid JSON");
  expect_refused(safetensors_with_header("{\"a\":1e999}", ""), ErrorCode::Corrupted,
                 "not valid JSON");
}

class ShardedCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("one.safetensors", build_safetensors({{"a", "F32", {2}, 8}}));
    write("two.safetensors", build_safetensors({{"b", "F16", {2}, 4}, {"c", "F32", {1}, 4}}));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  void write_index(const std::string& map) const {
    write("model.safetensors.index.json", "{\"weight_map\":" + map + "}");
  }
  void expect_index_refused(const std::string& map, const std::string& says) const {
    write_index(map);
    Result<SafetensorsFile> opened = SafetensorsFile::open_folder(folder_);
    ASSERT_FALSE(opened.ok()) << map;
    EXPECT_NE(opened.error().message().find(says), std::string::npos) << opened.error().message();
  }
  const std::string folder_ = testing::TempDir() + "quire_shards_" + std::to_string(getpid());
};

TEST_F(ShardedCheckpoint, IsReadThroughItsIndex) {
  write_index(R"({"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"})");
  Result<SafetensorsFile> opened = SafetensorsFile::open_folder(folder_);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ(opened.value().tensors.size(), 3u);
}

TEST_F(ShardedCheckpoint, IsRefusedWhenIndexAndShardsDisagree) {
  expect_index_refused(R"({"a":"one.safetensors","b":"two.safetensors"})",
                       "which the index does not say");
  expect_index_refused(R"({"a":"one.safetensors","b":"two.safetensors",)"
                       R"("c":"two.safetensors","d":"one.safetensors"})",
                       "the index names 4 tensors, and the shards hold 3");
  expect_index_refused(R"({"a":"two.safetensors","b":"two.safetensors","c":"two.safetensors"})",
                       "the index names 3 tensors, and the shards hold 2");
  expect_index_refused(R"({"a":"three.safetensors"})", "three.safetensors");
}

TEST_F(ShardedCheckpoint, DoesNotLeaveItsFolder) {
  expect_index_refused(R"({"a":"../one.safetensors"})", "not the name of a .safetensors file");
  expect_index_refused(R"({"a":"/etc/passwd"})", "not the name of a .safetensors file");
  expect_index_refused(R"({"a":"one.safetensors\u0000.safetensors"})", "not the name of a");
  expect_index_refused(R"({"a":7})", "not the name of a .safetensors file");
  expect_index_refused(R"({})", "is not an object with members");
  expect_index_refused(R"([])", "is not an object with members");
}

TEST_F(ShardedCheckpoint, SaysThatWeightsAreMissing) {
  Result<SafetensorsFile> opened = SafetensorsFile::open_folder(folder_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::NotFound);
  EXPECT_NE(opened.error().message().find("no model.safetensors in"), std::string::npos);
}

}  // namespace
}  // namespace quire::inference::hostile_safetensors_test
