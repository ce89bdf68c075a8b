// The verb that starts a server.
#include <charconv>
#include <optional>
#include <string_view>

#include "base/readable.h"
#include "base/server_limits.h"
#include "base/utf8.h"
#include "cli/config_layer.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr std::size_t kTenantCountMax = 255;  // The reply to a status has room for as many.
constexpr std::uint64_t kWeightMax = 1000;
constexpr std::uint64_t kCountMax = 1u << 26;
constexpr std::uint64_t kRateMax = 1u << 28;
constexpr std::uint64_t kAdapterRankMax = 1024;

std::optional<std::uint64_t> whole(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_number && value <= most ? std::optional(value) : std::nullopt;
}

// Parses a tenant's share of a limit that all tenants share. The share cannot exceed that limit,
// unless the limit depends on the machine.
Result<std::uint64_t> share_of(ServerLimit limit, std::string_view value) {
  const ServerLimitRow& row = row_of(limit);
  Result<std::uint64_t> bytes = parse_bytes(std::string(value));
  if (!bytes.ok()) {
    return Error(ErrorCode::InvalidArgument,
                 std::string("has no count of bytes, as in ") + row.word + ":32MiB");
  }
  if (row.value > 0 && bytes.value() > row.value) {
    return Error(ErrorCode::InvalidArgument, "is more than the " + readable_bytes(row.value) +
                                                 " of all tenants (" + row.name + ")");
  }
  return bytes;
}

// A member of --tenant that is a number, by the word for it.
struct TenantNumber {
  std::string_view word;
  std::optional<std::uint64_t> TenantOptions::* to;
  std::uint64_t least = 0;
  std::uint64_t most = kCountMax;
};

constexpr TenantNumber kTenantNumbers[] = {
    {"instances", &TenantOptions::instance_count_max},
    {"pages", &TenantOptions::page_count_max},
    {"http", &TenantOptions::http_exchange_count_max},
    {"adapters", &TenantOptions::adapter_count_max, 0, row_of(ServerLimit::AdapterCountMax).value},
    {"adapter_rank", &TenantOptions::adapter_rank_max, 0, kAdapterRankMax},
    {"requests_per_minute", &TenantOptions::requests_per_minute, 1, kRateMax},
    {"launches_per_minute", &TenantOptions::launches_per_minute, 1, kRateMax},
    {"tokens_per_minute", &TenantOptions::tokens_per_minute, 1, kRateMax},
};

// A member that is a count of bytes: the tenant's share of a limit that all tenants share.
struct TenantBytes {
  std::string_view word;
  std::optional<std::uint64_t> TenantOptions::* to;
  ServerLimit limit;
};

constexpr TenantBytes kTenantBytes[] = {
    {"uploads", &TenantOptions::upload_bytes_max, ServerLimit::UploadBytesTotalMax},
    {"frames", &TenantOptions::partial_frame_bytes_max, ServerLimit::PartialFrameBytesTotalMax},
    {"adapter_bytes", &TenantOptions::adapter_bytes_max, ServerLimit::AdapterBytesMax},
    {"snapshots", &TenantOptions::snapshot_bytes_max, ServerLimit::SnapshotBytesTotalMax},
};

Error wrong_member(std::string_view member, const std::string& how) {
  return Error(ErrorCode::InvalidArgument, "--tenant: " + in_quotes(member) + " " + how);
}

Result<void> add_tenant_limit(TenantOptions& tenant, std::string_view member, std::size_t limit,
                              std::string_view value) {
  for (const InstanceLimitValue& other : tenant.limits) {
    if (other.index == limit) return wrong_member(member, "is given twice");
  }
  Result<InstanceLimitValue> parsed = parse_limit_value(limit, value);
  if (!parsed.ok()) return std::move(parsed).take_error().while_("--tenant");
  tenant.limits.push_back(parsed.value());
  return {};
}

