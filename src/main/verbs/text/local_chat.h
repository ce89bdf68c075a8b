#pragma once
// LocalChat is a chat with a model in an engine here; one context holds its history.
//
// Owns     the conversation and its context.
// Thread   the main thread, which is the engine's.
// Errors   of a turn: an error of the model's template for the message leaves the chat as it was.
//          After any other error the chat has no history, and the error says so.
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/terminal.h"
#include "control/api/adapter_runs.h"
#include "main/machine/host_generator.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/interrupt.h"
#include "main/verbs/text/chat_partner.h"
#include "main/verbs/text/conversation.h"

namespace quire {

class LocalChat final : public ChatPartner {
 public:
  // All references outlive the chat. The machine's model has a chat template.
  LocalChat(Machine& machine, control::ChosenAdaptersRef adapters,
            const cli::ChatSettings& settings, const cli::GrammarOptions& grammar,
            const Clock& clock, Interrupt& interrupt);

  // Reads and compiles the grammar that replies follow, so that a wrong one is refused before the
  // user writes anything.
  Result<void> check_grammar();
  Result<void> turn(const std::string& message) override;
  const ChatMessages& messages() const override { return conversation_.messages(); }
  const std::string& model() const override { return machine_.model().name; }
  void clear() override;
  void restore(ChatMessages messages) override;
  Result<void> check(const cli::ChatSettings&) const override { return {}; }

 private:
  void start_context();
  Result<void> answer(const std::vector<std::uint32_t>& prompt, std::uint64_t begin_ns);
  Result<std::string> stream(std::uint64_t begin_ns, std::uint64_t& first_ns);
  void tell_speed(std::uint64_t begin_ns, std::uint64_t first_ns, std::size_t prompt_count,
                  std::uint32_t found_before) const;

  Machine& machine_;
  const control::ChosenAdaptersRef adapters_;
  const cli::ChatSettings& settings_;
  const cli::GrammarOptions& grammar_;
  const Clock& clock_;
  Interrupt& interrupt_;
  const cli::Terminal terminal_ = cli::Terminal::standard_error();
  HostLoop loop_;
  Conversation conversation_;
  std::unique_ptr<HostGenerator> generator_;
  bool interrupted_ = false;
};

}  // namespace quire
