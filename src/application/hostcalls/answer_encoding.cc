#include "application/hostcalls/answer_encoding.h"

#include <cstring>
#include <utility>

#include "base/check.h"

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

// interface/output.wit: get-next-dists.
std::string encode(const control::NextDistributions& distributions) {
  std::string out;
  for (const control::NextDistribution& each : distributions.all) out += encode(each);
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

void append_head(std::string& out, std::uint32_t end, std::size_t count) {
  const std::uint32_t head[2] = {end, static_cast<std::uint32_t>(count)};
  append(out, head, 2);
}

// Bits of the flags of a token in a record of draws.
constexpr std::uint32_t kForced = 1;
constexpr std::uint32_t kDraftCountShift = 8;  // Of the first token: how many drafts were computed.

void append_draw(std::string& out, const control::Drawn& drawn,
                 std::span<const std::uint32_t> top_tokens,
                 std::span<const float> top_probabilities, std::uint32_t draft_count) {
  append(out, &drawn.token, 1);
  append(out, &drawn.probability, 1);
  const std::uint32_t record[2] = {
      (drawn.is_forced ? kForced : 0) | draft_count << kDraftCountShift,
      static_cast<std::uint32_t>(top_tokens.size())};
  append(out, record, 2);
  for (std::size_t i = 0; i < top_tokens.size(); ++i) {
    append(out, &top_tokens[i], 1);
    append(out, &top_probabilities[i], 1);
  }
}

std::string encode(const control::Draws& draws) {
  std::string out;
  append_head(out, static_cast<std::uint32_t>(draws.end), draws.all.size());
  const std::size_t top_count = draws.all.empty() ? 0 : draws.top_tokens.size() / draws.all.size();
  const std::span<const std::uint32_t> tokens(draws.top_tokens);
  const std::span<const float> probabilities(draws.top_probabilities);
  for (std::size_t i = 0; i < draws.all.size(); ++i) {
    append_draw(out, draws.all[i], tokens.subspan(i * top_count, top_count),
                probabilities.subspan(i * top_count, top_count), i == 0 ? draws.draft_count : 0);
  }
  return out;
}

DrawReader::DrawReader(std::string_view record) : rest_(record.substr(2 * sizeof(std::uint32_t))) {}

template <typename T>
T DrawReader::take() {
  T value{};
  QUIRE_CHECK(rest_.size() >= sizeof value, "the record was written here");
  std::memcpy(&value, rest_.data(), sizeof value);
  rest_.remove_prefix(sizeof value);
  return value;
}

control::Drawn DrawReader::next(std::vector<std::uint32_t>& top_tokens,
                                std::vector<float>& top_probabilities) {
  control::Drawn drawn;
  drawn.token = take<std::uint32_t>();
  drawn.probability = take<float>();
  drawn.is_forced = (take<std::uint32_t>() & kForced) != 0;
  const auto top_count = take<std::uint32_t>();
  for (std::uint32_t i = 0; i < top_count; ++i) {
    top_tokens.push_back(take<std::uint32_t>());
    top_probabilities.push_back(take<float>());
  }
  return drawn;
}

std::string encode(const service::End& end) {
  const std::uint32_t head[4] = {static_cast<std::uint32_t>(end.kind),
                                 static_cast<std::uint32_t>(end.exit_code),
                                 static_cast<std::uint32_t>(end.result.size()),
                                 static_cast<std::uint32_t>(end.message.size())};
  std::string out;
  append(out, head, 4);
  return out + end.result + end.message;
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
  } else if (const auto* distributions = std::get_if<control::NextDistributions>(&body)) {
    out = encode(*distributions);
  } else if (const auto* mask = std::get_if<control::TokenMaskWords>(&body)) {
    append(out, mask->words.data(), mask->words.size());
  } else if (const auto* accepted = std::get_if<control::Accepted>(&body)) {
    const std::uint32_t is_complete = accepted->is_complete ? 1 : 0;
    append(out, &is_complete, 1);
  } else if (const auto* checked = std::get_if<control::TextChecked>(&body)) {
    const std::uint32_t fits = checked->fits ? 1 : 0;
    append(out, &fits, 1);
  } else if (const auto* kinds = std::get_if<control::TokenKinds>(&body)) {
    append(out, kinds->all.data(), kinds->all.size());
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
