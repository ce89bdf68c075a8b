#pragma once
// ChatTurn: a conversation in which the model answers next, whatever protocol brought it.
//
// It writes the prompt with the model's own template and queues it in a context, of which each
// answer is a fork: the pass that draws the first token computes the prompt. It takes an answer
// apart into text, thoughts and calls of tools while it comes. A call that the request demands, and
// one of a strict tool, is written under the schema of the tool. So is an answer that has a schema.
// If the model may call tools instead, it first writes freely; what does not fit is then written
// once more under the schema, and the client sees only that.
//
// Errors   those of a request, which name its member; those of the calls.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer_sink.h"
#include "answer_writing.h"
#include "billing_line.h"
#include "cache_use.h"
#include "chat_prompt.h"
#include "drawn_calls.h"
#include "members.h"
#include "offered_tools.h"
#include "prompt_places.h"
#include "prompt_progress.h"
#include "quire/tool.h"
#include "saved_context.h"
#include "shown_tokens.h"

namespace endpoints {

class ChatTurn {
 public:
  // Finds all that is wrong with the request, and computes nothing yet.
  static Task<ChatTurn> begin(ChatPrompt prompt, GenerateOptions options) {
    ChatTurn turn = co_await written(std::move(prompt), std::move(options));
    turn.room_ =
        co_await room_after(turn.prompt_.model, turn.tokens_.size(), turn.prompt_.messages_member);
    co_await turn.check_room_of_call();
    turn.places_ = co_await places_to_mark(turn.prompt_, turn.form_, turn.call_ids_, turn.tokens_);
    co_await turn.compile_grammars();
    co_return turn;
  }
  // Computes the prompt, for several answers: one computes it by itself, in the pass that draws its
  // first token.
  Task<> compute() {
    co_await queue();
    co_await context_.prefill();
    co_await note_use(context_);
  }
  // The same, and awaits report(progress) on the way.
  template <typename Report>
  Task<> compute(Report report) {
    co_await open();
    co_await compute_in_slices(context_, tokens_, places_, opened_count_, std::move(report));
    co_await note_use(context_);
  }
  // How many tokens the prompt has. Nothing is computed.
  static Task<std::size_t> count(ChatPrompt prompt) {
    co_return (co_await written(std::move(prompt), {})).tokens_.size();
  }

  // The prompt as text: exactly what begin() computes, or without the beginning of an answer.
  static Task<std::string> prompt_text(ChatPrompt prompt, bool answer_next) {
    Context context = co_await Context::create(prompt.model);
    ChatTurn turn(std::move(prompt), {}, std::move(context));
    co_await turn.find_form();
    const std::string tools = turn.tools_for_template();
    const ChatPrompt& all = turn.prompt_;
    Result<std::string> text = co_await attempt(
        all.model.apply_chat_template(all.messages, answer_next, tools, all.template_variables));
    if (!text.ok()) co_await fail(blamed(all.messages_member, text.error()));
    co_return std::move(text).take();
  }

  // The conversation after its last turn, without the beginning of an answer.
  static Task<std::vector<std::uint32_t>> conversation_tokens(ChatPrompt prompt) {
    Context context = co_await Context::create(prompt.model);
    ChatTurn turn(std::move(prompt), {}, std::move(context));
    co_await turn.changing_lines();  // They stand after the next turn.
    co_await turn.find_form();
    co_return co_await turn.prompt_tokens(false);
  }
  // The next answer leaves its context for save().
  void keep_answer() { keeps_answer_ = true; }
  // Saves the context that holds `tokens`, with which the next turn of the conversation will begin.
  // They begin like the prompt of this turn, and go on with the kept answer, as far as the template
  // writes that as the model drew it. No answer is asked for after this.
  Task<> save(SavedContext as, SaveOptions options) {
    return save_as(answered_ ? *answered_ : context_, tokens_, std::move(as), options);
  }

  const Usage& usage() const { return usage_; }  // Of the prompt, once that is computed.
  std::uint32_t room() const { return room_; }   // Tokens that fit after the prompt.

