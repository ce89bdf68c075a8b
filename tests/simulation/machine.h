#pragma once
// The simulated machine below the control layer: devices, a disk and a helper whose work takes time
// on the world's clock, and may fail.
//
// Each keeps when its oldest work is done (due_ns); the world moves the clock there and calls
// finish_one(). Thread: one.
#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "control/controller/completion_inbox.h"
#include "control/controller/text_jobs.h"
#include "control/fake_grammar.h"
#include "control/store/disk_thread.h"
#include "control/store/simulated_file_system.h"
#include "inference/api/text_codec.h"
#include "inference/devices/simulated/simulated_backend.h"
#include "simulation/dice.h"
#include "simulation/knobs.h"
#include "simulation/trace.h"

namespace quire::simulation {

// When work that is done one after the other is done.
class DueTimes {
 public:
  explicit DueTimes(const Clock& clock) : clock_(clock) {}
  void add(std::uint64_t takes_ns) {
    last_ns_ = std::max(last_ns_, clock_.now_ns()) + takes_ns;
    due_.push_back(last_ns_);
  }
  void remove_first() { due_.pop_front(); }
  std::optional<std::uint64_t> first() const {
    if (due_.empty()) return std::nullopt;
    return due_.front();
  }

 private:
  const Clock& clock_;
  std::uint64_t last_ns_ = 0;
  std::deque<std::uint64_t> due_;
};

class Device final : public inference::Backend {
 public:
  Device(const Knobs& knobs, std::uint64_t number, std::uint64_t seed, const Clock& clock,
         Trace& trace, inference::CompletionSink& sink);

  const inference::BackendCapabilities& capabilities() const override {
    return backend_.capabilities();
  }
  const inference::ModelInfo& model() const override { return backend_.model(); }
  void submit(inference::Batch batch) override;

  std::optional<std::uint64_t> due_ns() const { return due_.first(); }
  void finish_one();
  void verify() const { backend_.verify(); }

 private:
  std::uint64_t duration_ns(const inference::Batch& batch);
  std::optional<Error> failure(const char* of_what);
  inference::SimulatedBackendOptions options(const Knobs& knobs);

  const Knobs& knobs_;
  const std::uint64_t number_;
  Trace& trace_;
  Dice dice_;
  DueTimes due_;
  inference::SimulatedBackend backend_;
};

class TimedDisk final : public store::Disk {
 public:
  TimedDisk(const Knobs& knobs, std::uint64_t seed, const Clock& clock, const WallClock& wall_clock,
            Trace& trace, store::DiskAnswerSink& sink);

  using store::Disk::submit;
  Result<void> submit(store::DiskJobId id, store::DiskJob& job) override;
  std::optional<std::uint64_t> due_ns() const { return due_.first(); }
  void finish_one();
  // The damages of the stored files.
  Result<std::vector<store::Damage>> verify() { return disk_.store().verify(); }

 private:
  std::unique_ptr<store::SnapshotStore> open_store(const WallClock& wall_clock);

  const Knobs& knobs_;
  Trace& trace_;
  Dice dice_;
  DueTimes due_;
  store::SimulatedFileSystem files_;
  store::InlineDisk disk_;
};

class Helper final : public control::HelperExecutor {
 public:
  Helper(std::uint64_t seed, const Clock& clock, Trace& trace)
      : trace_(trace), dice_(seed), due_(clock) {}

  void run(std::function<void()> job) override;
  std::optional<std::uint64_t> due_ns() const { return due_.first(); }
  void finish_one();

 private:
  Trace& trace_;
  Dice dice_;
  DueTimes due_;
  std::deque<std::function<void()>> jobs_;
};

// A token for each byte: its value and kFirstByteToken. No chat template.
// What a source of a grammar stands for here: its number is the seed.
inline control::FakeMatcher fake_matcher(std::string_view source) {
  return control::FakeMatcher({.seed = std::hash<std::string_view>{}(source)});
}
inline control::FakeGrammar fake_grammar(std::string_view source) {
  return control::FakeGrammar({.seed = std::hash<std::string_view>{}(source)});
}
class FakeGrammars final : public inference::GrammarCompiler {
 public:
  Result<std::shared_ptr<const inference::Grammar>> compile(inference::GrammarKind,
                                                            std::string_view source) override {
    return std::shared_ptr<const inference::Grammar>(
        std::make_shared<control::FakeGrammar>(fake_grammar(source)));
  }
};

class ByteCodec final : public inference::TextCodec {
 public:
  static constexpr std::uint32_t kFirstByteToken = 2;
  std::uint32_t vocabulary_size() const override { return 512; }
  Result<std::vector<inference::TokenId>> encode(std::string_view text,
                                                 inference::EncodeOptions options) const override;
  Result<std::string> decode(const std::vector<inference::TokenId>& tokens,
                             bool keep_special) const override;
  Result<inference::TokenView> token(inference::TokenId id) const override;
  Result<inference::TokenId> special(std::string_view text) const override;
  Result<std::string> apply_chat_template(std::string_view request) const override;
  Result<std::vector<inference::TokenId>> encode_chat(std::string_view request) const override;
};

// All models read their text by these.
struct TextParts {
  ByteCodec codec{};
  FakeGrammars grammars{};
};

}  // namespace quire::simulation