// One of "weight:2", "instances:64", ...
Result<void> set_tenant_member(TenantOptions& tenant, std::string_view member) {
  const std::size_t colon = member.find(':');
  const std::string_view name = member.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? "" : member.substr(colon + 1);
  for (const TenantNumber& row : kTenantNumbers) {
    if (name != row.word) continue;
    tenant.*row.to = whole(value, row.most);
    if (tenant.*row.to && *(tenant.*row.to) >= row.least) return {};
    return wrong_member(member, "has no count from " + std::to_string(row.least) + " to " +
                                    std::to_string(row.most));
  }
  for (const TenantBytes& row : kTenantBytes) {
    if (name != row.word) continue;
    const Result<std::uint64_t> bytes = share_of(row.limit, value);
    if (!bytes.ok()) return wrong_member(member, std::string(bytes.error().message()));
    tenant.*row.to = bytes.value();
    return {};
  }
  if (name == "memory") {
    const Result<std::uint64_t> bytes = parse_bytes(std::string(value));
    if (!bytes.ok()) return wrong_member(member, "has no count of bytes, as in memory:4GiB");
    tenant.memory_bytes_max = bytes.value();
    return {};
  }
  if (name == "weight") {
    const std::optional<std::uint64_t> weight = whole(value, kWeightMax);
    if (!weight || *weight == 0) return wrong_member(member, "is not a weight from 1 to 1000");
    tenant.weight = static_cast<std::uint32_t>(*weight);
    return {};
  }
  if (name == "allow-http") {
    if (value.empty()) {
      return wrong_member(member, "names no host, as in allow-http:api.example.com");
    }
    tenant.allow_http.emplace_back(value);
    return {};
  }
  if (name == "env") {
    if (value.empty()) return wrong_member(member, "names no variable; write env:API_KEY");
    tenant.env.emplace_back(value);
    return {};
  }
  if (const std::optional<std::size_t> limit = find_limit(name)) {
    return add_tenant_limit(tenant, member, *limit, value);
  }
  return wrong_member(
      member,
      "is none of weight:N, instances:N, pages:N, memory:BYTES, http:N, uploads:BYTES, "
      "frames:BYTES, snapshots:BYTES, adapters:N, adapter_bytes:BYTES, adapter_rank:N, "
      "allow-http:PATTERN, "
      "env:NAME, requests_per_minute:N, launches_per_minute:N, tokens_per_minute:N and the "
      "limits of --limit, as in token_count_max:1000000");
}

}  // namespace

Result<TenantOptions> parse_tenant(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::optional<std::uint64_t> number =
      whole(std::string_view(text).substr(0, equals), UINT32_MAX);
  if (equals == std::string::npos || !number) {
    return Error(ErrorCode::InvalidArgument,
                 "--tenant: " + in_quotes(text) + " is not N=weight:2,instances:64,...");
  }
  TenantOptions tenant;
  tenant.tenant = static_cast<std::uint32_t>(*number);
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    TRY(set_tenant_member(tenant, rest.substr(0, comma)));
    if (comma == std::string_view::npos) return tenant;
    rest.remove_prefix(comma + 1);
  }
}

