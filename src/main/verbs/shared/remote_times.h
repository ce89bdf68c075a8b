#pragma once
// How the commands that talk to a server find it, which key they show, and how long they wait for it.
#include <chrono>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "wire/endpoint.h"

namespace quire {

inline constexpr std::chrono::milliseconds kConnectTimeMax{10'000};
inline constexpr std::chrono::milliseconds kReplyTimeMax{30'000};  // To what it answers at once.

// Reads the value of --server. InvalidArgument names the flag.
inline Result<wire::Endpoint> server_endpoint(const std::string& url) {
  Result<wire::Endpoint> endpoint = wire::parse_server_url(url);
  if (!endpoint.ok()) return std::move(endpoint).take_error().while_("--server");
  return endpoint;
}

// The key in the file of --key-file, else $QUIRE_KEY; empty: none. A flag with the key itself would show it to
// all users of the machine.
inline Result<std::string> server_key(const std::string& file) {
  constexpr std::uint64_t kKeyFileBytesMax = 4096;
  if (file.empty()) {
    const char* key = std::getenv("QUIRE_KEY");
    return std::string(key == nullptr ? "" : key);
  }
  Result<std::string> read = read_input_file(file, kKeyFileBytesMax);
  if (!read.ok()) return std::move(read).take_error().while_("--key-file");
  std::string key = std::move(read).take();
  key.erase(key.find_last_not_of(" \r\n\t") + 1);
  for (const char each : key) {
    if (each > 0x20 && each < 0x7f) continue;
    return Error(ErrorCode::InvalidArgument, "--key-file: " + file + " does not hold one key");
  }
  return key;
}

}  // namespace quire
