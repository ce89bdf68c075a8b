// HTTP from programs as their users run it: Wasm in `quire run`, with and without the grant,
// against servers of this test.
#include <gtest/gtest.h>
#include <quire_paths.h>

#include "support/http_server.h"
#include "support/process.h"

namespace quire::http_inferlets_test {
namespace {

using test::HttpConnection;
using test::HttpServer;
using test::ProcessResult;

using Words = std::vector<std::string>;

ProcessResult run_program(const std::string& module, const Words& flags, const Words& arguments) {
  Words all = {"run", QUIRE_BINARY_DIR "/" + module, "--model",
               QUIRE_SOURCE_DIR "/tests/golden/tiny_llama"};
  all.insert(all.end(), flags.begin(), flags.end());
  all.push_back("--");
  all.insert(all.end(), arguments.begin(), arguments.end());
  // A client that obeys these proxies reaches nothing.
  return test::run_quire(all, {.environment = {{"http_proxy", "http://127.0.0.1:1/"},
                                               {"ALL_PROXY", "http://127.0.0.1:1/"}}});
}

void serve(HttpConnection& connection) {
  if (!connection.read_request()) return;
  const std::string target = connection.target();
  if (target == "/silent") return connection.wait_for_end();
  if (target == "/broken") {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  } else if (target == "/elsewhere") {
    connection.respond("302 Found", "Location: http://127.0.0.1:1/\r\n", "");
  } else if (target == "/slow") {
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    for (const char* each : {"one ", "two ", "three "}) {
      if (!connection.wait_ms(30) || !connection.send(each)) return;
    }
  } else {
    connection.respond("200 OK", "Content-Type: text/plain\r\n",
                       target == "/echo" ? connection.body : target);
  }
}

TEST(HttpInferlets, FetchNeedsTheGrantThatItsErrorNames) {
  HttpServer server(serve);
  const std::string at = "127.0.0.1:" + server.text_of_port();
  for (const Words& flags : {Words{}, Words{"--allow-http", "*"}, Words{"--allow-http", "*:*"},
                             Words{"--allow-http", "127.0.0.1"}}) {
    const ProcessResult refused =
        run_program("inferlets/fetch.wasm", flags, {"http://" + at + "/page"});
    EXPECT_EQ(refused.exit_code, 4);
    EXPECT_NE(refused.err.find("permission-denied"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("--allow-http " + at), std::string::npos) << refused.err;
  }
  EXPECT_EQ(server.connection_count(), 0u);
  const Words granted = {"--allow-http", "a.example", "--allow-http", at};
  const ProcessResult got =
      run_program("inferlets/fetch.wasm", granted, {"http://" + at + "/page"});
  EXPECT_EQ(got.exit_code, 0) << got.err;
  EXPECT_EQ(got.out, "status 200, 5 bytes of text/plain\n");
  const ProcessResult posted = run_program("inferlets/fetch.wasm", granted,
                                           {"--post", "text", "--show", "http://" + at + "/echo"});
  EXPECT_EQ(posted.out, "text\nstatus 200, 4 bytes of text/plain\n") << posted.err;
  const ProcessResult streamed =
      run_program("inferlets/fetch.wasm", granted, {"--stream", "http://" + at + "/slow"});
  EXPECT_EQ(streamed.out, "one two three \nstatus 200, 14 bytes of no type in 3 pieces\n")
      << streamed.err;
}

TEST(HttpInferlets, AnExchangeInWasmDoesWhatItsInterfaceSays) {
  HttpServer server(serve);
  const std::string at = "127.0.0.1:" + server.text_of_port();
  const ProcessResult result =
      run_program("sdk/cpp/tests/http_check.wasm", {"--allow-http", at}, {"http://" + at});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "an upload comes back whole: yes\nwhat came late came: yes\nand it was late: yes\n"
            "eight at once come each to its own: yes\none given up: timeout\n"
            "another port: permission-denied\nanother scheme: invalid-argument\n"
            "a redirect elsewhere: permission-denied\na connection that breaks: io\n"
            "the last: well\n");
}

TEST(HttpInferlets, AGrantThatIsNoneIsAnErrorOfUse) {
  const ProcessResult result =
      run_program("inferlets/fetch.wasm", {"--allow-http", "https://a.example/"}, {"http://a/"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--allow-http: \"https://a.example/\" is not a grant"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace quire::http_inferlets_test
