#pragma once
// AnswerStream reads an answer of a model while it is written: text, thoughts and calls.
//
//   AnswerStream stream(reader, [](auto tool, auto argument) { return type_of(tool, argument); });
//   for (const AnswerEvent& each : stream.next(piece)) show(each);
//   for (const AnswerEvent& each : stream.finish()) show(each);
//
// The events, joined, are what AnswerReader::read gives for the whole text, however it is cut into
// pieces. A call begins as soon as it is certain: its mark or an opening brace, the name of a tool
// that exists, and the beginning of an object of arguments. One in another order comes when it is
// whole. If a call that has begun cannot be read on, it ends with `is_cut`, and the rest is text.
//
// The work for a piece depends on the piece, not on what came before it. A text that may become a
// call is read again when it has grown by a sixteenth.
//
// Thread   any; it waits for nothing.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/answer_events.h"
#include "quire/call_arguments.h"
#include "quire/call_finder.h"

namespace quire {

class AnswerStream {
 public:
  AnswerStream(AnswerReader reader, ArgumentType type_of)
      : finder_(std::move(reader)),
        state_(form().begins_in_thought ? State::Thought : State::Text),
        events_(form().answer_begin),
        call_(form(), std::move(type_of)) {}

  std::vector<AnswerEvent> next(std::string_view more) {
    rest_ += more;
    if (rest_.size() >= retry_bytes_) advance();
    return events_.take();
  }
  // Nothing more will come.
  std::vector<AnswerEvent> finish() {
    advance();
    finish_rest();
    return events_.take();
  }
  bool is_in_thought() const { return state_ == State::Thought; }

 private:
  using Reader = AnswerReader;
  enum class State : unsigned char {
    Thought,
    Text,
    Mark,  // Of a call, with which the rest begins.
    Arguments,
    AfterCall,  // In the form of the model,
    AfterItem,  // in a list of calls,
    AfterBare,  // or without its marks.
    Unread,
  };
  static constexpr std::string_view kBlanks = detail::kAnswerBlanks;
  static constexpr std::size_t kNowhere = std::string_view::npos;

  const Reader& reader() const { return finder_.reader(); }
  const CallForm& form() const { return finder_.form(); }

  void advance() {
    using Step = bool (AnswerStream::*)();
    constexpr Step kSteps[] = {&AnswerStream::read_thought,    &AnswerStream::read_text,
                               &AnswerStream::read_mark,       &AnswerStream::read_arguments,
                               &AnswerStream::read_after_call, &AnswerStream::read_after_item,
                               &AnswerStream::read_after_bare, &AnswerStream::wait};
    retry_bytes_ = 0;
    while ((this->*kSteps[static_cast<std::size_t>(state_)])()) {
    }
  }
  // Each step gives false if more must come. A long text is not read again for each piece.
  bool wait() {
    constexpr std::size_t kShare = 16;
    retry_bytes_ = rest_.size() + rest_.size() / kShare;
    return false;
  }
  bool go_on(std::size_t bytes, State state) {
    rest_.erase(0, bytes);
    state_ = state;
    return true;
  }

  bool read_thought() {
    const std::size_t end = rest_.find(form().think_end);
    if (end != kNowhere) {
      events_.add_reasoning(std::string_view(rest_).substr(0, end));
      return go_on(end + form().think_end.size(), State::Text);
    }
    const std::size_t safe = rest_.size() - Reader::begun_bytes(rest_, form().think_end);
    events_.add_reasoning(std::string_view(rest_).substr(0, safe));
    rest_.erase(0, safe);
    return false;
  }
  bool read_text() {
    using Kind = CallFinder::Next::Kind;
    const CallFinder::Next next = finder_.next_in(rest_, !events_.has_text());
    events_.add_text(std::string_view(rest_).substr(0, next.text_end));
    if (next.kind == Kind::Bare) return take_bare(next.brace);
    rest_.erase(0, next.text_end);
    if (next.kind == Kind::Nothing) return wait();
    if (next.kind == Kind::Mark) return go_on(0, State::Mark);
    events_.begin_thought();
    return go_on(form().think_begin.size(), State::Thought);
  }

  // Arguments as JSON begin at `at`.
  bool stream_json(std::string name, std::size_t at, State after) {
    const bool is_member = form().kind == CallForm::Kind::Json || after == State::AfterBare;
    call_.begin_json(std::move(name), is_member, events_);
    after_ = after;
    return go_on(at, State::Arguments);
  }
  // There is a bare call at the brace.
  bool take_bare(std::size_t brace) {
    if (const auto head = finder_.head_at(rest_, brace, false)) {
      return stream_json(head->name, brace + head->arguments, State::AfterBare);
    }
    std::size_t bytes = 0;
    if (const auto calls = reader().bare_calls(std::string_view(rest_).substr(brace), bytes)) {
      call_.add_calls(*calls, events_);
    }
    return go_on(brace + bytes, State::AfterBare);
  }
  // A bare call must stand at the brace; `from`: what is unread otherwise.
  bool read_bare(std::size_t brace, std::size_t from) {
    const CallFinder::Bare bare = finder_.bare_at(rest_, brace);
    if (bare == CallFinder::Bare::Yes) return take_bare(brace);
    return bare == CallFinder::Bare::Undecided ? wait() : go_on(from, State::Unread);
  }

