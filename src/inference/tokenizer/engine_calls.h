#pragma once
// Calls into engines/ with owning types: what a call gives is held or copied at once.
#include <quire_engines.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::inference {

template <auto kRelease>
struct EngineReleaser {
  template <typename T>
  void operator()(T* handle) const {
    kRelease(handle);
  }
};
using EngineTokenizer = std::unique_ptr<quire_tokenizer, EngineReleaser<quire_tokenizer_delete>>;
using EngineTemplate = std::unique_ptr<quire_template, EngineReleaser<quire_template_delete>>;

inline quire_bytes engine_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string_view engine_view(quire_bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.count};
}

inline std::vector<quire_bytes> engine_list(const std::vector<std::string_view>& texts) {
  std::vector<quire_bytes> list;
  list.reserve(texts.size());
  for (const std::string_view text : texts) list.push_back(engine_bytes(text));
  return list;
}

inline std::string take_engine_text(quire_text text) {
  std::string copy(reinterpret_cast<const char*>(text.data), text.count);
  quire_text_delete(&text);
  return copy;
}

inline std::vector<std::size_t> take_engine_offsets(quire_offsets offsets) {
  std::vector<std::size_t> copy(offsets.data, offsets.data + offsets.count);
  quire_offsets_delete(&offsets);
  return copy;
}

inline Result<void> engine_result(quire_status status, quire_text error) {
  if (status == QUIRE_OK) return {};
  const ErrorCode code = status == QUIRE_INVALID         ? ErrorCode::InvalidArgument
                         : status == QUIRE_NOT_SUPPORTED ? ErrorCode::NotSupported
                         : status == QUIRE_LIMIT         ? ErrorCode::TooLarge
                         : status == QUIRE_TIMEOUT       ? ErrorCode::Timeout
                         : status == QUIRE_UNAVAILABLE   ? ErrorCode::Unavailable
                                                         : ErrorCode::Internal;
  return Error(code, take_engine_text(error));
}

}  // namespace quire::inference