namespace {

// The compiler takes about 20 MiB before it has seen a module.
Result<std::uint64_t> compile_memory(const std::string& text) {
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
  const std::uint64_t bytes = TRY(parse_bytes(text));
  if (bytes >= kLeast) return bytes;
  return Error(ErrorCode::InvalidArgument,
               "--compile-memory-max " + text + ": the compiler alone needs 64MiB");
}

constexpr Choice<CompileSandbox> kCompileSandboxes[] = {{"auto", CompileSandbox::Auto},
                                                        {"require", CompileSandbox::Require}};
constexpr Choice<LogFormat> kLogFormats[] = {{"text", LogFormat::Text}, {"json", LogFormat::Json}};

struct ServeState {
  ServeOptions options;
  EngineFlags engine;
  InstanceFlags instance;
  std::string config;  // Read before the words are (config_layer.h).
  bool tells_misses = false;
};

Result<void> read_tenants(const Words& words, std::vector<TenantOptions>& tenants) {
  for (const std::string& each : words) {
    const TenantOptions tenant = TRY(parse_tenant(each));
    for (const TenantOptions& other : tenants) {
      if (other.tenant != tenant.tenant) continue;
      return Error(ErrorCode::InvalidArgument,
                   "--tenant: " + std::to_string(tenant.tenant) + " is given twice");
    }
    tenants.push_back(tenant);
  }
  if (tenants.size() <= kTenantCountMax) return {};
  return Error(ErrorCode::InvalidArgument, "--tenant: " + std::to_string(tenants.size()) +
                                               " tenants; at most " +
                                               std::to_string(kTenantCountMax) + " can be named");
}

std::vector<Flag> endpoint_rows(ServeState& state) {
  ServeOptions& options = state.options;
  EndpointBehavior& behavior = options.endpoint_behavior;
  return {
      {"PROGRAM", "", &options.programs,
       "Programs that clients may launch by name, which is that of the file without .wasm: "
       "modules, C++ sources and Cargo projects (both compiled first) and scripts. A folder stands "
       "for all its modules and Cargo projects, and for its scripts that no other one imports. "
       "Clients may upload more"},
      {"--listen", "HOST:PORT", &options.listen,
       "The address for clients; port 0 for any that is free. An address that other machines "
       "reach needs --keys"},
      {"--endpoint", "\"METHOD /PATH=PROGRAM [ARGUMENT...]\"", &options.endpoints,
       "Answer HTTP requests with a program: a method, a path (/a/* is all below /a/), and a "
       "program with its arguments. The program is the name of one given here, a module, a "
       "script, or a C++ source or Cargo project (compiled first). One instance answers each "
       "request. It replaces an endpoint of quire at that path. May be given again "
       "(docs/guide/endpoints.md)"},
      {"--watch", "", &options.is_watched,
       "Build and replace programs whose files change; requests go on"},
      {"--adapters", "FOLDER", &options.adapters_folder,
       "Let clients add the adapters in this folder while the server runs, by their paths in it "
       "(POST /v1/load_lora_adapter, quire adapter add --on-server). No link leads out of it. With "
       "keys the right load-adapters is needed"},
      {"--no-endpoints", "", [&options] { options.has_shipped_endpoints = false; },
       "Leave out the endpoints of quire. OpenAI has /v1/models, /v1/chat/completions, "
       "/v1/completions, /v1/responses and /v1/embeddings. Anthropic has /v1/messages and "
       "/v1/messages/count_tokens. Gemini has /v1beta/models and the methods below it. There are "
       "also /tokenize, /detokenize and /apply-template"},
      {"--prompt-repair", "", &behavior.repairs_prompts,
       "Let the endpoints for conversations move some lines of the system prompt to its end: those "
       "in which a number, a time, an id or a path changes from turn to turn. The cache then finds "
       "what follows them; needs a store"},
      {"--explain-misses", "", &state.tells_misses,
       "Report to programs why their tokens were not found in the cache, from pages of their own "
       "tenant alone; the endpoints of quire put it into the usage"},
      {"--show-errors", "", &behavior.shows_errors,
       "Let clients read the errors in which endpoints end, for development"},
      {"--allow-origin", "ORIGIN", &options.allowed.origins,
       "Let web pages of that origin use the endpoints (CORS), as https://example.com; * for all. "
       "May be given again"},
  };
}

// How the answers of endpoints come.
std::vector<Flag> answer_rows(EndpointBehavior& behavior) {
  return {
      {"--ping-seconds", "SECONDS", &behavior.ping_seconds,
       "Interval of the pings in a stream without events, of the endpoints whose answers a model "
       "writes. They keep clients and proxies from giving up; 0: send none",
       real_within(0.0, 3600.0)},
      {"--pad-json", "", &behavior.pads_json,
       "Let an answer that is not a stream begin with a space in each of these intervals. Its "
       "status is then 200 before the answer is known, and an error comes as the body"},
      {"--no-drafts", "", [&behavior] { behavior.has_drafts = false; },
       "Let the endpoints of quire guess no tokens of an answer from its prompt. Such drafts speed "
       "up an answer that repeats parts of the prompt. They never change its text"},
  };
}

std::vector<Flag> access_rows(ServeOptions& options) {
  return {
      {"--keys", "FILE", &options.keys_file,
       "Serve clients that have a key of this file alone (quire keys add makes it); SIGHUP reads "
       "it again. Uploads are compiled as with --cranelift-only (docs/operate/access.md)"},
      {"--allow-host", "NAME", &options.allowed.hosts,
       "A name by which clients reach the server (their Host header), in addition to the address "
       "and localhost, as models.example.com. Needs --keys. May be given again"},
      {"--usage", "FILE", &options.usage_file,
       "Keep accounts in this file: requests, launches, tokens and time of each tenant and key, by "
       "day (quire usage shows them)"},
      {"--tls-certificate", "FILE", &options.tls.certificate,
       "Serve https:// and wss:// alone (TLS 1.2 and 1.3): the server's certificate in PEM, and "
       "after it those that lead to a root; SIGHUP reads it and its key again"},
      {"--tls-key", "FILE", &options.tls.key, "Its private key in PEM, without a password"},
  };
}

std::vector<Flag> sharing_rows(ServeOptions& options) {
  const auto read = [&options](const Words& words) { return read_tenants(words, options.tenants); };
  return {
      {"--instances", "N", &options.instance_count_max,
       "Maximum number of instances, counting those whose output has not been delivered yet "
       "(instance_count_max); shared out among the tenants (docs/reference/limits.md)",
       whole_within(1, 65536)},
      {"--launch-queue", "N", &options.waiting_launch_count_max,
       "Maximum number of launches that wait for an instance to end (waiting_launch_count_max), "
       "shared out among the tenants. Further launches are refused with the time after which to "
       "try again",
       whole_within(0, 65536)},
      {"--connections", "N", &options.connection_count_max,
       "Clients at once (connection_count_max), of which an address without a known key has a "
       "quarter; beyond, a new one gets the place of an idle one (docs/operate/README.md)",
       whole_within(1, 65536)},
      {"--grace", "SECONDS", &options.grace_seconds,
       "How long a program goes on after its client is gone, unless it is detached or another "
       "client attaches; also how long programs go on when the server shuts down",
       real_within(0.0, 1e6)},
      {"--keep", "SECONDS", &options.keep_seconds,
       "How long the last output of a detached program waits for a client", real_within(0.0, 1e6)},
      {"--tenant", "N=weight:W,instances:N,NAME:VALUE,...",
       Reader{.read = read, .may_repeat = true},
       "Limits of tenant N. Its share of the device and of the pool of pages: weight:W. For all "
       "its programs together: instances:N, pages:N, memory:BYTES (what they may grow to), http:N "
       "(exchanges), uploads:BYTES and frames:BYTES (of its clients, not complete yet), "
       "snapshots:BYTES (in the store). Of the "
       "adapters that its clients add: adapters:N, adapter_bytes:BYTES, adapter_rank:N. In a "
       "minute: requests_per_minute (to endpoints), launches_per_minute, tokens_per_minute. For "
       "each of its programs: each limit of --limit, as token_count_max:1000000. Once or more, "
       "allow-http takes the place of --allow-http, and env:NAME is as --env, for all its "
       "programs. Each may be left out. May be given again; "
       "without it there is tenant 0 alone, without these limits"},
  };
}

std::vector<Flag> compiling_rows(CompileOptions& compile) {
  Reader memory = bytes(compile.memory_bytes_max);
  memory.read = [&compile](const Words& words) -> Result<void> {
    compile.memory_bytes_max = TRY(compile_memory(words.back()));
    return {};
  };
  return {
      {"--compile-memory-max", "BYTES", std::move(memory),
       "Memory of the process that compiles a module which a client uploaded (64MiB at least); one "
       "that needs more is refused"},
      {"--compile-seconds-max", "SECONDS", &compile.seconds_max,
       "Its processor time; by the clock it has four times as long", whole_within(1, 86400)},
      {"--compile-sandbox", "", one_of(compile.sandbox, "sandbox", kCompileSandboxes),
       "The wall around that process: namespaces, landlock, and a filter of system calls. If the "
       "kernel lacks one of them, the server says so and starts (auto). With require it ends"},
      {"--cranelift-only", "", &compile.has_cranelift_only,
       "Compile what clients upload with Cranelift alone, not first with Winch, which is quicker "
       "(0.03 s for 0.2 s) and has the worse security record: for programs of people you do not "
       "trust"},
  };
}

constexpr const char* kServeNotes =
    R"(The first line has the address, and is printed when clients may come; a line follows for each endpoint. The
server reports on standard error what happens. Monitoring uses GET /metrics, /health/live and
/health/ready (docs/operate/README.md).
Ctrl-C or SIGTERM ends the server: no new programs, --grace for those that run, then all stop; a
second one stops them at once, a third ends the process. docs/reference/protocol.md describes the protocol, clients/python speaks it.

Examples:
  quire serve
  curl localhost:7847/v1/chat/completions \
    -d '{"messages":[{"role":"user","content":"Hi"}]}'
  quire serve --no-endpoints
  quire serve programs --listen 127.0.0.1:0 --instances 200
  quire serve write.cpp --endpoint "POST /write=write"
  quire serve --endpoint "POST /complete=complete_http.wasm" --allow-origin https://example.com
  quire serve --tenant 0=weight:3 --tenant 1=weight:1,instances:64,memory:4GiB
  quire serve --keys keys.txt --tenant 1=requests_per_minute:60,tokens_per_minute:20000
  quire keys add alice --keys keys.txt && quire serve --keys keys.txt --listen 0.0.0.0:7847 --allow-host models.example.com
  quire serve --limit wall_ns_max=3600s --tenant 0=weight:3 --tenant 1=weight:1,token_count_max:1000000
  quire run --server ws://127.0.0.1:7847 text_completion -- --prompt "Once upon a time")";

// Checks flags that depend on each other.
Result<void> check_serve(const ServeOptions& options) {
  if (options.endpoint_behavior.repairs_prompts && options.engine.store_use == StoreUse::Off) {
    return Error(ErrorCode::InvalidArgument,
                 "--prompt-repair keeps what it learns in the store: leave out --no-store");
  }
  if (!options.allowed.hosts.empty() && options.keys_file.empty()) {
    return Error(ErrorCode::InvalidArgument,
                 "--allow-host: a server without --keys may be named as this machine alone");
  }
  if (options.tls.certificate.empty() == options.tls.key.empty()) return {};
  return Error(ErrorCode::InvalidArgument, "--tls-certificate and --tls-key are given together");
}

}  // namespace

