#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr Choice<BackendChoice> kBackends[] = {{"auto", BackendChoice::Auto},
                                               {"scalar", BackendChoice::Scalar},
                                               {"avx2", BackendChoice::Avx2},
                                               {"avxvnni", BackendChoice::AvxVnni},
                                               {"avx512", BackendChoice::Avx512}};
constexpr Choice<KvModeChoice> kKvModes[] = {{"basic", KvModeChoice::Basic},
                                             {"paged", KvModeChoice::Paged}};
constexpr Choice<EvictionChoice> kPolicies[] = {
    {"default", {PagePolicyChoice::Default}},
    {"lru", {PagePolicyChoice::Lru}},
    {"s3-fifo", {PagePolicyChoice::S3Fifo}},
    {"fcfs-kill", {PagePolicyChoice::Default, WhenFullChoice::FcfsKill}}};
constexpr Choice<WhenFullChoice> kWhenFull[] = {{"suspend", WhenFullChoice::Suspend},
                                                {"fcfs-kill", WhenFullChoice::FcfsKill}};
constexpr Choice<std::uint32_t> kPageSizes[] = {{"8", 8}, {"16", 16}, {"32", 32}};
constexpr Choice<KvFormatChoice> kKvFormats[] = {{"f32", KvFormatChoice::F32},
                                                 {"f16", KvFormatChoice::F16},
                                                 {"bf16", KvFormatChoice::BF16},
                                                 {"q8", KvFormatChoice::Q8}};

constexpr Choice<LogLevel> kLogLevels[] = {{"debug", LogLevel::Debug},
                                           {"info", LogLevel::Info},
                                           {"warning", LogLevel::Warning},
                                           {"error", LogLevel::Error}};

// The store is off, or where it is.
Result<void> finish_store(const EngineFlags& flags, EngineOptions& finished) {
  const std::string& store = flags.options.store_folder;
  bool is_off = flags.has_no_store;
  if (is_off && !store.empty()) {
    // A flag wins over what the environment says.
    const char* folder = std::getenv("QUIRE_STORE");
    const bool is_folder_flag = folder == nullptr || store != folder;
    const bool is_off_flag = std::getenv("QUIRE_NO_STORE") == nullptr;
    if (is_folder_flag == is_off_flag) {
      return Error(ErrorCode::InvalidArgument, "--store and --no-store exclude each other");
    }
    is_off = is_off_flag;
  }
  if (is_off) finished.store_folder.clear();
  if (!flags.has_snapshots || is_off) return {};
  finished.store_use = store.empty() ? StoreUse::IfFree : StoreUse::Required;
  return {};
}

Flag adapter_flag(std::function<Result<void>(const Words&)> read, const std::string& what_for) {
  return Flag{"--adapter", "NAME=PATH", Reader{.read = std::move(read), .may_repeat = true},
              "Load a LoRA adapter, a folder in PEFT's form or a GGUF file, " + what_for +
                  ". May be given again"}
      .here();
}

}  // namespace

Result<std::uint64_t> parse_bytes(const std::string& text) {
  const auto wrong = [&text] {
    return Error(ErrorCode::InvalidArgument,
                 in_quotes(text) + " is not a number of bytes (as in 512MiB, 8GiB, 1073741824)");
  };
  if (text.empty() || text[0] < '0' || text[0] > '9') return wrong();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  for (char& letter : unit) letter = static_cast<char>(std::tolower(letter));
  if (!unit.empty() && unit.back() == 'b') unit.pop_back();
  if (!unit.empty() && unit.back() == 'i') unit.pop_back();
  double factor = 1;
  if (unit == "k") {
    factor = 0x1p10;
  } else if (unit == "m") {
    factor = 0x1p20;
  } else if (unit == "g") {
    factor = 0x1p30;
  } else if (unit == "t") {
    factor = 0x1p40;
  } else if (!unit.empty()) {
    return wrong();
  }
  const double bytes = number * factor;
  if (!(bytes < 0x1p62)) return wrong();
  return static_cast<std::uint64_t>(bytes);
}

