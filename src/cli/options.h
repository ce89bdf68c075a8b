#pragma once
// The options of the verbs, as plain values. parse.h fills them; src/main/verbs does the work.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instance_limits.h"
#include "base/server_limits.h"
#include "cli/engine_options.h"

namespace quire::cli {

enum class OutputStyle : std::uint8_t { Text, Json };

struct SamplingOptions {
  double temperature = 0.0;  // 0: the most probable token, always.
  std::uint64_t seed = 0;
  std::uint32_t top_k = 0;  // 0: no limit.
  double top_p = 1.0;
  double min_p = 0.0;
  double typical_p = 1.0;
  double top_n_sigma = 0.0;  // 0: no limit.
  double xtc_probability = 0.0;
  double xtc_threshold = 0.1;
  double dry_multiplier = 0.0;
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
};

// A reply must match this grammar.
struct GrammarOptions {
  enum class Kind : std::uint8_t { None, JsonSchema, Regex, Lark };
  Kind kind = Kind::None;
  std::string text;  // Regex: the pattern; JsonSchema and Lark: a file.
};

// A prompt comes from a text or a file; "-" for either is standard input.
struct PromptSource {
  std::optional<std::string> text = {};
  std::string file = {};
};

struct GenerateOptions {
  EngineOptions engine;
  SamplingOptions sampling;
  GrammarOptions grammar;
  PromptSource prompt;  // Neither: standard input, unless that is a terminal.
  std::uint32_t max_tokens = 128;
  bool ignore_eos = false;
  OutputStyle output = OutputStyle::Text;
};

struct EvalOptions {
  EngineOptions engine;
  std::optional<std::string> text;  // Exactly one of these three.
  std::string text_file;
  std::string ids_file;
  std::string mask_file;
  std::string positions_file;
  std::string logits_file;
  std::uint32_t chunk = 256;  // Tokens of one forward pass.
  OutputStyle output = OutputStyle::Text;
};

// `/set` changes these in the middle of a chat (chat_settings.h).
struct ChatSettings {
  SamplingOptions sampling;
  std::string system;
  std::uint32_t max_tokens = 1024;
  std::string stats = "on";  // Or "off": the line of figures after each reply.
  bool shows_figures() const { return stats == "on"; }
};
struct ChatOptions {
  EngineOptions engine;
  ChatSettings settings;
  GrammarOptions grammar;
  PromptSource message;       // Neither: a conversation, a message in each line of standard input.
  std::string server;         // As ws(s)://HOST:PORT; empty: an engine here.
  std::string key_file = {};  // With the server's key; empty: $QUIRE_KEY, if any.
  std::string saved = {};     // A conversation that /save kept, to go on with; empty: a new one.
  bool keeps_history = true;  // Of the lines that a user types on a terminal.
};

// The least of what is shown of a log. The order is that of service::LogLevel.
enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

// The limits and rights of an instance. `quire serve` allows an instance at most these.
struct InstanceOptions {
  std::uint64_t memory_bytes_max = std::uint64_t{128} << 20;
  double cpu_seconds_max = 60.0;
  std::uint32_t page_count_max = 0;  // KV pages of an instance; 0: the verb's default.
  std::uint64_t output_bytes_max = std::uint64_t{1} << 30;  // Messages, log and files, in all.
  bool may_export_publicly = false;        // Pages that programs of every tenant may import.
  std::vector<std::string> allow_http;     // Where programs may send HTTP; none: nowhere.
  std::vector<std::string> env = {};       // Variables of quire that programs get.
  std::vector<InstanceLimitValue> limits;  // By name; they win over the members above.
  std::vector<ServerLimitValue> server_limits = {};  // By name, of the whole server.
  LogLevel log_level = LogLevel::Debug;              // The least of its log that `quire run` shows.
  // True: the user gave the flag, so that the value is not a default.
  bool has_memory = false;
  bool has_cpu_seconds = false;
  bool has_output = false;

