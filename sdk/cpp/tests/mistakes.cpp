// Programs that are wrong, each with what the compiler says of the line above. A test compiles this
// file with the flags of guests and clang's -verify, which fails if a message is missing, differs,
// or is one too many.
#include "quire/quire.h"

using namespace quire;

// Uses a value, so that no message is about that.
template <typename... T>
void use(const T&...) {}

// ---- A view of what is gone.

Task<Json> parsed(std::string text) {
  co_return co_await Json::parse(text);
}

Task<> keeps_views_too_long() {
  for (const std::uint32_t each : (co_await Context::create()).tokens()) use(each);
  // expected-error@-1 {{temporary implicitly bound to local reference will be destroyed}}
  for (const ChatMessage& each : (co_await Context::create()).messages()) use(each);
  // expected-error@-1 {{temporary implicitly bound to local reference will be destroyed}}
  const std::string_view text = (co_await parsed("{}")).text("name");
  // expected-error@-1 {{temporary whose address is used as value of local variable 'text' will be}}
  const ModelInfo& info = (co_await Model::open()).info();
  // expected-error@-1 {{temporary bound to local reference 'info' will be destroyed}}
  const std::string& json = JsonWriter().begin_array().end_array().str();
  // expected-error@-1 {{temporary bound to local reference 'json' will be destroyed}}
  const Json& value = Json::parse("1").value();
  // expected-error@-1 {{temporary bound to local reference 'value' will be destroyed}}
  const Error& error = Json::parse("x").error();
  // expected-error@-1 {{temporary bound to local reference 'error' will be destroyed}}
  use(text, info, json, value, error);
}

std::string_view name_in(const std::string& text) {
  const Result<Json> json = Json::parse(text);
  return json.value().text("name");
  // expected-error@-1 {{address of stack memory associated with local variable 'json' returned}}
}

Generator generator_of(Context context) {
  return context.generate();
  // expected-error@-1 {{address of stack memory associated with parameter 'context' returned}}
}

// The function looks alike, and is right.
Generator generator_that_owns(Context context) {
  return std::move(context).generate();
}
Task<> keeps_values() {
  const std::vector<std::uint32_t> tokens = (co_await Context::create()).tokens();
  const std::string text((co_await parsed("{}")).text("name"));
  const std::string json = JsonWriter().begin_array().end_array().str();
  const Json value = Json::parse("1").take();
  const std::string why = Json::parse("x").error().message;
  for (const Json& each : (co_await parsed("[1]")).items()) use(each);
  use(tokens, text, json, value, why, (co_await Model::open()).info().page_size);
}

// ---- A parameter that is gone when the coroutine begins.

Task<> shows_text(const std::string& text) {
  co_await session::send(text);
}
// expected-warning@*:* 1 {{this coroutine has a parameter that refers to a std::string or}}
struct Speaker {
  Task<> shows_list(std::vector<std::string>&& texts, int) const {
    for (const std::string& each : texts) co_await session::send(each);
  }
  // expected-warning@*:* 1 {{this coroutine has a parameter that refers to a std::string or}}

  // Arguments that are not temporaries, and a function that is not a coroutine.
  Task<> adds(std::string& to, std::vector<std::string>* from, Context& context) const {
    to += from->front();
    context.user(to);
    co_return;
  }
  Task<> shows_later(const std::string& text) const { return shows_value(text); }
  Task<> shows_value(std::string text) const { co_await session::send(text); }
};

// ---- A value that is not there yet.

