#pragma once
// The endpoints share this: how the members of a request are read, and errors that name them.
//
// An endpoint honors a member, accepts it because it asks nothing of the output, leaves it out and says
// so (left_out.h), or refuses it by its name (docs/reference/openai.md, anthropic.md and gemini.md have the tables).
//
// Errors   of a request: an Error whose message begins with the member that is wrong ("stop: at most
//          16 texts"); the protocol of an endpoint gives it its form.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <forward_list>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ids.h"
#include "left_out.h"
#include "model_names.h"
#include "quire/quire.h"
#include "quire/serve.h"
#include "request_errors.h"
#include "spelling.h"

namespace endpoints {

using namespace quire;

// ---- members ----------------------------------------------------------------------------------

// The value of a number that is whole, or nothing.
[[gnu::noinline]] inline std::optional<double> whole_number(const Json& json) {
  const Result<double> value = json.number(0.5);
  if (!value.ok() || value.value() != std::trunc(value.value())) return std::nullopt;
  return value.value();
}

// The members of an object, each of which is read, accepted, left out or refused. Null counts as absent.
class Members {
 public:
  explicit Members(Json object, LeftOut& left_out, std::string path = "",
                   Spelling spelling = Spelling::Exact)
      : object_(std::move(object)),
        left_out_(&left_out),
        path_(std::move(path)),
        spelling_(spelling) {}
  // An error if `value` is not an object; `path` names it.
  static Result<Members> of(const Json& value, const std::string& path, LeftOut& left_out,
                            Spelling spelling = Spelling::Exact) {
    if (!value.is_object()) return wrong(path, "must be an object");
    return Members(value, left_out, path + ".", spelling);
  }
  LeftOut& left_out() const { return *left_out_; }

