#include "control/store/simulated_file_system.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "control/store/store_file.h"

namespace quire::store {
namespace {

constexpr std::uint64_t kTornSectorBytes = 512;
constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;

}  // namespace

SimulatedFileSystem::SimulatedFileSystem(const Image& image) {
  for (const auto& [path, bytes] : image) {
    visible_[path] = std::make_shared<File>(File{bytes, bytes, {}, false});
  }
  durable_ = visible_;
}

SimulatedFileSystem::Image SimulatedFileSystem::visible() const {
  Image image;
  for (const auto& [path, file] : visible_) image[path] = file->visible;
  return image;
}

SimulatedFault SimulatedFileSystem::begin(CallKind kind, const std::string& path, bool* in_flight) {
  if (in_flight != nullptr) *in_flight = false;
  if (crashed_) return {.error_number = EIO};
  ++call_count_;
  if (crash_at.has_value() && call_count_ >= *crash_at) {
    crashed_ = true;
    if (in_flight != nullptr) *in_flight = true;
    return {.error_number = EIO};
  }
  return inject ? inject({call_count_, kind, path}) : SimulatedFault{};
}

SimulatedFileSystem::OpenFile& SimulatedFileSystem::opened(Descriptor descriptor) {
  const auto found = open_files_.find(static_cast<int>(descriptor));
  QUIRE_CHECK(found != open_files_.end(), "only what is open is used");
  return found->second;
}

void SimulatedFileSystem::apply(const Change& change, std::vector<std::byte>& bytes) {
  if (change.length.has_value()) {
    bytes.resize(*change.length);
    return;
  }
  const std::uint64_t end = change.offset + change.bytes.size();
  if (bytes.size() < end) bytes.resize(end);
  std::copy(change.bytes.begin(), change.bytes.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

void SimulatedFileSystem::survive(File& file, CrashKeep keep, SeededRandom& random) {
  for (const Change& change : file.changes) {
    if (keep == CrashKeep::Nothing) break;
    if (keep == CrashKeep::Everything || change.length.has_value()) {
      if (keep == CrashKeep::Everything || random.next() % 2 == 0) apply(change, file.durable);
      continue;
    }
    std::uint64_t begin = 0;
    while (begin < change.bytes.size()) {
      const std::uint64_t left_in_sector =
          kTornSectorBytes - (change.offset + begin) % kTornSectorBytes;
      const std::uint64_t end =
          std::min<std::uint64_t>(change.bytes.size(), begin + left_in_sector);
      if (random.next() % 2 == 0) {
        const auto first = change.bytes.begin();
        apply({.offset = change.offset + begin,
               .bytes = {first + static_cast<std::ptrdiff_t>(begin),
                         first + static_cast<std::ptrdiff_t>(end)},
               .length = std::nullopt},
              file.durable);
      }
      begin = end;
    }
  }
  file.changes.clear();
  file.visible = file.durable;
  file.is_locked = false;
}

void SimulatedFileSystem::restart(CrashKeep keep, std::uint64_t seed) {
  SeededRandom random(seed);
  std::uint64_t kept_count = keep == CrashKeep::Everything ? entry_changes_.size() : 0;
  if (keep == CrashKeep::Part) kept_count = random.next() % (entry_changes_.size() + 1);
  for (std::uint64_t index = 0; index < kept_count; ++index) {
    for (const auto& [path, file] : entry_changes_[index]) {
      if (file == nullptr) {
        durable_.erase(path);
      } else {
        durable_[path] = file;
      }
    }
  }
  entry_changes_.clear();
  for (const auto& [path, file] : durable_) survive(*file, keep, random);
  visible_ = durable_;
  open_files_.clear();
  crash_at.reset();
  crashed_ = false;
}

CallResult SimulatedFileSystem::open(const std::string& path, OpenMode mode) {
  bool in_flight = false;
  const SimulatedFault fault = begin(CallKind::Open, path, &in_flight);
  if (fault.error_number != 0 && !in_flight) return {-1, fault.error_number};
  auto found = visible_.find(path);
  if (found == visible_.end()) {
    if (mode != OpenMode::CreateOrOpen) return {-1, ENOENT};
    change_entries({{path, std::make_shared<File>()}});
    found = visible_.find(path);
  }
  if (in_flight) return {-1, EIO};
  const int descriptor = next_descriptor_++;
  open_files_[descriptor] = {found->second, path, mode != OpenMode::Read, false};
  return {.value = descriptor};
}

void SimulatedFileSystem::close(Descriptor descriptor) {
  const auto found = open_files_.find(static_cast<int>(descriptor));
  if (found == open_files_.end()) return;  // The machine was started again since.
  if (found->second.has_lock) found->second.file->is_locked = false;
  open_files_.erase(found);
}

CallResult SimulatedFileSystem::pread(Descriptor descriptor, std::span<std::byte> into,
                                      std::uint64_t offset) {
  if (crashed_) return {-1, EIO};
  const OpenFile& open = opened(descriptor);
  const SimulatedFault fault = begin(CallKind::Read, open.path);
  if (fault.error_number != 0) return {-1, fault.error_number};
  const std::vector<std::byte>& bytes = open.file->visible;
  if (offset >= bytes.size()) return {.value = 0};
  std::uint64_t count = std::min<std::uint64_t>(into.size(), bytes.size() - offset);
  if (fault.is_short) count = std::max<std::uint64_t>(1, count / 2);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
  return {.value = static_cast<std::int64_t>(count)};
}

CallResult SimulatedFileSystem::pwrite(Descriptor descriptor, std::span<const std::byte> bytes,
                                       std::uint64_t offset) {
  if (crashed_) return {-1, EIO};
  OpenFile& open = opened(descriptor);
  if (!open.is_writable) return {-1, EBADF};
  if (offset + bytes.size() > kFileBytesMax) return {-1, EFBIG};
  const std::uint64_t visible_bytes = open.file->visible.size();
  const std::uint64_t end = offset + bytes.size();
  if (end > visible_bytes && used_bytes() + (end - visible_bytes) > bytes_max) return {-1, ENOSPC};
  bool in_flight = false;
  const SimulatedFault fault = begin(CallKind::Write, open.path, &in_flight);
  if (fault.error_number != 0 && !fault.is_short && !in_flight) return {-1, fault.error_number};
  const std::size_t count =
      fault.is_short ? std::max<std::size_t>(1, bytes.size() / 2) : bytes.size();
  Change change{offset, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)}, {}};
  apply(change, open.file->visible);
  open.file->changes.push_back(std::move(change));
  if (fault.error_number != 0) return {-1, fault.error_number};
  return {.value = static_cast<std::int64_t>(count)};
}

CallResult SimulatedFileSystem::fdatasync(Descriptor descriptor) {
  if (crashed_) return {-1, EIO};
  File& file = *opened(descriptor).file;
  bool in_flight = false;
  const SimulatedFault fault = begin(CallKind::Sync, opened(descriptor).path, &in_flight);
  if (in_flight) return {-1, EIO};
  if (fault.error_number == 0) {
    for (const Change& change : file.changes) apply(change, file.durable);
  }
  file.changes.clear();  // Written, or lost for good.
  return fault.error_number == 0 ? CallResult{} : CallResult{-1, fault.error_number};
}

CallResult SimulatedFileSystem::ftruncate(Descriptor descriptor, std::uint64_t bytes) {
  if (crashed_) return {-1, EIO};
  OpenFile& open = opened(descriptor);
  if (!open.is_writable) return {-1, EBADF};
  if (bytes > kFileBytesMax) return {-1, EFBIG};
  bool in_flight = false;
  const SimulatedFault fault = begin(CallKind::Truncate, open.path, &in_flight);
  if (fault.error_number != 0 && !in_flight) return {-1, fault.error_number};
  Change change{.offset = 0, .bytes = {}, .length = bytes};
  apply(change, open.file->visible);
  open.file->changes.push_back(std::move(change));
  return in_flight ? CallResult{-1, EIO} : CallResult{};
}

CallResult SimulatedFileSystem::file_bytes(Descriptor descriptor) {
  if (crashed_) return {-1, EIO};
  const OpenFile& open = opened(descriptor);
  const SimulatedFault fault = begin(CallKind::Measure, open.path);
  if (fault.error_number != 0) return {-1, fault.error_number};
  return {.value = static_cast<std::int64_t>(open.file->visible.size())};
}

CallResult SimulatedFileSystem::try_lock(Descriptor descriptor) {
  if (crashed_) return {-1, EIO};
  OpenFile& open = opened(descriptor);
  const SimulatedFault fault = begin(CallKind::Lock, open.path);
  if (fault.error_number != 0) return {-1, fault.error_number};
  if (open.file->is_locked && !open.has_lock) return {-1, EWOULDBLOCK};
  open.file->is_locked = open.has_lock = true;
  return {};
}

void SimulatedFileSystem::change_entries(EntryChange change) {
  for (const auto& [path, file] : change) {
    if (file == nullptr) {
      visible_.erase(path);
    } else {
      visible_[path] = file;
    }
  }
  entry_changes_.push_back(std::move(change));
}

CallResult SimulatedFileSystem::rename(const std::string& from, const std::string& to) {
  bool in_flight = false;
  const SimulatedFault fault = begin(CallKind::Rename, from, &in_flight);
  if (fault.error_number != 0 && !in_flight) return {-1, fault.error_number};
  const auto found = visible_.find(from);
  if (found == visible_.end()) return {-1, ENOENT};
  const FilePointer file = found->second;
  change_entries({{from, nullptr}, {to, file}});
  return in_flight ? CallResult{-1, EIO} : CallResult{};
}

CallResult SimulatedFileSystem::unlink(const std::string& path) {
  bool in_flight = false;
  const SimulatedFault fault = begin(CallKind::Unlink, path, &in_flight);
  if (fault.error_number != 0 && !in_flight) return {-1, fault.error_number};
  if (!visible_.contains(path)) return {-1, ENOENT};
  change_entries({{path, nullptr}});
  return in_flight ? CallResult{-1, EIO} : CallResult{};
}

CallResult SimulatedFileSystem::create_folder(const std::string& path) {
  // Folders always exist: what is tested is what is in them.
  const SimulatedFault fault = begin(CallKind::CreateFolder, path);
  return {-1, fault.error_number != 0 ? fault.error_number : EEXIST};
}

CallResult SimulatedFileSystem::fsync_folder(const std::string& path) {
  const SimulatedFault fault = begin(CallKind::SyncFolder, path);
  if (fault.error_number != 0) return {-1, fault.error_number};
  const auto is_elsewhere = [&path](const EntryChange& change) {
    return std::none_of(change.begin(), change.end(),
                        [&path](const auto& each) { return folder_of(each.first) == path; });
  };
  std::vector<EntryChange> left;
  for (EntryChange& change : entry_changes_) {
    if (is_elsewhere(change)) {
      left.push_back(std::move(change));
      continue;
    }
    for (const auto& [each, file] : change) {
      if (file == nullptr) {
        durable_.erase(each);
      } else {
        durable_[each] = file;
      }
    }
  }
  entry_changes_ = std::move(left);
  return {};
}

CallResult SimulatedFileSystem::list_folder(const std::string& path,
                                            std::vector<std::string>& names) {
  names.clear();
  const SimulatedFault fault = begin(CallKind::List, path);
  if (fault.error_number != 0) return {-1, fault.error_number};
  for (const auto& [each, file] : visible_) {
    if (folder_of(each) == path) names.push_back(each.substr(path == "/" ? 1 : path.size() + 1));
  }
  return {};
}

std::uint64_t SimulatedFileSystem::used_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [path, file] : visible_) {
    if (file != nullptr) bytes += file->visible.size();
  }
  return bytes;
}

CallResult SimulatedFileSystem::disk_space(const std::string&, DiskSpace& space) {
  space = {.bytes = bytes_max, .free_bytes = bytes_max - std::min(bytes_max, used_bytes())};
  return {};
}

}  // namespace quire::store
