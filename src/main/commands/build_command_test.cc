#include "main/commands/build_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/exit_code.h"
#include "main/commands/new_command.h"
#include "main/commands/process.h"
#include "main/commands/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;

class BuildTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "quire-build-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  static int build(const cli::BuildOptions& options) { return build_command(options); }

  fs::path folder_;
};

TEST_F(BuildTest, ANewProjectBuildsToAModule) {
  ASSERT_EQ(new_command({.name = "my-program", .parent = folder_.string()}), 0);
  const fs::path project = folder_ / "my-program";
  for (const char* each : {"main.cpp", "README.md", "Makefile"}) {
    EXPECT_TRUE(fs::exists(project / each)) << each;
  }
  const std::string output = (project / "my-program.wasm").string();
  ASSERT_EQ(build({.sources = {(project / "main.cpp").string()}, .output = output}), 0);
  std::ifstream file(output, std::ios::binary);
  std::string magic(4, '\0');
  file.read(magic.data(), 4);
  EXPECT_EQ(magic, std::string("\0asm", 4));
}

TEST_F(BuildTest, NewRefusesAFolderThatExistsAndNamesThatAreNone) {
  const auto make = [&](const std::string& name) {
    return new_command({.name = name, .parent = folder_.string()});
  };
  ASSERT_EQ(make("twice"), 0);
  EXPECT_EQ(make("twice"), cli::number(ExitCode::Failed));
  for (const std::string name : {"", "../up", "a/b", "1st", "-x", ".", "a b"}) {
    EXPECT_EQ(make(name), cli::number(ExitCode::Usage)) << name;
  }
  EXPECT_EQ(make(std::string(65, 'a')), cli::number(ExitCode::Usage));
}

TEST_F(BuildTest, TellsErrorsOfTheProgramFromWhatIsMissing) {
  const std::string wrong = write("wrong.cpp", "int x = ;\n");
  EXPECT_EQ(build({.sources = {wrong}}), cli::number(ExitCode::Failed));
  EXPECT_FALSE(fs::exists(folder_ / "wrong.wasm"));
  EXPECT_EQ(build({.sources = {(folder_ / "none.cpp").string()}}), cli::number(ExitCode::Missing));
  const std::string right = write("right.cpp", "int x = 1;\n");
  EXPECT_EQ(build({.sources = {right}, .compiler = "/no/such/clang++"}),
            cli::number(ExitCode::Missing));
}

TEST_F(BuildTest, TheOutputIsNamedAfterTheFirstSourceAndFlagsReachTheCompiler) {
  const std::string source = write("flags.cpp",
                                   "#include <cstdint>\n__attribute__((export_name(\"run\"))) "
                                   "extern \"C\" std::int32_t run() { return VALUE; }\n");
  EXPECT_EQ(build({.sources = {source}}), cli::number(ExitCode::Failed));
  EXPECT_EQ(build({.sources = {source}, .flags = {"-DVALUE=3"}}), 0);
  EXPECT_TRUE(fs::exists(folder_ / "flags.wasm"));
}

TEST_F(BuildTest, TheInstalledSdkComesBeforeTheSourceTree) {
  fs::create_directories(folder_ / "bin");
  fs::create_directories(folder_ / "share/quire/sdk/include/quire");
  fs::create_directories(folder_ / "source/sdk/cpp/include/quire");
  const std::string executable = (folder_ / "bin" / "quire").string();
  const std::string source = (folder_ / "source").string();
  EXPECT_FALSE(find_sdk(executable, source).ok());
  write("source/sdk/cpp/include/quire/quire.h", "");
  EXPECT_EQ(find_sdk(executable, source).value().include_folder, source + "/sdk/cpp/include");
  write("share/quire/sdk/include/quire/quire.h", "");
  EXPECT_EQ(find_sdk(executable, source).value().include_folder,
            (folder_ / "share/quire/sdk/include").string());
}

TEST(Process, GivesTheExitCodeTheOutputAndTheSignal) {
  EXPECT_EQ(run_process({"sh", "-c", "exit 7"}, ProcessOutput::Show).value().exit_code, 7);
  EXPECT_EQ(run_process({"echo", "a b"}, ProcessOutput::Return).value().output, "a b\n");
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}, ProcessOutput::Hide).value().exit_code, 137);
  EXPECT_EQ(run_process({"no-such-program"}, ProcessOutput::Show).error().code(),
            ErrorCode::NotFound);
}

}  // namespace
}  // namespace quire