  // One answer of at most `token_count_max` tokens, which must fit; each of several has an index.
  Task<ChatAnswer> answer(std::uint32_t index, std::uint32_t token_count_max, bool by_token,
                          AnswerSink& sink) {
    co_await queue();
    const bool demands_call = prompt_.tool_choice == ToolChoice::Required;
    if (!is_computed_ && (demands_call || token_count_max == 0)) co_await compute();
    if (is_computed_) co_await sink.begin(usage_);
    Context context = co_await context_.fork();
    GenerateOptions options = options_;
    options.max_tokens = token_count_max;
    options.seed += index;  // As Context::sample counts.
    ChatAnswer out;
    if (token_count_max == 0) {
      out.finish_reason = FinishReason::Length;
      co_return out;
    }
    if (demands_call) {
      co_await demand_call(out, std::move(context), std::move(options), sink);
      co_return out;
    }
    AnswerWriting writing = co_await generated(out, context, std::move(options), by_token, sink);
    co_await finish(out, writing, token_count_max, sink);
    if (std::exchange(keeps_answer_, false)) answered_ = std::move(context);
    co_return out;
  }

 private:
  ChatTurn(ChatPrompt prompt, GenerateOptions options, Context context)
      : prompt_(std::move(prompt)), options_(std::move(options)), context_(std::move(context)) {
    leave_out_billing_lines(prompt_.messages);
  }

  // ---- the prompt -------------------------------------------------------------------------------

  static Task<ChatTurn> written(ChatPrompt prompt, GenerateOptions options) {
    Context context = co_await Context::create(prompt.model);
    ChatTurn turn(std::move(prompt), std::move(options), std::move(context));
    const std::string moved = co_await turn.changing_lines();
    if (!moved.empty()) turn.prompt_.messages.back().content += "\n" + moved;
    turn.usage_.moved_line_count = repair::lines_of(moved).size();
    co_await turn.find_form();
    turn.tokens_ = co_await turn.prompt_tokens(true);
    turn.usage_.prompt_count = turn.tokens_.size();
    turn.options_.penalty_first = static_cast<std::uint32_t>(turn.tokens_.size());
    co_return turn;
  }

  // The lines that this moved out of the system prompt.
  Task<std::string> changing_lines() {
    const bool has_any = prompt_.is_repaired && !prompt_.messages.empty() &&
                         prompt_.messages.front().role == "system";
    if (!has_any) co_return std::string();
    co_return co_await take_changing_lines(prompt_.messages.front().content);
  }

  // How the model writes calls, if it may write some or earlier turns have.
  Task<> find_form() {
    const auto has_calls = [](const ChatMessage& each) {
      return each.role == "tool" || has_tool_calls(each);
    };
    const bool may_call = prompt_.tool_choice != ToolChoice::None;
    const bool reads_calls = may_call || std::ranges::any_of(prompt_.messages, has_calls);
    if (!reads_calls && !prompt_.separates_thoughts) co_return;
    call_ids_ = DrawnCalls::first_ids(prompt_.messages);
    form_ = co_await find_call_form(prompt_.model, prompt_.template_variables);
    prompt_.messages = co_await written_for(form_, std::move(prompt_.messages));
    if (!may_call) co_return read_thoughts_alone();
    const bool is_strict = std::ranges::any_of(prompt_.tools, &OfferedTool::is_strict);
    const bool needs_schema = is_strict || prompt_.tool_choice == ToolChoice::Required;
    if (form_.kind == CallForm::Kind::NameThenPairs && needs_schema) {
      co_await fail(wrong(is_strict ? "tools" : "tool_choice",
                          "this model writes the arguments of a call one by one, so they cannot be "
                          "kept to a schema: leave out strict, and use the tool_choice auto",
                          ErrorCode::NotSupported));
    }
    std::vector<std::string> names;
    for (const OfferedTool& each : prompt_.tools) names.push_back(each.name);
    reader_.emplace(form_, std::move(names));
    // The mark of a call may be a special token.
    options_.kept_special = co_await tokens_of_marks(prompt_.model, form_);
  }

