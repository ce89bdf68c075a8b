#include "bench/machine/bench_command.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json.h"
#include "bench/machine/bench_streams.h"
#include "cli/terminal.h"
#include "inference/api/kv_layout.h"
#include "main/machine/machine_facts.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr std::uint32_t kWarmUpTokens = 32;
constexpr std::uint32_t kWarmUpStreams = 32;
constexpr std::uint32_t kStreamPromptTokens = 16;
constexpr std::uint32_t kMoreCount = 8;
constexpr std::uint32_t kDecodeTokens = 16;

nlohmann::json head(Machine& machine) {
  return {{"model", machine.model().name},
          {"backend", machine.device().name},
          {"threads", machine.thread_count()},
          {"page_size", machine.model().page_size}};
}

void print_head(Machine& machine) {
  print(machine.model().name + ", backend " + machine.device().name + ", " +
        std::to_string(machine.thread_count()) + " threads\n");
}

void print_row(const std::vector<std::string>& cells, const std::vector<int>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    char cell[96];
    std::snprintf(cell, sizeof cell, "%*s", widths[i], cells[i].c_str());
    line += cell;
  }
  print(line + "\n");
}

// ---- generate ---------------------------------------------------------------------------------

class GenerateBench {
 public:
  GenerateBench(Machine& machine, const Clock& clock, const cli::BenchOptions& options,
                cli::Progress& progress)
      : machine_(machine),
        clock_(clock),
        options_(options),
        loop_(machine.control(), machine.answers(), machine.wakeup()) {
    loop_.watch(
        [this, &progress] { progress.update(machine_.control().statistics().row_count, 0); });
  }

  // Tokens a second of so many streams; a prompt is never one that was computed before.
  Result<Spread> measure(std::uint32_t stream_count, std::uint32_t prompt_count,
                         std::uint32_t token_count, bool prefill) {
    std::vector<double> rates;
    for (std::uint32_t run = 0; run < options_.repetitions; ++run) {
      std::vector<std::unique_ptr<HostGenerator>> owned;
      std::vector<HostGenerator*> generators;
      std::vector<std::vector<std::uint32_t>> prompts;
      for (std::uint32_t i = 0; i < stream_count; ++i) {
        owned.push_back(std::make_unique<HostGenerator>(loop_, machine_.text(), machine_.model()));
        generators.push_back(owned.back().get());
        prompts.push_back(random_prompt(random_, machine_.model().vocabulary_size, prompt_count));
      }
      const StreamsTiming timing = TRY(run_streams(clock_, generators, prompts, token_count));
      rates.push_back(prefill ? stream_count * double{1} * prompt_count / timing.prefill_s
                              : stream_count * double{1} * (token_count - 1) / timing.decode_s);
    }
    return spread_of(std::move(rates));
  }

 private:
  Machine& machine_;
  const Clock& clock_;
  const cli::BenchOptions& options_;
  HostLoop loop_;
  SeededRandom random_{1};
};

Result<void> bench_generate(const cli::BenchOptions& options) {
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  const cli::Terminal terminal = cli::Terminal::standard_error();
  cli::Progress progress(terminal, clock, "tokens computed");
  GenerateBench bench(*machine, clock, options, progress);
  TRY(bench.measure(1, kWarmUpTokens, 2, true));
  const bool text = options.output == cli::OutputStyle::Text;
  const std::vector<int> widths = {22, 14, 22};
  if (text) {
    print_head(*machine);
    print_row({"", "tokens/s", "least to most"}, widths);
  }
  nlohmann::json json = head(*machine);
  const auto tell = [&](const std::string& name, const std::string& key, const Spread& spread) {
    progress.finish();
    json[key] = {{"median", spread.median}, {"least", spread.least}, {"most", spread.most}};
    if (text) {
      print_row({name, decimal(spread.median, 1),
                 decimal(spread.least, 1) + " to " + decimal(spread.most, 1)},
                widths);
    }
  };
  const std::string prompt_text = std::to_string(options.prompt_tokens);
  tell("prefill " + prompt_text, "prefill_" + prompt_text,
       TRY(bench.measure(1, options.prompt_tokens, 1, true)));
  for (const std::uint32_t streams : options.streams) {
    const std::string name = std::to_string(streams);
    tell("decode, " + name + (streams == 1 ? " stream" : " streams"), "decode_" + name,
         TRY(bench.measure(std::max(1u, streams), options.depth,
                           std::max(2u, options.decode_tokens), false)));
  }
  const control::ControlStatistics statistics = machine->control().statistics();
  json["scheduler_us_per_batch"] = statistics.batch_count == 0
                                       ? 0.0
                                       : static_cast<double>(statistics.scheduler_ns) * 1e-3 /
                                             static_cast<double>(statistics.batch_count);
  if (!text) print(dump_json(json) + "\n");
  return {};
}

