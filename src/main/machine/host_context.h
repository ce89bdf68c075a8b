#pragma once
// HostContext is one context that the process itself drives, in an instance that it shares with its
// forks alone: for measurements of contexts and tests.
//
// Owns     the context, which ends with it.
//
// Thread   the engine thread.
// Errors   what the control layer answers.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "main/machine/host_loop.h"

namespace quire {

class HostContext {
 public:
  explicit HostContext(HostLoop& loop);
  ~HostContext();
  HostContext(const HostContext&) = delete;
  HostContext& operator=(const HostContext&) = delete;

  // One of these first.
  void create();
  Result<control::ContextCounters> open(const std::string& snapshot, bool takes = false);

  std::unique_ptr<HostContext> fork();
  Result<void> save(const std::string& snapshot, std::uint64_t expires_unix_ms = 0);
  void allow_beyond_context();

  void append(const std::vector<std::uint32_t>& tokens);
  Result<control::ContextCounters> flush();
  Result<control::ContextCounters> rewind(std::uint32_t length);
  Result<control::ContextCounters> drop_range(std::uint32_t begin, std::uint32_t end);
  // The logits after the last token.
  Result<std::vector<float>> logits();

  // One step: computes what is queued and gives the most probable next token, which is not
  // appended. finish_step() waits for it; step_key() is what HostLoop::wait_any() waits for.
  void begin_step();
  HostLoop::Key step_key() const { return {instance_->id(), distribution_}; }
  Result<std::uint32_t> finish_step();

  control::InstanceId instance() const { return instance_->id(); }
  control::InstanceStatistics statistics() const { return instance_->statistics(); }

 private:
  explicit HostContext(std::shared_ptr<HostInstance> instance);
  control::FutureId forward();
  Result<control::ContextCounters> counters(control::CommandBody body);

  const std::shared_ptr<HostInstance> instance_;
  const control::ObjectId queue_;
  const control::ObjectId context_;
  const control::ObjectId output_;
  control::FutureId forward_ = control::kNoFuture;
  control::FutureId distribution_ = control::kNoFuture;
};

}  // namespace quire
