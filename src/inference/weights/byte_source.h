#pragma once
// ByteSource: the bytes of a model file, wherever they lie, so that the parsers read a file on disk
// and a fuzzer's buffer alike.
//
// Thread   any; a source does not change while it exists.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace quire::inference {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& name() const = 0;  // For messages: a path.
  virtual std::uint64_t bytes() const = 0;
  // Fills all of `into` from `offset`, or says why not.
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(File file) : file_(std::move(file)) {}
  const std::string& name() const override { return file_.path(); }
  std::uint64_t bytes() const override { return file_.bytes(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    return file_.read(offset, into);
  }

 private:
  File file_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<std::byte> content)
      : name_(std::move(name)), content_(std::move(content)) {}
  const std::string& name() const override { return name_; }
  std::uint64_t bytes() const override { return content_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::string name_;
  std::vector<std::byte> content_;
};

}  // namespace quire::inference
