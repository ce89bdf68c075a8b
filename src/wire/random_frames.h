#pragma once
// For tests: frames of every kind with values that a codec could get wrong.
#include <iterator>
#include <string>

#include "base/random.h"
#include "wire/frames.h"

namespace quire::wire {

class RandomFrames {
 public:
  explicit RandomFrames(SeededRandom& random) : random_(random) {}

  std::uint64_t below(std::uint64_t count) { return random_.next() % count; }
  std::uint64_t number() { return random_.next() >> (11 + below(53)); }
  std::uint64_t id() { return 1 + number() / 2; }
  std::string bytes() {
    std::string out;
    for (std::uint64_t count = below(40); count > 0; --count) out += static_cast<char>(below(256));
    return out;
  }
  std::string text() {
    static constexpr const char* kPieces[] = {"a", "\"", "\\", "\n", "\0x",
                                              "é", "日", "𝄞",  " ",  "{"};
    std::string out;
    for (std::uint64_t count = below(20); count > 0; --count) {
      out += kPieces[below(std::size(kPieces))];
    }
    return out;
  }
  Digest digest() {
    Digest digest{};
    random_.fill(std::as_writable_bytes(std::span(digest)));
    return digest;
  }
  std::string program_name() { return "name é " + std::to_string(number()); }
  ProgramName program() {
    if (below(2) == 0) return {digest(), {}};
    return {std::nullopt, program_name()};
  }
  std::optional<std::uint64_t> maybe() {
    return below(2) == 0 ? std::nullopt : std::optional(id());
  }
  bool flag() { return below(2) == 0; }
  FilePart part() {
    FilePart part{text(), text(), 0, number() / 2, bytes()};
    part.file_bytes = part.offset + part.bytes.size() + below(3);
    return part;
  }
  InstanceReply instance() { return {id(), text(), digest(), flag()}; }

  UploadAdapter adapter_upload() {
    UploadAdapter upload{text(), {}, digest(), number(), bytes()};
    for (std::uint64_t count = 1 + below(kAdapterFileCountMax); count > 0; --count) {
      upload.files.push_back({text(), id()});
    }
    return upload;
  }
  AdapterStatus adapter() {
    return {text(), text(), digest(), number(), number(), number(), text(), flag(), flag()};
  }

  RequestBody request_body() {
    switch (below(std::variant_size_v<RequestBody>)) {
      case 0:
        return FindProgram{program()};
      case 1:
        return Upload{digest(), id(), number(), bytes()};
      case 2:
        return NameProgram{digest(), program_name()};
      case 3: {
        Launch launch{program(), {}, {maybe(), maybe(), maybe(), maybe(), maybe()}, flag()};
        launch.tenant = static_cast<std::uint32_t>(below(3));
        launch.deadline_ms = maybe();
        launch.seed = maybe();
        launch.attached = flag();
        for (std::uint64_t count = below(4); count > 0; --count) launch.arguments.push_back(text());
        return launch;
      }
      case 4:
        return Send{id(), bytes()};
      case 5:
        return CloseInput{id()};
      case 6:
        return SendFile{id(), part()};
      case 7:
        return flag() ? Attach{text(), 0, flag()} : Attach{{}, id(), flag()};
      case 8:
        return Detach{id()};
      case 9:
        return Abort{id()};
      case 10:
        return List{};
      case 11:
        return AddAdapter{text(), text()};
      case 12:
        return adapter_upload();
      case 13:
        return RemoveAdapter{text()};
      case 14:
        return ListAdapters{};
      default:
        return Status{flag()};
    }
  }

  Figures figures() {
    Figures figures;
    for (std::uint64_t count = below(4); count > 0; --count) {
      figures[text()] = {number(), maybe()};
    }
    return figures;
  }
  StatusDetail detail() {
    StatusDetail detail{figures(), {}, {}, number(), {}, number()};
    for (std::uint64_t count = below(3); count > 0; --count) {
      detail.programs.push_back({text(), digest()});
      detail.tenants.push_back({number(), id(), figures()});
      detail.instances.push_back(
          {id(), number(), number(), digest(), text(), figures(), text(), text()});
    }
    return detail;
  }

  ReplyBody reply_body() {
    switch (below(std::variant_size_v<ReplyBody>)) {
      case 0:
        return Done{};
      case 1:
        return Failure{ErrorCode::QuotaExceeded, text(), maybe()};
      case 2: {
        ProgramReply reply{std::nullopt, static_cast<ProgramState>(below(4)), number()};
        if (flag()) reply.program = digest();
        return reply;
      }
      case 3:
        return instance();
      case 4: {
        InstanceList list;
        for (std::uint64_t count = below(4); count > 0; --count) {
          list.instances.push_back(instance());
        }
        list.left_out_count = number();
        return list;
      }
      case 5:
        return AdapterReply{adapter()};
      case 6: {
        AdapterList list{{}, number()};
        for (std::uint64_t count = below(4); count > 0; --count) {
          list.adapters.push_back(adapter());
        }
        return list;
      }
      default: {
        StatusReply status{text(),   {text(), text()}, number(), number(), number(),    number(),
                           number(), number(),         number(), number(), number(),    number(),
                           number(), number(),         number(), number(), std::nullopt};
        if (flag()) status.detail = detail();
        return status;
      }
    }
  }

  ServerFrame server_frame() {
    switch (below(std::variant_size_v<ServerFrame>)) {
      case 0:
        return Reply{id(), reply_body()};
      case 1:
        return MessageEvent{id(), bytes()};
      case 2:
        return LogEvent{id(), static_cast<LogSource>(below(3)), static_cast<LogLevel>(below(4)),
                        text()};
      case 3:
        return FileEvent{id(), id(), part()};
      case 4:
        return FileDroppedEvent{id(), id()};
      case 5:
        return EndedEvent{
            id(),
            {static_cast<EndKind>(below(5)), static_cast<std::int32_t>(random_.next()), text(),
             text(), bytes(), number(), number(), number(), number(), number(), number(), number(),
             number(), number(), number(), number(), number(), number()}};
      case 6:
        return ShutdownEvent{number()};
      case 7:
        return DetachedEvent{id(), text()};
      default:
        return ErrorEvent{ErrorCode::Corrupted, text()};
    }
  }

 private:
  SeededRandom& random_;
};

inline Request random_request(SeededRandom& random) {
  RandomFrames frames(random);
  return {frames.id(), frames.request_body()};
}
inline ServerFrame random_server_frame(SeededRandom& random) {
  return RandomFrames(random).server_frame();
}

}  // namespace quire::wire
