#include "application/hostcalls/answer_encoding.h"

#include <utility>

namespace quire::hostcalls {
namespace {

template <typename T>
void append(std::string& out, const T* values, std::size_t count) {
  out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

std::string encode(const control::NextDistribution& distribution) {
  const auto count = static_cast<std::uint32_t>(distribution.tokens.size());
  std::string out;
  out.reserve(4 + count * 8);
  append(out, &count, 1);
  append(out, distribution.tokens.data(), count);
  append(out, distribution.probabilities.data(), distribution.probabilities.size());
  return out;
}

// interface/output.wit: a record of numbers.
std::string encode(const control::Values& values) {
  constexpr std::uint32_t kFormatF32 = 0;
  const std::uint32_t head[2] = {kFormatF32, static_cast<std::uint32_t>(values.all.size())};
  std::string out;
  out.reserve(sizeof head + values.all.size() * sizeof(float));
  append(out, head, 2);
  append(out, values.all.data(), values.all.size());
  return out;
}

// interface/context.wit: list.
std::string encode(const control::Snapshots& snapshots) {
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(snapshots.all.size()), 0};
  std::string out;
  append(out, head, 2);
  append(out, &snapshots.bytes, 1);
  for (const control::SnapshotDescription& each : snapshots.all) {
    const std::uint64_t record[4] = {each.created_unix_ms, each.expires_unix_ms, each.token_count,
                                     each.bytes};
    append(out, record, 4);
    const auto name_bytes = static_cast<std::uint32_t>(each.name.size());
    append(out, &name_bytes, 1);
    out += each.name;
  }
  return out;
}

// interface/allocate.wit: import-kvpage; interface/context.wit: pages.
std::string encode(const control::SharedPages& pages) {
  std::string out;
  for (const control::SharedPages::Page& each : pages.all) {
    const std::uint32_t record[2] = {each.index, each.written};
    append(out, record, 2);
  }
  return out;
}

// interface/allocate.wit: list-exports.
std::string encode(const control::Exports& exports) {
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(exports.all.size()), 0};
  std::string out;
  append(out, head, 2);
  for (const control::ExportDescription& each : exports.all) {
    const std::uint32_t flags = (each.is_public ? 1u : 0u) | (each.is_own ? 2u : 0u);
    const std::uint32_t record[4] = {each.page_count, each.token_count, flags,
                                     static_cast<std::uint32_t>(each.name.size())};
    append(out, record, 4);
    out += each.name;
  }
  return out;
}

// interface/input.wit: get-vocabs.
std::string encode(const control::TokenBytes& tokens) {
  std::string out;
  for (const std::string& each : tokens.all) {
    const auto bytes = static_cast<std::uint32_t>(each.size());
    append(out, &bytes, 1);
    out += each;
  }
  return out;
}

// interface/store.wit: put, get, list-keys.
std::string encode(const control::ValueVersion& version) {
  std::string out;
  append(out, &version.version, 1);
  return out;
}

std::string encode(const control::StoredValue& value) {
  return encode(control::ValueVersion{value.version}) + value.bytes;
}

std::string encode(const control::ListedKeys& keys) {
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(keys.all.size()),
                                 keys.has_more ? 1u : 0u};
  std::string out;
  append(out, head, 2);
  for (const control::ListedKeys::Key& each : keys.all) {
    append(out, &each.version, 1);
    const std::uint32_t record[2] = {each.value_bytes,
                                     static_cast<std::uint32_t>(each.name.size())};
    append(out, record, 2);
    out += each.name;
  }
  return out;
}

}  // namespace

std::string encode(const control::ContextCounters& counters) {
  const std::uint32_t record[5] = {counters.seq_len, counters.committed_page_count,
                                   counters.working_page_count, counters.working_page_token_count,
                                   counters.found_token_count};
  std::string out;
  append(out, record, 5);
  return out;
}

std::string encode(GuestHandle handle) {
  std::string out;
  append(out, &handle, 1);
  return out;
}

std::string encode(GuestHandle handle, std::uint32_t queued_token_count) {
  std::string out = encode(handle);
  append(out, &queued_token_count, 1);
  return out;
}

std::string encode(const net::HttpHead& head) {
  const std::string lines = net::header_lines(head.headers);
  const std::uint32_t record[2] = {head.status, static_cast<std::uint32_t>(lines.size())};
  std::string out;
  append(out, record, 2);
  return out + lines;
}

std::string encode(control::AnswerBody body) {
  std::string out;
  if (auto* text = std::get_if<control::Text>(&body)) {
    out = std::move(text->bytes);
  } else if (const auto* tokens = std::get_if<control::Tokens>(&body)) {
    append(out, tokens->ids.data(), tokens->ids.size());
  } else if (const auto* distribution = std::get_if<control::NextDistribution>(&body)) {
    out = encode(*distribution);
  } else if (const auto* values = std::get_if<control::Values>(&body)) {
    out = encode(*values);
  } else if (const auto* drawn = std::get_if<control::Drawn>(&body)) {
    append(out, &drawn->token, 1);
    append(out, &drawn->probability, 1);
  } else if (const auto* snapshots = std::get_if<control::Snapshots>(&body)) {
    out = encode(*snapshots);
  } else if (const auto* pages = std::get_if<control::SharedPages>(&body)) {
    out = encode(*pages);
  } else if (const auto* exports = std::get_if<control::Exports>(&body)) {
    out = encode(*exports);
  } else if (const auto* vocabulary = std::get_if<control::TokenBytes>(&body)) {
    out = encode(*vocabulary);
  } else if (const auto* version = std::get_if<control::ValueVersion>(&body)) {
    out = encode(*version);
  } else if (const auto* value = std::get_if<control::StoredValue>(&body)) {
    out = encode(*value);
  } else if (const auto* keys = std::get_if<control::ListedKeys>(&body)) {
    out = encode(*keys);
  }
  return out;
}

}  // namespace quire::hostcalls
