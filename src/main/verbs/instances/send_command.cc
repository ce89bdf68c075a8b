#include <chrono>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "client/server_client.h"
#include "main/verbs/instances/instance_commands.h"
#include "main/verbs/run/sent_files.h"
#include "main/verbs/shared/kv_text.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/server_connection.h"

namespace quire {
namespace {

// Sends to one instance, one request after the other.
class Sender {
 public:
  Sender(client::ServerClient& client, std::uint64_t instance)
      : client_(client), instance_(instance) {}

  Result<void> send_message(const std::string& text) {
    if (text.size() > wire::kPayloadBytesMax) {
      return Error(ErrorCode::TooLarge, "a message of " + std::to_string(text.size()) +
                                            " bytes; at most " +
                                            std::to_string(wire::kPayloadBytesMax) +
                                            " are allowed, and --send-file PATH sends more");
    }
    TRY(ask(wire::Send{instance_, text}));
    ++message_count_;
    return {};
  }

  Result<void> send_files(const std::vector<FileToSend>& files) {
    if (files.empty()) return {};
    for (FileSender sender(files); !sender.is_done();) {
      const Result<void> sent = ask(wire::SendFile{instance_, TRY(sender.part())});
      if (sent.ok()) {
        sender.taken();
      } else if (sent.error().code() == ErrorCode::Cancelled) {
        warn("the program dropped " + sender.path() +
             " before all of it was sent; the rest is not");
        sender.skip();
      } else {
        return Error(sent.error().code(),
                     sender.path() + ": " + std::string(sent.error().message()));
      }
    }
    return {};
  }

  Result<void> end_input() { return ask(wire::CloseInput{instance_}); }

  std::uint64_t message_count() const { return message_count_; }

 private:
  // A full inbox has room once the program receives, which may take as long as the program wants.
  Result<void> ask(const wire::RequestBody& body) {
    while (true) {
      const wire::ReplyBody reply = TRY(client_.ask(body, kFileTimeMax));
      const auto* failure = std::get_if<wire::Failure>(&reply);
      if (failure == nullptr) return {};
      if (!failure->retry_after_ms) return error_of(*failure);
      std::this_thread::sleep_for(std::chrono::milliseconds(*failure->retry_after_ms));
    }
  }

  // The reply to a part of a file comes once the program has taken some.
  static constexpr std::chrono::hours kFileTimeMax{24};

  client::ServerClient& client_;
  const std::uint64_t instance_;
  std::uint64_t message_count_ = 0;
};

Result<std::string> message_in(const std::string& file) {
  std::string text =
      TRY(file == "-" ? read_standard_input() : read_input_file(file, wire::kPayloadBytesMax));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<int> send_all(const cli::SendOptions& options) {
  const std::vector<FileToSend> files = TRY(open_files_to_send(options.sent_files));
  std::optional<std::string> text = options.text;
  if (!options.text_file.empty()) text = TRY(message_in(options.text_file));
  const auto client = TRY(connect_server(options.server.url, options.server.key_file));
  Sender sender(*client, options.instance);
  if (text) TRY(sender.send_message(*text));
  TRY(sender.send_files(files));
  if (options.reads_lines) {
    for (std::string line; std::getline(std::cin, line);) TRY(sender.send_message(line));
  }
  if (options.ends_input) TRY(sender.end_input());
  if (options.output == cli::OutputStyle::Json) {
    print(json_line({{"instance", options.instance},
                     {"messages", sender.message_count()},
                     {"files", files.size()},
                     {"input_ended", options.ends_input}}));
  }
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace

int send_command(const cli::SendOptions& options) {
  const Result<int> code = send_all(options);
  return code.ok() ? code.value() : fail(code.error());
}

}  // namespace quire
