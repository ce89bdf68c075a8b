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
Task<Result<void>> keep_window(Context& context, Window window) {
  const std::uint32_t count = context.token_count();
  if (count <= window.sink || count - window.sink <= window.latest) co_return {};
  CO_TRY(co_await context.drop_range(window.sink, count - window.latest));
  co_return {};
}

Result<std::uint32_t> page_count(const Context& context) {
  const std::uint32_t committed = TRY(context.committed_page_count());
  return committed + TRY(context.working_page_count());
}

Task<Result<void>> program(std::vector<std::string> command_line) {
  const Arguments arguments = CO_TRY(Arguments::parse(
      command_line, {.values = {"prompt", "sink", "window", "max-tokens", "temperature", "seed"},
                     .flags = {"json"}}));
  const Window window = {.sink = CO_TRY(arguments.count("sink", 4)),
                         .latest = CO_TRY(arguments.count("window", 256))};
  if (window.latest == 0) {
    co_return Error{ErrorCode::InvalidArgument, "--window: a token sees at least itself"};
  }
  GenerateOptions options;
  options.token_count_max = CO_TRY(arguments.count("max-tokens", 1024));
  options.sampler = CO_TRY(sampler_arguments(arguments, {.temperature = 0.8}));
  options.ignore_stop_tokens = true;
  const bool json = arguments.flag("json");

  const Model model = CO_TRY(Model::open());
  Context context = CO_TRY(Context::create(model));
  CO_TRY(context.allow_beyond_context());
  CO_TRY(co_await context.append_text(arguments.text("prompt", "Once upon a time")));

  std::uint32_t page_count_max = 0;
  Generator generator = context.generate(options);
  while (const std::optional<Piece> piece = CO_TRY(co_await generator.next())) {
    if (!json && !piece->text.empty()) CO_TRY(session::send(piece->text));
    CO_TRY(co_await keep_window(context, window));
    page_count_max = std::max(page_count_max, CO_TRY(page_count(context)));
  }

  const std::uint32_t pages = CO_TRY(page_count(context));
  const std::uint32_t tokens = context.token_count();
  if (!json) {
    co_return session::send("\n[" + std::to_string(tokens) + " tokens in " + std::to_string(pages) +
                            " pages, at most " + std::to_string(page_count_max) + "]\n");
  }
  JsonWriter out;
  out.begin_object().key("tokens").number(tokens).key("page_count").number(pages);
  out.key("page_count_max").number(page_count_max);
  out.key("text").text(generator.answer().text).end_object();
  co_return session::send(out.str());
}

}  // namespace

QUIRE_MAIN(program)
