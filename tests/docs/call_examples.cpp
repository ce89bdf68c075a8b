// Runs the examples of docs/reference, each with its preparations, and reports how each ended: a
// line "interface.call ok" or "interface.call error-code: message".
//
//   call_examples            all of them
//   call_examples --child    the program that an example launches: sends something, and ends a
//                            little later
#include "call_examples.h"

#include <numeric>

namespace {

constexpr std::uint32_t kTokenCount = 20;  // A page of the context, and a part of another.
constexpr std::chrono::milliseconds kPatience(2000);

// Makes the things that an example names, and nothing else.
Task<> set_the_stage(Context& context, const Queue& queue, const KvPages& pages,
                     std::string_view example) {
  const bool wants_export =
      example == "allocate.import-kvpage" || example == "allocate.unexport-kvpage";
  if (wants_export) co_await export_kvpage(queue, pages.handles(), "system prompt");
  co_await context.save("chapter one", {.overwrite = true});
  co_await store::put("count", "1");
  if (example == "messaging.pull") co_await messaging::push("work", "page 1");
}

Task<> clear_the_stage() {
  const std::vector<ExportInfo> exports = co_await list_exports();
  for (const ExportInfo& each : exports) co_await unexport_kvpage(each.name);
}

Task<> run(CallExample example) {
  const Model model = co_await Model::open();
  const Queue queue = co_await Queue::create(model);
  std::vector<std::uint32_t> tokens(kTokenCount);
  std::iota(tokens.begin(), tokens.end(), 5);
  std::vector<std::uint32_t> positions(kTokenCount);
  std::iota(positions.begin(), positions.end(), 0);
  Context context = co_await Context::create(model);
  co_await context.append(tokens);
  co_await context.flush();
  KvPages pages = co_await KvPages::allocate(queue, 4);
  Embeds inputs = co_await Embeds::allocate(queue, kTokenCount);
  Embeds outputs = co_await Embeds::allocate(queue, 1);
  // Keys and values lie in the first page and the beginning of the second, after which there is
  // room.
  co_await embed_txt(queue, inputs.handles(), tokens, positions);
  co_await forward(queue, {.input_embeds = inputs.handles(),
                           .output_pages = pages.handles(),
                           .output_embeds = outputs.handles()});
  Drawer drawer;
  const Grammar digits = co_await Grammar::regex(model, "[0-9]{4}");
  const Matcher matcher = co_await digits.matcher();
  const std::int32_t rule = co_await drawer.rule_handle(model);
  Context other = co_await context.fork();
  const detail::SharedHandle generation(co_await checked(
      abi::draw::generate(other.handle(), rule, nullptr, 0, 7, 16, nullptr, 0, 0, 0)));
  if (example.name == std::string_view("constraint.roll-back")) {
    co_await matcher.accept(co_await model.tokenize("2"));
  }
  const Child child = co_await Child::launch({.arguments = {"--child"}, .share_percent = 50});
  co_await set_the_stage(context, queue, pages, example.name);
  co_await with_timeout(example.run(model, queue, context, pages, inputs, outputs, tokens,
                                    positions, drawer, child, http::Exchange(), "an image",
                                    digits.handle(), matcher.handle(), rule, generation.get()),
                        kPatience);
  co_return co_await clear_the_stage();
}

Task<> program(std::vector<std::string> words) {
  if (words == std::vector<std::string>{"--child"}) {
    co_await session::send("hello");
    co_return co_await sleep(std::chrono::seconds(1));  // So that a slow machine finds it alive.
  }
  for (const CallExample& each : kCallExamples) {
    const Result<void> done = co_await attempt(run(each));
    const std::string end = done.ok() ? "ok" : done.error().text();
    co_await session::send(std::string(each.name) + " " + end + "\n");
  }
}

}  // namespace

QUIRE_MAIN(program)
