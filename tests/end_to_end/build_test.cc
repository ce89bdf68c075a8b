// Programs as `quire build` makes them from a user's own source, run by `quire run`: what of the
// C++ library works, what of their text reaches the log, and how they end.
#include <fstream>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

class BuiltPrograms : public testing::Test {
 protected:
  ProcessResult build(const std::string& source, const std::vector<std::string>& flags = {}) {
    folder_.write("program.cpp", source);
    std::vector<std::string> arguments = {"build", folder_.file("program.cpp"), "-o", module()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run_quire(arguments);
  }
  ProcessResult run(const std::string& source, const std::vector<std::string>& flags = {}) {
    const ProcessResult built = build(source, flags);
    EXPECT_EQ(built.exit_code, 0) << built.err;
    return run_quire({"run", module(), "--no-store", "--model", kTiny});
  }
  std::string module() const { return folder_.file("program.wasm"); }

  const TemporaryFolder folder_;
};

// A program without the SDK's own entry: it compiles in a tenth of the time.
std::string bare(const std::string& includes, const std::string& before, const std::string& entry) {
  return includes + "\n" + before +
         "\nextern \"C\" __attribute__((export_name(\"run\"))) int run() {\n" + entry + "\n}\n";
}

std::string coroutine(const std::string& body) {
  return "#include <cstdio>\n#include <format>\n#include <iostream>\n#include \"quire/quire.h\"\n"
         "namespace {\nusing namespace quire;\n"
         "Task<> program([[maybe_unused]] std::vector<std::string> arguments) {\n" +
         body + "\n}\n}  // namespace\nQUIRE_MAIN(program)\n";
}

TEST_F(BuiltPrograms, MayUseFormatAndWideIntegers) {
  const ProcessResult result =
      run(coroutine("co_await session::send(std::format(\"{} {:>8.3f} {}\", 1, 2.5, \"text\"));\n"
                    "unsigned __int128 wide = 1;\n"
                    "for (int i = 0; i < 30; ++i) wide *= 10;\n"
                    "co_await session::send(std::to_string(int(wide % 97)));"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.substr(0, 17), "1    2.500 text85") << result.out;
}

TEST_F(BuiltPrograms, LaunchProgramsThatComeWithQuire) {
  const ProcessResult result =
      run(coroutine("const Child child = co_await Child::launch({.program = \"text_completion\",\n"
                    "    .arguments = {\"--prompt\", \"a\", \"--max-tokens\", \"2\"}});\n"
                    "co_await child.forward(session::send);\n"
                    "const ChildEnd end = co_await child.wait();\n"
                    "co_await session::print(\"; exit code {}\", end.exit_code);\n"
                    "const auto none = Child::launch({.program = \"nobody\"});\n"
                    "co_await session::send(\"; \" + none.error().text());"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("; exit code 0"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("; not-found: no program \"nobody\" (there are 1 by name); --program"),
            std::string::npos)
      << result.out;
}

TEST_F(BuiltPrograms, TextWithoutALineEndReachesTheLogHoweverTheyEnd) {
  const ProcessResult built = build(coroutine(
      "const std::string end = arguments.at(0);\n"
      "std::printf(\"printed\"); std::fputs(\", put\", stdout); std::cout << \", streamed\";\n"
      "if (end == \"error\") co_await fail(ErrorCode::InvalidArgument, \"wrong\");\n"
      "if (end == \"exit\") std::exit(3);\n"
      "if (end == \"abort\") std::abort();\n"
      "if (end == \"trap\") __builtin_trap();\n"
      "if (end == \"panic\") panic(\"cannot be\");\n"
      "if (end == \"memory\") co_await session::send(std::string(std::size_t{1} << 31, 'x'));\n"
      "co_return;"));
  ASSERT_EQ(built.exit_code, 0) << built.err;
  for (const char* end : {"return", "error", "exit", "abort", "trap", "panic", "memory"}) {
    const ProcessResult ends =
        run_quire({"run", module(), "--no-store", "--model", kTiny, "--", end});
    EXPECT_EQ(ends.exit_code == 0, std::string(end) == "return") << end << ends.err;
    EXPECT_NE((ends.out + ends.err).find("printed, put, streamed"), std::string::npos)
        << end << ends.err;
  }
}

TEST_F(BuiltPrograms, TextOfAnEntryWithoutTheSdkReachesTheLogToo) {
  for (const char* end : {"return 0;", "__builtin_trap();"}) {
    const ProcessResult result =
        run(bare("#include <cstdio>", "", std::string("std::printf(\"no newline\");\n") + end));
    EXPECT_NE((result.out + result.err).find("no newline"), std::string::npos) << result.err;
  }
  // A program may buffer its text itself; what it has not flushed is written when it returns.
  const ProcessResult result = run(
      coroutine("static char buffer[4096];\nstd::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);\n"
                "std::printf(\"buffered\");\nco_return;"));
  EXPECT_NE((result.out + result.err).find("buffered"), std::string::npos) << result.err;
}

constexpr const char* kLargeArray =
    "volatile double sink;\n"
    "template <int kCount> __attribute__((noinline)) void fill() {\n"
    "  double copy[kCount];\n"
    "  for (int i = 0; i < kCount; ++i) copy[i] = i + sink;\n"
    "  for (int i = 0; i < kCount; ++i) sink = sink + copy[(i * 7) % kCount];\n"
    "}\n";

TEST_F(BuiltPrograms, HaveAStackOfOneMebibyteAndAreToldWhenItOverflows) {
  const ProcessResult fits = run(bare("", kLargeArray, "fill<100000>();\nreturn 0;"));
  EXPECT_EQ(fits.exit_code, 0) << fits.err;
  const ProcessResult overflows = run(bare("", kLargeArray, "fill<200000>();\nreturn 0;"));
  EXPECT_EQ(overflows.exit_code, 4);
  EXPECT_NE(overflows.err.find("overflowed its stack of 1 MiB"), std::string::npos)
      << overflows.err;
  const ProcessResult larger =
      run(bare("", kLargeArray, "fill<200000>();\nreturn 0;"), {"--", "-Wl,-z,stack-size=4194304"});
  EXPECT_EQ(larger.exit_code, 0) << larger.err;
}

TEST_F(BuiltPrograms, RecursionWithoutEndIsAnOverflowOfAStackByName) {
  const std::string deep =
      "int (*volatile next)(int);\n"  // No tail call, and no loop of it.
      "int deep(int depth) {\n";
  const auto ends_with = [&](const std::string& local, const std::string& message) {
    const ProcessResult result = run(bare("", deep + local + "\n  return next(depth + 1) + 1;\n}\n",
                                          "next = deep;\nreturn deep(0);"));
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  };
  ends_with("", "overflowed its call stack of 1 MiB");
  ends_with("volatile char local[2000]; local[depth % 2000] = 1;", "overflowed its stack of 1 MiB");
}

TEST_F(BuiltPrograms, TrapsOfADebugBuildTellFileAndLine) {
  const std::string source = bare("",
                                  "int* volatile nowhere = nullptr;\n"
                                  "void stores() {\n"
                                  "  nowhere -= 1;\n"
                                  "  *nowhere = 1;\n"  // Line 5.
                                  "}\n",
                                  "stores();\nreturn 0;");
  const ProcessResult traps = run(source, {"--debug"});
  EXPECT_EQ(traps.exit_code, 4);
  EXPECT_NE(traps.err.find("program.cpp:5:"), std::string::npos) << traps.err;
  const ProcessResult without = run(source);
  EXPECT_EQ(without.exit_code, 4);
  EXPECT_EQ(without.err.find("program.cpp"), std::string::npos) << without.err;
  EXPECT_NE(without.err.find("!run"), std::string::npos) << without.err;
}

TEST_F(BuiltPrograms, ATaskThatNothingAwaitsDoesNotCompile) {
  const auto refused = [&](const std::string& body, const std::string& why) {
    const ProcessResult result =
        build(coroutine("const Model model = co_await Model::open();\n"
                        "Context context = co_await Context::create(model);\n" +
                        body + "\nco_return;"));
    EXPECT_EQ(result.exit_code, 1) << body;
    EXPECT_NE(result.err.find("\nerror: the compiler found errors"), std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find(why), std::string::npos) << body << "\n" << result.err;
  };
  refused("context.flush();", "does nothing until it is awaited");
  refused("context.model().detokenize({1});", "nodiscard");
  refused("TRY(context.flush());", "co_await gives its value");
  refused("co_return Error{};", "return_value");
}

TEST_F(BuiltPrograms, AGeneratorCanBeAwaitedAsAWhole) {
  const ProcessResult built =
      build(coroutine("const Model model = co_await Model::open();\n"
                      "Context context = co_await Context::create(model);\n"
                      "const Generation answer = co_await context.generate({});\n"
                      "co_await session::send(answer.text);"));
  EXPECT_EQ(built.exit_code, 0) << built.err;
}

}  // namespace
}  // namespace quire::test
