#include "main/machine/host_context.h"

#include <utility>

namespace quire {

using control::ContextCounters;
using control::ContextState;

HostContext::HostContext(HostLoop& loop) : HostContext(std::make_shared<HostInstance>(loop)) {}

HostContext::HostContext(std::shared_ptr<HostInstance> instance)
    : instance_(std::move(instance)),
      queue_(instance_->new_object()),
      context_(instance_->new_object()),
      output_(instance_->new_object()) {
  instance_->tell(control::CreateQueue{.queue = queue_});
  instance_->tell(control::AllocEmbeds{.queue = queue_, .embeds = {output_}});
}

HostContext::~HostContext() {
  instance_->tell(control::ContextDrop{context_});
}

void HostContext::create() {
  instance_->tell(control::ContextCreate{.context = context_, .queue = queue_});
}

Result<ContextCounters> HostContext::counters(control::CommandBody body) {
  return TRY(instance_->call<ContextState>(std::move(body))).counters;
}

Result<ContextCounters> HostContext::open(const std::string& snapshot, bool takes) {
  const control::Opened opened = TRY(instance_->call<control::Opened>(control::ContextOpen{
      .context = context_, .queue = queue_, .name = snapshot, .takes = takes}));
  if (takes) instance_->tell(control::ContextKeep{context_});
  return opened.counters;
}

std::unique_ptr<HostContext> HostContext::fork() {
  std::unique_ptr<HostContext> child(new HostContext(instance_));
  instance_->tell(control::ContextFork{.context = context_, .child = child->context_});
  return child;
}

Result<void> HostContext::save(const std::string& snapshot, std::uint64_t expires_unix_ms) {
  TRY(instance_->call<control::Done>(control::ContextSave{.context = context_,
                                                          .name = snapshot,
                                                          .overwrites = true,
                                                          .expires_unix_ms = expires_unix_ms}));
  return {};
}

void HostContext::allow_beyond_context() {
  instance_->tell(control::ContextBeyond{.context = context_, .is_allowed = true});
}

void HostContext::append(const std::vector<std::uint32_t>& tokens) {
  instance_->tell(control::ContextAppend{.context = context_, .tokens = tokens});
}

Result<ContextCounters> HostContext::flush() {
  return counters(control::ContextFlush{.context = context_});
}

Result<ContextCounters> HostContext::rewind(std::uint32_t length) {
  return counters(control::ContextEdit{
      .context = context_, .kind = control::ContextEditKind::Rewind, .count = length});
}

Result<ContextCounters> HostContext::drop_range(std::uint32_t begin, std::uint32_t end) {
  return counters(control::ContextDropRange{.context = context_, .begin = begin, .end = end});
}

control::FutureId HostContext::forward() {
  return instance_->ask(control::ContextForward{.context = context_, .output_embeds = {output_}});
}

Result<std::vector<float>> HostContext::logits() {
  const control::FutureId pass = forward();
  const control::FutureId logits =
      instance_->ask(control::GetLogits{.queue = queue_, .embed = output_});
  TRY(instance_->wait_for<ContextState>(pass));
  return TRY(instance_->wait_for<control::Values>(logits)).all;
}

void HostContext::begin_step() {
  forward_ = forward();
  distribution_ =
      instance_->ask(control::GetNextDist{.queue = queue_, .embed = output_, .top_k = 1});
}

Result<std::uint32_t> HostContext::finish_step() {
  TRY(instance_->wait_for<ContextState>(forward_));  // Its error says more than the other's.
  const control::NextDistribution next =
      TRY(instance_->wait_for<control::NextDistribution>(distribution_));
  return next.tokens.front();
}

}  // namespace quire
