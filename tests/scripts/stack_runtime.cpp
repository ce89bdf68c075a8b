// A runtime for scripts in a small language, for tests: words between blanks, on a stack of
// numbers.
//
//   7 0x10        push            + *      of the upper two        .        sends the uppermost
//   use FILE      runs a file     arg      pushes the count of arguments
//   random        pushes one      loop     forever                 fill     takes memory forever
//   nap           sleeps 50 ms    trap     ends the instance       recurse  calls itself forever
//
// init() makes the table of words, on the heap, as an interpreter makes its own.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bindings.h"

extern "C" {
__attribute__((import_module("quire:script@1"), import_name("size"))) std::int32_t script_size();
__attribute__((import_module("quire:script@1"), import_name("read"))) std::int32_t script_read(
    std::uint32_t offset, void* into, std::uint32_t capacity);
}

namespace {

using quire::abi::runtime::log;

struct Machine;
using Word = bool (*)(Machine&);

struct Place {
  std::string_view file;
  int line = 1;
};

struct Machine {
  std::map<std::string_view, std::string_view> files;
  std::vector<std::int64_t> stack;
  std::string failure;
  int depth = 0;
};

std::map<std::string, Word, std::less<>>* words = nullptr;  // Made by init().
double started = 0;                                         // Set by init(), as a global would be.

bool fail(Machine& machine, std::string why) {
  if (machine.failure.empty()) machine.failure = std::move(why);
  return false;
}

void send(const std::string& text) {
  (void)quire::abi::session::send(reinterpret_cast<const std::uint8_t*>(text.data()),
                                  static_cast<std::uint32_t>(text.size()));
}

template <typename Operation>
bool binary(Machine& machine, Operation operation) {
  if (machine.stack.size() < 2) return fail(machine, "the stack holds fewer than two numbers");
  const std::int64_t right = machine.stack.back();
  machine.stack.pop_back();
  machine.stack.back() = operation(machine.stack.back(), right);
  return true;
}

volatile int turns = 0;

int recurse(int depth) {
  volatile char here[256];
  here[0] = static_cast<char>(depth);
  if (turns < 0) return 0;
  return recurse(depth + 1) + here[0];
}

void add_words() {
  auto& table = *words;
  table["+"] = [](Machine& m) { return binary(m, [](auto a, auto b) { return a + b; }); };
  table["*"] = [](Machine& m) { return binary(m, [](auto a, auto b) { return a * b; }); };
  table["."] = [](Machine& m) {
    if (m.stack.empty()) return fail(m, "the stack is empty");
    send(std::to_string(m.stack.back()) + "\n");
    m.stack.pop_back();
    return true;
  };
  table["arg"] = [](Machine& m) {
    m.stack.push_back(quire::abi::runtime::get_arg_count());
    return true;
  };
  table["random"] = [](Machine& m) {
    std::int64_t value = 0;
    (void)quire::abi::runtime::random(&value, sizeof value);
    m.stack.push_back(value);
    return true;
  };
  table["started"] = [](Machine& m) {
    m.stack.push_back(static_cast<std::int64_t>(started * 2));
    return true;
  };
  table["nap"] = [](Machine&) {
    const std::int32_t future = quire::abi::runtime::sleep(50'000'000);
    (void)quire::abi::future::wait(&future, 1, -1);
    return true;
  };
  table["loop"] = [](Machine&) {
    while (true) turns = turns + 1;
    return true;
  };
  table["fill"] = [](Machine& m) {
    while (true) {
      void* volatile more = std::malloc(1u << 20);
      if (more == nullptr) return fail(m, "no memory is left");
      std::memset(more, 1, 1u << 20);
    }
  };
  table["recurse"] = [](Machine& m) {
    m.stack.push_back(recurse(0));
    return true;
  };
  table["trap"] = [](Machine&) {
    __builtin_trap();
    return true;
  };
}

bool run_file(Machine& machine, std::string_view path);

bool run_word(Machine& machine, std::string_view word) {
  const auto known = words->find(word);
  if (known != words->end()) return known->second(machine);
  const std::string text(word);
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 0);
  if (*end != '\0') return fail(machine, "no word \"" + text + "\"");
  machine.stack.push_back(number);
  return true;
}

bool run_file(Machine& machine, std::string_view path) {
  const auto file = machine.files.find(path);
  if (file == machine.files.end()) return fail(machine, "no file \"" + std::string(path) + "\"");
  if (++machine.depth > 100) return fail(machine, "files use one another 100 deep");
  std::string_view rest = file->second;
  Place place{path};
  bool is_use = false;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (!word.empty()) {
      const bool done = is_use ? run_file(machine, word) : word == "use" || run_word(machine, word);
      is_use = !is_use && word == "use";
      if (!done) {
        const std::string at = std::string(place.file) + ":" + std::to_string(place.line) + ": ";
        if (machine.failure.find(": ") == std::string::npos) machine.failure.insert(0, at);
        return false;
      }
    }
    if (end < rest.size() && rest[end] == '\n') ++place.line;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  --machine.depth;
  return true;
}

// The bundle as the host gives it; the host has checked it.
struct Reader {
  std::string_view rest;
  std::uint32_t number() {
    std::uint32_t value;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text() {
    const std::uint32_t bytes = number();
    const std::string_view text = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return text;
  }
};

std::int32_t failed(const std::string& why) {
  constexpr std::uint32_t kError = 3;
  (void)log(kError, reinterpret_cast<const std::uint8_t*>(why.data()),
            static_cast<std::uint32_t>(why.size()));
  return 1;
}

}  // namespace

extern "C" __attribute__((export_name("init"))) void init() {
  words = new std::map<std::string, Word, std::less<>>();
  add_words();
  started = 20.5;
}

extern "C" __attribute__((export_name("run"))) std::int32_t run() {
  const std::int32_t bytes = script_size();
  if (bytes < 0) return failed("no script");
  std::string bundle(static_cast<std::size_t>(bytes), '\0');
  for (std::uint32_t at = 0; at < bundle.size();) {  // In parts, as a runtime may.
    const std::int32_t part = script_read(at, bundle.data() + at, 1000);
    if (part <= 0) return failed("the script cannot be read");
    at += static_cast<std::uint32_t>(part);
  }
  if (script_read(static_cast<std::uint32_t>(bytes) + 1, bundle.data(), 1) >= 0) {
    return failed("bytes after the end");
  }
  Reader reader{bundle};
  reader.rest.remove_prefix(4);
  reader.text();
  reader.text();
  reader.rest.remove_prefix(32);
  Machine machine;
  for (std::uint32_t left = reader.number(); left > 0; --left) {
    const std::string_view path = reader.text();
    machine.files[path] = reader.text();
  }
  return run_file(machine, reader.text()) ? 0 : failed(machine.failure);
}
