#include "wire/fields.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace quire::wire {
namespace {

constexpr std::size_t kLengthBytes = 4;  // Of a binary frame's header, little-endian.

Result<Json> parse_object(std::string_view text) {
  Result<Json> json = parse_json(text, "frame");
  if (!json.ok()) {
    return Error(ErrorCode::InvalidArgument, std::string(json.error().message()));
  }
  if (!json.value().is_object()) {
    return Error(ErrorCode::InvalidArgument,
                 std::string("frame: a JSON object was expected, not ") + json.value().type_name());
  }
  return std::move(json).take();
}

Error too_large(const char* what, std::uint64_t bytes, std::uint64_t bytes_max) {
  return Error(ErrorCode::TooLarge, std::string(what) + " of " + std::to_string(bytes) +
                                        " bytes; at most " + std::to_string(bytes_max) +
                                        " are allowed");
}

std::string dump(const OrderedJson& json) {
  return dump_json(json);
}

}  // namespace

Error Fields::wrong(const char* key, const std::string& how) const {
  return Error(ErrorCode::InvalidArgument, where_ + ": \"" + key + "\" " + how);
}

Error Fields::missing(const char* key) const {
  return wrong(key, "is missing");
}

const Json* Fields::find(const char* key) {
  seen_.emplace_back(key);
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

Result<std::optional<std::uint64_t>> Fields::find_number(const char* key, std::uint64_t least) {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::uint64_t>();
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kNumberMax ||
      value->get<std::uint64_t>() < least) {
    return wrong(key, "is " + in_quotes(dump(*value)) + "; a whole number of " +
                          std::to_string(least) + " to 2^53 - 1 was expected");
  }
  return std::optional(value->get<std::uint64_t>());
}

Result<std::uint64_t> Fields::number(const char* key, std::uint64_t least, std::uint64_t most) {
  const std::optional<std::uint64_t> value = TRY(find_number(key, least));
  if (!value) return missing(key);
  if (*value > most) {
    return wrong(key, "is " + std::to_string(*value) + ", more than " + std::to_string(most));
  }
  return *value;
}

Result<std::int32_t> Fields::signed_number(const char* key) {
  const Json* value = find(key);
  if (value == nullptr) return missing(key);
  const bool is_small =
      value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<std::uint64_t>() <= std::uint64_t{INT32_MAX}) &&
      value->get<std::int64_t>() >= INT32_MIN;
  if (!is_small) return wrong(key, "is not a whole number of 32 bits");
  return value->get<std::int32_t>();
}

Result<std::string> Fields::text(const char* key, std::uint64_t bytes_max) {
  const Json* value = find(key);
  if (value == nullptr) return missing(key);
  if (!value->is_string()) {
    return wrong(key, std::string("is ") + value->type_name() + ", not a text");
  }
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > bytes_max) {
    return wrong(key, "has " + std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(bytes_max) + " are allowed");
  }
  return text;
}

Result<const Json*> Fields::array(const char* key, std::uint64_t count_max) {
  const Json* value = find(key);
  if (value == nullptr) return missing(key);
  if (!value->is_array()) {
    return wrong(key, std::string("is ") + value->type_name() + ", not an array");
  }
  if (value->size() > count_max) {
    return wrong(key, "has " + std::to_string(value->size()) + " elements; at most " +
                          std::to_string(count_max) + " are allowed");
  }
  return value;
}

Result<std::vector<std::string>> Fields::texts(const char* key, std::uint64_t count_max) {
  const Json* value = TRY(array(key, count_max));
  std::vector<std::string> texts;
  for (const Json& each : *value) {
    if (!each.is_string()) {
      return wrong(
          key, "[" + std::to_string(texts.size()) + "] is " + each.type_name() + ", not a text");
    }
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

Result<bool> Fields::find_flag(const char* key) {
  const Json* value = find(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) {
    return wrong(key, std::string("is ") + value->type_name() + ", not true or false");
  }
  return value->get<bool>();
}

Result<Digest> Fields::digest(const char* key) {
  const std::string value = TRY(text(key, kNameBytesMax));
  ProgramName program = TRY(parse_program(value));
  if (!program.digest) return wrong(key, "is " + in_quotes(value) + ", no \"sha256:...\"");
  return *program.digest;
}

Result<std::size_t> Fields::choice(const char* key, std::span<const char* const> names) {
  const std::string value = TRY(text(key, kNameBytesMax));
  std::string known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (value == names[i]) return i;
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return wrong(key, "is " + in_quotes(value) + ", none of " + known);
}

Result<const Json*> Fields::find_object(const char* key) {
  const Json* value = find(key);
  if (value != nullptr && !value->is_object()) {
    return wrong(key, std::string("is ") + value->type_name() + ", not an object");
  }
  return value;
}

Result<void> Fields::finish() const {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) continue;
    std::string known;
    for (const std::string_view each : seen_) {
      known += (known.empty() ? "" : ", ") + std::string(each);
    }
    return Error(ErrorCode::InvalidArgument,
                 where_ + ": " + in_quotes(key) + " is unknown (known: " + known + ")");
  }
  return {};
}

Result<FrameParts> take_apart(bool is_binary, std::string_view bytes) {
  if (!is_binary) {
    if (bytes.size() > kTextFrameBytesMax) {
      return too_large("text frame", bytes.size(), kTextFrameBytesMax);
    }
    return FrameParts{TRY(parse_object(bytes)), {}};
  }
  if (bytes.size() < kLengthBytes) {
    return Error(ErrorCode::InvalidArgument,
                 "binary frame of " + std::to_string(bytes.size()) +
                     " bytes: it begins with 4 that count those of its header");
  }
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    header_bytes |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(kLengthBytes);
  if (header_bytes > kHeaderBytesMax) {
    return too_large("header of a binary frame", header_bytes, kHeaderBytesMax);
  }
  if (header_bytes > bytes.size()) {
    return Error(ErrorCode::InvalidArgument,
                 "binary frame: a header of " + std::to_string(header_bytes) +
                     " bytes was announced, " + std::to_string(bytes.size()) + " are there");
  }
  Json header = TRY(parse_object(bytes.substr(0, header_bytes)));
  return FrameParts{std::move(header), bytes.substr(header_bytes)};
}

Result<void> check_payload(const FrameParts& parts) {
  if (parts.payload.size() <= kPayloadBytesMax) return {};
  return too_large("payload", parts.payload.size(), kPayloadBytesMax);
}

Message text_message(const OrderedJson& header) {
  return {false, dump(header)};
}

Message framed(std::string_view header, std::string_view payload) {
  Message message{true, {}};
  message.bytes.reserve(kLengthBytes + header.size() + payload.size());
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    message.bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  }
  message.bytes += header;
  message.bytes += payload;
  return message;
}

Message binary_message(const OrderedJson& header, std::string_view payload) {
  return framed(dump(header), payload);
}

Result<Digest> parse_digest(std::string_view hex_text) {
  const auto value_of = [](char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
  };
  Digest digest{};
  bool is_hex = hex_text.size() == 2 * digest.size();
  for (std::size_t i = 0; is_hex && i < digest.size(); ++i) {
    const int high = value_of(hex_text[2 * i]);
    const int low = value_of(hex_text[2 * i + 1]);
    is_hex = high >= 0 && low >= 0;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (!is_hex) {
    return Error(ErrorCode::InvalidArgument,
                 in_quotes(hex_text) + " is not a SHA-256: 64 digits of 0-9 and a-f");
  }
  return digest;
}

}  // namespace quire::wire
