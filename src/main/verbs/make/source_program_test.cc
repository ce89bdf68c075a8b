#include "main/verbs/make/source_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/process.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

// Sources without the SDK, which compile in a tenth of a second.
class SourcePrograms : public testing::Test {
 protected:
  void SetUp() override { setenv("QUIRE_CACHE", folder_.file("cache").c_str(), 1); }
  void TearDown() override { unsetenv("QUIRE_CACHE"); }

  void write(const std::string& name, const std::string& text) const {
    folder_.write(name, text);
    fs::last_write_time(folder_.file(name),
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  // The module, and what was said.
  std::string build() {
    testing::internal::CaptureStderr();
    exit_code_ = build_for_run(folder_.file("p.cpp"), folder_.file("p.wasm"));
    said_ = testing::internal::GetCapturedStderr();
    std::ifstream in(folder_.file("p.wasm"), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The times at which the modules of the cache were made.
  std::vector<fs::file_time_type> kept() const {
    std::vector<fs::file_time_type> times;
    std::error_code none;
    for (const auto& each : fs::directory_iterator(folder_.file("cache/programs"), none)) {
      times.push_back(fs::last_write_time(each.path() / "program.wasm"));
    }
    return times;
  }

  const test::TemporaryFolder folder_;
  int exit_code_ = 0;
  std::string said_;
};

constexpr const char* kSource =
    "#include \"answer.h\"\n"
    "extern \"C\" __attribute__((export_name(\"run\"))) int run() { return kAnswer; }\n";

TEST_F(SourcePrograms, AreCompiledOnceForTheSameBytes) {
  write("p.cpp", kSource);
  write("answer.h", "constexpr int kAnswer = 41;\n");
  const std::string first = build();
  ASSERT_EQ(exit_code_, 0) << said_;
  ASSERT_FALSE(first.empty());
  const auto times = kept();
  ASSERT_EQ(times.size(), 1u);
  fs::last_write_time(folder_.file("answer.h"),
                      fs::file_time_type::clock::now() - std::chrono::minutes(1));
  EXPECT_EQ(build(), first);
  EXPECT_EQ(kept(), times) << "a time alone is no change";
  write("answer.h", "constexpr int kAnswer = 42;\n");
  EXPECT_NE(build(), first) << "a header is part of the program";
  EXPECT_EQ(kept().size(), 1u);
  write("answer.h", "constexpr int kAnswer = 41;\n");
  EXPECT_EQ(build(), first);
}

TEST_F(SourcePrograms, AreWarnedOfEachTime) {
  write("p.cpp",
        "extern \"C\" __attribute__((export_name(\"run\"))) int run() { int unused; return 0; }\n");
  for (int i = 0; i < 2; ++i) {
    build();
    EXPECT_EQ(exit_code_, 0);
    EXPECT_NE(said_.find("unused variable"), std::string::npos) << said_;
    EXPECT_EQ(said_.find('\x1b'), std::string::npos) << "no colours, except on a terminal";
  }
  EXPECT_EQ(kept().size(), 1u);
}

TEST_F(SourcePrograms, ThatAreWrongAreNotKept) {
  write("p.cpp", "int x = ;\n");
  build();
  EXPECT_EQ(exit_code_, 1);
  EXPECT_NE(said_.find("expected expression"), std::string::npos) << said_;
  EXPECT_TRUE(kept().empty());
}

TEST_F(SourcePrograms, TellTheFilesThatTheyAreMadeOf) {
  write("p.cpp", kSource);
  write("answer.h", "constexpr int kAnswer = 41;\n");
  write("other.h", "");
  const auto has = [&](const std::string& name) {
    const std::vector<std::string> files = files_of_program(folder_.file("p.cpp"));
    return std::ranges::find(files, folder_.file(name)) != files.end();
  };
  EXPECT_TRUE(has("p.cpp"));
  EXPECT_TRUE(has("other.h")) << "as long as it is not compiled, all headers beside it";
  build();
  EXPECT_TRUE(has("p.cpp"));
  EXPECT_TRUE(has("answer.h"));
  EXPECT_FALSE(has("other.h"));
}

TEST_F(SourcePrograms, CompileWithoutAFolderForCaches) {
  setenv("QUIRE_CACHE", "/dev/null", 1);
  write("p.cpp", kSource);
  write("answer.h", "constexpr int kAnswer = 41;\n");
  EXPECT_FALSE(build().empty());
  EXPECT_EQ(exit_code_, 0) << said_;
}

}  // namespace
}  // namespace quire
