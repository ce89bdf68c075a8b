#include "application/server/zstd_decoder.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "base/check.h"

namespace quire::server {
namespace {

// The first of the four bytes with which a frame, and a frame to be skipped, begin. The library may
// also read the formats from before version 0.8, which RFC 8878 does not have and whose windows the
// library does not limit. They begin otherwise.
constexpr unsigned char kFrameStart = 0x28;
constexpr unsigned char kSkippedStart = 0x50;  // To 0x5f.

bool may_begin_frame(char byte) {
  const auto start = static_cast<unsigned char>(byte);
  return start == kFrameStart || (start & 0xf0u) == kSkippedStart;
}

Error error_of(std::size_t code) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
    return Error(ErrorCode::TooLarge,
                 "the body's zstd needs a window of more than " +
                     std::to_string(kZstdWindowBytesMax) +
                     " bytes; levels up to 19, without long distance matching, need no larger one");
  }
  return Error(ErrorCode::Corrupted,
               std::string("the body is not zstd: ") + ZSTD_getErrorName(code));
}

}  // namespace

void ZstdDecoder::End::operator()(ZSTD_DCtx_s* state) const {
  ZSTD_freeDCtx(state);
}

ZstdDecoder::ZstdDecoder() : state_(ZSTD_createDCtx()) {
  QUIRE_CHECK(state_ != nullptr, "memory for zstd's state");
  const std::size_t code =
      ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax, kZstdWindowLogMax);
  QUIRE_CHECK(ZSTD_isError(code) == 0, "zstd has windows of this size");
}

Result<void> ZstdDecoder::decode(std::string_view& input, std::string& out,
                                 std::size_t out_bytes_max) {
  while ((!input.empty() || has_more_) && out.size() < out_bytes_max) {
    if (whole_ && !may_begin_frame(input.front())) {
      return Error(ErrorCode::Corrupted,
                   std::string("the body is not zstd: ") +
                       (has_begun_ ? "bytes follow its end" : "no frame begins"));
    }
    has_begun_ = true;
    const std::size_t before = out.size();
    out.resize(out_bytes_max);
    // The first byte of a frame goes by itself. A whole frame at once would take a path of the library that checks
    // more than the others, so that the end would depend on the pieces in which the body comes.
    ZSTD_inBuffer from{input.data(), whole_ ? 1 : input.size(), 0};
    ZSTD_outBuffer to{out.data() + before, out_bytes_max - before, 0};
    const std::size_t code = ZSTD_decompressStream(state_.get(), &to, &from);
    out.resize(before + to.pos);
    input.remove_prefix(from.pos);
    if (ZSTD_isError(code) != 0) return error_of(code);
    whole_ = code == 0;
    has_more_ = !whole_ && to.pos == to.size;
  }
  return {};
}

}  // namespace quire::server
