#pragma once
// RemoteRun is the connection of a verb whose programs run on a server: it prints what the
// server says unasked, and ends the run of an instance that another client takes.
//
// Thread   the main thread.
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "client/remote_service.h"
#include "main/verbs/run/run_client.h"
#include "main/verbs/run/run_programs.h"

namespace quire {

class RemoteRun {
 public:
  // `url` and `key_file` are the values of --server and --key-file. Errors name the flag.
  static Result<std::unique_ptr<RemoteRun>> connect(const std::string& url,
                                                    const std::string& key_file);
  RemoteRun(const RemoteRun&) = delete;
  RemoteRun& operator=(const RemoteRun&) = delete;

  client::RemoteService& service() { return service_; }
  // From here on they learn of an instance that another client takes. Both are there while the
  // service turns.
  void watch(ProgramsRun& run, RunClient& printer);

 private:
  explicit RemoteRun(std::unique_ptr<client::ServerClient> client);
  void detached(InstanceId instance, const std::string& why);

  client::RemoteService service_;
  ProgramsRun* run_ = nullptr;
  RunClient* printer_ = nullptr;
};

// The closing line, or the closing object, on standard error.
void print_totals(cli::OutputStyle style, const RunClient::Totals& totals, double duration_s);

}  // namespace quire
