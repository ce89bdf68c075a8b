#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "client/server_client.h"
#include "main/verbs/instances/instance_commands.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/server_connection.h"

namespace quire {
namespace {

Result<int> abort_all(const cli::AbortOptions& options) {
  const auto client = TRY(connect_server(options.server.url, options.server.key_file));
  int code = cli::number(cli::ExitCode::Ok);
  for (const std::uint64_t each : options.instances) {
    const wire::ReplyBody reply = TRY(client->ask(wire::Abort{each}, kReplyTimeMax));
    const auto* failure = std::get_if<wire::Failure>(&reply);
    if (failure != nullptr) {
      const int failed = fail(error_of(*failure));
      if (code == cli::number(cli::ExitCode::Ok)) code = failed;
    }
    if (options.output == cli::OutputStyle::Json) {
      print(json_line({{"instance", each}, {"aborted", failure == nullptr}}));
    } else if (failure == nullptr) {
      print("aborted instance " + std::to_string(each) + "\n");
    }
  }
  return code;
}

}  // namespace

int abort_command(const cli::AbortOptions& options) {
  const Result<int> code = abort_all(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
