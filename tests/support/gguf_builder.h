#pragma once
// Writes GGUF files for tests, well-formed or not, and remembers where each field lies so that a
// test can break them one by one.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "inference/weights/gguf_file.h"

namespace quire::test {

inline std::vector<std::byte> to_bytes(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

class GgufBuilder {
 public:
  struct Field {
    std::string name;
    std::size_t offset;
    std::size_t bytes;
  };

  std::uint32_t version = 3;
  std::uint64_t alignment = 32;

  void add_u32(const std::string& key, std::uint32_t value) {
    add_scalar(key, inference::GgufType::U32, value);
  }
  void add_f32(const std::string& key, float value) {
    add_scalar(key, inference::GgufType::F32, value);
  }
  void add_bool(const std::string& key, bool value) {
    add_scalar(key, inference::GgufType::Bool, static_cast<std::uint8_t>(value));
  }
  template <typename T>
  void add_scalar(const std::string& key, inference::GgufType type, T value) {
    begin_pair(key, type);
    put(pairs_, key + " value", value);
  }
  void add_text(const std::string& key, const std::string& value) {
    begin_pair(key, inference::GgufType::Text);
    put_text(pairs_, key + " value", value);
  }
  void add_texts(const std::string& key, const std::vector<std::string>& values) {
    begin_array(key, inference::GgufType::Text, values.size());
    for (const std::string& each : values) put_text(pairs_, key + " element", each);
  }
  template <typename T>
  void add_numbers(const std::string& key, inference::GgufType type, const std::vector<T>& values) {
    begin_array(key, type, values.size());
    for (const T& each : values) put(pairs_, key + " element", each);
  }

  // Dimensions fastest first; `type` is GGML's id.
  void add_tensor(const std::string& name, const std::vector<std::uint64_t>& dimensions,
                  std::uint32_t type, std::string_view bytes) {
    tensors_.push_back({name, dimensions, type, std::string(bytes)});
    put_text(directory_, name + " name", name);
    put(directory_, name + " dimension count", static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t each : dimensions) put(directory_, name + " dimension", each);
    put(directory_, name + " type", type);
    put(directory_, name + " offset", static_cast<std::uint64_t>(data_.size()));
    data_ += bytes;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
  }

  // As gguf-split does: the metadata goes into the first shard, and the next tensor_counts[i]
  // tensors into shard i. add_split_keys() is left to the caller.
  std::vector<GgufBuilder> split(const std::vector<std::size_t>& tensor_counts) const {
    std::vector<GgufBuilder> shards(tensor_counts.size());
    shards[0].pairs_ = pairs_;
    shards[0].pair_count_ = pair_count_;
    auto next = tensors_.begin();
    for (std::size_t index = 0; index < shards.size(); ++index) {
      shards[index].alignment = index == 0 ? alignment : 32;
      for (std::size_t count = 0; count < tensor_counts[index]; ++count, ++next) {
        shards[index].add_tensor(next->name, next->dimensions, next->type, next->bytes);
      }
    }
    return shards;
  }
  // With the types that gguf-split writes.
  void add_split_keys(std::uint16_t index, std::uint16_t count, std::int32_t all_tensor_count) {
    add_scalar("split.no", inference::GgufType::U16, index);
    add_scalar("split.count", inference::GgufType::U16, count);
    add_scalar("split.tensors.count", inference::GgufType::I32, all_tensor_count);
  }
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dimensions;
    std::uint32_t type;
    std::string bytes;
  };
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::size_t tensor_count() const { return tensors_.size(); }

  std::string build() {
    Section head;
    put(head, "magic", std::uint32_t{0x46554747});
    put(head, "version", version);
    put(head, "tensor count", static_cast<std::uint64_t>(tensors_.size()));
    put(head, "metadata count", pair_count_);
    fields_ = head.fields;
    append(head.bytes, pairs_);
    append(head.bytes, directory_);
    head.bytes.resize((head.bytes.size() + alignment - 1) / alignment * alignment, '\0');
    return head.bytes + data_;
  }
  const std::vector<Field>& fields() const { return fields_; }  // After build().

 private:
  struct Section {
    std::string bytes;
    std::vector<Field> fields;
  };
  template <typename T>
  static void put(Section& section, const std::string& name, T value) {
    section.fields.push_back({name, section.bytes.size(), sizeof(T)});
    section.bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  static void put_text(Section& section, const std::string& name, const std::string& text) {
    put(section, name + " length", static_cast<std::uint64_t>(text.size()));
    section.bytes += text;
  }
  void begin_pair(const std::string& key, inference::GgufType type) {
    put_text(pairs_, key, key);
    put(pairs_, key + " type", static_cast<std::uint32_t>(type));
    ++pair_count_;
  }
  void begin_array(const std::string& key, inference::GgufType type, std::uint64_t count) {
    begin_pair(key, inference::GgufType::Array);
    put(pairs_, key + " element type", static_cast<std::uint32_t>(type));
    put(pairs_, key + " element count", count);
  }
  void append(std::string& bytes, const Section& section) {
    for (const Field& field : section.fields) {
      fields_.push_back({field.name, bytes.size() + field.offset, field.bytes});
    }
    bytes += section.bytes;
  }

  Section pairs_;
  Section directory_;
  std::string data_;
  std::vector<Tensor> tensors_;
  std::uint64_t pair_count_ = 0;
  std::vector<Field> fields_;
};

}  // namespace quire::test
