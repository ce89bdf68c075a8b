// Prompts from the command line, from files and from pipes are the same prompt.
#include "end_to_end/support.h"

namespace quire::test {
namespace {

const std::string kPrompt = "Once upon a time\nthere was a page table";

std::vector<std::string> generate_with(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"generate", "--model", kTiny, "--kv-pages",
                                        "256",      "-n",      "4",   "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::uint32_t> ids_of(const ProcessResult& result) {
  const nlohmann::json json = output_json(result);
  return json.is_object() ? json["prompt_ids"].get<std::vector<std::uint32_t>>()
                          : std::vector<std::uint32_t>{};
}

TEST(EndToEndPrompt, AWordAFlagAFileAndStandardInputAreTheSame) {
  TemporaryFolder folder;
  const std::string file = folder.write("prompt.txt", kPrompt + "\n");
  const std::vector<std::uint32_t> wanted = ids_of(run_quire(generate_with({"--prompt", kPrompt})));
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(ids_of(run_quire(generate_with({kPrompt}))), wanted);
  EXPECT_EQ(ids_of(run_quire(generate_with({"--prompt-file", file}))), wanted);
  const ProcessOptions piped{.input = kPrompt + "\n"};
  EXPECT_EQ(ids_of(run_quire(generate_with({}), piped)), wanted);
  EXPECT_EQ(ids_of(run_quire(generate_with({"-"}), piped)), wanted);
  EXPECT_EQ(ids_of(run_quire(generate_with({"--prompt", "-"}), piped)), wanted);
  EXPECT_EQ(ids_of(run_quire(generate_with({"--prompt-file", "-"}), piped)), wanted);
  // As the shell gives <(command).
  EXPECT_EQ(ids_of(run_quire(generate_with({"--prompt-file", "/dev/stdin"}), piped)), wanted);
}

TEST(EndToEndPrompt, OnlyTheNewlineThatEndsTheLastLineIsLeftOut) {
  const auto ids = [](const std::string& input) {
    return ids_of(run_quire(generate_with({}), {.input = input}));
  };
  EXPECT_EQ(ids("a\n"), ids("a"));
  EXPECT_EQ(ids("a\r\n"), ids("a"));
  EXPECT_NE(ids("a\n\n"), ids("a"));
}

TEST(EndToEndPrompt, AFileThatIsNotThereAndAnEmptyOneAreNamed) {
  TemporaryFolder folder;
  const ProcessResult missing = run_quire(generate_with({"--prompt-file", folder.file("no.txt")}));
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("no.txt"), std::string::npos) << missing.err;
  const ProcessResult empty = run_quire(generate_with({"--prompt-file", folder.write("e", "")}));
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_NE(empty.err.find("the prompt is empty"), std::string::npos) << empty.err;
  const ProcessResult is_folder = run_quire(generate_with({"--prompt-file", folder.file("")}));
  EXPECT_EQ(is_folder.exit_code, 1);
  EXPECT_NE(is_folder.err.find("is a folder"), std::string::npos) << is_folder.err;
}

// More than one argument of a process may hold: what it is too long for is said in tokens.
TEST(EndToEndPrompt, ALongPromptReachesTheModelAndIsJudgedByItsContext) {
  TemporaryFolder folder;
  std::string text;
  while (text.size() < (std::size_t{9} << 20)) text += "the page table of a page ";
  const ProcessResult result =
      run_quire(generate_with({"--prompt-file", folder.write("long.txt", text)}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("tokens do not fit"), std::string::npos) << result.err.substr(0, 400);
}

TEST(EndToEndPrompt, AProgramGetsALongPromptAsAFileOrAsLines) {
  TemporaryFolder folder;
  const std::string file = folder.write("prompt.txt", kPrompt + "\n");
  const auto run = [&](std::vector<std::string> flags, std::vector<std::string> program,
                       const std::string& input) {
    std::vector<std::string> arguments = {
        "run", inferlet("text_completion"), "--model", kTiny, "--kv-pages", "64"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    arguments.insert(arguments.end(), {"--", "--max-tokens", "4"});
    arguments.insert(arguments.end(), program.begin(), program.end());
    return run_quire(arguments, {.input = input});
  };
  // Another prompt gets another answer.
  const std::string wanted = run({}, {"--prompt", kPrompt}, "").out;
  EXPECT_NE(run({}, {"--prompt", kPrompt + "s"}, "").out, wanted);
  EXPECT_EQ(run({"--send-file", file}, {"--prompt-file", "prompt.txt"}, "").out, wanted);
  EXPECT_EQ(run({}, {"--prompt", "-"}, kPrompt + "\n").out, wanted);
  const ProcessResult no_file = run({}, {"--prompt-file", "prompt.txt"}, "");
  EXPECT_EQ(no_file.exit_code, 4);
  EXPECT_NE(no_file.err.find("quire run --send-file prompt.txt"), std::string::npos) << no_file.err;
}

TEST(EndToEndPrompt, EvalReadsAPipe) {
  TemporaryFolder folder;
  const auto eval = [](const std::string& path, const std::string& input) {
    const nlohmann::json json = output_json(
        run_quire({"eval", "--model", kTiny, "--kv-pages", "64", "--text-file", path, "--json"},
                  {.input = input}));
    return json["nll"].get<std::vector<double>>();
  };
  EXPECT_EQ(eval("/dev/stdin", kPrompt), eval(folder.write("text.txt", kPrompt), ""));
}

TEST(EndToEndPrompt, HelpInAChatIsAnsweredByTheChat) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const ProcessResult result =
      run_quire({"chat", "--model", default_model}, {.input = "/help\n/quit\n"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("/clear"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace quire::test
