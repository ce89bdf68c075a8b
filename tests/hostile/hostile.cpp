// hostile: a program that wants too much of one thing, which its first argument names. What stops
// it is a limit of its own: an error of a call, which it ends with, or an end that it cannot
// prevent.
#include <cstdlib>
#include <cstring>

#include "quire/quire.h"

namespace {

using namespace quire;

std::string last_error() {
  std::string text(512, '\0');
  const std::int32_t count = abi::runtime::last_error(text.data(), 512);
  text.resize(static_cast<std::size_t>(std::clamp(count, 0, 512)));
  return text;
}

// Until the call is refused; a program that is not stopped says so.
template <typename Call>
Result<void> until_refused(std::uint64_t count_max, Call call) {
  for (std::uint64_t i = 0; i < count_max; ++i) {
    const std::int64_t value = call(i);
    if (value >= 0) continue;
    return Error{static_cast<ErrorCode>(-value), last_error()};
  }
  return Error{ErrorCode::Internal, "nothing stopped it"};
}

// The same, and then it asks again and again with all that it has, until its time is over. It must
// hold everything while the victim computes, and a refusal costs the server time too.
constexpr std::int64_t kInsistNs = 250'000'000;
template <typename Call>
Result<void> insist(std::uint64_t count_max, Call call) {
  const Result<void> stopped = until_refused(count_max, call);
  const std::int64_t begun_ns = abi::runtime::clock_now();
  for (std::uint64_t i = count_max; abi::runtime::clock_now() - begun_ns < kInsistNs; ++i) call(i);
  return stopped;
}

void wait_for(std::int32_t future) {
  abi::future::wait(&future, 1, -1);
}

// Calls itself where no compiler sees it, with nothing in memory: what runs out is the host's
// stack.
std::uint64_t recurse(std::uint64_t depth);
std::uint64_t (*volatile recurse_again)(std::uint64_t) = recurse;
std::uint64_t recurse(std::uint64_t depth) {
  return recurse_again(depth + 1) ^ depth;
}

// The recursion ends its program: children do it one after another, and then the program itself.
Result<void> recurse_over_and_over() {
  const std::uint8_t arguments[] = "\7\0\0\0recurse";
  const std::int64_t begun_ns = abi::runtime::clock_now();
  while (abi::runtime::clock_now() - begun_ns < kInsistNs) {
    const std::int32_t child =
        abi::runtime::launch(nullptr, 0, arguments, sizeof arguments - 1, 50);
    if (child < 0) return Error{static_cast<ErrorCode>(-child), last_error()};
    wait_for(abi::runtime::wait_child(child));
    abi::future::drop(child);
  }
  return Error{ErrorCode::Internal, "it came back: " + std::to_string(recurse(0))};
}

Result<void> grow() {
  // All of it is touched, so that it is there; most of it again and again, before the rest is
  // wanted, because that ends it.
  constexpr std::size_t kMostPageCount = 1792;  // Of 65,536 bytes; 2,048 are allowed.
  const std::size_t first = __builtin_wasm_memory_size(0);
  bool has_insisted = false;
  for (;;) {
    const std::size_t before = __builtin_wasm_memory_grow(0, 16);
    if (before == SIZE_MAX) break;
    std::memset(reinterpret_cast<void*>(before * 65536), 1, 16 * 65536);
    if (has_insisted || before < kMostPageCount) continue;
    has_insisted = true;
    const std::int64_t begun_ns = abi::runtime::clock_now();
    for (int value = 2; abi::runtime::clock_now() - begun_ns < kInsistNs; ++value) {
      std::memset(reinterpret_cast<void*>(first * 65536), value, (before - first) * 65536);
    }
  }
  const std::string limits = TRY(runtime::limits());
  const std::size_t at = limits.find("memory_bytes_max");
  return Error{ErrorCode::QuotaExceeded, limits.substr(at, limits.find('\n', at) - at)};
}

// A few at a time, so that all there are come; what is refused is asked for again, for a second.
Result<void> hoard(std::int32_t queue) {
  std::int32_t pages[4] = {};
  for (int refused = 0;;) {
    std::int32_t code = abi::allocate::alloc_kvpage(queue, 4, pages);
    if (code >= 0) {
      const std::int32_t copied = abi::allocate::copy_kvpage(queue, pages[0], pages[0], 0, 0, 0);
      wait_for(copied);
      code = abi::future::take(copied, nullptr, 0);
    }
    if (code >= 0) continue;
    if (++refused == 100) return Error{static_cast<ErrorCode>(-code), last_error()};
    abi::future::wait(nullptr, 0, 10'000'000);
  }
}

Result<void> spawn() {
  // Each child does the same, on the same budget.
  const std::uint8_t arguments[] = "\5\0\0\0spawn";
  const Result<void> stopped = until_refused(10'000, [&](std::uint64_t) {
    return abi::runtime::launch(nullptr, 0, arguments, sizeof arguments - 1, 0);
  });
  abi::future::wait(nullptr, 0, 200'000'000);  // While its children do it too.
  return stopped;
}

// Children that say more than this one hears, and end: each keeps its place until it is heard.
Result<void> leave_unheard() {
  const std::uint8_t arguments[] = "\7\0\0\0chatter";
  return insist(10'000, [&](std::uint64_t) {
    abi::future::wait(nullptr, 0, 1'000'000);
    return abi::runtime::launch(nullptr, 0, arguments, sizeof arguments - 1, 1);
  });
}

