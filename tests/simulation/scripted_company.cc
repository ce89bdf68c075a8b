// Actions of scripted guests with clients, one another, children and servers outside.
#include <algorithm>
#include <charconv>

#include "simulation/guest_bytes.h"
#include "simulation/machine.h"
#include "simulation/servers.h"

namespace quire::simulation {
namespace {

constexpr std::size_t kSubscriptionCountMax = 3;
constexpr std::size_t kChildCountMax = 4;
constexpr std::uint32_t kListenerCountMax = 2;
constexpr std::uint32_t kDepthMax = 2;
constexpr std::uint32_t kTextBytesMax = 600;  // Some are too long to be done at once.
constexpr std::uint64_t kSleepNsMax = 50'000'000;

std::string some_topic(Dice& dice, const char* prefix) {
  return prefix + std::to_string(dice.below(3));
}

}  // namespace

// ---- The client, or the parent.

void ScriptedGuest::say() {
  Resident& resident = town_.residents[instance_];
  const std::string text = message_text(instance_, resident.said_count);
  const std::int64_t at = put_bytes(text);
  if (check("session.send", call("session.send", {at, length_of(text)}),
            {ErrorCode::QuotaExceeded})) {
    ++resident.said_count;
  }
}

void ScriptedGuest::listen() {
  if (listener_count_ >= kListenerCountMax) return;
  const bool made = expect(
      "receive", call("session.receive", {}), Comes::Perhaps,
      [this](const Taken& taken) {
        --listener_count_;
        if (taken.error == ErrorCode::Unavailable) return;  // The client left, or is silent.
        if (compute_failed("receive", taken)) return;
        if (!heard_.insert(taken.bytes).second) find("received \"" + taken.bytes + "\" twice");
      },
      [this] { --listener_count_; });
  if (made) ++listener_count_;
}

void ScriptedGuest::log() {
  const std::string text = "operations left: " + std::to_string(operations_left_);
  const std::int64_t at = put_bytes(text);
  check("runtime.log", call("runtime.log", {dice_.below(4), at, length_of(text)}),
        {ErrorCode::QuotaExceeded});
}

void ScriptedGuest::set_result() {
  const std::string text = "result " + std::to_string(dice_.below(1000));
  const std::int64_t at = put_bytes(text);
  if (check("runtime.set-result", call("runtime.set-result", {at, length_of(text)}))) {
    town_.residents[instance_].result = text;
  }
}

// ---- Itself.

void ScriptedGuest::sleep() {
  const std::uint64_t duration_ns = dice_.time_ns(kSleepNsMax);
  const std::uint64_t until_ns = town_.clock.now_ns() + duration_ns;
  expect("sleep", call("runtime.sleep", {static_cast<std::int64_t>(duration_ns)}), Comes::Surely,
         [this, until_ns](const Taken& taken) {
           if (compute_failed("sleep", taken)) return;
           if (town_.clock.now_ns() < until_ns) find("slept too short");
         });
}

// Nothing that is counted is beyond its limit. A future that was dropped gives its message back
// though the room was taken. Forks that gave up the page that they shared are to have one each back
// (away_pages.h; Controller::verify() checks held pages). The rest is exact.
void ScriptedGuest::look_around() {
  const std::int64_t bytes = call("runtime.limits", {kTakenBytes, kTakenBytesMax});
  if (!check("runtime.limits", bytes)) return;
  const std::string text = host_->get(kTakenBytes, static_cast<std::uint32_t>(bytes));
  town_.trace.note({"guest", instance_}, "limits", bytes, text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(' ');
    const std::size_t second = line.rfind(' ');
    const std::string name = line.substr(0, first);
    if (line.substr(second + 1) == "-") continue;  // Of one call.
    const std::uint64_t maximum = std::stoull(line.substr(first + 1));
    const std::uint64_t used = std::stoull(line.substr(second + 1));
    std::uint64_t slack = 0;
    if (name.starts_with("mailbox") && gave_back_) {
      slack = kSubscriptionCountMax * (name.ends_with("bytes_max") ? 64 : 1);
    } else if (name == "token_count_max") {
      // Drafts count once they stand. Meanwhile the program may have lent all the rest to a child.
      slack = 64;
    } else if (name == "page_count_max") {
      slack = contexts_.size();
    } else if (name.starts_with("file_") && name.ends_with("bytes_max")) {
      slack = 1'000;  // A part of each file, and one that was let in.
    } else if (name == "queued_token_count_max") {
      slack = 512;  // A snapshot's queued tokens are let in.
    } else if (name == "pending_command_count_max") {
      // A synchronize is let in, and so is the release of a matcher.
      slack =
          town_.knobs.limits.guest.future_count_max + town_.knobs.limits.guest.matcher_count_max;
    }
    if (used > maximum + slack) find("beyond its limit: " + line);
  }
  constexpr std::int64_t kMissBytes = 8 * sizeof(std::uint32_t);
  const std::int64_t misses = call("runtime.misses", {kTakenBytes, kTakenBytesMax});
  if (check("runtime.misses", misses, {ErrorCode::NotSupported}) && misses % kMissBytes != 0) {
    find("misses of " + std::to_string(misses) + " bytes");
  }
  call("runtime.clock-now", {});
  call("runtime.random", {kTakenBytes, 8});
  town_.trace.note({"guest", instance_}, "random", 8, host_->get(kTakenBytes, 8));
}

void ScriptedGuest::tokenize() {
  if (models_.empty()) return;
  const std::string text(dice_.between(1, kTextBytesMax), static_cast<char>('a' + dice_.below(26)));
  const std::int64_t at = put_bytes(text);
  expect("tokenize", call("tokenize.tokenize", {models_.front(), at, length_of(text), 0}),
         Comes::Surely, [this, text](const Taken& taken) {
           if (compute_failed("tokenize", taken)) return;
           const auto token = ByteCodec::kFirstByteToken + static_cast<unsigned char>(text.front());
           if (taken.bytes.size() != 4 * text.size() ||
               value_at<std::uint32_t>(taken.bytes, taken.bytes.size() - 4) != token) {
             find("tokenize gives other tokens");
           }
         });
}

// ---- Other programs of the tenant.

void ScriptedGuest::subscribe() {
  if (subscriptions_.size() >= kSubscriptionCountMax) return;
  const std::string topic = some_topic(dice_, "topic ");
  const std::int64_t at = put_bytes(topic);
  const std::int64_t handle = call("messaging.subscribe", {at, length_of(topic)});
  if (!check("messaging.subscribe", handle)) return;
  subscriptions_[next_subscription_++] = {.handle = static_cast<std::int32_t>(handle),
                                          .topic = topic,
                                          .next = town_.broadcasts[{tenant_, topic}].size()};
}

void ScriptedGuest::broadcast() {
  const std::string topic = some_topic(dice_, "topic ");
  const std::string text = message_text(instance_, message_count_++);
  const std::int64_t at = put_bytes(topic);
  const std::int64_t message = put_bytes(text);
  if (check("messaging.broadcast",
            call("messaging.broadcast", {at, length_of(topic), message, length_of(text)}),
            {ErrorCode::QuotaExceeded})) {
    town_.broadcasts[{tenant_, topic}].push_back(text);
  }
}

void ScriptedGuest::read_subscription() {
  if (subscriptions_.empty()) return;
  auto at = subscriptions_.begin();
  std::advance(at, dice_.below(subscriptions_.size()));
  Subscription& subscription = at->second;
  if (subscription.has_reader) return;
  const auto forget_reader = [this, key = at->first] {
    const auto found = subscriptions_.find(key);
    if (found != subscriptions_.end()) found->second.has_reader = false;
  };
  subscription.has_reader = expect(
      "next-message", call("messaging.next-message", {subscription.handle}), Comes::Perhaps,
      [this, key = at->first, forget_reader](const Taken& taken) {
        forget_reader();
        const auto found = subscriptions_.find(key);
        if (found == subscriptions_.end()) {
          // A message that was there is the guest's though it unsubscribed since.
          if (!taken.ok() && taken.error != ErrorCode::Cancelled)
            find("next-message: " + taken.bytes);
          return;
        }
        if (compute_failed("next-message", taken)) return;
        Subscription& own = found->second;
        const std::vector<std::string>& all = town_.broadcasts[{tenant_, own.topic}];
        if (own.next >= all.size() || all[own.next] != taken.bytes) {
          find("a message to " + own.topic + " lost, doubled, or out of order: \"" + taken.bytes +
               "\"");
        }
        ++own.next;
      },
      [this, forget_reader] {
        forget_reader();
        gave_back_ = true;
      });
}

void ScriptedGuest::unsubscribe() {
  if (subscriptions_.empty()) return;
  const auto at = subscriptions_.begin();
  const std::int32_t handle = at->second.handle;
  const char* import = dice_.one_in(2) ? "messaging.unsubscribe" : "future.drop";
  check(import, call(import, {handle}));
  stale_.push_back(handle);
  subscriptions_.erase(at);
}

void ScriptedGuest::push() {
  const std::string queue = some_topic(dice_, "queue ");
  const std::string text = queue + " " + message_text(instance_, message_count_++);
  const std::int64_t at = put_bytes(queue);
  const std::int64_t message = put_bytes(text);
  if (check("messaging.push",
            call("messaging.push", {at, length_of(queue), message, length_of(text)}),
            {ErrorCode::QuotaExceeded})) {
    town_.pushed.insert({tenant_, text});
  }
}

void ScriptedGuest::pull() {
  const std::string queue = some_topic(dice_, "queue ");
  const std::int64_t at = put_bytes(queue);
  expect("pull", call("messaging.pull", {at, length_of(queue)}), Comes::Perhaps,
         [this](const Taken& taken) {
           if (compute_failed("pull", taken)) return;
           if (!town_.pushed.contains({tenant_, taken.bytes})) {
             find("pulled what nobody of the tenant pushed: \"" + taken.bytes + "\"");
           }
           if (!town_.pulled.insert({tenant_, taken.bytes}).second) {
             find("pulled a second time: \"" + taken.bytes + "\"");
           }
         },
         {}, {ErrorCode::QuotaExceeded});
}

// ---- Children.

void ScriptedGuest::launch() {
  if (depth_ >= kDepthMax || children_.size() >= kChildCountMax) return;
  const std::uint32_t key = next_child_++;
  const std::string program =
      dice_.one_in(4) ? "" : role_name(static_cast<Role>(dice_.below(kRoleCount)));
  std::string arguments;
  for (const std::uint64_t each :
       {dice_.next(), std::uint64_t{depth_} + 1, std::uint64_t{instance_}, std::uint64_t{key}}) {
    const std::string text = std::to_string(each);
    const auto bytes = static_cast<std::uint32_t>(text.size());
    arguments.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    arguments += text;
  }
  const std::int64_t name = put_bytes(program);
  const std::int64_t list = put_bytes(arguments);
  const std::int64_t handle =
      call("runtime.launch",
           {name, length_of(program), list, length_of(arguments), dice_.between(10, 100)});
  if (!check("runtime.launch", handle, {ErrorCode::QuotaExceeded, ErrorCode::Unavailable})) return;
  children_[key] = {.handle = static_cast<std::int32_t>(handle)};
  has_lent_ = true;
}

void ScriptedGuest::listen_to_child() {
  if (children_.empty()) return;
  auto at = children_.begin();
  std::advance(at, dice_.below(children_.size()));
  if (at->second.has_reader) return;
  const auto forget_reader = [this, key = at->first] {
    const auto found = children_.find(key);
    if (found != children_.end()) found->second.has_reader = false;
  };
  at->second.has_reader = expect(
      "receive-child", call("runtime.receive-child", {at->second.handle}), Comes::Perhaps,
      [this, key = at->first, forget_reader](const Taken& taken) {
        forget_reader();
        if (taken.error == ErrorCode::Unavailable) return;  // It ended and said all.
        if (taken.error == ErrorCode::Cancelled && !children_.contains(key)) return;
        if (compute_failed("receive-child", taken)) return;
        const auto child = town_.children.find({instance_, key});
        if (child == town_.children.end()) {
          find("a child spoke that never began");
        } else {
          town_.heard(child->second, taken.bytes);
        }
      },
      forget_reader);
}

void ScriptedGuest::speak_to_child() {
  if (children_.empty()) return;
  auto at = children_.begin();
  std::advance(at, dice_.below(children_.size()));
  const std::string text = "parent " + std::to_string(at->second.told_count);
  const std::int64_t message = put_bytes(text);
  if (check("runtime.send-child",
            call("runtime.send-child", {at->second.handle, message, length_of(text)}),
            {ErrorCode::QuotaExceeded, ErrorCode::NotFound})) {
    ++at->second.told_count;
  }
}

// The end is reported once: its message, exit code and result are the child's.
void ScriptedGuest::wait_for_child() {
  if (children_.empty()) return;
  auto at = children_.begin();
  std::advance(at, dice_.below(children_.size()));
  expect("wait-child", call("runtime.wait-child", {at->second.handle}), Comes::Perhaps,
         [this, key = at->first](const Taken& taken) {
           const auto found = children_.find(key);
           if (taken.error == ErrorCode::Cancelled && found == children_.end()) return;
           if (compute_failed("wait-child", taken)) return;
           const auto result_bytes = value_at<std::uint32_t>(taken.bytes, 8);
           const auto message_bytes = value_at<std::uint32_t>(taken.bytes, 12);
           if (taken.bytes.size() != 16 + std::size_t{result_bytes} + message_bytes) {
             find("wait-child gives " + std::to_string(taken.bytes.size()) + " bytes");
             return;
           }
           if (found == children_.end() || std::exchange(found->second.has_ended, true)) return;
           const auto child = town_.children.find({instance_, key});
           if (child == town_.children.end()) return;  // It ended before it began.
           town_.ended(child->second, static_cast<std::uint8_t>(taken.bytes[0]),
                       value_at<std::int32_t>(taken.bytes, 4),
                       taken.bytes.substr(16, result_bytes));
         });
}

void ScriptedGuest::kill_child() {
  if (children_.empty()) return;
  auto at = children_.begin();
  std::advance(at, dice_.below(children_.size()));
  const std::int32_t handle = at->second.handle;
  if (dice_.one_in(2)) {
    check("runtime.kill-child", call("runtime.kill-child", {handle}));
    return;
  }
  check("future.drop", call("future.drop", {handle}));
  stale_.push_back(handle);
  children_.erase(at);
}

// ---- The outside.

// If the machine slept, servers may seem late.
ErrorCode ScriptedGuest::timeout_after_jump() const {
  const MachineTrouble& trouble = town_.knobs.trouble;
  return trouble.clock_jump + trouble.stand_still > 0 ? ErrorCode::Timeout : ErrorCode{};
}

void ScriptedGuest::fetch() {
  const FakeServer* server = &fake_servers()[dice_.below(fake_servers().size())];
  const std::int64_t url = put_bytes(server->url);
  expect("http-get", call("net.http-get", {url, length_of(server->url), 0, 0}), Comes::Surely,
         [this, server](const Taken& taken) {
           if (!taken.ok()) {
             if (!is_allowed(*taken.error, {server->error, timeout_after_jump()})) {
               find(std::string(server->url) + " fails: " + taken.bytes);
             }
             return;
           }
           const auto header_bytes = value_at<std::uint32_t>(taken.bytes, 4);
           if (value_at<std::uint32_t>(taken.bytes, 0) != 200 ||
               taken.bytes.substr(8 + std::size_t{header_bytes}) != body_of(*server)) {
             find(std::string(server->url) + " gives another body");
           }
         },
         {}, {ErrorCode::QuotaExceeded, ErrorCode::Unavailable});
}

void ScriptedGuest::stream() {
  const FakeServer* server = &fake_servers()[dice_.below(fake_servers().size())];
  const std::int64_t method = put_bytes("GET");
  const std::int64_t url = put_bytes(server->url);
  const std::int64_t exchange =
      call("net.http-request", {method, 3, url, length_of(server->url), 0, 0, 0});
  if (!check("net.http-request", exchange, {ErrorCode::QuotaExceeded, ErrorCode::Unavailable})) {
    return;
  }
  const auto handle = static_cast<std::int32_t>(exchange);
  const auto drop = [this, handle] {
    check("future.drop", call("future.drop", {handle}));
    stale_.push_back(handle);
  };
  const bool made = expect(
      "response-head", call("net.response-head", {handle}), Comes::Surely,
      [this, handle, drop, server](const Taken& taken) {
        if (taken.ok() && !dice_.one_in(8)) return read_stream(handle, server, "");
        if (!taken.ok() && !is_allowed(*taken.error, {server->error, timeout_after_jump()})) {
          find(std::string(server->url) + " fails: " + taken.bytes);
        }
        drop();
      },
      drop);
  if (!made) drop();
}

// The next piece, until the body has ended.
void ScriptedGuest::read_stream(std::int32_t exchange, const FakeServer* server,
                                std::string so_far) {
  const auto drop = [this, exchange] {
    check("future.drop", call("future.drop", {exchange}));
    stale_.push_back(exchange);
  };
  const bool made = expect(
      "read-body", call("net.read-body", {exchange}), Comes::Surely,
      [this, exchange, drop, server, so_far](const Taken& taken) {
        if (!taken.ok()) {
          if (!is_allowed(*taken.error, {server->error, timeout_after_jump()})) {
            find(std::string(server->url) + " fails: " + taken.bytes);
          }
          return drop();
        }
        const std::string all = so_far + taken.bytes;
        if (!body_of(*server).starts_with(all) ||
            (taken.bytes.empty() && all != body_of(*server))) {
          find(std::string(server->url) + " gives another body in pieces");
        }
        if (taken.bytes.empty() || dice_.one_in(8)) return drop();
        read_stream(exchange, server, all);
      },
      drop);
  if (!made) drop();
}

}  // namespace quire::simulation