Result<BatchingChoice> parse_batching(const std::string& text) {
  constexpr double kCountMax = 1e6;
  constexpr double kMillisecondsMax = 1e6;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string argument = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (text == "adaptive") return BatchingChoice{};
  if (text == "eager") return BatchingChoice{.kind = BatchingKind::Eager};
  const auto wrong = [&](const std::string& why) {
    return Error(ErrorCode::InvalidArgument, "--batching " + text + ": " + why);
  };
  if (name == "adaptive" || name == "eager") return wrong(name + " takes no number");
  if (name != "k-only" && name != "t-only") {
    return Error(ErrorCode::InvalidArgument,
                 "unknown policy for batches \"" + text +
                     "\" (supported: adaptive, eager, k-only:K, t-only:MS)");
  }
  const bool is_number =
      !argument.empty() && argument.find_first_not_of("0123456789.") == std::string::npos;
  char* end = nullptr;
  const double value = is_number ? std::strtod(argument.c_str(), &end) : 0.0;
  const bool is_whole = value == std::floor(value);
  if (name == "k-only") {
    if (!is_number || *end != '\0' || !is_whole || value < 1 || value > kCountMax) {
      return wrong("k-only takes a count of commands from 1 to 1000000, as in k-only:32");
    }
    return BatchingChoice{.kind = BatchingKind::KOnly,
                          .command_count = static_cast<std::uint32_t>(value)};
  }
  if (!is_number || *end != '\0' || value < 0.001 || value > kMillisecondsMax) {
    return wrong("t-only takes milliseconds from 0.001 to 1000000, as in t-only:5");
  }
  return BatchingChoice{.kind = BatchingKind::TOnly,
                        .period_ns = static_cast<std::uint64_t>(value * 1e6)};
}

Flag model_flag(std::string& model) {
  return Flag{"-m,--model", "NAME|PATH", &model,
              "A name (quire model list), a GGUF file or a folder"}
      .from("QUIRE_MODEL");
}

Flag EngineFlags::models() {
  const auto read = [this](const Words& words) -> Result<void> {
    options.model = words.front();
    options.further_models.assign(words.begin() + 1, words.end());
    return {};
  };
  return Flag{"-m,--model", "NAME|PATH", Reader{.read = read, .may_repeat = true},
              "A name (quire model list), a GGUF file or a folder. May be given again: programs "
              "open a model by its name, the first where they give none"}
      .from("QUIRE_MODEL")
      .here();
}

Flag EngineFlags::adapters_by_name(const char* whose) {
  const auto read = [this](const Words& words) -> Result<void> {
    for (const std::string& each : words) {
      AdapterOption adapter = TRY(parse_adapter(each));
      if (adapter.scale) {
        return Error(ErrorCode::InvalidArgument,
                     "--adapter " + in_quotes(each) +
                         ": a scale is for quire chat and quire generate; programs choose theirs, "
                         "as in context.use({\"" +
                         adapter.name + "\", 0.5})");
      }
      options.adapters.push_back(std::move(adapter));
    }
    return {};
  };
  return adapter_flag(read, std::string("for ") + whose + " to use by NAME");
}

Flag EngineFlags::adapters_in_force() {
  const auto read = [this](const Words& words) -> Result<void> {
    for (const std::string& each : words) options.adapters.push_back(TRY(parse_adapter(each)));
    return {};
  };
  return adapter_flag(read, "and write under it; PATH@SCALE scales it");
}

std::vector<Flag> EngineFlags::rows() {
  const auto read_batching = [this](const Words& words) -> Result<void> {
    options.batching = TRY(parse_batching(words.back()));
    return {};
  };
  Reader read_when_full = one_of(when_full, "policy for a full pool", kWhenFull);
  read_when_full.fallback =
      kWhenFull[0].name;  // Nothing stands there, so that finish() sees what is given.
  return {
      {"--backend", "", one_of(options.backend, "backend", kBackends),
       "The kernels; auto: the best that this machine has"},
      {"--threads", "N", &options.thread_count, "Worker threads; 0: one for each physical core",
       whole_within(0, 1024)},
      {"--kv", "", one_of(options.kv_mode, "kv cache mode", kKvModes),
       "The KV cache: in pages, or basic (one growing buffer a sequence)"},
      {"--kv-format", "", one_of(options.kv_format, "kv format", kKvFormats),
       "Number format of keys and values; q8: half of f16"},
      {"--page-size", "", one_of(options.page_size, "page size", kPageSizes), "Slots of a KV page"},
      {"--eviction", "", one_of(eviction, "eviction policy", kPolicies),
       "Which KV page that no program holds is given up first; fcfs-kill is default with "
       "--when-full fcfs-kill"},
      {"--when-full", "", std::move(read_when_full),
       "What makes room when every KV page is held: suspend (a context gives up its pages and "
       "gets them back later), or fcfs-kill (the program that started last ends)"},
      {"--batching", "POLICY", Reader{.read = read_batching, .fallback = "adaptive"},
       "When a batch is built: adaptive (the device is free), or for comparisons eager (each "
       "command by itself), k-only:K (K commands are ready) or t-only:MS (every MS milliseconds)"},
      {"--prefill-budget", "N", &options.prefill_row_budget,
       "Tokens of prompts in a step that also generates; 0: so many that the step takes at most "
       "twice as long as without, as measured",
       whole_within(0, 1 << 20)},
      {"--kv-pages", "N", &options.pool.page_count, "Pages of the KV pool of each model",
       whole_within(1, 1 << 26)},
      Flag{"--kv-memory", "BYTES", bytes(options.pool.memory_bytes),
           "Memory of the KV pool, as in 512MiB, divided among the models; without it and "
           "--kv-pages a quarter of the machine's, at most 8 GiB"}
          .excludes("--kv-pages"),
      {"--state-memory", "BYTES", bytes(options.pool.state_memory_bytes),
       "Part of --kv-memory that holds the states of models with recurrent layers; half of it "
       "without"},
  };
}

