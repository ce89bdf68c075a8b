// notes: what one run writes down the next one reads, also after the server was away. Programs of
// one tenant share the notes; two that add at once both find theirs.
#include <algorithm>
#include <cstdlib>

#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string note;
  std::uint64_t deleted = 0;

  void read(OptionReader& in) {
    in.words("note", note, "What to write down");
    in.number("delete", deleted, "The number of a note to delete", {0, 99'999'999});
  }
};

constexpr std::string_view kPrefix = "notes/";

// So that keys sort as numbers do.
std::string key_of(std::uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 8 - std::min<std::size_t>(8, digits.size()), '0');
  return std::string(kPrefix) + digits;
}

std::uint64_t number_of(const std::string& key) {
  return std::strtoull(key.c_str() + kPrefix.size(), nullptr, 10);
}

Task<std::uint64_t> add(std::string text) {
  const std::vector<store::Key> keys = co_await store::all_keys(std::string(kPrefix));
  std::uint64_t number = 1;
  if (!keys.empty()) number = number_of(keys.back().name) + 1;
  for (;; ++number) {
    const Result<std::uint64_t> put =
        co_await attempt(store::put(key_of(number), text, store::Expected::none()));
    if (put.ok()) co_return number;
    // Another program took that number in between.
    if (put.error().code != ErrorCode::AlreadyExists) co_await fail(put.error());
  }
}

Task<> list() {
  for (const store::Key& each : co_await store::all_keys(std::string(kPrefix))) {
    Result<store::Value> value = co_await attempt(store::get(each.name));
    if (!value.ok() && value.error().code == ErrorCode::NotFound) continue;  // Deleted since.
    const store::Value note = co_await std::move(value);
    co_await session::send(std::to_string(number_of(each.name)) + " " + note.bytes + "\n");
  }
}

Task<> program(Options options) {
  if (options.deleted > 0) co_await store::remove(key_of(options.deleted));
  if (!options.note.empty()) co_await add(options.note);
  co_await list();
}

QUIRE_MAIN(program)
