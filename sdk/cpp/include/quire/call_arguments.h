#pragma once
// CallArguments gives the arguments of one call as they come, as JSON or one by one.
//
// Thread   any; it waits for nothing.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/answer_events.h"
#include "quire/argument_pieces.h"
#include "quire/json_pieces.h"

namespace quire {

class CallArguments {
 public:
  // Cut: what follows is not a part of the arguments.
  enum class State : std::uint8_t { Open, Done, Cut };

  CallArguments(const CallForm& form, ArgumentType type_of)
      : form_(form), type_of_(type_of), pairs_(form, std::move(type_of)) {}

  // The arguments are a JSON object, which is next. `is_member`: of the object of the call.
  void begin_json(std::string name, bool is_member, AnswerEvents& events) {
    part_ = Part::Json;
    json_ = {};
    is_member_ = is_member;
    events.begin_call(std::move(name));
  }
  // A call whose arguments stand one by one.
  void begin_pairs(const std::string& name, AnswerEvents& events) {
    part_ = Part::Pairs;
    events.begin_call(name);
    events.add_arguments(pairs_.begin(name));
  }
  // Takes what it can from the beginning of `rest`.
  State push(std::string& rest, AnswerEvents& events) {
    std::string out;
    if (part_ == Part::Pairs) {
      const bool is_done = pairs_.push(rest, out) == ArgumentPieces::State::Done;
      events.add_arguments(std::move(out));
      if (is_done) events.end_call(false);
      return is_done ? State::Done : State::Open;
    }
    if (part_ == Part::Json) {
      rest.erase(0, json_.push(rest, out));
      events.add_arguments(std::move(out));
      if (json_.state() == JsonPieces::State::Open) return State::Open;
      const bool is_cut = json_.state() == JsonPieces::State::Wrong;
      events.end_call(is_cut);
      if (is_cut || !is_member_) return is_cut ? State::Cut : State::Done;
      part_ = Part::Tail;
      json_ = JsonPieces::after_member();
    }
    // Further members of the call say nothing, and neither does a brace that is missing.
    std::string ignored;
    rest.erase(0, json_.push(rest, ignored));
    return json_.state() == JsonPieces::State::Open ? State::Open : State::Done;
  }
  // The answer ends before `rest`, in this call.
  void finish(std::string_view rest, AnswerEvents& events) const {
    if (part_ == Part::Tail) return;
    const bool is_whole = part_ == Part::Pairs && pairs_.is_whole(rest);
    if (is_whole) events.add_arguments("}");
    events.end_call(!is_whole);
  }

  // Calls that are whole. False: one is a fault, which has no name.
  bool add_calls(const std::vector<ToolCall>& calls, AnswerEvents& events) const {
    for (const ToolCall& each : calls) {
      if (each.name.empty()) return false;
      events.begin_call(each.name);
      events.add_arguments(arguments_json(each, form_, type_of_));
      events.end_call(false);
    }
    return true;
  }

 private:
  enum class Part : std::uint8_t { Json, Tail, Pairs };

  CallForm form_;
  ArgumentType type_of_;
  Part part_ = Part::Json;
  JsonPieces json_;
  bool is_member_ = false;
  ArgumentPieces pairs_;
};

}  // namespace quire
