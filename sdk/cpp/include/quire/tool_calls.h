#pragma once
// AnswerReader splits a model's text into answer, thoughts and calls of tools.
//
// It reads the form that find_call_form (tool_form.h) found, and is lenient with blanks. Models
// that saw little of a form often write the call as JSON alone, in a fence for code or in doubled
// braces (which some templates show by mistake). That counts as a call if it names an existing tool.
// They copy tabs and ends of lines into the texts of a call; that is read as if escaped. A
// description of a tool, which weak models repeat before a call, counts as nothing. A text that
// looks like a call and cannot be read is a call with a `fault`, which the model can be shown.
//
// Thread   any; it holds no handle and waits for nothing.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/call_form.h"
#include "quire/json.h"
#include "quire/lenient_json.h"

namespace quire {

struct ToolCall {
  std::string name;
  Json arguments;
  std::string fault = {};  // Why it cannot be read; empty for a call that can.
};

struct WrittenAnswer {
  std::string text;       // For the user: neither thoughts nor calls.
  std::string reasoning;  // What the model thought before and between.
  std::vector<ToolCall> calls;
  bool is_in_form = true;  // No call is written in another way than the form of the model.
  std::string unread;  // As it was written: what looks like a call and cannot be read, to the end.
  bool is_in_thought = false;  // It ends before the last thought does.
};

class AnswerReader {
 public:
  AnswerReader(CallForm form, std::vector<std::string> tool_names)
      : form_(std::move(form)), tool_names_(std::move(tool_names)) {}

  // All that was written, from where the prompt ends.
  WrittenAnswer read(std::string_view written) const {
    WrittenAnswer out;
    read_on(written, form_.begins_in_thought ? read_thought(written, 0, out) : 0, out);
    std::string_view text = detail::trimmed(out.text);
    if (text.starts_with(form_.answer_begin)) text.remove_prefix(form_.answer_begin.size());
    out.text = detail::trimmed(text);
    return out;
  }

  // Whether the first call is complete, however the text goes on.
  bool has_call(std::string_view written) const {
    const WrittenAnswer out = read(written);
    if (out.calls.empty() || out.calls[0].name.empty()) return false;
    // A name alone may be a call without arguments, or one whose arguments are still to come.
    if (form_.kind == CallForm::Kind::NameThenJson && written.find('{') == kNowhere) return false;
    if (form_.kind != CallForm::Kind::NameThenPairs || form_.after.empty()) return true;
    for (std::size_t at = written.find(form_.after[0]); at != kNowhere;
         at = written.find(form_.after[0], at + 1)) {
      if (ends_mark(skip(written, at, form_.after))) return true;
    }
    return false;
  }

  // The parts of a growing text that may be shown: the beginning of the text and of the reasoning
  // that `read` will give, however it goes on.
  WrittenAnswer shown_parts(std::string_view written) const {
    WrittenAnswer out = read(written.substr(0, held_from(written)));
    if (form_.answer_begin.starts_with(out.text)) out.text.clear();
    return out;
  }
  std::string shown(std::string_view written) const { return shown_parts(written).text; }

 private:
  friend class AnswerStream;  // They read the same forms piece by piece.
  friend class ArgumentPieces;
  friend class CallFinder;

  static constexpr std::size_t kNowhere = std::string_view::npos;
  static constexpr std::size_t kCut = kNowhere - 1;      // The text ends within the mark.
  static constexpr std::size_t kNameBytesMax = 64;       // Of an argument's name in a message.
  static constexpr std::string_view kCodeFence = "```";  // The name of a language may follow it.
  // What models put before a call that they write without the marks of the form.
  static constexpr std::string_view kFences[] = {kCodeFence, "<tools>", "<|python_tag|>", "["};
  // And after it.
  static constexpr std::string_view kClosers[] = {"]", "```", "</tools>", "</tool_call>", ",", ";"};

  // The beginning of `before`, up to the first blank or id: it is what a call is known by.
  std::string_view call_mark() const {
    constexpr char kEnds[] = {' ', '\t', '\r', '\n', CallForm::kAnyId, '\0'};
    return std::string_view(form_.before).substr(0, form_.before.find_first_of(kEnds));
  }

