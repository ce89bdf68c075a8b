#include "main/verbs/text/chat_command.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/blocked_signals.h"
#include "cli/terminal.h"
#include "main/machine/adapter_loading.h"
#include "main/verbs/models/fetch_model.h"
#include "main/verbs/shared/interrupt.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/text/chat_commands.h"
#include "main/verbs/text/chat_folder.h"
#include "main/verbs/text/chat_input.h"
#include "main/verbs/text/local_chat.h"
#include "main/verbs/text/prompt_input.h"
#include "main/verbs/text/quiet_terminal.h"
#include "main/verbs/text/remote_chat.h"

namespace quire {
namespace {

const char* kv_mode_name(cli::KvModeChoice mode) {
  return mode == cli::KvModeChoice::Basic ? "basic" : "paged";
}

// The user's words, and what became of them before there was a model to talk to.
struct ChatSetup {
  const cli::ChatOptions& options;
  cli::ChatSettings& settings;
  const Clock& clock;
  Interrupt& interrupt;
  bool is_terminal = false;
};

// Messages until the input ends.
Result<void> converse(ChatPartner& partner, ChatInput& input, ChatCommands& commands,
                      QuietTerminal::Keys keys, bool is_terminal) {
  while (true) {
    const ChatEntry entry = input.next();
    Result<void> done;
    switch (entry.kind) {
      case ChatEntry::Kind::End:
        return {};
      case ChatEntry::Kind::Interrupted:
        std::fputs("(Ctrl-D or /quit ends the chat)\n", stderr);
        continue;
      case ChatEntry::Kind::Command: {
        Result<ChatCommands::Then> then = commands.run(entry.text);
        if (then.ok() && then.value() == ChatCommands::Then::Quit) return {};
        if (!then.ok()) done = std::move(then).take_error();
        break;
      }
      case ChatEntry::Kind::Message:
        if (!entry.text.empty()) {
          const QuietTerminal quiet(keys);
          done = partner.turn(entry.text);
        }
        break;
    }
    if (done.ok()) continue;
    if (!is_terminal) return done;  // A script wants to know.
    fail(done.error());
  }
}

// The conversation that --load names, if any.
Result<void> load_saved(ChatCommands& commands, const cli::ChatOptions& options) {
  if (options.saved.empty()) return {};
  TRY(commands.run("load " + options.saved));
  return {};
}

// One message, or a conversation.
Result<void> talk(ChatPartner& partner, const ChatSetup& setup,
                  const std::optional<std::string>& message) {
  const Result<std::string> folder = chat_folder_from_environment();
  ChatCommands commands(partner, setup.settings, folder);
  TRY(load_saved(commands, setup.options));
  if (message) {
    const QuietTerminal quiet(QuietTerminal::Keys::Lines);
    return partner.turn(*message);
  }
  std::unique_ptr<ChatLines> lines;
  Result<std::unique_ptr<LineEditor>> editor = LineEditor::create(
      [&commands](const std::string& before) { return commands.completions(before); });
  const bool edits_lines = editor.ok();
  if (edits_lines) {
    std::optional<ChatHistory> history;
    if (setup.options.keeps_history && folder.ok()) history.emplace(folder.value());
    lines = std::make_unique<EditedLines>(std::move(editor).take(), std::move(history));
  } else {
    lines = std::make_unique<PlainLines>(STDIN_FILENO, setup.interrupt, setup.is_terminal);
  }
  ChatInput input(*lines, setup.is_terminal);
  const auto keys = edits_lines ? QuietTerminal::Keys::Letters : QuietTerminal::Keys::Lines;
  return converse(partner, input, commands, keys, setup.is_terminal);
}

Result<void> talk_here(const ChatSetup& setup, const std::optional<std::string>& message) {
  const cli::ChatOptions& options = setup.options;
  std::unique_ptr<Machine> machine;
  {
    const BlockedSignals blocked;  // For its threads: the line editor takes them.
    machine = TRY(Machine::build(options.engine, setup.clock));
  }
  if (!machine->model().has_chat_template) {
    return Error(ErrorCode::NotSupported, machine->model().name +
                                              " has no chat template, so it is not a model for "
                                              "chats (quire generate continues text)");
  }
  const std::string line = machine->model().name + ", backend " + machine->device().name +
                           ", kv cache " + kv_mode_name(options.engine.kv_mode) + ", " +
                           std::to_string(machine->thread_count()) + " threads";
  print_note(line);
  control::ChosenAdaptersRef adapters =
      TRY(choose_adapters(machine->adapters(), options.engine.adapters, machine->model().name));
  LocalChat chat(*machine, std::move(adapters), setup.settings, options.grammar, setup.clock,
                 setup.interrupt);
  TRY(chat.check_grammar());
  return talk(chat, setup, message);
}

Result<void> talk_to_server(const ChatSetup& setup, const std::optional<std::string>& message) {
  const std::unique_ptr<RemoteChat> chat =
      TRY(RemoteChat::connect(setup.options, setup.settings, setup.clock, setup.interrupt));
  if (!message) {
    print_note(chat->model() + " on " + setup.options.server);
  }
  return talk(*chat, setup, message);
}

Result<void> run(const cli::ChatOptions& options) {
  const SteadyClock clock;
  std::optional<std::string> message;
  if (options.message.text || !options.message.file.empty()) {
    message = TRY(read_prompt(options.message));
  }
  if (message && message->empty()) {
    return Error(ErrorCode::InvalidArgument, "the message is empty: there is nothing to answer");
  }
  // Before Ctrl-C becomes a value: it ends a fetch as it ends any command.
  if (options.server.empty()) TRY(offer_model(options.engine.model, clock));
  Interrupt interrupt = TRY(Interrupt::create());
  cli::ChatSettings settings = options.settings;
  const ChatSetup setup{.options = options,
                        .settings = settings,
                        .clock = clock,
                        .interrupt = interrupt,
                        .is_terminal = isatty(STDIN_FILENO) != 0};
  return options.server.empty() ? talk_here(setup, message) : talk_to_server(setup, message);
}

}  // namespace

int chat_command(const cli::ChatOptions& options) {
  const Result<void> done = run(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
