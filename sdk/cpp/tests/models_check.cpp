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
  HostGeneration generation = co_await HostGeneration::start(context, {}, kTokenCount, {});
  std::string line = name + ":";
  for (const DrawnToken& each : co_await generation.next(kTokenCount)) {
    line += " " + std::to_string(each.token);
  }
  co_return line + "\n";
}

Task<> program(std::vector<std::string>) {
  std::vector<Task<std::string>> tasks;
  for (const std::string& name : co_await Model::available()) tasks.push_back(go_on(name));
  for (Result<std::string>& line : co_await when_all(std::move(tasks))) {
    co_await session::send(co_await std::move(line));
  }
}

}  // namespace

QUIRE_MAIN(program)
