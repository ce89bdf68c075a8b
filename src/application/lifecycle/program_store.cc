#include "application/lifecycle/program_store.h"

#include <utility>

#include "base/check.h"

namespace quire::lifecycle {

ProgramStore::~ProgramStore() {
  jobs_.close();
  if (helper_.joinable()) helper_.join();
}

ProgramId ProgramStore::add(const Digest& digest) {
  programs_.emplace_back();
  const ProgramId id{static_cast<std::uint32_t>(programs_.size())};
  by_digest_[digest] = id;
  return id;
}

Result<ProgramId> ProgramStore::load(std::span<const std::byte> wasm) {
  const Digest digest = sha256(wasm);
  const auto known = by_digest_.find(digest);
  if (known != by_digest_.end() && find(known->second)->program != nullptr) return known->second;
  std::shared_ptr<const sandbox::Program> program = TRY(runtime_.compile(wasm));
  if (known != by_digest_.end() && find(known->second)->compiling()) return known->second;
  const ProgramId id = add(digest);
  programs_.back().program = std::move(program);
  return id;
}

Result<ProgramId> ProgramStore::request(std::vector<std::byte> wasm) {
  const Digest digest = sha256(wasm);
  const auto known = by_digest_.find(digest);
  if (known != by_digest_.end() && !find(known->second)->error) return known->second;
  if (requested_ >= kRequestCountMax) {
    return Error(ErrorCode::QuotaExceeded,
                 std::to_string(requested_) + " programs wait to be compiled");
  }
  if (!helper_.joinable()) helper_ = std::thread([this] { help(); });
  const ProgramId id = add(digest);
  ++requested_;
  QUIRE_CHECK(jobs_.try_push({id, std::move(wasm)}), "as many slots as requests");
  return id;
}

const ProgramStore::Entry* ProgramStore::find(ProgramId id) const {
  const auto index = static_cast<std::uint32_t>(id);
  if (index == 0 || index > programs_.size()) return nullptr;
  return &programs_[index - 1];
}

void ProgramStore::help() {
  while (std::optional<Job> job = jobs_.pop()) {
    auto done = std::make_unique<Done>(Done{job->id, {}});
    Result<std::shared_ptr<const sandbox::Program>> program = runtime_.compile(job->wasm);
    if (program.ok()) {
      done->entry.program = std::move(program).take();
    } else {
      done->entry.error = std::move(program).take_error();
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
    any = true;
    programs_[static_cast<std::uint32_t>(done->id) - 1] = std::move(done->entry);
  }
  return any;
}

}  // namespace quire::lifecycle
