// keeper: keeps a value and a snapshot for each key, and answers when both are durable.
//
//   POST /keep/KEY    the value by its key in the store, and a context by the same name
//   GET  /keep/KEY    200 if both are there and are what POST wrote, else 404 or 500
#include "quire/quire.h"
#include "quire/serve.h"
#include "quire/store.h"

using namespace quire;

namespace {

std::string text_of(const std::string& key) {
  return "What is kept for " + key + ". " + std::string(200, 'x');
}

Task<Context> context_of(std::string key) {
  Context context = co_await Context::create();
  const std::string text = text_of(key);
  co_await context.append_text(text);
  co_return context;
}

Task<std::string> continuation(Context context) {
  const Generation generation = co_await context.generate({.temperature = 0, .max_tokens = 4});
  co_return generation.text;
}

Task<> keep(std::string key) {
  Context context = co_await context_of(key);
  co_await context.prefill();
  co_await context.save(key, {.overwrite = true});
  const std::string value = text_of(key);
  co_await store::put(key, value);
}

// A snapshot whose pages are damaged, or another's, goes on in another way than the text does.
Task<> check(std::string key) {
  const store::Value value = co_await store::get(key);
  const std::string wanted = text_of(key);
  if (value.bytes != wanted) co_await fail(ErrorCode::Corrupted, key + " has another value");
  const Model model = co_await Model::open();
  const std::string kept = co_await continuation(co_await Context::open(model, key));
  const std::string computed = co_await continuation(co_await context_of(key));
  if (kept != computed) co_await fail(ErrorCode::Corrupted, key + " has another context");
}

Task<> handle(serve::Request request, serve::Response response) {
  const std::string key = request.path_after("/keep/");
  const Result<void> done = co_await attempt(request.method() == "POST" ? keep(key) : check(key));
  if (!done.ok()) {
    const bool is_missing = done.error().code == ErrorCode::NotFound;
    co_await request.refuse(is_missing ? 404 : 500, done.error().message);
  }
  JsonWriter json;
  co_await response.json(200, json.begin_object().key("key").text(key).end_object());
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
