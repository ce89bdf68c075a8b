#pragma once
// Tool: a function that the model may call; Tools: the loop in which it does.
//
//   Tool clock{
//       .name = "clock",
//       .description = "The time of day in a city.",
//       .schema = R"({"type": "object", "properties": {"city": {"type": "string"}},
//                     "required": ["city"]})",
//       .run = [](Json arguments) -> Task<std::string> { co_return time_in(arguments.text("city")); },
//   };
//   Context context = co_await Context::create();
//   const Tools tools = co_await Tools::offer(context, {clock});
//   context.user("How late is it in Lima?");
//   const ToolAnswer answer = co_await tools.answer(context, {.max_tokens = 512}, session::send);
//
// The model's own template describes the tools and writes the turns; tool_form.h finds how the model
// writes a call, tool_calls.h takes its text apart. Calls of one turn run side by side. All turns stay
// in the one context, so each costs its own tokens only.
//
// A call that fails is an answer too: the model reads "error: " with the reason, and can do better.
// This holds for a call that cannot be read, an unknown tool, and arguments that do not fit the
// schema. It also holds for a tool that ends in an Error, or is dropped after time_max. A result of
// more than result_bytes_max is cut, and says so. `observe` sees every run, with its Error.
//
// Errors   offer: invalid-argument for a name or a schema that cannot be used. answer: out-of-range
//          when the model still calls tools after rounds_max turns, or a call was cut at
//          max_tokens. Also out-of-range when one turn has more than calls_max calls (none of them
//          runs). With ends_at_error: the first Error of a tool.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/call_form.h"
#include "quire/context.h"
#include "quire/future.h"
#include "quire/generate.h"
#include "quire/json.h"
#include "quire/task.h"
#include "quire/tool_calls.h"
#include "quire/tool_form.h"
#include "quire/utf8.h"

namespace quire {

struct Tool {
  std::string name;         // Letters, digits, '_' and '-'.
  std::string description;  // For the model: what the tool does, and when to call it.
  std::string schema;       // JSON schema of the arguments, an object.
  std::function<Task<std::string>(Json)> run;
};

// A call, and what came of it.
struct ToolRun {
  ToolCall call;
  Result<std::string> result;
  std::size_t result_bytes = 0;  // Before it was cut.
};

struct ToolOptions {
  std::uint32_t rounds_max = 8;                                  // Turns of the model.
  std::uint32_t calls_max = 16;                                  // Of one turn.
  bool one_call_a_turn = false;                                  // A turn ends with its first call.
  std::chrono::nanoseconds time_max = std::chrono::seconds(30);  // Of a call.
  std::size_t result_bytes_max = 16'384;                         // That the model reads.
  bool ends_at_error = false;                        // An Error of a tool is the program's.
  std::function<void(const ToolRun&)> observe = {};  // Sees each run when it is done.
};

struct ToolAnswer {
  std::string text;
  std::string reasoning;  // Of all turns.
  std::vector<ToolRun> runs;
  FinishReason finish_reason = FinishReason::Running;  // Of the last turn.
};

namespace detail {

inline bool has_type(const Json& value, std::string_view type) {
  if (type == "string") return value.is_text();
  if (type == "number") return value.is_number();
  if (type == "integer") {
    const Result<double> number = value.number(0.5);
    // A whole number may have more digits than a double; a fraction has a point or an exponent.
    return number.ok() ? std::trunc(number.value()) == number.value()
                       : value.digits().find_first_of(".eE") == std::string_view::npos;
  }
  if (type == "boolean") return value.kind() == Json::Kind::Boolean;
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "null") return value.is_null();
  return true;
}

// The arguments as their schema wants them: those required are there, and each has its type. The
// rest of the schema is for the tool to check.
inline Result<Json> fitted(const Json& arguments, const Json& schema) {
  const auto wrong = [](std::string_view name, std::string_view why) {
    return Error{ErrorCode::InvalidArgument,
                 "the argument " + json_string(name) + " " + std::string(why)};
  };
  for (const Json& each : schema["required"].items()) {
    if (!arguments.has(each.text())) return wrong(each.text(), "is missing");
  }
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, given] : arguments.members()) {
    const Json property = schema["properties"][name];
    const std::string_view type = property.text("type");
    const Json value = of_type(given, type);
    if (!has_type(value, type)) return wrong(name, "must be of type " + std::string(type));
    json.key(name).raw(value.str());
  }
  return Json::parse_in_place(json.end_object().str());
}

}  // namespace detail

