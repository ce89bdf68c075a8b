#include "main/verbs/shared/artifact_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "support/process.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

class Artifacts : public testing::Test {
 protected:
  std::string content_of(const fs::path& file) const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    folder_.write(name, text);
    // A file of an hour ago did not change while the cache read it.
    fs::last_write_time(folder_.file(name),
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  // Makes a copy of `source`, and counts how often.
  Result<fs::path> use(const std::string& name, InputTest test = InputTest::Content) {
    return cache.find_or_make(name, [&](const fs::path& made) -> Result<std::vector<Input>> {
      ++made_count;
      std::ofstream(made / "copy") << content_of(folder_.file("source"));
      return std::vector<Input>{{folder_.file("source"), test}};
    });
  }

  const test::TemporaryFolder folder_;
  ArtifactCache cache{folder_.file("cache"), "kind", 3};
  int made_count = 0;
};

TEST_F(Artifacts, AreMadeOnceAndAgainWhereTheBytesOfAnInputChanged) {
  write("source", "one");
  const fs::path entry = use("a").value();
  EXPECT_EQ(content_of(entry / "copy"), "one");
  EXPECT_EQ(inputs_of(entry), std::vector{folder_.file("source")});
  fs::last_write_time(folder_.file("source"), fs::file_time_type::clock::now());
  EXPECT_EQ(use("a").value(), entry);
  EXPECT_EQ(made_count, 1) << "a time alone is no change";
  write("source", "two");
  EXPECT_EQ(content_of(use("a").value() / "copy"), "two");
  EXPECT_EQ(made_count, 2);
  EXPECT_TRUE(cache.find("a").ok());
  EXPECT_FALSE(cache.find("b").ok());
}

TEST_F(Artifacts, ByTimeAreMadeAgainWhereTheTimeChanged) {
  write("source", "one");
  ASSERT_TRUE(use("a", InputTest::Time).ok());
  fs::last_write_time(folder_.file("source"), fs::file_time_type::clock::now());
  ASSERT_TRUE(use("a", InputTest::Time).ok());
  EXPECT_EQ(made_count, 2);
}

TEST_F(Artifacts, OfAnInputThatChangesMeanwhileAreNotKept) {
  write("source", "one");
  const auto made = cache.find_or_make("a", [&](const fs::path&) -> Result<std::vector<Input>> {
    folder_.write("source", "two");
    return std::vector<Input>{{folder_.file("source")}};
  });
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::Unavailable);
  EXPECT_TRUE(fs::is_empty(folder_.file("cache/kind")));
}

TEST_F(Artifacts, ThatCannotBeMadeLeaveNothing) {
  const auto failing = [](const fs::path& made) -> Result<std::vector<Input>> {
    std::ofstream(made / "half") << "x";
    return Error(ErrorCode::InvalidArgument, "wrong");
  };
  const auto made = cache.find_or_make("a", failing);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message(), "wrong");
  EXPECT_TRUE(fs::is_empty(folder_.file("cache/kind")));
}

TEST_F(Artifacts, ThatWereNotUsedForLongestGo) {
  write("source", "one");
  for (const char* name : {"a", "b", "c"}) {
    const fs::path entry = use(name).value();
    const auto age = std::chrono::minutes(10 + name[0] - 'a');  // a is the youngest.
    fs::last_write_time(entry, fs::file_time_type::clock::now() - age);
  }
  ASSERT_TRUE(use("d").ok());
  EXPECT_TRUE(cache.find("a").ok());
  EXPECT_FALSE(cache.find("c").ok()) << "there is room for three";
}

TEST_F(Artifacts, WithoutAFolderForCachesAreNotFound) {
  const ArtifactCache none("", "kind", 3);
  const auto made = none.find_or_make(
      "a", [](const fs::path&) -> Result<std::vector<Input>> { return std::vector<Input>(); });
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::NotFound);
}

TEST(Dependencies, HavePathsWithBlanksAndSeveralLines) {
  EXPECT_EQ(paths_of_dependencies("out.o: a.cpp \\\n  my\\ folder/b.h c$$d.h\n"),
            (std::vector<std::string>{"a.cpp", "my folder/b.h", "c$d.h"}));
  EXPECT_TRUE(paths_of_dependencies("").empty());
}

}  // namespace
}  // namespace quire
