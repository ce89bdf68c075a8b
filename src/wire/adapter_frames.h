#pragma once
// The frames about adapters, as plain values; frames.h has all others.
#include <cstdint>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "service/adapter.h"

namespace quire::wire {

using service::AdapterStatus;

// ---- Requests. A name is NAME, or MODEL:NAME for another than the first model.

inline constexpr std::uint32_t kAdapterFileCountMax = 4;
inline constexpr std::uint32_t kAdapterPathBytesMax = 1024;

// The server reads an adapter from below its folder of adapters.
struct AddAdapter {
  std::string name;
  std::string path;
  bool operator==(const AddAdapter&) const = default;
};

struct UploadedFile {
  std::string name;
  std::uint64_t bytes = 0;
  bool operator==(const UploadedFile&) const = default;
};

// The next part of an adapter: its files, one after the other, are one sequence of bytes. Parts
// come in order, one upload at a time, and each names all files.
struct UploadAdapter {
  std::string name;
  std::vector<UploadedFile> files;
  Digest digest{};           // SHA-256 of the sequence.
  std::uint64_t offset = 0;  // Of this part in it.
  std::string bytes;
  bool operator==(const UploadAdapter&) const = default;
};
std::uint64_t total_bytes(const std::vector<UploadedFile>& files);

struct RemoveAdapter {
  std::string name;
  bool operator==(const RemoveAdapter&) const = default;
};

struct ListAdapters {
  bool operator==(const ListAdapters&) const = default;
};

// ---- Replies.

// The reply to add_adapter, and to the last part of an upload.
struct AdapterReply {
  AdapterStatus adapter;
  bool operator==(const AdapterReply&) const = default;
};

inline constexpr std::uint32_t kListedAdapterCountMax = 200;

// The reply to list_adapters: what the caller's tenant may use, by model and name.
struct AdapterList {
  std::vector<AdapterStatus> adapters;  // The first of them,
  std::uint64_t left_out_count = 0;     // and how many more there are.
  bool operator==(const AdapterList&) const = default;
};

}  // namespace quire::wire
