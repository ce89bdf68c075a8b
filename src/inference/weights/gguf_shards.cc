#include "inference/weights/gguf_shards.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include "base/utf8.h"

namespace quire::inference {
namespace {

constexpr std::string_view kEnding = ".gguf";
constexpr std::size_t kNumberDigits = 5;

// The place of a file among the shards, by its own metadata.
struct Split {
  std::uint32_t index = 0;                    // split.no, from 0.
  std::uint32_t count = 0;                    // split.count: 0 or 1 for a whole model.
  std::optional<std::uint32_t> tensor_count;  // split.tensors.count, of all shards.
  bool has_index = false;
};

std::string digits(std::uint32_t number) {
  std::string text = std::to_string(number);
  return std::string(kNumberDigits - std::min(kNumberDigits, text.size()), '0') + text;
}

std::string ending(std::uint32_t number, std::uint32_t count) {
  return "-" + digits(number) + "-of-" + digits(count) + std::string(kEnding);
}

std::string shard_text(std::uint32_t number, std::uint32_t count) {
  return "shard " + std::to_string(number) + " of " + std::to_string(count);
}

Error corrupted(const GgufFile& file, const std::string& what) {
  return Error(ErrorCode::Corrupted, file.source->name() + ": " + what);
}

// The number in the last five letters of `text`, which are cut off.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  if (text.size() < kNumberDigits) return std::nullopt;
  const std::string_view last = text.substr(text.size() - kNumberDigits);
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(last.data(), last.data() + last.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != last.data() + last.size()) return std::nullopt;
  text.remove_suffix(kNumberDigits);
  return number;
}

bool take(std::string_view& text, std::string_view ending) {
  if (!text.ends_with(ending)) return false;
  text.remove_suffix(ending.size());
  return true;
}

Result<Split> read_split(const GgufFile& file) {
  const GgufMetadata& metadata = *file.metadata;
  Split split;
  split.has_index = metadata.has("split.no");
  split.index = TRY(metadata.find_u32("split.no")).value_or(0);
  split.count = TRY(metadata.find_u32("split.count")).value_or(0);
  split.tensor_count = TRY(metadata.find_u32("split.tensors.count"));
  if (split.count > kGgufShardCountMax) {
    return Error(ErrorCode::TooLarge, file.source->name() + ": split.count is " +
                                          std::to_string(split.count) + "; at most " +
                                          std::to_string(kGgufShardCountMax) + " shards are read");
  }
  if (split.index >= std::max(split.count, 1u)) {
    return corrupted(file, "split.no is " + std::to_string(split.index) +
                               ", which is not below the split.count of " +
                               std::to_string(split.count));
  }
  return split;
}

// A file that does not call itself a shard. gguf-split leaves split.count 0 in what it merges.
Result<void> check_whole(const GgufFile& file, const Split& split,
                         const std::optional<ShardName>& name) {
  if (name && name->count > 1) {
    return corrupted(
        file,
        "the name says " + shard_text(name->number, name->count) + ", and the metadata has " +
            (file.metadata->has("split.count") ? "a split.count of " + std::to_string(split.count)
                                               : std::string("no split.count")) +
            "; give a whole model a name without the numbers of a shard");
  }
  if (split.tensor_count && *split.tensor_count != file.tensors.size()) {
    return corrupted(file, "split.tensors.count is " + std::to_string(*split.tensor_count) +
                               ", and the file holds " + std::to_string(file.tensors.size()) +
                               " tensors");
  }
  return {};
}

// The other shards are found by name, so that name and metadata have to say the same.
Result<ShardName> check_name(const GgufFile& file, const Split& split,
                             const std::optional<ShardName>& name) {
  const std::string said = "split.no " + std::to_string(split.index) + " and split.count " +
                           std::to_string(split.count) + " say " +
                           shard_text(split.index + 1, split.count);
  if (!name) {
    return corrupted(file, said + ", and the name does not end in " +
                               in_quotes(ending(split.index + 1, split.count)) +
                               ", by which the other shards are found; give all shards the names "
                               "that gguf-split gives them");
  }
  if (name->number != split.index + 1 || name->count != split.count) {
    return corrupted(file, said + ", and the name says " + shard_text(name->number, name->count) +
                               "; get this shard again, or rename it");
  }
  return *name;
}

bool holds_the_same(const GgufValue& one, const GgufValue& other) {
  if (one.type != other.type || one.element_type != other.element_type) return false;
  if (one.bits != other.bits || one.bytes != other.bytes || one.count != other.count) return false;
  for (std::size_t index = 0; index < one.texts.size(); ++index) {
    if (one.texts[index] != other.texts[index]) return false;
  }
  return true;
}

// gguf-split gives later shards no metadata but split.*; other writers repeat some of the first's.
Result<void> check_same_model(const GgufFile& first, const GgufFile& shard) {
  for (const std::string& key : shard.metadata->keys()) {
    if (key.starts_with("split.") || key == "general.alignment") continue;
    const GgufValue* known = first.metadata->find(key);
    if (known == nullptr || holds_the_same(*known, *shard.metadata->find(key))) continue;
    return corrupted(shard, in_quotes(key) + " has another value than in " + first.source->name() +
                                "; these shards are of different models");
  }
  return {};
}

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

// A shard is read with its own alignment. gguf-split writes later shards with the default of 32.
// Other writers use the first shard's for all and leave the key out, so that the data lies
// elsewhere: then at least 32 bytes are left after what seems to be the last tensor.
Result<void> check_alignment(const GgufFile& first, const GgufFile& shard) {
  const std::uint64_t begin = aligned(shard.header_bytes, shard.alignment);
  const std::uint64_t other_begin = aligned(shard.header_bytes, first.alignment);
  if (begin == other_begin || shard.metadata->has("general.alignment")) return {};
  std::uint64_t end = begin;
  for (const GgufTensor& tensor : shard.tensors) end = std::max(end, tensor.offset + tensor.bytes);
  const std::uint64_t bytes_left = shard.source->bytes() - std::min(end, shard.source->bytes());
  if (bytes_left < shard.alignment) return {};
  return corrupted(shard, std::to_string(bytes_left) +
                              " bytes are left after the last tensor. The shard has no "
                              "general.alignment, and " +
                              first.source->name() + " has " + std::to_string(first.alignment) +
                              ": it is unclear whether the data begins at byte " +
                              std::to_string(begin) + " or " + std::to_string(other_begin));
}

// `number` is what the name says.
Result<void> check_shard(const GgufFile& first, const Split& whole, const GgufFile& shard,
                         std::uint32_t number) {
  const Split split = TRY(read_split(shard));
  if (!split.has_index || split.count <= 1) {
    return corrupted(shard,
                     "the metadata has no split.no or no split.count above 1, and the name "
                     "says " +
                         shard_text(number, whole.count));
  }
  if (split.index + 1 != number || split.count != whole.count) {
    return corrupted(shard, "split.no " + std::to_string(split.index) + " and split.count " +
                                std::to_string(split.count) + " say " +
                                shard_text(split.index + 1, split.count) + ", and the name says " +
                                shard_text(number, whole.count) +
                                "; get this shard again, or rename it");
  }
  if (split.tensor_count && split.tensor_count != whole.tensor_count) {
    return corrupted(shard, "split.tensors.count is " + std::to_string(*split.tensor_count) +
                                ", and " + first.source->name() + " says " +
                                std::to_string(*whole.tensor_count) +
                                "; these shards are of different models");
  }
  TRY(check_alignment(first, shard));
  return check_same_model(first, shard);
}

Result<GgufFile> open_shard(const ShardName& name, std::uint32_t number, const OpenSource& open) {
  Result<std::shared_ptr<const ByteSource>> source = open(name.path_of(number));
  if (!source.ok() && source.error().code() == ErrorCode::NotFound) {
    return Error(ErrorCode::NotFound, shard_text(number, name.count) +
                                          " is missing: " + std::string(source.error().message()) +
                                          "; all shards of a model lie in one folder");
  }
  if (!source.ok()) {
    return std::move(source).take_error().while_(shard_text(number, name.count));
  }
  return GgufFile::parse(std::move(source).take());
}

// The file that holds each tensor.
using Holders = std::unordered_map<std::string, const ByteSource*>;

Result<void> take_tensors(GgufFile& shard, GgufFile& whole, Holders& holders) {
  for (GgufTensor& tensor : shard.tensors) {
    const auto [holder, is_new] = holders.try_emplace(tensor.name, shard.source.get());
    if (!is_new) {
      return corrupted(shard, "tensor " + in_quotes(tensor.name) + " lies in " +
                                  holder->second->name() + " too");
    }
    if (&shard != &whole) whole.tensors.push_back(std::move(tensor));
  }
  return {};
}

Result<GgufFile> read_shards(const ShardName& name, const OpenSource& open) {
  GgufFile first = TRY(open_shard(name, 1, open));
  const Split whole = TRY(read_split(first));
  TRY(check_name(first, whole, ShardName{name.stem, 1, name.count}));
  if (!whole.tensor_count || *whole.tensor_count > kGgufTensorCountMax) {
    return corrupted(first, whole.tensor_count
                                ? "split.tensors.count is " + std::to_string(*whole.tensor_count) +
                                      "; at most " + std::to_string(kGgufTensorCountMax) +
                                      " tensors are read"
                                : "the metadata has no split.tensors.count");
  }
  Holders holders;
  TRY(take_tensors(first, first, holders));
  std::vector<std::shared_ptr<const ByteSource>> sources;  // `holders` points into them.
  for (std::uint32_t number = 2; number <= name.count; ++number) {
    GgufFile shard = TRY(open_shard(name, number, open));
    sources.push_back(shard.source);
    TRY(check_shard(first, whole, shard, number));
    TRY(take_tensors(shard, first, holders));
  }
  if (first.tensors.size() != *whole.tensor_count) {
    return corrupted(first, "split.tensors.count is " + std::to_string(*whole.tensor_count) +
                                ", and the " + std::to_string(name.count) + " shards hold " +
                                std::to_string(first.tensors.size()) + " tensors");
  }
  return first;
}

}  // namespace

