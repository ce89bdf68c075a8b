// The bytes of every result are those of interface/records_1.txt: programs that were built once read
// them for good. Each row makes a call, answers it with fixed values, and takes its result.
#include <quire_paths.h>

#include <cctype>
#include <fstream>
#include <functional>
#include <map>

#include "application/hostcalls/answer_encoding.h"
#include "application/hostcalls/hostcalls_fixture.h"

namespace quire::hostcalls::records_test {
namespace {

constexpr std::uint32_t kName = 64;      // "name", also a topic, a key and a program.
constexpr std::uint32_t kPages = 128;    // Two pages,
constexpr std::uint32_t kEmbeds = 192;   // two embeds,
constexpr std::uint32_t kTokens = 256;   // two tokens,
constexpr std::uint32_t kRandoms = 320;  // three random numbers.
constexpr std::uint32_t kMatchers = 384;
constexpr std::uint32_t kUrl = 448;
constexpr std::uint32_t kMediaType = 512;
constexpr const char* kUrlText = "http://a.example/";
constexpr std::size_t kHandleBytes = 4;

class Records : public HostCalls {
 protected:
  using Body = control::AnswerBody;
  using Arguments = std::vector<std::int64_t>;

  void SetUp() override {
    GuestLimits limits;
    limits.http_grants = {net::parse_http_grant("*").value()};
    restart(limits, {});
    http.respond("http://a.example:80/",
                 {.status = 201, .headers = "X-One: 1\n", .body = {{0, "body"}}});
    host->put(kName, "name");
    host->put(kUrl, kUrlText);
    host->put(kMediaType, "text/plain");
    put(kTokens, {5, 6});
    const double randoms[] = {0.25, 0.5, 0.75};
    host->put(kRandoms, {reinterpret_cast<const char*>(randoms), sizeof randoms});
    call("allocate", "alloc-kvpage", {queue, 2, kPages});
    call("allocate", "alloc-emb", {queue, 2, kEmbeds});
    context = call("context", "create", {queue});
    rule = call("draw", "create-rule", {model, 0, 0});
    control.commands.clear();
    grammar = number_of(result("constraint.compile-grammar", {model, 1, kName, 4},
                               Body(control::CompiledGrammar{some_grammar()})));
    matcher = call("constraint", "create-matcher", {grammar});
    put(kMatchers, {static_cast<std::int32_t>(matcher)});
    control.commands.clear();
  }

  std::int64_t made(const std::string& name, const Arguments& arguments) {
    const std::size_t dot = name.find('.');
    const std::string module = "quire:core/" + name.substr(0, dot) + "@1";
    for (const sandbox::HostFunction& function : host_functions()) {
      if (module != function.module || name.substr(dot + 1) != function.name) continue;
      const std::int64_t value = host->call(function, arguments).value;
      EXPECT_GT(value, 0) << name << ": " << state->last_error;
      return value;
    }
    ADD_FAILURE() << "no call is named " << name;
    return 0;
  }
  std::string taken(std::int64_t future) {
    const std::int64_t bytes = call("future", "take", {future, kBuffer, 8192});
    EXPECT_GE(bytes, 0) << state->last_error;
    return host->get(kBuffer, static_cast<std::uint32_t>(std::max<std::int64_t>(bytes, 0)));
  }
  std::string result(const std::string& name, const Arguments& arguments, Body body) {
    const std::int64_t future = made(name, arguments);
    answer(std::move(body));
    return taken(future);
  }
  static std::int64_t number_of(const std::string& record) {
    std::int32_t number = 0;
    EXPECT_GE(record.size(), sizeof number);
    std::memcpy(&number, record.data(), std::min(record.size(), sizeof number));
    return number;
  }
  void turn() {
    for (net::HttpEvent& each : http.take_events()) state->http.take_in(std::move(each));
  }

