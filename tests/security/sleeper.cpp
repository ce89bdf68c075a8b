// A program that holds its place until it is ended.
#include "quire/quire.h"

namespace {

using namespace quire;

Task<> program(std::vector<std::string>) {
  co_await sleep(std::chrono::hours(1));
}

}  // namespace

QUIRE_MAIN(program)