std::vector<Flag> EngineFlags::store_rows() {
  has_snapshots = true;
  return {
      {"--store", "FOLDER", &options.store_folder,
       "Where contexts are saved; an error if it cannot be used. Without it a folder of the user's "
       "data, or no snapshots where another process has that open"},
      {"--kv-host", "BYTES", bytes(options.tiers.host_bytes),
       "Memory for KV pages that the pool has no room for, as in 512MiB. For devices with memory "
       "of their own: to the CPU a larger pool is worth more"},
      {"--kv-disk", "BYTES", bytes(options.tiers.disk_bytes),
       "Disk, in the store, for KV pages that the pool has no room for and that are quicker read "
       "than computed; 0 for none"},
      {"--no-store", "", &has_no_store, "Save and open no contexts; leaves the store alone"},
  };
}

constexpr const char* kServerLimitsHelp =
    ". Limits of the whole server are program_memory_bytes_max, the memory of all programs (half "
    "of "
    "what weights and pools leave without it), and snapshot_bytes_total_max, the snapshots of all "
    "tenants (80 % of what their disk has free). Values are ";

Result<EngineOptions> EngineFlags::finish() const {
  EngineOptions finished = options;
  finished.eviction = eviction.policy;
  finished.when_full = when_full.value_or(WhenFullChoice::Suspend);
  if (eviction.when_full) {
    if (when_full && when_full != eviction.when_full) {
      return Error(ErrorCode::InvalidArgument,
                   "--eviction fcfs-kill and --when-full suspend exclude each other");
    }
    finished.when_full = *eviction.when_full;
  }
  if (finished.pool.memory_bytes == 0u) {
    return Error(ErrorCode::InvalidArgument, "--kv-memory 0 holds no page");
  }
  TRY(finish_store(*this, finished));
  return finished;
}

std::vector<Flag> InstanceFlags::limits(double cpu_seconds_max, const char* pages, bool of_server) {
  options.cpu_seconds_max = cpu_seconds_max;
  const auto read_limits = [this, of_server](const Words& words) -> Result<void> {
    std::vector<std::string> of_instance = words;
    if (of_server) options.server_limits = TRY(take_server_limits(of_instance));
    options.limits =
        TRY(parse_limits(of_instance, of_server ? LimitScope::Server : LimitScope::Instance));
    return {};
  };
  return {
      {"--memory-max", "BYTES", bytes(options.memory_bytes_max), "Memory of an instance"},
      {"--cpu-seconds-max", "SECONDS", &options.cpu_seconds_max,
       "CPU time of an instance, without the model's", real_within(0.001, 1e6)},
      {"--output-max", "BYTES", bytes(options.output_bytes_max),
       "What an instance may say and send in all: messages, log and files"},
      {"--pages-max", "N", &options.page_count_max,
       std::string("KV pages of an instance, so that one cannot hold those of all; without it ") +
           pages,
       whole_within(1, 1 << 26)},
      Flag{"--limit", "NAME=VALUE", Reader{.read = read_limits, .may_repeat = true},
           std::string("A limit of an instance by its name, over what the options above say") +
               (of_server ? kServerLimitsHelp : "; ") +
               "sizes as in 512MiB, times as in 500ms or 3600s. May be given again. "
               "docs/reference/limits.md has the names, and so has the error of an unknown one"}
          .here(),
  };
}

std::vector<Flag> InstanceFlags::grants() {
  return {
      Flag{"--allow-public-exports", "", &options.may_export_publicly,
           "Let programs export pages that those of other tenants may import"}
          .here(),
      Flag{"--allow-http", "PATTERN", &options.allow_http,
           "Let programs send HTTP to PATTERN: * (every public host), api.example.com, "
           "*.example.com, each with :PORT or :* for other ports than 80 and 443; HOST:PORT also "
           "opens a private one. May be given again; without it no program may send HTTP"}
          .here(),
      Flag{"--env", "NAME", &options.env,
           "Let programs that this command names read the variable NAME of quire's environment, "
           "such as a key (docs/guide/http.md). May be given again"}
          .here(),
  };
}

