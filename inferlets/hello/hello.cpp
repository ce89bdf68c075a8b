// hello: the smallest program. It says where it runs and which models are there.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string name = "world";

  void read(OptionReader& in) { in.text("name", name, "Whom to greet"); }
};

Task<> program(Options options) {
  std::string text = "Hello, " + options.name + "! I am instance " +
                     std::to_string(runtime::instance_id()) + " of Quire " +
                     co_await runtime::version() + ".\n";
  for (const std::string& name : co_await Model::available()) {
    const Model model = co_await Model::open(name);
    text += "Model " + name + ": context of " + std::to_string(model.info().context_length) +
            " tokens, pages of " + std::to_string(model.info().page_size) + ".\n";
  }
  co_await session::send(text);
}

QUIRE_MAIN(program)
