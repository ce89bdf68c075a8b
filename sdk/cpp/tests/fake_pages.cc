// The fake host's exports, and the pages of its contexts: a page is the tokens that it holds.
#include <cstring>

#include "fake_host.h"

namespace quire::abi {
namespace {

using test::host;
using Page = test::FakeHost::Page;

constexpr std::size_t kPageTokenCount = 16;

std::string name_of(const std::uint8_t* name, std::uint32_t count) {
  return std::string(reinterpret_cast<const char*>(name), count);
}

// Handles for `pages`, and the record of what each holds.
std::int32_t give(const std::vector<Page>& pages, void* into) {
  std::string record;
  for (std::uint32_t i = 0; i < pages.size(); ++i) {
    const std::int32_t handle = host.new_handle("page");
    host.pages[handle] = pages[i];
    std::memcpy(static_cast<char*>(into) + 4 * i, &handle, 4);
    const std::uint32_t use[2] = {i, (1u << pages[i].size()) - 1};
    record.append(reinterpret_cast<const char*>(use), sizeof use);
  }
  return host.ready_future(record);
}

}  // namespace

namespace context {

std::int32_t pages(std::int32_t context, std::uint32_t first, std::uint32_t count, void* pages) {
  const auto found = host.contexts.find(context);
  if (found == host.contexts.end()) return host.refuse(ErrorCode::NotFound, "no such context");
  const std::vector<std::uint32_t>& all = found->second.computed;
  std::vector<Page> held;
  for (std::size_t at = 0; at < all.size(); at += kPageTokenCount) {
    held.emplace_back(all.begin() + at, all.begin() + std::min(at + kPageTokenCount, all.size()));
  }
  if (first != 0 || count != held.size()) {
    return test::failed_future(ErrorCode::OutOfRange, "the context has other pages");
  }
  return give(held, pages);
}
std::int32_t from_pages(std::int32_t queue, const std::int32_t* pages, std::uint32_t count,
                        const std::uint32_t* tokens, std::uint32_t token_count) {
  if (!host.knows(queue)) return host.refuse(ErrorCode::NotFound, "no such queue");
  std::vector<std::uint32_t> held;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Page& page = host.pages.at(pages[i]);
    held.insert(held.end(), page.begin(), page.end());
  }
  if (held != std::vector<std::uint32_t>(tokens, tokens + token_count)) {
    return test::failed_future(ErrorCode::InvalidArgument, "the pages hold other tokens");
  }
  const std::int32_t handle = host.new_handle("context");
  host.contexts[handle].computed = held;
  std::string record(4, ' ');
  std::memcpy(record.data(), &handle, 4);
  return host.ready_future(record);
}

}  // namespace context

namespace allocate {

std::int32_t export_kvpage(std::int32_t, const std::int32_t* pages, std::uint32_t count,
                           const std::uint8_t* name, std::uint32_t bytes, std::uint32_t) {
  const std::string wanted = name_of(name, bytes);
  if (host.exports.contains(wanted)) {
    return test::failed_future(ErrorCode::AlreadyExists, "there is an export " + wanted);
  }
  if (host.refuses_exports) return test::failed_future(ErrorCode::QuotaExceeded, "no exports");
  for (std::uint32_t i = 0; i < count; ++i) {
    host.exports[wanted].push_back(host.pages.at(pages[i]));
  }
  return host.ready_future("");
}
std::int32_t import_kvpage(std::int32_t, const std::uint8_t* name, std::uint32_t bytes,
                           std::uint32_t count, void* pages) {
  const auto found = host.exports.find(name_of(name, bytes));
  if (found == host.exports.end()) {
    return host.refuse(ErrorCode::NotFound, "no export " + name_of(name, bytes));
  }
  if (count > found->second.size()) return host.refuse(ErrorCode::OutOfRange, "fewer pages");
  return give({found->second.begin(), found->second.begin() + count}, pages);
}
std::int32_t unexport_kvpage(const std::uint8_t* name, std::uint32_t bytes) {
  if (host.exports.erase(name_of(name, bytes)) == 0) {
    return test::failed_future(ErrorCode::NotFound, "no such export");
  }
  return host.ready_future("");
}
std::int32_t list_exports() {
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(host.exports.size()), 0};
  std::string record(reinterpret_cast<const char*>(head), sizeof head);
  for (const auto& [name, pages] : host.exports) {
    std::uint32_t tokens = 0;
    for (const Page& each : pages) tokens += static_cast<std::uint32_t>(each.size());
    const std::uint32_t each[4] = {static_cast<std::uint32_t>(pages.size()), tokens, 2,
                                   static_cast<std::uint32_t>(name.size())};
    record.append(reinterpret_cast<const char*>(each), sizeof each);
    record += name;
  }
  return host.ready_future(record);
}

}  // namespace allocate
}  // namespace quire::abi
