#include "simulation/trace.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace quire::simulation {
namespace {

constexpr std::size_t kPrintedBytesMax = 24;
constexpr std::uint64_t kFactor = 0x100000001b3u;

}  // namespace

// Words of eight bytes at a time, as FNV-1a does bytes, with a turn so that high bits count.
void Trace::add(std::uint64_t value) {
  hash_ = (hash_ ^ value) * kFactor;
  hash_ ^= hash_ >> 29;
}

void Trace::add(std::string_view bytes) {
  add(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    add(word);
  }
}

void Trace::note(const Who& who, std::string_view what, std::int64_t value,
                 std::string_view bytes) {
  ++event_count_;
  add(clock_.now_ns());
  add(std::string_view(who.kind));
  add(who.number);
  add(what);
  add(static_cast<std::uint64_t>(value));
  add(bytes);
  if (output_ != nullptr) print(who, what, value, bytes);
}

// Time in microseconds, who, what, value, the beginning of the bytes and how many there are.
void Trace::print(const Who& who, std::string_view what, std::int64_t value,
                  std::string_view bytes) {
  std::fprintf(output_, "%6llu %12.3f %s %llu %.*s %lld",
               static_cast<unsigned long long>(event_count_),
               static_cast<double>(clock_.now_ns()) / 1e3, who.kind,
               static_cast<unsigned long long>(who.number), static_cast<int>(what.size()),
               what.data(), static_cast<long long>(value));
  if (!bytes.empty()) {
    std::fprintf(output_, " [%zu] ", bytes.size());
    for (const char byte : bytes.substr(0, kPrintedBytesMax)) {
      const auto each = static_cast<unsigned char>(byte);
      if (std::isprint(each) != 0) {
        std::fputc(each, output_);
      } else {
        std::fprintf(output_, "\\%02x", each);
      }
    }
  }
  std::fputc('\n', output_);
}

}  // namespace quire::simulation
