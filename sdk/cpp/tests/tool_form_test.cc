#include "quire/tool_form.h"

#include <gtest/gtest.h>

#include "call_forms.h"
#include "fake_host.h"
#include "quire/main.h"
#include "quire/tool_calls.h"
#include "tool_templates.h"

namespace quire {
namespace {

using test::host;

class ToolFormTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.token_texts[2] = "<|end|>";
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  static void use(const std::string& name) {
    const std::map<std::string, test::Rendered (*)(const Json&)> all = {
        {"hermes", test::render_hermes},   {"llama", test::render_llama},
        {"mistral", test::render_mistral}, {"named", test::render_named},
        {"pairs", test::render_pairs},     {"fenced", test::render_fenced},
        {"plain", test::render_plain}};
    host.render_chat = all.at(name);
  }
  static CallForm found() {
    CallForm form;
    const auto program = [&]() -> Task<> {
      form = co_await find_call_form(co_await Model::open());
    };
    const Result<void> done = run(program());
    EXPECT_TRUE(done.ok()) << done.error().text();
    return form;
  }
};

// The form as text, for a message.
std::string text_of(const CallForm& form) {
  JsonWriter json;
  json.begin_array().number(static_cast<int>(form.kind));
  for (const std::string* each :
       {&form.before, &form.between, &form.after, &form.name_key, &form.arguments_key,
        &form.name_end, &form.key_begin, &form.key_end, &form.value_end, &form.think_begin,
        &form.think_end, &form.answer_begin}) {
    json.text(*each);
  }
  for (const bool each : {form.begins_in_thought, form.takes_text_arguments, form.offers_tools,
                          form.shows_calls, form.shows_results}) {
    json.boolean(each);
  }
  return json.end_array().str();
}

TEST_F(ToolFormTest, IsFoundInEachTemplate) {
  for (const test::NamedForm& each : test::call_forms()) {
    SCOPED_TRACE(each.name);
    use(each.name);
    EXPECT_EQ(text_of(found()), text_of(each.form));
  }
}

TEST_F(ToolFormTest, CallsThatATemplateWritesAreRead) {
  for (const test::NamedForm& each : test::call_forms()) {
    const std::string name = each.name;
    SCOPED_TRACE(name);
    if (name == "plain") continue;  // It writes none.
    use(name);
    const std::size_t count = name == "llama" ? 1 : 2;
    const std::string first = R"({"text":"a \"b\" {c}\n</x>","count":3,"deep":{"list":[1,true]}})";
    const auto call = [&](const std::string& tool, const std::string& arguments) {
      return R"({"id":"abcdefgh)" + tool.substr(0, 1) +
             R"(","type":"function","function":{"name":")" + tool + R"(","arguments":)" +
             (each.form.takes_text_arguments ? json_string(arguments) : arguments) + "}}";
    };
    const std::string calls =
        call("look_up", first) + (count == 2 ? "," + call("add-2", R"({"a":1})") : "");
    const Json request =
        Json::parse(R"({"messages":[{"role":"user","content":"q"},{"role":"assistant",)"
                    R"("content":"","tool_calls":[)" +
                    calls + "]}]}")
            .value();
    const std::string whole = host.render_chat(request).value();
    const std::size_t user = whole.find('q');
    const std::size_t begin = whole.find(detail::trimmed(each.form.before), user);
    std::string answer =
        name == "llama" ? whole.substr(whole.find('{', user)) : whole.substr(begin);
    if (each.form.begins_in_thought) answer = "I call.\n</think>\n" + answer;
    answer = answer.substr(0, answer.find("<|end|>"));
    const WrittenAnswer read = AnswerReader(each.form, {"look_up", "add-2"}).read(answer);
    EXPECT_EQ(read.text, "") << answer;
    ASSERT_EQ(read.calls.size(), count) << answer;
    EXPECT_EQ(read.calls[0].name, "look_up");
    EXPECT_EQ(read.calls[0].fault, "");
    if (each.form.kind != CallForm::Kind::NameThenPairs) {
      EXPECT_EQ(read.calls[0].arguments.str(), first);
    } else {  // All values are texts there.
      EXPECT_EQ(read.calls[0].arguments.text("text"), "a \"b\" {c}\n</x>");
      EXPECT_EQ(read.calls[0].arguments.text("deep"), R"({"list":[1,true]})");
    }
    if (count == 2) EXPECT_EQ(read.calls[1].name, "add-2");
  }
}

TEST_F(ToolFormTest, TheTextForATemplateWithoutToolsShowsACallThatIsRead) {
  for (const test::NamedForm& each : test::call_forms()) {
    SCOPED_TRACE(each.name);
    const std::string text = described_tools(R"([{"name":"add"}])", each.form);
    EXPECT_NE(text.find("<tools>\n[{\"name\":\"add\"}]\n</tools>"), std::string::npos) << text;
    // With real parts in place of those in angle brackets.
    std::string call = detail::sample_call(each.form);
    EXPECT_NE(text.find(call), std::string::npos) << text;
    const auto replace = [&](const std::string& from, const std::string& to) {
      const std::size_t at = call.find(from);
      if (at != std::string::npos) call.replace(at, from.size(), to);
    };
    replace("<name>", each.form.kind == CallForm::Kind::Json ? "\"add\"" : "add");
    replace("<object>", R"({"a":"1"})");
    replace("<argument>", "a");
    replace("<value>", "1");
    if (each.form.begins_in_thought) call = "</think>" + call;
    const WrittenAnswer read = AnswerReader(each.form, {"add"}).read(call);
    ASSERT_EQ(read.calls.size(), 1u) << call;
    EXPECT_EQ(read.calls[0].name + read.calls[0].arguments.str(), R"(add{"a":"1"})") << call;
    EXPECT_EQ(read.text, "") << call;
  }
  EXPECT_NE(described_tools("[]", CallForm()).find("<tool_response>"), std::string::npos);
}

}  // namespace
}  // namespace quire
