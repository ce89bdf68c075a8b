#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

// "QUIRE_KV: " if the variable says `text`: the user may not know of it.
std::string set_by(const char* variable, const std::string& text) {
  const char* value = std::getenv(variable);
  return value != nullptr && text == value ? std::string(variable) + ": " : "";
}

template <typename T>
struct Choice {
  const char* name;
  T value;
};

constexpr Choice<BackendChoice> kBackends[] = {{"auto", BackendChoice::Auto},
                                               {"scalar", BackendChoice::Scalar},
                                               {"avx2", BackendChoice::Avx2},
                                               {"avxvnni", BackendChoice::AvxVnni},
                                               {"avx512", BackendChoice::Avx512}};
constexpr Choice<KvModeChoice> kKvModes[] = {{"basic", KvModeChoice::Basic},
                                             {"paged", KvModeChoice::Paged}};
constexpr Choice<PagePolicyChoice> kPolicies[] = {{"default", PagePolicyChoice::Default},
                                                  {"lru", PagePolicyChoice::Lru},
                                                  {"s3-fifo", PagePolicyChoice::S3Fifo},
                                                  {"fcfs-kill", PagePolicyChoice::Default}};
constexpr Choice<WhenFullChoice> kWhenFull[] = {{"suspend", WhenFullChoice::Suspend},
                                                {"fcfs-kill", WhenFullChoice::FcfsKill}};
constexpr Choice<std::uint32_t> kPageSizes[] = {{"8", 8}, {"16", 16}, {"32", 32}};
constexpr Choice<KvFormatChoice> kKvFormats[] = {{"f32", KvFormatChoice::F32},
                                                 {"f16", KvFormatChoice::F16},
                                                 {"bf16", KvFormatChoice::BF16},
                                                 {"q8", KvFormatChoice::Q8}};

// As the type of a flag: "paged|basic".
template <typename T, std::size_t N>
std::string names_of(const Choice<T> (&choices)[N]) {
  std::string names;
  for (const Choice<T>& choice : choices) {
    names += (names.empty() ? "" : "|") + std::string(choice.name);
  }
  return names;
}

