#pragma once
// ZlibDecoder decompresses a stream of gzip (RFC 1952) or zlib (RFC 1950) piece by piece. It gives
// no more at once than it is asked for. A few bytes therefore cannot take more memory than the
// caller allows.
//
// Owns     zlib's state, about 40 KiB.
// Thread   one owner at a time.
// Errors   Corrupted for bytes that are not in the format.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::net {

// Gzip: members, one after another. Zlib: one stream, after which nothing may come.
enum class ZlibFormat : std::uint8_t { Gzip, Zlib };

class ZlibDecoder {
 public:
  explicit ZlibDecoder(ZlibFormat format);

  // Takes bytes off the front of `input` and appends what they decode to, until `out` has
  // `out_bytes_max` bytes or the input is used up.
  Result<void> decode(std::string_view& input, std::string& out, std::size_t out_bytes_max);
  // Whether there may be more output without more input.
  bool has_more() const { return has_more_; }
  // Before the first byte, or after the end of the stream or of a member: the input may end here.
  bool whole() const { return whole_ && !has_more_; }

 private:
  struct End {
    void operator()(z_stream* stream) const {
      inflateEnd(stream);
      delete stream;
    }
  };
  Error wrong(const char* why) const;

  ZlibFormat format_;
  std::unique_ptr<z_stream, End> stream_;
  bool has_begun_ = false;
  bool whole_ = true;
  bool has_more_ = false;
};

}  // namespace quire::net
