// Tests of a built program's module: its options, for help and for mistakes before a model is
// opened, and short names of functions.
#include <fstream>

#include "end_to_end/support.h"
#include "main/modules/declared_options.h"
#include "main/modules/module_sections.h"

namespace quire::test {
namespace {

const std::string kNoModel = "a-model-that-is-not-there";

// The same module without its section quire.options.
std::string without_options(const TemporaryFolder& folder, const std::string& name) {
  const std::string wasm = read_file(inferlet(name), 1u << 20).value();
  std::vector<modules::ModuleSection> sections = modules::read_sections(wasm).value();
  std::erase_if(sections, [](const auto& each) { return each.name == modules::kOptionsSection; });
  return folder.write(name + ".wasm", modules::write_module(sections));
}

TEST(ProgramOptions, HelpAfterAProgramPrintsItsOptionsWithoutAModel) {
  const std::string program = inferlet("text_completion");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", program, "--help"},
        std::vector<std::string>{"run", program, "--model", kNoModel, "--", "--help"}}) {
    const ProcessResult help = run_quire(words);
    EXPECT_EQ(help.exit_code, 0) << help.err;
    EXPECT_TRUE(help.out.starts_with("Options of " + program + ", given after \"--\":\n"))
        << help.out;
    for (const char* each : {"--max-tokens N", "default 128", "--temperature X", "--stop TEXT",
                             "may be repeated", "quire run --help"}) {
      EXPECT_NE(help.out.find(each), std::string::npos) << each << "\n" << help.out;
    }
  }
}

