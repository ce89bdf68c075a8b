#pragma once
// ReplyStream reads the events of a streamed chat completion (the interface of OpenAI) from the bytes of their HTTP body, in
// whatever parts they come.
//
// Thread   any.
// Errors   Corrupted for what is not such a stream; TooLarge for a line above kLineBytesMax; Unavailable with the words of
//          the server for an error that it sends in place of the rest.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire {

class ReplyStream {
 public:
  static constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

  struct Usage {
    std::uint64_t prompt_count = 0;
    std::uint64_t found_count = 0;
    std::uint64_t token_count = 0;
  };

  // `show` gets each part of the text, `think` each part of the thoughts before it.
  using Show = std::function<void(const std::string& part)>;
  ReplyStream(Show show, Show think) : show_(std::move(show)), think_(std::move(think)) {}

  Result<void> receive(std::string_view bytes);
  bool is_complete() const { return is_complete_; }  // The server said that all was sent.
  const std::string& text() const { return text_; }
  const std::optional<Usage>& usage() const { return usage_; }

 private:
  Result<void> take(std::string_view event);

  const Show show_;
  const Show think_;
  std::string pending_;
  std::string text_;
  std::optional<Usage> usage_;
  bool is_complete_ = false;
};

// "message" of the JSON with which a server refuses a request; empty if there is none.
std::string refusal_of(std::string_view body);

}  // namespace quire
