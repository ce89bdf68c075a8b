#pragma once
// AnswerEvents collects what an AnswerStream (answer_stream.h) reads: text and thoughts without the
// blanks around them, and calls.
//
// Thread   any; it waits for nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quire {

struct AnswerEvent {
  enum class Kind : std::uint8_t { Text, Reasoning, CallBegin, Arguments, CallEnd };

  Kind kind = Kind::Text;
  std::string text = {};  // The name of a call that begins.
  bool is_cut = false;    // CallEnd: the arguments are not whole.
};

namespace detail {

inline constexpr std::string_view kAnswerBlanks = " \t\r\n";

// A text without the blanks around it, as it grows.
struct TrimmedText {
  bool has_any = false;
  std::string blanks = {};

  std::string push(std::string_view more) {
    const std::size_t first = more.find_first_not_of(kAnswerBlanks);
    if (first == std::string_view::npos) {
      if (has_any) blanks += more;
      return {};
    }
    const std::size_t begin = has_any ? 0 : first;
    const std::size_t end = more.find_last_not_of(kAnswerBlanks) + 1;
    std::string out = std::exchange(blanks, std::string(more.substr(end)));
    out += more.substr(begin, end - begin);
    has_any = true;
    return out;
  }
};

}  // namespace detail

class AnswerEvents {
 public:
  // `answer_begin`: what may stand before the text, and is not of it.
  explicit AnswerEvents(std::string answer_begin) : answer_begin_(std::move(answer_begin)) {}

  std::vector<AnswerEvent> take() { return std::exchange(events_, {}); }

  void begin_thought() {
    thought_ = {};
    if (has_reasoning_) add(AnswerEvent::Kind::Reasoning, "\n");
  }
  void add_reasoning(std::string_view more) {
    std::string text = thought_.push(more);
    has_reasoning_ = has_reasoning_ || !text.empty();
    add(AnswerEvent::Kind::Reasoning, std::move(text));
  }
  void add_text(std::string_view more) {
    std::string text = text_.push(more);
    if (!has_begun_) {
      begin_ += text;
      if (answer_begin_.starts_with(begin_)) return;
      text = std::exchange(begin_, "");
      has_begun_ = true;
      if (text.starts_with(answer_begin_)) text.erase(0, answer_begin_.size());
      text.erase(0, std::min(text.find_first_not_of(detail::kAnswerBlanks), text.size()));
    }
    show(std::move(text));
  }
  // Text was given that is not blank.
  bool has_text() const { return text_.has_any; }
  // The text ends, and `unread` stands after it on a line of its own.
  void end_text(const std::string& unread) {
    if (begin_ != answer_begin_) show(std::exchange(begin_, ""));
    if (!unread.empty()) show((is_shown_ ? "\n" : "") + unread);
  }

  void begin_call(std::string name) { add(AnswerEvent::Kind::CallBegin, std::move(name)); }
  void add_arguments(std::string more) { add(AnswerEvent::Kind::Arguments, std::move(more)); }
  void end_call(bool is_cut) { events_.push_back({AnswerEvent::Kind::CallEnd, "", is_cut}); }

 private:
  void add(AnswerEvent::Kind kind, std::string text) {
    if (text.empty()) return;
    const bool goes_on = !events_.empty() && events_.back().kind == kind;
    if (!goes_on) events_.push_back({.kind = kind});
    events_.back().text += text;
  }
  void show(std::string text) {
    is_shown_ = is_shown_ || !text.empty();
    add(AnswerEvent::Kind::Text, std::move(text));
  }

  std::string answer_begin_;
  std::vector<AnswerEvent> events_;
  detail::TrimmedText thought_;
  bool has_reasoning_ = false;
  detail::TrimmedText text_;
  std::string begin_;       // Of the text, while it may be `answer_begin_`.
  bool has_begun_ = false;  // The text.
  bool is_shown_ = false;   // Any of it.
};

}  // namespace quire
