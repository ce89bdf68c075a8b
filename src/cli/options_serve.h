#pragma once
// The options of `quire serve`. src/main/verbs/serve/serve_command.h does the work.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/server_limits.h"
#include "cli/options.h"
#include "cli/tls_paths.h"

namespace quire::cli {

// The limits of a tenant, and its weight. An empty member sets no limit of its own.
struct TenantOptions {
  std::uint32_t tenant = 0;
  std::uint32_t weight =
      1;  // Its share of the device and of the pool of pages, relative to other tenants.
  std::optional<std::uint64_t> instance_count_max = {};
  std::optional<std::uint64_t> page_count_max = {};
  std::optional<std::uint64_t> memory_bytes_max = {};
  std::optional<std::uint64_t> http_exchange_count_max = {};
  std::optional<std::uint64_t> upload_bytes_max = {};  // Of its uploads that are not complete,
  std::optional<std::uint64_t> partial_frame_bytes_max = {};  // and of its frames.
  std::optional<std::uint64_t> snapshot_bytes_max = {};       // Of its snapshots in the store.
  // The adapters that it adds while the server runs: their count, their bytes, the rank of each.
  std::optional<std::uint64_t> adapter_count_max = {};
  std::optional<std::uint64_t> adapter_bytes_max = {};
  std::optional<std::uint64_t> adapter_rank_max = {};
  std::optional<std::uint64_t> requests_per_minute = {};  // To endpoints.
  std::optional<std::uint64_t> launches_per_minute = {};
  std::optional<std::uint64_t> tokens_per_minute = {};
  std::vector<InstanceLimitValue> limits = {};  // Of each of them, in place of --limit.
  std::vector<std::string> allow_http = {};     // In place of --allow-http, unless it is empty.
  std::vector<std::string> env = {};            // Variables of quire that its programs get.
  bool operator==(const TenantOptions&) const = default;
};

enum class LogFormat : std::uint8_t { Text, Json };

// Whether a server starts although a part of the wall around its compilers is missing.
enum class CompileSandbox : std::uint8_t { Auto, Require };

// Names in the head of a request that the server takes beside its own.
struct AllowedNames {
  std::vector<std::string> origins = {};  // Of web pages.
  std::vector<std::string> hosts = {};
};

// How the server reports on standard error, and the least of what it reports.
struct LogOptions {
  LogFormat format = LogFormat::Text;
  LogLevel level = LogLevel::Info;
};

struct EndpointBehavior {
  bool repairs_prompts = false;  // The shipped ones for conversations do.
  bool has_drafts = true;        // Those that write text guess it from the prompt.
  bool shows_errors = false;     // Clients read the errors in which programs end.
  double ping_seconds = 5.0;     // Without an event of a stream, after which there is a ping.
  bool pads_json = false;        // White space begins a whole answer that takes longer.
};

// Compilations of modules that clients upload.
struct CompileOptions {
  std::uint64_t memory_bytes_max = std::uint64_t{1} << 30;  // Of each.
  std::uint32_t seconds_max = 60;                           // Of its processor time.
  CompileSandbox sandbox = CompileSandbox::Auto;
  bool has_cranelift_only = false;  // Of wasmtime's two compilers.
};

struct ServeOptions {
  EngineOptions engine;
  InstanceOptions instance;                 // What each instance may have, at most.
  std::string listen = "127.0.0.1:7847";    // HOST:PORT; port 0: any that is free.
  std::vector<std::string> programs = {};   // Modules, or folders of them.
  std::string adapters_folder = {};         // From which clients add adapters; empty: none.
  std::vector<std::string> endpoints = {};  // "POST /x=program".
  bool is_watched = false;                  // Programs whose files change are made anew.
  bool has_shipped_endpoints = true;        // In addition, at other paths.
  EndpointBehavior endpoint_behavior = {};
  AllowedNames allowed = {};
  std::string keys_file = {};  // Empty: no keys.
  TlsPaths tls = {};
  std::string usage_file = {};  // Empty: no accounts are kept.
  std::vector<TenantOptions> tenants = {};
  std::uint32_t instance_count_max = default_of<ServerLimit::InstanceCountMax>();
  std::uint32_t waiting_launch_count_max = default_of<ServerLimit::WaitingLaunchCountMax>();
  std::uint32_t connection_count_max = default_of<ServerLimit::ConnectionCountMax>();
  CompileOptions compile = {};
  double grace_seconds = 10.0;  // That an instance outlives its client, and the server its end.
  double keep_seconds = 600.0;  // That the last output waits for a client.
  OutputStyle output = OutputStyle::Text;
  LogOptions log = {};
};

}  // namespace quire::cli
