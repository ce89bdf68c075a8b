// The verbs of `quire bench` and `quire-bench` that measure a model. `quire-bench pages` needs none
// and is in verbs_store.cc.
#include <sstream>

#include "cli/verb.h"

namespace quire::cli {
namespace {

using State = EngineState<BenchOptions>;
using SharedState = std::shared_ptr<State>;

SharedState state_of(BenchKind kind) {
  auto state = std::make_shared<State>();
  state->options.kind = kind;
  return state;
}

Flag count(const char* name, std::uint32_t& value, const char* meaning, std::uint32_t least = 1,
           std::uint32_t most = 1u << 20) {
  return {name, "N", &value, meaning, whole_within(least, most)};
}

Flag counts(const char* name, std::vector<std::uint32_t>& values, const char* meaning,
            std::uint32_t most = 1u << 20) {
  return {name, "N,N,...", &values, meaning, whole_within(1, most)};
}

Flag repetitions(SharedState& state) {
  return count("--repetitions", state->options.repetitions, "Runs; the median is reported", 1,
               1000);
}

Flag rounds(BenchOptions& options, const char* of_what) {
  return {"--rounds", "N", &options.repetitions,
          std::string("Rounds of all ") + of_what + " in turn; the median is reported",
          whole_within(1, 1000)};
}

Flag report(SharedState& state, const char* which) {
  return {"--kv-report", "FILE", &state->options.kv_report_file,
          std::string("Write where pages were and why tokens were computed to FILE, for `quire kv "
                      "tree FILE` and `quire kv why FILE`: ") +
              which};
}

Flag guest(BenchOptions& options, const char* usual) {
  return {"--program", "FILE", &options.program,
          std::string("The guest, instead of bench/") + usual + " beside this program"};
}

void add_engine(Rows& rows, EngineFlags& engine, OutputStyle& output) {
  rows.add({engine.model(), json(output)});
  rows.add(engine.rows(), Part::Engine);
}

Verb finished(Rows& rows, SharedState state, const char* examples) {
  add_engine(rows, state->engine, state->options.output);
  return engine_verb(rows, std::string("Examples:\n") + examples, state);
}

Verb add_kv(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Kv);
  Rows rows(bench, "kv", "Why pages win: basic against paged, by length");
  rows.add({counts("--lengths", state->options.lengths, "Tokens of the sequence")});
  return finished(rows, state, "  quire bench kv\n  quire bench kv --lengths 1024,4096 --json");
}

Verb add_generate_speed(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Generate);
  Rows rows(bench, "generate", "Tokens a second: prefill, decode, streams");
  rows.add({
      count("--prompt-tokens", state->options.prompt_tokens, "Tokens of a prompt"),
      count("--decode-tokens", state->options.decode_tokens, "Tokens generated"),
      count("--depth", state->options.depth, "Tokens of a sequence before those"),
      counts("--streams", state->options.streams, "Sequences at once"),
      repetitions(state),
  });
  return finished(
      rows, state,
      "  quire bench generate --threads 2\n  quire bench generate --streams 1,16 --json");
}

Verb add_restore(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Restore);
  Rows rows(bench, "restore", "A snapshot opened from disk, against computing it again");
  rows.add({
      count("--tokens", state->options.tokens, "Tokens of the snapshot"),
      repetitions(state),
      report(state, "of one more restore, not timed"),
  });
  return finished(rows, state, "  quire-bench restore\n  quire-bench restore --tokens 512 --json");
}

Verb add_pressure(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Pressure);
  state->options.streams = {16};
  state->options.prompt_tokens = 128;
  state->options.decode_tokens = 192;
  Rows rows(bench, "pressure", "Conversations in a quarter of the pages that they need");
  rows.add({
      count("--conversations", state->options.streams.front(), "At once", 4, 4096),
      count("--prompt-tokens", state->options.prompt_tokens, "Tokens of a prompt"),
      count("--decode-tokens", state->options.decode_tokens, "Tokens generated"),
      repetitions(state),
      report(state, "of one more run in the small pool, not timed"),
  });
  return finished(rows, state,
                  "  quire-bench pressure\n  quire-bench pressure --conversations 8 --json\n"
                  "  quire-bench pressure --kv-report report.json && quire kv why report.json");
}