  // Nothing that the model writes is a call. Those of earlier turns are written already.
  void read_thoughts_alone() {
    if (!prompt_.separates_thoughts) return;
    form_.kind = CallForm::Kind::Json;
    form_.before.clear();
    reader_.emplace(form_, std::vector<std::string>());
    options_.keep_special = true;  // What marks a thought may be a special token.
  }

  // The tools for the template. If it does not support tools, the system turn describes them.
  std::string tools_for_template() {
    if (prompt_.tool_choice == ToolChoice::None) return "";
    if (form_.offers_tools) return prompt_.tool_list;
    tell_in_system_turn(prompt_.messages, described_tools(prompt_.tool_list, form_));
    return "";
  }

  Task<std::vector<std::uint32_t>> prompt_tokens(bool answer_next) {
    const std::string tools = tools_for_template();
    Result<std::vector<std::uint32_t>> tokens = co_await attempt(prompt_.model.tokenize_chat(
        prompt_.messages, answer_next, tools, prompt_.template_variables));
    // A template refuses turns out of order and roles that it does not know.
    if (!tokens.ok()) co_await fail(prompt_error(prompt_.messages_member, tokens.error()));
    template_tokens_ = std::move(tokens).take();
    std::vector<std::uint32_t> all = co_await DrawnCalls::put_back(
        template_tokens_, call_ids_, prompt_.model.info().stop_tokens);
    if (!prompt_.answer_begin.empty()) {
      const std::vector<std::uint32_t> more =
          co_await prompt_.model.tokenize(prompt_.answer_begin, {.parse_special = false});
      all.insert(all.end(), more.begin(), more.end());
    }
    co_return all;
  }

  // A call that is demanded begins with tokens that this server writes.
  Task<> check_room_of_call() {
    if (prompt_.tool_choice != ToolChoice::Required) co_return;
    const auto bytes_of_call = [&](const OfferedTool& each) {
      return call_begin(form_).size() + each.name.size() + after_name(form_).size();
    };
    std::size_t count_max = 0;
    for (const OfferedTool& each : prompt_.tools) {
      // A token has at least a byte.
      if (bytes_of_call(each) < room_) continue;
      const std::vector<std::uint32_t> begin =
          co_await prompt_.model.tokenize(call_begin(form_), {.parse_special = true});
      const std::vector<std::uint32_t> rest =
          co_await prompt_.model.tokenize(each.name + after_name(form_), {.parse_special = true});
      count_max = std::max(count_max, begin.size() + rest.size());
    }
    co_await room_after(prompt_.model, tokens_.size() + count_max, prompt_.messages_member);
  }

  Task<> queue() {
    if (is_queued_) co_return;
    co_await open();
    co_await quire::detail::append_marked(context_, tokens_, opened_count_, places_);
  }
  // Everything before the first token is queued.
  Task<> open() {
    is_queued_ = true;
    if (std::optional<OpenedContext> opened = co_await open_saved(prompt_, tokens_)) {
      context_ = std::move(opened->context);
      found_before_ = opened->found_count;
    }
    opened_count_ = context_.token_count();
    if (prompt_.keep.count() > 0) co_await context_.hint(ContextHint::Keep, prompt_.keep);
  }
  // `context` has computed the prompt.
  Task<> note_use(const Context& context) {
    is_computed_ = true;
    // Fewer than before, where recurrent layers wanted opened tokens computed again.
    const std::int64_t found = std::int64_t{context.found_token_count()} - found_before_;
    usage_.cached_count = std::clamp<std::int64_t>(opened_count_ + found, 0, std::ssize(tokens_));
    usage_.misses = co_await explained_misses(prompt_.model);
  }

  // ---- an answer --------------------------------------------------------------------------------