InstanceOptions InstanceFlags::finish(const Rows& rows) const {
  InstanceOptions finished = options;
  finished.has_output = rows.has("--output-max");
  finished.has_memory = rows.has("--memory-max");
  finished.has_cpu_seconds = rows.has("--cpu-seconds-max");
  return finished;
}

std::vector<Flag> sampling_rows(SamplingOptions& options) {
  return {
      {"--temperature", "X", &options.temperature, "0: the most probable token, always",
       real_within(0.0, 100.0)},
      {"--seed", "N", &options.seed, "Equal seeds give equal tokens", whole_within(0, UINT64_MAX)},
      {"--top-k", "K", &options.top_k, "Only the K most probable tokens; 0: no limit",
       whole_within(0, UINT32_MAX)},
      {"--top-p", "X", &options.top_p, "Only tokens that together have this probability",
       probability_above_zero()},
      {"--min-p", "X", &options.min_p, "Only tokens at least so probable as X times the first",
       real_within(0.0, 1.0)},
      {"--typical-p", "X", &options.typical_p,
       "Only the most typical tokens that together have this probability", real_within(0.0, 1.0)},
      {"--top-n-sigma", "X", &options.top_n_sigma,
       "Only logits at most X standard deviations below the largest; 0: no limit",
       real_within(0.0, 1e6)},
      {"--xtc-probability", "X", &options.xtc_probability,
       "How often the most probable choices are left out", real_within(0.0, 1.0)},
      {"--xtc-threshold", "X", &options.xtc_threshold,
       "What --xtc-probability leaves out: choices of at least this probability",
       real_within(0.0, 1.0)},
      {"--dry-multiplier", "X", &options.dry_multiplier,
       "Penalty for a token that goes on with a repetition (DRY); 0: none", real_within(0.0, 1e6)},
      {"--repetition-penalty", "X", &options.repetition_penalty,
       "Tokens of the context are less probable by this factor of their logits",
       real_within(1e-6, 1e6)},
      {"--presence-penalty", "X", &options.presence_penalty,
       "Taken from the logit of each token that occurred", real_within(-100.0, 100.0)},
      {"--frequency-penalty", "X", &options.frequency_penalty,
       "Taken from the logit of a token for each time it occurred", real_within(-100.0, 100.0)},
  };
}

std::vector<Flag> chat_rows(ChatSettings& settings) {
  std::vector<Flag> rows = {
      {"--system", "TEXT", &settings.system, "The system message"},
      {"-n,--max-tokens", "N", &settings.max_tokens, "At most so many tokens a reply",
       whole_within(1, 1 << 24)},
  };
  for (Flag& each : sampling_rows(settings.sampling)) rows.push_back(std::move(each));
  rows.push_back({"--stats", "on|off", &settings.stats,
                  "The line after each reply: its tokens, their speed, the context", on_or_off()});
  return rows;
}

std::vector<Flag> GrammarFlags::rows() {
  return {
      {"--json-schema", "FILE", &schema, "A file with a JSON Schema that the reply must meet"},
      Flag{"--regex", "R", &regex, "A regular expression that the whole reply must match"}
          .excludes("--json-schema")
          .here(),
      Flag{"--grammar", "FILE", &lark, "A file with a grammar in Lark's notation for the reply"}
          .excludes("--json-schema")
          .excludes("--regex")
          .here(),
  };
}

GrammarOptions GrammarFlags::finish() const {
  if (!schema.empty()) return {.kind = GrammarOptions::Kind::JsonSchema, .text = schema};
  if (!regex.empty()) return {.kind = GrammarOptions::Kind::Regex, .text = regex};
  if (!lark.empty()) return {.kind = GrammarOptions::Kind::Lark, .text = lark};
  return {};
}

Flag log_level(LogLevel& level, const char* whose) {
  return {"--log-level", "", one_of(level, "log level", kLogLevels),
          std::string("Leave out ") + whose + " below this level"};
}

Flag key_file(std::string& file) {
  return {"--key-file", "FILE", &file,
          "A file with the key that the server wants (quire keys add prints it); without it "
          "$QUIRE_KEY"};
}

Flag json(OutputStyle& output) {
  return {"--json", "", [&output] { output = OutputStyle::Json; }, "Answer as JSON, for programs"};
}

}  // namespace quire::cli