class Tools {
 public:
  // Describes the tools to the model in `context`.
  static Task<Tools> offer(Context& context, std::vector<Tool> tools, ToolOptions options = {}) {
    std::vector<std::string> names;
    std::vector<Json> schemas;
    for (const Tool& each : tools) {
      schemas.push_back(co_await checked_schema(each));
      names.push_back(each.name);
    }
    const CallForm form = co_await find_call_form(context.model());
    Tools out(std::move(tools), std::move(options), form, AnswerReader(form, std::move(names)));
    out.schemas_ = std::move(schemas);
    form.offers_tools ? context.offer_tools(out.listed())
                      : context.system(described_tools(out.listed(), form));
    co_return out;
  }

  // Lets the model go on, and runs what it calls, until it answers. `show` gets the text of each turn
  // as it comes, without calls and thoughts: a function as for Generator::stream.
  template <typename Show>
  Task<ToolAnswer> answer(Context& context, GenerateOptions generate, Show show) const {
    const Tools self = *this;  // Lives as long as the task.
    // What marks a call may be special tokens.
    generate.kept_special = co_await tokens_of_marks(context.model(), self.form_);
    ToolAnswer out;
    for (std::uint32_t round = 0; round < self.options_.rounds_max; ++round, ++generate.seed) {
      if (!out.text.empty()) co_await detail::show_text(show, "\n");
      const WrittenAnswer turn = co_await self.take_turn(context, generate, show, out);
      if (turn.calls.empty()) co_return out;
      if (turn.calls.size() > self.options_.calls_max) {
        co_await fail(ErrorCode::OutOfRange, "the model calls tools " +
                                                 std::to_string(turn.calls.size()) +
                                                 " times in one turn, and calls_max allows " +
                                                 std::to_string(self.options_.calls_max));
      }
      const auto unreadable = std::ranges::find_if(turn.calls, [](const ToolCall& each) {
        return each.name.empty();  // The call is not known even by its name.
      });
      if (unreadable == turn.calls.end()) {
        co_await self.run_calls(context, turn, out);
      } else if (out.finish_reason == FinishReason::Length) {
        co_await fail(ErrorCode::OutOfRange, "a call of a tool was cut at max_tokens (" +
                                                 std::to_string(generate.max_tokens) +
                                                 "): " + unreadable->fault);
      } else {
        context.user("error: the call cannot be read: " + unreadable->fault +
                     ". A call is written as\n" + detail::sample_call(self.form_));
      }
    }
    co_await fail(ErrorCode::OutOfRange, "the model still calls tools after " +
                                             std::to_string(self.options_.rounds_max) +
                                             " turns (rounds_max)");
  }
  Task<ToolAnswer> answer(Context& context, GenerateOptions generate = {}) const {
    return answer(context, std::move(generate), [](std::string_view) {});
  }

  // Adds a turn to the conversation in which the model thinks, calls a tool and gets `result`:
  // small models follow an example if they do not follow instructions.
  Task<> show(Context& context, std::string thought, std::string name, std::string arguments,
              std::string result) const {
    const Tools self = *this;  // Lives as long as the task.
    ToolRun run{{std::move(name), co_await Json::parse(arguments)}, std::move(result)};
    WrittenAnswer turn;
    turn.text = thought;
    turn.calls.push_back(run.call);
    thought += '\n' + written_call(self.form_, run.call.name, run.call.arguments);
    const std::size_t number = kShownFirst + context.messages().size();
    context.add(self.message_of(turn, thought, number));
    self.add_results(context, {&run, 1}, number);
  }

