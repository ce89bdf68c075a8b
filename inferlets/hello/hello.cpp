// hello: the smallest program. It says where it runs and which models are there.
#include "quire/quire.h"

namespace {

using namespace quire;

Task<> program(std::vector<std::string> command_line) {
  const Arguments arguments = co_await Arguments::parse(command_line, {.values = {"name"}});
  const std::string version = co_await runtime::version();
  std::string text = "Hello, " + arguments.text("name", "world") + "! I am instance " +
                     std::to_string(runtime::instance_id()) + " of Quire " + version + ".\n";
  for (const std::string& name : co_await Model::available()) {
    const Model model = co_await Model::open(name);
    text += "Model " + name + ": context of " + std::to_string(model.info().context_length) +
            " tokens, pages of " + std::to_string(model.info().page_size) + ".\n";
  }
  co_return co_await session::send(text);
}

}  // namespace

QUIRE_MAIN(program)