Verb add_sink(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Sink);
  state->options.tokens = 20'000;
  Rows rows(bench, "sink", "Time and pages of a token after an attention sink");
  rows.add({
      count("--tokens", state->options.tokens, "Tokens generated", 2000, 1u << 24),
      report(state, "of the run itself, which it slows a little"),
  });
  return finished(rows, state, "  quire-bench sink\n  quire-bench sink --tokens 4000 --json");
}

// "adaptive,eager,k-only:8".
Result<std::vector<NamedBatching>> policies_of(const std::string& text) {
  std::vector<NamedBatching> policies;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const auto choice = TRY(parse_batching(name));
    policies.push_back({name, choice});
  }
  return policies;
}

constexpr Choice<BenchDevice> kDevices[] = {
    {"both", BenchDevice::Both}, {"cpu", BenchDevice::Cpu}, {"simulated", BenchDevice::Simulated}};

Verb add_batching(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Batching);
  BenchOptions& options = state->options;
  options.streams = {128};
  options.decode_tokens = 64;
  options.repetitions = 5;
  const auto read_policies = [&options](const Words& words) -> Result<void> {
    options.simulated_policies = TRY(policies_of(words.back()));
    options.cpu_policies = options.simulated_policies;
    return {};
  };
  Rows rows(bench, "batching",
            "Requests a second of the policies for batches (docs/internals/scheduling.md)");
  rows.add({
      count("--instances", options.streams.front(), "At once", 1, 1024),
      count("--decode-tokens", options.decode_tokens, "Tokens generated by each", 1, 1024),
      rounds(options, "policies"),
      {"--device", "", one_of(options.device, "device", kDevices),
       "simulated (a GPU's cost curve; needs no model), cpu, or both"},
      {"--policies", "NAME,NAME,...", Reader{.read = read_policies},
       "Instead of adaptive, eager, k-only of 8 to 128 and t-only of 1 to 50 ms on the simulated "
       "device, and one of each on the CPU"},
  });
  add_engine(rows, state->engine, options.output);
  return rows.verb(R"(Examples:
  quire-bench batching --device simulated
  quire-bench batching --device cpu --policies adaptive,eager --rounds 1 --json)",
                   [state]() -> Result<Request> {
                     BenchOptions& chosen = state->options;
                     if (chosen.cpu_policies.empty()) {
                       chosen.simulated_policies =
                           TRY(policies_of("adaptive,eager,k-only:8,k-only:16,k-only:32,k-only:64,"
                                           "k-only:128,t-only:1,t-only:2,t-only:5,t-only:10,"
                                           "t-only:20,t-only:50"));
                       chosen.cpu_policies = TRY(policies_of("adaptive,eager,k-only:32,t-only:10"));
                     }
                     chosen.engine = TRY(state->engine.finish());
                     return Request(chosen);
                   });
}

Verb add_scheduler(CLI::App& bench) {
  auto options = std::make_shared<BenchOptions>();
  options->kind = BenchKind::Scheduler;
  options->streams = {1, 4, 16, 64, 256, 1024};
  Rows rows(bench, "scheduler",
            "Time of the scheduler per step, on a simulated device; needs no model");
  rows.add({counts("--requests", options->streams, "Streams that decode in each step", 4096),
            json(options->output)});
  return rows.verb(R"(Examples:
  quire-bench scheduler
  quire-bench scheduler --requests 1,1024 --json)",
                   options);
}

Verb add_arrival(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Arrival);
  state->options.streams = {16};
  state->options.prompt_tokens = 6000;
  Rows rows(bench, "arrival",
            "Time between tokens of streams when a long prompt arrives among them");
  rows.add({
      count("--streams", state->options.streams.front(), "Streams that decode", 1, 1024),
      count("--prompt-tokens", state->options.prompt_tokens, "Tokens of the prompt"),
      repetitions(state),
  });
  return finished(rows, state,
                  "  quire-bench arrival\n  quire-bench arrival --prefill-budget 256 --json");
}