  const CallForm& form() const QUIRE_LIFETIME_BOUND { return form_; }

 private:
  Tools(std::vector<Tool> tools, ToolOptions options, CallForm form, AnswerReader reader)
      : tools_(std::move(tools)),
        options_(std::move(options)),
        form_(std::move(form)),
        reader_(std::move(reader)) {}

  static Result<Json> checked_schema(const Tool& tool) {
    const bool is_named = !tool.name.empty() && std::ranges::all_of(tool.name, [](char each) {
      return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || each == '-';
    });
    if (!is_named || !tool.run) {
      return Error{ErrorCode::InvalidArgument,
                   "a tool has a function, and a name of letters, digits, '_' and '-', not " +
                       json_string(tool.name)};
    }
    Result<Json> schema = Json::parse(tool.schema);
    if (!schema.ok() || !schema.value().is_object()) {
      return Error{ErrorCode::InvalidArgument,
                   "the schema of the tool " + tool.name + " must be a JSON object" +
                       (schema.ok() ? "" : ": " + schema.error().message)};
    }
    return schema;
  }

  // As templates want them.
  std::string listed() const {
    JsonWriter json;
    json.begin_array();
    for (const Tool& each : tools_) {
      json.begin_object().key("type").text("function").key("function").begin_object();
      json.key("name").text(each.name).key("description").text(each.description);
      json.key("parameters").raw(each.schema).end_object().end_object();
    }
    return json.end_array().str();
  }
  // One turn of the model, which the context has then as its template writes it.
  template <typename Show>
  Task<WrittenAnswer> take_turn(Context& context, GenerateOptions generate, Show& show,
                                ToolAnswer& out) const {
    std::string written;
    std::string shown;
    const auto take = [&](std::string_view piece) -> Task<> {
      written += piece;
      const std::string visible = reader_.shown(written);
      if (!visible.starts_with(shown)) co_return;
      const std::string more = visible.substr(shown.size());
      shown = visible;
      co_await detail::show_text(show, more);
    };
    Generator generator = context.generate(std::move(generate));
    Generation generation;
    if (options_.one_call_a_turn) {
      while (const std::optional<Piece> piece = co_await generator.next()) {
        co_await take(piece->text);
        if (reader_.has_call(written)) co_await generator.end();
      }
      generation = generator.answer();
    } else {
      generation = co_await std::move(generator).stream(take);
    }
    WrittenAnswer turn = reader_.read(generation.text);
    if (turn.text.starts_with(shown)) {
      co_await detail::show_text(show, std::string_view(turn.text).substr(shown.size()));
    }
    out.finish_reason = generation.finish_reason;
    out.text = turn.text;
    if (!out.reasoning.empty() && !turn.reasoning.empty()) out.reasoning += '\n';
    out.reasoning += turn.reasoning;
    if (std::ranges::all_of(turn.calls, [](const ToolCall& each) { return !each.name.empty(); })) {
      // A call that is cut, or not in the form, would be an example for the next ones.
      const bool rewrites = generation.finish_reason == FinishReason::Stopped || !turn.is_in_form;
      context.amend_answer(message_of(turn, generation.text, out.runs.size()),
                           rewrites && form_.shows_calls);
    }
    co_return turn;
  }

  static constexpr std::size_t kShownFirst = 50'000;  // Ids of calls that only show.

  // Some templates want ids of nine letters and digits.
  static std::string id_of(std::size_t number) {
    const std::string digits = std::to_string(number);
    return "call" + std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
  }

