#include "quire/answer_stream.h"

#include <gtest/gtest.h>

#include "call_forms.h"
#include "quire/sampling.h"

namespace quire {
namespace {

using Kind = AnswerEvent::Kind;

const std::vector<std::string> kTools = {"add", "look_up"};

std::string type_of(std::string_view tool, std::string_view argument) {
  return tool == "add" && argument == "a" ? "integer" : argument == "d" ? "array" : "string";
}

CallForm form_of(const std::string& name) {
  for (const test::NamedForm& each : test::call_forms()) {
    if (name == each.name) return each.form;
  }
  ADD_FAILURE() << name;
  return {};
}

// All that a stream gives, joined: text, thoughts, and each call as `name{...}`, with "~" if it is
// cut.
struct Joined {
  std::string text, reasoning;
  std::vector<std::string> calls;
  std::size_t delta_count = 0;

  void take(const std::vector<AnswerEvent>& events) {
    for (const AnswerEvent& each : events) {
      if (each.kind == Kind::Text) text += each.text;
      if (each.kind == Kind::Reasoning) reasoning += each.text;
      if (each.kind == Kind::CallBegin) calls.push_back(each.text);
      if (each.kind == Kind::Arguments) calls.back() += each.text;
      if (each.kind == Kind::Arguments) ++delta_count;
      if (each.kind == Kind::CallEnd && each.is_cut) calls.back() += "~";
    }
  }
  std::string all() const {
    std::string out = text + "|" + reasoning;
    for (const std::string& each : calls) out += "|" + each;
    return out;
  }
};

Joined streamed(const CallForm& form, std::string_view answer, std::uint64_t seed) {
  AnswerStream stream(AnswerReader(form, kTools), type_of);
  sampling::Random random(seed);
  Joined out;
  while (!answer.empty()) {
    const auto most = static_cast<double>(seed % 3 == 0 ? 3 : 24);
    const auto bytes =
        std::min(answer.size(), 1 + static_cast<std::size_t>(random.uniform() * most));
    out.take(stream.next(answer.substr(0, bytes)));
    answer.remove_prefix(bytes);
  }
  out.take(stream.finish());
  return out;
}

// What AnswerReader gives, as a Joined::all().
std::string read_whole(const CallForm& form, const std::string& answer) {
  const WrittenAnswer read = AnswerReader(form, kTools).read(answer);
  Joined out;
  out.reasoning = read.reasoning;
  out.text = read.text;
  if (!read.unread.empty()) out.text += (out.text.empty() ? "" : "\n") + read.unread;
  for (const ToolCall& each : read.calls) {
    if (each.name.empty()) break;
    JsonWriter json;
    json.begin_object();
    for (const auto& [name, value] : each.arguments.members()) {
      const bool is_typed = form.kind == CallForm::Kind::NameThenPairs;
      json.key(name).raw(
          (is_typed ? detail::of_type(value, type_of(each.name, name)) : value).str());
    }
    out.calls.push_back(
        each.name + (each.arguments.is_object() ? json.end_object().str() : each.arguments.str()));
  }
  return out.all();
}

// Arguments that bring what is hard to cut.
std::string arguments_of(sampling::Random& random) {
  const std::vector<std::string> values = {R"("plain")",
                                           R"("\u00e9\n\t\"q\" \\ \/ \ud83d\ude00 é 😀")",
                                           R"("</tool_call> { [ }")",
                                           "-12.5e3",
                                           "true",
                                           "null",
                                           "[ ]",
                                           "{ }",
                                           R"([1, "two", {"three": [ 3 ]}])",
                                           "\"line\n\ttab\"",
                                           R"({"name": "add", "arguments": {}})",
                                           R"("")",
                                           R"("<think>```")"};
  std::string out = "{";
  const int count = static_cast<int>(random.uniform() * 4);
  for (int i = 0; i < count; ++i) {
    out += (i > 0 ? ", " : "") + std::string("\"k") + std::to_string(i) + "\": ";
    out += values[static_cast<std::size_t>(random.uniform() * values.size())];
  }
  return out + "}";
}

std::string pairs_of(sampling::Random& random) {
  const std::vector<std::string> values = {
      "7", "\nline\n\nnext\n", "", "\n", "\n\n", "é \"q\" \\", "</param", "[1, 2]", "a < b\n"};
  std::string out;
  for (const char* key : {"a", "b", "d"}) {
    if (random.uniform() < 0.3) continue;
    out += std::string("<parameter=") + key + ">";
    out += values[static_cast<std::size_t>(random.uniform() * values.size())] + "</parameter>\n";
  }
  return out;
}

std::string call_in(const CallForm& form, sampling::Random& random) {
  const std::string name = random.uniform() < 0.5 ? "add" : "look_up";
  std::string call = form.before;
  if (form.kind == CallForm::Kind::Json) {
    const bool is_list = form.before == "[TOOL_CALLS]";
    call += is_list ? " [" : "\n";
    call += random.uniform() < 0.2 ? R"({"type": "function", "name": ")" : R"({"name": ")";
    call += name + "\", \"" + form.arguments_key + "\": " + arguments_of(random);
    call += random.uniform() < 0.2 ? R"(, "id": "abcdefghi"})" : "}";
    call += is_list ? "]" : "\n";
  } else if (form.kind == CallForm::Kind::NameThenJson) {
    call += name + form.name_end + arguments_of(random);
  } else {
    call += name + form.name_end + "\n" + pairs_of(random);
  }
  call += form.after;
  std::ranges::replace(call, CallForm::kAnyId, '7');
  return call;
}

std::string drawn_answer(const CallForm& form, sampling::Random& random) {
  std::string out = form.begins_in_thought ? "Hm.</think>" : "";
  if (random.uniform() < 0.3) out += "<think>\nA thought: {\"name\": 1}.\n</think>\n\n";
  if (random.uniform() < 0.5 && !form.before.empty()) out += "I see {that}, [1], é.\n";
  if (form.kind == CallForm::Kind::Json && random.uniform() < 0.4) {
    const std::string call = "{\"name\": \"add\", \"arguments\": " + arguments_of(random) + "}";
    out += random.uniform() < 0.5 ? "```json\n" + call + "\n```" : call;
  } else {
    out += call_in(form, random);
    if (random.uniform() < 0.3) out += "\n" + call_in(form, random);
  }
  if (random.uniform() < 0.3) out += "\nDone: x < y.";
  return out;
}

TEST(AnswerStreamTest, AnyPiecesGiveWhatTheReaderGivesForTheWholeText) {
  for (const test::NamedForm& form : test::call_forms()) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      sampling::Random random(seed);
      const std::string answer = drawn_answer(form.form, random);
      SCOPED_TRACE(form.name + (" " + std::to_string(seed) + ": " + answer));
      ASSERT_EQ(streamed(form.form, answer, seed).all(), read_whole(form.form, answer));
    }
  }
}

// Parts in any order: no cut changes the result, and no crash.
TEST(AnswerStreamTest, TheResultDoesNotDependOnTheCuts) {
  const std::vector<std::string> parts = {"<tool_call>",
                                          "</tool_call>",
                                          "[TOOL_CALLS]",
                                          "<|calls|><|call|>function<|sep|>",
                                          "<tool_call>\n<function=",
                                          "add",
                                          "look_up",
                                          ">",
                                          "<parameter=a>",
                                          "</parameter>",
                                          "</function>",
                                          "```json",
                                          "```",
                                          "\n",
                                          " ",
                                          "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
                                          "{\"name\": \"add\"",
                                          ", \"arguments\": {",
                                          "\"k\": \"v\"",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ": ",
                                          "\"",
                                          "<think>",
                                          "</think>",
                                          "word",
                                          "<tools>",
                                          "[ARGS]",
                                          "[CALL_ID]ab",
                                          "\\",
                                          "\\u12",
                                          "<",
                                          "12",
                                          "\xc3\xa9",
                                          "tru",
                                          "{\"name\": \"look_up\", \"parameters\": {\"a\": "};
  for (const test::NamedForm& form : test::call_forms()) {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
      sampling::Random random(seed);
      std::string answer;
      for (int i = 0; i < 12; ++i) {
        answer += parts[static_cast<std::size_t>(random.uniform() * parts.size())];
      }
      SCOPED_TRACE(form.name + (" " + std::to_string(seed) + ": " + answer));
      const std::string first = streamed(form.form, answer, 3 * seed).all();
      ASSERT_EQ(streamed(form.form, answer, 3 * seed + 1).all(), first);
    }
  }
}

// Closes what is open at the end of a beginning of JSON.
std::string closed(const std::string& json) {
  std::string open;
  bool is_in_text = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (is_in_text && json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      is_in_text = !is_in_text;
    } else if (!is_in_text && (json[at] == '{' || json[at] == '[')) {
      open += json[at] == '{' ? '}' : ']';
    } else if (!is_in_text && (json[at] == '}' || json[at] == ']')) {
      open.pop_back();
    }
  }
  std::string out = json + (is_in_text ? "\"" : "");
  for (; !open.empty(); open.pop_back()) out += open.back();
  return out;
}

