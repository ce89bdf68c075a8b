// quire serve and its clients: what a user sees is what an engine here would show.
#include "client/server_client.h"
#include "end_to_end/server_process.h"

#include <filesystem>

namespace quire::test {
namespace {

const std::string kEcho = QUIRE_BINARY_DIR "/tests/end_to_end/echo.wasm";
const std::string kFiles = QUIRE_BINARY_DIR "/tests/end_to_end/files.wasm";
const std::string kParent = QUIRE_BINARY_DIR "/tests/end_to_end/parent.wasm";

std::vector<std::string> tiny(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"--model", kTiny, "--kv-pages", "64"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}
ProcessResult run_there(const ServerProcess& server, std::vector<std::string> arguments,
                        ProcessOptions options = {}) {
  arguments.insert(arguments.begin(), {"run", "--server", server.url()});
  options.limit = std::chrono::seconds(120);
  return run_quire(std::move(arguments), std::move(options));
}
std::unique_ptr<client::ServerClient> client_of(const ServerProcess& server) {
  auto client = client::ServerClient::connect({"127.0.0.1", server.port()},
                                              std::chrono::milliseconds(10'000));
  EXPECT_TRUE(client.ok());
  return client.ok() ? std::move(client).take() : nullptr;
}
wire::StatusReply status_of(const ServerProcess& server) {
  const auto reply = client_of(server)->ask(wire::Status{}, std::chrono::milliseconds(10'000));
  EXPECT_TRUE(reply.ok() && std::holds_alternative<wire::StatusReply>(reply.value()));
  return std::get<wire::StatusReply>(reply.value());
}
bool ends_soon(const ServerProcess& server) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (status_of(server).instance_count > 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}
// Without the figures, which differ from run to run.
std::string shape_of(const std::string& text) {
  std::string shape;
  for (const char each : text) {
    if (each >= '0' && each <= '9') {
      if (shape.empty() || shape.back() != '#') shape += '#';
    } else if (each != '.' || shape.empty() || shape.back() != '#') {
      shape += each;
    }
  }
  return shape;
}

TEST(EndToEndServer, AProgramThereIsAProgramHere) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  ServerProcess server({"--model", default_model});
  ASSERT_FALSE(server.url().empty()) << server.err;
  const std::vector<std::string> program = {inferlet("text_completion"), "--",           "--prompt",
                                            "The capital of France is",  "--max-tokens", "24"};
  std::vector<std::string> local_arguments = program;
  local_arguments.insert(local_arguments.begin(), {"run", "--model", default_model});
  const ProcessResult local = run_quire(local_arguments);
  for (int round = 0; round < 2; ++round) {  // The second finds its program and its pages.
    const ProcessResult remote = run_there(server, program);
    EXPECT_EQ(remote.exit_code, 0) << remote.err;
    EXPECT_EQ(remote.out, local.out);
    EXPECT_EQ(shape_of(remote.err), shape_of(local.err));
  }
  EXPECT_EQ(status_of(server).program_count, 1u);
  EXPECT_GT(status_of(server).found_token_count, 0u);
  EXPECT_EQ(server.stop(SIGTERM), 0);
  EXPECT_NE(server.err.find("shutting down"), std::string::npos) << server.err;
}

TEST(EndToEndServer, NamedProgramsHearStandardInputAndSayTheirEnd) {
  ServerProcess server(tiny({kEcho, inferlet("hello")}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  EXPECT_NE(server.out.find("2 programs (quire status lists them)"), std::string::npos)
      << server.out;
  const ProcessResult hello = run_there(server, {"hello", "--", "--name", "you"});
  EXPECT_EQ(hello.exit_code, 0) << hello.err;
  EXPECT_EQ(hello.out.substr(0, 11), "Hello, you!");
  const ProcessResult echo = run_there(server, {"echo", "--json", "--", "argument"},
                                       {.input = "one\nlog careful\nlast without newline"});
  EXPECT_EQ(echo.exit_code, 0) << echo.err;
  EXPECT_NE(echo.err.find("info: careful"), std::string::npos) << echo.err;
  std::vector<std::string> messages;
  std::istringstream lines(echo.out);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << line;
    if (json.contains("message")) messages.push_back(json["message"]);
    if (json.contains("result")) result = json["result"];
  }
  EXPECT_EQ(messages, (std::vector<std::string>{"argument\n", "one\n", "last without newline\n"}));
  EXPECT_EQ(result, "end: the client has ended its side");
}

TEST(EndToEndServer, LinesOfStandardInputWaitForRepliesAndNotForAClock) {
  ServerProcess server(tiny({kEcho}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  std::string lines;
  for (int i = 0; i < 2'000; ++i) lines += std::to_string(i) + "\n";
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult echo = run_there(server, {"echo"}, {.input = lines});
  EXPECT_EQ(echo.out, lines);
  EXPECT_EQ(echo.exit_code, 0) << echo.err;
  // One for each 10 ms would take 20 s.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(EndToEndServer, ManyInstancesAreNumberedAsHere) {
  ServerProcess server(tiny({"--instances", "3"}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  TemporaryFolder folder;
  std::string each;
  std::set<std::string> wanted;
  for (int i = 0; i < 40; ++i) {
    each += "[\"line " + std::to_string(i) + "\"]\n";
    wanted.insert("[" + std::to_string(i) + "] line " + std::to_string(i));
  }
  const ProcessResult result =
      run_there(server, {kEcho, "--each", folder.write("each.jsonl", each)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) seen.insert(line);
  EXPECT_EQ(seen, wanted);
  EXPECT_NE(result.err.find("40 instances]"), std::string::npos) << result.err;
}

TEST(EndToEndServer, FailuresHaveTheExitCodesOfHere) {
  ServerProcess server(tiny());
  ASSERT_FALSE(server.url().empty()) << server.err;
  const auto fails = [&](const std::vector<std::string>& arguments, int code,
                         const std::string& text, const std::string& input = "") {
    const ProcessResult result = run_there(server, arguments, {.input = input});
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  fails({kEcho}, 4, "trapped", "crash\n");
  fails({QUIRE_SOURCE_DIR "/README.md"}, 4, "not a Wasm module");
  fails({"nobody"}, 3, "no program is named \"nobody\" here; none has a name: upload it");
  fails({"/nowhere/program.wasm"}, 3, "/nowhere/program.wasm");
  fails({kEcho, "--memory-max", "1GiB"}, 1, "memory_bytes_max: 1073741824 wanted");
  fails({kEcho, "--cpu-seconds-max", "0.001"}, 4, "cpu_ns", "again 100000000\n");
  fails({kEcho, "--kv-pages", "7"}, 2, "--kv-pages is for the engine");
}

TEST(EndToEndServer, ALaunchThatIsTooLargeIsToldBeforeAnotherBegins) {
  ServerProcess server(tiny());
  ASSERT_FALSE(server.url().empty()) << server.err;
  TemporaryFolder folder;
  const auto run_each = [&](std::size_t bytes) {
    const std::string each = "[\"small\"]\n[\"" + std::string(bytes, 'x') + "\"]\n";
    return run_there(server, {kEcho, "--each", folder.write("each.jsonl", each)}, {.input = ""});
  };
  ProcessResult result = run_each(3'000'000);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("the arguments of instance 1 make a launch of 30001"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(result.out, "");
  result = run_each((1u << 20) + 1);  // The server's word, as here.
  EXPECT_NE(result.err.find("the arguments have 1048578 bytes, argument_bytes_max"),
            std::string::npos)
      << result.err;
}

TEST(EndToEndServer, ALongLineComesInPiecesThatAServerTakes) {
  ServerProcess server(tiny());
  ASSERT_FALSE(server.url().empty()) << server.err;
  const std::string line = "log " + std::string(1u << 20, 'x') + "yz";
  const ProcessResult result = run_there(server, {kEcho}, {.input = "hi\n" + line + "\nquit\n"});
  EXPECT_EQ(result.exit_code, 0) << result.err.substr(0, 1000);
  EXPECT_EQ(result.out, "hi\nxxxxyz\n");
}

std::string read_text(const std::string& path) {
  const Result<std::string> text = read_file(path, 64u << 20);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? text.value() : "";
}

// Checks files both ways with `quire run`, with a server or without.
void check_files(std::vector<std::string> run) {
  TemporaryFolder folder;
  const std::string big(3'000'000, 'b');
  std::vector<std::string> arguments = std::move(run);
  const std::string out = folder.file("out");
  arguments.insert(arguments.end(),
                   {"--send-file", folder.write("a b.csv", "1,2\n"), "--send-file",
                    folder.write("big.bin", big), "--send-file", folder.write("none.txt", ""),
                    "--save-files", out, "--", "first.txt", "hello"});
  const ProcessResult result = run_quire(arguments, {.input = ""});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "a b.csv text/csv 4 in 1\nbig.bin application/octet-stream 3000000 in 3\n"
            "none.txt text/plain 0 in 0\n");
  EXPECT_EQ(read_text(out + "/first.txt"), "hello");
  EXPECT_EQ(read_text(out + "/copy of a b.csv"), "1,2\n");
  EXPECT_EQ(read_text(out + "/copy of big.bin"), big);
  EXPECT_EQ(read_text(out + "/copy of none.txt"), "");
  EXPECT_NE(result.err.find("file \"first.txt\" of 5 bytes (text/plain) is " + out + "/first.txt"),
            std::string::npos)
      << result.err;
  // Once more: nothing is written over.
  const ProcessResult again = run_quire(arguments, {.input = ""});
  EXPECT_EQ(again.exit_code, 1) << again.err;
  EXPECT_NE(again.err.find("/first.txt: cannot be made: it is there already"), std::string::npos)
      << again.err;
}

TEST(EndToEndServer, FilesGoBothWaysHereAndThere) {
  check_files({"run", "--model", kTiny, "--kv-pages", "64", kFiles});
  ServerProcess server(tiny({kFiles}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  check_files({"run", "--server", server.url(), "files"});
  EXPECT_EQ(status_of(server).instance_count, 0u);
  TemporaryFolder folder;
  std::vector<std::string> arguments = {"files", "--send-file",
                                        folder.write("huge", std::string((64u << 20) + 1, 'x'))};
  const ProcessResult huge = run_there(server, arguments);
  EXPECT_EQ(huge.exit_code, 1) << huge.err;
  EXPECT_NE(huge.err.find("file_bytes_max: a file of 67108865 bytes, the limit is 67108864"),
            std::string::npos)
      << huge.err;
  const ProcessResult json = run_there(server, {"files", "--json", "--", "x", "y"}, {.input = ""});
  EXPECT_NE(
      json.out.find("{\"bytes\":1,\"event\":\"file\",\"file\":\"x\",\"instance\":0,\"media_type\":"
                    "\"text/plain\",\"path\":null}"),
      std::string::npos)
      << json.out;
}

// Checks `quire run`, with a server or without, with a program that drops the first of two files.
void check_dropped_file(std::vector<std::string> run) {
  TemporaryFolder folder;
  const std::string unwanted = folder.write("unwanted", std::string(8'000'000, 'u'));
  const std::string wanted = folder.write("wanted.csv", "1,2\n");
  run.insert(run.end(), {"--send-file", unwanted, "--send-file", wanted});
  const ProcessResult result = run_quire(run, {.input = ""});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "wanted.csv text/csv 4 in 1\n");
  EXPECT_NE(result.err.find("the program dropped " + unwanted), std::string::npos) << result.err;
}

TEST(EndToEndServer, AProgramThatDropsAFileGetsTheNextHereAndThere) {
  check_dropped_file({"run", "--model", kTiny, "--kv-pages", "64", kFiles});
  ServerProcess server(tiny({kFiles}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  check_dropped_file({"run", "--server", server.url(), "files"});
}

TEST(EndToEndServer, AProgramLaunchesOneThatAClientUploadedAndNamed) {
  ServerProcess server(tiny({kParent}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  const ProcessResult before = run_there(server, {"parent", "--", "tool", "one"});
  EXPECT_EQ(before.exit_code, 4);
  EXPECT_NE(before.err.find("no program \"tool\""), std::string::npos) << before.err;
  const auto client = client_of(server);
  const std::string bytes = read_text(inferlet("hello"));
  const Digest hello = sha256(std::as_bytes(std::span(bytes)));
  constexpr std::chrono::milliseconds kPatience(60'000);
  ASSERT_TRUE(client->ask(wire::Upload{hello, bytes.size(), 0, bytes}, kPatience).ok());
  const auto named = client->ask(wire::NameProgram{hello, "tool"}, kPatience);
  ASSERT_TRUE(named.ok() && std::holds_alternative<wire::Done>(named.value()));
  const ProcessResult after = run_there(server, {"parent", "--", "tool", "--name", "you"});
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(after.out.substr(0, 18), "child: Hello, you!");
  EXPECT_NE(after.out.find("ended with 0\n"), std::string::npos) << after.out;
}

TEST(EndToEndServer, TheOperatorSeesWhatTenantsUsedAndTheirBoundsHold) {
  ServerProcess server(tiny({kEcho, "--tenant", "7=weight:2,instances:1"}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  EXPECT_EQ(run_there(server, {"echo", "--tenant", "7", "--deadline", "5", "--", "hello"}).out,
            "hello\n");
  const ProcessResult unknown = run_there(server, {"echo", "--tenant", "8"});
  EXPECT_EQ(unknown.exit_code, 3) << unknown.err;
  EXPECT_NE(unknown.err.find("tenant 8 is not one of this server's"), std::string::npos)
      << unknown.err;
  const std::unique_ptr<client::ServerClient> client = client_of(server);
  wire::Launch launch{{std::nullopt, "echo"}, {}, {}, false, 7, {}};
  const auto launched = client->ask(launch, std::chrono::milliseconds(10'000));
  ASSERT_TRUE(launched.ok());
  ASSERT_TRUE(std::holds_alternative<wire::InstanceReply>(launched.value()));

  const ProcessResult told = run_quire({"status", "--server", server.url(), "--json"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  const nlohmann::json json = nlohmann::json::parse(told.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << told.out;
  const nlohmann::json& tenants = json["detail"]["tenants"];
  const auto found = std::find_if(tenants.begin(), tenants.end(),
                                  [](const nlohmann::json& each) { return each["tenant"] == 7; });
  ASSERT_NE(found, tenants.end()) << told.out;
  EXPECT_EQ((*found)["weight"], 2);
  EXPECT_EQ((*found)["figures"]["instance_count_max"], nlohmann::json({1, 1}));
  EXPECT_EQ((*found)["figures"]["launched_count"], nlohmann::json::array({2}));
  EXPECT_GE((*found)["figures"]["output_bytes"][0], 6);
  ASSERT_EQ(json["detail"]["instances"].size(), 1u) << told.out;
  EXPECT_EQ(json["detail"]["instances"][0]["tenant"], 7);
  EXPECT_EQ(json["detail"]["instances"][0]["figures"]["memory_bytes_max"][1], 128 << 20);

  const ProcessResult text = run_quire({"status", "--server", server.url()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("serves tiny_llama"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(" 1 of 1 "), std::string::npos) << text.out;
  EXPECT_NE(run_quire({"status", "--server", "ws://127.0.0.1:1"}).exit_code, 0);
}

TEST(EndToEndServer, WhoFindsNoServerIsToldHowToGetOne) {
  ProcessResult result = run_quire({"run", "--server", "ws://127.0.0.1:1", kEcho});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("nothing listens at ws://127.0.0.1:1"), std::string::npos);
  EXPECT_NE(result.err.find("quire serve"), std::string::npos) << result.err;
  result = run_quire({"run", "--server", "127.0.0.1:1", kEcho});
  EXPECT_NE(result.err.find("ws://HOST:PORT"), std::string::npos) << result.err;
}

// Code of Cranelift is kept; otherwise it comes a second after the program, whose first run is
// over.
TEST(EndToEndServer, WithCraneliftOnlyTheFirstLaunchOfAProgramRunsItsCode) {
  const TemporaryFolder cache;
  ServerProcess server(tiny({"--cranelift-only"}), {{"QUIRE_CACHE", cache.file("")}});
  ASSERT_FALSE(server.url().empty()) << server.err;
  const ProcessResult result = run_there(server, {inferlet("hello")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(std::filesystem::is_empty(cache.file("compiled")));
}

TEST(EndToEndServer, AnAddressForOthersIsRefusedBeforeAModelIsLoaded) {
  const ProcessResult wide =
      run_quire({"serve", "--model", "/nowhere", "--listen", "0.0.0.0:7847"});
  EXPECT_EQ(wide.exit_code, 2);
  EXPECT_NE(wide.err.find("without keys each client"), std::string::npos) << wide.err;
  EXPECT_EQ(run_quire({"serve", "--listen", "here"}).exit_code, 2);
  EXPECT_EQ(run_quire({"serve", "/nowhere/programs"}).exit_code, 3);
  ServerProcess server(tiny());
  std::vector<std::string> again = tiny({"--listen", server.url().substr(5)});
  again.insert(again.begin(), "serve");
  const ProcessResult taken = run_quire(again);
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_NE(taken.err.find("choose another port"), std::string::npos) << taken.err;
}

TEST(EndToEndServer, CtrlCStopsTheProgramThere) {
  ServerProcess server(tiny({kEcho}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  const ProcessResult result =
      run_there(server, {"echo"}, {.input = "again 100000000\n", .interrupt_after_bytes = 1000});
  EXPECT_EQ(result.exit_code, 130);
  // An interrupt by the user is not an error.
  EXPECT_EQ(result.err, "interrupted\n");
  EXPECT_EQ(status_of(server).instance_count, 0u);
}

TEST(EndToEndServer, AShutdownTellsTheStreamingClientAndExitsWithZero) {
  ServerProcess server(tiny({kEcho, "--grace", "0.2"}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  ProcessResult client;
  std::thread streaming(
      [&] { client = run_there(server, {"echo"}, {.input = "again 100000000\n"}); });
  while (status_of(server).instance_count == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(server.stop(SIGTERM), 0);
  streaming.join();
  EXPECT_EQ(client.exit_code, 4) << client.err;
  EXPECT_NE(client.err.find("the server is shutting down"), std::string::npos) << client.err;
  EXPECT_NE(server.err.find("waiting for 1 instance, at most 200 ms"), std::string::npos)
      << server.err;
  EXPECT_NE(server.err.find("stopping 1 instance"), std::string::npos) << server.err;
}

TEST(EndToEndServer, ARealGuestWhoseClientVanishesLeavesNothing) {
  ServerProcess server(tiny({kEcho, "--grace", "0.1"}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  const std::uint64_t page_count_free = status_of(server).page_count_free;
  for (int round = 0; round < 20; ++round) {
    const auto client = client_of(server);
    const auto launched = client->ask(wire::Launch{{std::nullopt, "echo"}, {}, {}, false},
                                      std::chrono::milliseconds(10'000));
    ASSERT_TRUE(launched.ok() && std::holds_alternative<wire::InstanceReply>(launched.value()));
    const std::uint64_t instance = std::get<wire::InstanceReply>(launched.value()).instance;
    client->send(wire::Send{instance, round % 2 == 0 ? "again 100000000" : "x"});
    ASSERT_TRUE(client->receive(std::chrono::seconds(10)).ok());
  }
  EXPECT_TRUE(ends_soon(server));
  EXPECT_EQ(status_of(server).page_count_free, page_count_free);
  EXPECT_EQ(status_of(server).launched_count, 20u);
}

TEST(EndToEndServer, ModelsDivideOneBudgetOfMemoryWhateverAPageOfEachTakes) {
  const auto page_count_of = [](const std::vector<std::string>& models, const char* memory) {
    std::vector<std::string> arguments = {"--kv-memory", memory};
    for (const std::string& model : models) {
      arguments.insert(arguments.end(), {"--model", golden_path(model)});
    }
    ServerProcess server(arguments);
    EXPECT_FALSE(server.url().empty()) << server.err;
    return server.url().empty() ? 0 : status_of(server).page_count;
  };
  const std::uint64_t llama = page_count_of({"tiny_llama"}, "1MiB");
  const std::uint64_t qwen = page_count_of({"tiny_qwen3"}, "1MiB");
  EXPECT_GT(llama, 0u);
  EXPECT_NE(llama, qwen);
  EXPECT_EQ(page_count_of({"tiny_llama", "tiny_qwen3"}, "2MiB"), llama + qwen);
}

}  // namespace
}  // namespace quire::test