  // The end of `mark`, if it stands at `at`: blanks do not count, and a number is any number.
  static std::size_t skip(std::string_view text, std::size_t at, std::string_view mark) {
    const auto is = [](int (*kind)(int), char each) {
      return kind(static_cast<unsigned char>(each)) != 0;
    };
    const auto skip_all = [&](int (*kind)(int), std::string_view in, std::size_t& from) {
      while (from < in.size() && is(kind, in[from])) ++from;
    };
    for (std::size_t i = 0; i < mark.size();) {
      if (is(std::isspace, mark[i])) {
        ++i;
        continue;
      }
      skip_all(std::isspace, text, at);
      if (at == text.size()) return kCut;
      if (mark[i] == CallForm::kAnyId) {
        ++i;
        skip_all(std::isalnum, text, at);
      } else if (is(std::isdigit, mark[i]) && is(std::isdigit, text[at])) {
        skip_all(std::isdigit, mark, i);
        skip_all(std::isdigit, text, at);
      } else if (mark[i++] != text[at++]) {
        return kNowhere;
      }
    }
    skip_all(std::isspace, text, at);
    return at;
  }

  static bool ends_mark(std::size_t place) { return place < kCut; }

  // Reads all from `at` on; the text in `out` keeps its blanks.
  void read_on(std::string_view written, std::size_t at, WrittenAnswer& out) const {
    while (at < written.size()) {
      const std::size_t thought = written.find(form_.think_begin, at);
      const std::size_t call = next_call(written, at, detail::trimmed(out.text).empty());
      const std::size_t next = std::min({thought, call, written.size()});
      out.text += written.substr(at, next - at);
      if (next == written.size()) break;
      at = next == thought ? read_thought(written, next + form_.think_begin.size(), out)
                           : read_calls(written, next, out);
    }
  }

  std::size_t read_thought(std::string_view written, std::size_t at, WrittenAnswer& out) const {
    const std::size_t end = std::min(written.find(form_.think_end, at), written.size());
    if (!out.reasoning.empty()) out.reasoning += '\n';
    out.reasoning += detail::trimmed(written.substr(at, end - at));
    out.is_in_thought = end == written.size();
    return std::min(end + form_.think_end.size(), written.size());
  }

  // Returns the beginning of the next call; `is_first`: only blanks stand before.
  std::size_t next_call(std::string_view written, std::size_t at, bool is_first) const {
    const std::size_t next = next_mark(written, at, is_first);
    for (std::size_t brace = written.find('{', at); brace < next;
         brace = written.find('{', brace + 1)) {
      std::size_t bytes = 0;
      if (bare_calls(written.substr(brace), bytes)) return fence_before(written, at, brace);
    }
    return next;
  }

  // The next mark of a call, or the name of a tool that stands for one.
  std::size_t next_mark(std::string_view written, std::size_t at, bool is_first) const {
    if (!form_.before.empty()) return written.find(call_mark(), at);
    if (!is_first || form_.kind == CallForm::Kind::Json) return kNowhere;
    const std::size_t first = written.find_first_not_of(" \t\r\n", at);
    return first != kNowhere && names_tool(written, first) ? first : kNowhere;
  }

  static bool is_name(char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || each == '-';
  }
  static std::string_view name_at(std::string_view written, std::size_t at) {
    std::size_t end = at;
    while (end < written.size() && is_name(written[end])) ++end;
    return written.substr(at, end - at);
  }
  bool names_tool(std::string_view written, std::size_t at) const {
    return std::ranges::find(tool_names_, name_at(written, at)) != tool_names_.end();
  }

  // JSON without the marks of the form that calls a tool which there is, or describes one: then
  // there is no call in it.
  std::optional<std::vector<ToolCall>> bare_calls(std::string_view text, std::size_t& bytes) const {
    if (!text.starts_with('{') || !may_become_call(text.substr(1))) return std::nullopt;
    const Result<Json> json = detail::json_at(text, bytes);
    if (!json.ok()) return std::nullopt;
    const Json described = detail::call_in(json.value(), "name", "parameters");
    if (described.has("description") && names_tool(described.text("name"), 0)) {
      return std::vector<ToolCall>();
    }
    for (const std::string_view key :
         {std::string_view(form_.arguments_key), std::string_view("arguments"),
          std::string_view("parameters")}) {
      const Json call = detail::call_in(json.value(), form_.name_key, key);
      if (!names_tool(call.text(form_.name_key), 0)) continue;
      return std::vector<ToolCall>{called(call.text(form_.name_key), call[key])};
    }
    return std::nullopt;
  }

