#include "main/commands/chat_command.h"

#include <unistd.h>

#include <cstdio>
#include <iterator>

#include "cli/terminal.h"
#include "main/commands/conversation.h"
#include "main/commands/fetch_model.h"
#include "main/commands/grammar_flags.h"
#include "main/commands/interrupt.h"
#include "main/commands/output.h"
#include "main/commands/prompt_input.h"
#include "main/commands/sampling_flags.h"
#include "main/machine/host_generator.h"
#include "main/machine/machine.h"

namespace quire {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

constexpr const char* kHelp =
    "/clear   forget the history\n"
    "/quit    end the chat, as Ctrl-D does\n"
    "/help    this list\n"
    "Ctrl-C   stop the reply\n"
    "Every other line is a message to the model.\n";

// Lines of a descriptor, so that Ctrl-C can be heard while waiting for one.
class LineReader {
 public:
  LineReader(int descriptor, Interrupt& interrupt)
      : descriptor_(descriptor), interrupt_(interrupt) {}

  enum class Got : std::uint8_t { Line, End, Interrupted };
  Got next(std::string& line) {
    while (true) {
      if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
        line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return Got::Line;
      }
      if (ended_ || pending_.size() > kLineBytesMax) {
        line = std::exchange(pending_, {});
        return line.empty() ? Got::End : Got::Line;
      }
      if (interrupt_.wait_for_input(descriptor_) == Interrupt::Woken::Interrupted) {
        return Got::Interrupted;
      }
      char part[4096];
      const ssize_t count = read(descriptor_, part, sizeof part);
      if (count <= 0) ended_ = true;
      if (count > 0) pending_.append(part, static_cast<std::size_t>(count));
    }
  }

 private:
  const int descriptor_;
  Interrupt& interrupt_;
  std::string pending_;
  bool ended_ = false;
};

class Chat {
 public:
  Chat(Machine& machine, const cli::ChatOptions& options, const Clock& clock, Interrupt& interrupt)
      : machine_(machine),
        options_(options),
        clock_(clock),
        interrupt_(interrupt),
        loop_(machine.control(), machine.answers(), machine.wakeup()),
        conversation_(machine.text(), options.system) {
    clear();
  }

  void clear() {
    conversation_.clear();
    start_context();
  }

  // One message and its reply, streamed. Errors leave the chat as it was, or cleared.
  Result<void> turn(const std::string& message);

 private:
  void start_context() {
    generator_ = std::make_unique<HostGenerator>(loop_, machine_.text(), machine_.model());
  }
  Result<std::string> stream(std::uint64_t begin_ns, std::uint64_t& first_ns);
  void tell_speed(std::uint64_t begin_ns, std::uint64_t first_ns, std::size_t prompt_count,
                  std::uint32_t found_before);

  Machine& machine_;
  const cli::ChatOptions& options_;
  const Clock& clock_;
  Interrupt& interrupt_;
  const cli::Terminal terminal_ = cli::Terminal::standard_error();
  HostLoop loop_;
  Conversation conversation_;
  std::unique_ptr<HostGenerator> generator_;
  bool interrupted_ = false;
};

Result<std::string> Chat::stream(std::uint64_t begin_ns, std::uint64_t& first_ns) {
  std::string text;
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
    print(shown.value());
    text += shown.value();
    interrupted_ = interrupt_.take();
  }
  return text;
}

void Chat::tell_speed(std::uint64_t begin_ns, std::uint64_t first_ns, std::size_t prompt_count,
                      std::uint32_t found_before) {
  const double first_s = static_cast<double>(first_ns - begin_ns) * 1e-9;
  const double decode_s = static_cast<double>(clock_.now_ns() - first_ns) * 1e-9;
  const std::size_t count = generator_->ids().size();
  const double rate = count > 1 && decode_s > 0 ? static_cast<double>(count - 1) / decode_s : 0.0;
  const std::string line = "[" + std::string(interrupted_ ? "stopped, " : "") +
                           std::to_string(count) + " tokens, " + decimal(rate, 1) +
                           " tokens/s, first after " + decimal(first_s * 1e3, 0) + " ms; " +
                           std::to_string(prompt_count) + " prompt tokens, " +
                           std::to_string(generator_->counters().found_token_count - found_before) +
                           " found in cache; context " + std::to_string(generator_->token_count()) +
                           " of " + std::to_string(machine_.model().context_length) + "]";
  print("\n");  // Of the answer, wherever it goes.
  std::fprintf(stderr, "%s\n", terminal_.paint(line, cli::Colour::Grey).c_str());
}