  std::optional<std::uint64_t> server_limit(ServerLimit limit) const {
    for (const ServerLimitValue& each : server_limits) {
      if (each.limit == limit) return each.value;
    }
    return std::nullopt;
  }
};

// How `quire run` launches a program.
struct LaunchOptions {
  std::uint32_t tenant = 0;                // Of the server.
  double deadline_seconds = 0.0;           // After the launch; 0: none.
  std::optional<std::uint64_t> seed = {};  // Of the program's random numbers.
  bool detaches = false;                   // On a server: it goes on without this client.
};

enum class KvTreeStyle : std::uint8_t { None, Text, Dot };
struct RunOptions {
  EngineOptions engine;
  InstanceOptions instance;
  std::string server;         // Where to run it, as ws(s)://HOST:PORT; empty: in an engine here.
  std::string key_file = {};  // With the server's key; empty: $QUIRE_KEY, if any.
  LaunchOptions launch = {};
  std::string program;         // A file; with a server also a name that the server knows.
  std::string source;          // The C++ file that `program` was made of for this run, if any.
  std::string bin;             // Of a Cargo project, which of its programs; empty: its own choice.
  bool watches = false;        // Runs the program again when one of its files changes.
  bool shows_options = false;  // PROGRAM --help: print the options of the program, run nothing.
  std::vector<std::string> further_programs;  // Files and folders, to be launched by name.
  std::vector<std::string> arguments;
  std::string each_file;                // One instance for each line, a JSON array of arguments.
  std::vector<std::string> sent_files;  // Paths; each program gets all of them.
  std::string save_folder;              // Where files of programs go; empty: nowhere.
  KvTreeStyle kv_tree = KvTreeStyle::None;
  bool kv_why = false;         // In the end: tokens saved, and why the others were not.
  std::string kv_report_file;  // Both, for `quire kv tree` and `quire kv why`; empty: none.
  OutputStyle output = OutputStyle::Text;
};

enum class ModelAction : std::uint8_t { List, Show, Add, Remove, Verify };
struct ModelOptions {
  ModelAction action = ModelAction::List;
  std::string model;       // A name, a path or, for Add, a URL or a model of a hub.
  std::string name;        // Add: what to call it.
  bool available = false;  // List: what `add` knows by name, and not what is here.
  EngineOptions engine;    // Show: the pool that tokens must fit.
  OutputStyle output = OutputStyle::Text;
};

struct TokenizeOptions {
  std::string model;
  std::optional<std::string> text;  // Absent: standard input.
  bool plain = false;               // Special tokens stay text.
  bool add_bos = false;
  OutputStyle output = OutputStyle::Text;
};

struct DetokenizeOptions {
  std::string model;
  std::vector<std::uint32_t> ids;  // Empty: standard input.
  bool skip_special = false;
};

struct TemplateOptions {
  std::string model;
  std::string messages_file;  // Empty: standard input.
  std::vector<std::string> user;
  std::string system;
  bool ids = false;
  bool no_generation_prompt = false;
  OutputStyle output = OutputStyle::Text;
};

struct DoctorOptions {
  EngineOptions engine;
  bool measures_tiers = false;  // With a model, for some seconds.
  std::string sdk = {};         // --sdk or QUIRE_SDK; empty: beside this program.
  OutputStyle output = OutputStyle::Text;
};

enum class BenchKind : std::uint8_t {
  Kv,
  Generate,
  Restore,
  Pressure,
  Sink,
  Batching,
  Scheduler,
  Arrival,
  Constraint,
  Overhead,
  Calls
};
enum class BenchDevice : std::uint8_t { Both, Simulated, Cpu };
struct NamedBatching {
  std::string name;
  BatchingChoice choice;
};
struct BenchOptions {
  BenchKind kind = BenchKind::Generate;
  EngineOptions engine;
  std::vector<std::uint32_t> lengths = {1024, 4096, 8192};  // Kv: tokens of the sequence.
  std::uint32_t prompt_tokens = 512;                        // Generate.
  std::uint32_t decode_tokens = 128, depth = 16;            // Depth: tokens before those.
  // Pressure, Batching, Arrival, Constraint: one count of conversations, of instances, of streams.
  std::vector<std::uint32_t> streams = {1, 4, 16};
  std::uint32_t tokens = 2048;  // Restore, Sink.
  std::uint32_t repetitions = 3;
  BenchDevice device = BenchDevice::Both;  // Batching.
  std::vector<NamedBatching> simulated_policies;
  std::vector<NamedBatching> cpu_policies;
  std::string kv_report_file;  // Restore, Pressure, Sink; as of RunOptions.
  std::string program;         // Overhead, Calls: the guest; empty: that of the build.
  OutputStyle output = OutputStyle::Text;
};

struct BenchPagesOptions {
  std::string trace;  // A file to replay: JSON lines, or runs; may be gzipped. Empty: times.
  std::uint32_t capacity = 0;  // Blocks.
  PagePolicyChoice policy = PagePolicyChoice::Default;
  bool hints_from_future = false;
  double from = 0.0;  // Shares of the trace between which requests are counted.
  double to = 1.0;
  bool is_cold_start = false;
  OutputStyle output = OutputStyle::Text;
};

}  // namespace quire::cli
