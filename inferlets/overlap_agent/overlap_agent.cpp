// overlap_agent: an agent that starts a tool the moment the arguments of the call are complete, while
// the model goes on to write the next call. It shares the documents of its tools with other runs, and
// drops them from its context when the last call is written.
#include "quire/quire.h"

using namespace quire;

// Models lean on the first tokens of a text, which stay when the documents are dropped.
constexpr std::uint32_t kSink = 4;

struct Options {
  PromptOption question{"What are a horse, a cow and a barn?"};
  std::string documents =
      "The dictionary says what a word means. A call is a line: look_up(word)\n\n"
      "Question: What are a boat, an oar and a "
      "sail?\nlook_up(boat)\nlook_up(oar)\nlook_up(sail)\n\n"
      "Question: What are a tree and a leaf?\nlook_up(tree)\nlook_up(leaf)\n\n";
  std::string url;
  std::uint32_t calls = 3;
  bool without_sharing = false;
  bool without_overlap = false;
  bool without_dropping = false;
  GenerateOptions generate = {.max_tokens = 48, .stop = {"\n"}};

  void read(OptionReader& in) {
    question.read(in);
    in.text("documents", documents, "What the model reads about its tool");
    in.text("url", url,
            "The tool: a GET of this URL and the word; without it a model that defines");
    in.number("calls", calls, "Calls that the model makes", {1, 32});
    in.flag("without-sharing", without_sharing, "Compute the documents in each run");
    in.flag("without-overlap", without_overlap, "Start the tools when all calls are written");
    in.flag("without-dropping", without_dropping, "Keep the documents in the context");
    in.generation(generate);
  }
};

// The documents, computed once for all runs: their pages are exported under a hash of the text.
Task<Context> documents(Model model, Options options) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char each : options.documents) hash = (hash ^ each) * 0x100000001b3;
  const std::string name = "documents-" + std::to_string(hash);
  const auto tokens = co_await model.tokenize(options.documents, {.begin_of_text = true});
  Context context = co_await Context::create(model);
  if (!options.without_sharing) {
    const auto shared = co_await attempt(import_kvpage(context.queue(), name));
    if (shared.ok()) {
      const auto& pages = shared.value().pages.handles();
      co_return co_await Context::from_pages(model, context.queue(), pages, tokens);
    }
    if (shared.error().code != ErrorCode::NotFound) co_await fail(shared.error());
  }
  co_await context.append(tokens);
  co_await context.flush();
  if (!options.without_sharing) {
    const SharedPages own = co_await context.pages();
    const auto left = co_await attempt(export_kvpage(context.queue(), own.pages.handles(), name));
    // Another run may have been quicker.
    if (!left.ok() && left.error().code != ErrorCode::AlreadyExists) co_await fail(left.error());
  }
  co_return context;
}

// The tool. An error is a result too: the model reads it.
Task<std::string> look_up(Model model, std::string word, std::string url) {
  runtime::log(LogLevel::Info, "looks up " + word);
  if (!url.empty()) {
    const Result<http::Response> response = co_await attempt(http::get(url + word));
    co_return word + ": " + (response.ok() ? response.value().body : response.error().text());
  }
  Context dictionary = co_await Context::create(model);
  co_await dictionary.append_text(
      "tree: a tall plant with a trunk and branches\nboat: a small vessel that travels on water\n" +
      word + ": a");
  const Generation meaning =
      co_await dictionary.generate({.max_tokens = 24, .stop = {"\n"}}).collect();
  co_return word + ": a" + valid_utf8(meaning.text);
}

// Has the model write its calls, each a line of the grammar, and gives what the tools returned.
Task<std::vector<std::string>> called(Context& context, Options options) {
  const Model model = context.model();
  GenerateOptions generate = options.generate;
  generate.max_tokens = 24 * options.calls;
  generate.stop.clear();
  generate.grammar = co_await Grammar::regex(
      model, "(look_up\\([a-z]{1,24}\\)\n){" + std::to_string(options.calls) + "}");
  std::vector<Task<std::string>> tools;
  std::string line;
  Generator calls = context.generate(generate);
  while (const std::optional<Piece> piece = co_await calls.next()) {
    for (const char each : piece->text) {
      line += each;
      if (each == ')') {
        runtime::log(LogLevel::Info, "call " + std::to_string(tools.size() + 1) + " is written");
        Task<std::string> tool = look_up(model, line.substr(8, line.size() - 9), options.url);
        if (!options.without_overlap) tool = co_await spawn(std::move(tool));
        tools.push_back(std::move(tool));
      }
      if (each == '\n') line.clear();
    }
  }
  std::vector<std::string> results;
  if (options.without_overlap) co_return co_await gather(std::move(tools));
  for (Task<std::string>& each : tools) results.push_back(co_await std::move(each));
  co_return results;
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  Context context = co_await documents(model, options);
  const std::uint32_t document_count = context.token_count();
  const std::string question = co_await options.question.text();
  co_await context.append_text("Question: " + question + "\n");
  std::string results;
  for (const std::string& each : co_await called(context, options)) results += each + "\n";
  if (!options.without_dropping) {
    co_await context.flush();
    co_await context.drop_range(std::min(kSink, document_count), document_count);
  }
  co_await session::send(results);
  co_await context.append_text(results + "Answer:");
  co_await context.generate(options.generate).stream(session::send);
}

QUIRE_MAIN(program)