  // An answer of which nothing is written yet.
  AnswerWriting begun_writing(bool by_token) const {
    if (!reader_) return AnswerWriting(std::nullopt, {});
    AnswerWriting::Options options{.holds_text = static_cast<bool>(schema_grammar_),
                                   .holds_calls = by_token || schema_grammar_,
                                   .is_parallel = prompt_.parallel_tool_calls};
    for (const OfferedTool& each : prompt_.tools) {
      if (each.is_strict) options.strict_tools.push_back(each.name);
    }
    const auto type_of = [this](std::string_view tool, std::string_view argument) {
      return argument_type(prompt_.tools, tool, argument);
    };
    return AnswerWriting(AnswerStream(*reader_, type_of), std::move(options));
  }

  // `tokens` are those of the text; the first one comes with it.
  Task<> show(ChatAnswer& out, std::vector<AnswerEvent> events, AnswerSink& sink,
              std::vector<ShownTokens::Token> tokens = {}) {
    std::size_t shown_count = 0;
    for (AnswerEvent& each : events) {
      const bool has_token = each.kind == AnswerEvent::Kind::Text && shown_count < tokens.size();
      const Piece* token = has_token ? &tokens[shown_count++].piece : nullptr;
      co_await show(out, std::move(each), token, sink);
    }
    for (; shown_count < tokens.size(); ++shown_count) {
      co_await sink.text("", &tokens[shown_count].piece);
    }
  }
  Task<> show(ChatAnswer& out, AnswerEvent event, const Piece* token, AnswerSink& sink) {
    const bool is_end = event.kind == AnswerEvent::Kind::CallEnd;
    if (event.text.empty() && token == nullptr && !is_end) co_return;
    switch (event.kind) {
      case AnswerEvent::Kind::Text:
        out.text += event.text;
        co_return co_await sink.text(std::move(event.text), token);
      case AnswerEvent::Kind::Reasoning:
        out.reasoning += event.text;
        co_return co_await sink.reasoning(std::move(event.text));
      case AnswerEvent::Kind::CallBegin:
        out.calls.push_back(begun_call(out, event.text));
        co_return co_await sink.begin_call(out.calls.size() - 1, out.calls.back());
      case AnswerEvent::Kind::Arguments:
        out.calls.back().arguments += event.text;
        co_return co_await sink.arguments(out.calls.size() - 1, std::move(event.text));
      case AnswerEvent::Kind::CallEnd:
        out.is_cut_in_call = event.is_cut;
    }
  }
  AnswerCall begun_call(const ChatAnswer& out, const std::string& name) const {
    AnswerCall call{.id = id_of(out.seed, out.calls.size()), .name = name, .arguments = {}};
    const auto tool = std::ranges::find(prompt_.tools, name, &OfferedTool::name);
    if (tool != prompt_.tools.end()) call.namespace_bytes = tool->namespace_bytes;
    return call;
  }

  // `context` has drawn a token of the answer.
  Task<> begin_answer(const Context& context, AnswerSink& sink) {
    if (is_computed_) co_return;  // Perhaps by an earlier answer: the sink has the usage already.
    co_await note_use(context);
    co_await sink.begin(usage_);
  }

  // Lets the model write. Returns what of it is left to do at the end.
  Task<AnswerWriting> generated(ChatAnswer& out, Context& context, GenerateOptions options,
                                bool by_token, AnswerSink& sink) {
    AnswerWriting shown = begun_writing(by_token);
    out.seed = options.seed;
    Generation generation;
    if (by_token || prompt_.thought_count_max) {
      generation =
          co_await written_by_token(out, shown, context, std::move(options), by_token, sink);
    } else {
      generation = co_await context.generate(std::move(options))
                       .stream([&](std::string_view piece) -> Task<> {
                         co_await begin_answer(context, sink);
                         co_await show(out, shown.next(piece), sink);
                       });
    }
    co_await begin_answer(context, sink);  // It may have no text at all.
    out.tokens = std::move(generation.tokens);
    out.finish_reason = generation.finish_reason;
    co_return shown;
  }