Task<std::string> said() {
  co_return "text";
}
void takes_model(const Model& model) {
  use(model.info().page_size);
}
Task<> forgets_to_await(Context context) {
  Context other = Context::create();
  // expected-error@-1 {{invokes a deleted function: co_await the Result, or TRY it in a function}}
  std::uint32_t length = messaging::broadcast("topic", "text");
  // expected-error@-1 {{invokes a deleted function: co_await the Result, or TRY it in a function}}
  takes_model(Model::open());
  // expected-error@-1 {{invokes a deleted function: co_await the Result, or TRY it in a function}}
  const std::string text = said();
  // expected-error@-1 {{invokes a deleted function: co_await the Task: that runs it and gives its}}
  const Context fork = context.fork();
  // expected-error@-1 {{invokes a deleted function: co_await the Task: that runs it and gives its}}
  const SnapshotList list = Context::list();
  // expected-error@-1 {{invokes a deleted function: co_await the Future: that waits for its value}}
  const Generation answer = context.generate({.max_tokens = 4});
  // expected-error@-1 {{invokes a deleted function: co_await the Generator: that generates the}}
  length = messaging::broadcast("topic", "text") + 1;
  // expected-error@-1 {{deleted function: co_await the Result, or TRY it in a function that is no}}
  use(other, length, text, fork, list, answer);
  co_return;
}

Task<> forgets_the_error() {
  session::send("text");
  // expected-error@-1 {{it may hold an error: co_await it, or TRY it in a plain function}}
  session::print("{}", 3);
  // expected-error@-1 {{it may hold an error: co_await it, or TRY it in a plain function}}
  co_return;
}

// A number that is there already, and was a Result before.
Task<> awaits_a_number(Context context) {
  use(co_await context.seq_len());
  // expected-error@-1 {{call to deleted member function 'await_transform': this number is there}}
}

// Whether there is one may be asked.
Task<> asks_first() {
  const Result<std::uint32_t> length = messaging::broadcast("topic", "text");
  if (length) use(length.value());
  const Result<bool> is_so = true;
  if (is_so && co_await is_so) use(1);
}

// ---- Values and formats that print and log do not take.

enum Color { Red };
enum class Shape { Round };
struct Plain {};
Task<> prints_what_has_no_text(Context context, const double* z, Plain plain) {
  co_await session::print("{}", z);
  // expected-error@-1 {{a pointer cannot be printed: give {} what it points to}}
  co_await session::print("{}", nullptr);
  // expected-error@-1 {{a pointer cannot be printed: give {} what it points to}}
  co_await session::print("{}", &context);
  // expected-error@-1 {{a pointer cannot be printed: give {} what it points to}}
  co_await session::print("{} {}", 1, Red);
  // expected-error@-1 {{an enum cannot be printed: give {} its name, or static_cast<int> of it}}
  runtime::log("{}", Shape::Round);
  // expected-error@-1 {{an enum cannot be printed: give {} its name, or static_cast<int> of it}}
  runtime::log(LogLevel::Warning, "{}", std::optional<int>(3));
  // expected-error@-1 {{an optional cannot be printed: give {} its value(), or value_or(another)}}
  runtime::log("{}", plain);
  // expected-error@-1 {{takes texts, numbers, char and bool: this value is of another type}}
  runtime::log("{}", Context::create());
  // expected-error@-1 {{takes texts, numbers, char and bool: this value is of another type}}
  runtime::log("{}", u8"text");
  // expected-error@-1 {{takes texts, numbers, char and bool: this value is of another type}}
  runtime::log("{}", L'x');
  // expected-error@-1 {{takes texts, numbers, char and bool: this value is of another type}}
  use(JsonWriter().boolean("yes").str().size());
  // expected-error@-1 {{a pointer is not a bool: compare it with nullptr, or write text()}}
}
Task<> prints_in_another_form(double z) {
  co_await session::print("z {:.2f}", z);
  // expected-error@-1 {{print has {} only; use std::format for widths and digits}}
  co_await session::print("{z}", z);
  // expected-error@-1 {{print has {} only; use std::format for widths and digits}}
  runtime::log("{} {}", z);
  // expected-error@-1 {{the format has more {} than there are values}}
  runtime::log(LogLevel::Debug, "{}", z, z);
  // expected-error@-1 {{there are more values than the format has}}
}

// ---- Options that declare nothing.

struct Forgetful {
  std::string prompt;
};
Task<> has_no_options(Forgetful options) {
  co_await session::send(options.prompt);
}
QUIRE_MAIN(has_no_options)
// expected-error@*:* 1 {{the options of a program are a struct with default values that declares}}