  // A fence for code, or a mark, in which a bare call stands alone belongs to it.
  static std::size_t fence_before(std::string_view written, std::size_t at, std::size_t brace) {
    std::string_view before = written.substr(at, brace - at);
    before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);  // npos + 1 is 0.
    std::size_t language = before.size();
    while (language > 0 && is_name(before[language - 1])) --language;
    if (before.substr(0, language).ends_with(kCodeFence)) return at + language - kCodeFence.size();
    for (const std::string_view fence : kFences) {
      if (before.ends_with(fence)) return at + before.size() - fence.size();
    }
    return brace;
  }

  static ToolCall called(std::string_view name, const Json& arguments) {
    ToolCall call{std::string(name), arguments};
    const bool is_blank = arguments.is_text() && detail::trimmed(arguments.text()).empty();
    if (arguments.is_null() || is_blank) {
      call.arguments = no_arguments();
    } else if (arguments.is_text()) {  // JSON in a text.
      std::size_t bytes = 0;
      Result<Json> parsed = detail::first_json(arguments.text(), bytes);
      const bool is_all = parsed.ok() && detail::trimmed(arguments.text().substr(bytes)).empty();
      if (is_all) call.arguments = std::move(parsed).take();
    }
    if (!call.arguments.is_object()) call.fault = "the arguments are not a JSON object";
    return call;
  }
  static Json no_arguments() { return Json::parse("{}").take(); }
  static std::size_t broken(std::string fault, WrittenAnswer& out) {
    out.calls.push_back({"", {}, std::move(fault)});
    return kNowhere;
  }

  // The calls that begin at `at`; gives where they end.
  std::size_t read_calls(std::string_view written, std::size_t at, WrittenAnswer& out) const {
    std::size_t core = form_.before.empty() ? at : skip(written, at, form_.before);
    if (!ends_mark(core) || (form_.before.empty() && form_.kind == CallForm::Kind::Json) ||
        !written.substr(at).starts_with(call_mark())) {
      return read_bare(written, at, out);
    }
    const std::size_t end = read_call(written, core, out);
    if (end != kNowhere) return read_calls_after(written, end, out);
    out.unread = written.substr(at);
    return written.size();
  }
  // The calls after one that ends at `at`.
  std::size_t read_calls_after(std::string_view written, std::size_t at, WrittenAnswer& out) const {
    for (;;) {
      const std::size_t core = next_core(written, at);
      if (core == kCut) return written.size();
      if (core == kNowhere) return skip_all_of(written, at, form_.after);
      const std::size_t end = read_call(written, core, out);
      if (end == kNowhere) {  // The mark that closes a call that was read is not shown beside it.
        out.unread = written.substr(skip_all_of(written, at, form_.after));
        return written.size();
      }
      at = end;
    }
  }
  // The place of the next call after one that ends at `at`, without marks.
  std::size_t next_core(std::string_view written, std::size_t at) const {
    const std::size_t next = skip(written, at, form_.between);
    if (!ends_mark(next) || !form_.between.empty()) return next;
    const bool begins_call =
        next < written.size() &&
        (form_.kind == CallForm::Kind::Json ? written[next] == '{' : names_tool(written, next));
    return begins_call ? next : kNowhere;
  }
  // The end of `mark`, once or more often at `at`; the end of the text if it is cut there.
  static std::size_t skip_all_of(std::string_view written, std::size_t at, std::string_view mark) {
    while (!mark.empty() && at < written.size()) {
      const std::size_t after = skip(written, at, mark);
      if (after == kCut) return written.size();
      if (after == kNowhere) break;
      at = after;
    }
    return at;
  }