  // The same, one token after the other: the sink gets them if it `wants_tokens`, and thoughts that reach
  // their limit are ended.
  Task<Generation> written_by_token(ChatAnswer& out, AnswerWriting& shown, Context& context,
                                    GenerateOptions options, bool wants_tokens, AnswerSink& sink) {
    Generation all;
    std::uint64_t thought_count = 0;
    ShownTokens tokens(options.stop);
    for (bool goes_on = true; goes_on;) {
      Generator generator = context.generate(options);
      bool ends_thought = false;
      std::size_t count = 0;
      while (!ends_thought) {
        const std::optional<Piece> piece = co_await generator.next();
        if (!piece) break;
        co_await begin_answer(context, sink);
        // The last piece may bring only text that was held back, and no token of the answer.
        const bool is_token = generator.answer().tokens.size() > count;
        count = generator.answer().tokens.size();
        const bool was_in_thought = shown.is_in_thought();
        std::vector<AnswerEvent> more = shown.next(piece->text);
        const bool is_in_thought = shown.is_in_thought();
        if (is_token && is_in_thought) ++thought_count;
        ends_thought = is_in_thought && prompt_.thought_count_max &&
                       thought_count >= *prompt_.thought_count_max;
        // Tokens of a thought are not tokens of the text.
        const bool is_noted = wants_tokens && is_token && !was_in_thought && !is_in_thought;
        if (is_token && wants_tokens) {
          const std::vector<std::uint32_t> one(1, piece->token);
          const std::string bytes = co_await prompt_.model.detokenize(one, options.keep_special);
          is_noted ? tokens.draw(*piece, bytes) : tokens.pass(bytes);
        }
        co_await show(out, std::move(more), sink, tokens.show(piece->text));
      }
      if (ends_thought) co_await generator.end();
      const Generation& part = generator.answer();
      all.tokens.insert(all.tokens.end(), part.tokens.begin(), part.tokens.end());
      all.finish_reason = part.finish_reason;
      options.max_tokens -= std::min<std::uint32_t>(options.max_tokens,
                                                    static_cast<std::uint32_t>(part.tokens.size()));
      goes_on = ends_thought && options.max_tokens > 0;
      if (!ends_thought) continue;
      const Result<void> ended = co_await attempt(context.append_text(form_.think_end));
      goes_on = goes_on && ended.ok();
      if (!goes_on) all.finish_reason = FinishReason::Length;  // Or the context is full.
      co_await show(out, shown.next(form_.think_end), sink);
      tokens.pass(form_.think_end);
      tokens.show(form_.think_end);
    }
    co_await show(out, {}, sink, tokens.finish(all.finish_reason));
    co_return all;
  }
  // Gives the sink what it does not have yet: the end of the answer, and what was held.
  Task<> finish(ChatAnswer& out, AnswerWriting& writing, std::uint32_t token_count_max,
                AnswerSink& sink) {
    co_await show(out, writing.finish(), sink);
    std::string text = writing.take_held_text();
    if (schema_grammar_ && writing.has_calls()) {  // A turn that calls gives no answer.
      if (!out.reasoning.empty() && !text.empty()) text.insert(0, "\n");
      co_await show(out, {AnswerEvent::Kind::Reasoning, std::move(text)}, nullptr, sink);
    } else if (schema_grammar_ && reader_) {
      text = co_await fitting_text(std::move(text), out.seed, token_count_max, out);
      co_await show(out, {AnswerEvent::Kind::Text, std::move(text)}, nullptr, sink);
    }
    const std::size_t drawn_count = out.tokens.size();
    std::optional<AnswerEvent> arguments;  // Of a strict call.
    for (AnswerEvent& each : writing.take_held()) {
      if (each.kind == AnswerEvent::Kind::CallBegin) {
        if (out.is_cut_in_call) break;
        if (is_strict(each.text)) arguments.emplace(AnswerEvent::Kind::Arguments);
      } else if (arguments && each.kind == AnswerEvent::Kind::Arguments) {
        arguments->text += each.text;
        continue;
      } else if (arguments && each.kind == AnswerEvent::Kind::CallEnd) {
        arguments->is_cut = each.is_cut;
        co_await end_strict_call(out, *std::exchange(arguments, {}), token_count_max, sink);
        continue;
      }
      co_await show(out, std::move(each), nullptr, sink);
    }
    if (writing.keeps_calls() && out.tokens.size() == drawn_count) {
      co_await DrawnCalls::keep(prompt_, form_, template_tokens_, out);
    }
  }
  bool is_strict(std::string_view name) const {
    const auto tool = std::ranges::find(prompt_.tools, name, &OfferedTool::name);
    return tool != prompt_.tools.end() && tool->is_strict;
  }
  // The last call of `out` has `arguments`, which its schema may not allow.
  Task<> end_strict_call(ChatAnswer& out, AnswerEvent arguments, std::uint32_t token_count_max,
                         AnswerSink& sink) {
    const auto tool = std::ranges::find(prompt_.tools, out.calls.back().name, &OfferedTool::name);
    const auto count = static_cast<std::uint32_t>(out.tokens.size());
    const std::uint32_t rest_max = std::max(token_count_max, count + 1) - count;
    out.is_cut_in_call = arguments.is_cut && out.finish_reason == FinishReason::Length;
    if (!out.is_cut_in_call) {
      arguments.text =
          co_await strict_arguments(*tool, std::move(arguments.text), out.seed, rest_max, out);
    }
    co_await show(out, std::move(arguments), nullptr, sink);
  }

