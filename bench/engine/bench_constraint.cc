// `quire-bench constraint`: what a grammar costs the streams that it constrains, and what the slow
// masks of another program cost those that decode beside it.
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/engine/bench_scheduling.h"
#include "bench/engine/token_streams.h"
#include "bench/machine/bench_streams.h"
#include "inference/api/grammar.h"
#include "main/machine/host_loop.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

using GrammarRef = std::shared_ptr<const inference::Grammar>;

constexpr std::uint32_t kConstraintPrompt = 16;
constexpr std::size_t kStepsSettling = 4;  // The first steps are not counted.

// A schema of the kind that programs ask for most. Its text does not end within a measurement, and
// streams here never force tokens.
constexpr char kSchema[] = R"({"type": "array", "minItems": 1000, "items": {
    "type": "object",
    "properties": {"name": {"type": "string"},
                   "age": {"type": "integer"},
                   "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "age", "tags"],
    "additionalProperties": false}})";
// Allows a third of the vocabulary everywhere, by no rule that could be known beforehand: each mask
// is a walk through all those tokens.
constexpr char kWords[] = "([a-z]{1,12} ){4000}";
// Every text of it has many readings, which all stay open: a mask takes milliseconds, and more with
// each token.
constexpr char kHostile[] = "start: x x x x x x x x\nx: \"a\"? x? \"b\"? x? \"c\"? | \"d\" x";

enum class Under : std::uint8_t { Nothing, Schema, Words, Hostile };

struct ConstraintCase {
  const char* name;
  const char* meaning;
  Under streams = Under::Nothing;
  std::optional<Under> neighbor;
};
constexpr std::array kCases = {
    ConstraintCase{"plain", "nothing constrains them", Under::Nothing, std::nullopt},
    ConstraintCase{"schema", "each under a JSON Schema", Under::Schema, std::nullopt},
    ConstraintCase{"words", "each under an expression that allows a third of the vocabulary",
                   Under::Words, std::nullopt},
    ConstraintCase{"beside plain", "and one more, which is not counted", Under::Nothing,
                   Under::Nothing},
    ConstraintCase{"beside hostile", "and one more under a grammar with slow masks", Under::Nothing,
                   Under::Hostile},
};
enum : std::size_t { kPlain, kSchemaCase, kWordsCase, kBesidePlain, kBesideHostile };

struct ConstraintSteps {
  double median_ms = 0;
  double p99_ms = 0;
  std::size_t neighbor_tokens = 0;
};

class ConstraintBench {
 public:
  ConstraintBench(Machine& machine, const Clock& clock, const cli::BenchOptions& options)
      : machine_(machine),
        options_(options),
        loop_(machine.control(), machine.answers(), machine.wakeup()),
        streams_(machine.control(), machine.answers(), clock, [&machine](std::uint64_t ns_max) {
          machine.wakeup().wait_for(std::chrono::nanoseconds(ns_max));
        }) {}

  Result<void> compile() {
    grammars_[at(Under::Schema)] = TRY(compiled(inference::GrammarKind::JsonSchema, kSchema));
    grammars_[at(Under::Words)] = TRY(compiled(inference::GrammarKind::Regex, kWords));
    grammars_[at(Under::Hostile)] = TRY(compiled(inference::GrammarKind::Lark, kHostile));
    return {};
  }

  Result<ConstraintSteps> measure(const ConstraintCase& each) {
    const std::uint32_t count = options_.streams.front();
    std::vector<StreamPlan> plans;
    for (std::uint32_t stream = 0; stream < count; ++stream) {
      plans.push_back(plan(each.streams));
    }
    if (each.neighbor) {
      plans.push_back(plan(*each.neighbor));
      plans.back().token_count = machine_.model().context_length - kConstraintPrompt;
      plans.back().ends_with = 0;
      plans.back().tenant = control::TenantId{1};
    }
    std::vector<StreamTimes> times = TRY(streams_.run(plans));
    std::vector<double> ms;
    for (std::uint32_t stream = 0; stream < count; ++stream) {
      if (times[stream].error) return std::move(*times[stream].error);
      const std::vector<std::uint64_t>& at = times[stream].token_ns;
      for (std::size_t step = kStepsSettling; step < at.size(); ++step) {
        ms.push_back(static_cast<double>(at[step] - at[step - 1]) * 1e-6);
      }
    }
    return ConstraintSteps{percentile(ms, 0.5), percentile(ms, 0.99),
                           each.neighbor ? times.back().tokens.size() : 0};
  }