TEST(ProgramOptions, AProgramThatComesWithQuireRunsByItsName) {
  const ProcessResult help = run_quire({"run", "best_of_n", "--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
  EXPECT_NE(help.out.find("Options of best_of_n"), std::string::npos) << help.out;
  const ProcessResult hello = run_quire({"run", "hello", "--model", kTiny, "--no-store"});
  EXPECT_EQ(hello.exit_code, 0) << hello.err;
  EXPECT_NE(hello.out.find("tiny_llama"), std::string::npos) << hello.out;
}

TEST(ProgramOptions, AModuleThatDeclaresNoneSaysSo) {
  const TemporaryFolder folder;
  const ProcessResult help = run_quire({"run", without_options(folder, "hello"), "--help"});
  EXPECT_EQ(help.exit_code, 1);
  EXPECT_NE(help.err.find("does not say which options it has: its module has no section "
                          "quire.options"),
            std::string::npos)
      << help.err;
  const ProcessResult missing = run_quire({"run", folder.file("none.wasm"), "--help"});
  EXPECT_EQ(missing.exit_code, 3) << missing.err;
}

// A page of code is small. An interface with all its rules is more than a page, and agent_codeact
// has an engine of JavaScript in it.
std::size_t module_bytes_max(const std::string& program) {
  if (program == "agent_codeact") return 900'000;
  const bool is_interface = program.starts_with("openai_") || program.starts_with("anthropic_") ||
                            program.starts_with("gemini_");
  return is_interface ? 700'000 : 300'000;
}

TEST(ProgramOptions, EachProgramDeclaresItsOptionsInASmallModule) {
  for (const auto& each : std::filesystem::directory_iterator(QUIRE_BINARY_DIR "/inferlets")) {
    if (each.path().extension() != ".wasm") continue;
    const std::string wasm = read_file(each.path().string(), 16u << 20).value();
    EXPECT_TRUE(modules::declared_options_of(wasm).value()) << each.path();
    EXPECT_LE(wasm.size(), module_bytes_max(each.path().stem().string())) << each.path();
  }
}

// The program itself is asked by leaving its section out: then the engine starts first.
TEST(ProgramOptions, AMistakeIsReportedBeforeAModelIsOpenedInTheWordsOfTheProgram) {
  const TemporaryFolder folder;
  const std::string silent = without_options(folder, "text_completion");
  const std::pair<std::vector<std::string>, const char*> mistakes[] = {
      {{"--promt", "x"}, "unknown option --promt; did you mean --prompt?"},
      {{"a", "--max-tokens", "many"},
       "--max-tokens must be a whole number from 0 to 4294967295, not \"many\""},
      {{"a", "--top-p", "2"}, "--top-p must be a number from 0 to 1, not \"2\""},
      {{"a", "--seed"}, "--seed needs a value: a whole number from 0 to 18446744073709551615"},
      {{"a", "--chat=1"}, "--chat takes no value"},
      {{"a", "--prompt", "b"}, "give --prompt or words of their own, not both"},
  };
  for (const auto& [words, message] : mistakes) {
    const auto run = [&, &given = words](const std::string& program, const std::string& model) {
      std::vector<std::string> line = {"run", program, "--model", model, "--no-store", "--"};
      line.insert(line.end(), given.begin(), given.end());
      return run_quire(line);
    };
    const ProcessResult early = run(inferlet("text_completion"), kNoModel);
    const ProcessResult late = run(silent, kTiny);
    EXPECT_EQ(early.exit_code, 4);
    EXPECT_EQ(late.exit_code, 4);
    EXPECT_NE(early.err.find(message), std::string::npos) << early.err;
    EXPECT_NE(late.err.find(message), std::string::npos) << late.err;
  }
}

TEST(ProgramOptions, ATrapNamesFunctionsWithoutTheirArguments) {
  const TemporaryFolder folder;
  const std::string source =
      folder.write("traps.cpp",
                   "#include <string>\n#include <vector>\n"
                   "namespace deep {\n"
                   "template <typename T> struct Holder {\n"
                   "  __attribute__((noinline)) int fall(const std::vector<T>& from) {\n"
                   "    if (from.empty()) __builtin_trap();\n"
                   "    return static_cast<int>(from.size());\n  }\n};\n}\n"
                   "std::vector<std::string> none;\n"
                   "extern \"C\" __attribute__((export_name(\"run\"))) int run() {\n"
                   "  return deep::Holder<std::string>().fall(none) + 1;\n}\n");
  const std::string module = folder.file("traps.wasm");
  ASSERT_EQ(run_quire({"build", source, "-o", module}).exit_code, 0);
  const ProcessResult result = run_quire({"run", module, "--no-store", "--model", kTiny});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("!deep::Holder::fall\n"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("basic_string"), std::string::npos) << result.err;
}

class SourcePrograms : public testing::Test {
 protected:
  ProcessResult run(const std::string& source, const std::vector<std::string>& more = {}) {
    const std::string file = folder_.write("program.cpp", source);
    std::vector<std::string> line = {"run", file};
    line.insert(line.end(), more.begin(), more.end());
    return run_quire(line, {.environment = {{"QUIRE_CACHE", folder_.file("cache")}}});
  }
  static std::string says(const std::string& text) {
    return "#include \"quire/quire.h\"\nusing namespace quire;\n"
           "struct Options {\n  std::string name = \"you\";\n"
           "  void read(OptionReader& in) { in.text(\"name\", name, \"Who is greeted\"); }\n};\n"
           "Task<> program(Options options) {\n"
           "  co_await session::send(\"" +
           text + " \" + options.name);\n}\nQUIRE_MAIN(program)\n";
  }
  std::size_t entry_count() const {
    std::size_t count = 0;
    std::error_code none;
    for ([[maybe_unused]] const auto& each :
         std::filesystem::directory_iterator(folder_.file("cache/precompiled"), none)) {
      ++count;
    }
    return count;
  }
  const TemporaryFolder folder_;
};

TEST_F(SourcePrograms, AreCompiledAndRunAndTheSdkIsCompiledOnce) {
  const std::vector<std::string> engine = {"--no-store", "--model", kTiny, "--", "--name", "me"};
  const ProcessResult first = run(says("hello"), engine);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out.substr(0, 8), "hello me") << first.out;
  EXPECT_NE(first.err.find("compiling the SDK once"), std::string::npos) << first.err;
  EXPECT_EQ(entry_count(), 1u);
  const ProcessResult second = run(says("bye"), engine);
  EXPECT_EQ(second.out.substr(0, 6), "bye me") << second.out << second.err;
  EXPECT_EQ(second.err.find("compiling the SDK"), std::string::npos) << second.err;
  EXPECT_EQ(entry_count(), 1u);
  const ProcessResult help = run(says("hello"), {"--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
  EXPECT_NE(help.out.find("--name TEXT  Who is greeted (default \"you\")"), std::string::npos)
      << help.out;
  const ProcessResult wrong = run(says("hello") + "int x = ;\n", {"--model", kNoModel});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.err.find("program.cpp:"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("program.cpp was not compiled"), std::string::npos) << wrong.err;
}

TEST_F(SourcePrograms, RunWithoutTheirCache) {
  std::ofstream(folder_.file("cache")) << "a file where the cache would be";
  const ProcessResult result = run(says("hello"), {"--no-store", "--model", kTiny});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.substr(0, 9), "hello you") << result.out;
  EXPECT_NE(result.err.find("the SDK is compiled with the program: "), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace quire::test
