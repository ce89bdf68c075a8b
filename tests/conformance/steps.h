#pragma once
// Preparations of several programs for the calls that they test: tokens, pages with keys and
// values, embeddings with outputs.
#include <string>

#include "harness.h"

namespace quire::conformance {

inline void* const kNull = nullptr;
inline constexpr std::uint32_t kVocabulary = 1024;  // Of the tiny model.
inline constexpr std::uint32_t kTextBytesMax = 1u << 20;

inline Tokens some_tokens(std::uint32_t count, std::uint32_t first = 0) {
  Tokens tokens;
  for (std::uint32_t i = 0; i < count; ++i) tokens.push_back(3 + (first + i) * 7 % 50);
  return tokens;
}

inline Handles pages_of(Harness& t, std::uint32_t count) {
  Handles pages(count);
  abi::allocate::alloc_kvpage(t.queue, count, pages.data());
  return pages;
}

inline Handles embeds_of(Harness& t, std::uint32_t count) {
  Handles embeds(count);
  abi::allocate::alloc_emb(t.queue, count, embeds.data());
  return embeds;
}

inline void give_back(Harness& t, const Handles& handles) {
  for (const std::int32_t each : handles) t.drop(each);
}

// Embeddings of tokens at positions from `first` on.
inline Handles embedded(Harness& t, std::uint32_t count, std::uint32_t first = 0) {
  const Handles embeds = embeds_of(t, count);
  const Tokens tokens = some_tokens(count, first);
  Tokens positions(count);
  for (std::uint32_t i = 0; i < count; ++i) positions[i] = first + i;
  abi::input::embed_txt(t.queue, embeds.data(), count, tokens.data(), count, positions.data(),
                        count);
  return embeds;
}

// Pages that hold the keys and values of `token_count` tokens.
inline Handles written_pages(Harness& t, std::uint32_t token_count) {
  const Handles pages = pages_of(t, (token_count + kPageSlots - 1) / kPageSlots);
  const Handles embeds = embedded(t, token_count);
  t.result("forward.forward", t.queue, Handles{}, embeds, pages, Handles{}, Bytes{}, 0);
  give_back(t, embeds);
  return pages;
}

// An embedding that a forward pass has written.
inline std::int32_t written_output(Harness& t) {
  const Handles embeds = embedded(t, 4);
  const Handles output = embeds_of(t, 1);
  t.result("forward.forward", t.queue, Handles{}, embeds, Handles{}, output, Bytes{}, 0);
  give_back(t, embeds);
  return output[0];
}

// A context in which so many tokens were computed.
inline std::int32_t computed_context(Harness& t, std::uint32_t token_count) {
  const std::int32_t context = abi::context::create(t.queue);
  const Tokens tokens = some_tokens(token_count);
  abi::context::append(context, tokens.data(), token_count);
  t.result("context.flush", context);
  return context;
}

template <typename T>
T number_at(const std::string& record, std::size_t at) {
  T value{};
  if (at + sizeof value <= record.size()) std::memcpy(&value, record.data() + at, sizeof value);
  return value;
}

// Names that must not be valid for anything.
inline const std::vector<std::string>& names_that_are_none() {
  static const std::vector<std::string> names = {
      "", ".", "..", "a/b", "a\\b", std::string("a\0b", 3), "a\nb", "\x7F", std::string(256, 'a')};
  return names;
}

}  // namespace quire::conformance
