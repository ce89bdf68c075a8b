// quire-make-runtime MODULE.wasm NAME VERSION FOLDER: a runtime for scripts
// (modules/runtime_image.h), made when quire is built.
#include <cstdio>
#include <string>

#include "main/modules/runtime_image.h"

int main(int argument_count, char** arguments) {
  if (argument_count != 5) {
    std::fprintf(stderr, "usage: %s MODULE.wasm NAME VERSION FOLDER\n", arguments[0]);
    return 2;
  }
  const quire::Result<void> made =
      quire::modules::make_runtime(arguments[1], arguments[2], arguments[3], arguments[4]);
  if (made.ok()) return 0;
  const std::string message(made.error().message());
  std::fprintf(stderr, "%s: %s\n", arguments[1], message.c_str());
  return 1;
}
