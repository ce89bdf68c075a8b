// A program for inferlets_test.cc: pages copied, exported, imported, taken from a context and made
// a context again, on the real control layer and kernels. Distributions are compared bit for bit.
// It sends one line for each thing seen.
#include "quire/quire.h"

namespace {

using namespace quire;

constexpr std::uint32_t kTokenCount = 43;

std::vector<std::uint32_t> some_tokens(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(3 + (first + i) * 7 % 50);
  return out;
}

bool same(const Distribution& one, const Distribution& other) {
  return one.tokens == other.tokens && one.probabilities == other.probabilities;
}

Result<void> say(const std::string& what, bool holds) {
  return session::send(what + (holds ? ": yes\n" : ": no\n"));
}

template <typename T>
Result<void> say_refused(const char* what, const Result<T>& result) {
  return session::send(std::string(what) + ": " +
                       (result.ok() ? "taken" : abi::error_code_name(result.error().code)) + "\n");
}

// The distribution after `token`, at the position after the pages, which it sees.
Task<Distribution> behind(Queue queue, std::vector<std::int32_t> pages, std::uint32_t token) {
  const Embeds input = co_await Embeds::allocate(queue, 1);
  const Embeds output = co_await Embeds::allocate(queue, 1);
  const std::uint32_t position = kTokenCount;
  co_await embed_txt(queue, input.handles(), {&token, 1}, {&position, 1});
  co_await forward(
      queue,
      {.input_pages = pages, .input_embeds = input.handles(), .output_embeds = output.handles()});
  co_return co_await get_next_dist(queue, output[0], 8);
}

// The tokens' keys and values, written without a context.
Task<> write(const Queue& queue, const KvPages& pages, std::vector<std::uint32_t> tokens) {
  const Embeds input = co_await Embeds::allocate(queue, kTokenCount);
  std::vector<std::uint32_t> positions(kTokenCount);
  for (std::uint32_t i = 0; i < kTokenCount; ++i) positions[i] = i;
  co_await embed_txt(queue, input.handles(), tokens, positions);
  co_return co_await forward(queue,
                             {.input_embeds = input.handles(), .output_pages = pages.handles()});
}

Task<> refusals(const Queue& queue, const KvPages& own, const SharedPages& shared) {
  co_await say_refused("copy to a shared page",
                       co_await attempt(copy_kvpage(queue, own[0], shared.pages[0], {0, 0, 1})));
  co_await say_refused("copy of what is not there",
                       co_await attempt(copy_kvpage(queue, own[2], own[0], {15, 0, 1})));
  co_await say_refused("copy beyond a page",
                       co_await attempt(copy_kvpage(queue, own[0], own[1], {9, 9, 8})));
  co_await say_refused("export of a name that exists",
                       co_await attempt(export_kvpage(queue, own.handles(), "prompt")));
  co_await say_refused(
      "export to everyone",
      co_await attempt(export_kvpage(queue, own.handles(), "system", ExportTo::Everyone)));
  co_await say_refused("export as ..", co_await attempt(export_kvpage(queue, own.handles(), "..")));
  co_await say_refused("import of nothing", co_await attempt(import_kvpage(queue, "absent", 1)));
  co_await say_refused("import of too much", co_await attempt(import_kvpage(queue, "prompt", 4)));
}

Task<> program(std::vector<std::string>) {
  const Model model = co_await Model::open();
  const std::vector<std::uint32_t> tokens = some_tokens(0, kTokenCount);
  constexpr std::uint32_t kNext = 5;
  Context context = co_await Context::create(model);
  const Queue& queue = context.queue();
  co_await context.append(tokens);
  co_await context.flush();
  SharedPages shared = co_await context.pages();
  co_await say("three pages, the last partly filled",
               shared.uses.size() == 3 && shared.uses[2].written == (1u << 11) - 1);
  Context plain = co_await context.fork();
  co_await plain.append(kNext);
  const Distribution expected = co_await plain.next_distribution(8);
  // A token that is written nowhere stands after the last page, and not in it as the context's next
  // one: the order of its sums is another.
  const KvPages by_hand = co_await KvPages::allocate(queue, 3);
  co_await write(queue, by_hand, tokens);
  const Distribution read = co_await behind(queue, by_hand.handles(), kNext);
  co_await say("a context's pages read as those written by hand",
               same(co_await behind(queue, shared.pages.handles(), kNext), read));

  const KvPages own = co_await KvPages::allocate(queue, 3);
  for (std::uint32_t page = 0; page < 3; ++page) {
    // In two parts, so that slots are copied across parts of a page.
    const std::uint32_t count = page == 2 ? 11 : 16;
    co_await copy_kvpage(queue, shared.pages[page], own[page], {0, 0, 5});
    co_await copy_kvpage(queue, shared.pages[page], own[page], {5, 5, count - 5});
  }
  co_await say("copies read the same", same(co_await behind(queue, own.handles(), kNext), read));
  Context copied = co_await Context::from_pages(model, queue, own.handles(), tokens);
  co_await copied.append(kNext);
  co_await say("a context of copies goes on as well",
               same(co_await copied.next_distribution(8), expected));

  co_await export_kvpage(queue, shared.pages.handles(), "prompt");
  const std::vector<ExportInfo> list = co_await list_exports();
  co_await say("it is listed", list.size() == 1 && list[0].name == "prompt" && list[0].is_own &&
                                   list[0].page_count == 3 && list[0].token_count == kTokenCount);
  co_await refusals(queue, own, shared);
  const SharedPages imported = co_await import_kvpage(queue, "prompt");
  co_await unexport_kvpage("prompt");
  Context back = co_await Context::from_pages(model, queue, imported.pages.handles(), tokens);
  co_await back.append(kNext);
  co_await say("what was imported goes on as a context",
               same(co_await back.next_distribution(8), expected));
  co_await say("it is not listed any more", (co_await list_exports()).empty());
}

}  // namespace

QUIRE_MAIN(program)
