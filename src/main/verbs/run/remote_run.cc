#include "main/verbs/run/remote_run.h"

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/server_connection.h"

namespace quire {
namespace {

void tell_shutdown(std::uint64_t grace_ms) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string line = "the server is shutting down; what still runs is stopped in " +
                           std::to_string(grace_ms) + " ms";
  std::fprintf(stderr, "%s\n", terminal.paint(line, cli::Colour::Yellow).c_str());
}

}  // namespace

Result<std::unique_ptr<RemoteRun>> RemoteRun::connect(const std::string& url,
                                                      const std::string& key_file) {
  std::unique_ptr<client::ServerClient> client = TRY(connect_server(url, key_file));
  return std::unique_ptr<RemoteRun>(new RemoteRun(std::move(client)));
}

RemoteRun::RemoteRun(std::unique_ptr<client::ServerClient> client)
    : service_(std::move(client), {.shutdown = tell_shutdown,
                                   .detached = [this](InstanceId instance, const std::string& why) {
                                     detached(instance, why);
                                   }}) {}

void RemoteRun::watch(ProgramsRun& run, RunClient& printer) {
  run_ = &run;
  printer_ = &printer;
}

void RemoteRun::detached(InstanceId instance, const std::string& why) {
  if (run_ == nullptr) return;
  printer_->detached(instance, why);
  run_->lost(instance);
}

void print_totals(cli::OutputStyle style, const RunClient::Totals& totals, double duration_s) {
  if (style == cli::OutputStyle::Json) {
    const std::string json = dump_json(totals_json(totals, duration_s));
    std::fprintf(stderr, "%s\n", json.c_str());
  } else {
    print_note("[" + totals_text(totals, duration_s) + "]");
  }
}

}  // namespace quire
