#include "client/remote_service.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "wire/frame_codec.h"

namespace quire::client {
namespace {

service::Failure unexpected(const char* request) {
  return {ErrorCode::Unavailable,
          std::string("the server answered ") + request + " with another kind of reply",
          std::nullopt};
}

// The event as what its instance says; none for other frames.
struct Heard {
  std::uint64_t instance = 0;
  service::Said said;
};

std::optional<Heard> heard_in(const wire::ServerFrame& frame) {
  if (const auto* message = std::get_if<wire::MessageEvent>(&frame)) {
    return Heard{message->instance, service::Message{message->bytes}};
  }
  if (const auto* log = std::get_if<wire::LogEvent>(&frame)) {
    return Heard{log->instance, service::LogLine{log->source, log->level, log->line}};
  }
  if (const auto* file = std::get_if<wire::FileEvent>(&frame)) {
    const service::FilePart& part = file->part;
    return Heard{file->instance, service::SentPart{file->file, part.name, part.media_type,
                                                   part.file_bytes, part.offset, part.bytes}};
  }
  if (const auto* dropped = std::get_if<wire::FileDroppedEvent>(&frame)) {
    return Heard{dropped->instance, service::DroppedFile{dropped->file}};
  }
  if (const auto* ended = std::get_if<wire::EndedEvent>(&frame)) {
    return Heard{ended->instance, service::Ended{ended->end}};
  }
  return std::nullopt;
}

}  // namespace

// A program on its way, part by part.
struct RemoteService::Upload {
  Digest program{};
  std::string wasm;
  std::size_t sent_bytes = 0;
  service::Then<service::Done> then;
};

RemoteService::RemoteService(std::unique_ptr<ServerClient> client, Notices notices)
    : client_(std::move(client)), notices_(std::move(notices)) {}

void RemoteService::ask(wire::RequestBody body, Answered answered) {
  asked_.emplace(client_->send(std::move(body)), std::move(answered));
}

void RemoteService::ask_for_done(wire::RequestBody body, service::Then<service::Done> then) {
  ask(std::move(body), [then = std::move(then)](wire::ReplyBody reply) {
    if (auto* failure = std::get_if<service::Failure>(&reply)) return then(std::move(*failure));
    if (!std::holds_alternative<service::Done>(reply)) return then(unexpected("a request"));
    then(service::Done{});
  });
}

void RemoteService::find_program(const service::ProgramName& program,
                                 service::Then<service::ProgramState> then) {
  ask(wire::FindProgram{program}, [then = std::move(then)](wire::ReplyBody reply) {
    if (auto* failure = std::get_if<service::Failure>(&reply)) return then(std::move(*failure));
    const auto* found = std::get_if<wire::ProgramReply>(&reply);
    if (found == nullptr) return then(unexpected("find_program"));
    then(found->state);
  });
}

void RemoteService::upload(const Digest& program, std::string wasm,
                           service::Then<service::Done> then) {
  upload_next(std::make_shared<Upload>(Upload{program, std::move(wasm), 0, std::move(then)}));
}

// One part at a time; the reply to the last comes once the program is compiled.
void RemoteService::upload_next(std::shared_ptr<Upload> upload) {
  wire::Upload part{upload->program, upload->wasm.size(), upload->sent_bytes,
                    upload->wasm.substr(upload->sent_bytes, wire::kPayloadBytesMax)};
  upload->sent_bytes += part.bytes.size();
  ask(std::move(part), [this, upload](wire::ReplyBody reply) {
    if (auto* failure = std::get_if<service::Failure>(&reply)) {
      return upload->then(std::move(*failure));
    }
    if (!std::holds_alternative<wire::ProgramReply>(reply)) {
      return upload->then(unexpected("upload"));
    }
    if (upload->sent_bytes < upload->wasm.size()) return upload_next(upload);
    upload->then(service::Done{});
  });
}

void RemoteService::launch(service::Launch launch, service::Listener& listener,
                           service::Then<InstanceId> then) {
  ask_for_instance(std::move(launch), "launch", &listener, [then = std::move(then)](auto reply) {
    if (auto* failure = std::get_if<service::Failure>(&reply)) return then(std::move(*failure));
    then(InstanceId{std::get<wire::InstanceReply>(reply).instance});
  });
}

void RemoteService::start(service::Launch launch, service::Then<wire::InstanceReply> then) {
  launch.attached = false;
  ask_for_instance(std::move(launch), "launch", nullptr, std::move(then));
}

void RemoteService::attach(wire::Attach attach, service::Listener& listener,
                           service::Then<wire::InstanceReply> then) {
  ask_for_instance(std::move(attach), "attach", &listener, std::move(then));
}

// The reply comes before any event of the instance. Without a listener there is none.
void RemoteService::ask_for_instance(wire::RequestBody body, const char* verb,
                                     service::Listener* listener,
                                     service::Then<wire::InstanceReply> then) {
  ask(std::move(body), [this, verb, listener, then = std::move(then)](wire::ReplyBody reply) {
    if (auto* failure = std::get_if<service::Failure>(&reply)) return then(std::move(*failure));
    auto* instance = std::get_if<wire::InstanceReply>(&reply);
    if (instance == nullptr) return then(unexpected(verb));
    if (listener != nullptr) listeners_.emplace(InstanceId{instance->instance}, listener);
    then(std::move(*instance));
  });
}

void RemoteService::detach(InstanceId instance, service::Then<service::Done> then) {
  ask_for_done(wire::Detach{static_cast<std::uint64_t>(instance)},
               [this, instance, then = std::move(then)](auto reply) {
                 listeners_.erase(instance);
                 then(std::move(reply));
               });
}

void RemoteService::send(InstanceId instance, std::string message,
                         service::Then<service::Done> then) {
  ask_for_done(wire::Send{static_cast<std::uint64_t>(instance), std::move(message)},
               std::move(then));
}

void RemoteService::send_file(InstanceId instance, service::FilePart part,
                              service::Then<service::Done> then) {
  ask_for_done(wire::SendFile{static_cast<std::uint64_t>(instance), std::move(part)},
               std::move(then));
}

void RemoteService::close_input(InstanceId instance, service::Then<service::Done> then) {
  ask_for_done(wire::CloseInput{static_cast<std::uint64_t>(instance)}, std::move(then));
}

void RemoteService::kill(InstanceId instance, service::Then<service::Done> then) {
  ask_for_done(wire::Abort{static_cast<std::uint64_t>(instance)}, std::move(then));
}

Result<bool> RemoteService::turn(std::chrono::nanoseconds time_max) {
  if (refused_) {
    const bool is_taken = TRY(take(*std::exchange(refused_, std::nullopt)));
    if (!is_taken) std::this_thread::sleep_for(time_max);
    return is_taken;
  }
  std::optional<wire::ServerFrame> frame = TRY(client_->receive(time_max));
  if (!frame) return false;
  return take(*std::move(frame));
}

// False if the listener takes nothing now.
Result<bool> RemoteService::take(wire::ServerFrame frame) {
  if (auto* reply = std::get_if<wire::Reply>(&frame)) {
    TRY(take_reply(std::move(*reply)));
  } else if (const std::optional<Heard> heard = heard_in(frame)) {
    if (!tell(heard->instance, heard->said)) {
      refused_ = std::move(frame);
      return false;
    }
  } else if (const auto* shutdown = std::get_if<wire::ShutdownEvent>(&frame)) {
    notices_.shutdown(shutdown->grace_ms);
  } else if (const auto* detached = std::get_if<wire::DetachedEvent>(&frame)) {
    listeners_.erase(InstanceId{detached->instance});
    notices_.detached(InstanceId{detached->instance}, detached->message);
  } else {
    const auto& error = std::get<wire::ErrorEvent>(frame);
    return Error(error.code, "the server says: " + error.message);
  }
  return true;
}

Result<void> RemoteService::take_reply(wire::Reply reply) {
  auto asked = asked_.extract(reply.id);
  if (asked.empty()) {
    return Error(ErrorCode::Unavailable, "the server answered request " + std::to_string(reply.id) +
                                             ", which this client did not send or which it has "
                                             "answered before");
  }
  asked.mapped()(std::move(reply.body));
  return {};
}

bool RemoteService::tell(std::uint64_t number, const service::Said& said) {
  const InstanceId instance{number};
  const auto found = listeners_.find(instance);
  if (found == listeners_.end()) return true;  // An instance that this client did not launch.
  if (!found->second->heard(instance, said)) return false;
  if (std::holds_alternative<service::Ended>(said)) listeners_.erase(instance);
  return true;
}

Result<void> check_launch(const service::Launch& launch) {
  const wire::Message message = wire::encode(wire::Request{UINT64_MAX, launch});
  if (message.bytes.size() <= wire::kTextFrameBytesMax) return {};
  return Error(ErrorCode::TooLarge, "make a launch of " + std::to_string(message.bytes.size()) +
                                        " bytes; a server takes at most " +
                                        std::to_string(wire::kTextFrameBytesMax));
}

}  // namespace quire::client