 private:
  Result<GrammarRef> compiled(inference::GrammarKind kind, const char* source) {
    HostInstance instance(loop_);
    return TRY(instance.call<control::CompiledGrammar>(
                   control::CompileGrammar{.model = {}, .kind = kind, .source = source}))
        .grammar;
  }
  static std::size_t at(Under under) { return static_cast<std::size_t>(under); }
  StreamPlan plan(Under under) {
    return {.prompt = random_prompt(random_, machine_.model().vocabulary_size, kConstraintPrompt),
            .token_count = options_.decode_tokens,
            .is_drawn = true,
            .grammar = grammars_[at(under)]};
  }

  Machine& machine_;
  const cli::BenchOptions& options_;
  HostLoop loop_;
  TokenStreams streams_;
  SeededRandom random_{1};
  std::array<GrammarRef, 4> grammars_;  // By Under; null under nothing.
};

struct ConstraintFigures {
  std::vector<double> median_ms, p99_ms, neighbor_tokens;  // Of each round.
};

void tell(const std::array<ConstraintFigures, kCases.size()>& rows, bool is_text) {
  nlohmann::json results = nlohmann::json::array();
  if (is_text) print("                  step ms: median      p99   tokens of the neighbor\n");
  for (std::size_t each = 0; each < kCases.size(); ++each) {
    const double median_ms = spread_of(rows[each].median_ms).median;
    const double p99_ms = spread_of(rows[each].p99_ms).median;
    const double tokens = spread_of(rows[each].neighbor_tokens).median;
    results.push_back({{"case", kCases[each].name},
                       {"median_ms", median_ms},
                       {"p99_ms", p99_ms},
                       {"neighbor_tokens", tokens}});
    if (!is_text) continue;
    char line[160];
    std::snprintf(line, sizeof line, "%-16s %15.2f %8.2f %8.0f   %s\n", kCases[each].name,
                  median_ms, p99_ms, tokens, kCases[each].meaning);
    print(line);
  }
  // Rounds are paired: what changes from one to the next falls out of the ratio.
  const auto ratio = [](const std::vector<double>& one, const std::vector<double>& other) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < one.size(); ++round) {
      ratios.push_back(one[round] / other[round]);
    }
    return spread_of(std::move(ratios)).median;
  };
  const double schema = ratio(rows[kSchemaCase].median_ms, rows[kPlain].median_ms);
  const double words = ratio(rows[kWordsCase].median_ms, rows[kPlain].median_ms);
  const double beside = ratio(rows[kBesideHostile].p99_ms, rows[kBesidePlain].p99_ms);
  if (is_text) {
    print("a step under a schema over a plain one " + decimal(schema, 3) + ", under words " +
          decimal(words, 3) + ", p99 beside a hostile grammar over beside a plain stream " +
          decimal(beside, 2) + "\n");
    return;
  }
  const nlohmann::json json = {{"results", results},
                               {"schema_over_plain", schema},
                               {"words_over_plain", words},
                               {"p99_beside_hostile_over_plain", beside}};
  print(dump_json(json) + "\n");
}

}  // namespace

Result<void> bench_constraint(const cli::BenchOptions& options) {
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  ConstraintBench bench(*machine, clock, options);
  TRY(bench.compile());
  for (const ConstraintCase& each : kCases) TRY(bench.measure(each));  // Warms up.
  std::array<ConstraintFigures, kCases.size()> rows;
  for (std::uint32_t round = 0; round < options.repetitions; ++round) {
    for (std::size_t each = 0; each < kCases.size(); ++each) {
      const ConstraintSteps steps = TRY(bench.measure(kCases[each]));
      rows[each].median_ms.push_back(steps.median_ms);
      rows[each].p99_ms.push_back(steps.p99_ms);
      rows[each].neighbor_tokens.push_back(static_cast<double>(steps.neighbor_tokens));
    }
  }
  tell(rows, options.output == cli::OutputStyle::Text);
  return {};
}

}  // namespace quire
