#pragma once
// AdapterCatalog: the adapters that a server has, by name and by digest.
//
// A name is of one tenant and one model, or of the server, whose adapters all tenants may use.
// Where a tenant and the server have one name, the tenant's is meant.
//
// An adapter whose name was removed is used no more by what begins after that; what it was in force
// for goes on, and its memory is free when the last of these is gone.
//
// Thread   any. add() and bytes_of() wait for the disk: not on the engine thread.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "control/api/adapter_runs.h"
#include "control/api/types.h"

namespace quire::inference {
class Adapter;
}

namespace quire::control {

inline constexpr std::size_t kAdapterNameBytesMax = 64;

// 1 to 64 letters, digits, dots, dashes and underscores, so that "BASE:NAME" and lists of names are
// clear. InvalidArgument.
Result<void> check_adapter_name(std::string_view name);

// The words by which a client or a program names an adapter: NAME, or MODEL:NAME.
struct CalledAdapter {
  std::optional<std::string> model;
  std::string name;
};
CalledAdapter called_adapter(const std::string& text);

struct AdapterChoice {
  std::string name;
  float scale = 1.0f;
};

struct AdapterDescription {
  std::string name;
  std::optional<TenantId> tenant;  // Empty: the server's.
  ModelIndex model{};
  Digest digest{};
  std::uint32_t rank_max = 0;
  std::uint64_t parameter_count = 0;
  std::uint64_t bytes = 0;  // Of memory.
  std::string source;       // Where it was read from: a path, or "upload".
  bool is_in_use = false;   // By contexts, or by what waits.
};

// The count and the memory of adapters, including those that were removed and are still in use.
struct AdapterCount {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// The limits of one tenant's adapters. A member without a value has no limit.
struct AdapterQuota {
  std::optional<std::uint32_t> count_max{};
  std::optional<std::uint64_t> bytes_max{};
  std::optional<std::uint32_t> rank_max{};
  bool operator==(const AdapterQuota&) const = default;
};

// Files on the server's disk: a folder in PEFT's form, or a GGUF file.
struct AdapterPath {
  std::string path;
  std::string beneath;  // Not empty: `path` is relative to it, and must not leave it.
};
// Files that a client sent.
struct AdapterUpload {
  struct File {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<File> files;
};

class AdapterCatalog {
 public:
  virtual ~AdapterCatalog() = default;
  // Whether more than one tenant is known. Without a call, there are several.
  virtual void set_several(bool are_several) = 0;
  // Whether the model can have adapters at all.
  virtual bool is_open(ModelIndex model) const = 0;
  // The set of these adapters; null where none acts. NotFound, with the names that there are;
  // InvalidArgument for one adapter twice, or a scale that is not finite; TooLarge for too many.
  virtual Result<ChosenAdaptersRef> choose(TenantId tenant, ModelIndex model,
                                           const std::vector<AdapterChoice>& choices) const = 0;
  // The adapter with the digest, one of those that `tenant` may use; null: there is none. A
  // snapshot that is opened knows nothing else of its adapters.
  virtual std::shared_ptr<const inference::Adapter> find(TenantId tenant, ModelIndex model,
                                                         const Digest& digest) const = 0;
  // The adapters that the tenant may use, by name, each name once. Without a tenant: the server's
  // alone.
  virtual std::vector<AdapterDescription> list(std::optional<TenantId> tenant,
                                               ModelIndex model) const = 0;
  // AlreadyExists where another adapter has the name; the same one again changes nothing.
  // QuotaExceeded; and the errors of inference/api/adapter_reader.h. Nothing is loaded after one.
  virtual Result<AdapterDescription> add(std::optional<TenantId> tenant, ModelIndex model,
                                         const std::string& name, const AdapterPath& path) = 0;
  virtual Result<AdapterDescription> add(std::optional<TenantId> tenant, ModelIndex model,
                                         const std::string& name, AdapterUpload upload) = 0;
  // The bytes of the file from which add() would read the matrices; its errors.
  virtual Result<std::uint64_t> bytes_of(ModelIndex model, const AdapterPath& path) const = 0;
  // QuotaExceeded if add() would refuse an adapter of so many bytes for what the tenant has now.
  virtual Result<void> check_room(std::optional<TenantId> tenant, const std::string& name,
                                  std::uint64_t bytes) = 0;
  // NotFound, with the names that the tenant can remove.
  virtual Result<void> remove(std::optional<TenantId> tenant, ModelIndex model,
                              const std::string& name) = 0;
  // The adapters of all tenants and the server, and those of one tenant.
  virtual AdapterCount count() const = 0;
  virtual AdapterCount count_of(TenantId tenant) const = 0;
  // The limits that the operator gave the tenant.
  virtual AdapterQuota quota_of(TenantId tenant) const = 0;
};

}  // namespace quire::control
