#include "simulation/scripted_guest.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "application/hostcalls/calls.h"
#include "base/check.h"
#include "base/clock.h"
#include "simulation/guest_bytes.h"

namespace quire::simulation {

using sandbox::CallOutcome;
using sandbox::FakeAction;
using Kind = FakeAction::Kind;

namespace {

// The time of a wait that only this guest's own patience limits. It is ten times the longest time
// of a device, disk, server or wait for pages here.
constexpr std::uint64_t kWaitNsMax = 600'000 * kMillisecond;
constexpr std::uint64_t kPatienceNsMax = 20 * kMillisecond;
constexpr std::uint32_t kCallNsMax = 2'000;  // That a guest computes between two calls.
constexpr std::uint32_t kOperationsPerUseOfAdapters = 6;  // If the world has adapters.

const sandbox::HostFunction& import_named(std::string_view name) {
  static const std::map<std::string, const sandbox::HostFunction*, std::less<>> imports = [] {
    std::map<std::string, const sandbox::HostFunction*, std::less<>> all;
    for (const sandbox::HostFunction& each : hostcalls::host_functions()) {
      std::string module = each.module;
      constexpr std::string_view kPrefix = "quire:core/";
      if (!module.starts_with(kPrefix)) continue;
      module = module.substr(kPrefix.size(), module.find('@') - kPrefix.size());
      all[module + "." + each.name] = &each;
    }
    return all;
  }();
  const auto found = imports.find(name);
  QUIRE_CHECK(found != imports.end(), "an import that exists");
  return *found->second;
}

template <typename T>
T number_of(const std::string& text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

const char* role_name(Role role) {
  constexpr const char* kNames[kRoleCount] = {"writer", "pager",   "messenger",
                                              "parent", "fetcher", "mixed"};
  return kNames[static_cast<std::size_t>(role)];
}

// Weights by role: writer, pager, messenger, parent, fetcher, mixed.
const std::vector<ScriptedGuest::Operation>& ScriptedGuest::operations() {
  using G = ScriptedGuest;
  static const std::vector<Operation> all = {
      {"create_queue", {2, 2, 0, 0, 0, 1}, &G::create_queue},
      {"destroy_queue", {1, 1, 0, 0, 0, 1}, &G::destroy_queue},
      {"synchronize", {1, 2, 0, 0, 0, 1}, &G::synchronize},
      {"create_context", {4, 1, 0, 1, 0, 3}, &G::create_context},
      {"append", {16, 2, 0, 8, 1, 8}, &G::append},
      {"flush", {8, 1, 0, 6, 0, 4}, &G::flush},
      {"sample", {10, 1, 0, 1, 0, 4}, &G::sample},
      {"forward", {8, 1, 0, 1, 0, 4}, &G::forward},
      {"fork", {6, 1, 0, 1, 0, 3}, &G::fork},
      {"rewind", {3, 0, 0, 0, 0, 2}, &G::rewind},
      {"truncate", {2, 0, 0, 0, 0, 1}, &G::truncate},
      {"drop_range", {2, 0, 0, 0, 0, 1}, &G::drop_range, true},
      {"splice", {2, 0, 0, 0, 0, 1}, &G::splice},
      {"reserve", {1, 0, 0, 0, 0, 1}, &G::reserve},
      {"drop_context", {3, 1, 0, 0, 0, 2}, &G::drop_context},
      {"hint", {2, 0, 0, 0, 0, 1}, &G::hint},
      {"save", {3, 0, 0, 0, 0, 2}, &G::save},
      {"open", {3, 0, 0, 0, 0, 2}, &G::open},
      {"list_snapshots", {1, 0, 0, 0, 0, 1}, &G::list_snapshots},
      {"keep_and_delete", {1, 1, 1, 1, 1, 1}, &G::keep_and_delete},
      {"count_up", {1, 1, 2, 2, 1, 2}, &G::count_up},
      {"generate", {8, 0, 0, 2, 1, 4}, &G::generate},
      {"read_generation", {8, 0, 0, 2, 1, 4}, &G::read_generation},
      {"stop_generation", {1, 0, 0, 0, 0, 1}, &G::stop_generation},
      {"verify_drafts", {4, 0, 0, 1, 0, 2}, &G::verify_drafts},
      {"compile_grammar", {2, 1, 1, 0, 0, 1}, &G::compile_grammar},
      {"look_at_token_kinds", {1, 0, 1, 0, 0, 1}, &G::look_at_token_kinds},
      {"create_run", {0, 6, 0, 0, 0, 1}, &G::create_run, true},
      {"extend_run", {0, 24, 0, 0, 0, 4}, &G::extend_run, true},
      {"export_run", {0, 4, 0, 0, 0, 1}, &G::export_run, true},
      {"import_pages", {0, 5, 0, 0, 0, 1}, &G::import_pages, true},
      {"take_pages", {1, 4, 0, 0, 0, 1}, &G::take_pages, true},
      {"make_context_of_run", {0, 4, 0, 0, 0, 1}, &G::make_context_of_run, true},
      {"list_exports", {0, 1, 0, 0, 0, 1}, &G::list_exports},
      {"unexport", {0, 3, 0, 0, 0, 1}, &G::unexport},
      {"drop_run", {0, 3, 0, 0, 0, 1}, &G::drop_run, true},
      {"say", {3, 1, 6, 4, 3, 4}, &G::say},
      {"listen", {2, 0, 8, 2, 2, 3}, &G::listen},
      {"send_file", {1, 0, 3, 1, 1, 2}, &G::send_file},
      {"write_file", {1, 0, 6, 1, 1, 3}, &G::write_file},
      {"receive_file", {0, 0, 4, 1, 1, 2}, &G::receive_file},
      {"read_file", {0, 0, 6, 1, 1, 3}, &G::read_file},
      {"log", {1, 1, 1, 1, 1, 1}, &G::log},
      {"set_result", {1, 1, 1, 1, 1, 1}, &G::set_result},
      {"sleep", {1, 1, 3, 2, 2, 2}, &G::sleep},
      {"look_around", {1, 1, 6, 2, 1, 2}, &G::look_around},
      {"tokenize", {2, 0, 1, 0, 1, 2}, &G::tokenize},
      {"subscribe", {0, 0, 4, 0, 0, 2}, &G::subscribe},
      {"broadcast", {0, 0, 10, 1, 1, 3}, &G::broadcast},
      {"read_subscription", {0, 0, 12, 0, 0, 3}, &G::read_subscription},
      {"unsubscribe", {0, 0, 2, 0, 0, 1}, &G::unsubscribe},
      {"push", {0, 0, 8, 2, 2, 3}, &G::push},
      {"pull", {0, 0, 8, 2, 0, 3}, &G::pull},
      {"launch", {1, 0, 1, 8, 0, 2}, &G::launch},
      {"listen_to_child", {1, 0, 1, 10, 0, 3}, &G::listen_to_child},
      {"speak_to_child", {0, 0, 1, 6, 0, 2}, &G::speak_to_child},
      {"wait_for_child", {0, 0, 1, 6, 0, 2}, &G::wait_for_child},
      {"kill_child", {0, 0, 0, 2, 0, 1}, &G::kill_child},
      {"copy_run", {0, 5, 0, 0, 0, 1}, &G::copy_run, true},
      {"mask_run", {0, 5, 0, 0, 0, 1}, &G::mask_run, true},
      {"look_at_context", {3, 1, 0, 0, 0, 1}, &G::look_at_context},
      {"commit_pages", {2, 0, 0, 0, 0, 1}, &G::commit_pages},
      {"release_pages", {2, 0, 0, 0, 0, 1}, &G::release_pages},
      {"truncate_tail", {2, 0, 0, 0, 0, 1}, &G::truncate_tail},
      {"look_at_models", {1, 0, 1, 0, 1, 1}, &G::look_at_models},
      {"ask_for_absent_traits", {1, 0, 0, 0, 0, 1}, &G::ask_for_absent_traits},
      {"detokenize", {2, 0, 1, 0, 1, 2}, &G::detokenize},
      {"read_vocabulary", {1, 0, 1, 0, 1, 1}, &G::read_vocabulary},
      {"list_keys", {1, 1, 2, 2, 1, 2}, &G::list_keys},
      {"post", {0, 0, 0, 0, 5, 1}, &G::post},
      {"upload", {0, 0, 0, 0, 10, 2}, &G::upload},
      {"fetch", {0, 0, 0, 0, 12, 2}, &G::fetch},
      {"stream", {0, 0, 0, 0, 10, 2}, &G::stream},
      {"use_stale_handle", {2, 2, 2, 2, 2, 2}, &G::use_stale_handle},
  };
  return all;
}

ScriptedGuest::~ScriptedGuest() = default;

// ---- Calls.

sandbox::FakeHost::Outcome ScriptedGuest::invoke(const char* import,
                                                 std::initializer_list<std::int64_t> arguments) {
  const sandbox::FakeHost::Outcome outcome =
      host_->call(import_named(import), std::span(arguments.begin(), arguments.size()));
  bytes_end_ = kGivenBytes;
  ++town_.call_counts[import];
  town_.trace.note({"guest", instance_}, import,
                   outcome.outcome == CallOutcome::Suspend ? 0 : outcome.value);
  town_.clock.advance_ns(dice_.below(kCallNsMax));
  return outcome;
}

std::int64_t ScriptedGuest::call(const char* import,
                                 std::initializer_list<std::int64_t> arguments) {
  return invoke(import, arguments).value;
}

std::int64_t ScriptedGuest::put_bytes(std::string_view bytes) {
  const std::int64_t address = host_->put(bytes_end_, bytes);
  bytes_end_ += static_cast<std::uint32_t>(bytes.size() + 3) / 4 * 4;
  QUIRE_CHECK(bytes_end_ <= kTakenBytes, "what is given fits in front of what is taken");
  return address;
}

std::string ScriptedGuest::last_error() {
  const std::int64_t bytes = call("runtime.last-error", {kTakenBytes, kTakenBytesMax});
  return host_->get(kTakenBytes, static_cast<std::uint32_t>(bytes));
}

std::string ScriptedGuest::own_name() const {
  return "instance " + std::to_string(instance_) + " (" + role_name(role_) + ")";
}

void ScriptedGuest::find(const std::string& what) {
  town_.findings.add(own_name() + ": " + what);
}

// Errors that what is wrong with the world explains; the others are the caller's to allow.
bool ScriptedGuest::is_allowed(ErrorCode code, std::initializer_list<ErrorCode> allowed) const {
  const Knobs& knobs = town_.knobs;
  if (std::find(allowed.begin(), allowed.end(), code) != allowed.end()) return true;
  const bool is_scarce = knobs.scenario == Scenario::Crowd || knobs.scenario == Scenario::Storm ||
                         knobs.scenario == Scenario::Thrift || knobs.trouble.is_short;
  switch (code) {
    case ErrorCode::QuotaExceeded:
    case ErrorCode::NoFreePage:  // Of a page whose allocation was beyond the quota.
      return is_scarce || depth_ > 0 || has_lent_;
    case ErrorCode::Internal:
      return knobs.can_compute_fail();
    default:
      return false;
  }
}

bool ScriptedGuest::check(const char* import, std::int64_t value,
                          std::initializer_list<ErrorCode> allowed) {
  if (value >= 0) return true;
  const auto code = static_cast<ErrorCode>(-value);
  if (!is_allowed(code, allowed)) {
    find(std::string(import) + " is refused: " + error_code_name(code) + ": " + last_error());
  }
  return false;
}

// ---- Futures.

bool ScriptedGuest::expect(const char* what, std::int64_t future, Comes comes, Then then,
                           std::function<void()> dropped,
                           std::initializer_list<ErrorCode> allowed) {
  if (!check(what, future, allowed)) return false;
  pending_.push_back({.future = static_cast<std::int32_t>(future),
                      .what = what,
                      .comes = comes,
                      .asked_ns = town_.clock.now_ns(),
                      .then = std::move(then),
                      .dropped = std::move(dropped)});
  return true;
}

void ScriptedGuest::take_ready() {
  if (pending_.empty()) return;
  std::vector<std::int32_t> futures;
  for (const Pending& each : pending_) futures.push_back(each.future);
  const std::int64_t list = put_list(futures);
  const std::int64_t count =
      call("future.poll", {list, static_cast<std::int64_t>(futures.size()), kTakenBytes});
  if (!check("future.poll", count)) return;
  const std::string flags = host_->get(kTakenBytes, static_cast<std::uint32_t>(futures.size()));
  if (std::count(flags.begin(), flags.end(), '\1') != count) find("future.poll counts wrongly");
  const bool takes_all = operations_left_ == 0;
  for (std::size_t index = 0; index < futures.size(); ++index) {
    if (flags[index] == 0 || (!takes_all && dice_.one_in(8))) continue;
    const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& each) {
      return each.future == futures[index];
    });
    if (found == pending_.end()) continue;
    Pending ready = std::move(*found);
    pending_.erase(found);
    take(std::move(ready));
  }
}

void ScriptedGuest::take(Pending pending) {
  const std::uint32_t capacity = dice_.one_in(8) ? dice_.below(8) : kTakenBytesMax;
  std::int64_t value = call("future.take", {pending.future, kTakenBytes, capacity});
  if (value > capacity) {  // The future stays.
    const std::int64_t again = call("future.take", {pending.future, kTakenBytes, kTakenBytesMax});
    if (again != value) find(std::string(pending.what) + " gives another result the second time");
    value = again;
  }
  stale_.push_back(pending.future);
  Taken taken;
  if (value < 0) {
    taken.error = static_cast<ErrorCode>(-value);
    taken.bytes = last_error();
  } else {
    taken.bytes = host_->get(kTakenBytes, static_cast<std::uint32_t>(value));
  }
  town_.trace.note({"guest", instance_}, pending.what, value, taken.bytes);
  pending.then(taken);
}

void ScriptedGuest::drop_pending(std::size_t index) {
  Pending pending = std::move(pending_[index]);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  check("future.drop", call("future.drop", {pending.future}));
  stale_.push_back(pending.future);
  if (pending.dropped) pending.dropped();
}

// Whether the device, or the world, did not let the guest compute.
bool ScriptedGuest::compute_failed(const char* what, const Taken& taken) {
  if (taken.ok()) return false;
  const bool is_loss = *taken.error == ErrorCode::Io && town_.knobs.can_lose_pages();
  if (!is_loss && !is_allowed(*taken.error, {})) {
    find(std::string(what) + " fails: " + error_code_name(*taken.error) + ": " + taken.bytes);
  }
  return true;
}

void ScriptedGuest::abandon() {
  if (!pending_.empty()) drop_pending(dice_.below(pending_.size()));
}

// A call with a stale handle gets an error, and nothing else happens.
void ScriptedGuest::use_stale_handle() {
  if (stale_.empty()) return;
  const std::int64_t handle = stale_[dice_.below(stale_.size())];
  constexpr const char* kCalls[] = {
      "context.flush",          "queue.synchronize",  "future.drop",
      "messaging.next-message", "runtime.wait-child", "net.read-body",
      "queue.destroy-queue",    "context.fork",       "messaging.unsubscribe"};
  const char* import = kCalls[dice_.below(std::size(kCalls))];
  std::int64_t value = 0;
  if (dice_.one_in(3)) {
    import = "future.take";
    value = call(import, {handle, kTakenBytes, kTakenBytesMax});
  } else {
    value = call(import, {handle});
  }
  constexpr std::int64_t kNotFound = -static_cast<std::int64_t>(ErrorCode::NotFound);
  if (value != kNotFound && value != -static_cast<std::int64_t>(ErrorCode::QuotaExceeded)) {
    find(std::string(import) + " takes the stale handle " + std::to_string(handle) + ": " +
         std::to_string(value));
  }
}

// ---- The script.

FakeAction ScriptedGuest::begin() {
  has_begun_ = true;
  bytes_end_ = kGivenBytes;
  instance_ = static_cast<InstanceNumber>(call("runtime.get-instance-id", {}));
  const auto argument = [&](std::uint32_t index) {
    const std::int64_t bytes = call("runtime.get-arg", {index, kTakenBytes, 64});
    return bytes < 0 ? std::string() : host_->get(kTakenBytes, static_cast<std::uint32_t>(bytes));
  };
  dice_ = Dice(number_of<std::uint64_t>(argument(0)));
  depth_ = number_of<std::uint32_t>(argument(1));
  Resident& resident = town_.residents[instance_];
  resident.parent = number_of<InstanceNumber>(argument(2));
  if (resident.parent != 0) {
    town_.children[{resident.parent, number_of<std::uint32_t>(argument(3))}] = instance_;
  }
  const std::int64_t bytes = call("runtime.get-tenant", {kTakenBytes, 64});
  tenant_ = number_of<TenantNumber>(host_->get(kTakenBytes, static_cast<std::uint32_t>(bytes)));
  resident.tenant = tenant_;
  operations_left_ = dice_.between(1, town_.knobs.operation_count_max) >> depth_;
  for (std::uint32_t model = 0; model < town_.knobs.model_count; ++model) {
    const std::string name = model == 0 ? "" : "simulated-" + std::to_string(model);
    const std::int64_t address = put_bytes(name);
    const std::int64_t handle =
        call("models.get-model", {address, static_cast<std::int64_t>(name.size())});
    if (check("models.get-model", handle)) models_.push_back(static_cast<std::int32_t>(handle));
  }
  return go_on();
}

FakeAction ScriptedGuest::step(sandbox::FakeHost& host) {
  host_ = &host;
  const std::uint32_t stand_still = town_.knobs.trouble.stand_still;
  if (stand_still > 0 && dice_.below(1000) < stand_still) {
    town_.clock.advance_ns(11 * kSecond);  // More than it may run without waiting.
  }
  if (!has_begun_) return begin();
  if (host.wait_result) after_wait(*host.wait_result);
  return go_on();
}

void ScriptedGuest::operate() {
  if (town_.adapters.is_open() && dice_.one_in(kOperationsPerUseOfAdapters)) {
    return operate_adapters();
  }
  const auto weight_of = [this](const Operation& each) {
    const bool is_refused = each.is_without_states && town_.knobs.state_count > 0;
    return is_refused ? 0 : each.weights[static_cast<std::size_t>(role_)];
  };
  std::uint32_t sum = 0;
  for (const Operation& each : operations()) sum += weight_of(each);
  std::uint32_t draw = dice_.below(sum);
  for (const Operation& each : operations()) {
    const std::uint32_t weight = weight_of(each);
    if (draw < weight) {
      (this->*each.act)();
      break;
    }
    draw -= weight;
  }
  if (dice_.percent(town_.knobs.abandon)) abandon();
}

FakeAction ScriptedGuest::go_on() {
  if (std::exchange(drop_count_, town_.drop_count) != town_.drop_count) {
    while (!pending_.empty()) drop_pending(pending_.size() - 1);
  }
  take_ready();
  if (town_.is_closing) operations_left_ = std::min(operations_left_, 1u);
  for (std::uint32_t count = dice_.between(1, 6); count > 0 && operations_left_ > 0; --count) {
    --operations_left_;
    operate();
  }
  if (dice_.percent(town_.knobs.trap)) {
    town_.residents[instance_].departure = Departure::Trapped;
    return {Kind::Trap, 0, "by the script"};
  }
  if (operations_left_ == 0) {
    if (dice_.one_in(4)) return finish();  // With whatever is under way.
    for (std::size_t index = pending_.size(); index > 0; --index) {
      if (pending_[index - 1].comes == Comes::Perhaps) drop_pending(index - 1);
    }
    if (pending_.empty()) return finish();
  } else if (dice_.one_in(12)) {
    return {Kind::Yield, 0, ""};
  }
  return wait();
}

FakeAction ScriptedGuest::finish() {
  Resident& resident = town_.residents[instance_];
  resident.departure = Departure::Finished;
  resident.exit_code = static_cast<std::int32_t>(dice_.below(3));
  return {Kind::Finish, resident.exit_code, ""};
}

FakeAction ScriptedGuest::wait() {
  awaited_.clear();
  bool is_sure = false;
  std::string words;
  const bool waits_for_one = dice_.one_in(4);
  for (const Pending& each : pending_) {
    if (waits_for_one ? !awaited_.empty() : dice_.one_in(4)) continue;
    awaited_.push_back(each.future);
    is_sure |= each.comes == Comes::Surely;
    words += std::string(words.empty() ? "" : ", ") + each.what;
  }
  wait_limit_ns_ = -1;
  if (!is_sure || dice_.one_in(6)) {
    wait_limit_ns_ = static_cast<std::int64_t>(dice_.time_ns(kPatienceNsMax));
  }
  wait_began_ns_ = town_.clock.now_ns();
  const std::int64_t list = put_list(awaited_);
  const sandbox::FakeHost::Outcome outcome =
      invoke("future.wait", {list, static_cast<std::int64_t>(awaited_.size()), wait_limit_ns_});
  if (outcome.outcome == CallOutcome::Suspend) {
    town_.residents[instance_].waits_for =
        words + (wait_limit_ns_ < 0 ? "" : " for " + std::to_string(wait_limit_ns_) + " ns");
    return {Kind::Wait, 0, ""};
  }
  check("future.wait", outcome.value, {ErrorCode::Timeout});
  return {Kind::Yield, 0, ""};
}

void ScriptedGuest::after_wait(std::int32_t result) {
  town_.residents[instance_].waits_for.clear();
  town_.trace.note({"guest", instance_}, "woken", result);
  const std::uint64_t waited_ns = town_.clock.now_ns() - wait_began_ns_;
  if (wait_limit_ns_ < 0 && waited_ns > kWaitNsMax) {
    find("waited " + std::to_string(waited_ns / kMillisecond) + " ms for what comes surely");
  }
  if (result == -static_cast<std::int32_t>(ErrorCode::Timeout)) {
    if (wait_limit_ns_ < 0) {
      find("woken for nothing");
    } else if (waited_ns < static_cast<std::uint64_t>(wait_limit_ns_)) {
      find("woken before its time, and for nothing");
    }
    return;
  }
  if (result < 0 || static_cast<std::size_t>(result) >= awaited_.size()) {
    find("woken for " + std::to_string(result) + " of " + std::to_string(awaited_.size()));
    return;
  }
  const std::int64_t list = put_list(awaited_);
  call("future.poll", {list, static_cast<std::int64_t>(awaited_.size()), kTakenBytes});
  if (host_->get(kTakenBytes + static_cast<std::uint32_t>(result), 1)[0] != 1) {
    find("woken for a future that is not ready");
  }
}

}  // namespace quire::simulation
