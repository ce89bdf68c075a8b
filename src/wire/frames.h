#pragma once
// The frames between client and server, as plain values. docs/protocol.md says what each means and
// how its bytes look; frame_codec.h turns the one into the other.
//
// Numbers are below 2^53, so that every language's JSON holds them. Texts are UTF-8; what may be
// anything is `bytes`.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace quire::wire {

// The WebSocket subprotocol; another number is another protocol.
inline constexpr char kSubprotocol[] = "quire.1";

inline constexpr std::uint64_t kPayloadBytesMax = 1u << 20;  // Behind the header of a binary frame.
inline constexpr std::uint64_t kHeaderBytesMax = 64u << 10;  // Of a binary frame.
inline constexpr std::uint64_t kTextFrameBytesMax = 2u << 20;        // Of a text frame.
inline constexpr std::uint64_t kFrameBytesMax = kTextFrameBytesMax;  // Of any.
static_assert(kFrameBytesMax >= 4 + kHeaderBytesMax + kPayloadBytesMax);

inline constexpr std::uint32_t kNameBytesMax = 255;  // Of programs, files, instances.
inline constexpr std::uint32_t kMediaTypeBytesMax = 127;
inline constexpr std::uint32_t kArgumentCountMax = 4096;

// A program is named by its content, "sha256:" and 64 hex digits, or by the name that the operator
// or a client gave it.
struct ProgramName {
  std::optional<Digest> digest;
  std::string name;  // Empty where there is a digest.
  bool operator==(const ProgramName&) const = default;
};
std::string program_text(const ProgramName& program);

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

// At most what the server allows; what is absent is the server's.
struct LaunchLimits {
  std::optional<std::uint64_t> memory_bytes_max;
  std::optional<std::uint64_t> cpu_ns_max;
  std::optional<std::uint64_t> cpu_ns_between_waits_max;
  std::optional<std::uint64_t> page_count_max;
  std::optional<std::uint64_t> output_bytes_max;
  bool operator==(const LaunchLimits&) const = default;
};

