#pragma once
// AnswerSink: what takes an answer as it comes; ChatAnswer: the same answer when it is whole.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "members.h"

namespace endpoints {

struct AnswerCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON, as it was written; not whole if the answer is cut within it.
  std::size_t namespace_bytes = 0;  // Of the name, as in OfferedTool.
};

struct ChatAnswer {
  std::string text;
  std::string reasoning;
  std::vector<AnswerCall> calls;
  std::vector<std::uint32_t> tokens;
  FinishReason finish_reason = FinishReason::Running;
  bool is_cut_in_call = false;  // The arguments of the last call are not whole.
  std::uint64_t seed = 0;       // Of its tokens.
};

// The beginning of a text that is a part of its own, as after a call. The line feed between both
// parts is not of it.
inline std::string part_begin(std::string text) {
  text.erase(0, std::min(text.find_first_not_of("\r\n"), text.size()));
  return text;
}

// Gets an answer as it comes: thoughts, text and calls in the order in which the model writes them.
// All of `text`, `reasoning` and `arguments`, joined, is what the answer has.
class AnswerSink {
 public:
  AnswerSink() = default;
  AnswerSink(const AnswerSink&) = delete;
  AnswerSink& operator=(const AnswerSink&) = delete;
  virtual ~AnswerSink() = default;
  // The prompt is computed, and `prompt` says how. An error may come instead, and nothing after it.
  virtual Task<> begin(const Usage& prompt) = 0;
  // `token` is null unless the answer is asked for token by token.
  virtual Task<> text(std::string more, const Piece* token) = 0;
  virtual Task<> reasoning(std::string more) = 0;
  virtual Task<> begin_call(std::size_t number, AnswerCall call) = 0;  // Without arguments yet.
  virtual Task<> arguments(std::size_t number, std::string more) = 0;  // Of the last call.
};

}  // namespace endpoints
