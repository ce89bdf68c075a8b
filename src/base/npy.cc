#include "base/npy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace quire {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::uint64_t kHeaderBytesMax = 65536;
constexpr std::size_t kDimensionCountMax = 8;

struct TypeName {
  NpyType type;
  const char* name;
  std::string_view description;  // As the header spells it.
  std::uint64_t bytes;
};
constexpr TypeName kTypes[] = {
    {NpyType::Bool, "bool", "|b1", 1}, {NpyType::U8, "u8", "|u1", 1},
    {NpyType::I32, "i32", "<i4", 4},   {NpyType::I64, "i64", "<i8", 8},
    {NpyType::F32, "f32", "<f4", 4},   {NpyType::F64, "f64", "<f8", 8},
};

const TypeName& names_of(NpyType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

Error corrupted(const std::string& name, const std::string& what) {
  return Error(ErrorCode::Corrupted, name + ": " + what);
}

// Finds the value of 'key': in the header's Python dictionary. A tuple comes without its ')'.
std::optional<std::string_view> field(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = header.substr(at + key.size() + 3);
  while (value.starts_with(' ')) value.remove_prefix(1);
  const std::size_t end = value.starts_with('(') ? value.find(')') : value.find_first_of(",}");
  if (end == std::string_view::npos) return std::nullopt;
  return value.substr(0, end);
}

// "(64, 1024" to its numbers.
Result<std::vector<std::uint64_t>> parse_shape(std::string_view text, const std::string& name) {
  std::vector<std::uint64_t> shape;
  if (!text.starts_with('(')) return corrupted(name, "shape is not a tuple");
  bool in_number = false;
  for (const char each : text.substr(1)) {
    if (each >= '0' && each <= '9') {
      if (!in_number) shape.push_back(0);
      in_number = true;
      std::uint64_t& dimension = shape.back();
      if (__builtin_mul_overflow(dimension, std::uint64_t{10}, &dimension) ||
          __builtin_add_overflow(dimension, static_cast<std::uint64_t>(each - '0'), &dimension)) {
        return corrupted(name, "a dimension of its shape has more than 64 bits");
      }
    } else if (each == ',' || each == ' ') {
      in_number = false;
    } else {
      return corrupted(name, "shape holds something that is not a number");
    }
    if (shape.size() > kDimensionCountMax) {
      return corrupted(name, "more than " + std::to_string(kDimensionCountMax) + " dimensions");
    }
  }
  return shape;
}

Result<void> parse_header(std::string_view header, const std::string& name, NpyArray& array) {
  const auto description = field(header, "descr");
  const auto order = field(header, "fortran_order");
  const auto shape = field(header, "shape");
  if (!description || !order || !shape) {
    return corrupted(name, "the header lacks descr, fortran_order or shape");
  }
  bool known = false;
  for (const TypeName& type : kTypes) {
    if (*description == "'" + std::string(type.description) + "'") {
      array.type = type.type;
      known = true;
    }
  }
  if (!known) {
    return Error(ErrorCode::NotSupported, name + ": descr " +
                                              std::string(description->substr(0, 16)) +
                                              " is not read; |b1, |u1, <i4, <i8, <f4 and <f8 are");
  }
  array.shape = TRY(parse_shape(*shape, name));
  if (*order != "False" && array.shape.size() > 1) {
    return Error(ErrorCode::NotSupported, name + ": fortran_order is not read");
  }
  return {};
}

}  // namespace

const char* npy_type_name(NpyType type) {
  return names_of(type).name;
}

std::uint64_t NpyArray::count() const {
  return bytes.size() / names_of(type).bytes;
}

Result<NpyArray> parse_npy(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  constexpr std::size_t kPreludeBytes = 12;
  if (text.size() < kPreludeBytes || !text.starts_with(kMagic)) {
    return corrupted(name, "byte 0: no NPY file");
  }
  const bool has_short_length = text[6] == 1;
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, text.data() + 8, has_short_length ? 2 : 4);
  const std::size_t header_offset = has_short_length ? 10 : 12;
  if (header_bytes > kHeaderBytesMax || header_bytes > text.size() - header_offset) {
    return corrupted(name, "byte 8: a header of " + std::to_string(header_bytes) + " bytes in " +
                               std::to_string(text.size()));
  }
  NpyArray array;
  TRY(parse_header(text.substr(header_offset, header_bytes), name, array));
  std::uint64_t bytes = names_of(array.type).bytes;
  bool overflows = false;
  for (const std::uint64_t dimension : array.shape) {
    overflows |= __builtin_mul_overflow(bytes, dimension, &bytes);
  }
  const std::span<const std::byte> data = file.subspan(header_offset + header_bytes);
  if (overflows || bytes != data.size()) {
    return corrupted(
        name, std::to_string(data.size()) + " bytes of numbers, which is not what its shape takes");
  }
  array.bytes.assign(data.begin(), data.end());
  return array;
}

Result<NpyArray> read_npy(const std::string& path, std::uint64_t bytes_max) {
  const std::string file = TRY(read_file(path, bytes_max));
  return parse_npy(std::as_bytes(std::span(file)), path);
}

Result<NpyWriter> NpyWriter::create(const std::string& path,
                                    const std::vector<std::uint64_t>& shape) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  std::uint64_t count = 1;
  for (const std::uint64_t dimension : shape) {
    header += std::to_string(dimension) + (shape.size() == 1 ? "," : ", ");
    if (__builtin_mul_overflow(count, dimension, &count)) {
      return Error(ErrorCode::InvalidArgument, path + ": the shape has more than 2^64 numbers");
    }
  }
  if (shape.size() > 1) header.resize(header.size() - 2);
  header += "), }";
  constexpr std::size_t kPreludeBytes = 10;
  while ((kPreludeBytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string prelude(kMagic);
  prelude += '\x01';
  prelude += '\0';
  prelude += static_cast<char>(header.size() & 0xff);
  prelude += static_cast<char>(header.size() >> 8);
  const std::string part = path + ".part";
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return Error(ErrorCode::Io, "cannot create " + part + ": " + std::strerror(errno));
  }
  NpyWriter writer(descriptor, path, count);
  TRY(writer.write(std::as_bytes(std::span(prelude))));
  TRY(writer.write(std::as_bytes(std::span(header))));
  return writer;
}

NpyWriter::NpyWriter(NpyWriter&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      missing_count_(other.missing_count_) {}

NpyWriter::~NpyWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink((path_ + ".part").c_str());
}

Result<void> NpyWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return Error(ErrorCode::Io, "cannot write " + path_ + ".part: " + std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> NpyWriter::append(std::span<const float> numbers) {
  if (numbers.size() > missing_count_) {
    return Error(ErrorCode::InvalidArgument, path_ + ": " + std::to_string(numbers.size()) +
                                                 " numbers where the shape leaves room for " +
                                                 std::to_string(missing_count_));
  }
  TRY(write(std::as_bytes(numbers)));
  missing_count_ -= numbers.size();
  return {};
}

Result<void> NpyWriter::close() {
  if (missing_count_ != 0) {
    return Error(ErrorCode::InvalidArgument, path_ + ": " + std::to_string(missing_count_) +
                                                 " numbers of its shape are missing");
  }
  const std::string part = path_ + ".part";
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 || std::rename(part.c_str(), path_.c_str()) != 0) {
    Error error(ErrorCode::Io, "cannot finish " + path_ + ": " + std::strerror(errno));
    ::unlink(part.c_str());
    return error;
  }
  return {};
}

}  // namespace quire
