#include "main/verbs/make/build_command.h"

#include <gtest/gtest.h>
#include <quire_paths.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/blocked_signals.h"
#include "base/file.h"
#include "cli/exit_code.h"
#include "main/modules/declared_options.h"
#include "main/verbs/make/new_command.h"
#include "main/verbs/shared/process.h"
#include "main/verbs/shared/sdk_location.h"

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
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
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

TEST_F(BuildTest, WhatNoProgramHasIsNamedWithWhatToUseInstead) {
  const std::string source =
      write("missing.cpp",
            "#include <fstream>\n#include <thread>\n#include \"quire/quire.h\"\n"
            "quire::Task<> program() {\n  std::ifstream file(\"x\");\n  std::thread side([] {});\n"
            "  throw 3;\n  co_return;\n}\nQUIRE_MAIN(program)\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(build({.sources = {source}}), cli::number(ExitCode::Failed));
  const std::string said = testing::internal::GetCapturedStderr();
  for (const char* each :
       {"missing.cpp:7:3: error: cannot use 'throw'", "note: a program has no exceptions",
        "co_await attempt(x)", "note: a program has no files", "--send-file",
        "note: a program has one thread", "spawn(task)"}) {
    EXPECT_NE(said.find(each), std::string::npos) << each << " is not in: " << said;
  }
}

TEST_F(BuildTest, AProjectOfEachTemplateBuildsAndItsFilesNameNoPlaceholder) {
  for (const std::string each : {"chat", "agent", "search", "constrained"}) {
    ASSERT_EQ(
        new_command({.name = "a" + each, .parent = folder_.string(), .project_template = each}), 0);
    const std::string project = "a" + each + "/";
    // The written file is the one of the SDK, with the name of the project.
    const Result<std::string> given =
        read_file(QUIRE_SOURCE_DIR "/sdk/cpp/templates/" + each + ".cpp", 1u << 20);
    ASSERT_TRUE(given.ok()) << given.error().message();
    EXPECT_EQ(read(project + "main.cpp"),
              "// a" + each + given.value().substr(std::strlen("// NAME")));
    for (const char* file : {"main.cpp", "README.md", "Makefile"}) {
      for (const char* place : {"NAME", "QUIRE_PATH", "RUN_FLAGS", "EXAMPLE_ARGUMENTS"}) {
        EXPECT_EQ(read(project + file).find(place), std::string::npos) << file;
      }
    }
    const std::string module = (folder_ / project / "p.wasm").string();
    ASSERT_EQ(build({.sources = {(folder_ / project / "main.cpp").string()},
                     .output = module,
                     .flags = {"-Wall", "-Wextra", "-Wshadow", "-Werror"}}),
              0);
    const Result<std::string> wasm = read_file(module, 1u << 20);
    ASSERT_TRUE(wasm.ok()) << wasm.error().message();
    EXPECT_LE(wasm.value().size(), 300'000u) << each;
    EXPECT_TRUE(modules::declared_options_of(wasm.value()).value()) << each;
  }
  EXPECT_NE(read("aagent/Makefile").find("FLAGS ?= --allow-http en.wikipedia.org\n"),
            std::string::npos);
  EXPECT_EQ(new_command({.name = "b", .parent = folder_.string(), .project_template = "chatt"}),
            cli::number(ExitCode::Usage));
  EXPECT_FALSE(fs::exists(folder_ / "b"));
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

TEST_F(BuildTest, AnOutputInAFolderThatIsNotThereIsRefusedBeforeTheSourceIsRead) {
  const std::string output = (folder_ / "nowhere" / "x.wasm").string();
  testing::internal::CaptureStderr();
  EXPECT_EQ(build_command({.sources = {"missing.cpp"}, .output = output}), 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: there is no folder " +
                                                        (folder_ / "nowhere").string() +
                                                        " for -o " + output + "; make it first\n");
}

TEST_F(BuildTest, TheOutputIsNamedAfterTheFirstSourceAndFlagsReachTheCompiler) {
  const std::string source = write("flags.cpp",
                                   "#include <cstdint>\n__attribute__((export_name(\"run\"))) "
                                   "extern \"C\" std::int32_t run() { return VALUE; }\n");
  EXPECT_EQ(build({.sources = {source}}), cli::number(ExitCode::Failed));
  EXPECT_EQ(build({.sources = {source}, .flags = {"-DVALUE=3"}}), 0);
  EXPECT_TRUE(fs::exists(folder_ / "flags.wasm"));
}

TEST_F(BuildTest, ANewProjectNamesTheProgramThatMadeItAndGivesEditorsItsFlags) {
  ASSERT_EQ(new_command({.name = "hello", .parent = folder_.string()}), 0);
  const std::string makefile = read("hello/Makefile");
  EXPECT_NE(makefile.find("QUIRE ?= $(shell command -v \"" + executable_path().value() +
                          "\" || echo quire)\n"),
            std::string::npos)
      << makefile;
  const std::string flags = read("hello/compile_flags.txt");
  EXPECT_NE(flags.find("\n-I" + find_sdk("").value().include_folder + "\n"), std::string::npos)
      << flags;
  EXPECT_EQ(flags.find("-Wl,"), std::string::npos) << flags;
}

TEST_F(BuildTest, TheSdkBesideTheProgramThatRunsIsUsedBeforeTheSourceTree) {
  const auto make_sdk = [&](const std::string& sdk) {
    fs::create_directories(folder_ / sdk / "include/quire");
    write(sdk + "/include/quire/quire.h", "");
    write(sdk + "/guest_flags.rsp", "");
    return (folder_ / sdk).string();
  };
  const SdkSearch installed = {.executable = (folder_ / "bin/quire").string(),
                               .source_folder = (folder_ / "source").string()};
  SdkSearch built = installed;
  built.executable = (folder_ / "build/release/quire").string();
  EXPECT_EQ(find_sdk(installed).error().message(),
            "the C++ SDK is in none of " + folder_.string() + "/share/quire/sdk, " +
                folder_.parent_path().string() + "/sdk/cpp, " + folder_.string() +
                "/source/sdk/cpp; name its folder with --sdk or QUIRE_SDK");
  const std::string source = make_sdk("source/sdk/cpp");
  EXPECT_EQ(find_sdk(installed).value().folder, source);
  const std::string checkout = make_sdk("sdk/cpp");
  EXPECT_EQ(find_sdk(built).value().folder, checkout);
  EXPECT_EQ(find_sdk(built).value().include_folders(),
            std::vector<std::string>{checkout + "/include"});
  EXPECT_EQ(find_sdk(built).value().flags_file, checkout + "/guest_flags.rsp");
  const std::string draw = (folder_ / "draw/include").string();
  fs::create_directories(draw + "/quire");
  write("draw/include/quire/draw_rule.h", "");
  EXPECT_EQ(find_sdk(built).value().include_folders(),
            (std::vector<std::string>{checkout + "/include", draw}));
  write("sdk/cpp/include/quire/draw_rule.h", "");
  EXPECT_EQ(find_sdk(built).value().include_folders(),
            std::vector<std::string>{checkout + "/include"});
  const std::string beside = make_sdk("share/quire/sdk");
  EXPECT_EQ(find_sdk(installed).value().folder, beside);
  EXPECT_EQ(find_sdk(built).value().folder, checkout);
}

TEST_F(BuildTest, AnSdkThatTheUserNamesIsUsedAloneOrRefusedByName) {
  EXPECT_EQ(find_sdk(folder_.string()).error().message(),
            "no C++ SDK is in " + folder_.string() +
                " (--sdk or QUIRE_SDK), which lacks include/quire/quire.h or guest_flags.rsp");
  fs::create_directories(folder_ / "include/quire");
  write("include/quire/quire.h", "#pragma once\ninline int from_the_named_sdk = 1;\n");
  write("guest_flags.rsp", "--target=wasm32-wasi\n-std=c++20\n");
  const std::string source = write("named.cpp",
                                   "#include \"quire/quire.h\"\n"
                                   "__attribute__((export_name(\"run\"))) extern \"C\" int run() "
                                   "{ return from_the_named_sdk; }\n");
  EXPECT_EQ(build({.sources = {source}, .sdk = folder_.string()}), 0);
  EXPECT_EQ(build({.sources = {source}}), cli::number(ExitCode::Failed));
  EXPECT_EQ(build({.sources = {source}, .sdk = "/no/such/sdk"}), cli::number(ExitCode::Missing));
}

TEST(Process, GivesTheExitCodeTheOutputAndTheSignal) {
  EXPECT_EQ(run_process({"sh", "-c", "exit 7"}, ProcessOutput::Show).value().exit_code, 7);
  EXPECT_EQ(run_process({"echo", "a b"}, ProcessOutput::Return).value().output, "a b\n");
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}, ProcessOutput::Hide).value().exit_code, 137);
  EXPECT_EQ(run_process({"no-such-program"}, ProcessOutput::Show).error().code(),
            ErrorCode::NotFound);
}

TEST(Process, HasDefaultSignalsAndNoneBlockedWhateverThisOneHas) {
  const auto ignored = signal(SIGPIPE, SIG_IGN);
  ProcessEnd by_term;
  ProcessEnd by_pipe;
  {
    const BlockedSignals blocked;
    by_term = run_process({"sh", "-c", "kill -TERM $$"}, ProcessOutput::Hide).value();
    by_pipe = run_process({"sh", "-c", "kill -PIPE $$"}, ProcessOutput::Hide).value();
  }
  signal(SIGPIPE, ignored);
  EXPECT_EQ(by_term.exit_code, 128 + SIGTERM);
  EXPECT_EQ(by_pipe.exit_code, 128 + SIGPIPE);
}

}  // namespace
}  // namespace quire
