#pragma once
// Fields reads the members of one JSON object of a frame, each once. In the end it reports a member
// that was not read. FrameParts is a message split into that object and the bytes after it.
//
// Only this folder uses it.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "wire/frame_codec.h"

namespace quire::wire {

inline constexpr std::uint64_t kNumberMax = (std::uint64_t{1} << 53) - 1;

class Fields {
 public:
  // `where` begins every error: "launch".
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  bool has(const char* key) const { return object_.contains(key); }
  Result<std::uint64_t> number(const char* key, std::uint64_t least = 0,
                               std::uint64_t most = kNumberMax);
  Result<std::optional<std::uint64_t>> find_number(const char* key, std::uint64_t least = 0);
  Result<std::int32_t> signed_number(const char* key);
  Result<std::string> text(const char* key, std::uint64_t bytes_max);
  Result<std::vector<std::string>> texts(const char* key, std::uint64_t count_max);
  Result<bool> find_flag(const char* key);  // False where it is missing.
  Result<Digest> digest(const char* key);   // "sha256:..."
  // One of the names, by its place among them.
  Result<std::size_t> choice(const char* key, std::span<const char* const> names);
  // Null where it is missing.
  Result<const Json*> find_object(const char* key);
  Result<const Json*> array(const char* key, std::uint64_t count_max);

  // InvalidArgument names a member that was not read.
  Result<void> finish() const;

  Error wrong(const char* key, const std::string& how) const;

 private:
  const Json* find(const char* key);
  Error missing(const char* key) const;

  const Json& object_;
  const std::string where_;
  std::vector<std::string_view> seen_;
};

// The two parts of a message. `payload` points into the given bytes. Only check_payload() limits
// its size: take_apart() does not, so that the error can go with the id in the header.
struct FrameParts {
  Json header;
  std::string_view payload;
};
Result<FrameParts> take_apart(bool is_binary, std::string_view bytes);
Result<void> check_payload(const FrameParts& parts);

Result<FilePart> read_file_part(Fields& fields, std::string_view payload);

Message text_message(const OrderedJson& header);
Message binary_message(const OrderedJson& header, std::string_view payload);
Message framed(std::string_view header, std::string_view payload);

}  // namespace quire::wire
