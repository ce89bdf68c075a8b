// The guest of `quire-bench calls`: for each message it makes calls, and answers with the times at
// which they began and ended, on the server's clock.
//
//   call_loop control | device
#include <array>

#include "quire/quire.h"

namespace {

using namespace quire;

constexpr int kCallsOfABlock = 64;  // Of the control layer: one is shorter than the clock's step.

// `call_count` calls from `begin_ns` to `end_ns`, after one from `alone_ns` to `begin_ns`.
std::string times(std::int64_t alone_ns, std::int64_t begin_ns, std::int64_t end_ns,
                  int call_count) {
  return std::to_string(alone_ns) + " " + std::to_string(begin_ns) + " " + std::to_string(end_ns) +
         " " + std::to_string(call_count);
}

bool makes_control_call() {
  std::array<char, 16> buffer{};
  return abi::runtime::get_arg(0, buffer.data(), buffer.size()) >= 0;
}

Task<> control_calls() {
  co_await session::send("ready");
  for (;;) {
    const Result<std::string> word = co_await attempt(session::receive());
    if (!word.ok()) co_return;  // The benchmark is done.
    const std::int64_t alone_ns = abi::runtime::clock_now();
    bool is_made = makes_control_call();
    const std::int64_t begin_ns = abi::runtime::clock_now();
    for (int i = 0; i < kCallsOfABlock; ++i) is_made &= makes_control_call();
    const std::int64_t end_ns = abi::runtime::clock_now();
    if (!is_made) co_await fail(ErrorCode::Internal, "get-arg failed");
    co_await session::send(times(alone_ns, begin_ns, end_ns, kCallsOfABlock));
  }
}

// A pass over one embedding that reads and writes no page.
Task<> device_calls() {
  const Model model = co_await Model::open();
  const Queue queue = co_await Queue::create(model);
  const Embeds input = co_await Embeds::allocate(queue, 1);
  const Embeds output = co_await Embeds::allocate(queue, 1);
  const std::array<std::uint32_t, 1> token = {1};
  const std::array<std::uint32_t, 1> position = {0};
  co_await embed_txt(queue, input.handles(), token, position);
  co_await session::send("ready");
  for (;;) {
    const Result<std::string> word = co_await attempt(session::receive());
    if (!word.ok()) co_return;
    const std::int64_t begin_ns = abi::runtime::clock_now();
    co_await forward(queue, {.input_embeds = input.handles(), .output_embeds = output.handles()})
        .wait();
    co_await session::send(times(begin_ns, begin_ns, abi::runtime::clock_now(), 1));
  }
}

Task<> program(std::vector<std::string> words) {
  if (words.size() == 1 && words[0] == "control") co_return co_await control_calls();
  if (words.size() == 1 && words[0] == "device") co_return co_await device_calls();
  co_await fail(ErrorCode::InvalidArgument, "control or device");
}

}  // namespace

QUIRE_MAIN(program)