  // A function of the request and the seed, so that the same request gets the same bytes. Some
  // templates want ids of nine letters and digits.
  std::string id_of(std::uint64_t seed, std::size_t number) const {
    constexpr std::size_t kIdBytes = 9;
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325u;  // FNV-1a.
    const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100'0000'01b3u; };
    for (const std::uint32_t each : tokens_) mix(each);
    mix(seed);
    mix(number);
    return id_text(hash, kIdBytes);
  }

  // ---- what is written under a schema -----------------------------------------------------------

  // All that the answers may need, so that a schema that is wrong is found before they begin.
  Task<> compile_grammars() {
    if (!prompt_.schema.empty()) {
      schema_grammar_ = co_await grammar_of(prompt_.schema, prompt_.schema_member);
      if (!reader_) options_.grammar = schema_grammar_;
    }
    for (const OfferedTool& each : prompt_.tools) {
      const bool is_needed = each.is_strict || prompt_.tool_choice == ToolChoice::Required;
      const bool may_call = prompt_.tool_choice != ToolChoice::None;
      tool_grammars_.push_back(is_needed && may_call ? co_await grammar_of(each.schema, "tools")
                                                     : Grammar());
    }
  }
  const Grammar& grammar_of_tool(const OfferedTool& tool) const {
    return tool_grammars_[static_cast<std::size_t>(&tool - prompt_.tools.data())];
  }

  Task<Grammar> grammar_of(std::string schema, std::string member) {
    Result<Grammar> grammar = co_await attempt(Grammar::json_schema(prompt_.model, schema));
    if (!grammar.ok()) co_await fail(blamed(member, grammar.error()));
    co_return std::move(grammar).take();
  }

  // The model chooses among the names of the tools, then writes the arguments under their schema.
  Task<> demand_call(ChatAnswer& out, Context context, GenerateOptions options, AnswerSink& sink) {
    std::vector<std::string> names;
    for (const OfferedTool& each : prompt_.tools) names.push_back(each.name);
    co_await context.append_text(call_begin(form_));
    const std::size_t chosen = names.size() > 1 ? (co_await context.choose(names)).index : 0;
    const OfferedTool& tool = prompt_.tools[chosen];
    AnswerCall call{.id = id_of(options.seed, 0),
                    .name = tool.name,
                    .arguments = {},
                    .namespace_bytes = tool.namespace_bytes};
    co_await sink.begin_call(0, call);
    const auto show = [&sink](std::string_view more) {
      return sink.arguments(0, std::string(more));
    };
    Generation written =
        co_await write_arguments(tool, std::move(context), std::move(options), show);
    out.tokens = std::move(written.tokens);
    out.finish_reason = written.finish_reason;
    out.is_cut_in_call = !Json::parse(written.text).ok();
    call.arguments = std::move(written.text);
    out.calls.push_back(std::move(call));
  }

