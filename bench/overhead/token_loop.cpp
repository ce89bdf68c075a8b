// The guest of `quire-bench overhead`: one way of making tokens, the most probable each. It
// computes a prompt, says that it is ready, waits for the word, makes its tokens and ends.
//
//   token_loop WAY SEED PROMPT_TOKENS TOKENS
#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "quire/quire.h"

namespace {

using namespace quire;

constexpr std::uint32_t kWholeTopK = 256;

struct Plan {
  std::string way;
  std::vector<std::uint32_t> prompt;
  std::uint32_t token_count = 0;
};

// From the middle of the vocabulary, where no special tokens are; another text for each seed.
std::vector<std::uint32_t> prompt_of(std::uint64_t seed, std::size_t count, std::uint32_t size) {
  std::vector<std::uint32_t> tokens(count);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::uint32_t& token : tokens) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    token = size / 4 + static_cast<std::uint32_t>(state >> 33) % (size / 2);
  }
  return tokens;
}

Task<> wait_for_word() {
  co_await session::send("ready");
  co_await session::receive();
}

// The loop of the host; the program takes each token.
Task<> by_host(Context context, std::uint32_t count) {
  Drawer drawer;
  detail::HostLoop loop =
      co_await detail::HostLoop::start(context.model(), context.handle(), drawer, count, {});
  while ((co_await loop.next()).end == DrawEnd::None) {
  }
}

Task<> by_device(Context context, std::uint32_t count) {
  Drawer drawer;
  for (std::uint32_t i = 0; i < count; ++i) {
    const DrawnToken drawn = co_await context.draw(drawer);
    co_await context.append(drawn.token);
  }
}

Task<> by_distribution(Context context, std::uint32_t count, std::uint32_t top_k) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const Distribution next = co_await context.next_distribution(top_k);
    co_await context.append(next.tokens.front());
  }
}

// The program waits for these steps, instead of giving the device all of a token's work at once.
struct Waits {
  bool for_embedding = false;
  bool for_forward = false;
};

// Pages and embeds by hand. The context only computes the prompt; its pages are read.
Task<> by_hand(const Model& model, const Plan& plan, Waits waits) {
  const Queue queue = co_await Queue::create(model);
  const std::uint32_t page_size = model.info().page_size;
  const auto prompt_count = static_cast<std::uint32_t>(plan.prompt.size());
  KvPages pages =
      co_await KvPages::allocate(queue, (prompt_count + plan.token_count + page_size) / page_size);
  Embeds inputs = co_await Embeds::allocate(queue, prompt_count);
  Embeds output = co_await Embeds::allocate(queue, 1);
  std::vector<std::uint32_t> positions(prompt_count);
  std::iota(positions.begin(), positions.end(), 0u);
  co_await embed_txt(queue, inputs.handles(), plan.prompt, positions);
  co_await forward(queue, {.input_pages = {},
                           .input_embeds = inputs.handles(),
                           .output_pages = pages.handles(),
                           .output_embeds = output.handles()});
  Distribution next = co_await get_next_dist(queue, output[0], 1);
  co_await wait_for_word();
  for (std::uint32_t i = 0; i < plan.token_count; ++i) {
    const std::uint32_t at = prompt_count + i;
    const std::array<std::uint32_t, 1> token = {next.tokens.front()};
    const std::array<std::uint32_t, 1> position = {at};
    const std::array<std::int32_t, 1> input = {inputs[0]};
    co_await embed_txt(queue, input, token, position);
    if (waits.for_embedding) co_await queue.synchronize();
    const std::span<const std::int32_t> all = pages.handles();
    Future<void> passed =
        forward(queue, {.input_pages = all.first((at + page_size - 1) / page_size),
                        .input_embeds = input,
                        .output_pages = all.subspan(at / page_size),
                        .output_embeds = output.handles()});
    if (waits.for_forward) co_await std::move(passed);
    next = co_await get_next_dist(queue, output[0], 1);
  }
}

Task<> program(std::vector<std::string> words) {
  std::array<std::uint64_t, 3> numbers{};
  if (words.size() != 4) co_await fail(ErrorCode::InvalidArgument, "WAY SEED PROMPT TOKENS");
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string& text = words[i + 1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), numbers[i]);
    if (error != std::errc() || end != text.data() + text.size()) {
      co_await fail(ErrorCode::InvalidArgument, text + " is not a number");
    }
  }
  const Model model = co_await Model::open();
  const Plan plan{.way = words[0],
                  .prompt = prompt_of(numbers[0], numbers[1], model.info().vocabulary_size),
                  .token_count = static_cast<std::uint32_t>(numbers[2])};
  if (plan.way == "by-hand") co_return co_await by_hand(model, plan, {});
  if (plan.way == "separate-sampling") {
    co_return co_await by_hand(model, plan, {.for_forward = true});
  }
  if (plan.way == "separate-embedding") {
    co_return co_await by_hand(model, plan, {.for_embedding = true});
  }
  Context context = co_await Context::create(model);
  co_await context.append(plan.prompt);
  const Distribution first = co_await context.next_distribution(1);
  co_await context.append(first.tokens.front());
  co_await wait_for_word();
  if (plan.way == "generate") co_return co_await by_host(std::move(context), plan.token_count);
  if (plan.way == "forward-sample")
    co_return co_await by_device(std::move(context), plan.token_count);
  if (plan.way == "context")
    co_return co_await by_distribution(std::move(context), plan.token_count, 1);
  if (plan.way == "distribution") {
    co_return co_await by_distribution(std::move(context), plan.token_count, kWholeTopK);
  }
  co_await fail(ErrorCode::InvalidArgument, "no such way: " + plan.way);
}

}  // namespace

QUIRE_MAIN(program)
