// A program for inferlets_test.cc: goes on with one text on every model at once, and says which
// tokens came, a line for each model.
#include "quire/quire.h"

namespace {

using namespace quire;

constexpr std::uint32_t kTokenCount = 12;

Task<std::string> go_on(std::string name) {
  const Model model = co_await Model::open(name);
  Context context = co_await Context::create(model);
  co_await context.append(co_await model.tokenize("abc"));
  const Generation answer =
      co_await context.generate({.max_tokens = kTokenCount, .ignore_stop_tokens = true});
  std::string line = name + ":";
  for (const std::uint32_t each : answer.tokens) line += " " + std::to_string(each);
  co_return line + "\n";
}

Task<> program(std::vector<std::string>) {
  std::vector<Task<std::string>> tasks;
  for (const std::string& name : co_await Model::available()) tasks.push_back(go_on(name));
  for (const std::string& line : co_await gather(std::move(tasks))) co_await session::send(line);
}

}  // namespace

QUIRE_MAIN(program)
