// The program calls each function of the interface, once rightly and once wrongly. It uses the
// SDK's functions if there are any, else the raw calls. rows.js and rust/src/main.rs do the same;
// README.md says how they are compared.
#include "rows.h"

namespace quire::languages {
namespace {

constexpr std::int32_t kNone = 12'345'678;  // A handle of nothing.
constexpr std::uint32_t kTooMany = 100'000;
const std::string kTooLarge(1'048'577, 'a');

const std::uint8_t* bytes(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}
const auto kOk = [](const auto&) { return Unit(); };

Task<> models(Rows& rows, Model model) {
  char buffer[64];
  rows("models.available-models", Model::available());
  rows("models.get-model", changed(Model::open(), kOk));
  rows("models.get-model", changed(Model::open("none"), kOk));
  rows("models.available-traits", model.traits());
  rows.raw("models.available-traits", abi::models::available_traits(kNone, buffer, 64));
  rows("adapter.available-adapters", model.adapters());
  rows.raw("adapter.available-adapters", abi::adapter::available_adapters(kNone, buffer, 64));
  rows("models.trait-version", model.trait_version("forward"));
  rows("models.trait-version", model.trait_version("none"));
  const ModelInfo& info = model.info();
  rows("models.model-info",
       just(std::vector<std::uint32_t>{info.page_size, info.context_length, info.vocabulary_size,
                                       info.embedding_width}));
  rows.raw("models.model-info", abi::models::model_info(kNone, buffer, 16));
  rows("models.model-name", model.name());
  rows.raw("models.model-name", abi::models::model_name(kNone, buffer, 64));
  co_return;
}

Task<> tokens(Rows& rows, Model model) {
  rows("tokenize.tokenize", co_await attempt(model.tokenize("Once upon a time")));
  rows("tokenize.tokenize", co_await attempt(model.tokenize(kTooLarge)));
  rows("tokenize.detokenize", co_await attempt(model.detokenize({5, 6, 7, 80})));
  rows("tokenize.detokenize", co_await attempt(model.detokenize({99'999})));
  std::vector<std::uint8_t> all;
  const std::vector<std::string> vocabulary = co_await model.vocabulary();
  for (const std::string& each : vocabulary) all.insert(all.end(), each.begin(), each.end());
  rows("tokenize.get-vocabs", just(shown(vocabulary.size()) + " " + hash_of(all)));
  co_await rows.future("tokenize.get-vocabs", abi::tokenize::get_vocabs(kNone, 0, 1));
  rows("tokenize.get-token-kinds", co_await attempt(model.token_kinds(0, 8)));
  rows("tokenize.get-token-kinds", co_await attempt(model.token_kinds(kTooMany, 8)));
  const std::vector<ChatMessage> turns = {{"user", "Hi \"you\"\n"}};
  rows("tokenize.apply-chat-template", co_await attempt(model.apply_chat_template(turns, true)));
  co_await rows.future("tokenize.apply-chat-template",
                       abi::tokenize::apply_chat_template(model.handle(), bytes("{"), 1));
  rows("tokenize.tokenize-chat", co_await attempt(model.tokenize_chat(turns, true)));
  co_await rows.future("tokenize.tokenize-chat",
                       abi::tokenize::tokenize_chat(model.handle(), bytes("{"), 1));
}

Task<> constraints(Rows& rows, Model model) {
  rows("constraint.compile-grammar",
       changed(co_await attempt(Grammar::json_schema(model, "{}")), kOk));
  rows("constraint.compile-grammar",
       changed(co_await attempt(Grammar::json_schema(model, "{")), kOk));
  const Grammar year = co_await Grammar::regex(model, "[0-9]{4}");
  rows("constraint.fits", co_await attempt(year.fits("2026")));
  rows("constraint.fits", co_await attempt(year.fits(kTooLarge)));
  const Matcher matcher = co_await year.matcher();
  rows("constraint.create-matcher", Result<void>());
  rows.raw("constraint.create-matcher", abi::constraint::create_matcher(kNone));
  rows("constraint.fork-matcher", changed(matcher.fork(), kOk));
  rows.raw("constraint.fork-matcher", abi::constraint::fork_matcher(kNone));
  rows("constraint.token-mask",
       changed(co_await attempt(matcher.token_mask()), hash_of<std::uint32_t>));
  co_await rows.future("constraint.token-mask", abi::constraint::token_mask(kNone));
  const std::vector<std::uint32_t> right = co_await model.tokenize("20");
  const std::vector<std::uint32_t> wrong = co_await model.tokenize("x");
  rows("constraint.accept-tokens", co_await attempt(matcher.accept(right)));
  rows("constraint.accept-tokens", co_await attempt(matcher.accept(wrong)));
  rows("constraint.roll-back", co_await attempt(matcher.roll_back(1)));
  rows("constraint.roll-back", co_await attempt(matcher.roll_back(9)));
  rows("constraint.forced-tokens", co_await attempt(matcher.forced(4)));
  co_await rows.future("constraint.forced-tokens", abi::constraint::forced_tokens(kNone, 4));
}

Task<> queues(Rows& rows, Model model) {
  const Queue queue = co_await Queue::create(model);
  rows("queue.create-queue", Result<void>());
  rows.raw("queue.create-queue", abi::queue::create_queue(model.handle(), 9));
  rows("queue.set-queue-priority", queue.set_priority(Priority::High));
  rows.raw("queue.set-queue-priority", abi::queue::set_queue_priority(queue.handle(), 9));
  rows("queue.synchronize", co_await attempt(queue.synchronize()));
  co_await rows.future("queue.synchronize", abi::queue::synchronize(kNone));
  rows.raw("queue.destroy-queue",
           abi::queue::destroy_queue(abi::queue::create_queue(model.handle(), 0)));
  rows.raw("queue.destroy-queue", abi::queue::destroy_queue(kNone));
}

Task<> outputs(Rows& rows, const Queue& queue, std::int32_t out) {
  const std::vector<std::uint32_t> chosen = {1, 2};
  const std::vector<std::int32_t> both = {out, out};
  const auto one = [](const Numbers& said) { return double{said.values.front()}; };
  const auto all = [](const Numbers& said) {
    return std::vector<double>(said.values.begin(), said.values.end());
  };
  const auto hash = [](const Numbers& said) { return hash_of(said.values); };
  rows("output.get-next-dist", co_await attempt(get_next_dist(queue, out, 3)));
  co_await rows.future("output.get-next-dist",
                       abi::output::get_next_dist(queue.handle(), kNone, 3));
  rows("output.get-next-dists", changed(co_await attempt(get_next_dists(queue, both, {}, 2)),
                                        [](const Distributions& each) { return each.all; }));
  co_await rows.future("output.get-next-dists",
                       abi::output::get_next_dists(queue.handle(), &kNone, 1, nullptr, 0, 2));
  rows("output.get-logits", changed(co_await attempt(get_logits(queue, out)), hash));
  co_await rows.future("output.get-logits", abi::output::get_logits(queue.handle(), kNone));
  rows("output.get-logprobs", changed(co_await attempt(get_logprobs(queue, out, chosen)), all));
  co_await rows.future("output.get-logprobs",
                       abi::output::get_logprobs(queue.handle(), kNone, chosen.data(), 2));
  rows("output.get-logprobs-of",
       changed(co_await attempt(get_logprobs_of(queue, both, chosen)), all));
  co_await rows.future("output.get-logprobs-of",
                       abi::output::get_logprobs_of(queue.handle(), both.data(), 2, nullptr, 0));
  rows("output.get-entropy", changed(co_await attempt(get_entropy(queue, out)), one));
  co_await rows.future("output.get-entropy", abi::output::get_entropy(queue.handle(), kNone));
  rows("output.get-embedding", changed(co_await attempt(get_embedding(queue, out)), hash));
  co_await rows.future("output.get-embedding", abi::output::get_embedding(queue.handle(), kNone));
}

std::vector<std::uint32_t> uses_of(const SharedPages& shared) {
  std::vector<std::uint32_t> out;
  for (const PageUse& each : shared.uses) out.insert(out.end(), {each.index, each.written});
  return out;
}

Task<> exports(Rows& rows, const Queue& queue, std::span<const std::int32_t> pages) {
  rows("allocate.copy-kvpage", co_await attempt(copy_kvpage(queue, pages[0], pages[1], {0, 0, 4})));
  rows("allocate.copy-kvpage",
       co_await attempt(copy_kvpage(queue, pages[0], pages[1], {0, 0, 17})));
  rows("allocate.export-kvpage", co_await attempt(export_kvpage(queue, pages.first(1), "pages")));
  rows("allocate.export-kvpage", co_await attempt(export_kvpage(queue, pages.first(1), "a/b")));
  rows("allocate.import-kvpage",
       changed(co_await attempt(import_kvpage(queue, "pages", 1)), uses_of));
  rows("allocate.import-kvpage",
       changed(co_await attempt(import_kvpage(queue, "none", 1)), uses_of));
  rows("allocate.list-exports",
       changed(co_await attempt(list_exports()), [](const std::vector<ExportInfo>& all) {
         std::vector<std::string> names;
         for (const ExportInfo& each : all)
           names.push_back(each.name + " " + shown(each.token_count));
         return names;
       }));
  rows("allocate.unexport-kvpage", co_await attempt(unexport_kvpage("pages")));
  rows("allocate.unexport-kvpage", co_await attempt(unexport_kvpage("pages")));
}

Task<> passes(Rows& rows, Model model, const Queue& queue) {
  KvPages pages = co_await KvPages::allocate(queue, 2);
  rows("allocate.alloc-kvpage", just(pages.count()));
  rows("allocate.alloc-kvpage", changed(KvPages::allocate(queue, kTooMany), kOk));
  Embeds embeds = co_await Embeds::allocate(queue, 5);
  rows("allocate.alloc-emb", just(embeds.count()));
  rows("allocate.alloc-emb", changed(Embeds::allocate(queue, kTooMany), kOk));
  const auto input = std::span(embeds.handles()).first(4);
  const auto output = std::span(embeds.handles()).last(1);
  const std::vector<std::uint32_t> positions = {0, 1, 2, 3};
  rows("input.embed-txt",
       embed_txt(queue, input, std::vector<std::uint32_t>{5, 6, 7, 8}, positions));
  rows("input.embed-txt",
       embed_txt(queue, input, std::vector<std::uint32_t>{5, 6, 7, 99'999}, positions));
  ForwardArguments arguments = {.input_embeds = input,
                                .output_pages = std::span(pages.handles()).first(1),
                                .output_embeds = output};
  rows("forward.forward", co_await attempt(forward(queue, arguments)));
  arguments.input_embeds = std::span(&kNone, 1);
  rows("forward.forward", co_await attempt(forward(queue, arguments)));
  for (const std::string_view name : {"first", "other"}) {
    co_await rows.future("adapter.forward-with-adapter",
                         abi::adapter::forward_with_adapter(
                             queue.handle(), bytes(name), 5, nullptr, 0, input.data(), 4,
                             pages.handles().data(), 1, nullptr, 0, nullptr, 0, 0));
  }
  rows("forward.mask-kvpage", mask_kvpage(queue, pages[0], std::vector<std::uint8_t>(16, 1)));
  rows("forward.mask-kvpage", mask_kvpage(queue, pages[0], std::vector<std::uint8_t>(3, 1)));
  co_await outputs(rows, queue, output[0]);
  Drawer drawer(DrawRule{.temperature = 0.0});
  drawer.report_top(2);
  rows("draw.draw-tokens", co_await attempt(draw_tokens(model, queue, {output[0]}, drawer)));
  co_await rows.future("draw.draw-tokens",
                       abi::draw::draw_tokens(queue.handle(), &kNone, 1, kNone, nullptr, 0, nullptr,
                                              0, nullptr, 0, 0));
  co_await exports(rows, queue, pages.handles());
  pages.shrink(0);
  rows("allocate.dealloc-kvpage", Result<void>());
  rows.raw("allocate.dealloc-kvpage", abi::allocate::dealloc_kvpage(queue.handle(), &kNone, 1));
  embeds.shrink(0);
  rows("allocate.dealloc-emb", Result<void>());
  rows.raw("allocate.dealloc-emb", abi::allocate::dealloc_emb(queue.handle(), &kNone, 1));
}

Task<> computing(Rows& rows, Context& context) {
  rows.raw("context.create", abi::context::create(kNone));
  rows("context.append", context.append(std::vector<std::uint32_t>{5, 6, 7}));
  rows("context.append", context.append(std::vector<std::uint32_t>{99'999}));
  rows("context.flush", co_await attempt(context.flush()));
  co_await rows.future("context.flush", abi::context::flush(kNone));
  context.append(8).value();
  ContextOutputs outputs = co_await context.forward(1);
  rows("context.forward", co_await attempt(std::move(outputs.passed)));
  co_await rows.future("context.forward", abi::context::forward(context.handle(), &kNone, 1));
  rows("context.forward as next_distribution", co_await attempt(context.next_distribution(3)));
  rows("output.get-logits as next_logits",
       changed(co_await attempt(context.next_logits()), hash_of<float>));
  rows("output.get-logprobs-of as score",
       changed(co_await attempt(context.score(" one")),
               [](const Score& score) { return score.log_probability; }));
}

Task<> editing(Rows& rows, Context& context) {
  Context fork = co_await context.fork();
  rows("context.fork", just(fork.token_count()));
  co_await rows.future("context.fork", abi::context::fork(kNone));
  rows("context.truncate", co_await attempt(fork.truncate(1)));
  rows("context.truncate", co_await attempt(fork.truncate(99)));
  rows("context.drop-range", co_await attempt(fork.drop_range(0, 1)));
  rows("context.drop-range", co_await attempt(fork.drop_range(0, 99)));
  rows("context.rewind", co_await attempt(fork.rewind(2)));
  rows("context.rewind", co_await attempt(fork.rewind(99)));
  rows("context.splice", co_await attempt(fork.splice(context, 0, 2)));
  rows("context.splice", co_await attempt(fork.splice(context, 0, 99)));
  rows("context.hint", fork.hint(ContextHint::WillResume));
  rows.raw("context.hint", abi::context::hint(fork.handle(), 99, 0));
  rows("context.allow-beyond-context", fork.allow_beyond_context());
  rows.raw("context.allow-beyond-context", abi::context::allow_beyond_context(fork.handle(), 7));
  rows("context.mark", co_await attempt(fork.mark()));
  rows.raw("context.mark", abi::context::mark(kNone));
  rows("adapter.use-adapters", co_await attempt(fork.use({{"first", 0.5}})));
  rows("adapter.use-adapters", co_await attempt(fork.use({{"none", 1.0}})));
}

Task<> working_pages(Rows& rows, Model model) {
  Context context = co_await Context::create(model);
  rows("context.create", Result<void>());
  rows("context.reserve-working-pages", co_await attempt(context.reserve_working_pages(2)));
  rows("context.reserve-working-pages", co_await attempt(context.reserve_working_pages(kTooMany)));
  std::vector<std::uint32_t> twenty(20, 5);
  context.append(twenty).value();
  co_await context.flush();
  rows("context.commit-working-pages", co_await attempt(context.commit_working_pages(0)));
  rows("context.commit-working-pages", co_await attempt(context.commit_working_pages(1)));
  SharedPages shared = co_await context.pages();
  rows("context.pages", just(uses_of(shared)));
  co_await rows.future("context.pages", abi::context::pages(kNone, 0, 0, nullptr));
  Context copy =
      co_await Context::from_pages(model, context.queue(), shared.pages.handles(), twenty);
  rows("context.from-pages", just(copy.token_count()));
  co_await rows.future("context.from-pages", abi::context::from_pages(context.queue().handle(),
                                                                      &kNone, 1, twenty.data(), 5));
  rows("context.truncate-working-page-tokens",
       co_await attempt(context.truncate_working_page_tokens(1)));
  rows("context.truncate-working-page-tokens",
       co_await attempt(context.truncate_working_page_tokens(99)));
  rows("context.release-working-pages", co_await attempt(context.release_working_pages(1)));
  rows("context.release-working-pages", co_await attempt(context.release_working_pages(99)));
  rows("context.seq-len", just(context.seq_len()));
  rows.raw("context.seq-len", abi::context::seq_len(kNone));
  rows("context.page-size", just(context.page_size()));
  rows.raw("context.page-size", abi::context::page_size(kNone));
  rows("context.committed-page-count", just(context.committed_page_count()));
  rows.raw("context.committed-page-count", abi::context::committed_page_count(kNone));
  rows("context.working-page-count", just(context.working_page_count()));
  rows.raw("context.working-page-count", abi::context::working_page_count(kNone));
  rows("context.working-page-token-count", just(context.working_page_token_count()));
  rows.raw("context.working-page-token-count", abi::context::working_page_token_count(kNone));
  rows("context.found-token-count", just(context.found_token_count()));
  rows.raw("context.found-token-count", abi::context::found_token_count(kNone));
}

Task<> sharing(Rows& rows, Context& context) {
  rows("allocate.export-kvpage as share", co_await attempt(context.share("shared")));
  rows("allocate.export-kvpage as share", co_await attempt(context.share("a/b")));
  const auto length = [](const Context& each) { return each.token_count(); };
  rows("allocate.import-kvpage as open_shared",
       changed(co_await attempt(Context::open_shared(context.model(), "shared")), length));
  rows("allocate.import-kvpage as open_shared",
       changed(co_await attempt(Context::open_shared(context.model(), "none")), length));
  rows("allocate.unexport-kvpage as unshare", co_await attempt(Context::unshare("shared")));
  rows("allocate.unexport-kvpage as unshare", co_await attempt(Context::unshare("shared")));
}

Task<> snapshots(Rows& rows, Context& context) {
  const Model model = context.model();
  const auto length = [](const Context& each) { return each.token_count(); };
  co_await rows.future("context.save",
                       abi::context::save(context.handle(), bytes("plain"), 5, 0, 0));
  co_await rows.future("context.save", abi::context::save(context.handle(), bytes("a/b"), 3, 0, 0));
  rows("context.save-with-note", co_await attempt(context.save("noted")));
  rows("context.save-with-note", co_await attempt(context.save("noted")));
  rows("context.open", changed(co_await attempt(Context::open(model, "noted")), length));
  rows("context.open", changed(co_await attempt(Context::open(model, "none")), length));
  rows("context.note-of", changed(checked(abi::context::note_of(context.handle(), nullptr, 0)),
                                  [](int bytes) { return bytes; }));
  rows.raw("context.note-of", abi::context::note_of(kNone, nullptr, 0));
  rows("context.list", changed(co_await attempt(Context::list()), [](const SnapshotList& list) {
         std::vector<std::string> names;
         for (const SnapshotInfo& each : list.snapshots)
           names.push_back(each.name + " " + shown(each.token_count));
         return names;
       }));
  rows("context.take", changed(co_await attempt(Context::take(model, "noted")), length));
  rows("context.take", changed(co_await attempt(Context::take(model, "noted")), length));
  rows("context.delete", co_await attempt(Context::remove("plain")));
  rows("context.delete", co_await attempt(Context::remove("plain")));
}

Task<> generating(Rows& rows, Context& context) {
  GenerateOptions options{
      .temperature = 0.8, .seed = 7, .max_tokens = 6, .ignore_stop_tokens = true};
  const std::uint32_t length = context.token_count();
  const Generation answer = co_await context.generate(options);
  rows("draw.generate", just(answer));
  options.temperature = -1.0;
  rows("draw.generate", co_await attempt(context.generate(options).collect()));
  options.temperature = 0.8;
  co_await context.rewind(length);
  Generator generator = context.generate(options);
  const std::optional<Piece> piece = co_await generator.next();
  rows("draw.next-draws", just(shown(piece->token) + " " + shown(piece->text) + " " +
                               shown(double{piece->probability})));
  co_await rows.future("draw.next-draws", abi::draw::next_draws(kNone, 1));
  rows("draw.stop-generation", co_await attempt(generator.end()));
  co_await rows.future("draw.stop-generation", abi::draw::stop_generation(kNone));
  co_await context.rewind(length);
  options.draft = [=](const Context& given) -> Task<std::vector<std::uint32_t>> {
    const std::size_t at =
        std::min<std::size_t>(given.token_count() - length, answer.tokens.size());
    co_return std::vector<std::uint32_t>(answer.tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                         answer.tokens.end());
  };
  rows("draw.verify as draft", co_await attempt(context.generate(options).collect()));
  co_await context.rewind(length);
  options.draft = drafts_from(context).predict(answer.tokens);
  rows("draw.verify as drafts", co_await attempt(context.generate(options).collect()));
  co_await context.rewind(length);
}

Task<> drawing(Rows& rows, Context& context) {
  const std::uint8_t wrong[] = {1, 0, 0};
  Drawer drawer(DrawRule{.temperature = 0.0});
  drawer.report_top(2);
  rows("draw.create-rule", changed(drawer.rule_handle(context.model()), kOk));
  rows.raw("draw.create-rule", abi::draw::create_rule(context.model().handle(), wrong, 3));
  rows("draw.forward-draw", co_await attempt(context.draw(drawer)));
  co_await rows.future("draw.forward-draw",
                       abi::draw::forward_draw(kNone, kNone, nullptr, 0, nullptr, 0, 0.5, 0, 0));
  rows("draw.verify", co_await attempt(context.verify({3, 4}, drawer)));
  co_await rows.future("draw.verify", abi::draw::verify(kNone, kNone, nullptr, 0, nullptr, 0,
                                                        nullptr, 0, nullptr, 0, 0, 0));
}

Task<> contexts(Rows& rows, Model model) {
  Context context = co_await Context::create(model);
  co_await computing(rows, context);
  co_await editing(rows, context);
  co_await working_pages(rows, model);
  co_await snapshots(rows, context);
  co_await sharing(rows, context);
  co_await generating(rows, context);
  co_await drawing(rows, context);
}

Task<> futures(Rows& rows) {
  std::uint8_t flag = 0;
  Future<void> nap = sleep(std::chrono::milliseconds(1));
  const std::int32_t handle = nap.handle();
  rows("future.wait", checked(abi::future::wait(&handle, 1, -1)));
  const std::int32_t night = abi::runtime::sleep(60'000'000'000);
  rows.raw("future.wait", abi::future::wait(&night, 1, 0));
  rows("future.poll", just(nap.ready()));
  rows.raw("future.poll", abi::future::poll(&kNone, 1, &flag));
  rows("future.take", std::move(nap).wait());
  rows.raw("future.take", abi::future::take(kNone, nullptr, 0));
  Future<void> dropped = sleep(std::chrono::seconds(60));
  dropped.drop();
  rows("future.drop", Result<void>());
  rows.raw("future.drop", abi::future::drop(kNone));
  abi::future::drop(night);
  co_return;
}

Task<> messages(Rows& rows) {
  std::optional<messaging::Subscription> news = co_await messaging::subscribe("news");
  rows("messaging.subscribe", Result<void>());
  rows("messaging.subscribe", changed(messaging::subscribe("a/b"), kOk));
  rows("messaging.broadcast", messaging::broadcast("news", "first"));
  rows("messaging.broadcast", messaging::broadcast("a/b", "first"));
  rows("messaging.next-message", co_await attempt(news->next()));
  co_await rows.future("messaging.next-message", abi::messaging::next_message(kNone));
  news.reset();
  rows.raw("messaging.unsubscribe",
           abi::messaging::unsubscribe(abi::messaging::subscribe(bytes("news"), 4)));
  rows.raw("messaging.unsubscribe", abi::messaging::unsubscribe(kNone));
  rows("messaging.push", messaging::push("work", "one"));
  rows("messaging.push", messaging::push("a/b", "one"));
  rows("messaging.pull", co_await attempt(messaging::pull("work")));
  rows("messaging.pull", co_await attempt(messaging::pull("a/b")));
}

Task<> requests(Rows& rows, std::string at) {
  const std::string denied = "http://127.0.0.1:1/";
  const auto whole = [](const http::Response& response) {
    return shown(response.status) + " " + response.body;
  };
  rows("net.http-get", changed(co_await attempt(http::get(at + "/page")), whole));
  rows("net.http-get", changed(co_await attempt(http::get(denied)), whole));
  rows("net.http-post", changed(co_await attempt(http::post(at + "/echo", "a body")), whole));
  rows("net.http-post", changed(co_await attempt(http::post(denied, "a body")), whole));
  const http::Exchange upload =
      co_await http::Exchange::open({.method = "PUT", .url = at + "/echo", .body_bytes = 10});
  rows("net.http-request", Result<void>());
  rows("net.http-request", changed(http::Exchange::open({.method = "get", .url = at}), kOk));
  rows("net.write-body", co_await attempt(upload.write("hello")));
  rows("net.finish-body", upload.finish());
  co_await upload.write("world");
  rows("net.write-body", co_await attempt(upload.write("more")));
  rows("net.finish-body", upload.finish());
  rows("net.response-head", changed(co_await attempt(upload.head()),
                                    [](const http::Head& head) { return head.status; }));
  co_await rows.future("net.response-head", abi::net::response_head(kNone));
  std::string body;
  for (std::string piece = "."; !piece.empty(); body += piece) piece = co_await upload.read();
  rows("net.read-body", just(body));
  co_await rows.future("net.read-body", abi::net::read_body(kNone));
}

Task<> sessions(Rows& rows) {
  rows("session.receive", co_await attempt(session::receive()));
  rows("session.receive", co_await attempt(session::receive()));
  rows("session.send", session::send(""));
  rows("session.send", session::send(kTooLarge));
  rows("session.send-file", co_await attempt(session::send_file("out.txt", "text/plain", "hello")));
  rows("session.send-file", co_await attempt(session::send_file("out.txt", "", "hello")));
  const std::int32_t file =
      abi::session::send_file(bytes("raw.txt"), 7, bytes("text/plain"), 10, 5);
  co_await rows.future("session.write-file", abi::session::write_file(file, bytes("hello"), 5));
  co_await rows.future("session.write-file", abi::session::write_file(kNone, bytes("hello"), 5));
  const IncomingFile given = co_await session::receive_file();
  rows("session.receive-file",
       just(std::vector<std::string>{given.name(), given.media_type(), shown(given.file_bytes())}));
  rows("session.receive-file", changed(co_await attempt(session::receive_file()), kOk));
  std::string all;
  for (std::string part = "."; !part.empty(); all += part) part = co_await given.read();
  rows("session.read-file", just(all));
  co_await rows.future("session.read-file", abi::session::read_file(kNone));
}

Task<> values(Rows& rows) {
  const auto content = [](const store::Value& value) { return value.bytes; };
  rows("store.put", changed(co_await attempt(store::put("key", "value")), kOk));
  rows("store.put", changed(co_await attempt(store::put("", "value")), kOk));
  rows("store.get", changed(co_await attempt(store::get("key")), content));
  rows("store.get", changed(co_await attempt(store::get("none")), content));
  rows("store.list-keys",
       changed(co_await attempt(store::list_keys("k")), [](const store::KeyList& list) {
         std::vector<std::string> names;
         for (const store::Key& each : list.keys)
           names.push_back(each.name + " " + shown(each.value_bytes));
         return names;
       }));
  rows("store.list-keys", changed(co_await attempt(store::list_keys(kTooLarge)), kOk));
  rows("store.delete", co_await attempt(store::remove("key")));
  rows("store.delete", co_await attempt(store::remove("key")));
}

std::string end_of(const ChildEnd& end) {
  return shown(static_cast<std::uint32_t>(end.kind)) + " " + shown(end.exit_code) + " " +
         end.result;
}

Task<> children(Rows& rows) {
  const Child child = co_await Child::launch({.arguments = {"child"}});
  rows("runtime.launch", Result<void>());
  rows("runtime.launch", changed(Child::launch({.program = "none"}), kOk));
  rows("runtime.send-child", child.send("hello"));
  rows("runtime.send-child", child.send(kTooLarge));
  rows("runtime.receive-child", co_await attempt(child.receive()));
  rows("runtime.receive-child", co_await attempt(child.receive()));
  rows("runtime.wait-child", changed(co_await attempt(child.wait()), end_of));
  co_await rows.future("runtime.wait-child", abi::runtime::wait_child(kNone));
  const Child other = co_await Child::launch({.arguments = {"child"}});
  rows("runtime.kill-child", other.kill());
  rows.raw("runtime.kill-child", abi::runtime::kill_child(kNone));
  rows("runtime.wait-child", changed(co_await attempt(other.wait()), end_of));
}

Task<> instance(Rows& rows) {
  char buffer[64];
  const std::vector<std::string> words = co_await runtime::arguments();
  rows("runtime.get-arg-count", just(words.size()));
  rows("runtime.get-arg", just(words.front()));
  rows.raw("runtime.get-arg", abi::runtime::get_arg(99, buffer, 64));
  rows("runtime.get-version", runtime::version());
  rows("runtime.get-instance-id", just(runtime::instance_id() > 0));
  rows("runtime.get-tenant", runtime::tenant());
  rows("runtime.limits", changed(runtime::limits(), [](const std::string& text) {
         return std::ranges::count(text, '\n');
       }));
  rows("runtime.misses", changed(runtime::misses(), kOk));
  runtime::log(LogLevel::Info, "a line");
  rows("runtime.log", Result<void>());
  rows.raw("runtime.log", abi::runtime::log(9, bytes("a line"), 6));
  rows("runtime.set-result", runtime::set_result("done"));
  rows("runtime.set-result", runtime::set_result(kTooLarge + kTooLarge));
  rows("runtime.clock-now", just(runtime::now().count() > 0));
  rows("runtime.sleep", co_await attempt(sleep(std::chrono::milliseconds(1))));
  co_await rows.future("runtime.sleep", abi::runtime::sleep(-1));
  std::vector<std::uint8_t> numbers(65'537);
  const auto some = std::as_writable_bytes(std::span(numbers));
  rows("runtime.random", runtime::random(some.first(8)));
  rows("runtime.random", runtime::random(some));
  std::string message(256, '\0');
  message.resize(static_cast<std::size_t>(abi::runtime::last_error(message.data(), 256)));
  rows("runtime.last-error", just(message));
}

Task<> absent(Rows& rows, Model model, const Queue& queue) {
  char buffer[64];
  rows.raw("adapter.available-adapters",
           abi::adapter::available_adapters(model.handle(), buffer, 64));
  co_await rows.future(
      "adapter.forward-with-adapter",
      abi::adapter::forward_with_adapter(queue.handle(), bytes("name"), 4, nullptr, 0, nullptr, 0,
                                         nullptr, 0, nullptr, 0, nullptr, 0, 0));
  rows.raw("input-image.num-embs-needed", abi::input_image::num_embs_needed(model.handle(), 8, 8));
  co_await rows.future(
      "input-image.embed-img",
      abi::input_image::embed_img(queue.handle(), nullptr, 0, bytes("PNG"), 3, nullptr, 0));
  rows.raw("serve.request-head", abi::serve::request_head(buffer, 64));
  co_await rows.future("serve.read-request", abi::serve::read_request());
  rows.raw("serve.respond", abi::serve::respond(200, nullptr, 0, 0));
  co_await rows.future("serve.write-response", abi::serve::write_response(bytes("a"), 1));
  rows.raw("serve.finish-response", abi::serve::finish_response());
}

// The request that the test sends when it reads "ready": its instance pushes five lines.
Task<> served(Rows& rows) {
  Rows out;
  out.line("ready");
  for (int i = 0; i < 5; ++i) {
    std::string line = co_await messaging::pull("served");
    line.pop_back();
    rows.line(line);
  }
}

Task<> handle(serve::Request request) {
  Rows rows(true);
  const serve::Response response = request.response();
  rows("serve.request-head", just(request.method() + " " + request.target()));
  std::string body;
  for (std::string part = "."; !part.empty(); body += part) part = co_await request.read();
  rows("serve.read-request", just(body));
  rows("serve.respond", response.begin(200, {{"content-type", "text/plain"}}));
  rows("serve.write-response", co_await attempt(response.write("hello")));
  rows("serve.finish-response", response.finish());
}

// A server without a store, and without reasons for misses.
Task<> bare(Rows& rows) {
  rows("context.list", changed(co_await attempt(Context::list()), kOk));
  rows("runtime.misses", changed(runtime::misses(), kOk));
}

// Random numbers, for seed_test.py.
Task<> random(bool is_child) {
  std::array<std::byte, 8> bytes;
  co_await runtime::random(bytes);
  std::string text;
  for (const std::byte each : bytes) {
    text += (text.empty() ? "" : " ") + shown(static_cast<std::uint32_t>(each));
  }
  if (is_child) co_return co_await session::send(text);
  co_await session::send("bytes " + text + "\n");
  std::uint64_t own = 0;
  co_await runtime::random(std::as_writable_bytes(std::span(&own, 1)));
  co_await session::send("own " + shown(own) + "\n");
  Context context = co_await Context::create();
  co_await context.append_text("Once");
  const Generation answer = co_await context.generate({.temperature = 1.0, .max_tokens = 8});
  co_await session::send("tokens " + shown(answer.tokens) + "\n");
  const Child other = co_await Child::launch({.arguments = {"random child"}});
  co_await session::send("child " + co_await other.receive() + "\n");
}

Task<> child() {
  const std::string message = co_await session::receive();
  co_await session::send("heard " + message);
  co_await runtime::set_result("well");
}

Task<> program(std::vector<std::string> words) {
  Rows rows;
  const Result<serve::Request> request = serve::Request::open();
  if (request.ok()) co_return co_await handle(request.value());
  if (words.front() == "child") co_return co_await child();
  if (words.front() == "bare") co_return co_await bare(rows);
  if (words.front().starts_with("random")) co_return co_await random(words.front() != "random");
  const Model model = co_await Model::open();
  const Queue queue = co_await Queue::create(model);
  co_await instance(rows);
  co_await models(rows, model);
  co_await tokens(rows, model);
  co_await constraints(rows, model);
  co_await queues(rows, model);
  co_await passes(rows, model, queue);
  co_await contexts(rows, model);
  co_await futures(rows);
  co_await messages(rows);
  co_await requests(rows, words.at(1));
  co_await sessions(rows);
  co_await values(rows);
  co_await children(rows);
  co_await absent(rows, model, queue);
  co_await served(rows);
}

}  // namespace
}  // namespace quire::languages

QUIRE_MAIN(quire::languages::program)
