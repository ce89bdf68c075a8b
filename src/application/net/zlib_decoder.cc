#include "application/net/zlib_decoder.h"

#include <algorithm>

#include "base/check.h"

namespace quire::net {
namespace {

constexpr int kWindowBits = 15;  // The largest window,
constexpr char kGzipStart = 0x1f;
constexpr int kGzipWindowBits = 16;  // and what zlib adds to it for the wrapper of gzip.
constexpr std::size_t kPieceBytes = std::size_t{16}
                                    << 10;  // Of output, before the limit is looked at.

}  // namespace

ZlibDecoder::ZlibDecoder(ZlibFormat format) : format_(format), stream_(new z_stream{}) {
  const int bits = kWindowBits + (format == ZlibFormat::Gzip ? kGzipWindowBits : 0);
  QUIRE_CHECK(inflateInit2(stream_.get(), bits) == Z_OK, "memory for zlib's state");
}

Error ZlibDecoder::wrong(const char* why) const {
  const char* what = format_ == ZlibFormat::Gzip ? "gzip" : "zlib (RFC 1950)";
  return Error(ErrorCode::Corrupted, std::string("the body is not ") + what + ": " + why);
}

Result<void> ZlibDecoder::decode(std::string_view& input, std::string& out,
                                 std::size_t out_bytes_max) {
  while ((!input.empty() || has_more_) && out.size() < out_bytes_max) {
    if (whole_) {  // The first stream, or one more member.
      const bool may_begin = format_ == ZlibFormat::Gzip && input.front() == kGzipStart;
      if (has_begun_ && !may_begin) return wrong("bytes follow its end");
      QUIRE_CHECK(inflateReset(stream_.get()) == Z_OK, "the stream was made by inflateInit2");
      has_begun_ = true;
      whole_ = false;
    }
    const std::size_t before = out.size();
    const std::size_t room = std::min(kPieceBytes, out_bytes_max - before);
    out.resize(before + room);
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_->avail_in = static_cast<uInt>(std::min<std::size_t>(input.size(), UINT32_MAX));
    stream_->next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream_->avail_out = static_cast<uInt>(room);
    const uInt given = stream_->avail_in;
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    out.resize(before + room - stream_->avail_out);
    input.remove_prefix(given - stream_->avail_in);
    const bool is_stuck = code == Z_BUF_ERROR && given > 0;
    has_more_ = code == Z_OK && stream_->avail_out == 0;
    if (code == Z_STREAM_END) {
      whole_ = true;
    } else if (is_stuck || (code != Z_OK && code != Z_BUF_ERROR)) {
      return wrong(stream_->msg == nullptr ? "wrong bytes" : stream_->msg);
    }
  }
  return {};
}

}  // namespace quire::net
