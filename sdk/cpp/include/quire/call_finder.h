#pragma once
// CallFinder answers questions about a text that grows: where a call begins, and whether one is
// whole. AnswerStream (answer_stream.h) asks them.
//
// Thread   any; it waits for nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/call_head.h"
#include "quire/tool_calls.h"

namespace quire {

class CallFinder {
 public:
  using Reader = AnswerReader;
  static constexpr std::size_t kNowhere = std::string_view::npos;

  explicit CallFinder(Reader reader) : reader_(std::move(reader)) {}

  const Reader& reader() const { return reader_; }
  const CallForm& form() const { return reader_.form_; }

  // A call without the marks of the form at a brace.
  enum class Bare : std::uint8_t { No, Undecided, Yes };
  Bare bare_at(std::string_view text, std::size_t brace) const {
    const std::string_view rest = text.substr(brace);
    if (!reader_.may_become_call(rest.substr(1))) return Bare::No;
    if (head_at(text, brace, false)) return Bare::Yes;
    std::size_t bytes = 0;
    if (detail::json_at(rest, bytes).ok()) {
      return reader_.bare_calls(rest, bytes) ? Bare::Yes : Bare::No;
    }
    return bytes + detail::kJsonCutBytesMax > rest.size() ? Bare::Undecided : Bare::No;
  }
  std::optional<CallHead> head_at(std::string_view text, std::size_t brace, bool in_form) const {
    return find_call_head(text.substr(brace), form(), reader_.tool_names_, in_form);
  }

  // The next thing in a text that is not text.
  struct Next {
    enum class Kind : std::uint8_t { Nothing, Thought, Mark, Bare };
    Kind kind = Kind::Nothing;
    std::size_t text_end = 0;  // What comes before is text for certain.
    std::size_t brace = 0;     // Of a bare call.
  };
  // `is_first`: only blanks came before `text`.
  Next next_in(std::string_view text, bool is_first) const {
    const std::size_t thought = text.find(form().think_begin);
    std::size_t mark = reader_.next_mark(text, 0, is_first);
    if (form().before.empty() && mark != kNowhere && is_last_name(text, mark)) mark = kNowhere;
    const std::size_t next = std::min({thought, mark, text.size()});
    std::size_t held = reader_.mark_held_from(text);
    for (std::size_t brace = text.find('{'); brace < next; brace = text.find('{', brace + 1)) {
      const Bare bare = bare_at(text, brace);
      if (bare == Bare::No) continue;
      const std::size_t fence = Reader::fence_before(text, 0, brace);
      if (bare == Bare::Yes) return {Next::Kind::Bare, fence, brace};
      return {Next::Kind::Nothing, std::min(held, fence)};
    }
    if (next == text.size() || held < next) return {Next::Kind::Nothing, std::min(held, next)};
    return {mark < thought ? Next::Kind::Mark : Next::Kind::Thought, next};
  }
  // The name at `at` may go on.
  static bool is_last_name(std::string_view text, std::size_t at) {
    return at + Reader::name_at(text, at).size() == text.size();
  }
  // A call in the form of the model that ends at `end` does not go on after it.
  bool is_whole(std::string_view text, std::size_t end) const {
    const bool ends_by_mark = form().kind == CallForm::Kind::NameThenPairs && !form().after.empty();
    if (ends_by_mark) return Reader::ends_mark(Reader::skip(text, end, form().after));
    const bool may_be_list = form().kind == CallForm::Kind::Json;
    return end < text.size() || text.ends_with('}') || (may_be_list && text.ends_with(']'));
  }
  // The end of the marks after the last call, with which `text` begins. kNowhere: more may come.
  std::size_t after_last_call(std::string_view text) const {
    std::size_t end = 0;
    while (!form().after.empty() && end < text.size()) {
      const std::size_t after = Reader::skip(text, end, form().after);
      if (after == Reader::kCut) return kNowhere;
      if (after == kNowhere) break;
      end = after;
    }
    return end == text.size() ? kNowhere : end;
  }

  // The end of an answer, after a call or not, with the blanks around its text.
  WrittenAnswer rest_of(std::string_view text, bool has_text, bool is_after_bare,
                        bool is_after_call) const {
    const std::string_view seen = has_text ? "." : "";  // Stands before the name of a tool.
    WrittenAnswer out;
    out.text = seen;
    std::size_t at = is_after_call ? reader_.read_calls_after(text, 0, out) : 0;
    if (is_after_bare) {
      at = std::min(Reader::skip_closers(text, 0), text.size());
      const std::size_t next = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
      if (text.substr(next).starts_with('{')) {
        out.unread = text.substr(next);
        at = text.size();
      }
    }
    reader_.read_on(text, at, out);
    out.text.erase(0, seen.size());
    return out;
  }

 private:
  Reader reader_;
};

}  // namespace quire
