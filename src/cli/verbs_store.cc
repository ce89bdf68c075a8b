// Verbs about the page store, without a model.
#include <array>

#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr std::array<const char*, 3> kPolicyNames = {"default", "lru", "s3-fifo"};  // As the enum.
constexpr std::array<const char*, 2> kHints = {"none", "future"};

template <std::size_t N>
Result<std::size_t> index_of(const char* what, const std::string& text,
                             const std::array<const char*, N>& names) {
  std::string supported;
  for (std::size_t index = 0; index < N; ++index) {
    if (text == names[index]) return index;
    supported += (supported.empty() ? "" : ", ") + std::string(names[index]);
  }
  return Error(ErrorCode::InvalidArgument,
               std::string("unknown ") + what + " \"" + text + "\" (supported: " + supported + ")");
}

}  // namespace

Verb add_bench_pages(CLI::App& bench) {
  struct State {
    BenchPagesOptions options;
    std::string policy = "default";
    std::string hints = "none";
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = bench.add_subcommand(
      "pages", "Times of the page store's own work; with --trace, its hit rate");
  CLI::Option* trace =
      verb->add_option(
              "--trace", state->options.trace,
              "Requests as JSON lines with timestamp and hash_ids, or as runs (tests/traces); "
              "may be gzipped")
          ->type_name("FILE");
  CLI::Option* capacity =
      verb->add_option("--capacity", state->options.capacity, "Blocks that the store holds")
          ->type_name("N")
          ->transform(whole_within(1, 1 << 26))
          ->needs(trace);
  trace->needs(capacity);
  verb->add_option("--policy", state->policy, "Who is evicted: default, lru or s3-fifo")
      ->type_name("NAME")
      ->needs(trace)
      ->capture_default_str();
  verb->add_option("--hints", state->hints,
                   "What programs say: none, or future (will_resume of what the trace asks for "
                   "again, done of the rest)")
      ->type_name("NAME")
      ->needs(trace)
      ->capture_default_str();
  verb->add_option("--from", state->options.from,
                   "Count requests from this share of the trace on; those before warm the store")
      ->type_name("P")
      ->check(real_within(0.0, 1.0))
      ->needs(trace)
      ->capture_default_str();
  verb->add_option("--to", state->options.to, "Up to this share")
      ->type_name("P")
      ->check(real_within(0.0, 1.0))
      ->needs(trace)
      ->capture_default_str();
  verb->add_flag("--cold", state->options.is_cold_start, "Start with an empty store at --from")
      ->needs(trace);
  add_json(*verb, state->options.output);
  verb->footer(
      "Examples:\n  quire-bench pages --json\n  quire-bench pages --trace "
      "tests/traces/mooncake_synthetic.txt --capacity "
      "5000\n  quire-bench pages --trace trace.jsonl.gz --capacity 10000 --hints future --json");
  return {verb, [state]() -> Result<Request> {
            const std::size_t policy =
                TRY(index_of("eviction policy", state->policy, kPolicyNames));
            state->options.policy = static_cast<PagePolicyChoice>(policy);
            const std::size_t hints = TRY(index_of("source of hints", state->hints, kHints));
            state->options.hints_from_future = hints == 1;
            if (!(state->options.from < state->options.to)) {
              return Error(ErrorCode::InvalidArgument, "--from lies below --to");
            }
            return Request(state->options);
          }};
}

}  // namespace quire::cli