  std::size_t read_bare(std::string_view written, std::size_t at, WrittenAnswer& out) const {
    out.is_in_form = false;
    std::size_t brace = written.find('{', at);
    if (brace == kNowhere) {
      broken("what follows " + std::string(call_mark()) + " is not a call", out);
      out.unread = written.substr(at);
      return written.size();
    }
    for (;;) {  // Several may stand one after the other.
      std::size_t bytes = 0;
      const auto calls = bare_calls(written.substr(brace), bytes);
      if (!calls) {
        const Result<Json> json = detail::json_at(written.substr(brace), bytes);
        broken(json.ok() ? "the JSON is not a call of a tool" : json.error().message, out);
        out.unread = written.substr(at);
        return written.size();
      }
      out.calls.insert(out.calls.end(), calls->begin(), calls->end());
      const std::size_t end = skip_closers(written, brace + bytes);
      if (end == kCut) return written.size();
      const std::size_t next = written.find_first_not_of(" \t\r\n", end);
      if (next == kNowhere || written[next] != '{') return end;
      at = brace = next;
    }
  }
  // The end of the marks that follow a bare call which ends at `end`.
  static std::size_t skip_closers(std::string_view written, std::size_t end) {
    for (const std::string_view mark : kClosers) {
      const std::size_t after = skip(written, end, mark);
      if (after == kCut) return kCut;
      if (after != kNowhere) end = after;
    }
    return end;
  }

  // One call of the form, or a list of them, without the marks around it.
  std::size_t read_call(std::string_view written, std::size_t at, WrittenAnswer& out) const {
    if (form_.kind == CallForm::Kind::Json) return read_json(written, at, out);
    const std::string_view name = name_at(written, at);
    std::size_t next = skip(written, at + name.size(), form_.name_end);
    if (name.empty() || !ends_mark(next)) {
      return broken("no name of a tool follows " + form_.before, out);
    }
    if (form_.kind == CallForm::Kind::NameThenPairs) return read_pairs(written, next, name, out);
    std::size_t bytes = 0;
    const Result<Json> arguments = detail::first_json(written.substr(next), bytes);
    if (!arguments.ok()) {
      const bool has_none = next == written.size() || ends_mark(skip_mark(written, next));
      if (!has_none || !names_tool(written, at)) return broken(arguments.error().message, out);
      out.calls.push_back({std::string(name), no_arguments()});
      return next;
    }
    out.calls.push_back(called(name, arguments.value()));
    return next + bytes;
  }

  std::size_t read_json(std::string_view written, std::size_t at, WrittenAnswer& out) const {
    std::size_t bytes = 0;
    const Result<Json> json = detail::json_at(written.substr(at), bytes);
    if (!json.ok()) return broken(json.error().message, out);
    out.is_in_form = out.is_in_form && !written.substr(at).starts_with("{{");
    const bool is_list = json.value().is_array();
    if (!is_list && !read_json_call(json.value(), out)) return kNowhere;
    for (const Json& each : json.value().items()) {
      if (!read_json_call(each, out)) return kNowhere;
    }
    return at + bytes;
  }

  // The end of a mark at `at` after a call: the mark that closes it, or one of the next call.
  std::size_t skip_mark(std::string_view written, std::size_t at) const {
    for (const std::string* each : {&form_.after, &form_.between, &form_.before}) {
      if (each->empty()) continue;
      if (const std::size_t end = skip(written, at, *each); ends_mark(end)) return end;
    }
    return kNowhere;
  }

  bool read_json_call(const Json& json, WrittenAnswer& out) const {
    Json call = detail::call_in(json, form_.name_key, form_.arguments_key);
    // A call of a tool without parameters may leave them out.
    const std::string_view name = json.text(form_.name_key);
    if (call.is_null() && name_at(name, 0) == name && names_tool(name, 0)) call = json;
    if (call.is_null()) {
      broken("a call is a JSON object with \"" + form_.name_key + "\" and \"" +
                 form_.arguments_key + "\"",
             out);
      return false;
    }
    out.calls.push_back(called(call.text(form_.name_key), call[form_.arguments_key]));
    return true;
  }

