// A program that takes of what the whole server shares: the first argument is what, the second
// how much.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "quire/quire.h"

namespace {

using namespace quire;

// Steps of a chain that no compiler shortens.
std::uint64_t spin(std::uint64_t million_count) {
  std::uint64_t state = million_count;
  for (std::uint64_t i = 0; i < million_count * 1'000'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
  }
  return state;
}

// Memory that has been written, until the program is ended.
Task<> hold(std::size_t mebibyte_count) {
  std::vector<std::unique_ptr<char[]>> all;
  for (std::size_t i = 0; i < mebibyte_count; ++i) {
    all.push_back(std::make_unique_for_overwrite<char[]>(1 << 20));
    std::memset(all.back().get(), 1, 1 << 20);
  }
  co_await session::send("held");
  co_await sleep(std::chrono::hours(1));
}

// Snapshots that share no page, until one is refused or there are so many.
Task<> save(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t number = 0;
    co_await runtime::random(std::as_writable_bytes(std::span(&number, 1)));
    const std::string name = std::to_string(number);
    Context context = co_await Context::create();
    std::string text = name;
    while (text.size() < 400) text += " and one more";
    co_await context.append_text(text);
    co_await context.flush();
    co_await context.save(name);
    co_await session::send("saved");
  }
}

Task<> program(std::vector<std::string> arguments) {
  const std::string& what = arguments.at(0);
  const std::uint64_t much = std::stoull(arguments.at(1));
  co_await session::send("begin");
  if (what == "spin") co_await session::send(std::to_string(spin(much)));
  if (what == "hold") co_await hold(much);
  if (what == "save") co_await save(much);
  if (what == "put") co_await store::put("key", std::string(much, 'v'));
}

}  // namespace

QUIRE_MAIN(program)
