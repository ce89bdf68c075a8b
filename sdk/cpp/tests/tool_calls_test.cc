#include "quire/tool_calls.h"

#include <gtest/gtest.h>

#include "call_forms.h"
#include "quire/sampling.h"

namespace quire {
namespace {

AnswerReader reader_of(const std::string& form) {
  for (const test::NamedForm& each : test::call_forms()) {
    if (form == each.name) return AnswerReader(each.form, {"add", "look_up"});
  }
  ADD_FAILURE() << form;
  return AnswerReader({}, {});
}

// "add{"a":1}", or "!" and what is wrong.
std::string text_of(const std::vector<ToolCall>& calls) {
  std::string out;
  for (const ToolCall& each : calls) {
    if (!out.empty()) out += "; ";
    out += each.name + (each.fault.empty() ? each.arguments.str() : "!" + each.fault);
  }
  return out;
}

struct Written {
  const char* form;
  std::string answer;
  std::string text;
  std::string calls;
};

const std::vector<Written>& answers() {
  static const std::vector<Written> all = {
      {"hermes", "No call at all.", "No call at all.", ""},
      {"hermes", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>", "",
       R"(add{"a":1})"},
      // In parallel, with text around, and thoughts.
      {"hermes",
       "<think>\nTwo.\n</think>\nI add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n"
       "</tool_call>\n<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"t\": "
       "\"</tool_call>\"}}"
       "\n</tool_call> Done.",
       "I add.\nDone.", R"(add{}; look_up{"t":"</tool_call>"})"},
      // As models write it that saw little of the form.
      {"hermes", "```json\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```", "",
       R"(add{"a":1})"},
      {"hermes", "I run it.\n```github\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```",
       "I run it.", R"(add{"a":1})"},
      {"hermes", "```python\nadd(1)\n```", "```python\nadd(1)\n```", ""},
      {"hermes",
       "[{\"name\": \"add\", \"arguments\": {}}, {\"name\": \"look_up\", \"arguments\": {}}]", "",
       "add{}; look_up{}"},
      {"hermes",
       R"(It is {"type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}})",
       "It is", R"(add{"a":1})"},
      {"hermes", "<tool_call>{\"name\": \"add\", \"arguments\": {}}", "", "add{}"},
      {"hermes", "<tool_call>{\"name\": \"jump\", \"arguments\": {}}</tool_call>", "", "jump{}"},
      {"hermes", R"(A table: {"name": "Ada", "arguments": {"a": 1}}.)",
       R"(A table: {"name": "Ada", "arguments": {"a": 1}}.)", ""},
      {"hermes", R"({"name": "add", "born": 1815})", R"({"name": "add", "born": 1815})", ""},
      {"hermes", R"(See {"x": {"name": "add", "arguments": {}}}.)", R"(See {"x": }.)", "add{}"},
      // Doubled braces, which templates show by mistake, and a tool that is described once more.
      {"hermes", R"(So: {{"name": "add", "arguments": {"a": 1}}} Done.)", "So:  Done.",
       R"(add{"a":1})"},
      {"hermes", R"(<tool_call>{{"name": "add", "arguments": {}}}</tool_call>)", "", "add{}"},
      {"hermes",
       R"(Now: <tools>{"type": "function", "function": {"name": "add", "description": "Adds.", )"
       R"("parameters": {"type": "object"}}}</tools>{"name": "add", "arguments": {}})",
       "Now:", "add{}"},
      // Calls that cannot be read.
      {"hermes", "<tool_call>\n{\"name\": \"add\", \"argu", "",
       "!JSON: '\"' expected at line 1, byte 22"},
      {"hermes", "<tool_call>\n{'name': 'add'}\n</tool_call>", "",
       "!JSON: the name of a member expected at line 1, byte 2"},
      {"hermes", "<tool_call>\nadd(1, 2)\n</tool_call>", "",
       "!JSON: a value expected at line 1, byte 1"},
      {"hermes", "<tool_call>\n{\"tool\": \"add\"}\n</tool_call>", "",
       R"(!a call is a JSON object with "name" and "arguments")"},
      {"hermes", "<tool_call>{\"name\": \"add\", \"arguments\": [1]}</tool_call>", "",
       "add!the arguments are not a JSON object"},
      {"hermes", "<tool_call>", "", "!JSON: a value expected at line 1, byte 1"},
      {"hermes", "a <tool_ca", "a <tool_ca", ""},
      {"hermes", "<think>never ends", "", ""},
      {"llama", R"({"name": "add", "parameters": {"a": 1}})", "", R"(add{"a":1})"},
      {"llama", R"(<|python_tag|>{"name": "add", "parameters": {"a": 1}})", "", R"(add{"a":1})"},
      {"llama", R"({"name": "add", "parameters": {}}; {"name": "look_up", "parameters": {}})", "",
       "add{}; look_up{}"},
      {"llama", R"(I call {"name": "add", "parameters": {"a": 1}} now)", "I call  now",
       R"(add{"a":1})"},
      {"llama", R"({"name": "add", "parameters": {"a": 1)",
       R"({"name": "add", "parameters": {"a": 1)", ""},
      {"llama", "Braces {like these} are text.", "Braces {like these} are text.", ""},
      {"mistral", R"([TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}, "id": "abcdefghi"}])", "",
       R"(add{"a":1})"},
      {"mistral",
       R"([TOOL_CALLS] [{"name": "add", "arguments": {}}, {"name": "look_up", "arguments": {}}])",
       "", "add{}; look_up{}"},
      {"mistral", R"(Well. [TOOL_CALLS] [{"name": "add", "arguments": {)", "Well.",
       "!JSON: the name of a member expected at line 1, byte 32"},
      {"named", R"([TOOL_CALLS]add[CALL_ID]x1[ARGS]{"a": 1}[TOOL_CALLS]look_up[CALL_ID]y[ARGS]{})",
       "", R"(add{"a":1}; look_up{})"},
      {"named", R"([TOOL_CALLS]add[ARGS]{"a": 1})", "", "!no name of a tool follows [TOOL_CALLS]"},
      {"pairs",
       "I see.\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\nx\ny\n"
       "</parameter>\n</function>\n</tool_call>",
       "I see.", R"(add{"a":"1","b":"x\ny"})"},
      {"pairs", "<tool_call>\n<function=add>\n<parameter=", "",
       "!the name of an argument is not closed by >"},
      {"pairs", "<tool_call>\n<function=add>\n</function>\n</tool_call>", "", "add{}"},
      {"pairs", "<tool_call>\n<function=add>\n<parameter=a>\n1", "",
       R"(!the argument "a" is not closed by </parameter>)"},
      {"fenced",
       "Think.\n</think>\n\n<|calls|><|call|>function<|sep|>add\n```json\n{\"a\": 1}\n```"
       "<|/call|>\n<|call|>function<|sep|>look_up\n```json\n{}\n```<|/call|><|/calls|>",
       "", R"(add{"a":1}; look_up{})"},
      {"fenced", "Think.</think>An answer.", "An answer.", ""},
      {"plain", "<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>", "", "add{}"},
  };
  return all;
}

