#include "base/npy.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace quire {
namespace {

std::string header_with(const std::string& dictionary, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size() & 0xff);
  file += static_cast<char>(dictionary.size() >> 8);
  return file + dictionary + data;
}

Result<NpyArray> parse(const std::string& file) {
  return parse_npy(std::as_bytes(std::span(file)), "test.npy");
}

std::string temporary_path(const char* name) {
  return testing::TempDir() + name;
}

TEST(Npy, ReadsBackWhatItWrote) {
  const std::string path = temporary_path("quire_npy_round_trip.npy");
  const std::vector<float> numbers = {1.0f, -2.5f, 3.25f, 0.0f, 1e30f, -0.0f};
  {
    Result<NpyWriter> writer = NpyWriter::create(path, {3, 2});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value().append(std::span(numbers).first(2)).ok());
    ASSERT_TRUE(writer.value().append(std::span(numbers).subspan(2)).ok());
    EXPECT_FALSE(writer.value().append(std::span(numbers).first(1)).ok());
    ASSERT_TRUE(writer.value().close().ok());
  }
  Result<NpyArray> array = read_npy(path, 1 << 20);
  ASSERT_TRUE(array.ok()) << array.error().message();
  EXPECT_EQ(array.value().shape, (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ(array.value().values<float>().value(), numbers);
  EXPECT_FALSE(array.value().values<std::int32_t>().ok());
  std::remove(path.c_str());
}

TEST(Npy, LeavesNoFileWhenNumbersAreMissing) {
  const std::string path = temporary_path("quire_npy_missing.npy");
  {
    Result<NpyWriter> writer = NpyWriter::create(path, {4});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE(writer.value().close().ok());
  }
  EXPECT_FALSE(File::open(path).ok());
  EXPECT_FALSE(File::open(path + ".part").ok());
}

TEST(Npy, ReadsBooleansAndIntegers) {
  Result<NpyArray> mask = parse(header_with(
      "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }\n", std::string("\1\0\1\1", 4)));
  ASSERT_TRUE(mask.ok()) << mask.error().message();
  EXPECT_EQ(mask.value().values<std::uint8_t>().value(), (std::vector<std::uint8_t>{1, 0, 1, 1}));
  Result<NpyArray> ids = parse(header_with(
      "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", std::string("\7\0\0\0", 4)));
  ASSERT_TRUE(ids.ok()) << ids.error().message();
  EXPECT_EQ(ids.value().values<std::int32_t>().value(), std::vector<std::int32_t>{7});
  EXPECT_EQ(ids.value().count(), 1u);
}

TEST(Npy, RefusesHeadersThatLie) {
  const std::string four(4, '\0');
  for (const char* dictionary :
       {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1", "{'descr': '<f4'}", ""}) {
    EXPECT_FALSE(parse(header_with(dictionary, four)).ok()) << dictionary;
  }
  const std::string whole =
      header_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", four);
  ASSERT_TRUE(parse(whole).ok());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(parse(whole.substr(0, bytes)).ok()) << bytes;
  }
}

}  // namespace
}  // namespace quire