  // Null if there is none. What it points to is there as long as this object.
  const Json* find(std::string_view name) {
    Known& known = known_.emplace_front(Known{std::string(name), object_[name]});
    if (spelling_ == Spelling::CamelOrSnake) find_snake(known);
    return known.value.is_null() ? nullptr : &known.value;
  }
  Result<double> number(std::string_view name, double otherwise, Range<double> range) {
    const Json* found = find(name);
    if (found == nullptr) return otherwise;
    const Result<double> value = found->number();
    if (found->is_number() && value.ok() && value.value() >= range.min &&
        value.value() <= range.max) {
      return value;
    }
    return bad(name, "must be a number from " + json_number(range.min) + " to " +
                         json_number(range.max) + ", not " + shown(*found));
  }
  Result<std::uint64_t> whole(std::string_view name, std::uint64_t otherwise,
                              Range<std::uint64_t> range) {
    const Json* found = find(name);
    if (found == nullptr) return otherwise;
    const std::optional<double> value = whole_number(*found);
    if (value && *value >= static_cast<double>(range.min) &&
        *value <= static_cast<double>(range.max)) {
      return static_cast<std::uint64_t>(*value);
    }
    return bad(name, "must be a whole number from " + std::to_string(range.min) + " to " +
                         std::to_string(range.max) + ", not " + shown(*found));
  }
  Result<bool> flag(std::string_view name, bool otherwise = false) {
    const Json* found = find(name);
    if (found == nullptr) return otherwise;
    if (found->kind() == Json::Kind::Boolean) return found->boolean();
    return bad(name, "must be true or false, not " + shown(*found));
  }
  Result<std::string> text(std::string_view name, std::string otherwise = "") {
    const Json* found = find(name);
    if (found == nullptr) return otherwise;
    if (found->is_text()) return std::string(found->text());
    return bad(name, "must be a string, not " + shown(*found));
  }
  Result<Json::Items> list(std::string_view name) {
    const Json* found = find(name);
    if (found == nullptr) return Json().items();
    if (found->is_array()) return found->items();
    return bad(name, "must be an array, not " + shown(*found));
  }
  // Texts of which none is empty: one as it is, or several in an array.
  Result<std::vector<std::string>> texts(std::string_view name, std::size_t count_max) {
    std::vector<std::string> all;
    const Json* found = find(name);
    if (found == nullptr) return all;
    if (found->is_text()) all.push_back(std::string(found->text()));
    for (const Json& each : found->items()) all.push_back(std::string(each.text()));
    const bool is_list = found->is_text() || found->is_array();
    if (!is_list || std::ranges::find(all, "") != all.end()) {
      return bad(name, "must be a string or an array of strings, none of them empty");
    }
    if (all.size() <= count_max) return all;
    return bad(name, "at most " + std::to_string(count_max) + " strings, not " +
                         std::to_string(all.size()));
  }
  // The members of an object that is a member itself.
  Result<Members> object(std::string_view name) {
    const Json* found = find(name);
    if (found != nullptr) return of(*found, path_of(name), *left_out_, spelling_);
    return bad(name, "must be an object");
  }
  // Accepts members that ask nothing of the output, whatever their values are.
  void accept(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) find(name);
  }
  // Accepts members that ask nothing of the output: texts, or objects with any members.
  Result<void> accept_texts(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) TRY(text(name));
    return {};
  }
  Result<void> accept_objects(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (find(name) != nullptr) TRY(object(name));
    }
    return {};
  }
  // Asks nothing of the output if it has one of these values, and is refused with any other.
  Result<void> accept_only(std::string_view name, std::initializer_list<std::string_view> values) {
    const Json* found = find(name);
    if (found == nullptr || std::ranges::find(values, found->text()) != values.end()) return {};
    std::string all;
    for (const std::string_view each : values) {
      all += (all.empty() ? "" : " or ") + json_string(each);
    }
    return bad(name, shown(*found) + " is not supported; only " + all, ErrorCode::NotSupported);
  }
  // Known, and of no use here.
  void leave_out(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (find(name) != nullptr) left_out_->add(path_of(name));
    }
  }
  // The answer would be wrong for the client without them. A blank stands between two names.
  Result<void> refuse(std::string_view names) const {
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(name.size() + 1, names.size()));
      if (object_[name].is_null() && object_[other_spelling(name)].is_null()) continue;
      return bad(name, "is not supported", ErrorCode::NotSupported);
    }
    return {};
  }
  // Leaves out what was neither read nor accepted; an error if it may be a misspelling.
  Result<void> finish() const {
    if (twice_) return *twice_;
    for (const auto& [name, value] : object_.members()) {
      if (value.is_null() || std::ranges::find(known_, name, &Known::name) != known_.end()) {
        continue;
      }
      if (const std::string meant = meant_name(name); !meant.empty()) {
        return bad(name, "is not known; did you mean " + json_string(meant) + "?",
                   ErrorCode::NotSupported);
      }
      left_out_->add(path_ + std::string(name));
    }
    return {};
  }

  Error bad(std::string_view name, std::string_view reason,
            ErrorCode code = ErrorCode::InvalidArgument) const {
    return wrong(path_of(name), reason, code);
  }
  // The path of a member, with its name as the client spelled it.
  std::string path_of(std::string_view name) const {
    const std::string other = other_spelling(name);
    const bool is_other = object_[name].is_null() && !object_[other].is_null();
    return path_ + (is_other ? other : std::string(name));
  }

 private:
  // The beginning of a value, for a message.
  static std::string shown(const Json& value) {
    constexpr std::size_t kBytesMax = 40;
    if (value.is_array()) return "an array";
    if (value.is_object()) return "an object";
    const std::string text = value.str();
    if (text.size() <= kBytesMax) return text;
    return valid_utf8(text.substr(0, kBytesMax)) + "...";
  }

  // The known name that `name` may be a misspelling of; empty: none.
  std::string meant_name(std::string_view name) const {
    std::vector<std::string> names;
    for (const Known& each : known_) names.push_back(each.name);
    return std::string(meant_by(name, names));
  }

  struct Known {
    std::string name;
    Json value;
  };

  std::string other_spelling(std::string_view name) const {
    return spelling_ == Spelling::CamelOrSnake ? snake_case(name) : std::string(name);
  }
  void find_snake(Known& known) {
    const std::string snake = snake_case(known.name);
    if (snake == known.name) return;
    Json value = object_[snake];
    if (!value.is_null() && !known.value.is_null()) {
      twice_ = wrong(path_ + snake, "is there twice, also as " + json_string(known.name));
    }
    if (known.value.is_null()) known.value = std::move(value);
    known_.insert_after(known_.begin(), Known{snake, Json()});  // A hint names the other one.
  }

  Json object_;
  LeftOut* left_out_;
  std::string path_;
  Spelling spelling_;
  std::optional<Error> twice_;      // The client gave one member in two spellings.
  std::forward_list<Known> known_;  // A list, in which values keep their places.
};

