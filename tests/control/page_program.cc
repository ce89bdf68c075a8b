#include "control/page_program.h"

#include <algorithm>

namespace quire::control {

namespace {

constexpr std::uint32_t kVocabularySize = 512;
// What operations lead to, sooner or later.
constexpr const char* kOutcomes[] = {
    "a token found",        "a context suspended",
    "a snapshot opened",    "a take given up",
    "a batch under way",    "a name taken",
    "no such snapshot",     "a snapshot beyond the quota",
    "a save on a bad disk", "a snapshot of another tenant refused"};

}  // namespace

Knobs Knobs::of_seed(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kPageSizes[] = {1, 2, 16, 4};
  constexpr std::uint32_t kPages[] = {1, 2, 3, 7, 20, 64, 64, 64};
  constexpr std::uint32_t kRows[] = {1, 2, 33, 64};
  constexpr std::uint32_t kBits[] = {4, 8, 64};
  Knobs knobs;
  knobs.page_size = kPageSizes[random() % 4];
  knobs.page_count = kPages[random() % 8];
  knobs.row_count_max = kRows[random() % 4];
  knobs.prefill_row_budget = 1 + static_cast<std::uint32_t>(random() % 40);
  knobs.sequence_count = random() % 2 == 0 ? 2 : 64;
  knobs.hash_bits = kBits[random() % 3];
  knobs.failure_percent = random() % 5 == 0 ? 10 : 0;
  if (random() % 3 == 0) knobs.tenant_bytes_max = 30'000;
  return knobs;
}

std::vector<PageProgram::Operation> PageProgram::operations() {
  using P = PageProgram;
  return {{"append", 26, &P::append},
          {"flush", 12, &P::flush},
          {"forward", 22, &P::forward},
          {"fork", 5, &P::fork},
          {"truncate", 4, &P::truncate},
          {"rewind", 4, &P::rewind},
          {"drop_range", 4, &P::drop_range},
          {"splice", 2, &P::splice},
          {"working pages", 1, &P::use_working_pages},
          {"hint", 2, &P::hint},
          {"drop", 2, &P::drop},
          {"end of an instance", 1, &P::end},
          {"alloc_kvpage", 3, &P::alloc_pages},
          {"dealloc_kvpage", 2, &P::dealloc_pages},
          {"mask_kvpage", 2, &P::mask_page},
          {"embed_text", 6, &P::embed_text},
          {"alloc_emb, dealloc_emb", 1, &P::renew_embed},
          {"forward over pages", 7, &P::forward_pages},
          {"get_next_dist", 3, &P::get_next_dist},
          {"save", 2, &P::save},
          {"open, take", 2, &P::open},
          {"delete", 1, &P::remove},
          {"list", 1, &P::list},
          {"a step", 5, &P::step},
          {"a step begun", 5, &P::begin_step}};
}

// Each as likely as the others; one step in eight makes one.
std::vector<PageProgram::Operation> PageProgram::mistakes() {
  using P = PageProgram;
  return {{"restart", 2, &P::restart},
          {"commit of a partial page", 4, &P::commit_partial_page},
          {"truncate beyond the tail", 4, &P::truncate_beyond_tail},
          {"release beyond the tail", 4, &P::release_beyond_tail},
          {"truncate beyond the working pages", 4, &P::truncate_beyond_pages},
          {"rewind beyond the end", 4, &P::rewind_beyond_end},
          {"drop_range beyond the end", 4, &P::drop_beyond_end},
          {"splice beyond the end", 4, &P::splice_beyond_end},
          {"splice across models", 4, &P::splice_across_models},
          {"reserve beyond the quota", 4, &P::reserve_beyond_quota},
          {"reserve beyond the pool", 4, &P::reserve_beyond_pool},
          {"alloc beyond the quota", 4, &P::alloc_beyond_quota},
          {"alloc beyond the pool", 4, &P::alloc_beyond_pool},
          {"embeds beyond the quota", 4, &P::embeds_beyond_quota},
          {"contexts beyond the quota", 4, &P::contexts_beyond_quota},
          {"foreign handle", 4, &P::use_foreign_handles},
          {"stale handle", 4, &P::use_stale_handles},
          {"handle of another kind", 4, &P::use_handles_of_another_kind},
          {"bad snapshot name", 4, &P::use_bad_names},
          {"snapshot of another tenant", 4, &P::open_foreign_snapshot},
          {"page file cut short", 3, &P::cut_short, true},
          {"page file bit-flipped", 3, &P::flip_bits, true},
          {"page file of another version", 3, &P::change_version, true},
          {"page file shrinking while open", 3, &P::shrink_while_open, true},
          {"disk full", 2, &P::fill_disk},
          {"EIO on a write", 2, &P::fail_write},
          {"read-only folder", 2, &P::make_read_only}};
}

PageProgram::PageProgram(const Knobs& knobs, std::uint64_t seed) : knobs_(knobs), random_(seed) {
  new_machine();
}

Coverage PageProgram::no_coverage() {
  Coverage coverage;
  for (const auto& table : {operations(), mistakes()}) {
    for (const Operation& each : table) coverage[each.name] = 0;
  }
  for (const char* outcome : kOutcomes) coverage[outcome] = 0;
  return coverage;
}

void PageProgram::add_coverage(Coverage& coverage) const {
  for (const auto& [what, count] : coverage_) coverage[what] += count;
}

Harness::Options PageProgram::options() {
  Harness::Options options;
  options.device.page_size = knobs_.page_size;
  options.device.page_count = knobs_.page_count;
  options.device.row_count_max = knobs_.row_count_max;
  options.device.sequence_count = knobs_.sequence_count;
  if (knobs_.failure_percent > 0) {
    options.device.fail_pass = [this](const inference::Batch&,
                                      std::size_t) -> std::optional<Error> {
      if (below(100) >= knobs_.failure_percent) return std::nullopt;
      return Error(ErrorCode::Io, "the device lost a pass");
    };
  }
  options.files = &files_;
  options.tenant_bytes_max = knobs_.tenant_bytes_max;
  options.has_second_model = true;
  options.controller.prefill_row_budget = knobs_.prefill_row_budget;
  options.controller.hash_bits = knobs_.hash_bits;
  options.controller.eviction = static_cast<EvictionPolicyKind>(below(3));
  options.controller.nonce[0] = static_cast<std::uint8_t>(below(256));
  options.controller.nonce[1] = static_cast<std::uint8_t>(below(256));
  return options;
}

void PageProgram::new_machine() {
  machine_.emplace(options());
  machine_->wall_clock.set_unix_ms(wall_ms_);
}

void PageProgram::run() {
  for (int step = 0; step < knobs_.step_count && !testing::Test::HasFailure(); ++step) act();
  if (testing::Test::HasFailure()) return;
  end_all();
}

void PageProgram::act() {
  static const std::vector<Operation> kOperations = operations();
  static const std::vector<Operation> kMistakes = mistakes();
  const std::vector<Operation>& table = below(8) == 0 ? kMistakes : kOperations;
  std::uint32_t sum = 0;
  for (const Operation& each : table) sum += each.weight;
  std::uint32_t choice = below(sum);
  const Operation* chosen = table.data();
  for (; choice >= chosen->weight; ++chosen) choice -= chosen->weight;
  SCOPED_TRACE(chosen->name);
  if (!chosen->notes_itself) note(chosen->name);
  (this->*chosen->act)(some_guest());
  machine_->verify();
}

PageProgram::Guest PageProgram::start_guest(const InstanceLimits& limits) {
  Guest guest;
  guest.tenant = TenantId{1 + below(2)};
  guest.id = machine_->start(guest.tenant, limits);
  guest.queue = machine_->queue(guest.id, Priority{static_cast<std::uint8_t>(below(3))});
  return guest;
}

PageProgram::Guest& PageProgram::some_guest() {
  if (guests_.empty() || (guests_.size() < 4 && below(20) == 0)) {
    Guest guest = start_guest();
    for (const ObjectId id : machine_->embeds(guest.id, guest.queue, 5)) {
      guest.embeds.push_back({.id = id});
    }
    guests_.push_back(std::move(guest));
  }
  return some(guests_);
}

PageProgram::Chain& PageProgram::some_chain(Guest& guest) {
  if (guest.chains.empty() || (guest.chains.size() < 4 && below(6) == 0)) {
    guest.chains.push_back({.id = machine_->context(guest.id, guest.queue), .content = {}});
  }
  return some(guest.chains);
}

// Few beginnings, so that prefixes meet; at times a step by one token.
test::Sequence PageProgram::some_tokens() {
  const std::uint32_t count = below(3) == 0 ? 1 : 1 + below(3 * knobs_.page_size);
  const std::uint32_t first = below(2);
  test::Sequence tokens;
  for (std::uint32_t index = 0; index < count; ++index) {
    tokens.push_back(below(12) == 0 ? below(4) : first);
  }
  return tokens;
}

void PageProgram::settle() {
  machine_->run();
  check();
  // Idle guests hold pages that others wait for; the wait has an end.
  for (int round = 0; round < 1'000 && !expected_.empty(); ++round) {
    machine_->clock.advance_ns(11'000'000'000);
    machine_->run();
    check();
  }
  ASSERT_TRUE(expected_.empty()) << "a future was never answered";
}

void PageProgram::settle_with(InstanceId owner, FutureId future) {
  settle();
  for (int round = 0; round < 1'000 && !machine_->has(owner, future); ++round) {
    machine_->clock.advance_ns(11'000'000'000);
    settle();
  }
  ASSERT_TRUE(machine_->has(owner, future)) << "a future was never answered";
}

std::optional<ErrorCode> PageProgram::outcome(InstanceId owner, CommandBody body) {
  const FutureId future = machine_->send(owner, std::move(body));
  settle_with(owner, future);
  if (!machine_->has(owner, future)) return ErrorCode::Internal;
  return machine_->error(owner, future);
}

void PageProgram::check() {
  std::erase_if(expected_, [&](const Expected& each) {
    if (!machine_->has(each.guest, each.future)) return false;
    check_one(each);
    return true;
  });
}

void PageProgram::check_one(const Expected& each) {
  const Result<AnswerBody>& body = machine_->at(each.guest, each.future);
  if (each.kind == Expected::Kind::Refused) {
    ASSERT_FALSE(body.ok());
    // What was lost to a suspension must come back first, whatever is asked.
    const bool may_be_lost = knobs_.failure_percent > 0 && body.error().code() == ErrorCode::Io;
    if (is_fallible() && (body.error().code() == ErrorCode::NoFreePage || may_be_lost)) return;
    ASSERT_EQ(body.error().code(), each.code) << body.error().message();
    return;
  }
  if (!body.ok()) {
    ASSERT_TRUE(is_fallible()) << body.error().message();
    const ErrorCode code = body.error().code();
    ASSERT_TRUE(code == ErrorCode::NoFreePage || code == ErrorCode::Io) << body.error().message();
    return;
  }
  if (each.kind == Expected::Kind::Done) return;
  if (each.kind == Expected::Kind::Output) {
    ASSERT_EQ(std::get<NextDistribution>(body.value()).tokens,
              test::top_tokens(each.output, kVocabularySize, 8))
        << "tokens differ";
    return;
  }
  const ContextCounters& counters = std::get<ContextState>(body.value()).counters;
  if (!is_fallible() || each.kind == Expected::Kind::Edited) {
    ASSERT_EQ(counters.seq_len, each.seq_len);
  }
  ASSERT_EQ(counters.committed_page_count,
            each.content.seen_page_count(knobs_.page_size, counters.seq_len));
  ASSERT_EQ(counters.working_page_token_count, counters.seq_len % knobs_.page_size);
}

void PageProgram::expect(const Guest& guest, FutureId future, const Chain& chain,
                         Expected::Kind kind) {
  expected_.push_back(
      {.guest = guest.id,
       .future = future,
       .kind = kind,
       .content = chain.content,
       .seq_len = kind == Expected::Kind::Edited ? chain.written() : chain.length()});
}

void PageProgram::expect_output(const Guest& guest, FutureId future, std::uint64_t output) {
  expected_.push_back(
      {.guest = guest.id, .future = future, .kind = Expected::Kind::Output, .output = output});
}

void PageProgram::expect_refusal(const Guest& guest, FutureId future, ErrorCode code) {
  expected_.push_back(
      {.guest = guest.id, .future = future, .kind = Expected::Kind::Refused, .code = code});
}

void PageProgram::expect_done(const Guest& guest, FutureId future) {
  expected_.push_back({.guest = guest.id, .future = future, .kind = Expected::Kind::Done});
}

// Everybody goes, and nothing is left.
void PageProgram::end_all() {
  settle();
  for (const Guest& guest : guests_) machine_->controller->end_instance(guest.id);
  guests_.clear();
  settle();
  machine_->verify();
  EXPECT_TRUE(machine_->controller->idle());
  EXPECT_EQ(machine_->free_page_count(), 2 * knobs_.page_count) << "of both models";
  const ControlStatistics statistics = machine_->controller->statistics();
  if (statistics.found_token_count > 0) note("a token found");
  if (statistics.suspension_count > 0) note("a context suspended");
}

void PageProgram::start_again(const std::function<void()>& edit) {
  end_all();
  machine_.reset();
  edit();
  new_machine();
}

}  // namespace quire::control
