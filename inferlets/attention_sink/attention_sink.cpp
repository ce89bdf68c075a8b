// attention_sink: goes on with a text for as long as it is asked to, in a constant number of pages.
//
// Each token sees the first few tokens (the sink, on which attention rests when nothing else calls
// for it) and a window of the latest ones. What falls out of the window is dropped: its pages are
// freed, and all other tokens keep their positions. So the text may grow past the model's context
// length, which bounds how far a token sees, not where it stands.
#include "quire/quire.h"

namespace {

using namespace quire;

struct Window {
  std::uint32_t sink = 4;
  std::uint32_t latest = 256;
};

// Drops what the next token shall not see. It takes effect behind the step under way.
Task<> keep_window(Context& context, Window window) {
  const std::uint32_t count = context.token_count();
  if (count <= window.sink || count - window.sink <= window.latest) co_return;
  co_await context.drop_range(window.sink, count - window.latest);
}

Result<std::uint32_t> page_count(const Context& context) {
  const std::uint32_t committed = TRY(context.committed_page_count());
  return committed + TRY(context.working_page_count());
}

Task<> program(std::vector<std::string> command_line) {
  const Arguments arguments = co_await Arguments::parse(
      command_line, {.values = {"prompt", "sink", "window", "max-tokens", "temperature", "seed"},
                     .flags = {"json"}});
  const Window window = {.sink = co_await arguments.count("sink", 4),
                         .latest = co_await arguments.count("window", 256)};
  if (window.latest == 0) {
    co_await fail(ErrorCode::InvalidArgument, "--window: a token sees at least itself");
  }
  GenerateOptions options;
  options.max_tokens = co_await arguments.count("max-tokens", 1024);
  use_sampler(co_await sampler_arguments(arguments, {.temperature = 0.8}), options);
  options.ignore_stop_tokens = true;
  const bool json = arguments.flag("json");

  const Model model = co_await Model::open();
  Context context = co_await Context::create(model);
  co_await context.allow_beyond_context();
  co_await context.append_text(arguments.text("prompt", "Once upon a time"));

  std::uint32_t page_count_max = 0;
  Generator generator = context.generate(options);
  while (const std::optional<Piece> piece = co_await generator.next()) {
    if (!json && !piece->text.empty()) co_await session::send(piece->text);
    co_await keep_window(context, window);
    page_count_max = std::max(page_count_max, co_await page_count(context));
  }

  const std::uint32_t pages = co_await page_count(context);
  const std::uint32_t tokens = context.token_count();
  if (!json) {
    co_return co_await session::send("\n[" + std::to_string(tokens) + " tokens in " +
                                     std::to_string(pages) + " pages, at most " +
                                     std::to_string(page_count_max) + "]\n");
  }
  JsonWriter out;
  out.begin_object().key("tokens").number(tokens).key("page_count").number(pages);
  out.key("page_count_max").number(page_count_max);
  out.key("text").text(generator.answer().text).end_object();
  co_return co_await session::send(out.str());
}

}  // namespace

QUIRE_MAIN(program)
