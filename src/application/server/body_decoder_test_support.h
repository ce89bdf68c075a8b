#pragma once
// For tests and the fuzzer: what a BodyDecoder makes of a body that comes in pieces.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "application/server/body_decoder.h"

namespace quire::server {

// The decoded bytes, and how they ended: "whole" or "problem STATUS".
struct DecodedBody {
  std::string bytes;
  std::string end;
  std::string problem;  // Its message.
};

inline constexpr BodyDecoderLimits kTestBodyLimits = {.body_bytes_max = 4u << 20, .ratio_max = 100};

// `next_piece_bytes` says how many bytes come next, at least one.
template <typename NextPieceBytes>
DecodedBody decode_body(ContentCoding coding, std::string_view sent,
                        NextPieceBytes&& next_piece_bytes,
                        const BodyDecoderLimits& limits = kTestBodyLimits) {
  BodyDecoder decoder(coding, limits);
  DecodedBody decoded;
  bool has_sent_all = false;
  while (true) {
    auto taken = decoder.take();
    if (const auto* problem = std::get_if<HttpProblem>(&taken)) {
      decoded.end = "problem " + std::to_string(problem->status);
      decoded.problem = problem->message;
      return decoded;
    }
    if (const auto* part = std::get_if<BodyPart>(&taken)) {
      if (part->bytes.size() > HttpReader::kPartBytesMax) std::abort();
      if (part->is_last && !has_sent_all) std::abort();
      if (part->bytes.empty() && !part->is_last) std::abort();
      decoded.bytes += part->bytes;
      if (decoded.bytes.size() > limits.body_bytes_max) std::abort();
      if (!part->is_last) continue;
      decoded.end = "whole";
      return decoded;
    }
    if (has_sent_all) std::abort();  // A decoder that has all would wait forever.
    const std::size_t count =
        std::min({std::size_t{next_piece_bytes()}, sent.size(), HttpReader::kPartBytesMax});
    has_sent_all = count == sent.size();
    decoder.add({std::string(sent.substr(0, count)), has_sent_all});
    sent.remove_prefix(count);
  }
}

inline DecodedBody decode_body(ContentCoding coding, std::string_view sent,
                               const BodyDecoderLimits& limits = kTestBodyLimits) {
  return decode_body(coding, sent, [] { return HttpReader::kPartBytesMax; }, limits);
}

}  // namespace quire::server