TEST(ToolCallsTest, AnAnswerIsTakenApart) {
  for (const Written& each : answers()) {
    SCOPED_TRACE(each.form + (": " + each.answer));
    const WrittenAnswer read = reader_of(each.form).read(each.answer);
    EXPECT_EQ(read.text, each.text);
    EXPECT_EQ(text_of(read.calls), each.calls);
  }
}

TEST(ToolCallsTest, ATextBecomesAValueOfTheTypeThatASchemaNames) {
  const struct {
    const char* text;
    const char* type;
    const char* value;
  } cases[] = {{"12", "integer", "12"},          {"0012", "string", R"("0012")"},
               {"[1, {}]", "array", "[1,{}]"},   {"True", "boolean", "true"},
               {"false", "boolean", "false"},    {"None", "integer", "null"},
               {"True", "string", R"("True")"},  {"Truely", "boolean", R"("Truely")"},
               {"many", "integer", R"("many")"}, {"12", "", R"("12")"}};
  for (const auto& each : cases) {
    const Json text = Json::parse(json_string(each.text)).value();
    EXPECT_EQ(detail::of_type(text, each.type).str(), each.value) << each.text << " " << each.type;
  }
}

// How the text of `answer` grows while it is written: never a part of a call, and never taken back.
void expect_shown_grows(const AnswerReader& reader, const std::string& answer) {
  const std::string whole = reader.read(answer).text;
  std::string shown;
  for (std::size_t bytes = 0; bytes <= answer.size(); ++bytes) {
    const std::string now = reader.shown(std::string_view(answer).substr(0, bytes));
    ASSERT_TRUE(now.starts_with(shown)) << '"' << shown << "\" became \"" << now << '"';
    ASSERT_TRUE(whole.starts_with(now)) << '"' << now << "\" is not of \"" << whole << '"';
    shown = now;
  }
}

