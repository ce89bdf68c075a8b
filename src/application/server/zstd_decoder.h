#pragma once
// ZstdDecoder decompresses a stream of Zstandard frames (RFC 8878) piece by piece, never more at once than it is
// asked for. It has the calls of net::ZlibDecoder.
//
// Owns     zstd's state: about 160 KiB, and from the head of a frame on a window of at most kZstdWindowBytesMax, of
//          which the decoder touches as much as it has decoded.
// Thread   one owner at a time.
// Errors   Corrupted for bytes that are not zstd, TooLarge for a frame that needs a larger window.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct ZSTD_DCtx_s;

namespace quire::server {

inline constexpr int kZstdWindowLogMax = 23;  // As RFC 9659 has it for a Content-Encoding.
inline constexpr std::size_t kZstdWindowBytesMax = std::size_t{1} << kZstdWindowLogMax;

class ZstdDecoder {
 public:
  ZstdDecoder();

  // Takes bytes off the front of `input` and appends what they decode to, until `out` has
  // `out_bytes_max` bytes or the input is used up.
  Result<void> decode(std::string_view& input, std::string& out, std::size_t out_bytes_max);
  // Whether there may be more output without more input.
  bool has_more() const { return has_more_; }
  // Before the first byte or after the end of a frame: the input may end here.
  bool whole() const { return whole_; }

 private:
  struct End {
    void operator()(ZSTD_DCtx_s* state) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, End> state_;
  bool has_begun_ = false;
  bool whole_ = true;
  bool has_more_ = false;
};

}  // namespace quire::server