// ---- kv ---------------------------------------------------------------------------------------

struct KvFigures {
  std::uint32_t tokens = 0;
  std::string mode;
  double prefill_tokens_per_s = 0.0;
  double decode_tokens_per_s = 0.0;
  double memory_ratio = 0.0;     // Most resident for keys and values, over what the tokens need.
  double again_s = 0.0;          // The same prompt once more, to its first token.
  double more_s = 0.0;           // Eight continuations of the one prompt, a token each.
  std::uint64_t more_bytes = 0;  // What they added to the resident set.
};

std::uint64_t grown_since(std::uint64_t before) {
  const std::uint64_t now = memory_bytes_resident();
  return now > before ? now - before : 0;
}

// Eight more sequences that begin with the same prompt and go on differently.
Result<void> run_continuations(Machine& machine, HostLoop& loop, const Clock& clock,
                               const std::vector<std::uint32_t>& prompt, KvFigures& figures) {
  std::vector<std::unique_ptr<HostGenerator>> owned;
  std::vector<HostGenerator*> generators;
  std::vector<std::vector<std::uint32_t>> prompts;
  for (std::uint32_t i = 0; i < kMoreCount; ++i) {
    owned.push_back(std::make_unique<HostGenerator>(loop, machine.text(), machine.model()));
    generators.push_back(owned.back().get());
    prompts.push_back(prompt);
    prompts.back().push_back(machine.model().vocabulary_size / 4 + i);
  }
  const std::uint64_t before = memory_bytes_resident();
  const StreamsTiming timing = TRY(run_streams(clock, generators, prompts, 1));
  figures.more_s = timing.prefill_s;
  figures.more_bytes = grown_since(before);
  return {};
}

using Generators = std::vector<std::unique_ptr<HostGenerator>>;

// Touches the device's scratch memory with sequences of a few tokens. They live on, so that their
// memory is not used again and what grows later is keys and values.
Result<Generators> warm_up(Machine& machine, HostLoop& loop, const Clock& clock,
                           SeededRandom& random) {
  Generators owned;
  std::vector<HostGenerator*> generators;
  std::vector<std::vector<std::uint32_t>> prompts;
  for (std::uint32_t i = 0; i < kWarmUpStreams; ++i) {
    owned.push_back(std::make_unique<HostGenerator>(loop, machine.text(), machine.model()));
    generators.push_back(owned.back().get());
    prompts.push_back(random_prompt(random, machine.model().vocabulary_size, kStreamPromptTokens));
  }
  TRY(run_streams(clock, generators, prompts, 2));
  return owned;
}

Result<KvFigures> measure_kv(const cli::BenchOptions& options, cli::KvModeChoice mode,
                             std::uint32_t tokens) {
  const SteadyClock clock;
  cli::EngineOptions engine = options.engine;
  engine.kv_mode = mode;
  engine.pool.memory_bytes.reset();
  // Enough for the sequence and its eight continuations, were nothing shared.
  engine.pool.page_count = (tokens + 256) / engine.page_size * (kMoreCount + 2);
  const std::unique_ptr<Machine> machine = TRY(Machine::build(engine, clock));
  HostLoop loop(machine->control(), machine->answers(), machine->wakeup());
  const cli::Terminal terminal = cli::Terminal::standard_error();
  cli::Progress progress(terminal, clock, "tokens computed");
  loop.watch([&] { progress.update(machine->control().statistics().row_count, 0); });
  SeededRandom random(tokens);
  const auto prompt = random_prompt(random, machine->model().vocabulary_size, tokens);
  KvFigures figures{.tokens = tokens, .mode = mode == cli::KvModeChoice::Basic ? "basic" : "paged"};
  const Generators warm = TRY(warm_up(*machine, loop, clock, random));
  reset_memory_bytes_resident_max();
  const std::uint64_t before = memory_bytes_resident();
  HostGenerator generator(loop, machine->text(), machine->model());
  const StreamsTiming timing = TRY(run_streams(clock, {&generator}, {prompt}, kDecodeTokens));
  const std::uint64_t needed =
      std::uint64_t{tokens + kDecodeTokens} * inference::KvLayout(machine->model_info().kv_heads,
                                                                  machine->device().page_size,
                                                                  machine->device().kv_format)
                                                  .token_bytes();
  figures.prefill_tokens_per_s = tokens / timing.prefill_s;
  figures.decode_tokens_per_s = (kDecodeTokens - 1) / timing.decode_s;
  const std::uint64_t most = memory_bytes_resident_max();
  figures.memory_ratio =
      most > before ? static_cast<double>(most - before) / static_cast<double>(needed) : 0.0;
  HostGenerator again(loop, machine->text(), machine->model());
  const StreamsTiming second = TRY(run_streams(clock, {&again}, {prompt}, 1));
  figures.again_s = second.prefill_s;
  TRY(run_continuations(*machine, loop, clock, prompt, figures));
  return figures;
}

