#include "simulation/machine.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"

namespace quire::simulation {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kStepNs = 20 * kMicrosecond;
constexpr std::uint64_t kRowNs = 2 * kMicrosecond;
constexpr std::uint32_t kSlowFactor = 100;
constexpr std::uint64_t kDiskJobNsMax = 2'000 * kMicrosecond;
constexpr std::uint64_t kHelperJobNsMax = 500 * kMicrosecond;
constexpr int kInputOutputError = 5;  // EIO
constexpr std::uint32_t kPerMille = 1'000;

}  // namespace

Device::Device(const Knobs& knobs, std::uint64_t number, std::uint64_t seed, const Clock& clock,
               Trace& trace, inference::CompletionSink& sink)
    : knobs_(knobs),
      number_(number),
      trace_(trace),
      dice_(seed),
      due_(clock),
      backend_(options(knobs), sink) {}

inference::SimulatedBackendOptions Device::options(const Knobs& knobs) {
  inference::SimulatedBackendOptions options;
  options.model = inference::simulated_model();
  if (number_ > 0) {  // The same arithmetic under another name: pages are not its own's.
    options.model.name += "-" + std::to_string(number_);
    options.model.digest[0] = static_cast<std::uint8_t>(number_);
  }
  options.page_size = knobs.page_size;
  options.page_count = knobs.page_count;
  options.state_count = knobs.state_count;
  options.sequence_count = knobs.sequence_count;
  options.embed_slot_count = knobs.embed_slot_count;
  options.row_count_max = knobs.row_count_max;
  options.manual = true;
  options.fail_pass = [this](const inference::Batch&, std::size_t) { return failure("pass"); };
  options.fail_load = [this](const inference::Batch&, std::size_t) { return failure("load"); };
  options.fail_save = [this](const inference::Batch&, std::size_t) { return failure("save"); };
  options.has_nan = [this](const inference::Batch&, std::size_t) {
    return knobs_.nan_logits > 0 && dice_.percent(knobs_.nan_logits);
  };
  return options;
}

std::optional<Error> Device::failure(const char* of_what) {
  if (knobs_.device_error == 0 || !dice_.percent(knobs_.device_error)) return std::nullopt;
  trace_.note({"device", number_}, "fails", 0, of_what);
  return Error(ErrorCode::Internal, std::string("the simulated device lost a ") + of_what);
}

std::uint64_t Device::duration_ns(const inference::Batch& batch) {
  std::uint64_t ns = kStepNs + kRowNs * batch.rows.size();
  ns += dice_.below(ns);
  if (knobs_.slow_step > 0 && dice_.percent(knobs_.slow_step)) ns *= kSlowFactor;
  return ns;
}

void Device::submit(inference::Batch batch) {
  trace_.note({"device", number_}, "submit", static_cast<std::int64_t>(batch.rows.size()));
  due_.add(duration_ns(batch));
  backend_.submit(std::move(batch));
}

void Device::finish_one() {
  trace_.note({"device", number_}, "complete", static_cast<std::int64_t>(backend_.next_batch().id));
  due_.remove_first();
  backend_.complete_next();
}

TimedDisk::TimedDisk(const Knobs& knobs, std::uint64_t seed, const Clock& clock,
                     const WallClock& wall_clock, Trace& trace, store::DiskAnswerSink& sink)
    : knobs_(knobs),
      trace_(trace),
      dice_(seed),
      due_(clock),
      disk_(files_, open_store(wall_clock), sink, clock) {
  if (knobs_.disk_error == 0) return;
  files_.inject = [this](const store::SimulatedCall& call) -> store::SimulatedFault {
    if (dice_.below(kPerMille) >= knobs_.disk_error) return {};
    trace_.note({"disk"}, "fails", static_cast<std::int64_t>(call.kind), call.path);
    return {.error_number = kInputOutputError};
  };
}

std::unique_ptr<store::SnapshotStore> TimedDisk::open_store(const WallClock& wall_clock) {
  const MachineTrouble& trouble = knobs_.trouble;
  files_.bytes_max = trouble.disk_bytes_max;
  store::StoreOptions options;
  options.folder = "store";
  // As the tiers of all models together have (World).
  options.cached_slot_count_max = knobs_.tiers.disk_page_count * knobs_.model_count;
  auto opened = store::SnapshotStore::open(files_, wall_clock, options);
  if (!opened.ok()) {
    std::fprintf(stderr, "store: %s\n", std::string(opened.error().message()).c_str());
    std::abort();
  }
  return std::move(opened).take();
}

Result<void> TimedDisk::submit(store::DiskJobId id, store::DiskJob& job) {
  TRY(disk_.submit(id, job));
  trace_.note({"disk"}, "job", static_cast<std::int64_t>(id));
  due_.add(dice_.time_ns(kDiskJobNsMax));
  return {};
}

void TimedDisk::finish_one() {
  trace_.note({"disk"}, "done", 0);
  due_.remove_first();
  QUIRE_CHECK(disk_.run_one(), "a job that is due");
}

void Helper::run(std::function<void()> job) {
  due_.add(dice_.time_ns(kHelperJobNsMax));
  jobs_.push_back(std::move(job));
}

void Helper::finish_one() {
  trace_.note({"helper"}, "done", 0);
  due_.remove_first();
  const std::function<void()> job = std::move(jobs_.front());
  jobs_.pop_front();
  job();
}

Result<std::vector<inference::TokenId>> ByteCodec::encode(std::string_view text,
                                                          inference::EncodeOptions) const {
  std::vector<inference::TokenId> tokens;
  for (const char byte : text) {
    tokens.push_back(inference::TokenId{kFirstByteToken + static_cast<unsigned char>(byte)});
  }
  return tokens;
}

Result<std::string> ByteCodec::decode(const std::vector<inference::TokenId>& tokens, bool) const {
  std::string text;
  for (const inference::TokenId token : tokens) {
    text.push_back(static_cast<char>(static_cast<std::uint32_t>(token) - kFirstByteToken));
  }
  return text;
}

Result<inference::TokenView> ByteCodec::token(inference::TokenId id) const {
  static constexpr auto kBytes = [] {
    std::array<char, 256> bytes{};
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) bytes[byte] = static_cast<char>(byte);
    return bytes;
  }();
  const auto number = static_cast<std::uint32_t>(id);
  if (number >= vocabulary_size()) {
    return Error(ErrorCode::OutOfRange, "token " + std::to_string(number) + " of a vocabulary of " +
                                            std::to_string(vocabulary_size()));
  }
  const std::uint32_t byte = number - kFirstByteToken;
  if (number < kFirstByteToken || byte >= kBytes.size()) return inference::TokenView{};
  return inference::TokenView{.kind = inference::TokenKind::Text, .bytes = {&kBytes[byte], 1}};
}

Result<inference::TokenId> ByteCodec::special(std::string_view text) const {
  return Error(ErrorCode::NotFound, "no special token: " + std::string(text));
}
Result<std::string> ByteCodec::apply_chat_template(std::string_view) const {
  return Error(ErrorCode::NotSupported, "no chat template");
}
Result<std::vector<inference::TokenId>> ByteCodec::encode_chat(std::string_view) const {
  return Error(ErrorCode::NotSupported, "no chat template");
}

}  // namespace quire::simulation
