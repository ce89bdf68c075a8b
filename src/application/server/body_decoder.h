#pragma once
// BodyDecoder takes the content coding off the body of a request (RFC 9110, 8.4): it gets the parts as they were sent
// and gives parts as the program reads them. It decodes no more than it is asked for, so a client that is not read
// makes no work.
//
// Owns     the part that is not decoded, of at most HttpReader::kPartBytesMax, and the state of its library:
//          40 KiB, or with zstd up to kZstdWindowBytesMax and 0.5 MiB.
// Thread   of its session.
// Errors   HttpProblem, after which nothing more is decoded. What came before it may have reached the program, but
//          no part was the last.
// Bound    BodyDecoderLimits.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "application/net/zlib_decoder.h"
#include "application/server/http_reader.h"
#include "application/server/zstd_decoder.h"

namespace quire::server {

enum class ContentCoding : std::uint8_t { Identity, Gzip, Deflate, Zstd };
inline constexpr const char* kContentCodings =
    "gzip, deflate, zstd";  // As Accept-Encoding has them.

// The one coding that the values of Content-Encoding headers name. None: they name one that is not known, or two.
std::optional<ContentCoding> content_coding_of(const std::vector<std::string>& values);

struct BodyDecoderLimits {
  std::uint64_t body_bytes_max = 0;  // Of the decoded body.
  // Of the decoded bytes to those that were sent; counts beyond net::kDecompressionFreeBytes.
  std::uint32_t ratio_max = 0;
};

class BodyDecoder {
 public:
  // `coding` is not Identity.
  BodyDecoder(ContentCoding coding, const BodyDecoderLimits& limits);

  // The next part of the body as it was sent, after take() needed one.
  void add(BodyPart sent);
  // The next part of the decoded body, of at most HttpReader::kPartBytesMax.
  std::variant<MoreNeeded, BodyPart, HttpProblem> take();

 private:
  std::size_t room() const;
  std::optional<HttpProblem> excess() const;
  HttpProblem problem(std::uint32_t status, ErrorCode code, const std::string& why) const;
  std::uint64_t taken_bytes() const { return sent_bytes_ - (sent_.size() - sent_at_); }

  const ContentCoding coding_;
  const BodyDecoderLimits limits_;
  std::variant<net::ZlibDecoder, ZstdDecoder> decoder_;
  std::string sent_;  // Decoded up to sent_at_.
  std::size_t sent_at_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t decoded_bytes_ = 0;
  bool has_all_ = false;  // That was sent.
};

}  // namespace quire::server