// The body as JSON, an object. Its values take at most 8 bytes each, 4 times its bytes, within 128 MiB of
// memory.
inline constexpr std::size_t kRequestBytesMax = std::size_t{16} << 20;

inline Task<Json> request_body(serve::Request request) {
  Json body = co_await Json::parse_in_place(co_await request.body(kRequestBytesMax));
  if (!body.is_object()) {
    co_await fail(ErrorCode::InvalidArgument, "the body must be a JSON object");
  }
  co_return body;
}

// ---- what a request asks for --------------------------------------------------------------------

// The largest that JSON keeps apart from those beside it.
inline constexpr std::uint64_t kLargestWhole = (std::uint64_t{1} << 53) - 1;
inline constexpr std::uint32_t kChoiceCountMax = 128;
inline constexpr std::size_t kStopCountMax = 16;

// Any whole number, negative ones too; without one, a random seed.
inline Result<std::uint64_t> read_seed(Members& in) {
  const Json* given = in.find("seed");
  if (given == nullptr) return random_seed();
  // Digits alone are taken exactly; a double has no more than 53 bits.
  const std::string_view digits = given->digits();
  std::int64_t exact = 0;
  const auto [stopped, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), exact);
  if (!digits.empty() && error == std::errc() && stopped == digits.data() + digits.size()) {
    return static_cast<std::uint64_t>(exact);
  }
  constexpr double kMost = 9223372036854774784.0;  // The largest double below 2^63.
  const std::optional<double> value = whole_number(*given);
  if (value && std::fabs(*value) <= kMost) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(*value));
  }
  return in.bad("seed", "must be a whole number from -2^63 to 2^63");
}

// The model of this name.
inline Result<Model> model_of(const std::string& name) {
  Result<Model> model = Model::open(name);
  if (model.ok() || model.error().code != ErrorCode::NotFound) return model;
  return TRY(unknown_model(name));
}
// The model that the request names.
inline Result<Model> read_model(Members& in) {
  const std::string name = TRY(in.text("model"));
  if (name.empty()) return in.bad("model", "give the name of a model; GET /v1/models lists them");
  return model_of(name);
}

// An array of tokens of the model.
inline Result<std::vector<std::uint32_t>> read_tokens(const Json& list, std::string_view member,
                                                      const Model& model) {
  const std::uint32_t size = model.info().vocabulary_size;
  std::vector<std::uint32_t> tokens;
  for (const Json& each : list.items()) {
    const std::optional<double> value = whole_number(each);
    if (!value || *value < 0 || *value >= size) {
      return wrong(member, "tokens are whole numbers below " + std::to_string(size) + ", not " +
                               each.str().substr(0, 40));
    }
    tokens.push_back(static_cast<std::uint32_t>(*value));
  }
  return tokens;
}

// How many tokens fit after a prompt of `prompt_count`; an error with the numbers if none does.
inline Result<std::uint32_t> room_after(const Model& model, std::size_t prompt_count,
                                        std::string_view member) {
  const std::uint32_t context = model.info().context_length;
  if (prompt_count < context) return static_cast<std::uint32_t>(context - prompt_count);
  // Clients know the error by the first words.
  return wrong(member,
               "prompt is too long: " + std::to_string(prompt_count) + " tokens > " +
                   std::to_string(context - 1) + " maximum; the model's context holds " +
                   std::to_string(context) + " with the answer",
               ErrorCode::OutOfRange);
}

struct Usage {
  std::size_t prompt_count = 0;
  std::size_t cached_count = 0;  // Tokens of the prompt whose pages were found, not computed.
  std::size_t answer_count = 0;
  std::string misses = {};           // Why the others were computed, JSON; empty: not asked for.
  std::size_t moved_line_count = 0;  // Of the system prompt, by prompt repair.
};

}  // namespace endpoints
