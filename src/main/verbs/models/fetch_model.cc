#include "main/verbs/models/fetch_model.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/utf8.h"
#include "cli/terminal.h"
#include "inference/model_store/known_models.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

constexpr std::size_t kAnswerBytesMax = 80;

// A line of standard input, without what follows it. False: the input has ended.
bool read_answer(std::string& answer) {
  for (char each = 0;;) {
    const ssize_t count = ::read(STDIN_FILENO, &each, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    if (each == '\n') return true;
    if (answer.size() < kAnswerBytesMax) answer += each;
  }
}

bool is_yes(std::string answer) {
  for (char& each : answer) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return answer.empty() || answer == "y" || answer == "yes";
}

std::string plan_text(const inference::HubPlan& plan) {
  std::string text = "fetching " + plan.name + " (" + cli::bytes_text(plan.bytes) + ") from " +
                     printable(plan.source);
  if (plan.bytes_here > 0) {
    text += ", of which " + cli::bytes_text(plan.bytes_here) + " are here already";
  }
  return text;
}

}  // namespace

Result<inference::StoredModel> add_model(const inference::ModelStore& store,
                                         const std::string& source, const std::string& name,
                                         const Clock& clock) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  cli::Progress progress(terminal, clock, "done", {.counts_bytes = true});
  inference::AddOptions options;
  options.name = name;
  options.progress = [&progress](std::uint64_t done, std::uint64_t expected) {
    progress.update(done, expected);
    return true;
  };
  options.on_plan = [&terminal](const inference::HubPlan& plan) {
    std::fprintf(stderr, "%s\n", terminal.paint(plan_text(plan), cli::Colour::Grey).c_str());
  };
  return store.add(source, options);
}

Result<void> offer_model(const std::string& model, const Clock& clock) {
  const std::string wanted = model.empty() ? std::string(inference::kDefaultModel) : model;
  const inference::KnownModel* known = inference::find_known_model(wanted);
  if (known == nullptr || isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return {};
  const std::string folder = TRY(inference::data_folder_from_environment());
  const inference::ModelStore store(folder);
  if (store.resolve(wanted).ok()) return {};
  const inference::HubAccess hub = TRY(inference::HubAccess::from_environment());
  const std::vector<inference::StoredModel> models = TRY(store.list());
  std::fprintf(stderr, "There is no model %syet. Fetch %s (%s) from %s now? [Y/n] ",
               models.empty() ? "" : (wanted + " ").c_str(), wanted.c_str(),
               cli::bytes_text(known->bytes).c_str(), printable(hub.endpoint).c_str());
  std::string answer;
  const bool has_answer = read_answer(answer);
  if (!has_answer) std::fputs("\n", stderr);
  if (!has_answer || !is_yes(answer)) return {};
  TRY(add_model(store, wanted, wanted, clock));
  return {};
}

}  // namespace quire