  bool read_mark() {
    const std::string& before = form().before;
    const bool is_json = form().kind == CallForm::Kind::Json;
    const std::size_t core = before.empty() ? 0 : Reader::skip(rest_, 0, before);
    if (core == Reader::kCut || core == rest_.size()) return wait();
    if (core != kNowhere && !(before.empty() && is_json)) return read_core(core);
    const std::size_t brace = rest_.find('{');
    return brace == kNowhere ? wait() : read_bare(brace, 0);
  }
  // A call in the form of the model, after the mark that begins it.
  bool read_core(std::size_t core) {
    const std::string_view text = rest_;
    if (form().kind == CallForm::Kind::Json) {
      const bool is_list = text[core] == '[';
      const std::size_t brace = is_list ? text.find_first_not_of(kBlanks, core + 1) : core;
      if (brace == kNowhere) return wait();
      const auto head = finder_.head_at(text, brace, true);
      if (!head) return read_whole(core);
      return stream_json(head->name, brace + head->arguments,
                         is_list ? State::AfterItem : State::AfterCall);
    }
    const std::string name(Reader::name_at(text, core));
    const std::size_t next = Reader::skip(text, core + name.size(), form().name_end);
    if (CallFinder::is_last_name(text, core) || next == Reader::kCut) return wait();
    if (!reader().names_tool(text, core) || next == kNowhere) return read_whole(core);
    if (form().kind == CallForm::Kind::NameThenJson) {
      const bool is_object = next < text.size() && text[next] == '{';
      return is_object ? stream_json(name, next, State::AfterCall) : read_whole(core);
    }
    if (form().key_begin.empty()) return read_whole(core);
    call_.begin_pairs(name, events_);
    after_ = State::AfterCall;
    return go_on(next, State::Arguments);
  }
  // A call in another order comes when it is whole.
  bool read_whole(std::size_t core) {
    WrittenAnswer out;
    const std::size_t end = reader().read_call(rest_, core, out);
    if (end == kNowhere || !finder_.is_whole(rest_, end) || !call_.add_calls(out.calls, events_))
      return wait();
    return go_on(end, State::AfterCall);
  }

  bool read_arguments() {
    const CallArguments::State state = call_.push(rest_, events_);
    if (state == CallArguments::State::Open) return wait();
    return go_on(0, state == CallArguments::State::Cut ? State::Unread : after_);
  }

  bool read_after_call() {
    const std::size_t first = rest_.find_first_not_of(kBlanks);
    if (first == kNowhere) return wait();
    const std::size_t core = reader().next_core(rest_, 0);
    if (core == Reader::kCut || core == rest_.size()) return wait();
    if (core != kNowhere) return read_core(core);
    const bool may_be_name = form().between.empty() && form().kind != CallForm::Kind::Json;
    if (may_be_name && CallFinder::is_last_name(rest_, first)) return wait();
    const std::size_t end = finder_.after_last_call(rest_);
    return end == kNowhere ? wait() : go_on(end, State::Text);
  }
  bool read_after_item() {
    const std::size_t first = rest_.find_first_not_of(kBlanks);
    if (first == kNowhere) return wait();
    if (rest_[first] == ']') return go_on(first + 1, State::AfterCall);
    if (rest_[first] != ',') return go_on(0, State::Unread);
    const std::size_t next = rest_.find_first_not_of(kBlanks, first + 1);
    if (next == kNowhere) return wait();
    if (const auto head = finder_.head_at(rest_, next, true)) {
      return stream_json(head->name, next + head->arguments, State::AfterItem);
    }
    WrittenAnswer out;
    std::size_t bytes = 0;
    const Result<Json> json = detail::json_at(std::string_view(rest_).substr(next), bytes);
    if (!json.ok() || !reader().read_json_call(json.value(), out)) return wait();
    call_.add_calls(out.calls, events_);
    return go_on(next + bytes, State::AfterItem);
  }
  bool read_after_bare() {
    const std::size_t end = Reader::skip_closers(rest_, 0);
    if (end == Reader::kCut) return wait();
    const std::size_t next = rest_.find_first_not_of(kBlanks, end);
    if (next == kNowhere) return wait();
    return rest_[next] == '{' ? read_bare(next, next) : go_on(end, State::Text);
  }

  void finish_rest() {
    WrittenAnswer out;
    if (state_ == State::Thought) return events_.add_reasoning(rest_);
    if (state_ == State::Arguments) return call_.finish(rest_, events_);
    const bool is_comma = state_ == State::AfterItem && detail::trimmed(rest_).size() <= 1;
    if (state_ == State::Unread || state_ == State::AfterItem) {
      if (!is_comma) out.unread = rest_;
    } else {  // What was not certain before the end is read as in a whole answer.
      out = finder_.rest_of(rest_, events_.has_text(), state_ == State::AfterBare,
                            state_ == State::AfterCall);
      if (!out.reasoning.empty()) events_.begin_thought();
      events_.add_reasoning(out.reasoning);
      events_.add_text(out.text);
    }
    events_.end_text(out.unread);
    call_.add_calls(out.calls, events_);
  }
  CallFinder finder_;
  State state_;
  AnswerEvents events_;
  CallArguments call_;              // The last one,
  State after_ = State::AfterCall;  // and what follows its arguments.
  std::string rest_;                // What no event has yet.
  std::size_t retry_bytes_ = 0;     // Of it, before it is read again.
};

}  // namespace quire
