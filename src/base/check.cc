#include "base/check.h"

#include <cstdlib>
#include <string>

#include "base/last_words.h"

namespace quire {

void check_failed(const char* file, int line, const char* condition, const char* why) {
  say_last_words(std::string(file) + ":" + std::to_string(line) + ": check failed: " + condition +
                 " (" + why + ")\n");
  std::abort();
}

}  // namespace quire
