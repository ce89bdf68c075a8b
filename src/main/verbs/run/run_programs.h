#pragma once
// `quire run` uses a Service, here or on a server: it brings the program, launches it, hands on
// lines of standard input and files, and waits for the ends.
//
// Thread   the main thread.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "main/verbs/run/input_lines.h"
#include "main/verbs/run/run_client.h"
#include "main/verbs/run/sent_files.h"
#include "main/verbs/shared/interrupt.h"
#include "service/service.h"

namespace quire {

// A file here, whose bytes the service gets unless it has them, or else a name that it knows.
Result<service::ProgramName> bring_program(service::Service& service, const std::string& program);

// Whether the service has a program of that name.
Result<bool> has_program(service::Service& service, const std::string& name);

// A launch for each list of arguments. Limits are not in it: here they are those of the service.
std::vector<service::Launch> launches_of(const cli::LaunchOptions& options,
                                         const service::ProgramName& program,
                                         std::vector<std::vector<std::string>> arguments);

class ProgramsRun {
 public:
  // All of it outlives the run. `listener` hears the instances, and `printer` knows their numbers.
  ProgramsRun(service::Service& service, service::Listener& listener, RunClient& printer,
              std::vector<service::Launch> launches, const std::vector<FileToSend>& files);

  // An instance that runs already, and of which the printer knows the number. Ctrl-C leaves it as
  // it is. The end of standard input ends the program's only if `ends_input`.
  void follow(InstanceId instance, bool ends_input);
  // Another client has the instance now.
  void lost(InstanceId instance) { ended(instance); }

  // Returns when every program has ended. With an Interrupt, Ctrl-C stops the programs, and the
  // error is `Cancelled`.
  Result<void> run(Interrupt* interrupt);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Line {  // It goes to every instance that runs.
    std::set<InstanceId> unsent;
    std::size_t asked_count = 0;  // Sent, without a reply so far.
  };
  // Sees the ends, which the printer prints.
  class Ends final : public service::Listener {
   public:
    Ends(ProgramsRun& run, service::Listener& next) : run_(run), next_(next) {}
    bool heard(InstanceId instance, const service::Said& said) override;

   private:
    ProgramsRun& run_;
    service::Listener& next_;
  };

  void launch();
  void launched(std::size_t number, const service::Reply<InstanceId>& reply);
  void ended(InstanceId instance);
  void pump_input();
  bool begin_line();
  void line_taken(InstanceId instance, const service::Reply<service::Done>& reply);
  void end_input(InstanceId instance);
  Result<void> pump_files();
  void part_taken(InstanceId instance, const service::Reply<service::Done>& reply);
  void kill(InstanceId instance);
  void kill_all();
  void fail(Error error);

  service::Service& service_;
  Ends ends_;
  RunClient& printer_;
  const std::vector<service::Launch> launches_;
  const std::vector<FileToSend>& files_;
  std::optional<Error> error_;  // The first; it ends the run.
  std::deque<std::size_t> to_launch_;
  std::size_t launching_count_ = 0;
  Time launch_after_{};
  std::optional<Time> full_since_;
  std::set<InstanceId> running_;
  InputLines input_;
  std::optional<Line> line_;
  Time input_after_{};
  std::map<InstanceId, FileSender> senders_;  // Of instances that lack files.
  std::map<InstanceId, Time> due_parts_;      // When the next part of each goes.
  bool is_input_over_ = false;
  bool is_interrupted_ = false;
  bool follows_ = false;
  bool ends_input_ = true;
};

}  // namespace quire
