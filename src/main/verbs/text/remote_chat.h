#pragma once
// RemoteChat is a chat with a model of a server, over the server's POST /v1/chat/completions. The server keeps nothing of it: each
// turn sends the whole conversation, whose pages the server finds in its cache.
//
// Owns     the messages.
// Thread   the main thread, which waits for the server; Ctrl-C is noticed within a second.
// Errors   Unavailable for the connection, and the words of the server where it refuses; they leave the chat as it was before the
//          message. NotSupported for a setting that the endpoint does not have.
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "cli/terminal.h"
#include "inference/model_store/http_exchange.h"
#include "main/verbs/shared/interrupt.h"
#include "main/verbs/text/chat_partner.h"

namespace quire {

class RemoteChat final : public ChatPartner {
 public:
  // Asks the server for its models. All of the arguments outlive the chat.
  static Result<std::unique_ptr<RemoteChat>> connect(const cli::ChatOptions& options,
                                                     const cli::ChatSettings& settings,
                                                     const Clock& clock, Interrupt& interrupt);

  Result<void> turn(const std::string& message) override;
  const ChatMessages& messages() const override { return messages_; }
  const std::string& model() const override { return model_; }
  void clear() override { messages_.clear(); }
  void restore(ChatMessages messages) override { messages_ = std::move(messages); }
  Result<void> check(const cli::ChatSettings& settings) const override;

 private:
  RemoteChat(const cli::ChatSettings& settings, const Clock& clock, Interrupt& interrupt)
      : settings_(settings), clock_(clock), interrupt_(interrupt) {}
  Result<void> find_model(const std::string& wanted);
  inference::HttpRequest request(const char* path) const;
  std::string request_body(const std::string& message) const;

  const cli::ChatSettings& settings_;
  const Clock& clock_;
  Interrupt& interrupt_;
  const cli::Terminal terminal_ = cli::Terminal::standard_error();
  std::string url_;  // As "http://HOST:PORT".
  std::string key_;  // Empty: none.
  std::string model_;
  Json schema_;  // That each reply must meet; null: none.
  ChatMessages messages_;
};

}  // namespace quire
