#include "main/verbs/text/eval_input.h"

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "base/utf8.h"

namespace quire {
namespace {

constexpr std::uint64_t kFileBytesMax = std::uint64_t{4} << 30;
constexpr std::uint32_t kPositionMax = 1u << 30;

std::string shape_text(const NpyArray& array) {
  std::string text = "[";
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(array.shape[i]);
  }
  return text + "]";
}

template <typename T>
Result<std::vector<std::uint32_t>> checked_positions(const NpyArray& array,
                                                     const std::string& path) {
  const std::vector<T> numbers = TRY(array.values<T>());
  std::vector<std::uint32_t> positions;
  positions.reserve(numbers.size());
  for (const T number : numbers) {
    if (number < 0 || static_cast<std::int64_t>(number) > std::int64_t{kPositionMax}) {
      return Error(ErrorCode::InvalidArgument, path + ": position " + std::to_string(number) +
                                                   " at index " + std::to_string(positions.size()) +
                                                   " is not between 0 and 2^30");
    }
    positions.push_back(static_cast<std::uint32_t>(number));
  }
  return positions;
}

}  // namespace

Result<std::vector<std::uint32_t>> read_ids(const std::string& path,
                                            std::uint32_t vocabulary_size) {
  const std::string text = TRY(read_file(path, kFileBytesMax));
  Json json = TRY(parse_json(text, path));
  if (json.is_object() && json.contains("ids")) json = Json(json["ids"]);
  if (!json.is_array()) {
    return Error(ErrorCode::InvalidArgument,
                 path + " is not a JSON array of token ids, nor an object with \"ids\"");
  }
  std::vector<std::uint32_t> ids;
  ids.reserve(json.size());
  for (const Json& each : json) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() >= vocabulary_size) {
      return Error(ErrorCode::InvalidArgument,
                   path + ": " + printable(dump_json(each).substr(0, 40)) + " at index " +
                       std::to_string(ids.size()) + " is not a token id: whole numbers below " +
                       std::to_string(vocabulary_size) + " were expected");
    }
    ids.push_back(each.get<std::uint32_t>());
  }
  return ids;
}

Result<std::vector<std::uint8_t>> read_mask(const std::string& path, std::size_t count) {
  const NpyArray array = TRY(read_npy(path, kFileBytesMax));
  if (array.shape != std::vector<std::uint64_t>{count, count}) {
    return Error(ErrorCode::InvalidArgument, path + " has shape " + shape_text(array) + ", not [" +
                                                 std::to_string(count) + ", " +
                                                 std::to_string(count) + "] as the tokens ask for");
  }
  std::vector<std::uint8_t> mask = TRY(array.values<std::uint8_t>());
  for (std::uint8_t& each : mask) each = each != 0 ? 1 : 0;
  return mask;
}

Result<std::vector<std::uint32_t>> read_positions(const std::string& path, std::size_t count) {
  const NpyArray array = TRY(read_npy(path, kFileBytesMax));
  if (array.shape != std::vector<std::uint64_t>{count}) {
    return Error(ErrorCode::InvalidArgument, path + " has shape " + shape_text(array) + ", not [" +
                                                 std::to_string(count) + "] as the tokens ask for");
  }
  if (array.type == NpyType::I32) return checked_positions<std::int32_t>(array, path);
  return checked_positions<std::int64_t>(array, path);
}

}  // namespace quire