Result<void> Chat::turn(const std::string& message) {
  const std::uint64_t begin_ns = clock_.now_ns();
  const Conversation::Turn turn = TRY(conversation_.user_says(message));
  if (turn.starts_over) start_context();
  const std::uint32_t found_before = generator_->counters().found_token_count;
  Result<void> fits = generator_->append(turn.tokens);
  if (!fits.ok()) {
    clear();
    return std::move(fits).take_error().while_("the history was forgotten");
  }
  TRY(constrain(*generator_, options_.grammar));
  generator_->start(
      draw_rule(options_.sampling), options_.sampling.seed,
      {.token_count_max = options_.max_tokens, .stop_tokens = machine_.model().stop_ids});
  std::uint64_t first_ns = 0;
  Result<std::string> text = stream(begin_ns, first_ns);
  if (!text.ok()) {
    clear();
    return std::move(text).take_error().while_("the history was forgotten");
  }
  tell_speed(begin_ns, first_ns, turn.tokens.size(), found_before);
  return conversation_.assistant_said(text.value());
}

const char* kv_mode_name(cli::KvModeChoice mode) {
  return mode == cli::KvModeChoice::Basic ? "basic" : "paged";
}

// Messages line by line until the input ends.
Result<void> converse(Chat& chat, Interrupt& interrupt, const cli::Terminal& terminal) {
  LineReader reader(STDIN_FILENO, interrupt);
  const bool prompts = isatty(STDIN_FILENO) != 0;
  while (true) {
    if (prompts) std::fprintf(stderr, "%s", terminal.paint("> ", cli::Colour::Bold).c_str());
    std::string line;
    const LineReader::Got got = reader.next(line);
    if (got == LineReader::Got::Interrupted) {
      std::fprintf(stderr, "\n(Ctrl-D or /quit ends the chat)\n");
      continue;
    }
    if (got == LineReader::Got::End || line == "/quit") return {};
    if (line == "/clear") {
      chat.clear();
      continue;
    }
    if (line == "/help") {
      std::fputs(kHelp, stderr);
      continue;
    }
    if (line.empty()) continue;
    const Result<void> done = chat.turn(line);
    if (done.ok()) continue;
    if (!prompts) return done.error().copy();  // A script wants to know.
    fail(done.error());
  }
}

Result<void> run(const cli::ChatOptions& options) {
  const SteadyClock clock;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const bool is_conversation = !options.message.text && options.message.file.empty();
  const std::string message = is_conversation ? "" : TRY(read_prompt(options.message));
  if (!is_conversation && message.empty()) {
    return Error(ErrorCode::InvalidArgument, "the message is empty: there is nothing to answer");
  }
  // Before Ctrl-C becomes a value: it ends a fetch as it ends any command.
  TRY(offer_model(options.engine.model, clock));
  Interrupt interrupt = TRY(Interrupt::create());
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  if (!machine->model().has_chat_template) {
    return Error(ErrorCode::NotSupported, machine->model().name +
                                              " has no chat template: it is no model for talking "
                                              "(quire generate continues text)");
  }
  const std::string line = machine->model().name + ", backend " + machine->device().name +
                           ", kv cache " + kv_mode_name(options.engine.kv_mode) + ", " +
                           std::to_string(machine->thread_count()) + " threads";
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Grey).c_str());
  Chat chat(*machine, options, clock, interrupt);
  if (!is_conversation) return chat.turn(message);
  return converse(chat, interrupt, terminal);
}

}  // namespace

int chat_command(const cli::ChatOptions& options) {
  const Result<void> done = run(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