Verb add_serve(CLI::App& app) {
  return add_serve_flags(
      app.add_subcommand("serve", "Let clients run programs on the engine here"));
}

Verb add_serve_flags(CLI::App* verb) {
  auto state = std::make_shared<ServeState>();
  ServeOptions& options = state->options;
  auto rows = std::make_shared<Rows>(verb);
  rows->add(endpoint_rows(*state));
  rows->add(access_rows(options));
  rows->add({{"--log-format", "", one_of(options.log.format, "log format", kLogFormats),
              "How the server reports what happens, on standard error: text for people, or json, "
              "one object a line, with a line for each request (docs/operate/README.md)"},
             log_level(options.log.level, "what the server and the programs of endpoints report")});
  rows->add(state->instance.grants());
  rows->add({
      state->engine.models(),
      state->engine.adapters_by_name("programs of all tenants"),
      Flag{
          "--config", "FILE", &state->config,
          "A file in TOML with values for these flags: a key is a flag's name, as in kv-memory = "
          "\"2GiB\". A flag wins over its variable, that over the file. Without this the file is "
          "$XDG_CONFIG_HOME/quire/quire.toml (~/.config), if it is there (docs/operate/README.md)"},
      json(options.output),
  });
  rows->add(answer_rows(options.endpoint_behavior), Part::Limits);
  rows->add(sharing_rows(options), Part::Limits);
  rows->add(compiling_rows(options.compile), Part::Limits);
  rows->add(
      state->instance.limits(
          3600.0, "a quarter of the pool, or what holds 2,048 tokens where that is more", true),
      Part::Limits);
  rows->add(state->engine.rows(), Part::Engine);
  rows->add(state->engine.store_rows(), Part::Engine);
  rows->name_variables();
  return rows->verb(kServeNotes, [state, rows]() -> Result<Request> {
    ServeOptions& served = state->options;
    served.engine = TRY(state->engine.finish());
    if (state->tells_misses) served.engine.misses = MissUse::Tell;
    served.instance = state->instance.finish(*rows);
    served.engine.snapshot_bytes_total_max =
        served.instance.server_limit(ServerLimit::SnapshotBytesTotalMax);
    TRY(check_serve(served));
    return Request(served);
  });
}

Verb add_status(CLI::App& app) {
  auto options = std::make_shared<StatusOptions>();
  Rows rows(app, "status", "Report what tenants and programs of a server hold and have used");
  rows.add({
      {"--server", "URL", &options->server,
       "The server, as quire serve printed it: ws://HOST:PORT, or wss://HOST:PORT with TLS"},
      key_file(options->key_file),
      json(options->output),
  });
  return rows.verb(
      R"(A server without keys tells of all tenants, and so does one with keys if the key may operate. docs/reference/limits.md says what the figures mean.

Examples:
  quire status
  quire status --server ws://127.0.0.1:7847 --json)",
      options);
}

}  // namespace quire::cli
