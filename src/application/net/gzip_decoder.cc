#include "application/net/gzip_decoder.h"

#include <algorithm>

#include "base/check.h"

namespace quire::net {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // The largest window, in a gzip wrapper.
constexpr std::size_t kPieceBytes = std::size_t{16}
                                    << 10;  // Of output, before the limit is looked at.

}  // namespace

GzipDecoder::GzipDecoder() : stream_(new z_stream{}) {
  QUIRE_CHECK(inflateInit2(stream_.get(), kGzipWindowBits) == Z_OK, "memory for zlib's state");
}

Result<void> GzipDecoder::decode(std::string_view& input, std::string& out,
                                 std::size_t out_bytes_max) {
  while ((!input.empty() || has_more_) && out.size() < out_bytes_max) {
    if (whole_) {  // The first member, or one more.
      QUIRE_CHECK(inflateReset(stream_.get()) == Z_OK, "the stream was made by inflateInit2");
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
      return Error(ErrorCode::Corrupted,
                   std::string("the body is not gzip: ") +
                       (stream_->msg == nullptr ? "wrong bytes" : stream_->msg));
    }
  }
  return {};
}

}  // namespace quire::net
