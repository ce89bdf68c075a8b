#include "main/verbs/shared/server_instances.h"

#include <utility>

#include "base/utf8.h"
#include "client/server_client.h"
#include "main/verbs/shared/server_connection.h"

namespace quire {

Result<service::StatusDetail> instances_of(const cli::ServerChoice& server,
                                           std::chrono::milliseconds time_max) {
  const auto client = TRY(connect_server(server.url, server.key_file, time_max));
  wire::ReplyBody reply = TRY(client->ask(wire::Status{true}, time_max));
  if (const auto* failure = std::get_if<wire::Failure>(&reply)) return error_of(*failure);
  auto* status = std::get_if<wire::StatusReply>(&reply);
  if (status == nullptr || !status->detail) {
    return Error(ErrorCode::Unavailable,
                 "the server at " + server.url + " reports nothing about its instances");
  }
  return std::move(*status->detail);
}

std::string program_label(const service::InstanceStatus& instance) {
  constexpr std::size_t kLabelDigits = 12;
  if (!instance.program_name.empty()) return printable(instance.program_name);
  return hex(instance.program).substr(0, kLabelDigits);
}

}  // namespace quire
