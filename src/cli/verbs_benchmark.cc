// What `quire bench` measures with a model. (`quire-bench pages` needs none: verbs_store.cc.)
#include "cli/verb.h"

namespace quire::cli {
namespace {

struct State {
  BenchOptions options;
  EngineFlags engine;
};
using SharedState = std::shared_ptr<State>;

SharedState state_of(BenchKind kind) {
  auto state = std::make_shared<State>();
  state->options.kind = kind;
  return state;
}

void add_count(CLI::App& verb, const char* name, std::uint32_t& value, const char* meaning,
               std::uint32_t least = 1, std::uint32_t most = 1u << 20) {
  verb.add_option(name, value, meaning)
      ->type_name("N")
      ->transform(whole_within(least, most))
      ->capture_default_str();
}

void add_counts(CLI::App& verb, const char* name, std::vector<std::uint32_t>& values,
                const char* meaning) {
  verb.add_option(name, values, meaning)
      ->delimiter(',')
      ->type_name("N,N,...")
      ->transform(whole_within(1, 1 << 20))
      ->capture_default_str();
}

void add_repetitions(CLI::App& verb, SharedState& state) {
  add_count(verb, "--repetitions", state->options.repetitions, "Runs; the median is reported", 1,
            1000);
}

void add_report(CLI::App& verb, SharedState& state, const char* which) {
  verb.add_option("--kv-report", state->options.kv_report_file,
                  std::string("Write where pages were and why tokens were computed to FILE, for "
                              "`quire kv tree FILE` and `quire kv why FILE`: ") +
                      which)
      ->type_name("FILE");
}

Verb finished(CLI::App& verb, SharedState state, const char* examples) {
  state->engine.add_all(verb);
  add_json(verb, state->options.output);
  verb.footer(std::string("Examples:\n") + examples);
  return {&verb, [state]() -> Result<Request> {
            state->options.engine = TRY(state->engine.finish());
            return Request(state->options);
          }};
}

Verb add_kv(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Kv);
  CLI::App* verb = bench.add_subcommand("kv", "Why pages win: basic against paged, by length");
  add_counts(*verb, "--lengths", state->options.lengths, "Tokens of the sequence");
  return finished(*verb, state, "  quire bench kv\n  quire bench kv --lengths 1024,4096 --json");
}

Verb add_generate_speed(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Generate);
  CLI::App* verb = bench.add_subcommand("generate", "Tokens a second: prefill, decode, streams");
  add_count(*verb, "--prompt-tokens", state->options.prompt_tokens, "Tokens of a prompt");
  add_count(*verb, "--decode-tokens", state->options.decode_tokens, "Tokens generated");
  add_count(*verb, "--depth", state->options.depth, "Tokens of a sequence before those");
  add_counts(*verb, "--streams", state->options.streams, "Sequences at once");
  add_repetitions(*verb, state);
  return finished(
      *verb, state,
      "  quire bench generate --threads 2\n  quire bench generate --streams 1,16 --json");
}

Verb add_restore(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Restore);
  CLI::App* verb =
      bench.add_subcommand("restore", "A snapshot opened from disk, against computing it again");
  add_count(*verb, "--tokens", state->options.tokens, "Tokens of the snapshot");
  add_repetitions(*verb, state);
  add_report(*verb, state, "of one more restore, not timed");
  return finished(*verb, state, "  quire-bench restore\n  quire-bench restore --tokens 512 --json");
}

Verb add_pressure(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Pressure);
  state->options.streams = {16};
  state->options.prompt_tokens = 128;
  state->options.decode_tokens = 192;
  CLI::App* verb =
      bench.add_subcommand("pressure", "Conversations in a quarter of the pages that they need");
  add_count(*verb, "--conversations", state->options.streams.front(), "At once", 4, 4096);
  add_count(*verb, "--prompt-tokens", state->options.prompt_tokens, "Tokens of a prompt");
  add_count(*verb, "--decode-tokens", state->options.decode_tokens, "Tokens generated");
  add_repetitions(*verb, state);
  add_report(*verb, state, "of one more run in the small pool, not timed");
  return finished(*verb, state,
                  "  quire-bench pressure\n  quire-bench pressure --conversations 8 --json\n"
                  "  quire-bench pressure --kv-report report.json && quire kv why report.json");
}

Verb add_sink(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Sink);
  state->options.tokens = 20'000;
  CLI::App* verb =
      bench.add_subcommand("sink", "Time and pages of a token after an attention sink");
  add_count(*verb, "--tokens", state->options.tokens, "Tokens generated", 2000, 1u << 24);
  add_report(*verb, state, "of the run itself, which it slows a little");
  return finished(*verb, state, "  quire-bench sink\n  quire-bench sink --tokens 4000 --json");
}

