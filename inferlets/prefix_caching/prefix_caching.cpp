// prefix_caching: computes a long prefix once, and leaves its pages under a name for later runs.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string prefix =
      "A ticket costs four pounds; children come in free. The tower has 168 steps.\n";
  PromptOption question{"Question: How many steps does the tower have?\nAnswer:"};
  GenerateOptions generate = {.max_tokens = 32, .stop = {"\n"}};

  void read(OptionReader& in) {
    in.text("prefix", prefix, "The text that many runs share");
    question.read(in);
    in.generation(generate);
  }
};

// Equal prefixes have equal names.
std::string name_of(const std::string& prefix) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char each : prefix) hash = (hash ^ each) * 0x100000001b3;
  return "prefix-" + std::to_string(hash);
}

Task<Context> import_prefix(Model model, std::vector<std::uint32_t> tokens, std::string name) {
  Queue queue = co_await Queue::create(model);
  const SharedPages shared = co_await import_kvpage(queue, name);
  co_return co_await Context::from_pages(model, queue, shared.pages.handles(), tokens);
}

Task<Context> export_prefix(Model model, std::vector<std::uint32_t> tokens, std::string name) {
  Context context = co_await Context::create(model);
  co_await context.append(tokens);
  co_await context.flush();
  const SharedPages own = co_await context.pages();
  const auto left = co_await attempt(export_kvpage(context.queue(), own.pages.handles(), name));
  // Another run may have been quicker.
  if (!left.ok() && left.error().code != ErrorCode::AlreadyExists) co_await fail(left.error());
  co_return context;
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  const std::string name = name_of(options.prefix);
  const auto tokens = co_await model.tokenize(options.prefix, {.begin_of_text = true});
  Result<Context> context = co_await attempt(import_prefix(model, tokens, name));
  const bool is_new = !context.ok() && context.error().code == ErrorCode::NotFound;
  if (is_new) context = co_await attempt(export_prefix(model, tokens, name));
  runtime::log(LogLevel::Info, is_new ? "computed the prefix" : "imported the prefix");
  Context answer = co_await std::move(context);
  co_await answer.append_text(co_await options.question.text());
  co_await answer.generate(options.generate).stream(session::send);
}

QUIRE_MAIN(program)
