// The second half of `quire-bench calls`: how many calls text_completion and beam_search make for
// each token of the answer that they give, all of a run counted: arguments, tokenizing, prefill.
#include <chrono>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/engine/bench_guest.h"
#include "bench/engine/bench_scheduling.h"
#include "main/machine/application.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

constexpr const char* kPrompt = "The pages of a book";

// An inferlet that generates as many tokens as --max-tokens says, given --ignore-eos.
struct Answerer {
  const char* name;
  std::vector<std::string> arguments;
};

std::string told(const Answerer& answerer) {
  std::string text = answerer.name;
  for (const std::string& each : answerer.arguments) text += " " + each;
  return text;
}

// `guests` is one of `answerer` in `application`.
Result<nlohmann::json> count(const Answerer& answerer, std::uint32_t token_count,
                             Application& application, BenchGuests& guests) {
  const std::string name = "inferlets/" + std::string(answerer.name) + ".wasm";
  const std::string module = TRY(find_bench_guest("", name));
  const lifecycle::ProgramId program = TRY(application.manager().load_program_file(module));
  std::vector<std::string> arguments = {"--prompt", kPrompt, "--max-tokens",
                                        std::to_string(token_count), "--ignore-eos"};
  arguments.insert(arguments.end(), answerer.arguments.begin(), answerer.arguments.end());
  TRY(guests.launch(program, std::move(arguments)));
  TRY(guests.wait_for_ends());
  const auto tokens = static_cast<double>(token_count);
  const double control = static_cast<double>(guests.calls().control) / tokens;
  const double device = static_cast<double>(guests.calls().device) / tokens;
  return nlohmann::json{{"program", told(answerer)},
                        {"calls_per_token", control + device},
                        {"control", control},
                        {"device", device}};
}

}  // namespace

Result<nlohmann::json> count_calls(const cli::BenchOptions& options) {
  nlohmann::json rows = nlohmann::json::array();
  if (options.decode_tokens == 0) return rows;
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  std::deque<BenchGuests> guests;  // They outlive the instances.
  const std::unique_ptr<Application> application =
      TRY(Application::build(*machine, clock, SandboxOptions{}));
  const std::vector<Answerer> answerers = {{"text_completion", {}},
                                           {"text_completion_by_hand", {}},
                                           {"beam_search", {"--width", "3"}},
                                           {"beam_search", {"--width", "5"}}};
  const auto rest = [&](bool was_busy) {
    if (was_busy) return;
    machine->wakeup().wait_for(std::chrono::nanoseconds(application->loop().sleep_ns()));
  };
  for (const Answerer& each : answerers) {
    guests.emplace_back(*application, told(each), rest);
    rows.push_back(TRY(count(each, options.decode_tokens, *application, guests.back())));
  }
  return rows;
}

}  // namespace quire