// Models copy the lines of files so.
TEST(ToolCallsTest, ControlCharactersInTextsOfACallAreReadAsTheyAre) {
  const std::string call = "{\"name\": \"add\", \"arguments\": {\"t\": \"1\tx\r\n2\ty\\n\x01\"}}";
  const std::string given = R"(add{"t":"1\tx\r\n2\ty\n\u0001"})";
  for (const std::string& answer : {"<tool_call>\n" + call + "\n</tool_call>",
                                    "So:\n```json\n" + call + "\n```", "{" + call + "}"}) {
    SCOPED_TRACE(answer);
    const AnswerReader reader = reader_of("hermes");
    EXPECT_EQ(text_of(reader.read(answer).calls), given);
    EXPECT_EQ(reader.read(answer).text, answer.starts_with("So") ? "So:" : "");
    expect_shown_grows(reader, answer);
  }
  // In a form whose name stands before the arguments, and in arguments that are a text.
  EXPECT_EQ(
      text_of(reader_of("named").read("[TOOL_CALLS]add[CALL_ID]7[ARGS]{\"t\": \"a\nb\"}").calls),
      R"(add{"t":"a\nb"})");
  const std::string inner = R"({"name": "add", "arguments": "{\"t\": \"a\nb\"}"})";
  EXPECT_EQ(text_of(reader_of("hermes").read(inner).calls), R"(add{"t":"a\nb"})");
  // Elsewhere, and after a backslash, they are not JSON.
  for (const char* answer : {"{\"name\":\x01 \"add\", \"arguments\": {}}",
                             "{\"name\": \"add\", \"arguments\": {\"t\": \"a \\\n b\"}}"}) {
    EXPECT_EQ(reader_of("hermes").read(answer).calls.size(), 0u);
    EXPECT_EQ(reader_of("hermes").read(answer).text, answer);
  }
}

TEST(ToolCallsTest, WhatIsShownWhileItGrowsIsTheBeginningOfTheText) {
  for (const Written& each : answers()) {
    SCOPED_TRACE(each.form + (": " + each.answer));
    expect_shown_grows(reader_of(each.form), each.answer);
  }
}

TEST(ToolCallsTest, WhatIsShownOfPartsInAnyOrderIsTheBeginningOfTheText) {
  const std::vector<std::string> parts = {"<tool_call>",
                                          "</tool_call>",
                                          "[TOOL_CALLS]",
                                          "<|calls|><|call|>function<|sep|>",
                                          "<function=",
                                          "<parameter=a>",
                                          "</parameter>",
                                          "</function>",
                                          "```json",
                                          "```",
                                          "```sh",
                                          "\t",
                                          "\n",
                                          " ",
                                          "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
                                          "{\"name\": \"add\"",
                                          "\"arguments\": {}",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ": ",
                                          "\"",
                                          "add",
                                          "look_up",
                                          "<think>",
                                          "</think>",
                                          "word",
                                          "{\"id\": \"x\", \"function\": ",
                                          "<tools>",
                                          "<|python_tag|>",
                                          "[ARGS]",
                                          "[CALL_ID]ab",
                                          "\\",
                                          "<",
                                          "\xc3\xa9",
                                          "\xc3",
                                          ">"};
  for (const test::NamedForm& form : test::call_forms()) {
    const AnswerReader reader(form.form, {"add", "look_up"});
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      sampling::Random random(seed);
      std::string answer;
      for (int i = 0; i < 12; ++i) {
        answer += parts[static_cast<std::size_t>(random.uniform() * parts.size())];
      }
      SCOPED_TRACE(form.name + (" " + std::to_string(seed) + ": " + answer));
      expect_shown_grows(reader, answer);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ToolCallsTest, AThoughtIsShownAsItGrowsAndNotItsMark) {
  const AnswerReader reader = reader_of("hermes");
  const auto parts = [&](const char* written) {
    const WrittenAnswer out = reader.shown_parts(written);
    return out.reasoning + "|" + out.text + (out.is_in_thought ? "|thinks" : "");
  };
  EXPECT_EQ(parts("<think>\nFirst"), "First||thinks");
  EXPECT_EQ(parts("<think>\nFirst the sum.</thi"), "First the sum.||thinks");
  EXPECT_EQ(parts("<think>\nFirst.</think>\n\nIt is"), "First.|It is");
}

TEST(ToolCallsTest, TextIsShownAsItComesBesidesCalls) {
  const AnswerReader reader = reader_of("hermes");
  EXPECT_EQ(reader.shown("The sum of 1 an"), "The sum of 1 an");
  EXPECT_EQ(reader.shown("The sum.\n<tool"), "The sum.");
  EXPECT_EQ(reader.shown("if (a < b) { return; } else"), "if (a < b) { return; } else");
  EXPECT_EQ(reader.shown(R"(A record {"name": "Ada", "born": 1815} has)"),
            R"(A record {"name": "Ada", "born": 1815} has)");
  EXPECT_EQ(reader.shown("{\"name\": Ada, and so on"), "{\"name\": Ada, and so on");
}

}  // namespace
}  // namespace quire
