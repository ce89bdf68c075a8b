#include "application/net/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/start_thread.h"
#include "control/api/tenant_shares.h"

namespace quire::net {
namespace {

struct FreeList {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

}  // namespace

Result<std::vector<IpAddress>> SystemResolver::resolve(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(name.c_str(), nullptr, &wanted, &found);
  const std::unique_ptr<addrinfo, FreeList> list(found);
  if (code != 0) {
    const bool is_unknown = code == EAI_NONAME || code == EAI_NODATA;
    return Error(is_unknown ? ErrorCode::NotFound : ErrorCode::Unavailable,
                 "the name " + name + ": " + gai_strerror(code));
  }
  std::vector<IpAddress> addresses;
  for (const addrinfo* each = list.get(); each != nullptr; each = each->ai_next) {
    IpAddress address;
    if (each->ai_family == AF_INET) {
      address.is_v4 = true;
      std::memcpy(address.bytes.data(),
                  &reinterpret_cast<const sockaddr_in*>(each->ai_addr)->sin_addr, 4);
    } else if (each->ai_family == AF_INET6) {
      std::memcpy(address.bytes.data(),
                  &reinterpret_cast<const sockaddr_in6*>(each->ai_addr)->sin6_addr, 16);
    } else {
      continue;
    }
    addresses.push_back(address);
  }
  return addresses;
}

// The state that the pool shares with its threads; the last of them frees it.
struct LookupPool::Shared {
  explicit Shared(std::shared_ptr<Resolver> given) : resolver(std::move(given)) {}

  const std::shared_ptr<Resolver> resolver;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by the mutex.
  std::function<void()> notify;
  std::deque<std::shared_ptr<Lookup>> waiting;
  std::vector<std::shared_ptr<Lookup>> finished;
  std::map<std::uint64_t, std::size_t> busy;  // Threads that each owner has now,
  control::TenantShares tenants{
      kThreadCountMax};  // and each tenant: at most half of what the others leave.
  std::size_t thread_count = 0;
  std::size_t idle_count = 0;
  bool is_closed = false;

  void forget_dropped();  // Of those that wait. With the mutex.
  // The next that may begin, taken off the line; null where none may. With the mutex.
  std::shared_ptr<Lookup> take_next();
};

void LookupPool::Shared::forget_dropped() {
  std::erase_if(waiting,
                [](const std::shared_ptr<Lookup>& each) { return each->is_dropped.load(); });
}

std::shared_ptr<Lookup> LookupPool::Shared::take_next() {
  forget_dropped();
  const auto threads_of = [&](const std::shared_ptr<Lookup>& lookup) {
    const auto found = busy.find(lookup->owner);
    return found == busy.end() ? std::size_t{0} : found->second;
  };
  const auto may_begin = [&](const std::shared_ptr<Lookup>& lookup) {
    return threads_of(lookup) < kThreadsPerOwnerMax &&
           (tenants.count_of(lookup->tenant) == 0 || tenants.may_take(lookup->tenant, 1));
  };
  auto next = waiting.end();
  for (auto each = waiting.begin(); each != waiting.end(); ++each) {
    if (!may_begin(*each)) continue;
    if (next == waiting.end() || threads_of(*each) < threads_of(*next)) next = each;
  }
  if (next == waiting.end()) return nullptr;
  std::shared_ptr<Lookup> taken = std::move(*next);
  waiting.erase(next);
  ++busy[taken->owner];
  tenants.take(taken->tenant, 1);
  return taken;
}

LookupPool::LookupPool(std::shared_ptr<Resolver> resolver, std::function<void()> notify)
    : shared_(std::make_shared<Shared>(std::move(resolver))) {
  shared_->notify = std::move(notify);
}

LookupPool::~LookupPool() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->is_closed = true;
    shared_->notify = nullptr;
    shared_->waiting.clear();
  }
  shared_->changed.notify_all();
}

Result<std::shared_ptr<Lookup>> LookupPool::begin(std::string name, std::uint64_t owner,
                                                  control::TenantId tenant) {
  auto lookup = std::make_shared<Lookup>();
  lookup->name = std::move(name);
  lookup->owner = owner;
  lookup->tenant = tenant;
  std::lock_guard lock(shared_->mutex);
  shared_->forget_dropped();  // Busy threads look at the line no sooner than they are done.
  if (shared_->waiting.size() >= kLookupCountMax) {
    return Error(ErrorCode::Unavailable,
                 std::to_string(kLookupCountMax) + " names wait to be looked up; try again later");
  }
  shared_->waiting.push_back(lookup);
  if (shared_->idle_count < shared_->waiting.size() && shared_->thread_count < kThreadCountMax) {
    Result<std::thread> thread =
        start_thread("looking up names", [shared = shared_] { work(shared); });
    if (thread.ok()) {
      thread.value().detach();
      ++shared_->thread_count;
    } else if (shared_->thread_count == 0) {  // Else those that there are come to it.
      shared_->waiting.pop_back();
      return std::move(thread).take_error();
    }
  }
  shared_->changed.notify_one();
  return lookup;
}

std::vector<std::shared_ptr<Lookup>> LookupPool::take_finished() {
  std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->finished, {});
}

void LookupPool::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    std::shared_ptr<Lookup> lookup;
    ++shared->idle_count;
    shared->changed.wait(
        lock, [&] { return shared->is_closed || (lookup = shared->take_next()) != nullptr; });
    --shared->idle_count;
    if (shared->is_closed) return;
    lock.unlock();
    lookup->answer = shared->resolver->resolve(lookup->name);
    lock.lock();
    if (shared->is_closed) return;
    if (--shared->busy[lookup->owner] == 0) shared->busy.erase(lookup->owner);
    shared->tenants.give(lookup->tenant, 1);
    shared->changed.notify_one();  // Its owner may have another that waited for this one.
    shared->finished.push_back(std::move(lookup));
    if (shared->notify) shared->notify();
  }
}

}  // namespace quire::net
