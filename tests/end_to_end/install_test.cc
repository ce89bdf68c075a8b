// The output of `cmake --install` is whole: it works after it was moved, without the checkout.
#include <filesystem>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

TEST(Installed, AQuireThatWasMovedMakesBuildsAndRunsAProjectFromAnywhere) {
  const TemporaryFolder folder;
  const std::string prefix = folder.file("prefix");
  const ProcessResult installed =
      run_process({"/usr/bin/env", "cmake", "--install", QUIRE_BINARY_DIR, "--prefix", prefix});
  ASSERT_EQ(installed.exit_code, 0) << installed.err;
  const std::string moved = folder.file("moved to");
  std::filesystem::rename(prefix, moved);
  const std::string quire = moved + "/bin/quire";

  const ProcessResult doctor = run_process({quire, "doctor", "--model", kTiny});
  EXPECT_NE(doctor.out.find(moved + "/share/quire/sdk, makes a program"), std::string::npos)
      << doctor.out;

  for (const char* each :
       {"man/man1/quire.1", "man/man1/quire-model-add.1", "bash-completion/completions/quire",
        "zsh/site-functions/_quire", "fish/vendor_completions.d/quire.fish"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(moved + "/share/" + each)) << each;
  }
  EXPECT_FALSE(std::filesystem::exists(moved + "/share/complete"));
  // The documents and clients are in the places of a checkout, so that their links work.
  for (const char* each : {"docs/guide/install.md", "clients/python/pyproject.toml",
                           "clients/javascript/package.json", "inferlets/agent_swarm/README.md"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(moved + "/share/doc/quire/" + each)) << each;
  }

  const ProcessResult made = run_process({quire, "new", "hello", "--in", folder.file("")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const ProcessResult built = run_process({"/usr/bin/env", "make", "-C", folder.file("hello")});
  EXPECT_EQ(built.exit_code, 0) << built.out << built.err;
  const ProcessResult verbose = run_process({quire, "build", folder.file("hello/main.cpp"), "-o",
                                             folder.file("other.wasm"), "--verbose"});
  EXPECT_EQ(verbose.exit_code, 0) << verbose.err;
  EXPECT_NE(verbose.err.find(moved + "/share/quire/sdk/include"), std::string::npos) << verbose.err;
  EXPECT_EQ(verbose.err.find(QUIRE_SOURCE_DIR "/sdk"), std::string::npos) << verbose.err;

  const ProcessResult ran = run_process(
      {quire, "run", "--no-store", "--model", kTiny, moved + "/share/quire/inferlets/hello.wasm"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("Hello, world!"), std::string::npos) << ran.out;

  QUIRE_NEEDS_DEFAULT_MODEL();
  const ProcessResult answers = run_process(
      {"/usr/bin/env", "make", "-C", folder.file("hello"), "run", "ARGS=--max-tokens 3"},
      {.environment = {{"QUIRE_MODEL", default_model}, {"QUIRE_NO_STORE", "1"}}});
  EXPECT_EQ(answers.exit_code, 0) << answers.err;
}

}  // namespace
}  // namespace quire::test
