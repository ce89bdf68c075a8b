#pragma once
// The frames between client and server, as plain values. docs/reference/protocol.md says what each
// means and how its bytes look. frame_codec.h turns the one into the other.
//
// Numbers are below 2^53, so that every language's JSON holds them. Texts are UTF-8; what may be
// anything is `bytes`.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "service/end.h"
#include "service/figures.h"
#include "service/launch.h"
#include "service/program.h"
#include "service/reply.h"
#include "service/said.h"
#include "wire/adapter_frames.h"

namespace quire::wire {

// The WebSocket subprotocol; another number is another protocol.
inline constexpr char kSubprotocol[] = "quire.1";

inline constexpr std::uint64_t kPayloadBytesMax = 1u << 20;  // After the header of a binary frame.
inline constexpr std::uint64_t kHeaderBytesMax = 64u << 10;  // Of a binary frame.
inline constexpr std::uint64_t kTextFrameBytesMax = 2u << 20;        // Of a text frame.
inline constexpr std::uint64_t kFrameBytesMax = kTextFrameBytesMax;  // Of any.
static_assert(kFrameBytesMax >= 4 + kHeaderBytesMax + kPayloadBytesMax);

inline constexpr std::uint32_t kNameBytesMax = 255;  // Of programs, files, instances.
inline constexpr std::uint32_t kMediaTypeBytesMax = 127;
inline constexpr std::uint32_t kArgumentCountMax = 4096;

// Values that every door shares.
using service::Done;
using service::EndKind;
using service::Failure;
using service::Figure;
using service::Figures;
using service::FilePart;
using service::InstanceStatus;
using service::Launch;
using service::LaunchLimits;
using service::LogLevel;
using service::LogSource;
using service::NamedProgram;
using service::program_text;
using service::ProgramName;
using service::ProgramState;
using service::StatusDetail;
using service::TenantStatus;
using StatusReply = service::Status;  // To status.

// ---- What a client asks. Each has an id and gets one reply with it.

struct FindProgram {
  ProgramName program;
  bool operator==(const FindProgram&) const = default;
};

// The next part of a program; parts come in order, one upload at a time.
struct Upload {
  Digest program{};
  std::uint64_t program_bytes = 0;  // In all.
  std::uint64_t offset = 0;         // Of this part.
  std::string bytes;
  bool operator==(const Upload&) const = default;
};

// The program may be launched by this name from here on, by clients and by programs; one that a
// client named before may be another then, one that the operator named may not.
struct NameProgram {
  Digest program{};
  std::string name;
  bool operator==(const NameProgram&) const = default;
};

struct Send {
  std::uint64_t instance = 0;
  std::string bytes;
  bool operator==(const Send&) const = default;
};

struct CloseInput {
  std::uint64_t instance = 0;
  bool operator==(const CloseInput&) const = default;
};

// The next part of the file that goes to the instance; one file at a time.
struct SendFile {
  std::uint64_t instance = 0;
  FilePart part;
  bool operator==(const SendFile&) const = default;
};

// The instance is named by what launch gave it, or by its number if the caller may see it.
struct Attach {
  std::string name = {};       // Empty: `instance` is given.
  std::uint64_t instance = 0;  // 0: `name` is given.
  bool takes = false;          // Detaches the client that is attached.
  bool operator==(const Attach&) const = default;
};

struct Detach {
  std::uint64_t instance = 0;
  bool operator==(const Detach&) const = default;
};

struct Abort {
  std::uint64_t instance = 0;
  bool operator==(const Abort&) const = default;
};

struct List {
  bool operator==(const List&) const = default;
};

struct Status {
  bool detail = false;  // Tenants and instances one by one.
  bool operator==(const Status&) const = default;
};

using RequestBody = std::variant<FindProgram, Upload, NameProgram, Launch, Send, CloseInput,
                                 SendFile, Attach, Detach, Abort, List, Status, AddAdapter,
                                 UploadAdapter, RemoveAdapter, ListAdapters>;
struct Request {
  std::uint64_t id = 0;  // Not 0; the client's, to know the reply by.
  RequestBody body;
  bool operator==(const Request&) const = default;
};

// ---- What the server replies.

// To find_program and upload.
struct ProgramReply {
  std::optional<Digest> program;  // None: no program has the name that was asked for.
  ProgramState state = ProgramState::Unknown;
  std::uint64_t received_bytes = 0;  // Of a Partial one.
  bool operator==(const ProgramReply&) const = default;
};

// To launch and attach: the instance is the client's from here on.
struct InstanceReply {
  std::uint64_t instance = 0;
  std::string name;
  Digest program{};
  bool detached = false;
  bool operator==(const InstanceReply&) const = default;
};

inline constexpr std::uint32_t kListedInstanceCountMax = 10'000;
inline constexpr std::uint32_t kListedInstanceBytesMax = 200;  // About 170 are JSON of one.
static_assert(kListedInstanceCountMax * kListedInstanceBytesMax < kTextFrameBytesMax);

// To list: the instances of this connection.
struct InstanceList {
  std::vector<InstanceReply> instances;  // The first of them,
  std::uint64_t left_out_count = 0;      // and how many more there are.
  bool operator==(const InstanceList&) const = default;
};

inline constexpr std::uint32_t kToldInstanceCountMax = 1000;
inline constexpr std::uint32_t kToldTenantCountMax = 256;
inline constexpr std::uint32_t kToldProgramCountMax = 512;
inline constexpr std::uint32_t kFigureCountMax = 64;  // Of a tenant, of an instance.

using ReplyBody = std::variant<Done, Failure, ProgramReply, InstanceReply, InstanceList,
                               StatusReply, AdapterReply, AdapterList>;
struct Reply {
  std::uint64_t id = 0;
  ReplyBody body;
  bool operator==(const Reply&) const = default;
};

// ---- Events, which the server sends without a request.

struct MessageEvent {
  std::uint64_t instance = 0;
  std::string bytes;
  bool operator==(const MessageEvent&) const = default;
};

struct LogEvent {
  std::uint64_t instance = 0;
  LogSource source = LogSource::Log;
  LogLevel level = LogLevel::Info;
  std::string line;
  bool operator==(const LogEvent&) const = default;
};

struct FileEvent {
  std::uint64_t instance = 0;
  std::uint64_t file = 0;  // Parts of several files may alternate.
  FilePart part;
  bool operator==(const FileEvent&) const = default;
};

// The program will not finish this file.
struct FileDroppedEvent {
  std::uint64_t instance = 0;
  std::uint64_t file = 0;
  bool operator==(const FileDroppedEvent&) const = default;
};

// Another client has taken the instance: its last event on this connection.
struct DetachedEvent {
  std::uint64_t instance = 0;
  std::string message;
  bool operator==(const DetachedEvent&) const = default;
};

// The last event of an instance.
struct EndedEvent {
  std::uint64_t instance = 0;
  service::End end;
  bool operator==(const EndedEvent&) const = default;
};

struct ShutdownEvent {
  std::uint64_t grace_ms = 0;  // Then what still runs is stopped.
  bool operator==(const ShutdownEvent&) const = default;
};

// Reports a frame whose id could not be read. The server then closes the connection.
struct ErrorEvent {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  bool operator==(const ErrorEvent&) const = default;
};

using ServerFrame = std::variant<Reply, MessageEvent, LogEvent, FileEvent, FileDroppedEvent,
                                 DetachedEvent, EndedEvent, ShutdownEvent, ErrorEvent>;

}  // namespace quire::wire
