#include "main/verbs/text/generate_command.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/terminal.h"
#include "cli/terminal_text.h"
#include "main/machine/adapter_loading.h"
#include "main/machine/host_generator.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/text/grammar_flags.h"
#include "main/verbs/text/prompt_input.h"
#include "main/verbs/text/sampling_flags.h"

namespace quire {
namespace {

struct Timing {
  std::uint64_t begin_ns = 0;   // The process began to load the model.
  std::uint64_t loaded_ns = 0;  // The machine stands.
  std::uint64_t first_ns = 0;   // The first token is there.
  std::uint64_t end_ns = 0;
};

double seconds(std::uint64_t from_ns, std::uint64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

double rate(std::size_t count, double duration_s) {
  return duration_s > 0 ? static_cast<double>(count) / duration_s : 0.0;
}

nlohmann::json timing_json(const Timing& timing, std::size_t prompt_count, std::size_t count) {
  const double first_s = seconds(timing.loaded_ns, timing.first_ns);
  const double decode_s = seconds(timing.first_ns, timing.end_ns);
  return {{"load_s", seconds(timing.begin_ns, timing.loaded_ns)},
          {"first_token_s", first_s},
          {"total_s", seconds(timing.loaded_ns, timing.end_ns)},
          {"prompt_tokens_per_s", rate(prompt_count, first_s)},
          {"decode_tokens_per_s", count > 1 ? rate(count - 1, decode_s) : 0.0}};
}

nlohmann::json pages_json(Machine& machine, const HostGenerator& generator) {
  const control::ContextCounters& counters = generator.counters();
  return {{"page_size", machine.model().page_size},
          {"page_count", machine.model().page_count},
          {"committed", counters.committed_page_count},
          {"working", counters.working_page_count},
          {"used_max", generator.statistics().page_count_max},
          {"found_tokens", counters.found_token_count}};
}

// Tokens of the prompt as a guest gets them: by a command, not by a short cut.
Result<std::vector<std::uint32_t>> prompt_ids(HostLoop& loop,
                                              const control::ModelDescription& model,
                                              const std::string& prompt) {
  HostInstance instance(loop);
  control::Tokens tokens = TRY(instance.call<control::Tokens>(
      control::Tokenize{.text = prompt, .parse_special = true, .add_bos = model.add_bos}));
  if (tokens.ids.empty()) {
    return Error(ErrorCode::InvalidArgument, "the prompt is empty: there is nothing to continue");
  }
  return std::move(tokens.ids);
}

Result<void> generate(const cli::GenerateOptions& options) {
  const SteadyClock clock;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string text_of_prompt = TRY(read_prompt(options.prompt));
  Timing timing{.begin_ns = clock.now_ns()};
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  timing.loaded_ns = clock.now_ns();

  const control::ModelDescription& model = machine->model();
  HostLoop loop(machine->control(), machine->answers(), machine->wakeup());
  const std::vector<std::uint32_t> prompt = TRY(prompt_ids(loop, model, text_of_prompt));
  HostGenerator generator(loop, machine->text(), model);
  generator.use(TRY(choose_adapters(machine->adapters(), options.engine.adapters, model.name)));
  TRY(generator.append(prompt));
  TRY(constrain(generator, options.grammar));
  generator.start(
      draw_rule(options.sampling), options.sampling.seed,
      {.token_count_max = options.max_tokens,
       .stop_tokens = options.ignore_eos ? std::vector<std::uint32_t>{} : model.stop_ids});

  const bool streams = options.output == cli::OutputStyle::Text;
  cli::Progress progress(terminal, clock, "prompt tokens");
  loop.watch([&] { progress.update(generator.statistics().computed_token_count, prompt.size()); });
  std::string text;
  cli::TerminalText output = cli::TerminalText::of_standard_output();
  while (!generator.ended()) {
    generator.begin_step();
    const std::string shown = TRY(generator.finish_step());
    if (timing.first_ns == 0) {
      timing.first_ns = clock.now_ns();
      loop.watch({});
      progress.finish();
    }
    if (streams) print(output.add(shown));
    text += shown;
  }
  timing.end_ns = clock.now_ns();
  if (streams) {
    print(output.finish() + "\n");
    return {};
  }
  const nlohmann::json answer = {
      {"prompt_ids", prompt},
      {"ids", generator.ids()},
      {"text", text},
      {"finish_reason", finish_reason_name(generator.reason())},
      {"timing", timing_json(timing, prompt.size(), generator.ids().size())},
      {"pages", pages_json(*machine, generator)}};
  print(dump_json(answer) + "\n");
  return {};
}

}  // namespace

int generate_command(const cli::GenerateOptions& options) {
  const Result<void> done = generate(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
