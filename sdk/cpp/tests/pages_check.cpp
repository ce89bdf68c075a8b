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

// What may follow `token`, at the position behind the pages, which it sees.
Task<Result<Distribution>> behind(Queue queue, std::vector<std::int32_t> pages,
                                  std::uint32_t token) {
  const Embeds input = CO_TRY(Embeds::allocate(queue, 1));
  const Embeds output = CO_TRY(Embeds::allocate(queue, 1));
  const std::uint32_t position = kTokenCount;
  CO_TRY(embed_txt(queue, input.handles(), {&token, 1}, {&position, 1}));
  CO_TRY(co_await forward(
      queue,
      {.input_pages = pages, .input_embeds = input.handles(), .output_embeds = output.handles()}));
  co_return co_await get_next_dist(queue, output[0], 8);
}

// The tokens' keys and values, written without a context.
Task<Result<void>> write(const Queue& queue, const KvPages& pages,
                         const std::vector<std::uint32_t>& tokens) {
  const Embeds input = CO_TRY(Embeds::allocate(queue, kTokenCount));
  std::vector<std::uint32_t> positions(kTokenCount);
  for (std::uint32_t i = 0; i < kTokenCount; ++i) positions[i] = i;
  CO_TRY(embed_txt(queue, input.handles(), tokens, positions));
  co_return co_await forward(queue,
                             {.input_embeds = input.handles(), .output_pages = pages.handles()});
}

Task<Result<void>> refusals(const Queue& queue, const KvPages& own, const SharedPages& shared) {
  CO_TRY(say_refused("copy to a shared page",
                     co_await copy_kvpage(queue, own[0], shared.pages[0], {0, 0, 1})));
  CO_TRY(say_refused("copy of what is not there",
                     co_await copy_kvpage(queue, own[2], own[0], {15, 0, 1})));
  CO_TRY(say_refused("copy beyond a page", co_await copy_kvpage(queue, own[0], own[1], {9, 9, 8})));
  CO_TRY(say_refused("export of a name that exists",
                     co_await export_kvpage(queue, own.handles(), "prompt")));
  CO_TRY(say_refused("export to everyone",
                     co_await export_kvpage(queue, own.handles(), "system", ExportTo::Everyone)));
  CO_TRY(say_refused("export as ..", co_await export_kvpage(queue, own.handles(), "..")));
  CO_TRY(say_refused("import of nothing", co_await import_kvpage(queue, "absent", 1)));
  CO_TRY(say_refused("import of too much", co_await import_kvpage(queue, "prompt", 4)));
  co_return {};
}

Task<Result<void>> program(std::vector<std::string>) {
  const Model model = CO_TRY(Model::open());
  const std::vector<std::uint32_t> tokens = some_tokens(0, kTokenCount);
  constexpr std::uint32_t kNext = 5;
  Context context = CO_TRY(Context::create(model));
  const Queue& queue = context.queue();
  CO_TRY(context.append(tokens));
  CO_TRY(co_await context.flush());
  SharedPages shared = CO_TRY(co_await context.pages());
  CO_TRY(say("three pages, the last partly filled",
             shared.uses.size() == 3 && shared.uses[2].written == (1u << 11) - 1));
  Context plain = CO_TRY(co_await context.fork());
  CO_TRY(plain.append(kNext));
  const Distribution expected = CO_TRY(co_await plain.next_distribution(8));
  // A token that is written nowhere stands behind the last page, and not in it as the context's
  // next one: the order of its sums is another.
  const KvPages by_hand = CO_TRY(KvPages::allocate(queue, 3));
  CO_TRY(co_await write(queue, by_hand, tokens));
  const Distribution read = CO_TRY(co_await behind(queue, by_hand.handles(), kNext));
  CO_TRY(say("a context's pages read as those written by hand",
             same(CO_TRY(co_await behind(queue, shared.pages.handles(), kNext)), read)));

  const KvPages own = CO_TRY(KvPages::allocate(queue, 3));
  for (std::uint32_t page = 0; page < 3; ++page) {
    // In two parts, so that slots are copied across parts of a page.
    const std::uint32_t count = page == 2 ? 11 : 16;
    CO_TRY(co_await copy_kvpage(queue, shared.pages[page], own[page], {0, 0, 5}));
    CO_TRY(co_await copy_kvpage(queue, shared.pages[page], own[page], {5, 5, count - 5}));
  }
  CO_TRY(say("copies read the same",
             same(CO_TRY(co_await behind(queue, own.handles(), kNext)), read)));
  Context copied = CO_TRY(co_await Context::from_pages(model, queue, own.handles(), tokens));
  CO_TRY(copied.append(kNext));
  CO_TRY(say("a context of copies goes on as well",
             same(CO_TRY(co_await copied.next_distribution(8)), expected)));

  CO_TRY(co_await export_kvpage(queue, shared.pages.handles(), "prompt"));
  const std::vector<ExportInfo> list = CO_TRY(co_await list_exports());
  CO_TRY(say("it is listed", list.size() == 1 && list[0].name == "prompt" && list[0].is_own &&
                                 list[0].page_count == 3 && list[0].token_count == kTokenCount));
  CO_TRY(co_await refusals(queue, own, shared));
  const SharedPages imported = CO_TRY(co_await import_kvpage(queue, "prompt"));
  CO_TRY(co_await unexport_kvpage("prompt"));
  Context back =
      CO_TRY(co_await Context::from_pages(model, queue, imported.pages.handles(), tokens));
  CO_TRY(back.append(kNext));
  CO_TRY(say("what was imported goes on as a context",
             same(CO_TRY(co_await back.next_distribution(8)), expected)));
  CO_TRY(say("it is not listed any more", CO_TRY(co_await list_exports()).empty()));
  co_return {};
}

}  // namespace

QUIRE_MAIN(program)
