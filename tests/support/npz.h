#pragma once
// Reads numpy's .npz (a zip file of .npy arrays, stored or deflated) for tests.
#include <zlib.h>

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/npy.h"
#include "base/result.h"

namespace quire::test {

using NpzArrays = std::map<std::string, NpyArray>;

namespace npz_detail {

template <typename T>
T at(const std::string& file, std::size_t offset) {
  T value{};
  if (offset + sizeof(T) <= file.size()) std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

inline Result<std::string> inflate_raw(std::string_view packed, std::size_t bytes) {
  std::string unpacked(bytes, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
  stream.avail_out = static_cast<uInt>(unpacked.size());
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Error(ErrorCode::Internal, "zlib");
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.avail_out != 0) {
    return Error(ErrorCode::Corrupted, "a deflated member has another size than it says");
  }
  return unpacked;
}

}  // namespace npz_detail

inline Result<NpzArrays> read_npz(const std::string& path) {
  using npz_detail::at;
  constexpr std::uint64_t kBytesMax = 1 << 28;
  const std::string file = TRY(read_file(path, kBytesMax));
  const Error broken(ErrorCode::Corrupted, path + ": no zip directory where one was expected");
  constexpr std::size_t kEndBytes = 22;
  if (file.size() < kEndBytes) return broken.copy();
  const std::size_t end = file.size() - kEndBytes;  // numpy writes no comment after it.
  if (at<std::uint32_t>(file, end) != 0x06054b50) return broken.copy();
  std::size_t entry = at<std::uint32_t>(file, end + 16);
  NpzArrays arrays;
  for (int count = at<std::uint16_t>(file, end + 10); count > 0; --count) {
    if (at<std::uint32_t>(file, entry) != 0x02014b50) return broken.copy();
    const auto method = at<std::uint16_t>(file, entry + 10);
    const auto packed_bytes = at<std::uint32_t>(file, entry + 20);
    const auto bytes = at<std::uint32_t>(file, entry + 24);
    const auto name_bytes = at<std::uint16_t>(file, entry + 28);
    const std::string name = file.substr(entry + 46, name_bytes);
    const std::size_t local = at<std::uint32_t>(file, entry + 42);
    const std::size_t data =
        local + 30 + at<std::uint16_t>(file, local + 26) + at<std::uint16_t>(file, local + 28);
    if (data > file.size() || packed_bytes > file.size() - data || bytes > kBytesMax) {
      return broken.copy();
    }
    const std::string_view packed = std::string_view(file).substr(data, packed_bytes);
    const std::string member =
        method == 0 ? std::string(packed) : TRY(npz_detail::inflate_raw(packed, bytes));
    arrays[name.substr(0, name.rfind(".npy"))] =
        TRY(parse_npy(std::as_bytes(std::span(member)), path + ":" + name));
    entry +=
        46 + name_bytes + at<std::uint16_t>(file, entry + 30) + at<std::uint16_t>(file, entry + 32);
  }
  return arrays;
}

}  // namespace quire::test
