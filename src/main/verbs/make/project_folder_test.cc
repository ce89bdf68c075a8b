#include "main/verbs/make/project_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "main/verbs/make/source_modules.h"
#include "main/verbs/make/source_program.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

class ProjectFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "quire-project-folder-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  // A folder with empty files of these names.
  std::string folder_with(const std::string& name, const std::vector<std::string>& files) {
    const fs::path folder = root_ / name;
    fs::create_directories(folder);
    for (const std::string& each : files) std::ofstream(folder / each) << "";
    return folder.string();
  }
  static std::string error_of(const std::string& folder) {
    const Result<std::string> source = main_source_in(folder);
    EXPECT_FALSE(source.ok());
    return source.ok() ? "" : std::string(source.error().message());
  }

  fs::path root_;
};

TEST_F(ProjectFolder, IsTheProgramOfItsOnlyMainSourceInEachLanguage) {
  for (const char* each : {"main.ts", "main.mts", "main.js", "main.mjs", "main.cpp", "main.cc"}) {
    const std::string folder =
        folder_with(std::string("of-") + each, {each, "README.md", "Makefile", "util.js"});
    EXPECT_TRUE(is_project_folder(folder));
    EXPECT_TRUE(is_program_source(folder));
    EXPECT_EQ(program_name_of(folder), std::string("of-") + each);
    EXPECT_EQ(program_name_of(folder + "/"), std::string("of-") + each);
    const Result<std::string> source = main_source_in(folder);
    ASSERT_TRUE(source.ok());
    EXPECT_EQ(source.value(), folder + "/" + each);
  }
  EXPECT_TRUE(is_project_folder(folder_with("cargo", {"Cargo.toml"})));
}

TEST_F(ProjectFolder, NamesWhatItFoundAndHowToNameOneIfItIsAmbiguous) {
  const std::string two = folder_with("two", {"main.ts", "main.cpp"});
  EXPECT_EQ(error_of(two), two + " holds several programs: main.cpp, main.ts; name one, as in " +
                               two + "/main.cpp");
  folder_with("none/inner", {"main.js"});
  const std::string none = folder_with("none", {"chat.js", "tool.wasm", "notes.txt"});
  EXPECT_FALSE(is_project_folder(none));
  EXPECT_EQ(error_of(none),
            none +
                " is a folder without Cargo.toml, main.ts, main.js or main.cpp; it holds "
                "chat.js, inner, tool.wasm: name one, as in " +
                none + "/chat.js");
  const std::string empty = folder_with("empty", {});
  EXPECT_EQ(error_of(empty), empty +
                                 " is a folder without Cargo.toml, main.ts, main.js or "
                                 "main.cpp, and holds no other program");
}

TEST_F(ProjectFolder, IsOneProgramOfAServerUnlessItHoldsModules) {
  const std::string project = folder_with("project", {"main.js", "other.js", "project.wasm"});
  const std::string mixed = folder_with("mixed", {"main.js", "built.wasm"});
  EXPECT_TRUE(SourceModules::has_source({project}));
  SourceModules modules(root_ / "no-such-folder");
  const Result<std::vector<std::string>> built = modules.build({project});
  EXPECT_FALSE(built.ok());  // It tried to make one module, of the folder.
  EXPECT_EQ(built.error().message(), project + " was not built");
  EXPECT_TRUE(SourceModules::has_source({mixed}));
}

}  // namespace
}  // namespace quire
