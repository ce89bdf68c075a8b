// stacked: overlap_agent (inferlets/) with calls of a set length, so that a client elsewhere can do the
// same work. Each of its three optimizations can be left out.
#include "quire/quire.h"

using namespace quire;

// Models lean on the first tokens of a text, which stay when the documents are dropped.
constexpr std::uint32_t kSink = 4;

struct Options {
  PromptOption prompt;
  std::string documents;
  std::string url;
  std::uint32_t calls = 6;
  std::uint32_t call_tokens = 12;
  std::uint32_t answer_tokens = 48;
  bool share = false;
  bool overlap = false;
  bool drop = false;

  void read(OptionReader& in) {
    prompt.read(in);
    in.text("documents", documents, "What the model reads about its tools", Required::Yes);
    in.text("url", url, "The tool", Required::Yes);
    in.number("calls", calls, "Calls that the model makes", {1, 1000});
    in.number("call-tokens", call_tokens, "Tokens of a call");
    in.number("answer-tokens", answer_tokens, "Tokens of the answer");
    in.flag("share", share, "Compute the documents once for all runs, and export their pages");
    in.flag("overlap", overlap, "Start a tool when its call is written, and go on with the next");
    in.flag("drop", drop, "Drop the documents from the context after the last call");
  }
};

// The documents, computed once for all runs: their pages are exported under a hash of the text.
Task<Context> documents(Model model, Options options) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char each : options.documents) hash = (hash ^ each) * 0x100000001b3;
  const std::string name = "documents-" + std::to_string(hash);
  const auto tokens = co_await model.tokenize(options.documents, {.begin_of_text = true});
  Context context = co_await Context::create(model);
  if (options.share) {
    const auto shared = co_await attempt(import_kvpage(context.queue(), name));
    if (shared.ok()) {
      const auto& pages = shared.value().pages.handles();
      co_return co_await Context::from_pages(model, context.queue(), pages, tokens);
    }
    if (shared.error().code != ErrorCode::NotFound) co_await fail(shared.error());
  }
  co_await context.append(tokens);
  if (!options.share) co_return context;
  co_await context.flush();
  const SharedPages own = co_await context.pages();
  const auto left = co_await attempt(export_kvpage(context.queue(), own.pages.handles(), name));
  // Another run may have been quicker.
  if (!left.ok() && left.error().code != ErrorCode::AlreadyExists) co_await fail(left.error());
  co_return context;
}

Task<std::string> called(std::string url) {
  const http::Response response = co_await http::get(url);
  if (!response.ok()) {
    co_await fail(ErrorCode::Unavailable,
                  "the tool answered with the status " + std::to_string(response.status));
  }
  co_return response.body;
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  Context context = co_await documents(model, options);
  const std::uint32_t document_count = context.token_count();
  co_await context.append_text("Question: " + co_await options.prompt.text() + "\n");
  std::vector<Task<std::string>> tools;
  for (std::uint32_t i = 0; i < options.calls; ++i) {
    co_await context.generate({.max_tokens = options.call_tokens, .ignore_stop_tokens = true});
    Task<std::string> tool = called(options.url);
    if (options.overlap) tool = co_await spawn(std::move(tool));
    tools.push_back(std::move(tool));
  }
  if (options.drop) {
    co_await context.flush();
    co_await context.drop_range(std::min(kSink, document_count), document_count);
  }
  std::string results = "\n";
  for (const std::string& each : co_await gather(std::move(tools))) results += each + "\n";
  co_await context.append_text(results + "Answer:");
  const GenerateOptions answer = {.max_tokens = options.answer_tokens, .ignore_stop_tokens = true};
  co_await context.generate(answer).stream(session::send);
}

QUIRE_MAIN(program)
