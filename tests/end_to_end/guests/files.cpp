// files: sends each file of its client back as "copy of NAME", and says what it was; arguments
// "NAME TEXT" are a file that it sends first. A file "unwanted" it drops unread. It ends when no
// more files come.
#include "quire/quire.h"

namespace {

using namespace quire;

Task<> program(std::vector<std::string> command_line) {
  for (std::size_t i = 0; i + 1 < command_line.size(); i += 2) {
    co_await session::send_file(command_line[i], "text/plain", command_line[i + 1]);
  }
  for (;;) {
    Result<IncomingFile> received = co_await attempt(session::receive_file());
    if (!received.ok()) {
      co_await runtime::set_result("end: " + received.error().message);
      co_return;
    }
    const IncomingFile file = std::move(received).take();
    if (file.name() == "unwanted") continue;
    const OutgoingFile copy = co_await OutgoingFile::begin("copy of " + file.name(),
                                                           file.media_type(), file.file_bytes());
    std::uint64_t part_count = 0;
    for (;;) {
      const std::string part = co_await file.read();
      if (part.empty()) break;
      co_await copy.write(part);
      ++part_count;
    }
    co_await session::send(file.name() + " " + file.media_type() + " " +
                           std::to_string(file.file_bytes()) + " in " + std::to_string(part_count) +
                           "\n");
  }
}

}  // namespace

QUIRE_MAIN(program)
