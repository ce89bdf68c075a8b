// Any bytes as a GGUF model, whole or in shards: an error, or a model whose every tensor can be
// read. Input that begins with "GGSP" holds shards: then come the number of shards, the number of
// the one that is given, and for each shard its length in four bytes and its content.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "base/check.h"
#include "inference/architectures/model_files.h"
#include "inference/weights/gguf_shards.h"

using quire::Error;
using quire::ErrorCode;
using quire::Result;
using namespace quire::inference;

namespace {

constexpr std::string_view kShardsMark = "GGSP";
constexpr std::uint32_t kShardCountMax = 8;

std::span<const std::byte> take(std::span<const std::byte>& rest, std::size_t count) {
  const std::span<const std::byte> taken = rest.first(std::min(count, rest.size()));
  rest = rest.subspan(taken.size());
  return taken;
}

template <typename T>
T take_number(std::span<const std::byte>& rest) {
  T number = 0;
  const std::span<const std::byte> bytes = take(rest, sizeof number);
  if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
  return number;
}

using Sources = std::map<std::string, std::shared_ptr<const ByteSource>>;

Result<std::unique_ptr<ModelFiles>> open_shards(std::span<const std::byte> rest) {
  take(rest, kShardsMark.size());
  const std::uint32_t count = 1 + take_number<std::uint8_t>(rest) % kShardCountMax;
  const std::uint32_t given = 1 + take_number<std::uint8_t>(rest) % count;
  const ShardName name{"fuzz", given, count};
  Sources sources;
  for (std::uint32_t number = 1; number <= count && !rest.empty(); ++number) {
    const auto bytes = take(rest, take_number<std::uint32_t>(rest));
    const std::string path = name.path_of(number);
    sources[path] =
        std::make_shared<MemorySource>(path, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  return open_gguf_model(name.path_of(given),
                         [&](const std::string& path) -> Result<std::shared_ptr<const ByteSource>> {
                           const auto found = sources.find(path);
                           if (found == sources.end())
                             return Error(ErrorCode::NotFound, "there is no " + path);
                           return found->second;
                         });
}

Result<std::unique_ptr<ModelFiles>> open(std::span<const std::byte> input) {
  const bool in_shards = input.size() > kShardsMark.size() &&
                         std::memcmp(input.data(), kShardsMark.data(), kShardsMark.size()) == 0;
  if (in_shards) return open_shards(input);
  return open_gguf_model(
      std::make_shared<MemorySource>("fuzz", std::vector<std::byte>(input.begin(), input.end())));
}

void look_up_all(const GgufMetadata& metadata) {
  for (const std::string& key : metadata.keys()) {
    QUIRE_CHECK(metadata.has(key), "keys() names what is there");
    (void)metadata.find_i32(key);
    (void)metadata.find_u64(key);
    (void)metadata.find_bool(key);
    (void)metadata.u32(key);
    (void)metadata.real(key);
    (void)metadata.text(key);
    (void)metadata.integers(key);
    (void)metadata.reals(key);
    (void)metadata.bools(key);
    Result<const TextArray*> texts = metadata.texts(key);
    if (!texts.ok()) continue;
    const TextArray& array = *texts.value();
    for (std::size_t index = 0; index < array.size(); ++index) (void)array[index].size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  Result<std::unique_ptr<ModelFiles>> model = open(std::as_bytes(std::span(data, bytes)));
  if (!model.ok()) {
    QUIRE_CHECK(!model.error().message().empty(), "an error says what is wrong");
    return 0;
  }
  QUIRE_CHECK(digest_model(*model.value()).ok(), "every tensor lies in its file");
  look_up_all(*model.value()->gguf_metadata());
  return 0;
}
