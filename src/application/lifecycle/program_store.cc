#include "application/lifecycle/program_store.h"

#include <utility>

#include "base/check.h"

namespace quire::lifecycle {

ProgramStore::~ProgramStore() {
  jobs_.close();
  if (helper_.joinable()) helper_.join();
}

ProgramStore::Entry& ProgramStore::add(ProgramId id, const Digest& digest,
                                       std::uint64_t wasm_bytes) {
  by_digest_[digest] = id;
  Entry& entry = programs_[id];
  entry.digest = digest;
  entry.wasm_bytes = wasm_bytes;
  entry.used = ++uses_;
  return entry;
}

void ProgramStore::forget(std::unordered_map<ProgramId, Entry>::iterator entry) {
  requested_count_ -= 1;
  requested_bytes_ -= entry->second.wasm_bytes;
  const auto named = by_digest_.find(entry->second.digest);
  if (named != by_digest_.end() && named->second == entry->first) by_digest_.erase(named);
  programs_.erase(entry);
}

// What compiles cannot be forgotten; kRequestCountMax bounds it.
void ProgramStore::make_room(std::uint64_t wasm_bytes) {
  while (requested_count_ >= limits_.count_max ||
         requested_bytes_ + wasm_bytes > limits_.bytes_max) {
    auto oldest = programs_.end();
    for (auto each = programs_.begin(); each != programs_.end(); ++each) {
      if (each->second.stays || each->second.compiling()) continue;
      if (oldest == programs_.end() || each->second.used < oldest->second.used) oldest = each;
    }
    if (oldest == programs_.end()) return;
    forget(oldest);
  }
}

Result<ProgramId> ProgramStore::load(std::span<const std::byte> wasm) {
  const Digest digest = sha256(wasm);
  const std::optional<ProgramId> known = find(digest);
  if (known && find(*known)->program != nullptr) return *known;
  std::shared_ptr<const sandbox::Program> program = TRY(runtime_.compile(wasm));
  if (known && find(*known)->compiling()) return *known;
  const ProgramId id{next_id_++};
  Entry& entry = add(id, digest, wasm.size());
  entry.program = std::move(program);
  entry.stays = true;
  return id;
}

Result<ProgramId> ProgramStore::request(std::vector<std::byte> wasm, const Digest& digest) {
  const std::optional<ProgramId> known = find(digest);
  if (known && !find(*known)->error) return *known;
  if (requested_ >= kRequestCountMax) {
    return Error(ErrorCode::QuotaExceeded,
                 std::to_string(requested_) + " programs wait to be compiled");
  }
  if (!helper_.joinable()) helper_ = std::thread([this] { help(); });
  make_room(wasm.size());
  const ProgramId id{next_id_++};
  add(id, digest, wasm.size());
  requested_count_ += 1;
  requested_bytes_ += wasm.size();
  ++requested_;
  QUIRE_CHECK(jobs_.try_push({id, std::move(wasm)}), "as many slots as requests");
  return id;
}

const ProgramStore::Entry* ProgramStore::find(ProgramId id) const {
  const auto found = programs_.find(id);
  return found == programs_.end() ? nullptr : &found->second;
}

std::optional<ProgramId> ProgramStore::find(const Digest& digest) const {
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end()) return std::nullopt;
  return found->second;
}

void ProgramStore::use(ProgramId id) {
  const auto found = programs_.find(id);
  if (found != programs_.end()) found->second.used = ++uses_;
}

void ProgramStore::help() {
  while (std::optional<Job> job = jobs_.pop()) {
    auto done = std::make_unique<Done>(Done{job->id, nullptr, std::nullopt});
    Result<std::shared_ptr<const sandbox::Program>> program = runtime_.compile(job->wasm);
    if (program.ok()) {
      done->program = std::move(program).take();
    } else {
      done->error = std::move(program).take_error();
    }
    QUIRE_CHECK(done_.try_push(std::move(done)), "as many slots as requests");
    wakeup_.notify();
  }
}

bool ProgramStore::poll() {
  bool any = false;
  while (requested_ > 0) {
    std::optional<std::unique_ptr<Done>> popped = done_.try_pop();
    if (!popped) break;
    const std::unique_ptr<Done> done = std::move(*popped);
    --requested_;
    ++compiled_count_;
    any = true;
    Entry& entry = programs_.at(done->id);
    entry.program = std::move(done->program);
    entry.error = std::move(done->error);
  }
  return any;
}

}  // namespace quire::lifecycle
