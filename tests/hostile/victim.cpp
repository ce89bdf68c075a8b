// victim: eight streams of sampled tokens, whose every token depends on all before it. It sends
// "BEGUN" before the first, then the tokens of each stream, and how long its streams waited between
// tokens. Arguments: how many tokens a stream has, and "--gaps" for the waits, which differ from
// run to run.
#include <algorithm>
#include <cstdlib>

#include "quire/quire.h"

namespace {

using namespace quire;

constexpr std::uint32_t kStreamCount = 8;
constexpr std::uint32_t kPromptTokenCount = 40;

struct Stream {
  std::string text;
  std::vector<std::int64_t> gaps_ns;
};

Task<Stream> stream(Context fork, std::uint64_t seed, std::uint32_t token_count) {
  Stream out;
  Drawer drawer({.temperature = 1.0}, seed);
  std::int64_t last_ns = abi::runtime::clock_now();
  for (std::uint32_t i = 0; i < token_count; ++i) {
    const DrawnToken drawn = co_await fork.draw(drawer);
    co_await fork.append(drawn.token);
    out.text += " " + std::to_string(drawn.token);
    const std::int64_t now_ns = abi::runtime::clock_now();
    out.gaps_ns.push_back(now_ns - last_ns);
    last_ns = now_ns;
  }
  co_return out;
}

Task<> program(std::vector<std::string> arguments) {
  const auto token_count =
      static_cast<std::uint32_t>(arguments.empty() ? 100 : std::atoi(arguments[0].c_str()));
  const Model model = co_await Model::open();
  Context context = co_await Context::create(model);
  for (std::uint32_t i = 0; i < kPromptTokenCount; ++i) co_await context.append(3 + i * 7 % 50);
  co_await context.flush();
  co_await session::send("BEGUN\n");
  std::vector<Task<Stream>> tasks;
  for (std::uint32_t i = 0; i < kStreamCount; ++i) {
    tasks.push_back(stream(co_await context.fork(), i, token_count));
  }
  std::string text;
  std::vector<std::int64_t> gaps_ns;
  for (Result<Stream>& each : co_await when_all(std::move(tasks))) {
    const Stream one = co_await std::move(each);
    text += "STREAM" + one.text + "\n";
    gaps_ns.insert(gaps_ns.end(), one.gaps_ns.begin(), one.gaps_ns.end());
  }
  if (arguments.size() > 1 && arguments[1] == "--gaps") {
    std::sort(gaps_ns.begin(), gaps_ns.end());
    text += "GAPS_US " + std::to_string(gaps_ns[gaps_ns.size() / 2] / 1000) + " " +
            std::to_string(gaps_ns[gaps_ns.size() * 99 / 100] / 1000) + " " +
            std::to_string(gaps_ns.back() / 1000) + "\n";
  }
  co_return co_await session::send(text);
}

}  // namespace

QUIRE_MAIN(program)
