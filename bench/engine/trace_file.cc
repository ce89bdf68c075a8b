#include "bench/engine/trace_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

#include "base/file.h"
#include "base/json.h"

namespace quire {
namespace {

constexpr int kInflateOfGzip = 15 + 16;  // The largest window, and a gzip header.

Result<std::string> unpack(const std::string& path, const std::string& packed) {
  z_stream stream{};
  if (inflateInit2(&stream, kInflateOfGzip) != Z_OK) {
    return Error(ErrorCode::Internal, "zlib does not start");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 1 << 16> buffer;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer.data(), buffer.size() - stream.avail_out);
    if (text.size() > kTraceBytesMax) {
      return Error(ErrorCode::TooLarge, path + " unpacks to more than 256 MiB");
    }
  }
  if (status != Z_STREAM_END) {
    return Error(ErrorCode::Corrupted, path + " is no whole gzip file");
  }
  return text;
}

class JsonLines {
 public:
  explicit JsonLines(const std::string& path) : path_(path) {}

  Result<void> read_line(std::string_view line) {
    ++line_number_;
    if (line.empty()) return {};
    const Json json = TRY(parse_json(line, path_ + ": line " + std::to_string(line_number_)));
    if (!json.is_object()) return wrong("is not a JSON object");
    const auto time = json.find("timestamp");
    const auto ids = json.find("hash_ids");
    if (time == json.end() || !time->is_number_unsigned()) return wrong("has no timestamp in ms");
    if (ids == json.end() || !ids->is_array()) return wrong("has no list of hash_ids");
    control::TraceRequest request;
    request.time_ms = time->get<std::uint64_t>();
    for (const Json& id : *ids) {
      if (!id.is_number_unsigned()) return wrong("has a hash_id that is no whole number");
      request.blocks.push_back(name_of(id.get<std::uint64_t>()));
    }
    trace_.requests.push_back(std::move(request));
    return {};
  }
  control::Trace take() { return std::move(trace_); }

 private:
  Error wrong(const char* what) const {
    return Error(ErrorCode::InvalidArgument,
                 path_ + ": line " + std::to_string(line_number_) + " " + what);
  }
  std::uint32_t name_of(std::uint64_t id) {
    const auto [found, is_new] = names_.try_emplace(id, trace_.block_count);
    if (is_new) ++trace_.block_count;
    return found->second;
  }

  const std::string& path_;
  std::size_t line_number_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> names_;
  control::Trace trace_;
};

}  // namespace

Result<control::Trace> read_trace(const std::string& path) {
  std::string text = TRY(read_file(path, kTraceBytesMax));
  if (text.starts_with("\x1f\x8b")) text = TRY(unpack(path, text));
  if (!text.starts_with("{")) return control::parse_compact_trace(text);
  JsonLines lines(path);
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    TRY(lines.read_line(left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return lines.take();
}

}  // namespace quire