  // `context` ends where the name of the tool begins.
  template <typename Show>
  Task<Generation> write_arguments(const OfferedTool& tool, Context context,
                                   GenerateOptions options, Show show) {
    co_await context.append_text(tool.name + after_name(form_));
    options.grammar = grammar_of_tool(tool);
    options.kept_special.clear();
    options.stop.clear();  // A string among the arguments may contain one.
    co_return co_await context.generate(std::move(options)).stream(show);
  }

  // Whether `text` is an instance of the schema of the grammar. What cannot be asked about does not fit.
  Task<bool> fits(Grammar grammar, std::string text) {
    const Result<bool> asked = co_await attempt(grammar.fits(text));
    if (asked.ok()) co_return asked.value();
    const ErrorCode code = asked.error().code;
    if (code != ErrorCode::TooLarge && code != ErrorCode::Timeout) co_await fail(asked.error());
    co_return false;
  }

  // `text` if the schema of the answer allows it; else an answer that the model writes under it, in
  // place of the first one.
  Task<std::string> fitting_text(std::string text, std::uint64_t seed,
                                 std::uint32_t token_count_max, ChatAnswer& out) {
    if (co_await fits(schema_grammar_, text)) co_return text;
    Context context = co_await context_.fork();
    GenerateOptions options = options_;
    options.grammar = schema_grammar_;
    options.kept_special.clear();
    options.seed = seed;
    options.max_tokens = token_count_max;
    Generation written = co_await context.generate(std::move(options));
    // The tokens of the first answer were computed too, so they count.
    out.tokens.insert(out.tokens.end(), written.tokens.begin(), written.tokens.end());
    out.finish_reason = written.finish_reason;
    co_return written.text;
  }

  // `text` if the schema of the tool allows it; else arguments that the model writes under it.
  Task<std::string> strict_arguments(const OfferedTool& tool, std::string text, std::uint64_t seed,
                                     std::uint32_t token_count_max, ChatAnswer& out) {
    if (co_await fits(grammar_of_tool(tool), text)) co_return text;
    Context context = co_await context_.fork();
    co_await context.append_text(call_begin(form_));
    GenerateOptions options = options_;
    options.seed = seed;
    options.max_tokens = token_count_max;
    const Generation written = co_await write_arguments(
        tool, std::move(context), std::move(options), [](std::string_view) {});
    out.tokens.insert(out.tokens.end(), written.tokens.begin(), written.tokens.end());
    out.is_cut_in_call = out.is_cut_in_call || !Json::parse(written.text).ok();
    co_return written.text;
  }

  ChatPrompt prompt_;
  GenerateOptions options_;
  Context context_;
  std::vector<std::uint32_t> tokens_;           // Of the prompt.
  std::vector<std::size_t> places_;             // Among tokens_, to be marked.
  std::vector<std::uint32_t> template_tokens_;  // Without those that DrawnCalls put back.
  std::vector<std::string> call_ids_;           // Of earlier turns.
  std::uint32_t room_ = 0;
  bool is_queued_ = false;          // The prompt, in context_.
  std::uint32_t opened_count_ = 0;  // Tokens that a saved context gave,
  std::uint32_t found_before_ = 0;  // and those that it had found.
  bool is_computed_ = false;        // The prompt, here or in the fork of an answer.
  bool keeps_answer_ = false;
  std::optional<Context> answered_;  // The fork of the answer that was kept.
  CallForm form_;
  std::optional<AnswerReader> reader_;  // None: the model may not call tools.
  Grammar schema_grammar_;              // None: the answer is any text.
  std::vector<Grammar> tool_grammars_;  // Of each tool, if one of its calls may need it.
  Usage usage_;
};

}  // namespace endpoints
