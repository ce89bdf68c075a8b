#include "main/verbs/text/local_chat.h"

#include <utility>

#include "main/verbs/text/grammar_flags.h"
#include "main/verbs/text/reply_line.h"
#include "main/verbs/text/reply_printer.h"
#include "main/verbs/text/sampling_flags.h"

namespace quire {

LocalChat::LocalChat(Machine& machine, control::ChosenAdaptersRef adapters,
                     const cli::ChatSettings& settings, const cli::GrammarOptions& grammar,
                     const Clock& clock, Interrupt& interrupt)
    : machine_(machine),
      adapters_(std::move(adapters)),
      settings_(settings),
      grammar_(grammar),
      clock_(clock),
      interrupt_(interrupt),
      loop_(machine.control(), machine.answers(), machine.wakeup()),
      conversation_(machine.text()) {
  start_context();
}

void LocalChat::start_context() {
  generator_ = std::make_unique<HostGenerator>(loop_, machine_.text(), machine_.model());
  generator_->use(adapters_);
}

void LocalChat::clear() {
  restore({});
}

void LocalChat::restore(ChatMessages messages) {
  conversation_.restore(std::move(messages));
  start_context();
}

Result<std::string> LocalChat::stream(std::uint64_t begin_ns, std::uint64_t& first_ns) {
  std::string text;
  ReplyPrinter printer(ReplyPrinter::Kind::Answer);
  cli::Progress progress(terminal_, clock_, "prompt tokens");
  const std::uint64_t before = generator_->statistics().computed_token_count;
  loop_.watch([&] { progress.update(generator_->statistics().computed_token_count - before, 0); });
  first_ns = begin_ns;
  interrupted_ = false;
  while (!generator_->ended() && !interrupted_) {
    generator_->begin_step();
    Result<std::string> shown = generator_->finish_step();
    loop_.watch({});
    progress.finish();
    if (first_ns == begin_ns) first_ns = clock_.now_ns();
    if (!shown.ok()) return std::move(shown).take_error();
    printer.add(shown.value());
    text += shown.value();
    interrupted_ = interrupt_.take();
  }
  return text;
}

void LocalChat::tell_speed(std::uint64_t begin_ns, std::uint64_t first_ns, std::size_t prompt_count,
                           std::uint32_t found_before) const {
  print_reply_line({.is_stopped = interrupted_,
                    .token_count = generator_->ids().size(),
                    .first_s = static_cast<double>(first_ns - begin_ns) * 1e-9,
                    .decode_s = static_cast<double>(clock_.now_ns() - first_ns) * 1e-9,
                    .prompt_count = prompt_count,
                    .found_count = generator_->counters().found_token_count - found_before,
                    .context = "context " + std::to_string(generator_->token_count()) + " of " +
                               std::to_string(machine_.model().context_length)},
                   terminal_, settings_.shows_figures());
}

Result<void> LocalChat::turn(const std::string& message) {
  const std::uint64_t begin_ns = clock_.now_ns();
  conversation_.set_system(settings_.system);
  const Conversation::Turn turn = TRY(conversation_.user_says(message));
  if (turn.starts_over) start_context();
  Result<void> answered = answer(turn.tokens, begin_ns);
  if (answered.ok()) return {};
  clear();  // Its last message has no reply.
  return std::move(answered).take_error().while_("the history was forgotten");
}

Result<void> LocalChat::answer(const std::vector<std::uint32_t>& prompt, std::uint64_t begin_ns) {
  const std::uint32_t found_before = generator_->counters().found_token_count;
  TRY(constrain(*generator_, grammar_));
  TRY(generator_->append(prompt));
  generator_->start(
      draw_rule(settings_.sampling), settings_.sampling.seed,
      {.token_count_max = settings_.max_tokens, .stop_tokens = machine_.model().stop_ids});
  std::uint64_t first_ns = 0;
  const std::string text = TRY(stream(begin_ns, first_ns));
  tell_speed(begin_ns, first_ns, prompt.size(), found_before);
  return conversation_.assistant_said(text);
}

Result<void> LocalChat::check_grammar() {
  return constrain(*generator_, grammar_);
}

}  // namespace quire