// Computes for nearly a slice and waits for a nanosecond, over and over.
[[noreturn]] void nap() {
  for (;;) {
    const std::int64_t begun_ns = abi::runtime::clock_now();
    while (abi::runtime::clock_now() - begun_ns < 700'000) {
    }
    abi::future::wait(nullptr, 0, 1);
  }
}

// Reads of one output, each of the whole vocabulary, whose answers are not taken. The device is at
// it for a while.
Result<void> read_for_nobody(std::int32_t queue) {
  constexpr std::uint32_t kAll = 1u << 30;
  std::int32_t embed = 0;
  const std::uint32_t token = 1;
  const std::uint32_t position = 0;
  if (abi::allocate::alloc_emb(queue, 1, &embed) < 0 ||
      abi::input::embed_txt(queue, &embed, 1, &token, 1, &position, 1) < 0) {
    return Error{ErrorCode::Internal, last_error()};
  }
  wait_for(
      abi::forward::forward(queue, nullptr, 0, &embed, 1, nullptr, 0, &embed, 1, nullptr, 0, 0));
  // Reads after one that is kept wait for their turn, and one that waits is not taken back. Some
  // more are kept, for all before may be done when this goes on after a cut: then each would be.
  constexpr std::uint64_t kKeptEach = 64;
  const Result<void> stopped = until_refused(10'000'000, [&](std::uint64_t i) {
    const std::int32_t read = abi::output::get_next_dist(queue, embed, kAll);
    if (read >= 0 && i % kKeptEach > 0) abi::future::drop(read);
    return read;
  });
  abi::future::wait(nullptr, 0, 500'000'000);
  return stopped;
}

Result<void> flood_sleeper() {
  const std::uint8_t arguments[] = "\5\0\0\0sleep";
  const std::int32_t child = abi::runtime::launch(nullptr, 0, arguments, sizeof arguments - 1, 50);
  if (child < 0) return Error{static_cast<ErrorCode>(-child), last_error()};
  const std::string message(4096, 'a');
  return insist(10'000'000, [&](std::uint64_t) {
    return abi::runtime::send_child(child, detail::bytes_of(message), 4096);
  });
}

Result<void> want(const std::string& what, const std::string& url) {
  if (what == "loop") {
    for (;;) asm volatile("");
  }
  if (what == "naps") nap();
  if (what == "unheard") return leave_unheard();
  if (what == "chatter") {
    return until_refused(1024, [](std::uint64_t) {
      return abi::session::send(reinterpret_cast<const std::uint8_t*>("a"), 1);
    });
  }
  if (what == "recursion") return recurse_over_and_over();
  if (what == "recurse") {
    return Error{ErrorCode::Internal, "it came back: " + std::to_string(recurse(0))};
  }
  if (what == "memory") return grow();
  if (what == "handles") {
    return insist(1'000'000, [](std::uint64_t) { return abi::runtime::sleep(INT64_MAX); });
  }
  if (what == "spawn") return spawn();
  if (what == "sleep") {
    wait_for(abi::runtime::sleep(INT64_MAX));
    return {};
  }
  if (what == "messages") return flood_sleeper();
  const std::uint8_t topic[] = "flood";
  if (what == "mailbox") {  // A subscriber that does not take what comes: itself.
    abi::messaging::subscribe(topic, 5);
    const std::string message(4096, 'a');
    return insist(10'000'000, [&](std::uint64_t) {
      return abi::messaging::broadcast(topic, 5, detail::bytes_of(message), 4096);
    });
  }
  if (what == "http") {
    const std::uint8_t get[] = "GET";
    return insist(1'000'000, [&](std::uint64_t) {
      return abi::net::http_request(get, 3, detail::bytes_of(url),
                                    static_cast<std::uint32_t>(url.size()), nullptr, 0, 0);
    });
  }
  const std::string line(65'536, 'x');
  if (what == "output") {
    return insist(10'000'000, [&](std::uint64_t) {
      return abi::session::send(detail::bytes_of(line), 65'536);
    });
  }
  if (what == "log") {
    return insist(10'000'000, [&](std::uint64_t) {
      return abi::runtime::log(1, detail::bytes_of(line), 4000);
    });
  }
  const std::int32_t model = abi::models::get_model(nullptr, 0);
  const std::int32_t queue = abi::queue::create_queue(model, 2);
  if (what == "pages") return hoard(queue);
  if (what == "reads") return read_for_nobody(queue);
  if (what == "contexts") {
    return insist(1'000'000, [&](std::uint64_t) { return abi::context::create(queue); });
  }
  if (what == "tokens") {  // Queued, never computed.
    const std::int32_t context = abi::context::create(queue);
    const std::vector<std::uint32_t> tokens(65'536, 1);
    return insist(1'000'000, [&](std::uint64_t) {
      return abi::context::append(context, tokens.data(), 65'536);
    });
  }
  return Error{ErrorCode::InvalidArgument, "nothing is called " + what};
}

Task<> program(std::vector<std::string> arguments) {
  if (arguments.empty()) co_await fail(ErrorCode::InvalidArgument, "say what is wanted");
  if (arguments.size() > 1) co_await session::send("BEGUN\n");  // Children have no URL.
  co_return co_await want(arguments[0], arguments.size() > 1 ? arguments[1] : "");
}

}  // namespace

QUIRE_MAIN(program)
