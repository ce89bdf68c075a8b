#include "main/machine/key_use_recorder.h"

#include <chrono>
#include <utility>

namespace quire {
namespace {

constexpr std::chrono::seconds kWritePeriod{10};

}  // namespace

Result<std::unique_ptr<KeyUseRecorder>> KeyUseRecorder::start(
    std::string keys_file, std::function<void(const std::string&)> tell) {
  std::unique_ptr<KeyUseRecorder> recorder(
      new KeyUseRecorder(std::move(keys_file), std::move(tell)));
  recorder->thread_ = TRY(PeriodicWork::start("uses of keys", kWritePeriod,
                                              [self = recorder.get()] { self->write(); }));
  return recorder;
}

void KeyUseRecorder::write() {
  for (const auto& [key, minute] : uses_.take_changes()) unwritten_[key] = minute;
  if (unwritten_.empty()) return;
  const Result<void> written = access::add_key_uses(keys_file_, unwritten_);
  if (written.ok()) {
    unwritten_.clear();
    if (std::exchange(has_failed_, false)) tell_("the last uses of keys are written again");
    return;
  }
  // Another server that has the file is done when the next attempt comes.
  if (written.error().code() == ErrorCode::Unavailable) return;
  if (!std::exchange(has_failed_, true)) {
    tell_("the last uses of keys cannot be written, and are kept: " +
          std::string(written.error().message()));
  }
}

}  // namespace quire
