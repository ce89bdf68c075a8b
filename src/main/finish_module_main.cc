// quire-finish-module FILE...: finish_module (modules/finish_module.h) for the build of this
// repository, whose programs are linked before `quire` exists.
#include <cstdio>
#include <string>

#include "main/modules/finish_module.h"

int main(int argument_count, char** arguments) {
  if (argument_count < 2) {
    std::fprintf(stderr, "usage: %s FILE.wasm...\n", arguments[0]);
    return 2;
  }
  for (int i = 1; i < argument_count; ++i) {
    const quire::Result<std::string> finished =
        quire::modules::finish_module_file(arguments[i], arguments[i]);
    if (!finished.ok()) {
      const std::string message(finished.error().message());
      std::fprintf(stderr, "%s: %s\n", arguments[i], message.c_str());
      return 1;
    }
    if (!finished.value().empty()) {
      std::fprintf(stderr, "warning: %s has no options for --help: %s\n", arguments[i],
                   finished.value().c_str());
    }
  }
  return 0;
}
