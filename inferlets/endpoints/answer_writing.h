#pragma once
// AnswerWriting: an answer while the model writes it, as events that the client may have.
//
// A call goes to the client as it comes. What may be written again at the end is held until then:
// the text of an answer that has a schema, and all from the first call on that must fit one. The
// tokens of a call are not tokens of the text, so an answer given token by token holds its calls.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quire/answer_stream.h"

namespace endpoints {

using namespace quire;

class AnswerWriting {
 public:
  struct Options {
    bool holds_text = false;
    bool holds_calls = false;
    bool is_parallel = true;                     // Else only the first call counts.
    std::vector<std::string> strict_tools = {};  // Their calls must fit a schema.
  };

  // Without a stream all that the model writes is text.
  AnswerWriting(std::optional<AnswerStream> stream, Options options)
      : stream_(std::move(stream)), options_(std::move(options)) {}

  std::vector<AnswerEvent> next(std::string_view more) {
    if (!stream_) return {{.kind = AnswerEvent::Kind::Text, .text = std::string(more)}};
    return free_of(stream_->next(more));
  }
  // The model writes no more. What was held comes apart.
  std::vector<AnswerEvent> finish() {
    return stream_ ? free_of(stream_->finish()) : std::vector<AnswerEvent>();
  }
  bool is_in_thought() const { return stream_ && stream_->is_in_thought(); }

  std::string take_held_text() { return std::exchange(text_, ""); }
  std::vector<AnswerEvent> take_held() { return std::exchange(held_, {}); }
  bool has_calls() const { return call_count_ > 0; }
  // There are calls, and the client gets all of them.
  bool keeps_calls() const { return has_calls() && !has_dropped_; }

 private:
  std::vector<AnswerEvent> free_of(std::vector<AnswerEvent> events) {
    std::vector<AnswerEvent> out;
    for (AnswerEvent& each : events) {
      if (is_dropped(each)) continue;
      if (options_.holds_text && each.kind == AnswerEvent::Kind::Text) {
        text_ += each.text;
      } else {
        (is_held(each) ? held_ : out).push_back(std::move(each));
      }
    }
    return out;
  }
  bool is_dropped(const AnswerEvent& event) {
    if (event.kind == AnswerEvent::Kind::CallBegin) {
      drops_call_ = !options_.is_parallel && call_count_ > 0;
      has_dropped_ = has_dropped_ || drops_call_;
      if (!drops_call_) ++call_count_;
    }
    const bool is_dropped = drops_call_ && event.kind != AnswerEvent::Kind::Text &&
                            event.kind != AnswerEvent::Kind::Reasoning;
    if (event.kind == AnswerEvent::Kind::CallEnd) drops_call_ = false;
    return is_dropped;
  }
  bool is_held(const AnswerEvent& event) const {
    if (!held_.empty()) return true;
    if (event.kind != AnswerEvent::Kind::CallBegin) return false;
    return options_.holds_calls ||
           std::ranges::find(options_.strict_tools, event.text) != options_.strict_tools.end();
  }

  std::optional<AnswerStream> stream_;
  Options options_;
  std::string text_;  // That is held.
  std::vector<AnswerEvent> held_;
  std::size_t call_count_ = 0;
  bool drops_call_ = false;   // The one that is open,
  bool has_dropped_ = false;  // or one before it.
};

}  // namespace endpoints
