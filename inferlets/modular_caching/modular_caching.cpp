// modular_caching: joins a prompt of modules that were computed once each, apart from one another.
#include <bit>

#include "quire/quire.h"

using namespace quire;

struct Options {
  std::vector<std::string> modules = {
      "The museum of Brenn has the oldest clock of the country, which was built in 1410.\n",
      "The market of Tarn is open on Sundays. It sells flowers, cheese and old books.\n"};
  PromptOption question{"\nQuestion: Where is the oldest clock?\nAnswer: The oldest clock is in"};
  GenerateOptions generate = {.max_tokens = 32, .stop = {"\n"}};

  void read(OptionReader& in) {
    in.texts("module", modules, "A part of the prompt; may be given several times");
    question.read(in);
    in.generation(generate);
  }
};

std::uint32_t pages_for(std::size_t token_count, const Model& model) {
  const std::uint32_t page_size = model.info().page_size;
  return static_cast<std::uint32_t>((token_count + page_size - 1) / page_size);
}

// A module is read as if it stood alone. Its pages are exported under a hash of its text.
Task<SharedPages> pages_of(Model model, Queue queue, std::string module) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char each : module) hash = (hash ^ each) * 0x100000001b3;
  const std::string name = "module-" + std::to_string(hash);
  Result<SharedPages> found = co_await attempt(import_kvpage(queue, name));
  if (found.ok() || found.error().code != ErrorCode::NotFound) co_return co_await std::move(found);
  const auto tokens = co_await model.tokenize(module, {.begin_of_text = true});
  const KvPages pages = co_await KvPages::allocate(queue, pages_for(tokens.size(), model));
  co_await co_await forward_tokens(queue, tokens, 0, {.output_pages = pages.handles()});
  const auto left = co_await attempt(export_kvpage(queue, pages.handles(), name));
  // Another run may have been quicker.
  if (!left.ok() && left.error().code != ErrorCode::AlreadyExists) co_await fail(left.error());
  co_return co_await import_kvpage(queue, name);
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  const Queue queue = co_await Queue::create(model);
  std::vector<Task<SharedPages>> asked;
  for (const std::string& each : options.modules) asked.push_back(pages_of(model, queue, each));
  const std::vector<SharedPages> modules = co_await gather(std::move(asked));
  auto tokens = co_await model.tokenize(co_await options.question.text());
  // The question comes after the longest module, and sees all of them.
  const std::size_t most = tokens.size() + options.generate.max_tokens;
  const KvPages own = co_await KvPages::allocate(queue, pages_for(most, model));
  std::vector<std::int32_t> seen = own.handles();
  std::uint32_t position = 0;
  for (const SharedPages& each : modules) {
    std::uint32_t length = 0;
    for (const PageUse& use : each.uses) length += std::popcount(use.written);
    position = std::max(position, length);
    seen.insert(seen.end(), each.pages.handles().begin(), each.pages.handles().end());
  }
  const Embeds output = co_await Embeds::allocate(queue, 1);
  const ForwardArguments arguments = {
      .input_pages = seen, .output_pages = own.handles(), .output_embeds = output.handles()};
  Drawer drawer(options.generate.rule(), options.generate.seed);
  StopRules rules(options.generate.stop_options(model.info()));
  double nats = 0.0;
  while (!rules.ended()) {
    Future<void> passed = co_await forward_tokens(queue, tokens, position, arguments);
    const Draws next = co_await draw_tokens(model, queue, output.handles(), drawer);
    co_await std::move(passed);
    position += tokens.size();
    tokens.assign(1, next.tokens.at(0).token);
    nats += next.tokens.at(0).log_probability();
    if (!rules.accept_token(tokens[0])) break;
    co_await session::send(rules.accept_bytes(co_await model.detokenize(tokens)));
  }
  co_await session::send(rules.finish() + "\n[" + std::to_string(nats) + " nats]\n");
}

QUIRE_MAIN(program)
