#include "application/server/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace quire::server {
namespace {

// As systemd has it.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& name) : descriptor_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, name.data(), name.size());
    if (at.sun_path[0] == '@') at.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(descriptor_.get(), reinterpret_cast<sockaddr*>(&at), bytes), 0);
  }
  std::string read_one() {
    char text[64];
    const ssize_t count = recv(descriptor_.get(), text, sizeof text, MSG_DONTWAIT);
    return std::string(text, count < 0 ? 0 : static_cast<std::size_t>(count));
  }

 private:
  Descriptor descriptor_;
};

TEST(ServiceManager, TellsByADatagramToAPathOrAnAbstractName) {
  const std::string suffix = "quire-notify-" + std::to_string(getpid());
  const std::string path = testing::TempDir() + suffix;
  for (const std::string& name : {path, "@" + suffix}) {
    NotifySocket systemd(name);
    const Result<ServiceManager> manager = ServiceManager::open(name);
    ASSERT_TRUE(manager.ok());
    EXPECT_TRUE(manager.value().tell("READY=1").ok());
    EXPECT_EQ(systemd.read_one(), "READY=1");
  }
  unlink(path.c_str());
}

TEST(ServiceManager, AnAddressThatIsNoneAndASocketThatIsGoneAreErrors) {
  EXPECT_EQ(ServiceManager::open("vsock:2:1").error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(ServiceManager::open("/" + std::string(200, 'x')).error().code(),
            ErrorCode::InvalidArgument);
  const Result<ServiceManager> gone = ServiceManager::open("/no/such/socket");
  ASSERT_TRUE(gone.ok());
  EXPECT_EQ(gone.value().tell("READY=1").error().code(), ErrorCode::Io);
}

TEST(ServiceManager, AWatchdogIsForTheProcessThatItNames) {
  using std::chrono::microseconds;
  EXPECT_EQ(watchdog_time("30000000", nullptr, 7), microseconds(30'000'000));
  EXPECT_EQ(watchdog_time("30000000", "7", 7), microseconds(30'000'000));
  EXPECT_EQ(watchdog_time("30000000", "8", 7), std::nullopt);
  for (const char* each : {"", "0", "-1", "1s"})
    EXPECT_EQ(watchdog_time(each, "7", 7), std::nullopt);
  EXPECT_EQ(watchdog_time(nullptr, nullptr, 7), std::nullopt);
}

}  // namespace
}  // namespace quire::server