// `variable` is where the text may come from, if not from a flag.
template <typename T, std::size_t N>
Result<T> choose(const char* what, const char* variable, const std::string& text,
                 const Choice<T> (&choices)[N]) {
  std::string supported;
  for (const Choice<T>& choice : choices) {
    if (text == choice.name) return choice.value;
    supported += (supported.empty() ? "" : ", ") + std::string(choice.name);
  }
  return Error(ErrorCode::InvalidArgument, set_by(variable, text) + "unknown " + what + " \"" +
                                               text + "\" (supported: " + supported + ")");
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

void EngineFlags::add_model(CLI::App& app) {
  app.add_option("-m,--model", model, "A name (quire model list), a GGUF file or a folder")
      ->envname("QUIRE_MODEL")
      ->type_name("NAME|PATH");
}

void EngineFlags::add_models(CLI::App& app) {
  app.add_option("-m,--model", models,
                 "A name (quire model list), a GGUF file or a folder. May be given again: programs "
                 "open a model by its name, the first where they give none")
      ->envname("QUIRE_MODEL")
      ->type_name("NAME|PATH")
      ->allow_extra_args(false);
}

void EngineFlags::add_adapters(CLI::App& app, const char* what_for) {
  app.add_option("--adapter", adapters,
                 std::string("Load a LoRA adapter, a folder in PEFT's form or a GGUF file, ") +
                     what_for + ". May be given again")
      ->type_name("NAME=PATH")
      ->allow_extra_args(false);
}

void EngineFlags::add_all(CLI::App& app) {
  add_model(app);
  add_rest(app);
}

void EngineFlags::add_rest(CLI::App& app) {
  app.add_option("--backend", backend, "The kernels; auto: the best that this machine has")
      ->envname("QUIRE_BACKEND")
      ->type_name(names_of(kBackends))
      ->capture_default_str();
  app.add_option("--threads", threads, "Worker threads; 0: one for each physical core")
      ->envname("QUIRE_THREADS")
      ->type_name("N")
      ->transform(whole_within(0, 1024))
      ->capture_default_str();
  app.add_option("--kv", kv, "The KV cache: in pages, or basic (one growing buffer a sequence)")
      ->envname("QUIRE_KV")
      ->type_name(names_of(kKvModes))
      ->capture_default_str();
  app.add_option("--kv-format", kv_format, "Number format of keys and values; q8: half of f16")
      ->envname("QUIRE_KV_FORMAT")
      ->type_name(names_of(kKvFormats))
      ->capture_default_str();
  app.add_option("--page-size", page_size, "Slots of a KV page")
      ->envname("QUIRE_PAGE_SIZE")
      ->type_name(names_of(kPageSizes))
      ->capture_default_str();
  app.add_option("--eviction", eviction,
                 "Which KV page that no program holds is given up first; fcfs-kill is default with "
                 "--when-full fcfs-kill")
      ->envname("QUIRE_EVICTION")
      ->type_name(names_of(kPolicies))
      ->capture_default_str();
  app.add_option(
         "--when-full", when_full,
         "What makes room when every KV page is held: suspend (a context gives up its pages and "
         "gets them back later), or fcfs-kill (the program that started last ends)")
      ->envname("QUIRE_WHEN_FULL")
      ->type_name(names_of(kWhenFull))
      ->default_str("suspend");
  add_scheduling(app);
  CLI::Option* pages = app.add_option("--kv-pages", kv_pages, "Pages of the KV pool of each model")
                           ->envname("QUIRE_KV_PAGES")
                           ->type_name("N")
                           ->transform(whole_within(1, 1 << 26));
  app.add_option("--kv-memory", kv_memory,
                 "Memory of the KV pool, as in 512MiB, divided among the models; without it and "
                 "--kv-pages a quarter of the machine's, at most 8 GiB")
      ->envname("QUIRE_KV_MEMORY")
      ->type_name("BYTES")
      ->check(byte_count())
      ->excludes(pages);
}

void EngineFlags::add_scheduling(CLI::App& app) {
  app.add_option("--batching", batching,
                 "When a batch is built: adaptive (the device is free), or for comparisons eager "
                 "(each command by itself), k-only:K (K commands are ready) or t-only:MS (every MS "
                 "milliseconds)")
      ->envname("QUIRE_BATCHING")
      ->type_name("POLICY")
      ->capture_default_str();
  app.add_option(
         "--prefill-budget", prefill_budget,
         "Tokens of prompts in a step that also generates; 0: so many that the step takes at "
         "most twice as long as without, as measured")
      ->envname("QUIRE_PREFILL_BUDGET")
      ->type_name("N")
      ->transform(whole_within(0, 1 << 20))
      ->capture_default_str();
}

void EngineFlags::add_store(CLI::App& app) {
  has_snapshots = true;
  app.add_option("--store", store,
                 "Where contexts are saved; an error if it cannot be used. Without it a folder "
                 "of the user's data, or no snapshots where another process has that open")
      ->envname("QUIRE_STORE")
      ->type_name("FOLDER");
  app.add_option(
         "--kv-host", kv_host,
         "Memory for KV pages that the pool has no room for, as in 512MiB. For devices with "
         "memory of their own: to the CPU a larger pool is worth more")
      ->envname("QUIRE_KV_HOST")
      ->type_name("BYTES")
      ->check(byte_count())
      ->capture_default_str();
  app.add_option("--kv-disk", kv_disk,
                 "Disk, in the store, for KV pages that the pool has no room for and that are "
                 "quicker read than computed; 0 for none")
      ->envname("QUIRE_KV_DISK")
      ->type_name("BYTES")
      ->check(byte_count())
      ->capture_default_str();
  app.add_flag("--no-store", has_no_store, "Save and open no contexts; leaves the store alone")
      ->envname("QUIRE_NO_STORE");
}

Result<EngineOptions> EngineFlags::finish_store(EngineOptions options) const {
  bool is_off = has_no_store;
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
  if (has_snapshots && !is_off) {
    options.store_use = store.empty() ? StoreUse::IfFree : StoreUse::Required;
    options.store_folder = store;
  }
  return options;
}

Result<EngineOptions> EngineFlags::finish() const {
  EngineOptions options;
  options.model = model;
  if (!models.empty()) {
    options.model = models.front();
    options.further_models.assign(models.begin() + 1, models.end());
  }
  for (const std::string& each : adapters) options.adapters.push_back(TRY(parse_adapter(each)));
  options.backend = TRY(choose("backend", "QUIRE_BACKEND", backend, kBackends));
  options.kv_mode = TRY(choose("kv cache mode", "QUIRE_KV", kv, kKvModes));
  options.kv_format = TRY(choose("kv format", "QUIRE_KV_FORMAT", kv_format, kKvFormats));
  options.eviction = TRY(choose("eviction policy", "QUIRE_EVICTION", eviction, kPolicies));
  if (!when_full.empty()) {
    options.when_full =
        TRY(choose("policy for a full pool", "QUIRE_WHEN_FULL", when_full, kWhenFull));
  }
  if (eviction == "fcfs-kill") {
    if (!when_full.empty() && options.when_full != WhenFullChoice::FcfsKill) {
      return Error(ErrorCode::InvalidArgument,
                   "--eviction fcfs-kill and --when-full " + when_full + " exclude each other");
    }
    options.when_full = WhenFullChoice::FcfsKill;
  }
  options.batching = TRY(parse_batching(batching));
  options.prefill_row_budget = prefill_budget;
  options.thread_count = threads;
  options.page_size = TRY(choose("page size", "QUIRE_PAGE_SIZE", page_size, kPageSizes));
  if (kv_pages != 0) options.kv_pages = kv_pages;
  if (!kv_memory.empty()) {
    const std::uint64_t bytes = TRY(parse_bytes(kv_memory));
    if (bytes == 0) return Error(ErrorCode::InvalidArgument, "--kv-memory 0 holds no page");
    options.kv_memory_bytes = bytes;
  }
  options.tiers.host_bytes = TRY(parse_bytes(kv_host));
  options.tiers.disk_bytes = TRY(parse_bytes(kv_disk));
  return finish_store(std::move(options));
}

void InstanceFlags::add_all(CLI::App& app, double cpu_seconds_max, const char* pages) {
  options.cpu_seconds_max = cpu_seconds_max;
  app.add_option("--memory-max", memory, "Memory of an instance")
      ->type_name("BYTES")
      ->check(byte_count())
      ->capture_default_str();
  app.add_option("--cpu-seconds-max", options.cpu_seconds_max,
                 "CPU time of an instance, without the model's")
      ->type_name("S")
      ->check(real_within(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--output-max", output,
                 "What an instance may say and send in all: messages, log and files")
      ->type_name("BYTES")
      ->check(byte_count())
      ->capture_default_str();
  app.add_option("--pages-max", options.page_count_max,
                 std::string("KV pages of an instance, so that one cannot hold those of all; "
                             "without it ") +
                     pages)
      ->type_name("N")
      ->transform(whole_within(1, 1 << 26));
  app.add_option("--limit", limits,
                 "A limit of an instance by its name, over what the options above say; sizes as in "
                 "512MiB, times as in 500ms or 3600s. May be given again. NAME is one of " +
                     limit_names())
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--allow-public-exports", options.may_export_publicly,
               "Let programs export pages that those of other tenants may import");
  app.add_option(
         "--allow-http", options.allow_http,
         "Let programs send HTTP to PATTERN: * (every public host), api.example.com, "
         "*.example.com, each with :PORT or :* for other ports than 80 and 443; HOST:PORT "
         "also opens a private one. May be given again; without it no program may send HTTP")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
}

Result<InstanceOptions> InstanceFlags::finish(const CLI::App& app) const {
  InstanceOptions finished = options;
  finished.memory_bytes_max = TRY(parse_bytes(memory));
  finished.output_bytes_max = TRY(parse_bytes(output));
  finished.limits = TRY(parse_limits(limits));
  finished.has_output = app.count("--output-max") > 0;
  finished.has_memory = app.count("--memory-max") > 0;
  finished.has_cpu_seconds = app.count("--cpu-seconds-max") > 0;
  return finished;
}

void add_sampling(CLI::App& app, SamplingOptions& options) {
  app.add_option("--temperature", options.temperature, "0: the most probable token, always")
      ->type_name("X")
      ->check(real_within(0.0, 100.0))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Equal seeds give equal tokens")
      ->type_name("S")
      ->transform(whole_within(0, UINT64_MAX))
      ->capture_default_str();
  app.add_option("--top-k", options.top_k, "Only the K most probable tokens; 0: no limit")
      ->type_name("K")
      ->transform(whole_within(0, UINT32_MAX))
      ->capture_default_str();
  app.add_option("--top-p", options.top_p, "Only tokens that together have this probability")
      ->type_name("X")
      ->check(probability_above_zero())
      ->capture_default_str();
  app.add_option("--min-p", options.min_p, "Only tokens at least so probable as X times the first")
      ->type_name("X")
      ->check(real_within(0.0, 1.0))
      ->capture_default_str();
  const auto add = [&](const char* name, double& value, double least, double most,
                       const char* help) {
    app.add_option(name, value, help)
        ->type_name("X")
        ->check(real_within(least, most))
        ->capture_default_str();
  };
  add("--typical-p", options.typical_p, 0.0, 1.0,
      "Only the most typical tokens that together have this probability");
  add("--top-n-sigma", options.top_n_sigma, 0.0, 1e6,
      "Only logits at most X standard deviations below the largest; 0: no limit");
  add("--xtc-probability", options.xtc_probability, 0.0, 1.0,
      "How often the most probable choices are left out");
  add("--xtc-threshold", options.xtc_threshold, 0.0, 1.0,
      "What --xtc-probability leaves out: choices of at least this probability");
  add("--dry-multiplier", options.dry_multiplier, 0.0, 1e6,
      "Penalty for a token that goes on with a repetition (DRY); 0: none");
  add("--repetition-penalty", options.repetition_penalty, 1e-6, 1e6,
      "Tokens of the context are less probable by this factor of their logits");
  add("--presence-penalty", options.presence_penalty, -100.0, 100.0,
      "Taken from the logit of each token that occurred");
  add("--frequency-penalty", options.frequency_penalty, -100.0, 100.0,
      "Taken from the logit of a token for each time it occurred");
}

void add_chat_settings(CLI::App& app, ChatSettings& settings) {
  app.add_option("--system", settings.system, "The system message")->type_name("TEXT");
  app.add_option("-n,--max-tokens", settings.max_tokens, "At most so many tokens a reply")
      ->type_name("N")
      ->transform(whole_within(1, 1 << 24))
      ->capture_default_str();
  add_sampling(app, settings.sampling);
}

void GrammarFlags::add_all(CLI::App& app) {
  CLI::Option* of_schema =
      app.add_option("--json-schema", schema, "A file with a JSON Schema that the reply must meet")
          ->type_name("FILE");
  CLI::Option* of_regex =
      app.add_option("--regex", regex, "A regular expression that the whole reply must match")
          ->type_name("R")
          ->excludes(of_schema);
  app.add_option("--grammar", lark, "A file with a grammar in Lark's notation for the reply")
      ->type_name("FILE")
      ->excludes(of_schema)
      ->excludes(of_regex);
}

GrammarOptions GrammarFlags::finish() const {
  if (!schema.empty()) return {.kind = GrammarOptions::Kind::JsonSchema, .text = schema};
  if (!regex.empty()) return {.kind = GrammarOptions::Kind::Regex, .text = regex};
  if (!lark.empty()) return {.kind = GrammarOptions::Kind::Lark, .text = lark};
  return {};
}

void add_json(CLI::App& app, OutputStyle& output) {
  app.add_flag_callback(
      "--json", [&output] { output = OutputStyle::Json; }, "Answer as JSON, for programs");
}

}  // namespace quire::cli
