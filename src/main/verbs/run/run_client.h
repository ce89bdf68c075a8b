#pragma once
// RunClient is the client of the instances that `quire run` launches: it prints what they say and
// keeps the files that they send, where the user named a folder for them.
//
// One instance: its messages go to standard output as they are, and to a terminal without its
// controls (cli/terminal_text.h). Several: whole lines, each after the number of its instance.
// JSON: one object a line.
//
// Owns     the text that waits for the end of its line, files on their way, and how each instance
//          ended.
// Thread   engine thread, which here is the main thread.
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/terminal_text.h"
#include "main/verbs/run/program_log.h"
#include "main/verbs/run/received_files.h"
#include "service/listener.h"

namespace quire {

class RunClient final : public service::Listener {
 public:
  // Without `files`, the files that programs send are reported and not kept. Lines of the log below
  // `level` are not shown.
  RunClient(cli::OutputStyle style, bool several, std::optional<ReceivedFiles> files,
            cli::LogLevel level)
      : style_(style), several_(several), files_(std::move(files)), log_(level) {}

  // Instances are numbered from 0.
  void add(InstanceId instance, std::size_t number) { numbers_.emplace(instance, number); }

  bool heard(InstanceId instance, const service::Said& said) override;
  std::size_t number_of(InstanceId instance) const { return numbers_.at(instance); }

  // The program dropped one that it was being sent.
  void file_skipped(InstanceId instance, const std::string& path);
  // Prints what was held back: errors that a program logged and did not end with. To be called when
  // nothing more is there to be delivered now.
  void settle();
  // Another client has the instance, which goes on without this one.
  void detached(InstanceId instance, const std::string& why);
  // Begins a line of its own for what follows on standard error.
  void end_output_line();

  // The user has stopped them, so their ends are not reported as failures.
  void interrupted() { is_interrupted_ = true; }

  // GuestFailed: an instance did not end well; Failed: all did, but a file could not be kept, or
  // another client has taken an instance.
  int exit_code() const;
  // Over all instances that have ended.
  struct Totals {
    std::size_t instance_count = 0;
    std::uint64_t asked_token_count = 0;
    std::uint64_t computed_token_count = 0;
    std::uint64_t found_token_count = 0;
    std::uint64_t opened_token_count = 0;
    std::uint64_t children_asked_token_count = 0;
    std::uint64_t children_computed_token_count = 0;
    std::uint64_t children_found_token_count = 0;
    std::uint64_t children_opened_token_count = 0;
    std::uint64_t page_count_max = 0;  // What one instance held at most.
    // What all held at once at most, where the engine is here to say so.
    std::optional<std::uint64_t> pool_page_count_max = {};
    std::uint64_t first_message_ns = 0;  // Of the first instance to speak, from its launch.
    std::uint64_t first_message_ns_max = 0;
    std::uint64_t first_token_ns = 0;  // Likewise, to its first token; 0: no instance drew one.
    std::uint64_t first_token_ns_max = 0;
    std::uint64_t duration_ns_max = 0;  // Of the instance that ran longest, from its launch.
  };
  const Totals& totals() const { return totals_; }
  void set_pool_page_count_max(std::uint64_t count) { totals_.pool_page_count_max = count; }

 private:
  void hear(std::size_t number, const service::Message& said);
  void hear(std::size_t number, const service::LogLine& said);
  void hear(std::size_t number, const service::SentPart& said);
  void hear(std::size_t number, const service::DroppedFile& said);
  void hear(std::size_t, const service::ResponsePart&) {}  // No request launched the program.
  void hear(std::size_t number, const service::Ended& said);
  void add_to_totals(const service::End& end);
  void tell_held(std::size_t number, const std::string& reason = {});
  void print_line(std::size_t number, std::string_view line);
  void print_json(std::size_t number, const char* key, std::string_view text);
  std::string subject(std::size_t number) const;  // Of an error.
  void tell_result(std::size_t number, const std::string& result);
  void tell_failure(std::size_t number, const service::End& end);
  void tell_file(std::size_t number, const service::SentPart& part, const std::string* path);
  void tell(std::size_t number, const std::string& text, cli::Colour colour);

  const cli::OutputStyle style_;
  const bool several_;
  std::optional<ReceivedFiles> files_;
  const bool are_read_together_ = cli::are_read_together();
  std::map<InstanceId, std::size_t> numbers_;
  std::map<std::size_t, std::string> unfinished_lines_;  // By number; only when several.
  char last_byte_ = '\n';                                // Of standard output.
  cli::TerminalText output_ = cli::TerminalText::of_standard_output();  // Of one instance.
  ProgramLog log_;
  bool is_interrupted_ = false;
  std::size_t failed_count_ = 0;
  std::size_t lost_file_count_ = 0;  // Could not be kept.
  std::size_t detached_count_ = 0;   // Instances that other clients took.
  Totals totals_;
};

// The totals of a run that took this long, in words and as JSON.
std::string totals_text(const RunClient::Totals& totals, double duration_s);
nlohmann::json totals_json(const RunClient::Totals& totals, double duration_s);

}  // namespace quire