Result<std::vector<NamedBatching>> policies_of(const std::vector<std::string>& names) {
  std::vector<NamedBatching> policies;
  for (const std::string& name : names) {
    const auto choice = TRY(parse_batching(name));
    policies.push_back({name, choice});
  }
  return policies;
}

Verb add_batching(CLI::App& bench) {
  struct BatchingState {
    State common;
    std::string device = "both";
    std::vector<std::string> policies;
  };
  auto state = std::make_shared<BatchingState>();
  BenchOptions& options = state->common.options;
  options.kind = BenchKind::Batching;
  options.streams = {128};
  options.decode_tokens = 64;
  options.repetitions = 5;
  CLI::App* verb = bench.add_subcommand(
      "batching", "Requests a second of the policies for batches (docs/internals/scheduling.md)");
  add_count(*verb, "--instances", options.streams.front(), "At once", 1, 1024);
  add_count(*verb, "--decode-tokens", options.decode_tokens, "Tokens generated by each", 1, 1024);
  add_count(*verb, "--rounds", options.repetitions,
            "Rounds of all policies in turn; the median is reported", 1, 1000);
  verb->add_option("--device", state->device,
                   "simulated (a GPU's cost curve; needs no model), cpu, or both")
      ->type_name("NAME")
      ->capture_default_str();
  verb->add_option("--policies", state->policies,
                   "Instead of adaptive, eager, k-only of 8 to 128 and t-only of 1 to 50 ms on the "
                   "simulated device, and one of each on the CPU")
      ->delimiter(',')
      ->type_name("NAME,NAME,...");
  state->common.engine.add_all(*verb);
  add_json(*verb, options.output);
  verb->footer(
      "Examples:\n  quire-bench batching --device simulated\n  quire-bench batching --device cpu "
      "--policies adaptive,eager --rounds 1 --json");
  return {verb, [state]() -> Result<Request> {
            BenchOptions& chosen = state->common.options;
            const std::string& device = state->device;
            if (device == "simulated") {
              chosen.device = BenchDevice::Simulated;
            } else if (device == "cpu") {
              chosen.device = BenchDevice::Cpu;
            } else if (device != "both") {
              return Error(ErrorCode::InvalidArgument,
                           "unknown device \"" + device + "\" (supported: both, cpu, simulated)");
            }
            const bool has_own = !state->policies.empty();
            static const std::vector<std::string> kSimulated = {
                "adaptive",  "eager",      "k-only:8", "k-only:16", "k-only:32",
                "k-only:64", "k-only:128", "t-only:1", "t-only:2",  "t-only:5",
                "t-only:10", "t-only:20",  "t-only:50"};
            static const std::vector<std::string> kCpu = {"adaptive", "eager", "k-only:32",
                                                          "t-only:10"};
            chosen.simulated_policies = TRY(policies_of(has_own ? state->policies : kSimulated));
            chosen.cpu_policies = TRY(policies_of(has_own ? state->policies : kCpu));
            chosen.engine = TRY(state->common.engine.finish());
            return Request(chosen);
          }};
}

Verb add_scheduler(CLI::App& bench) {
  auto options = std::make_shared<BenchOptions>();
  options->kind = BenchKind::Scheduler;
  options->streams = {1, 4, 16, 64, 256, 1024};
  CLI::App* verb = bench.add_subcommand(
      "scheduler", "Time of the scheduler per step, on a simulated device; needs no model");
  verb->add_option("--requests", options->streams, "Streams that decode in each step")
      ->delimiter(',')
      ->type_name("N,N,...")
      ->transform(whole_within(1, 4096))
      ->capture_default_str();
  add_json(*verb, options->output);
  verb->footer(
      "Examples:\n  quire-bench scheduler\n  quire-bench scheduler --requests 1,1024 --json");
  return {verb, [options]() -> Result<Request> { return Request(*options); }};
}

Verb add_arrival(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Arrival);
  state->options.streams = {16};
  state->options.prompt_tokens = 6000;
  CLI::App* verb = bench.add_subcommand(
      "arrival", "Time between tokens of streams when a long prompt arrives among them");
  add_count(*verb, "--streams", state->options.streams.front(), "Streams that decode", 1, 1024);
  add_count(*verb, "--prompt-tokens", state->options.prompt_tokens, "Tokens of the prompt");
  add_repetitions(*verb, state);
  return finished(*verb, state,
                  "  quire-bench arrival\n  quire-bench arrival --prefill-budget 256 --json");
}

Verb add_constraint(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Constraint);
  state->options.streams = {16};
  state->options.repetitions = 5;
  CLI::App* verb = bench.add_subcommand(
      "constraint", "What grammars cost those that they constrain, and those beside a slow one");
  add_count(*verb, "--streams", state->options.streams.front(), "Streams that decode", 1, 1024);
  add_count(*verb, "--decode-tokens", state->options.decode_tokens, "Tokens generated by each", 8,
            1024);
  add_repetitions(*verb, state);
  return finished(*verb, state,
                  "  quire-bench constraint\n  quire-bench constraint --streams 4 --json");
}

