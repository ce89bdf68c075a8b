#include "base/json.h"

#include <cstddef>
#include <optional>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace quire {
namespace {

// The depth is bounded before parsing, so that a megabyte of "[" costs a scan and not a stack.
std::optional<std::size_t> too_deep_at(std::string_view text) {
  std::uint32_t depth = 0;
  bool in_string = false;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char each = text[index];
    if (in_string) {
      if (each == '\\') ++index;
      if (each == '"') in_string = false;
    } else if (each == '"') {
      in_string = true;
    } else if (each == '{' || each == '[') {
      if (++depth > kJsonDepthMax) return index;
    } else if ((each == '}' || each == ']') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

// Builds the value, and stops at a key that its object has already. nlohmann's own parser reports
// keys through a callback. With a callback it goes through the whole array at the end of each
// object in it, so its time grows with the square of the array's length.
template <typename AnyJson>
class Builder final : public nlohmann::json_sax<AnyJson> {
 public:
  // The reason why parsing stopped, if it did.
  struct Wrong {
    std::optional<std::size_t> byte;
    std::string what;
  };
  const Wrong& wrong() const { return wrong_; }
  AnyJson take() { return std::move(root_); }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(std::int64_t value) override { return add(value) != nullptr; }
  bool number_unsigned(std::uint64_t value) override { return add(value) != nullptr; }
  bool number_float(double value, const std::string&) override { return add(value) != nullptr; }
  bool string(std::string& value) override { return add(std::move(value)) != nullptr; }
  bool binary(typename AnyJson::binary_t&) override { return false; }  // Not in text.
  bool start_object(std::size_t) override { return open(AnyJson::value_t::object); }
  bool start_array(std::size_t) override { return open(AnyJson::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    auto& members = open_.back()->template get_ref<typename AnyJson::object_t&>();
    bool is_new = false;
    if constexpr (std::is_same_v<AnyJson, OrderedJson>) {
      // The emplace() of OrderedJson compares the name with every member.
      is_new = names_.back().insert(name).second;
      if (is_new) member_ = &members.emplace_back(name, nullptr).second;
    } else {
      const auto [member, added] = members.emplace(name, nullptr);
      member_ = &member->second;
      is_new = added;
    }
    if (!is_new) wrong_.what = "the JSON key " + in_quotes(name) + " appears twice";
    return is_new;
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const typename AnyJson::exception& error) override {
    const bool is_syntax = dynamic_cast<const typename AnyJson::parse_error*>(&error) != nullptr;
    if (is_syntax) wrong_.byte = byte;
    wrong_.what = is_syntax ? "not valid JSON" : "not valid JSON: " + in_quotes(error.what());
    return false;
  }

 private:
  // Puts the value in its place: the member of the last key, the end of an array, or the root.
  AnyJson* add(AnyJson value) {
    AnyJson* place = &root_;
    if (!open_.empty() && open_.back()->is_object()) {
      place = member_;
    } else if (!open_.empty()) {
      place = &open_.back()->emplace_back();
    }
    *place = std::move(value);
    return place;
  }
  bool open(typename AnyJson::value_t type) {
    open_.push_back(add(type));
    names_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  AnyJson root_;
  std::vector<AnyJson*> open_;  // From the root down. Nothing is added beside one that is open.
  std::vector<std::unordered_set<std::string>> names_;  // The keys of each ordered object.
  AnyJson* member_ = nullptr;
  Wrong wrong_;
};

template <typename AnyJson>
Result<AnyJson> parse(std::string_view text, const std::string& source, std::uint64_t offset) {
  const auto at_byte = [&](std::size_t byte) {
    return source + ": byte " + std::to_string(offset + byte) + ": ";
  };
  if (const auto at = too_deep_at(text)) {
    return Error(ErrorCode::Corrupted,
                 at_byte(*at) + "JSON nested deeper than " + std::to_string(kJsonDepthMax));
  }
  Builder<AnyJson> builder;
  if (AnyJson::sax_parse(text, &builder)) return builder.take();
  const auto& wrong = builder.wrong();
  return Error(ErrorCode::Corrupted,
               (wrong.byte ? at_byte(*wrong.byte) : source + ": ") + wrong.what);
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& source, std::uint64_t offset) {
  return parse<Json>(text, source, offset);
}

Result<OrderedJson> parse_ordered_json(std::string_view text, const std::string& source,
                                       std::uint64_t offset) {
  return parse<OrderedJson>(text, source, offset);
}

}  // namespace quire
