// A program for inferlets_test.cc: goes on with one text on every model at once, and says which
// tokens came, a line for each model.
#include "quire/quire.h"

namespace {

using namespace quire;

constexpr std::uint32_t kTokenCount = 12;

Task<Result<std::string>> go_on(std::string name) {
  const Model model = CO_TRY(Model::open(name));
  Context context = CO_TRY(Context::create(model));
  CO_TRY(context.append(CO_TRY(co_await model.tokenize("abc"))));
  HostGeneration generation = CO_TRY(HostGeneration::start(context, {}, kTokenCount, {}));
  std::string line = name + ":";
  for (const DrawnToken& each : CO_TRY(co_await generation.next(kTokenCount))) {
    line += " " + std::to_string(each.token);
  }
  co_return line + "\n";
}

Task<Result<void>> program(std::vector<std::string>) {
  std::vector<Task<Result<std::string>>> tasks;
  for (const std::string& name : CO_TRY(Model::available())) tasks.push_back(go_on(name));
  for (Result<std::string>& line : co_await when_all(std::move(tasks))) {
    CO_TRY(session::send(CO_TRY(std::move(line))));
  }
  co_return {};
}

}  // namespace

QUIRE_MAIN(program)
