// Operations of programs on contexts.
#include <algorithm>

#include "control/page_program.h"
#include "support/small_adapter.h"

namespace quire::control {

using test::Content;
using test::Sequence;

namespace {

constexpr std::uint32_t kChainPagesMax = 6;  // Of one context.

}  // namespace

void PageProgram::add(Chain& chain, const Sequence& tokens) {
  chain.content.tokens.insert(chain.content.tokens.end(), tokens.begin(), tokens.end());
  chain.queued += static_cast<std::uint32_t>(tokens.size());
}

void PageProgram::append(Guest& guest) {
  Chain& chain = some_chain(guest);
  const Sequence tokens = some_tokens();
  if (chain.length() + tokens.size() > kChainPagesMax * knobs_.page_size) return;
  machine_->send(guest.id, ContextAppend{chain.id, tokens}, false);
  add(chain, tokens);
}

void PageProgram::flush(Guest& guest) {
  flush(guest, some_chain(guest));
}

// So that whatever is away must come back, and find that it is lost if it is.
void PageProgram::flush_all(Guest&) {
  for (Guest& guest : guests_) {
    for (Chain& chain : guest.chains) flush(guest, chain);
  }
}

void PageProgram::flush(const Guest& guest, Chain& chain) {
  expect(guest, machine_->send(guest.id, ContextFlush{chain.id}), chain, Expected::Kind::Computed);
  after_compute(guest, chain);
}

void PageProgram::forward(Guest& guest) {
  Chain& chain = some_chain(guest);
  if (!chain.is_known || chain.length() == 0) return;
  const std::uint32_t outputs =
      chain.queued == 0 ? 1 : 1 + below(std::min(chain.queued, std::uint32_t{3}));
  const auto embeds = machine_->embeds(guest.id, guest.queue, outputs);
  expect(guest, machine_->send(guest.id, ContextForward{chain.id, embeds}), chain,
         Expected::Kind::Computed);
  for (std::uint32_t index = 0; index < outputs; ++index) {
    Content seen = chain.content;
    seen.tokens.resize(chain.length() - (outputs - 1 - index));
    expect_output(guest, machine_->send(guest.id, GetNextDist{guest.queue, embeds[index], 8}),
                  test::output_after(seen));
  }
  machine_->send(guest.id, DeallocEmbeds{guest.queue, embeds}, false);
  after_compute(guest, chain);
}

// In a pool that may run out, or on a device that fails, the outcome is known only after the
// answer.
void PageProgram::after_compute(const Guest& guest, Chain& chain) {
  chain.queued = 0;
  if (!is_fallible()) return;
  chain.is_known = false;
  if (below(3) == 0) return;
  settle();
  const FutureId again =
      machine_->send(guest.id, ContextEdit{chain.id, ContextEditKind::Truncate, 0});
  settle_with(guest.id, again);
  const ContextCounters counters = machine_->get<ContextState>(guest.id, again).counters;
  chain.queued = chain.length() - counters.seq_len;
  chain.is_known = true;
}

void PageProgram::fork(Guest& guest) {
  if (guest.chains.size() >= kContextsMax) return;
  Chain child = some_chain(guest);
  const ObjectId parent = std::exchange(child.id, machine_->new_object());
  machine_->send(guest.id, ContextFork{parent, child.id}, false);
  guest.chains.push_back(child);
}

void PageProgram::truncate(Guest& guest) {
  Chain& chain = some_chain(guest);
  if (!chain.is_known) return;
  const std::uint32_t reach = chain.queued + chain.written() % knobs_.page_size;
  const std::uint32_t count = below(reach + 2);
  const FutureId future =
      machine_->send(guest.id, ContextEdit{chain.id, ContextEditKind::Truncate, count});
  if (knobs_.has_tiers() && was_lost(guest, future, count <= reach)) return;
  if (count > reach) return expect_refusal(guest, future, ErrorCode::OutOfRange);
  chain.queued -= std::min(chain.queued, count);
  chain.content.cut(chain.length() - count);
  expect(guest, future, chain, Expected::Kind::Edited);
}

void PageProgram::rewind(Guest& guest) {
  Chain& chain = some_chain(guest);
  if (chain.is_known) rewind(guest, chain);
}

void PageProgram::rewind(Guest& guest, Chain& chain) {
  const std::uint32_t length = below(chain.length() + 2);
  const FutureId future =
      machine_->send(guest.id, ContextEdit{chain.id, ContextEditKind::Rewind, length});
  if (knobs_.has_tiers() && was_lost(guest, future, length <= chain.length())) return;
  if (length > chain.length()) return expect_refusal(guest, future, ErrorCode::OutOfRange);
  chain.queued = length > chain.written() ? length - chain.written() : 0;
  chain.content.cut(length);
  expect(guest, future, chain, Expected::Kind::Edited);
}

void PageProgram::drop_range(Guest& guest) {
  Chain& chain = some_chain(guest);
  if (!chain.is_known) return;
  const std::uint32_t written = chain.written();
  const std::uint32_t begin = below(written + 1);
  const std::uint32_t end = begin + below(2 * knobs_.page_size + 2);
  const FutureId future = machine_->send(guest.id, ContextDropRange{chain.id, begin, end});
  if (knobs_.state_count > 0) return expect_refusal(guest, future, ErrorCode::NotSupported);
  if (was_lost(guest, future, end <= written)) return;
  if (end > written) return expect_refusal(guest, future, ErrorCode::OutOfRange);
  if (end > begin) chain.content.drops.push_back({.written = written, .begin = begin, .end = end});
  expect(guest, future, chain, Expected::Kind::Edited);
}

void PageProgram::splice(Guest& guest) {
  Chain& chain = some_chain(guest);
  const Chain& source = some(guest.chains);
  const std::uint32_t begin = below(source.length() + 1);
  const std::uint32_t end = begin + below(source.length() + 2 - begin);
  if (chain.length() + end - begin > kChainPagesMax * knobs_.page_size) return;
  const FutureId future = machine_->send(guest.id, ContextSplice{chain.id, source.id, begin, end});
  if (end > source.length()) return expect_refusal(guest, future, ErrorCode::OutOfRange);
  const Sequence tokens(source.content.tokens.begin() + begin, source.content.tokens.begin() + end);
  add(chain, tokens);
  if (chain.is_known) expect(guest, future, chain, Expected::Kind::Edited);
}

// Few sets of two adapters, so that contexts meet under them.
void PageProgram::make_adapters() {
  for (std::uint32_t seed = 1; seed <= 2; ++seed) {
    adapters_.push_back(inference::small_adapter(inference::simulated_model(), seed));
  }
  const ChosenAdapter one{.name = "one", .adapter = adapters_[0], .scale = 1.0f};
  const ChosenAdapter half{.name = "one", .adapter = adapters_[0], .scale = 0.5f};
  const ChosenAdapter none{.name = "one", .adapter = adapters_[0], .scale = -0.0f};
  const ChosenAdapter other{.name = "other", .adapter = adapters_[1], .scale = 1.5f};
  sets_.push_back(nullptr);
  for (std::vector<ChosenAdapter> chosen :
       {std::vector{one}, {half}, {other}, {other, half}, {none, other}, {none}}) {
    sets_.push_back(make_chosen_adapters(std::move(chosen)).value());
  }
}

std::uint64_t PageProgram::digest_of(const ChosenAdaptersRef& set) {
  return set == nullptr ? 0 : test::digest_of_set(set->set);
}

void PageProgram::use_adapters(Guest& guest) {
  Chain& chain = some_chain(guest);
  const ChosenAdaptersRef& set = some(sets_);
  machine_->send(guest.id, ContextUseAdapters{chain.id, set}, false);
  chain.content.use(digest_of(set));
}

// The published operations on the tail, one after another, in a pool with room.
void PageProgram::use_working_pages(Guest& guest) {
  Chain& chain = some_chain(guest);
  if (is_fallible() || !chain.is_known) return;
  const auto counters = [&](ContextEditKind kind, std::uint32_t count) {
    const FutureId future = machine_->send(guest.id, ContextEdit{chain.id, kind, count});
    settle_with(guest.id, future);
    return machine_->get<ContextState>(guest.id, future).counters;
  };
  const auto refused = [&](ContextEditKind kind, std::uint32_t count) {
    const FutureId future = machine_->send(guest.id, ContextEdit{chain.id, kind, count});
    settle_with(guest.id, future);
    return machine_->error(guest.id, future);
  };
  const ContextCounters before = counters(ContextEditKind::ReservePages, 0);
  const std::uint32_t count = below(4);
  const ContextCounters reserved = counters(ContextEditKind::ReservePages, count);
  ASSERT_EQ(reserved.working_page_count, before.working_page_count + count);
  ASSERT_EQ(reserved.seq_len, before.seq_len);
  ASSERT_EQ(counters(ContextEditKind::CommitPages, 0).working_page_count,
            reserved.working_page_count);
  ASSERT_EQ(refused(ContextEditKind::CommitPages, 1), ErrorCode::PageNotFull);
  ASSERT_EQ(refused(ContextEditKind::ReleasePages, reserved.working_page_count + 1),
            ErrorCode::OutOfRange);
  ASSERT_EQ(refused(ContextEditKind::TruncatePageTokens, before.working_page_token_count + 1),
            ErrorCode::OutOfRange);
  if (below(2) == 0) {
    ASSERT_EQ(counters(ContextEditKind::ReleasePages, count).working_page_count,
              before.working_page_count);
  }
  if (chain.queued > 0 || before.working_page_token_count == 0) return;
  const std::uint32_t cut = below(before.working_page_token_count + 1);
  const ContextCounters after = counters(ContextEditKind::TruncatePageTokens, cut);
  ASSERT_EQ(after.seq_len, before.seq_len - cut);
  ASSERT_GE(after.working_page_count, before.working_page_count);
  chain.content.cut(chain.length() - cut);
}

void PageProgram::hint(Guest& guest) {
  const auto kind = static_cast<ContextHintKind>(below(5));
  machine_->send(guest.id, ContextHint{some_chain(guest).id, kind, below(20)}, false);
  if (knobs_.state_count > 0 && below(2) == 0) {
    machine_->send(guest.id, ContextMark{some_chain(guest).id}, false);
  }
  machine_->clock.advance_ns(std::uint64_t{below(10)} * 1'000'000'000);
}

void PageProgram::drop(Guest& guest) {
  Chain& chain = some_chain(guest);
  machine_->send(guest.id, ContextDrop{chain.id}, false);
  guest.chains.erase(guest.chains.begin() + (&chain - guest.chains.data()));
}

void PageProgram::end(Guest& guest) {
  machine_->controller->end_instance(guest.id);
  std::erase_if(expected_, [&](const Expected& each) { return each.guest == guest.id; });
  guests_.erase(guests_.begin() + (&guest - guests_.data()));
}

// The next operation is issued under a batch.
void PageProgram::step(Guest&) {
  machine_->step();
  check();
}

// The operator changes the weight of the guest's tenant. verify() walks the weights of both models.
void PageProgram::weigh(Guest& guest) {
  machine_->controller->set_tenant(guest.tenant, {.weight = 1 + below(4)});
}

void PageProgram::begin_step(Guest&) {
  machine_->begin_step();
  if (machine_->device.inflight_count() > 0) note("a batch under way");
  check();
}

}  // namespace quire::control