std::string ShardName::path_of(std::uint32_t shard_number) const {
  return stem + ending(shard_number, count);
}

std::optional<ShardName> parse_shard_name(const std::string& path) {
  std::string_view rest = path;
  if (!take(rest, kEnding)) return std::nullopt;
  const std::optional<std::uint32_t> count = take_number(rest);
  if (!count || !take(rest, "-of-")) return std::nullopt;
  const std::optional<std::uint32_t> number = take_number(rest);
  if (!number || !take(rest, "-")) return std::nullopt;
  if (*number < 1 || *number > *count) return std::nullopt;
  return ShardName{std::string(rest), *number, *count};
}

std::string model_name_of(const std::string& path) {
  std::string_view rest = path;
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  const std::optional<ShardName> shard = parse_shard_name(std::string(rest));
  if (shard) {
    rest = shard->stem;
  } else {
    take(rest, kEnding);
  }
  return std::string(rest.substr(rest.rfind('/') + 1));
}

Result<GgufFile> read_gguf(const std::string& path, const OpenSource& open) {
  const std::optional<ShardName> name = parse_shard_name(path);
  std::shared_ptr<const ByteSource> source = TRY(open(path));
  GgufFile given = TRY(GgufFile::parse(std::move(source)));
  const Split split = TRY(read_split(given));
  if (split.count <= 1) {
    TRY(check_whole(given, split, name));
    return given;
  }
  const ShardName shard = TRY(check_name(given, split, name));
  return read_shards(shard, open);
}

}  // namespace quire::inference