Verb add_launch(CLI::App& bench) {
  struct LaunchState {
    BenchLaunchOptions options;
    EngineFlags engine;
  };
  auto state = std::make_shared<LaunchState>();
  BenchLaunchOptions& options = state->options;
  CLI::App* verb = bench.add_subcommand(
      "launch", "From a request to launch to the program's first message, for many at once");
  verb->add_option("PROGRAM", options.program,
                   "A module that sends a message before it does anything, as first_message does; "
                   "its arguments follow after \"--\"")
      ->required();
  verb->add_option("--simultaneous", options.simultaneous, "Launches at once, each by a client")
      ->delimiter(',')
      ->type_name("N,N,...")
      ->transform(whole_within(1, 1000))
      ->capture_default_str();
  add_count(*verb, "--programs", options.program_count,
            "Different programs at once that the server has never seen; 0: not measured", 0, 256);
  add_count(*verb, "--repetitions", options.repetitions,
            "Rounds at least, after a first that is reported separately; more if few are launched "
            "at once",
            1, 100);
  state->engine.add_all(*verb);
  add_json(*verb, options.output);
  verb->footer(
      R"(warm: of a program that the server has; cold: one client uploads a program that it has never seen, and
all launch it; cold-different: each client uploads and launches another one. The server is in this
process, on a free port of 127.0.0.1.

Examples:
  quire bench launch build/release/bench/first_message.wasm -- --prompt x
  quire bench launch program.wasm --simultaneous 1,896 --programs 0 --json -- --its-flag)");
  return {verb, [state]() -> Result<Request> {
            state->options.engine = TRY(state->engine.finish());
            return Request(state->options);
          }};
}

Verb add_overhead(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Overhead);
  state->options.streams = {1, 32};
  state->options.decode_tokens = 64;
  state->options.repetitions = 5;
  CLI::App* verb = bench.add_subcommand(
      "overhead", "What a program costs over the host's own loop, layer by layer");
  add_counts(*verb, "--instances", state->options.streams, "At once");
  add_count(*verb, "--decode-tokens", state->options.decode_tokens, "Tokens generated by each", 1,
            1024);
  add_count(*verb, "--rounds", state->options.repetitions,
            "Rounds of all ways in turn; the median is reported", 1, 1000);
  verb->add_option("--program", state->options.program,
                   "The guest, instead of bench/token_loop.wasm beside this program")
      ->type_name("FILE");
  return finished(
      *verb, state,
      "  quire-bench overhead\n  quire-bench overhead --instances 32 --rounds 3 --json");
}

Verb add_calls(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Calls);
  BenchOptions& options = state->options;
  options.streams = {1, 8, 64, 256, 896};
  options.decode_tokens = 64;
  CLI::App* verb = bench.add_subcommand(
      "calls", "What a call costs a program, on a simulated device, and how many a token takes");
  verb->add_option("--instances", options.streams, "Programs alive, one of which calls at a time")
      ->delimiter(',')
      ->type_name("N,N,...")
      ->transform(whole_within(1, 1000))
      ->capture_default_str();
  verb->add_option("--program", options.program,
                   "The guest, instead of bench/call_loop.wasm beside this program")
      ->type_name("FILE");
  add_count(*verb, "--decode-tokens", options.decode_tokens,
            "Tokens of the answers in which calls are counted; 0: they are not, and no model is "
            "needed",
            0, 1024);
  return finished(
      *verb, state,
      "  quire-bench calls\n  quire-bench calls --instances 1,896 --decode-tokens 0 --json");
}

}  // namespace

void add_bench(CLI::App& app, std::vector<Verb>& verbs) {
  CLI::App* bench = app.add_subcommand("bench", "Measure this machine with a model");
  bench->require_subcommand(1);
  bench->footer(
      R"(The program quire-bench, which `make build` makes, measures the parts of the engine.

Examples:
  quire bench generate
  quire bench kv --lengths 1024,4096 --json)");
  for (const auto add : {add_kv, add_generate_speed, add_launch}) verbs.push_back(add(*bench));
}

std::vector<Verb> add_measurements(CLI::App& app) {
  app.name("quire-bench");
  app.description("quire-bench: measurements of the engine and of its parts.");
  app.footer(R"(docs/benchmarks/README.md has the figures of these commands.

Examples:
  quire-bench generate
  quire-bench scheduler --json)");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("quire-bench ") + QUIRE_VERSION);
  std::vector<Verb> verbs;
  for (const auto add :
       {add_kv, add_generate_speed, add_launch, add_restore, add_pressure, add_sink, add_batching,
        add_scheduler, add_arrival, add_constraint, add_overhead, add_calls, add_bench_pages}) {
    verbs.push_back(add(app));
  }
  return verbs;
}

}  // namespace quire::cli
