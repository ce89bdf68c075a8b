// Contexts kept under a name: on a disk that works, one that fails, and one whose files are
// damaged.
#include <algorithm>
#include <cerrno>

#include "control/page_program.h"

namespace quire::control {

using store::CallKind;
using store::SimulatedCall;
using store::SimulatedFault;

namespace {

constexpr const char* kOnBadDisk = "saved on a bad disk";

std::string some_name(std::uint32_t number) {
  return "snapshot " + std::to_string(number);
}

// A full disk takes nothing more; one that cannot be written, no change at all.
bool changes(CallKind kind) {
  return kind == CallKind::Write || kind == CallKind::Truncate || kind == CallKind::Sync ||
         kind == CallKind::Rename || kind == CallKind::Unlink || kind == CallKind::CreateFolder ||
         kind == CallKind::SyncFolder;
}

// Writes to the disk at once, without the process that has the file open.
void replace(store::SimulatedFileSystem& files, const std::string& path,
             const std::vector<std::byte>& bytes) {
  const store::CallResult opened = files.open(path, store::OpenMode::ReadWrite);
  ASSERT_EQ(opened.error_number, 0) << path;
  const auto file = static_cast<store::Descriptor>(opened.value);
  EXPECT_EQ(files.ftruncate(file, bytes.size()).error_number, 0);
  EXPECT_EQ(files.pwrite(file, bytes, 0).error_number, 0);
  EXPECT_EQ(files.fdatasync(file).error_number, 0);
  files.close(file);
}

}  // namespace

void PageProgram::expire() {
  std::erase_if(snapshots_, [this](const auto& each) {
    const std::uint64_t expires = each.second.expires_unix_ms;
    return expires != 0 && expires <= wall_ms_;
  });
}

void PageProgram::save(Guest& guest) {
  Chain& chain = some_chain(guest);
  if (!chain.is_known) return;
  const std::string name = some_name(below(4));
  const bool overwrites = below(2) == 0;
  Saved saved{.chain = chain};
  if (below(4) == 0) saved.expires_unix_ms = wall_ms_ + 1 + below(50);
  if (below(3) == 0) saved.note.assign(1 + below(100), static_cast<char>('a' + below(26)));
  const FutureId future =
      machine_->send(guest.id, ContextSave{.context = chain.id,
                                           .name = name,
                                           .overwrites = overwrites,
                                           .expires_unix_ms = saved.expires_unix_ms,
                                           .note = saved.note});
  if (below(3) == 0) rewind(guest, chain);  // The edit comes after the save, and is not saved.
  settle_with(guest.id, future);
  expire();
  const std::pair key(guest.tenant, name);
  const bool exists = snapshots_.contains(key);
  const std::optional<ErrorCode> error = machine_->error(guest.id, future);
  if (error && is_loss(*error)) return;
  if (exists && !overwrites) {
    ASSERT_EQ(error, ErrorCode::AlreadyExists);
    return note("a name taken");
  }
  if (has_quota() && error == ErrorCode::QuotaExceeded) return note("a snapshot beyond the quota");
  ASSERT_FALSE(error) << machine_->message(guest.id, future);
  snapshots_[key] = saved;
}

void PageProgram::open(Guest& guest) {
  if (guest.chains.size() >= kContextsMax) return;
  wall_ms_ += below(20);
  machine_->wall_clock.set_unix_ms(wall_ms_);
  expire();
  const std::string name = some_name(below(5));
  const bool takes = below(3) == 0;
  const auto found = snapshots_.find({guest.tenant, name});
  const ObjectId id = machine_->new_object();
  const FutureId future = machine_->send(guest.id, ContextOpen{id, guest.queue, name, takes});
  settle_with(guest.id, future);
  const std::optional<ErrorCode> error = machine_->error(guest.id, future);
  if (error) machine_->send(guest.id, ContextDrop{id}, false);
  if (found == snapshots_.end()) {
    ASSERT_EQ(error, ErrorCode::NotFound);
    return note("no such snapshot");
  }
  Chain opened = found->second.chain;
  const std::string note_of = found->second.note;
  if (error) {
    ASSERT_TRUE(is_fallible()) << machine_->message(guest.id, future);
    return;
  }
  note("a snapshot opened");
  if (!note_of.empty()) note("a note opened");
  if (takes && below(2) == 0) {
    // A program that ends before it has the context that it took leaves the snapshot.
    machine_->send(guest.id, ContextDrop{id}, false);
    return note("a take given up");
  }
  if (takes) {
    ASSERT_FALSE(outcome(guest.id, ContextKeep{id}));
    snapshots_.erase(found);
  }
  opened.id = id;
  const Opened answer = machine_->get<Opened>(guest.id, future);
  ASSERT_EQ(answer.counters.seq_len, opened.written());
  ASSERT_EQ(answer.note, note_of);
  guest.chains.push_back(std::move(opened));
}

void PageProgram::remove(Guest& guest) {
  expire();
  const std::string name = some_name(below(5));
  const bool exists = snapshots_.erase({guest.tenant, name}) > 0;
  const std::optional<ErrorCode> error = outcome(guest.id, SnapshotDelete{name});
  ASSERT_EQ(error, exists ? std::nullopt : std::optional(ErrorCode::NotFound));
}

void PageProgram::list(Guest& guest) {
  expire();
  const FutureId future = machine_->send(guest.id, SnapshotList{});
  settle_with(guest.id, future);
  std::map<std::string, std::uint64_t> listed;
  for (const SnapshotDescription& each : machine_->get<Snapshots>(guest.id, future).all) {
    listed[each.name] = each.token_count;
  }
  std::map<std::string, std::uint64_t> wanted;
  for (const auto& [key, saved] : snapshots_) {
    if (key.first == guest.tenant) wanted[key.second] = saved.chain.written();
  }
  ASSERT_EQ(listed, wanted);
}

// Acknowledged changes are there again, also after a loss of power.
void PageProgram::restart(Guest&) {
  start_again([this] {
    if (below(2) == 0) return;
    files_.crash();
    files_.restart(static_cast<store::CrashKeep>(below(3)), random_());
  });
}

// Opens a snapshot for a guest that does nothing else; returns the error, or nothing if it is
// right.
std::optional<ErrorCode> PageProgram::open_alone(TenantId tenant, const std::string& name,
                                                 const Chain& saved) {
  Guest guest;
  guest.id = machine_->start(tenant);
  guest.tenant = tenant;
  guest.queue = machine_->queue(guest.id);
  const ObjectId id = machine_->new_object();
  const std::optional<ErrorCode> error =
      outcome(guest.id, ContextOpen{id, guest.queue, name, false});
  if (!error) {
    const auto embeds = machine_->embeds(guest.id, guest.queue, 1);
    machine_->send(guest.id, ContextForward{id, embeds}, false);
    expect_output(guest, machine_->send(guest.id, GetNextDist{guest.queue, embeds[0], 8}),
                  test::output_after(saved.content));
    settle();
  }
  machine_->controller->end_instance(guest.id);
  settle();
  return error;
}

// The bytes of the page files change while no program reads them; then a snapshot is opened. It is
// right or refused, and right once its bytes are back.
void PageProgram::damage(const char* what, bool while_open,
                         const std::function<void(std::vector<std::byte>&)>& edit) {
  expire();
  const auto found = std::find_if(snapshots_.begin(), snapshots_.end(), [this](const auto& each) {
    return each.second.chain.written() >= knobs_.page_size;
  });
  if (found == snapshots_.end() || is_fallible()) return;
  const auto [tenant, name] = found->first;
  const Chain saved = found->second.chain;
  store::SimulatedFileSystem::Image before;
  const auto edit_files = [&] {
    before = files_.visible();
    std::erase_if(before, [](const auto& file) { return !file.first.ends_with(".quire"); });
    for (auto [path, bytes] : before) {
      edit(bytes);
      replace(files_, path, bytes);
    }
  };
  start_again([&] {
    if (!while_open) edit_files();
  });
  if (while_open) edit_files();
  const std::optional<ErrorCode> error = open_alone(tenant, name, saved);
  if (error) {
    ASSERT_TRUE(error == ErrorCode::Corrupted || error == ErrorCode::NotSupported ||
                error == ErrorCode::Io)
        << error_code_name(*error);
    note(what);
  }
  for (const auto& [path, bytes] : before) replace(files_, path, bytes);
  ASSERT_EQ(open_alone(tenant, name, saved), std::nullopt) << "its bytes are back";
}

void PageProgram::cut_short(Guest&) {
  damage("page file cut short", false, [this](std::vector<std::byte>& bytes) {
    bytes.resize(below(static_cast<std::uint32_t>(bytes.size())));
  });
}

void PageProgram::flip_bits(Guest&) {
  damage("page file bit-flipped", false, [this](std::vector<std::byte>& bytes) {
    for (std::byte& each : bytes) {
      if (below(50) == 0) each ^= std::byte{static_cast<std::uint8_t>(1u << below(8))};
    }
  });
}

void PageProgram::change_version(Guest&) {
  constexpr std::size_t kVersionOffset = 8;  // docs/reference/snapshot_format.md.
  damage("page file of another version", false,
         [](std::vector<std::byte>& bytes) { bytes[kVersionOffset] ^= std::byte{0x7f}; });
}

void PageProgram::shrink_while_open(Guest&) {
  damage("page file shrinking while open", true,
         [](std::vector<std::byte>& bytes) { bytes.resize(bytes.size() / 2); });
}

// A save while the disk fails, and again when it does not.
void PageProgram::fail_disk(Guest& guest,
                            const std::function<SimulatedFault(const SimulatedCall&)>& inject) {
  settle();
  Chain& chain = some_chain(guest);
  // A small pool is left alone where nothing may be lost, so that it is seen that nothing is.
  if (!chain.is_known || has_quota() || (is_fallible() && !may_lose())) return;
  const CommandBody body = ContextSave{.context = chain.id, .name = kOnBadDisk, .overwrites = true};
  const bool is_disk_alone = !may_lose();  // In failing.
  has_disk_failed_ = knobs_.disk_page_count > 0;
  const TierStatistics tiers = machine_->controller->tier_statistics();
  if (tiers.disk_page_count > 0) note("pages of the tier on a bad disk");
  files_.inject = inject;
  const std::optional<ErrorCode> error = outcome(guest.id, body);
  files_.inject = nullptr;
  ASSERT_TRUE(!error || error == ErrorCode::Io || is_loss(*error)) << error_code_name(*error);
  if (error && is_disk_alone) note("a save on a bad disk");
  // Old or new, whole; and the same again once the cause is gone.
  const Saved saved{.chain = chain};
  const std::optional<ErrorCode> again = outcome(guest.id, body);
  if (again && is_loss(*again)) {
    // The disk had pages of it, and was bad.
    outcome(guest.id, SnapshotDelete{kOnBadDisk});
    snapshots_.erase({guest.tenant, kOnBadDisk});
    return;
  }
  ASSERT_EQ(again, std::nullopt);
  snapshots_[{guest.tenant, kOnBadDisk}] = saved;
}

void PageProgram::fill_disk(Guest& guest) {
  fail_disk(guest, [](const SimulatedCall& call) {
    return SimulatedFault{.error_number = call.kind == CallKind::Write ? ENOSPC : 0};
  });
}

void PageProgram::fail_write(Guest& guest) {
  const std::uint64_t from = files_.call_count() + below(40);
  bool has_failed = false;
  fail_disk(guest, [from, has_failed](const SimulatedCall& call) mutable {
    if (has_failed || call.number < from || call.kind != CallKind::Write) return SimulatedFault{};
    has_failed = true;
    return SimulatedFault{.error_number = EIO};
  });
}

void PageProgram::make_read_only(Guest& guest) {
  fail_disk(guest, [](const SimulatedCall& call) {
    return SimulatedFault{.error_number = changes(call.kind) ? EROFS : 0};
  });
}

}  // namespace quire::control
