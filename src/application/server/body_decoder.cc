#include "application/server/body_decoder.h"

#include <algorithm>
#include <utility>

#include "application/net/http_limits.h"
#include "base/check.h"

namespace quire::server {
namespace {

const char* name_of(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::Identity:
      return "identity";
    case ContentCoding::Gzip:
      return "gzip";
    case ContentCoding::Deflate:
      return "deflate";
    case ContentCoding::Zstd:
      return "zstd";
  }
  return "";
}

std::optional<ContentCoding> coding_named(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), [](char each) {
    return static_cast<char>(each >= 'A' && each <= 'Z' ? each - 'A' + 'a' : each);
  });
  if (name == "gzip" || name == "x-gzip") return ContentCoding::Gzip;
  if (name == "deflate") return ContentCoding::Deflate;
  if (name == "zstd") return ContentCoding::Zstd;
  if (name == "identity") return ContentCoding::Identity;
  return std::nullopt;
}

// The text before the next comma, without blanks, which goes from `list`.
std::string_view take_element(std::string_view& list) {
  std::string_view element = list.substr(0, list.find(','));
  list.remove_prefix(std::min(element.size() + 1, list.size()));
  element.remove_prefix(std::min(element.find_first_not_of(" \t"), element.size()));
  return element.substr(0, element.find_last_not_of(" \t") + 1);
}

std::variant<net::ZlibDecoder, ZstdDecoder> decoder_for(ContentCoding coding) {
  QUIRE_CHECK(coding != ContentCoding::Identity, "a body without a coding needs no decoder");
  if (coding == ContentCoding::Zstd) return ZstdDecoder();
  return net::ZlibDecoder(coding == ContentCoding::Gzip ? net::ZlibFormat::Gzip
                                                        : net::ZlibFormat::Zlib);
}

}  // namespace

std::optional<ContentCoding> content_coding_of(const std::vector<std::string>& values) {
  ContentCoding found = ContentCoding::Identity;
  for (const std::string& each : values) {
    for (std::string_view list = each; !list.empty();) {
      const std::string_view element = take_element(list);
      if (element.empty()) continue;
      const std::optional<ContentCoding> named = coding_named(element);
      if (!named) return std::nullopt;
      if (*named == ContentCoding::Identity) continue;
      if (found != ContentCoding::Identity) return std::nullopt;
      found = *named;
    }
  }
  return found;
}

BodyDecoder::BodyDecoder(ContentCoding coding, const BodyDecoderLimits& limits)
    : coding_(coding), limits_(limits), decoder_(decoder_for(coding)) {}

void BodyDecoder::add(BodyPart sent) {
  QUIRE_CHECK(sent_at_ == sent_.size() && !has_all_, "take() needs a part");
  sent_ = std::move(sent.bytes);
  sent_at_ = 0;
  sent_bytes_ += sent_.size();
  has_all_ = sent.is_last;
}

HttpProblem BodyDecoder::problem(std::uint32_t status, ErrorCode code,
                                 const std::string& why) const {
  return {status, code, std::string("Content-Encoding ") + name_of(coding_) + ": " + why};
}

// The refusal of a body that is too large, or that grows too much as it is decoded. The ratio is
// checked once for each kPartBytesMax, so it does not depend on the pieces in which the body comes.
std::optional<HttpProblem> BodyDecoder::excess() const {
  if (decoded_bytes_ > limits_.body_bytes_max) {
    return problem(413, ErrorCode::TooLarge,
                   "request_body_bytes_max: the decoded body has more than " +
                       std::to_string(limits_.body_bytes_max) + " bytes");
  }
  const std::uint64_t taken = taken_bytes();
  if (decoded_bytes_ % HttpReader::kPartBytesMax == 0 &&
      decoded_bytes_ > net::kDecompressionFreeBytes &&
      decoded_bytes_ / std::max<std::uint64_t>(taken, 1) >= limits_.ratio_max) {
    return problem(413, ErrorCode::TooLarge,
                   "decompression_ratio_max: " + std::to_string(taken) + " bytes became " +
                       std::to_string(decoded_bytes_) + ", " + std::to_string(limits_.ratio_max) +
                       " times as many or more; send the body without a coding");
  }
  return std::nullopt;
}

// Up to the next multiple of kPartBytesMax, and no more than one byte beyond the limit. So a body is too large at
// the same byte in whatever pieces it comes.
std::size_t BodyDecoder::room() const {
  const std::uint64_t of_part =
      HttpReader::kPartBytesMax - decoded_bytes_ % HttpReader::kPartBytesMax;
  return std::min(of_part, limits_.body_bytes_max + 1 - decoded_bytes_);
}

std::variant<MoreNeeded, BodyPart, HttpProblem> BodyDecoder::take() {
  std::string_view rest = std::string_view(sent_).substr(sent_at_);
  std::string bytes;
  const Result<void> decoded =
      std::visit([&](auto& each) { return each.decode(rest, bytes, room()); }, decoder_);
  sent_at_ = sent_.size() - rest.size();
  decoded_bytes_ += bytes.size();
  if (std::optional<HttpProblem> too_much = excess()) return *std::move(too_much);
  if (!decoded.ok()) {
    return problem(
        400, ErrorCode::InvalidArgument,
        std::string(decoded.error().message()) + ", near byte " + std::to_string(taken_bytes()));
  }
  const bool has_more = std::visit([](const auto& each) { return each.has_more(); }, decoder_);
  if (!rest.empty() || has_more || !has_all_) {
    if (bytes.empty()) return MoreNeeded{};
    return BodyPart{std::move(bytes), false};
  }
  if (std::visit([](const auto& each) { return each.whole(); }, decoder_)) {
    return BodyPart{std::move(bytes), true};
  }
  return problem(400, ErrorCode::InvalidArgument,
                 "the body is cut short: it ends after " + std::to_string(sent_bytes_) + " bytes");
}

}  // namespace quire::server