Verb add_constraint(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Constraint);
  state->options.streams = {16};
  state->options.repetitions = 5;
  Rows rows(bench, "constraint",
            "What grammars cost those that they constrain, and those beside a slow one");
  rows.add({
      count("--streams", state->options.streams.front(), "Streams that decode", 1, 1024),
      count("--decode-tokens", state->options.decode_tokens, "Tokens generated by each", 8, 1024),
      repetitions(state),
  });
  return finished(rows, state,
                  "  quire-bench constraint\n  quire-bench constraint --streams 4 --json");
}

Verb add_launch(CLI::App& bench) {
  auto state = std::make_shared<EngineState<BenchLaunchOptions>>();
  BenchLaunchOptions& options = state->options;
  Rows rows(bench, "launch",
            "From a request to launch to the program's first message, for many at once");
  rows.add({
      Flag{"PROGRAM", "", &options.program,
           "A module that sends a message before it does anything, as first_message does; its "
           "arguments follow after \"--\""}
          .required(),
      counts("--simultaneous", options.simultaneous, "Launches at once, each by a client", 1000),
      count("--programs", options.program_count,
            "Different programs at once that the server has never seen; 0: not measured", 0, 256),
      count("--repetitions", options.repetitions,
            "Rounds at least, after a first that is reported separately; more if few are launched "
            "at once",
            1, 100),
  });
  add_engine(rows, state->engine, options.output);
  return engine_verb(
      rows,
      R"(warm: of a program that the server has; cold: one client uploads a program that it has never seen, and
all launch it; cold-different: each client uploads and launches another one. The server is in this
process, on a free port of 127.0.0.1.

Examples:
  quire bench launch build/release/bench/first_message.wasm -- --prompt x
  quire bench launch program.wasm --simultaneous 1,896 --programs 0 --json -- --its-flag)",
      state);
}

Verb add_overhead(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Overhead);
  state->options.streams = {1, 32};
  state->options.decode_tokens = 64;
  state->options.repetitions = 5;
  Rows rows(bench, "overhead", "What a program costs over the host's own loop, layer by layer");
  rows.add({
      counts("--instances", state->options.streams, "At once"),
      count("--decode-tokens", state->options.decode_tokens, "Tokens generated by each", 1, 1024),
      rounds(state->options, "ways"),
      guest(state->options, "token_loop.wasm"),
  });
  return finished(
      rows, state,
      "  quire-bench overhead\n  quire-bench overhead --instances 32 --rounds 3 --json");
}

Verb add_calls(CLI::App& bench) {
  SharedState state = state_of(BenchKind::Calls);
  BenchOptions& options = state->options;
  options.streams = {1, 8, 64, 256, 896};
  options.decode_tokens = 64;
  Rows rows(bench, "calls",
            "What a call costs a program, on a simulated device, and how many a token takes");
  rows.add({
      counts("--instances", options.streams, "Programs alive, one of which calls at a time", 1000),
      guest(options, "call_loop.wasm"),
      count("--decode-tokens", options.decode_tokens,
            "Tokens of the answers in which calls are counted; 0: they are not, and no model is "
            "needed",
            0, 1024),
  });
  return finished(
      rows, state,
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
  app.set_help_all_flag("--help-all", "The help of every verb");
  app.set_version_flag("--version", std::string("quire-bench ") + QUIRE_VERSION);
  std::vector<Verb> verbs;
  for (const auto add :
       {add_kv, add_generate_speed, add_launch, add_restore, add_pressure, add_sink, add_batching,
        add_scheduler, add_arrival, add_constraint, add_overhead, add_calls, add_bench_pages}) {
    verbs.push_back(add(app));
  }
  verbs.push_back(add_help(app));
  return verbs;
}

}  // namespace quire::cli
