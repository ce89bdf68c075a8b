// quire serve --endpoint: programs that answer HTTP requests, over sockets and with a model.
#include <chrono>
#include <functional>
#include <thread>

#include "application/server/raw_client.h"
#include "client/server_client.h"
#include "end_to_end/server_process.h"

namespace quire::test {
namespace {

const std::string kEndpoint = QUIRE_BINARY_DIR "/tests/end_to_end/endpoint.wasm";

std::vector<std::string> with_endpoints(const std::vector<std::string>& endpoints) {
  std::vector<std::string> arguments = {"--model", kTiny, "--kv-pages", "64"};
  for (const std::string& each : endpoints) {
    arguments.insert(arguments.end(), {"--endpoint", each});
  }
  return arguments;
}
std::string post_request(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string ask_endpoint(const ServerProcess& server, const std::string& request) {
  return server::RawClient(server.port()).http(request);
}
wire::StatusReply status_at(const ServerProcess& server) {
  const auto client = client::ServerClient::connect({"127.0.0.1", server.port()},
                                                    std::chrono::milliseconds(10'000));
  EXPECT_TRUE(client.ok());
  const auto reply = client.value()->ask(wire::Status{}, std::chrono::milliseconds(10'000));
  EXPECT_TRUE(reply.ok() && std::holds_alternative<wire::StatusReply>(reply.value()));
  return std::get<wire::StatusReply>(reply.value());
}
bool comes_true(const ServerProcess& server,
                const std::function<bool(const wire::StatusReply&)>& wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!wanted(status_at(server))) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST(EndToEndEndpoint, AProgramAnswersEachRequestWithTheArgumentsOfItsEndpoint) {
  ServerProcess server(with_endpoints(
      {"POST /hello=" + kEndpoint, "POST /bye/*=" + kEndpoint + " --greeting=bye,"}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  const std::string address = server.url().substr(server.url().find(':'));
  EXPECT_NE(server.out.find("  POST http" + address + "/hello\n  POST http" + address + "/bye/*\n"),
            std::string::npos)
      << server.out;
  for (int round = 0; round < 3; ++round) {
    const std::string hello = ask_endpoint(server, post_request("/hello", "you"));
    EXPECT_TRUE(hello.starts_with("HTTP/1.1 200 OK\r\n")) << hello;
    EXPECT_TRUE(hello.ends_with("\r\n\r\nhello, you")) << hello;
    EXPECT_TRUE(ask_endpoint(server, post_request("/bye/now", "you")).ends_with("\r\n\r\nbye,you"));
  }
  EXPECT_TRUE(ask_endpoint(server, post_request("/none", "")).starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(server.stop(SIGTERM), 0) << server.err;
}

TEST(EndToEndEndpoint, AClientThatLeavesFreesThePagesOfItsProgram) {
  ServerProcess server(with_endpoints({"POST /hold=" + kEndpoint + " --hold"}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  const std::uint64_t page_count_free = status_at(server).page_count_free;
  for (const bool is_reset : {false, true}) {
    std::vector<server::RawClient> clients;
    for (int each = 0; each < 4; ++each) {
      server::RawClient& client = clients.emplace_back(server.port());
      client.write(post_request("/hold", "a prompt of some pages, number " + std::to_string(each) +
                                             std::string(150, 'a')));
      ASSERT_TRUE(client.read_until("data: a prompt")) << each;
    }
    EXPECT_LT(status_at(server).page_count_free, page_count_free);
    for (server::RawClient& each : clients) {
      if (is_reset) {
        each.reset();
      } else {
        each.close();
      }
    }
    EXPECT_TRUE(comes_true(server, [&](const wire::StatusReply& now) {
      return now.instance_count == 0 && now.page_count_free == page_count_free;
    }));
  }
}

TEST(EndToEndEndpoint, ASourceIsCompiledForItsEndpoint) {
  const TemporaryFolder folder;
  const std::string source = folder.write("greet.cpp",
                                          "#include \"quire/quire.h\"\n"
                                          "using namespace quire;\n"
                                          "Task<> greet(serve::Request request, serve::Response "
                                          "response) {\n"
                                          "  co_await response.send(200, \"compiled for \" + "
                                          "request.method() + \"\\n\");\n"
                                          "}\n"
                                          "QUIRE_HTTP_MAIN(greet)\n");
  ServerProcess server(with_endpoints({"POST /greet=" + source, "GET /greet=" + source}));
  ASSERT_FALSE(server.url().empty()) << server.err;
  EXPECT_TRUE(ask_endpoint(server, post_request("/greet", "")).ends_with("compiled for POST\n"));
  EXPECT_TRUE(
      ask_endpoint(server, "GET /greet HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
          .ends_with("compiled for GET\n"));
}

constexpr const char* kNamed = R"(#include "quire/quire.h"
using namespace quire;
Task<> program(std::vector<std::string>) { co_await session::send("compiled as a program\n"); }
QUIRE_MAIN(program)
)";

TEST(EndToEndSource, IsCompiledForTheNameThatItHasOnAServer) {
  const TemporaryFolder folder;
  const std::string source = folder.write("named.cpp", kNamed);
  ServerProcess server(
      {"--model", kTiny, "--kv-pages", "64", source, "--endpoint", "GET /named=" + source});
  ASSERT_FALSE(server.url().empty()) << server.err;
  const ProcessResult ran = run_quire({"run", "--server", server.url(), "named"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "compiled as a program\n");
  EXPECT_EQ(server.stop(SIGTERM), 0) << server.err;
}

TEST(EndToEndSource, IsCompiledForAProgramThatLaunchesItByName) {
  const TemporaryFolder folder;
  const std::string source = folder.write("named.cpp", kNamed);
  const ProcessResult ran =
      run_quire({"run", "--model", kTiny, "--kv-pages", "64", "--program", source,
                 QUIRE_BINARY_DIR "/tests/end_to_end/parent.wasm", "--", "named"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("child: compiled as a program\n"), std::string::npos) << ran.out;
}

TEST(EndToEndSource, IsRefusedWithTheErrorsOfItsCompiler) {
  const TemporaryFolder folder;
  const std::string broken = folder.write("broken.cpp", "int main( {\n");
  const std::string named = folder.write("named.cpp", kNamed);
  std::filesystem::create_directory(folder.file("other"));
  const std::string other = folder.write("other/named.cpp", kNamed);
  const std::string missing = folder.file("missing.cpp");
  const std::string parent = QUIRE_BINARY_DIR "/tests/end_to_end/parent.wasm";
  const auto refuses = [](const std::vector<std::string>& arguments, int exit_code,
                          const std::string& text) {
    const ProcessResult result = run_quire(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  refuses({"serve", "--listen", "127.0.0.1:0", "--model", kTiny, broken}, 1,
          "broken.cpp was not compiled");
  refuses({"serve", "--listen", "127.0.0.1:0", "--model", kTiny, missing}, 3, "no file ");
  refuses({"serve", "--listen", "127.0.0.1:0", "--model", kTiny, named, other}, 4,
          "two programs are named \"named\": " + named + " and " + other);
  refuses({"run", "--model", kTiny, "--program", broken, parent}, 1, "broken.cpp was not compiled");
}

TEST(EndToEndEndpoint, WhatCannotBeAnEndpointIsSaidBeforeTheServerStarts) {
  const TemporaryFolder folder;
  const std::string broken = folder.write("broken.cpp", "int main( {\n");
  const std::string two = folder.write("endpoint.cpp", "int x;\n");
  struct Case {
    std::vector<std::string> endpoints;
    int exit_code;
    std::string text;
  };
  const std::vector<Case> cases = {
      {{"POST /x=" + broken}, 1, "broken.cpp was not compiled"},
      {{"POST /x=" + folder.file("missing.cpp")}, 3, "no file "},
      {{"POST /x=missing.wasm"}, 2, "programs that are given here: none"},
      {{"POST x=" + kEndpoint},
       2,
       "--endpoint \"POST x=" + kEndpoint + "\": path \"x\" is not one"},
      {{"POST /x=" + kEndpoint, "POST /x=" + kEndpoint},
       2,
       "--endpoint: two endpoints are at POST /x"},
      {{"POST /x=" + folder.file("")}, 2, "is a folder; an endpoint has one program"},
      {{"POST /x=" + kEndpoint, "POST /y=" + two}, 2, "two programs are named \"endpoint\""},
  };
  for (const Case& each : cases) {
    std::vector<std::string> arguments = with_endpoints(each.endpoints);
    arguments.insert(arguments.begin(), {"serve", "--listen", "127.0.0.1:0"});
    const ProcessResult result = run_quire(arguments);
    EXPECT_EQ(result.exit_code, each.exit_code) << result.err;
    EXPECT_NE(result.err.find(each.text), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace quire::test
