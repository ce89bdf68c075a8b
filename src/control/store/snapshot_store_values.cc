// Values of tenants by key: rows of the index, each with a checksum of its own.
#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "control/store/byte_codec.h"
#include "control/store/checksum.h"
#include "control/store/snapshot_store.h"

namespace quire::store {
namespace {

constexpr std::size_t kShownKeyBytesMax = 64;

std::string quoted_key(const std::string& key) {
  const bool is_long = key.size() > kShownKeyBytesMax;
  return "\"" + printable(key.substr(0, kShownKeyBytesMax)) + (is_long ? "...\"" : "\"");
}

std::vector<std::byte> checksum_of(const ValueRow& row) {
  ByteWriter writer;
  writer.u64(row.version);
  writer.block(row.tenant);
  writer.block(row.key);
  writer.block(row.value);
  const Checksum sum = checksum(writer.bytes());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(sum));
  return {bytes.begin(), bytes.end()};
}

std::uint64_t bytes_of(const ValueRow& row) {
  return row.key.size() + row.value.size() + kValueRowBytes;
}

Result<void> check_key(const std::string& key) {
  if (key.empty()) return Error(ErrorCode::InvalidArgument, "a key of no bytes");
  if (key.size() <= kKeyBytesMax) return {};
  return Error(ErrorCode::TooLarge, "a key of " + std::to_string(key.size()) + " bytes; " +
                                        std::to_string(kKeyBytesMax) + " at most");
}

Error no_value(const std::string& key) {
  return Error(ErrorCode::NotFound, "no value under " + quoted_key(key));
}

}  // namespace

Result<std::optional<ValueRow>> SnapshotStore::expected_value(const std::string& tenant,
                                                              const std::string& key,
                                                              ExpectedVersion expected) {
  TRY(check_key(key));
  TRY(ready());
  std::optional<ValueRow> row = TRY(index_->find_value(tenant, key));
  if (expected.version == ExpectedVersion::kAny) return row;
  if (expected.version < ExpectedVersion::kAny) {
    return Error(ErrorCode::InvalidArgument, "version " + std::to_string(expected.version) +
                                                 "; -1 any, 0 none, else one that was given");
  }
  if (!row.has_value()) {
    if (expected.version == ExpectedVersion::kNone) return row;
    return no_value(key);
  }
  if (row->version == static_cast<std::uint64_t>(expected.version)) return row;
  return Error(ErrorCode::AlreadyExists, "under " + quoted_key(key) + " is version " +
                                             std::to_string(row->version) + ", not " +
                                             std::to_string(expected.version));
}

Result<void> SnapshotStore::check_value_quota(const std::string& tenant,
                                              const ValueUsage& after) const {
  const auto found = value_usage_.find(tenant);
  const ValueUsage before = found == value_usage_.end() ? ValueUsage{} : found->second;
  const auto refuse = [](const char* limit, std::uint64_t wanted, std::uint64_t bound) {
    return Error(ErrorCode::QuotaExceeded, std::string(limit) + ": the tenant's values would be " +
                                               std::to_string(wanted) + " of " +
                                               std::to_string(bound) + "; delete some");
  };
  // A change that makes a value smaller is never refused.
  if (after.count > options_.tenant_value_count_max && after.count > before.count) {
    return refuse("tenant_value_count_max", after.count, options_.tenant_value_count_max);
  }
  if (after.bytes > options_.tenant_value_bytes_max && after.bytes > before.bytes) {
    return refuse("tenant_value_bytes_max", after.bytes, options_.tenant_value_bytes_max);
  }
  return {};
}

Result<void> SnapshotStore::change_values(const std::function<Result<void>()>& change) {
  const auto whole = [&]() -> Result<void> {
    TRY(index_->begin());
    TRY(change());
    return index_->commit();
  };
  Result<void> changed = whole();
  if (!changed.ok()) index_->roll_back();
  return changed;
}

Result<std::uint64_t> SnapshotStore::put_value(const std::string& tenant, const std::string& key,
                                               std::string value, ExpectedVersion expected) {
  if (value.size() > kValueBytesMax) {
    return Error(ErrorCode::TooLarge, "a value of " + std::to_string(value.size()) + " bytes; " +
                                          std::to_string(kValueBytesMax) + " at most");
  }
  const std::optional<ValueRow> before = TRY(expected_value(tenant, key, expected));
  ValueRow row{.version = TRY(index_->next_value_version(tenant)),
               .tenant = tenant,
               .key = key,
               .value = std::move(value),
               .checksum = {}};
  row.checksum = checksum_of(row);
  ValueUsage after = value_usage_[tenant];
  if (before.has_value()) {
    --after.count;
    after.bytes -= bytes_of(*before);
  }
  ++after.count;
  after.bytes += bytes_of(row);
  TRY(check_value_quota(tenant, after));
  TRY(change_values([&] { return index_->put_value(row); }));
  value_usage_[tenant] = after;
  return row.version;
}

Result<StoredValue> SnapshotStore::get_value(const std::string& tenant, const std::string& key) {
  std::optional<ValueRow> row = TRY(expected_value(tenant, key, {}));
  if (!row.has_value()) return no_value(key);
  if (row->checksum != checksum_of(*row)) {
    return Error(ErrorCode::Corrupted,
                 "the value under " + quoted_key(key) + " is not what was put; put or delete it");
  }
  return StoredValue{.version = row->version, .bytes = std::move(row->value)};
}

Result<void> SnapshotStore::delete_value(const std::string& tenant, const std::string& key,
                                         ExpectedVersion expected) {
  const std::optional<ValueRow> row = TRY(expected_value(tenant, key, expected));
  if (!row.has_value()) return no_value(key);
  TRY(change_values([&] { return index_->delete_value(row->id); }));
  ValueUsage& usage = value_usage_[tenant];
  --usage.count;
  usage.bytes -= bytes_of(*row);
  if (usage.count == 0) value_usage_.erase(tenant);
  return {};
}

Result<KeyList> SnapshotStore::list_keys(const std::string& tenant, const std::string& prefix,
                                         const std::string& after, std::uint32_t count_max) {
  if (count_max == 0 || count_max > kListedKeyCountMax) {
    return Error(ErrorCode::OutOfRange, "a list of " + std::to_string(count_max) + " keys; 1 to " +
                                            std::to_string(kListedKeyCountMax));
  }
  TRY(ready());
  KeyList list;
  list.keys = TRY(index_->keys_of(tenant, prefix, after, count_max + 1));
  list.has_more = list.keys.size() > count_max;
  if (list.has_more) list.keys.pop_back();
  return list;
}

Result<void> SnapshotStore::check_values(std::vector<Damage>& damages) {
  return index_->each_value([&damages](const ValueRow& row) -> Result<void> {
    if (row.checksum != checksum_of(row)) {
      damages.push_back(
          {"value " + quoted_key(row.key) + " of tenant \"" + printable(row.tenant) + "\"",
           "its bytes are not what was put"});
    }
    return {};
  });
}

}  // namespace quire::store
