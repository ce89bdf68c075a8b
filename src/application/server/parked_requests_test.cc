#include "application/server/parked_requests.h"

#include <gtest/gtest.h>

namespace quire::server {
namespace {

using control::TenantId;

ServiceLimits limits_of(std::uint32_t count_max, std::uint64_t bytes_max) {
  ServiceLimits limits;
  limits.waiting_request_count_max = count_max;
  limits.waiting_request_bytes_max = bytes_max;
  return limits;
}
ParkedRequest request_of(std::uint32_t tenant, std::size_t bytes = 0,
                         std::uint64_t connection = 1) {
  ParkedRequest request;
  request.connection = ConnectionId{connection};
  request.tenant = TenantId{tenant};
  if (bytes > 0)
    request.launch.emplace().arguments = {std::string(bytes - sizeof(std::string), 'x')};
  return request;
}
int add_all(ParkedRequests& parked, std::uint32_t tenant, bool are_several) {
  int count = 0;
  while (parked.add(request_of(tenant), are_several).ok()) ++count;
  return count;
}

TEST(ParkedRequests, TheOnlyTenantMayHaveAllAndOneOfSeveralLeavesHalf) {
  ParkedRequests only(limits_of(8, 1000));
  EXPECT_EQ(add_all(only, 1, false), 8);
  ParkedRequests parked(limits_of(8, 1000));
  EXPECT_EQ(add_all(parked, 1, true), 4);
  EXPECT_EQ(parked.add(request_of(1), true).error().message(),
            "waiting_request_count_max: requests that wait for programs to be compiled: 1 more, "
            "beside 4, are more than the tenant's share");
  EXPECT_EQ(add_all(parked, 2, true), 2);
  parked.verify();
}

TEST(ParkedRequests, BytesAreSharedToo) {
  ParkedRequests parked(limits_of(100, 1000));
  ASSERT_TRUE(parked.add(request_of(1, 500), true).ok());
  EXPECT_EQ(parked.add(request_of(1, 100), true).error().message(),
            "waiting_request_bytes_max: bytes of arguments of launches that wait for programs to "
            "be compiled: 100 "
            "more, beside 500, are more than the tenant's share");
  EXPECT_TRUE(parked.add(request_of(2, 250), true).ok());
  parked.verify();
}

TEST(ParkedRequests, WhatIsTakenOrWhoseClientGoesIsGivenBack) {
  ParkedRequests parked(limits_of(4, 1000));
  for (const std::uint64_t connection : {1, 2, 1, 2}) {
    ASSERT_TRUE(parked.add(request_of(1, 100, connection), false).ok());
  }
  parked.drop_of(ConnectionId{1});
  EXPECT_EQ(parked.size(), 2u);
  parked.verify();
  auto at = parked.begin();
  EXPECT_EQ(parked.take(at).argument_bytes(), 100u);
  EXPECT_NE(at, parked.end());
  parked.take(at);
  EXPECT_EQ(at, parked.end());
  parked.verify();
  EXPECT_EQ(add_all(parked, 2, false), 4);
}

}  // namespace
}  // namespace quire::server
