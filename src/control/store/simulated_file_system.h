#pragma once
// SimulatedFileSystem: a disk in memory that keeps written bytes apart from those that would
// survive a crash.
//
// A write, a change of length, a new or removed entry is visible at once and durable only after the
// sync that POSIX asks for. `crash_at` stops the machine at a chosen system call; restart() then
// decides, by seed, what the disk has of everything unsynced: nothing, everything, or a part, torn
// at sectors of 512 bytes. Entries of a folder become durable in the order in which they changed.
// A failed fdatasync loses what it should have written, and the next one says nothing about it.
//
// Thread   one.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "control/store/file_system.h"

namespace quire::store {

enum class CallKind : std::uint8_t {
  Open,
  Read,
  Write,
  Sync,
  Truncate,
  Measure,
  Lock,
  Rename,
  Unlink,
  CreateFolder,
  SyncFolder,
  List,
};

struct SimulatedCall {
  std::uint64_t number = 0;  // From 1, counted over the life of the disk.
  CallKind kind = CallKind::Open;
  std::string path;
};

struct SimulatedFault {
  int error_number = 0;  // Zero: none.
  bool is_short =
      false;  // A transfer moves half of its bytes (at least one), then the error, if any.
};

enum class CrashKeep : std::uint8_t { Nothing, Everything, Part };  // Of what was not synced.

class SimulatedFileSystem final : public FileSystem {
 public:
  // The content of a stopped disk: path to bytes.
  using Image = std::map<std::string, std::vector<std::byte>>;

  SimulatedFileSystem() = default;
  explicit SimulatedFileSystem(const Image& image);

  Image visible() const;

  // Asked before each call but close; may do anything but call the file system.
  std::function<SimulatedFault(const SimulatedCall&)> inject;
  // The call with this number is under way when the machine stops; it and all later ones fail.
  std::optional<std::uint64_t> crash_at;
  bool crashed() const { return crashed_; }
  void crash() { crashed_ = true; }
  std::uint64_t call_count() const { return call_count_; }
  // The size of the disk. A write that would make files larger in all fails with ENOSPC.
  std::uint64_t bytes_max = std::uint64_t{1} << 60;

  // Starts the machine again: open files and locks are gone. Requires: its users from before the
  // crash use it no more.
  void restart(CrashKeep keep, std::uint64_t seed);

  CallResult open(const std::string& path, OpenMode mode) override;
  void close(Descriptor descriptor) override;
  CallResult pread(Descriptor descriptor, std::span<std::byte> into, std::uint64_t offset) override;
  CallResult pwrite(Descriptor descriptor, std::span<const std::byte> bytes,
                    std::uint64_t offset) override;
  CallResult fdatasync(Descriptor descriptor) override;
  CallResult ftruncate(Descriptor descriptor, std::uint64_t bytes) override;
  CallResult file_bytes(Descriptor descriptor) override;
  CallResult try_lock(Descriptor descriptor) override;
  CallResult rename(const std::string& from, const std::string& to) override;
  CallResult unlink(const std::string& path) override;
  CallResult create_folder(const std::string& path) override;
  CallResult fsync_folder(const std::string& path) override;
  CallResult list_folder(const std::string& path, std::vector<std::string>& names) override;
  // No call that can fail or that counts.
  CallResult disk_space(const std::string& folder, DiskSpace& space) override;

 private:
  // A write (its bytes) or a new length of a file, not synced yet.
  struct Change {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
    std::optional<std::uint64_t> length;
  };
  struct File {
    std::vector<std::byte> visible;
    std::vector<std::byte> durable;
    std::vector<Change> changes;
    bool is_locked = false;
  };
  using FilePointer = std::shared_ptr<File>;
  using Entries = std::map<std::string, FilePointer>;
  // One step of a folder: these paths change together; null removes.
  using EntryChange = std::vector<std::pair<std::string, FilePointer>>;
  struct OpenFile {
    FilePointer file;
    std::string path;
    bool is_writable = false;
    bool has_lock = false;
  };

  // The fault of this call; crashing comes out as EIO with `in_flight` set.
  SimulatedFault begin(CallKind kind, const std::string& path, bool* in_flight = nullptr);
  OpenFile& opened(Descriptor descriptor);
  std::uint64_t used_bytes() const;
  void change_entries(EntryChange change);
  static void apply(const Change& change, std::vector<std::byte>& bytes);
  static void survive(File& file, CrashKeep keep, SeededRandom& random);

  Entries visible_;
  Entries durable_;
  std::vector<EntryChange> entry_changes_;
  std::map<int, OpenFile> open_files_;
  int next_descriptor_ = 3;
  std::uint64_t call_count_ = 0;
  bool crashed_ = false;
};

}  // namespace quire::store
