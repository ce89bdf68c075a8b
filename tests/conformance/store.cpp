// store: values of the tenant by key. With a store ("store") and without one.
#include "steps.h"

namespace quire::conformance {
namespace {

void program(Harness& t) {
  if (Harness::argument() != "store") {
    t.refused("store.put", ErrorCode::NotSupported, "key", "value", -1);
    t.refused("store.get", ErrorCode::NotSupported, "key");
    t.refused("store.delete", ErrorCode::NotSupported, "key", -1);
    t.refused("store.list-keys", ErrorCode::NotSupported, "", "", 10);
    return;
  }
  const auto first = number_at<std::int64_t>(t.result("store.put", "key", "one", 0), 0);
  t.refused("store.put", ErrorCode::AlreadyExists, "key", "other", 0);
  t.refused("store.put", ErrorCode::AlreadyExists, "key", "other", first + 1000);
  t.refused("store.put", ErrorCode::NotFound, "none", "other", first);
  const auto second = number_at<std::int64_t>(t.result("store.put", "key", "two", first), 0);
  t.check(second != first, "versions differ");
  t.check(t.result("store.get", "key").substr(8) == "two", "the last one counts");
  t.result("store.put", "key", "", -1);
  t.check(t.result("store.get", "key").size() == 8, "a value may be empty");
  t.refused("store.get", ErrorCode::NotFound, "none");
  const std::string bytes("\0\xFF\n/", 4);
  t.result("store.put", bytes, std::string(65'536, '\0'), -1);
  const std::string list = t.result("store.list-keys", "", "", 1);
  t.check(number_at<std::uint32_t>(list, 0) == 1 && number_at<std::uint32_t>(list, 4) == 1,
          "one of more");
  t.check(number_at<std::uint32_t>(t.result("store.list-keys", "k", "key", 1000), 0) == 0,
          "none behind the last");
  t.refused("store.delete", ErrorCode::AlreadyExists, "key", second + 1000);
  t.refused("store.delete", ErrorCode::NotFound, "none", -1);
  t.result("store.delete", "key", -1);
  t.result("store.delete", bytes, -1);

  t.refused("store.put", ErrorCode::TooLarge, "key", std::string(65'537, 'a'), -1);
  t.refused("store.put", ErrorCode::TooLarge, std::string(256, 'a'), "", -1);
  t.refused("store.put", ErrorCode::InvalidArgument, "", "value", -1);
  t.refused("store.put", ErrorCode::InvalidArgument, "key", "value", -2);
  t.refused("store.delete", ErrorCode::InvalidArgument, "key", -2);
  t.refused("store.get", ErrorCode::InvalidArgument, "");
  t.refused("store.delete", ErrorCode::InvalidArgument, "", -1);
  t.refused("store.get", ErrorCode::TooLarge, std::string(256, 'a'));
  t.refused("store.list-keys", ErrorCode::TooLarge, std::string(256, 'a'), "", 1);
  t.refused("store.list-keys", ErrorCode::TooLarge, "", std::string(256, 'a'), 1);
  for (const std::uint32_t count : {0u, 1001u, 0x8000'0000u, 0xFFFF'FFFFu}) {
    t.refused("store.list-keys", ErrorCode::OutOfRange, "", "", count);
  }
  t.mistakes("store.put", "key", "value", -1);
  t.mistakes("store.get", "key");
  t.mistakes("store.delete", "key", -1);
  t.mistakes("store.list-keys", "", "", 1);
  t.edges("store.put", "key", "value", -1);
  t.edges("store.get", "key");
  t.edges("store.list-keys", "", "", 1);
  t.edges("store.delete", "key", -1);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
