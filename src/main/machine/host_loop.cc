#include "main/machine/host_loop.h"

#include <algorithm>

#include "base/check.h"

namespace quire {
namespace {

// The longest sleep without a notification; a limit, not a period: completions notify.
constexpr std::chrono::milliseconds kSleepMax{100};

}  // namespace

void HostLoop::collect() {
  for (control::Answer& answer : inbox_.take()) {
    ready_.emplace(Key{answer.instance, answer.future}, std::move(answer.body));
  }
}

std::optional<std::size_t> HostLoop::first_ready(std::span<const Key> keys) const {
  for (std::size_t index = 0; index < keys.size(); ++index) {
    if (ready_.contains(keys[index])) return index;
  }
  return std::nullopt;
}

std::size_t HostLoop::wait_any(std::span<const Key> keys) {
  while (true) {
    collect();
    if (const std::optional<std::size_t> found = first_ready(keys)) return *found;
    if (control_.poll()) continue;
    if (control_.dispatch()) continue;
    collect();
    if (first_ready(keys)) continue;
    QUIRE_CHECK(!control_.idle(), "a future is waited for, and nothing is under way");
    if (watcher_) watcher_();
    const std::uint64_t max_ns = std::chrono::nanoseconds(kSleepMax).count();
    wakeup_.wait_for(std::chrono::nanoseconds(
        std::min(control_.next_dispatch_in_ns().value_or(max_ns), max_ns)));
  }
}

Result<control::AnswerBody> HostLoop::wait(control::InstanceId instance, control::FutureId future) {
  const Key key{instance, future};
  wait_any(std::span(&key, 1));
  return std::move(ready_.extract(key).mapped());
}

void HostLoop::forget(control::InstanceId instance) {
  collect();
  std::erase_if(ready_, [instance](const auto& entry) { return entry.first.first == instance; });
}

HostInstance::HostInstance(HostLoop& loop, const control::InstanceLimits& limits)
    : loop_(loop), id_(loop.next_instance()) {
  loop_.control().start_instance(id_, control::TenantId{0}, limits);
}

HostInstance::~HostInstance() {
  loop_.control().end_instance(id_);
  loop_.forget(id_);
}

std::vector<control::ObjectId> HostInstance::new_objects(std::size_t count) {
  std::vector<control::ObjectId> objects(count);
  for (control::ObjectId& object : objects) object = new_object();
  return objects;
}

void HostInstance::tell(control::CommandBody body) {
  loop_.control().submit({id_, control::kNoFuture, std::move(body)});
}

control::FutureId HostInstance::ask(control::CommandBody body) {
  const control::FutureId future{++futures_};
  loop_.control().submit({id_, future, std::move(body)});
  return future;
}

}  // namespace quire
