#pragma once
// The connection of a verb that asks a server, without instances.
#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "client/server_client.h"
#include "main/verbs/shared/remote_times.h"

namespace quire {

// `url` and `key_file` are the values of --server and --key-file. Errors name the flag.
inline Result<std::unique_ptr<client::ServerClient>> connect_server(
    const std::string& url, const std::string& key_file,
    std::chrono::milliseconds time_max = kConnectTimeMax) {
  const wire::Endpoint endpoint = TRY(server_endpoint(url));
  const std::string key = TRY(server_key(key_file));
  return client::ServerClient::connect(endpoint, time_max, {}, key);
}

}  // namespace quire