// Returns the lengths asked for, each cut so that the tokens decoded after it fit the model's
// context too. A length over the context is an error, found before anything is measured.
Result<std::vector<std::uint32_t>> lengths_that_fit(const cli::BenchOptions& options) {
  const SteadyClock clock;
  cli::EngineOptions engine = options.engine;
  engine.pool.memory_bytes.reset();
  engine.pool.page_count = 1;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(engine, clock));
  const std::uint32_t context = machine->model().context_length;
  std::vector<std::uint32_t> lengths;
  for (const std::uint32_t asked : options.lengths) {
    if (asked > context || context <= kDecodeTokens) {
      return Error(ErrorCode::OutOfRange, std::to_string(asked) +
                                              " tokens do not fit the context of " +
                                              machine->model().name + ", which holds " +
                                              std::to_string(context) + " (see --lengths)");
    }
    lengths.push_back(std::clamp(asked, 1u, context - kDecodeTokens));
  }
  return lengths;
}

Result<void> bench_kv(const cli::BenchOptions& options) {
  const std::vector<std::uint32_t> lengths = TRY(lengths_that_fit(options));
  const bool text = options.output == cli::OutputStyle::Text;
  const std::vector<int> widths = {8, 8, 14, 14, 14, 14, 14, 16};
  if (text) {
    print_row({"tokens", "kv", "prefill tok/s", "decode tok/s", "memory ratio", "again ms",
               "8 more ms", "8 more MiB"},
              widths);
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const std::uint32_t tokens : lengths) {
    for (const cli::KvModeChoice mode : {cli::KvModeChoice::Basic, cli::KvModeChoice::Paged}) {
      const KvFigures figures = TRY(measure_kv(options, mode, tokens));
      rows.push_back({{"tokens", figures.tokens},
                      {"kv", figures.mode},
                      {"prefill_tokens_per_s", figures.prefill_tokens_per_s},
                      {"decode_tokens_per_s", figures.decode_tokens_per_s},
                      {"memory_ratio", figures.memory_ratio},
                      {"again_s", figures.again_s},
                      {"eight_more_s", figures.more_s},
                      {"eight_more_bytes", figures.more_bytes}});
      if (!text) continue;
      print_row(
          {std::to_string(figures.tokens), figures.mode, decimal(figures.prefill_tokens_per_s, 1),
           decimal(figures.decode_tokens_per_s, 1), decimal(figures.memory_ratio, 2),
           decimal(figures.again_s * 1e3, 1), decimal(figures.more_s * 1e3, 1),
           decimal(static_cast<double>(figures.more_bytes) / (1 << 20), 1)},
          widths);
    }
  }
  if (text) {
    print(
        "memory ratio: the most memory resident for keys and values, over what the tokens need; "
        "again: the same\nprompt once more, to its first token; 8 more: eight continuations of the "
        "prompt, a token each, and what\nthey add. A length leaves room for the " +
        std::to_string(kDecodeTokens) + " tokens decoded behind it.\n");
  } else {
    print(dump_json(rows) + "\n");
  }
  return {};
}

}  // namespace

int bench_command(const cli::BenchOptions& options) {
  QUIRE_CHECK(options.kind == cli::BenchKind::Kv || options.kind == cli::BenchKind::Generate,
              "a measurement of quire-bench alone");
  const Result<void> done =
      options.kind == cli::BenchKind::Kv ? bench_kv(options) : bench_generate(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