  // Arguments one by one; all of them are texts, which the schema of the tool makes values.
  std::size_t read_pairs(std::string_view written, std::size_t at, std::string_view name,
                         WrittenAnswer& out) const {
    JsonWriter arguments;
    arguments.begin_object();
    for (;;) {
      if (!form_.after.empty() && ends_mark(skip(written, at, form_.after))) break;
      const std::size_t key = skip(written, at, form_.key_begin);
      if (key == kCut) at = written.size();
      if (!ends_mark(key)) break;
      const std::size_t key_end = written.find(form_.key_end, key);
      if (key_end == kNowhere) {
        return broken("the name of an argument is not closed by " + form_.key_end, out);
      }
      const std::size_t value = key_end + form_.key_end.size();
      const std::size_t value_end = written.find(form_.value_end, value);
      if (value_end == kNowhere) {
        const std::string_view named = written.substr(key, std::min(key_end - key, kNameBytesMax));
        return broken("the argument " + json_string(named) + " is not closed by " + form_.value_end,
                      out);
      }
      std::string_view text = written.substr(value, value_end - value);
      if (text.starts_with('\n')) text.remove_prefix(1);
      if (text.ends_with('\n')) text.remove_suffix(1);
      arguments.key(detail::trimmed(written.substr(key, key_end - key))).text(text);
      at = value_end + form_.value_end.size();
      if (const std::size_t comma = skip(written, at, ",");
          form_.key_begin.empty() && ends_mark(comma)) {
        at = comma;
      }
    }
    const Result<Json> parsed = Json::parse(arguments.end_object().str());
    if (!parsed.ok()) return broken(parsed.error().message, out);
    out.calls.push_back({std::string(name), parsed.value()});
    return at;
  }

  // How many bytes of the beginning of `mark` a text ends with.
  static std::size_t begun_bytes(std::string_view written, std::string_view mark) {
    std::size_t bytes = std::min(mark.size(), written.size());
    while (bytes > 0 && !written.ends_with(mark.substr(0, bytes))) --bytes;
    return bytes;
  }
  // From where on a growing text may still become a mark.
  std::size_t mark_held_from(std::string_view written) const {
    // A fence, perhaps with blanks after it, may have a call in it.
    const std::size_t end = written.find_last_not_of(" \t\r\n") + 1;  // npos + 1 is 0.
    const std::size_t fence = fence_before(written, 0, written.size());
    std::size_t held = fence < end ? fence : written.size();
    const auto hold_beginning = [&](std::string_view mark) {
      held = std::min(held, written.size() - begun_bytes(written, mark));
    };
    hold_beginning(form_.think_begin);
    hold_beginning(form_.think_end);
    hold_beginning(call_mark());
    for (const std::string_view each : kFences) hold_beginning(each);
    const std::size_t first = std::min(written.find_first_not_of(" \t\r\n"), written.size());
    if (form_.before.empty() && name_at(written, first).size() == written.size() - first) {
      held = std::min(held, first);  // A name that is not complete.
    }
    return held;
  }
  // From where on a growing text may still become a mark or a call.
  std::size_t held_from(std::string_view written) const {
    std::size_t held = mark_held_from(written);
    for (std::size_t brace = written.find('{'); brace < held;
         brace = written.find('{', brace + 1)) {
      std::size_t bytes = 0;
      if (may_become_call(written.substr(brace + 1)) &&
          !detail::json_at(written.substr(brace), bytes).ok() &&
          brace + bytes + detail::kJsonCutBytesMax > written.size()) {
        held = fence_before(written, 0, brace);
      }
    }
    return held;
  }
  // The text after a brace begins as the first member of a call does.
  bool may_become_call(std::string_view text) const {
    if (text.starts_with('{')) text.remove_prefix(1);  // Doubled.
    text = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const std::string name = '"' + form_.name_key + '"';
    const std::string arguments = '"' + form_.arguments_key + '"';
    for (const std::string_view key :
         {std::string_view(name), std::string_view(arguments), std::string_view("\"type\""),
          std::string_view("\"id\""), std::string_view("\"function\"")}) {
      if (text.starts_with(key) || key.starts_with(text)) return true;
    }
    return false;
  }

  CallForm form_;
  std::vector<std::string> tool_names_;
};

}  // namespace quire