  ChatMessage message_of(const WrittenAnswer& turn, const std::string& written,
                         std::size_t first_number) const {
    if (!form_.shows_calls) return {"assistant", written};
    JsonWriter json;
    json.begin_object();  // Of which the template gets the members.
    if (!turn.reasoning.empty()) json.key("reasoning_content").text(turn.reasoning);
    if (!turn.calls.empty()) {
      json.key("tool_calls").begin_array();
      for (const ToolCall& each : turn.calls) {
        json.begin_object().key("id").text(id_of(first_number++)).key("type").text("function");
        json.key("function").begin_object().key("name").text(each.name).key("arguments");
        const std::string arguments = each.arguments.is_object() ? each.arguments.str() : "{}";
        form_.takes_text_arguments ? json.text(arguments) : json.raw(arguments);
        json.end_object().end_object();
      }
      json.end_array();
    }
    const std::string more = json.end_object().str();
    return {"assistant", turn.text, more.substr(1, more.size() - 2)};
  }

  // Runs the calls of a turn side by side, and gives the model what came of them.
  Task<> run_calls(Context& context, const WrittenAnswer& turn, ToolAnswer& out) const {
    std::vector<Task<ToolRun>> tasks;
    for (const ToolCall& each : turn.calls) tasks.push_back(run_call(each));
    std::vector<ToolRun> runs = co_await gather(std::move(tasks));
    for (const ToolRun& each : runs) {
      if (options_.observe) options_.observe(each);
      if (!each.result.ok() && options_.ends_at_error) co_await fail(each.result.error());
    }
    add_results(context, runs, out.runs.size());
    std::ranges::move(runs, std::back_inserter(out.runs));
  }

  // The turns after one with calls, whose ids begin with `number`.
  void add_results(Context& context, std::span<const ToolRun> runs, std::size_t number) const {
    std::string responses;
    for (const ToolRun& each : runs) {
      const std::string text =
          each.result.ok() ? each.result.value() : "error: " + each.result.error().text();
      if (form_.shows_calls && form_.shows_results) {
        context.add({"tool", text,
                     "\"name\":" + json_string(each.call.name) + ",\"tool_call_id\":\"" +
                         id_of(number++) + '"'});
      } else {
        responses += "<tool_response>\n" + text + "\n</tool_response>\n";
      }
    }
    if (!responses.empty()) context.user(detail::trimmed(responses));
  }

  Task<ToolRun> run_call(ToolCall call) const {
    ToolRun run{std::move(call), std::string()};
    run.result = co_await attempt(with_timeout(result_of(run.call), options_.time_max));
    if (!run.result.ok()) {
      if (run.result.error().code == ErrorCode::Timeout) {
        run.result = Error{ErrorCode::Timeout, "the tool " + run.call.name + " took more than " +
                                                   json_number(seconds()) + " s"};
      }
      co_return run;
    }
    std::string& text = run.result.value();
    run.result_bytes = text.size();
    text = valid_utf8(std::string_view(text).substr(0, options_.result_bytes_max));
    if (run.result_bytes > options_.result_bytes_max) {
      text += "\n[cut: the first " + std::to_string(options_.result_bytes_max) + " of " +
              std::to_string(run.result_bytes) + " bytes]";
    }
    co_return run;
  }
  double seconds() const { return std::chrono::duration<double>(options_.time_max).count(); }

  Task<std::string> result_of(ToolCall call) const {
    std::size_t at = 0;
    while (at < tools_.size() && tools_[at].name != call.name) ++at;
    if (at == tools_.size()) {
      std::string names;
      for (const Tool& each : tools_) names += (names.empty() ? "" : ", ") + each.name;
      co_await fail(ErrorCode::NotFound,
                    "there is no tool " + json_string(call.name) + "; there are: " + names);
    }
    if (!call.fault.empty()) co_await fail(ErrorCode::InvalidArgument, call.fault);
    Json arguments = co_await detail::fitted(call.arguments, schemas_[at]);
    co_return co_await tools_[at].run(std::move(arguments));
  }

  std::vector<Tool> tools_;
  std::vector<Json> schemas_;
  ToolOptions options_;
  CallForm form_;
  AnswerReader reader_;
};

}  // namespace quire
