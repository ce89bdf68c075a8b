#include "inference/model_store/hub_client.h"

#include <gtest/gtest.h>

namespace quire::inference::hub_client_test {
namespace {

std::string access_error(const std::string& endpoint, const std::string& token = "") {
  const Result<HubAccess> access = HubAccess::make(endpoint, token);
  return access.ok() ? "" : std::string(access.error().message());
}

TEST(HubAccess, TakesTheAddressOfAHubAndAToken) {
  EXPECT_EQ(HubAccess::make("https://hub.example/prefix//", "hf_abc").value().endpoint,
            "https://hub.example/prefix");
  EXPECT_EQ(access_error("http://127.0.0.1:8000", "hf_abc"), "");
  EXPECT_EQ(access_error("http://localhost:8000", "hf_abc"), "");
  EXPECT_EQ(access_error("http://mirror.example"), "");
}

TEST(HubAccess, ATokenGoesNowhereWithoutEncryption) {
  EXPECT_NE(access_error("http://mirror.example", "hf_abc").find("without encryption"),
            std::string::npos);
  EXPECT_NE(
      access_error("https://hub.example", "hf_abc\r\nX-Evil: 1").find("HF_TOKEN is not a token"),
      std::string::npos);
  EXPECT_NE(access_error("https://user:pass@hub.example").find("without a user"),
            std::string::npos);
  EXPECT_NE(access_error("https://hub.example/?a=b").find("HF_ENDPOINT"), std::string::npos);
  EXPECT_NE(access_error("hub.example").find("HF_ENDPOINT"), std::string::npos);
  EXPECT_NE(access_error("ftp://hub.example").find("HF_ENDPOINT"), std::string::npos);
}

}  // namespace
}  // namespace quire::inference::hub_client_test
