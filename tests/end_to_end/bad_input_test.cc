// Mistakes of users and programs give a clear message and an exit code, and break nothing.
#include <sstream>

#include "end_to_end/support.h"
#include "support/wat.h"

namespace quire::test {
namespace {

void expect_failure(const ProcessResult& result, int exit_code, const std::string& text) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << "wanted: " << text << "\n" << result.err;
  EXPECT_FALSE(result.timed_out);
}

// A module in the text format, as a file.
std::string module_file(const TemporaryFolder& folder, const std::string& body) {
  const Result<std::string> wasm = test::wasm_from_wat("(module " + body + ")");
  EXPECT_TRUE(wasm.ok()) << (wasm.ok() ? "" : wasm.error().message());
  return folder.write("guest.wasm", wasm.ok() ? wasm.value() : "");
}

ProcessResult run_module(const std::string& file, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"run", file, "--model", kTiny, "--kv-pages", "64"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_quire(arguments, {.limit = std::chrono::seconds(120)});
}

TEST(EndToEndBadInput, AMissingModelSaysHowToGetOne) {
  TemporaryFolder folder;
  const ProcessOptions empty{.environment = {{"QUIRE_DATA", folder.file("data")}}};
  expect_failure(run_quire({"generate", "--prompt", "a"}, empty), 3, "make model");
  expect_failure(run_quire({"generate", "--prompt", "a", "--model", "nobody"}, empty), 3, "nobody");
  expect_failure(run_quire({"chat", "--model", "/nowhere/model.gguf", "hello"}), 3, "/nowhere");
}

TEST(EndToEndBadInput, ABrokenModelFileIsAnErrorWithItsPlace) {
  TemporaryFolder folder;
  expect_failure(run_quire({"generate", "--prompt", "a", "--model",
                            folder.write("model.gguf", "GGUF\x03\x00\x00")}),
                 1, "model.gguf");
  expect_failure(run_quire({"model", "show", folder.write("other.gguf", "no model at all")}), 1,
                 "other.gguf");
}

// Runs `quire WORDS`, with its standard output redirected.
ProcessResult run_redirected(const std::string& words, const std::string& redirection) {
  return run_process({"/bin/sh", "-c", QUIRE_BINARY_DIR "/quire " + words + redirection});
}

TEST(EndToEndBadInput, OutputThatCannotBeWrittenIsAFailure) {
  const TemporaryFolder folder;
  const std::string model = " --model " + kTiny;
  const std::string keys = folder.file("keys");
  const std::string commands[] = {"tokenize a" + model, "generate a -n 3 --kv-pages 8" + model,
                                  "--help", "keys add me --keys " + keys};
  for (const std::string& each : commands) {
    SCOPED_TRACE(each);
    expect_failure(run_redirected(each, " > /dev/full"), 1, "No space left on device");
    expect_failure(run_redirected(each, " >&-"), 1, "Bad file descriptor");
  }
  expect_failure(run_quire({"keys", "list", "--keys", keys}), 3, "");
  EXPECT_EQ(run_redirected("--help", " | true; exit 0").exit_code, 0);
}

TEST(EndToEndBadInput, WrongUseExitsWithTwo) {
  expect_failure(run_quire({"generate", "--prompt", "a", "--colour", "red"}), 2, "--colour");
  expect_failure(run_quire({"frobnicate"}), 2, "--help");
  const ProcessResult mode = run_quire({"chat", "--kv", "x"});
  EXPECT_EQ(mode.exit_code, 2);
  EXPECT_EQ(mode.err.substr(0, mode.err.find('\n')),
            "error: unknown kv cache mode \"x\" (supported: basic, paged)");
}

TEST(EndToEndBadInput, APromptBeyondContextOrPoolIsRefusedWithTheNumbers) {
  std::string ids = "[0";
  for (int i = 0; i < 40'000; ++i) ids += ",1";
  TemporaryFolder folder;
  const std::string file = folder.write("ids.json", ids + "]");
  expect_failure(run_quire({"eval", "--model", kTiny, "--ids", file, "--kv-pages", "8"}), 1,
                 "40001");
  const std::string few = folder.write("few.json", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]");
  expect_failure(run_quire({"eval", "--model", kTiny, "--ids", few, "--kv-pages", "1"}), 1,
                 "need 2 pages");
}

TEST(EndToEndBadInput, WhatIsNoModuleIsNamed) {
  TemporaryFolder folder;
  expect_failure(run_module(folder.write("text.wasm", "hello")), 4, "text.wasm");
  expect_failure(run_module(folder.file("nothing.wasm")), 3, "nothing.wasm");
}

// `quire run` compiles the program's own source; a server and --program take modules alone.
TEST(EndToEndBadInput, SourceIsCompiledAndWhatIsNoProgramIsToldSo) {
  TemporaryFolder folder;
  const std::string source = folder.write("hello.cpp", "int main() {}\n");
  const std::string no_entry = "exports neither run nor _start";
  expect_failure(run_module(source), 4, no_entry);
  expect_failure(run_module(folder.write("wrong.cpp", "int x = ;")), 1,
                 "wrong.cpp was not compiled");
  expect_failure(run_module(folder.file("nothing.cpp")), 3, "no file ");
  expect_failure(run_module(inferlet("hello"), {"--program", source}), 4, no_entry);
  expect_failure(run_quire({"serve", source, "--model", kTiny, "--listen", "127.0.0.1:0"}), 4,
                 no_entry);
  expect_failure(run_module(folder.write("hello.txt", "1")), 4, "hello.txt is not a Wasm module");
  expect_failure(run_module(folder.write("hello.js", "1")), 4, "hello.js exports no program");
  expect_failure(run_module(folder.write("empty.wasm", "")), 4, "empty.wasm is empty");
  expect_failure(run_module(QUIRE_BINARY_DIR "/inferlets"), 4, "is a folder");
  expect_failure(run_quire({"serve", folder.file("nothing.wasm"), "--model", kTiny}), 3,
                 "nothing.wasm");
  expect_failure(
      run_module("text_completer"), 3,
      "as in text_completer.wasm, or the name of one that comes with quire (with --server");
}

TEST(EndToEndBadInput, AValueThatAFlagDoesNotTakeExitsWithTwo) {
  for (const char* listen : {"127.0.0.1", "127.0.0.1:99999", "0.0.0.0:80", ":80"}) {
    expect_failure(run_quire({"serve", "--listen", listen, "--model", kTiny}), 2,
                   std::string("error: --listen: "));
  }
  expect_failure(run_quire({"generate", "-p", "a", "--model", kTiny, "--kv-memory", "1KB"}), 2,
                 "error: --kv-memory 1.0 KiB holds no page: a page of tiny_llama takes ");
  expect_failure(run_quire({"generate", "-p", "a", "--model", kTiny, "--kv-memory", "1024TiB"}), 2,
                 "of this machine");
  expect_failure(run_quire({"generate", "-p", "a", "--model", kTiny, "--kv-pages", "67108864"}), 2,
                 "error: --kv-pages 67108864 of tiny_llama take ");
  expect_failure(run_quire({"run", "--server", "127.0.0.1:1", inferlet("hello")}), 2,
                 "error: --server: \"127.0.0.1:1\" is not the address of a server, which is "
                 "ws://HOST:PORT, or wss://HOST:PORT with TLS; did you mean "
                 "ws://127.0.0.1:1?");
  expect_failure(run_quire({"status", "--server", "http://127.0.0.1:1/"}), 2,
                 "did you mean ws://127.0.0.1:1?");
  expect_failure(run_quire({"run", inferlet("hello"), "--allow-http", "ftp://x"}), 2,
                 "error: --allow-http");
}

TEST(EndToEndBadInput, TheErrorThatAProgramReturnsIsTheReasonOfItsEnd) {
  const std::vector<std::string> wrong = {"--", "--prompt", "a", "--max-tokens", "many"};
  const std::string reason = "invalid-argument: --max-tokens";
  const ProcessResult one = run_module(inferlet("fetch"), {"--", "two", "words"});
  expect_failure(one, 4, "error: the program ended: invalid-argument: give one URL");
  const std::size_t reason_at = one.err.find("give one URL");
  EXPECT_EQ(one.err.rfind("give one URL"), reason_at) << one.err;  // The reason is reported once.

  std::vector<std::string> as_json = wrong;
  as_json.insert(as_json.begin(), "--json");
  const ProcessResult json = run_module(inferlet("text_completion"), as_json);
  EXPECT_EQ(json.exit_code, 4);
  const nlohmann::json end = nlohmann::json::parse(json.out, nullptr, false);
  EXPECT_EQ(end["error"].get<std::string>().find(reason), 0u) << json.out;
  EXPECT_EQ(end["exit_code"], 1);

  TemporaryFolder folder;
  const std::string each =
      folder.write("each.jsonl", "[\"--prompt\", \"a\", \"--max-tokens\", \"many\"]\n");
  expect_failure(run_module(inferlet("text_completion"), {"--each", each}), 4,
                 "error: instance 0 ended: " + reason);
  expect_failure(run_module(module_file(folder, R"(
      (func (export "run") (result i32) (i32.const 9)))")),
                 4, "error: the program ended with exit code 9");
}

TEST(EndToEndBadInput, AProgramThatComputesNoTokenHasNoFiguresOfTokens) {
  const ProcessResult result = run_module(inferlet("hello"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find("tokens/s"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("no token computed]"), std::string::npos) << result.err;
}

TEST(EndToEndBadInput, AMisspeltVariableIsAWarning) {
  const ProcessResult result = run_quire({"--version"}, {.environment = {{"QUIRE_KV_PAGE", "1"}}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err,
            "warning: Quire reads no variable QUIRE_KV_PAGE; did you mean QUIRE_KV_PAGES?\n");
}

TEST(EndToEndBadInput, AnImportThatWeDoNotOfferIsNamed) {
  TemporaryFolder folder;
  expect_failure(run_module(module_file(folder, R"(
      (import "env" "launch_missiles" (func)) (func (export "run") (result i32) (i32.const 0)))")),
                 4, "launch_missiles");
}

TEST(EndToEndBadInput, AModuleWithoutAnEntryIsRefused) {
  TemporaryFolder folder;
  expect_failure(run_module(module_file(folder, R"((func (export "walk")))")), 4, "run");
}

TEST(EndToEndBadInput, ATrapTellsTheNamesOfItsFunctions) {
  TemporaryFolder folder;
  expect_failure(run_module(module_file(folder, R"(
      (func $innermost unreachable) (func (export "run") (result i32)
        (call $innermost) (i32.const 0)))")),
                 4, "innermost");
}

TEST(EndToEndBadInput, ALoopEndsAtItsLimitOfTime) {
  TemporaryFolder folder;
  expect_failure(run_module(module_file(folder, R"(
      (func (export "run") (result i32) (loop (br 0)) (i32.const 0)))"),
                            {"--cpu-seconds-max", "0.3"}),
                 4, "cpu");
}

TEST(EndToEndBadInput, GrowingPastTheLimitOfMemoryEndsTheGuest) {
  TemporaryFolder folder;
  expect_failure(run_module(module_file(folder, R"((memory (export "memory") 1)
      (func (export "run") (result i32)
        (loop $more
          (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
        unreachable))"),
                            {"--memory-max", "4MiB"}),
                 4, "memory");
}

// One that fails among many: the others never notice.
TEST(EndToEndBadInput, OneFailureIsItsOwn) {
  TemporaryFolder folder;
  const std::string each =
      folder.write("each.jsonl",
                   "[\"--prompt\", \"a b c\", \"--max-tokens\", \"4\", \"--ignore-eos\"]\n"
                   "[\"--max-tokens\", \"no number\"]\n"
                   "[\"--prompt\", \"d e f\", \"--max-tokens\", \"4\", \"--ignore-eos\"]\n");
  const ProcessResult result = run_quire({"run", inferlet("text_completion"), "--model", kTiny,
                                          "--kv-pages", "64", "--each", each, "--json"});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  std::size_t well = 0;
  std::istringstream out(result.out);
  for (std::string line; std::getline(out, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (json.contains("end") && json["exit_code"] == 0) ++well;
  }
  EXPECT_EQ(well, 2u) << result.out;
}

TEST(EndToEndBadInput, LinesOfEachThatAreNoArgumentsAreNamed) {
  TemporaryFolder folder;
  expect_failure(run_module(inferlet("text_completion"),
                            {"--each", folder.write("each.jsonl", "[\"a\"]\n{\"b\": 1}\n")}),
                 1, "line 2");
}

}  // namespace
}  // namespace quire::test
