// conversation: each --say is a turn. If the conversation has a name, it is saved after each answer. The
// program sends a line of JSON for each turn, after the save.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string name;
  std::string system;
  std::vector<std::string> say;
  bool looks = false;
  std::uint32_t rounds = 1;
  std::uint32_t max_tokens = 12;

  void read(OptionReader& in) {
    in.text("name", name,
            "Open the conversation of this name, or begin it; empty: nothing is kept");
    in.text("system", system, "Instructions, where it begins");
    in.texts("say", say, "A turn");
    in.flag("look", looks, "Send what is there, and say nothing");
    in.number("rounds", rounds, "How often all of it is said", {1, 1000});
    in.number("max-tokens", max_tokens, "Tokens of an answer", {1, 512});
  }
};

Task<> send_state(const Context& context, std::size_t opened_count, std::string_view answer,
                  std::span<const std::uint32_t> prompt) {
  JsonWriter json;
  json.begin_object().key("opened_tokens").number(opened_count);
  json.key("found").number(context.found_token_count());
  json.key("messages").begin_array();
  for (const ChatMessage& each : context.messages()) {
    json.begin_object().key("role").text(each.role).key("content").text(each.content).end_object();
  }
  json.end_array().key("answer").text(answer);
  json.key("prompt").number_array(prompt).key("tokens").number_array(context.tokens());
  co_await session::send(std::move(json.end_object()).str() + "\n");
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  Context context = options.name.empty() ? co_await Context::create(model)
                                         : co_await Context::open_or_create(model, options.name);
  const std::size_t opened_count = context.token_count();
  if (options.looks) co_return co_await send_state(context, opened_count, "", {});
  if (context.messages().empty() && !options.system.empty()) context.system(options.system);
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (const std::string& each : options.say) {
      context.user(each);
      co_await context.prefill();
      const std::vector<std::uint32_t> prompt = context.tokens();
      const Generation answer =
          co_await context.generate({.max_tokens = options.max_tokens}).collect();
      if (!options.name.empty()) co_await context.save(options.name, {.overwrite = true});
      co_await send_state(context, opened_count, answer.text, prompt);
    }
  }
}

QUIRE_MAIN(program)