struct Launch {
  ProgramName program;
  std::vector<std::string> arguments;  // Without the program's name.
  LaunchLimits limits;
  bool detached = false;  // Goes on without a client.
  std::uint32_t tenant = 0;
  std::optional<std::uint64_t> deadline_ms = {};  // After the launch, for the order of its work.
  bool operator==(const Launch&) const = default;
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

// A part of a named file, and all that is needed to know which.
struct FilePart {
  std::string name;
  std::string media_type;
  std::uint64_t file_bytes = 0;  // In all.
  std::uint64_t offset = 0;      // Of this part.
  std::string bytes;
  bool operator==(const FilePart&) const = default;
};

// The next part of the file that goes to the instance; one file at a time.
struct SendFile {
  std::uint64_t instance = 0;
  FilePart part;
  bool operator==(const SendFile&) const = default;
};

struct Attach {
  std::string name;  // Of the instance, as launch gave it.
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
                                 SendFile, Attach, Detach, Abort, List, Status>;
struct Request {
  std::uint64_t id = 0;  // Not 0; the client's, to know the reply by.
  RequestBody body;
  bool operator==(const Request&) const = default;
};

// ---- What the server replies.

struct Done {
  bool operator==(const Done&) const = default;
};

struct Failure {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::optional<std::uint64_t> retry_after_ms;  // The same may succeed after that time.
  bool operator==(const Failure&) const = default;
};

enum class ProgramState : std::uint8_t { Unknown, Partial, Compiling, Ready };

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
  std::uint64_t left_out_count = 0;      // and how many there are besides.
  bool operator==(const InstanceList&) const = default;
};

// How much of a limit is used; or a count that has none.
struct Figure {
  std::uint64_t used = 0;
  std::optional<std::uint64_t> maximum;
  bool operator==(const Figure&) const = default;
};
using Figures = std::map<std::string, Figure>;  // By the names that errors use.

struct TenantStatus {
  std::uint64_t tenant = 0;
  std::uint64_t weight = 1;
  Figures figures;
  bool operator==(const TenantStatus&) const = default;
};

struct InstanceStatus {
  std::uint64_t instance = 0;
  std::uint64_t tenant = 0;
  std::uint64_t parent = 0;  // The instance that launched it; 0: a client.
  Digest program{};
  std::string stage;  // "queued", "ready", "background", "parked" or "ended".
  Figures figures;    // Those that are not 0.
  bool operator==(const InstanceStatus&) const = default;
};

inline constexpr std::uint32_t kToldInstanceCountMax = 1000;
inline constexpr std::uint32_t kToldTenantCountMax = 256;
inline constexpr std::uint32_t kFigureCountMax = 64;  // Of a tenant, of an instance.

// What a status tells on request, to the operator alone.
struct StatusDetail {
  Figures figures;  // Of the server: queues and batches.
  std::vector<TenantStatus> tenants;
  std::vector<InstanceStatus> instances;  // The first of them,
  std::uint64_t left_out_count = 0;       // and how many there are besides.
  bool operator==(const StatusDetail&) const = default;
};

// To status. Counts since the server began, unless they say now.
struct StatusReply {
  std::string version;
  std::vector<std::string> models;
  std::uint64_t uptime_ms = 0;
  std::uint64_t connection_count = 0;  // Now.
  std::uint64_t instance_count = 0;    // Now; launched and not yet collected.
  std::uint64_t instance_count_max = 0;
  std::uint64_t waiting_count = 0;     // Now, of these: launched and not yet started.
  std::uint64_t unattached_count = 0;  // Now, of these: without a client.
  std::uint64_t program_count = 0;     // Now.
  std::uint64_t launched_count = 0;
  std::uint64_t refused_count = 0;    // Launches.
  std::uint64_t page_count = 0;       // Of all pools.
  std::uint64_t page_count_free = 0;  // Now.
  std::uint64_t computed_token_count = 0;
  std::uint64_t found_token_count = 0;
  std::uint64_t batch_count = 0;
  std::optional<StatusDetail> detail;
  bool operator==(const StatusReply&) const = default;
};

using ReplyBody =
    std::variant<Done, Failure, ProgramReply, InstanceReply, InstanceList, StatusReply>;
struct Reply {
  std::uint64_t id = 0;
  ReplyBody body;
  bool operator==(const Reply&) const = default;
};

// ---- What the server tells without being asked.

struct MessageEvent {
  std::uint64_t instance = 0;
  std::string bytes;
  bool operator==(const MessageEvent&) const = default;
};

enum class LogSource : std::uint8_t { Log, Stdout, Stderr };
enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

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

enum class EndKind : std::uint8_t { Finished, Trapped, LimitExceeded, Killed, NotStarted };

// The last event of an instance.
struct EndedEvent {
  std::uint64_t instance = 0;
  EndKind kind = EndKind::Finished;
  std::int32_t exit_code = 0;
  std::string message;
  std::string limit;
  std::string result;  // Bytes: what set_result gave last.
  std::uint64_t duration_ns = 0;
  std::uint64_t first_message_ns = 0;  // After the launch; 0: there was none.
  std::uint64_t first_token_ns = 0;    // Likewise; older servers do not report it.
  std::uint64_t cpu_ns = 0;
  std::uint64_t asked_token_count = 0;
  std::uint64_t computed_token_count = 0;
  std::uint64_t found_token_count = 0;
  std::uint64_t page_count_max = 0;
  bool operator==(const EndedEvent&) const = default;
};

struct ShutdownEvent {
  std::uint64_t grace_ms = 0;  // Then what still runs is stopped.
  bool operator==(const ShutdownEvent&) const = default;
};

// About a frame whose id could not be read; the server closes the connection behind it.
struct ErrorEvent {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  bool operator==(const ErrorEvent&) const = default;
};

using ServerFrame = std::variant<Reply, MessageEvent, LogEvent, FileEvent, FileDroppedEvent,
                                 EndedEvent, ShutdownEvent, ErrorEvent>;

}  // namespace quire::wire