TEST(AnswerStreamTest, ArgumentsAreJsonAtEveryCutOnceTheyAreClosed) {
  for (const test::NamedForm& form : test::call_forms()) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      sampling::Random random(seed);
      AnswerStream stream(AnswerReader(form.form, kTools), type_of);
      const std::string answer = drawn_answer(form.form, random);
      std::string arguments;
      for (const char each : answer) {
        for (const AnswerEvent& event : stream.next(std::string_view(&each, 1))) {
          if (event.kind == Kind::CallBegin) arguments.clear();
          if (event.kind != Kind::Arguments) continue;
          arguments += event.text;
          ASSERT_TRUE(Json::parse(closed(arguments)).ok()) << answer << "\n" << arguments;
        }
      }
    }
  }
}

TEST(AnswerStreamTest, ACallBeginsAndGrowsBeforeItIsWhole) {
  const struct {
    const char* form;
    const char* written;
    const char* given;
  } cases[] = {
      {"hermes", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"t\": \"some",
       R"(add{"t":"some)"},
      {"hermes", "So:\n```json\n{\"name\": \"add\", \"arguments\": {\"t\": \"a\\n",
       R"(add{"t":"a\n)"},
      {"llama", R"({"type": "function", "name": "add", "parameters": {"t": "x)", R"(add{"t":"x)"},
      {"mistral", R"([TOOL_CALLS] [{"name": "add", "arguments": {"t": [1, 2, "x)",
       R"(add{"t":[1,2,"x)"},
      {"named", R"([TOOL_CALLS]add[CALL_ID]x1[ARGS]{"t": "x)", R"(add{"t":"x)"},
      {"pairs", "<tool_call>\n<function=add>\n<parameter=t>\nline one\nline",
       R"(add{"t":"line one\nline)"},
      {"pairs", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"t\": \"x", R"(add{"t":"x)"},
      {"fenced", "</think><|calls|><|call|>function<|sep|>add\n```json\n{\"t\": \"x",
       R"(add{"t":"x)"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.written);
    AnswerStream stream(AnswerReader(form_of(each.form), kTools), type_of);
    Joined now;
    now.take(stream.next(each.written));
    ASSERT_EQ(now.calls.size(), 1u);
    EXPECT_EQ(now.calls[0], each.given);
    now.take(stream.finish());  // It is cut there.
    EXPECT_EQ(now.calls[0], each.given + std::string("~"));
    EXPECT_EQ(now.text, std::string(each.written).starts_with("So") ? "So:" : "");
  }
}

TEST(AnswerStreamTest, WhatMayBeTextIsNotACallBeforeItIsCertain) {
  const AnswerReader reader(form_of("hermes"), kTools);
  for (const char* each : {"```json\n{\"name\": \"add\", \"arguments\": ",
                           "{\"name\": \"Ada\", \"arguments\": {", "{\"arguments\": {\"a\": 1}, ",
                           "```python\n{\"name\": \"add\", \"parameters\": {\"type\": "}) {
    AnswerStream stream(reader, type_of);
    Joined now;
    now.take(stream.next(each));
    EXPECT_TRUE(now.calls.empty()) << each;
    now.take(stream.finish());
    EXPECT_EQ(now.all(), read_whole(form_of("hermes"), each));
  }
}

TEST(AnswerStreamTest, WhatCannotBeReadAfterACallHasBegunIsText) {
  const std::string call = R"(<tool_call>{"name": "add", "arguments": {"t": "it)";
  const Joined wrong = streamed(form_of("hermes"), call + R"(\'s"}}</tool_call>)", 1);
  EXPECT_EQ(wrong.calls, std::vector<std::string>{"add{\"t\":\"it~"});
  EXPECT_EQ(wrong.text, R"('s"}}</tool_call>)");
  // A brace of the call that is missing does not matter.
  const Joined forgotten = streamed(
      form_of("hermes"), R"(<tool_call>{"name": "add", "arguments": {"t": 1}</tool_call>)", 1);
  EXPECT_EQ(forgotten.all(), R"(||add{"t":1})");
}

// A text that is read anew for each piece costs minutes here.
TEST(AnswerStreamTest, ALongAnswerTakesTimeInProportion) {
  std::string line;
  for (int i = 0; i < 20'000; ++i) line += R"(if (a < b) { f[1] = \"x\"; }\n)";
  for (const std::string& answer :
       {"<tool_call>{\"name\": \"add\", \"arguments\": {\"t\": \"" + line + "\"}}</tool_call>",
        "<think>" + line + "</think>" + line,
        "```json\n{\"name\": \"Ada\", \"t\": \"" + line + "\"}\n```"}) {
    AnswerStream stream(AnswerReader(form_of("hermes"), kTools), type_of);
    std::size_t bytes = 0;
    const auto count = [&bytes](const std::vector<AnswerEvent>& events) {
      for (const AnswerEvent& each : events) bytes += each.text.size();
    };
    for (std::size_t at = 0; at < answer.size(); at += 4) count(stream.next(answer.substr(at, 4)));
    count(stream.finish());
    EXPECT_GE(bytes, line.size());
  }
}

}  // namespace
}  // namespace quire
