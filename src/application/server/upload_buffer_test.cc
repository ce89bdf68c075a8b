#include "application/server/upload_buffer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace quire::server {
namespace {

class Uploads : public testing::Test {
 protected:
  static wire::Upload part(std::string_view whole, std::size_t offset, std::size_t bytes) {
    return {sha256(std::as_bytes(std::span(whole))), whole.size(), offset,
            std::string(whole.substr(offset, bytes))};
  }
  ErrorCode refusal(const wire::Upload& part) {
    const auto added = buffer.add(part, now);
    return added.ok() ? ErrorCode{} : added.error().code();
  }

  static constexpr control::TenantId kTenant{7};
  static constexpr UploadBuffer::Limit kLimit{"program_bytes_max", "a program", 100};

  SharedBytes all{{150, std::chrono::milliseconds(60'000)}};
  UploadBuffer::Time now{};
  UploadBuffer buffer{all, kTenant, kLimit};
  const std::string whole = "0123456789";
};

TEST_F(Uploads, PartsInOrderGiveTheProgram) {
  EXPECT_FALSE(buffer.add(part(whole, 0, 4), now).value().has_value());
  EXPECT_EQ(buffer.received_bytes(), 4u);
  EXPECT_EQ(all.held_bytes(), 4u);
  EXPECT_FALSE(buffer.add(part(whole, 4, 0), now).value().has_value());
  const auto program = buffer.add(part(whole, 4, 6), now).value();
  ASSERT_TRUE(program.has_value());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(program->data()), program->size()), whole);
  EXPECT_EQ(all.held_bytes(), 0u);
}

TEST_F(Uploads, APartThatDoesNotContinueDropsAll) {
  EXPECT_EQ(refusal(part(whole, 4, 2)), ErrorCode::InvalidArgument);
  for (const wire::Upload& wrong :
       {part(whole, 5, 2), part("abcdefghij", 4, 2), part("012345678", 4, 2)}) {
    ASSERT_TRUE(buffer.add(part(whole, 0, 4), now).ok());
    EXPECT_EQ(refusal(wrong), ErrorCode::InvalidArgument);
    EXPECT_EQ(all.held_bytes(), 0u);
    EXPECT_EQ(refusal(part(whole, 4, 2)), ErrorCode::InvalidArgument);
  }
  wire::Upload over = part(whole, 0, 4);
  over.bytes = "012345678901";
  EXPECT_EQ(refusal(over), ErrorCode::InvalidArgument);
}

TEST_F(Uploads, BytesOfAnotherDigestAreRefusedWithBoth) {
  wire::Upload wrong = part(whole, 0, 10);
  wrong.bytes[3] = 'x';
  const auto added = buffer.add(wrong, now);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code(), ErrorCode::InvalidArgument);
  EXPECT_NE(added.error().message().find(hex(wrong.program)), std::string_view::npos);
  EXPECT_EQ(all.held_bytes(), 0u);
  EXPECT_TRUE(buffer.add(part(whole, 0, 10), now).value().has_value());
}

TEST_F(Uploads, SizesAreBoundedAloneAndTogether) {
  EXPECT_EQ(refusal(part(std::string(101, 'x'), 0, 1)), ErrorCode::TooLarge);
  UploadBuffer other(all, kTenant, kLimit);
  ASSERT_TRUE(other.add(part(std::string(100, 'x'), 0, 99), now).ok());
  ASSERT_TRUE(buffer.add(part(std::string(60, 'y'), 0, 50), now).ok())
      << "what was announced is not charged";
  const auto more = buffer.add(part(std::string(60, 'y'), 50, 2), now);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code(), ErrorCode::QuotaExceeded);
  EXPECT_EQ(more.error().message(),
            "upload_bytes_total_max: 2 bytes more, beside 149 of uploads under way, are more than "
            "the tenant's share");
  EXPECT_EQ(all.held_bytes(), 99u) << "what fails is dropped";
  // Beginning anew gives the old one back first.
  ASSERT_TRUE(other.add(part(std::string(90, 'z'), 0, 1), now).ok());
  EXPECT_EQ(all.held_bytes(), 1u);
}

TEST_F(Uploads, WhoSendsNoMorePartsGivesWayToOthersOfItsTenantAndIsToldSo) {
  UploadBuffer idle(all, kTenant, kLimit);
  UploadBuffer busy(all, kTenant, kLimit);
  ASSERT_TRUE(idle.add(part(std::string(80, 'i'), 0, 79), now).ok());
  ASSERT_TRUE(busy.add(part(std::string(80, 'b'), 0, 70), now).ok());
  now += std::chrono::milliseconds(50'000);
  ASSERT_TRUE(busy.add(part(std::string(80, 'b'), 70, 1), now).ok());
  EXPECT_EQ(refusal(part(whole, 0, 1)), ErrorCode::QuotaExceeded);
  now += std::chrono::milliseconds(10'001);
  EXPECT_EQ(all.held_bytes(), 150u) << "nobody needs the room";
  ASSERT_TRUE(buffer.add(part(whole, 0, 1), now).ok());
  EXPECT_EQ(all.held_bytes(), 72u);
  ASSERT_TRUE(busy.add(part(std::string(80, 'b'), 71, 1), now).ok());
  const auto late = idle.add(part(std::string(80, 'i'), 79, 1), now);
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message().find("gave way"), std::string_view::npos)
      << late.error().message();
}

TEST_F(Uploads, OneThatAnnouncedMuchTakesNothingFromAnotherTenant) {
  all.set_several(true);
  std::vector<std::unique_ptr<UploadBuffer>> announced;
  for (int each = 0; each < 20; ++each) {
    announced.push_back(std::make_unique<UploadBuffer>(all, kTenant, kLimit));
    ASSERT_TRUE(announced.back()->add(part(std::string(100, 'x'), 0, 3), now).ok());
  }
  UploadBuffer other(all, control::TenantId{8}, kLimit);
  EXPECT_TRUE(other.add(part(std::string(40, 'y'), 0, 40), now).value().has_value());
}

TEST_F(Uploads, AConnectionThatEndsGivesItsBudgetBack) {
  {
    UploadBuffer other(all, kTenant, kLimit);
    ASSERT_TRUE(other.add(part(whole, 0, 4), now).ok());
    EXPECT_EQ(all.held_bytes(), 4u);
  }
  EXPECT_EQ(all.held_bytes(), 0u);
}

}  // namespace
}  // namespace quire::server