  // A record that begins with a handle, which differs from run to run.
  void handle_record(const std::string& name, const std::string& bytes) {
    ASSERT_GE(bytes.size(), kHandleBytes) << name;
    found[name] = "hhhhhhhh" + hex(bytes.substr(kHandleBytes));
  }
  void record(const std::string& name, const std::string& bytes) { found[name] = hex(bytes); }
  void command(const std::string& name, const Arguments& arguments, Body body) {
    record(name, result(name, arguments, std::move(body)));
  }
  static std::string hex(const std::string& bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const char each : bytes) {
      out += kDigits[static_cast<unsigned char>(each) / 16];
      out += kDigits[static_cast<unsigned char>(each) % 16];
    }
    return out;
  }

  void of_contexts();
  void of_draws();
  void of_outputs();
  void of_texts_and_stores();
  void of_pages_and_queues();
  void of_messages_and_files();
  void of_http();
  void of_served_requests();

  std::int64_t context = 0, rule = 0, grammar = 0, matcher = 0;
  std::map<std::string, std::string> found;  // By call: its result in hexadecimal digits.
};

void Records::of_contexts() {
  const control::ContextCounters counters{1, 2, 3, 4, 5, 6};
  const auto state_of = [&] {
    return Body(control::ContextState{.context = {}, .counters = counters});
  };
  const Arguments one = {context, 1};
  command("context.flush", {context}, state_of());
  command("context.forward", {context, kEmbeds, 1}, state_of());
  for (const char* name : {"truncate", "rewind", "reserve-working-pages", "commit-working-pages",
                           "release-working-pages", "truncate-working-page-tokens"}) {
    command(std::string("context.") + name, one, state_of());
  }
  command("context.drop-range", {context, 0, 1}, state_of());
  command("context.splice", {context, context, 0, 1}, state_of());
  handle_record("context.fork",
                result("context.fork", {context}, Body(control::Forked{{}, counters})));
  handle_record("context.from-pages", result("context.from-pages", {queue, kPages, 2, kTokens, 2},
                                             Body(control::Forked{{}, counters})));
  const auto opened = [&] { return Body(control::Opened{{}, counters, "a note"}); };
  handle_record("context.open", result("context.open", {queue, kName, 4}, opened()));
  handle_record("context.take", result("context.take", {queue, kName, 4}, opened()));
  command("context.pages", {context, 0, 2, kPages}, Body(control::SharedPages{{{0, 1}, {1, 255}}}));
  command("context.save", {context, kName, 4, 0, 0}, Body(control::Done{}));
  command("context.save-with-note", {context, kName, 4, 0, 0, kName, 4}, Body(control::Done{}));
  command("context.delete", {kName, 4}, Body(control::Done{}));
  command("context.list", {}, Body(control::Snapshots{{{"name", 1, 2, 3, 4}}, 5}));
}

void Records::of_draws() {
  control::Draws draws = drawn({7, 8});
  draws.all[1].is_forced = true;
  draws.top_tokens = {7, 9};
  draws.top_probabilities = {0.5f, 0.25f};
  command("draw.forward-draw", {context, rule, 0, 0, 0, 0, 0, 1, 0}, Body(draws));
  command("draw.draw-tokens", {queue, kEmbeds, 2, rule, 0, 0, 0, 0, kRandoms, 2, 1}, Body(draws));
  command("draw.verify", {context, rule, 0, 0, 0, 0, kTokens, 2, kRandoms, 3, 1, 0}, Body(draws));
  const std::int64_t generation =
      made("draw.generate", {context, rule, kMatchers, 1, 7, 100, 0, 0, 1, 0});
  draws.end = control::DrawEnd::GrammarComplete;
  answer(Body(draws));
  record("draw.next-draws", taken(made("draw.next-draws", {generation, 1})));
  record("draw.stop-generation", taken(made("draw.stop-generation", {generation})));
  handle_record("constraint.compile-grammar",
                result("constraint.compile-grammar", {model, 1, kName, 4},
                       Body(control::CompiledGrammar{some_grammar()})));
  command("constraint.fits", {grammar, kName, 4}, Body(control::TextChecked{true}));
  command("constraint.token-mask", {matcher}, Body(control::TokenMaskWords{{1, 2, 3, 4}}));
  command("constraint.accept-tokens", {matcher, kTokens, 2}, Body(control::Accepted{true}));
  command("constraint.roll-back", {matcher, 1}, Body(control::Done{}));
  command("constraint.forced-tokens", {matcher, 8}, Body(control::Tokens{{7, 8}}));
}

void Records::of_outputs() {
  const std::int64_t embed = number_at(kEmbeds);
  const Body values(control::Values{{1.0f, 2.0f}});
  const control::NextDistribution next{{7, 8}, {0.5f, 0.25f}};
  command("output.get-next-dist", {queue, embed, 2}, Body(next));
  command("output.get-next-dists", {queue, kEmbeds, 2, 0, 0, 2},
          Body(control::NextDistributions{{next, {{9}, {0.75f}}}}));
  command("output.get-logits", {queue, embed}, values);
  command("output.get-logprobs", {queue, embed, kTokens, 2}, values);
  command("output.get-logprobs-of", {queue, kEmbeds, 2, kTokens, 2}, values);
  command("output.get-entropy", {queue, embed}, Body(control::Values{{1.0f}}));
  command("output.get-embedding", {queue, embed}, values);
}

void Records::of_texts_and_stores() {
  command("tokenize.tokenize", {model, kName, 4, 0}, Body(control::Tokens{{7, 8}}));
  command("tokenize.detokenize", {model, kTokens, 2, 0}, Body(control::Text{"text"}));
  command("tokenize.get-vocabs", {model, 0, 2}, Body(control::TokenBytes{{"a", "bc"}}));
  command("tokenize.get-token-kinds", {model, 0, 2}, Body(control::TokenKinds{{0, 3}}));
  command("tokenize.apply-chat-template", {model, kName, 4}, Body(control::Text{"text"}));
  command("tokenize.tokenize-chat", {model, kName, 4}, Body(control::Tokens{{7, 8}}));
  command("store.put", {kName, 4, kName, 4, -1}, Body(control::ValueVersion{7}));
  command("store.get", {kName, 4}, Body(control::StoredValue{7, "value"}));
  command("store.delete", {kName, 4, -1}, Body(control::Done{}));
  command("store.list-keys", {kName, 0, kName, 0, 1},
          Body(control::ListedKeys{{{"key", 7, 5}}, true}));
}

void Records::of_pages_and_queues() {
  const std::int64_t from = number_at(kPages), to = number_at(kPages + 4);
  command("allocate.copy-kvpage", {queue, from, to, 0, 8, 4}, Body(control::Done{}));
  command("allocate.export-kvpage", {queue, kPages, 2, kName, 4, 0}, Body(control::Done{}));
  command("allocate.import-kvpage", {queue, kName, 4, 2, kPages},
          Body(control::SharedPages{{{0, 1}, {1, 255}}}));
  command("allocate.unexport-kvpage", {kName, 4}, Body(control::Done{}));
  command("allocate.list-exports", {}, Body(control::Exports{{{"name", 1, 2, true, false}}}));
  command("forward.forward", {queue, 0, 0, kEmbeds, 1, 0, 0, 0, 0, 0, 0, 0}, Body(control::Done{}));
  command("queue.synchronize", {queue}, Body(control::Done{}));
  const std::int64_t slept = made("runtime.sleep", {5});
  clock.advance_ns(5);
  record("runtime.sleep", taken(slept));
}

void Records::of_messages_and_files() {
  const std::int64_t subscription = made("messaging.subscribe", {kName, 4});
  made("messaging.broadcast", {kName, 4, kName, 4});
  record("messaging.next-message", taken(made("messaging.next-message", {subscription})));
  EXPECT_EQ(call("messaging", "push", {kName, 4, kName, 4}), 0);
  record("messaging.pull", taken(made("messaging.pull", {kName, 4})));
  ASSERT_TRUE(state->push_message("message").ok());
  record("session.receive", taken(made("session.receive", {})));
  ASSERT_TRUE(state->files.push({"a.txt", "text/plain", 3, 0, "abc"}).ok());
  const std::string file = taken(made("session.receive-file", {}));
  handle_record("session.receive-file", file);
  record("session.read-file", taken(made("session.read-file", {number_of(file)})));
  const std::int64_t sent = made("session.send-file", {kName, 4, kMediaType, 10, 4});
  record("session.write-file", taken(made("session.write-file", {sent, kName, 4})));
  const std::int64_t child = made("runtime.launch", {kName, 4, 0, 0, 50});
  const GuestHandle handle{static_cast<std::int32_t>(child)};
  ASSERT_TRUE(state->children.message(handle, "message"));
  record("runtime.receive-child", taken(made("runtime.receive-child", {child})));
  const std::int64_t waited = made("runtime.wait-child", {child});
  service::End end;
  end.kind = service::EndKind::Trapped;
  end.exit_code = 3;
  end.message = "message";
  end.result = "result";
  state->children.ended(handle, encode(end), "the child has ended and said all");
  record("runtime.wait-child", taken(waited));
}

void Records::of_http() {
  const auto url_bytes = static_cast<std::int64_t>(std::string_view(kUrlText).size());
  const std::int64_t got = made("net.http-get", {kUrl, url_bytes, 0, 0});
  const std::int64_t posted = made("net.http-post", {kUrl, url_bytes, 0, 0, kName, 4});
  turn();
  record("net.http-get", taken(got));
  record("net.http-post", taken(posted));
  host->put(kBuffer, "PUT");
  const std::int64_t exchange = made("net.http-request", {kBuffer, 3, kUrl, url_bytes, 0, 0, 4});
  const std::int64_t written = made("net.write-body", {exchange, kName, 4});
  turn();
  record("net.write-body", taken(written));
  EXPECT_EQ(call("net", "finish-body", {exchange}), 0);
  const std::int64_t head = made("net.response-head", {exchange});
  turn();
  record("net.response-head", taken(head));
  const std::int64_t piece = made("net.read-body", {exchange});
  turn();
  record("net.read-body", taken(piece));
}

// Last: the guest begins again, now launched by a request.
void Records::of_served_requests() {
  restart({}, {}, RequestHead{"POST", "/", "", false});
  host->put(kName, "name");
  state->served.push("body", true);
  record("serve.read-request", taken(made("serve.read-request", {})));
  EXPECT_EQ(call("serve", "respond", {200, kName, 0, 0}), 0);
  record("serve.write-response", taken(made("serve.write-response", {kName, 4})));
}

// Calls by name, with the digits of their example: a line "interface.call: layout", then indented
// ones with digits.
std::map<std::string, std::string> records_of(std::istream& file) {
  std::map<std::string, std::string> all;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      name = line.substr(0, line.find(':'));
      all[name];
      continue;
    }
    for (const char each : line) {
      if (std::isspace(static_cast<unsigned char>(each)) == 0) all[name] += each;
    }
  }
  return all;
}

TEST_F(Records, AreTheBytesThatProgramsWereBuiltToRead) {
  std::ifstream file(QUIRE_SOURCE_DIR "/interface/records_1.txt");
  ASSERT_TRUE(file.is_open());
  const std::map<std::string, std::string> wanted = records_of(file);
  of_contexts();
  of_draws();
  of_outputs();
  of_texts_and_stores();
  of_pages_and_queues();
  of_messages_and_files();
  of_http();
  of_served_requests();
  for (const auto& [name, digits] : found) {
    const auto frozen = wanted.find(name);
    if (frozen == wanted.end()) {
      ADD_FAILURE() << "no record is written down of " << name << ": " << digits;
    } else {
      EXPECT_EQ(digits, frozen->second) << name;
    }
  }
  EXPECT_EQ(found.size(), wanted.size());
  for (const auto& [name, digits] : wanted) EXPECT_TRUE(found.contains(name)) << name;
}

}  // namespace
}  // namespace quire::hostcalls::records_test
