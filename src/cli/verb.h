#pragma once
// The pieces that parse.cc puts together: one function adds one verb with its flags.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/parse.h"

namespace quire::cli {

struct Verb {
  CLI::App* app = nullptr;
  // Turns the parsed flags into options; an Error is the user's mistake.
  std::function<Result<Request>()> finish;
};

// The texts of EngineOptions as the user wrote them, checked in finish().
struct EngineFlags {
  std::string model;
  std::vector<std::string> models;  // After add_models().
  std::vector<std::string> adapters;
  std::string backend = "auto";
  std::string kv = "paged";
  std::string kv_format = "f16";
  std::string kv_memory;
  std::uint32_t kv_pages = 0;
  std::string page_size = "16";
  std::string eviction = "default";
  std::string when_full;  // Empty: as the eviction says.
  std::string batching = "adaptive";
  std::uint32_t prefill_budget = 0;
  std::uint32_t threads = 0;
  std::string store;
  bool has_no_store = false;
  std::string kv_host = "0";
  std::string kv_disk = "0";
  bool has_snapshots = false;  // After add_store().

  void add_model(CLI::App& app);
  void add_models(CLI::App& app);  // For verbs whose programs may choose.
  void add_adapters(CLI::App& app, const char* what_for);
  void add_all(CLI::App& app);         // With add_model,
  void add_rest(CLI::App& app);        // and without.
  void add_scheduling(CLI::App& app);  // Of add_rest().
  void add_store(CLI::App& app);       // For verbs whose programs may save contexts.
  Result<EngineOptions> finish() const;
  Result<EngineOptions> finish_store(EngineOptions options) const;  // Of finish().
};

// Limits and grants of an instance; checked in finish().
struct InstanceFlags {
  std::string memory = "128MiB";
  std::string output = "1GiB";
  std::vector<std::string> limits;
  InstanceOptions options;
  // `pages`: what an instance may have without --pages-max.
  void add_all(CLI::App& app, double cpu_seconds_max, const char* pages);
  Result<InstanceOptions> finish(const CLI::App& app) const;
};

void add_sampling(CLI::App& app, SamplingOptions& options);
// Of `quire chat`: those that /set changes, too.
void add_chat_settings(CLI::App& app, ChatSettings& settings);

struct GrammarFlags {
  std::string schema, regex, lark;
  void add_all(CLI::App& app);
  GrammarOptions finish() const;
};

void add_key_file(CLI::App& app, std::string& file);
void add_json(CLI::App& app, OutputStyle& output);

// A number from `least` to `most`, in decimal. CLI::Range does not say which flag takes what, lets
// nan pass, and CLI11 reads 010 as 8: so whole_within() is given to transform(), not to check().
CLI::Validator whole_within(std::uint64_t least, std::uint64_t most);
CLI::Validator real_within(double least, double most);
CLI::Validator probability_above_zero();  // At most 1.
CLI::Validator byte_count();              // As parse_bytes() reads it.
// CLI11 puts "--flag: " before what a validator says: "--flag: must be" becomes "--flag must be".
std::string with_subject(std::string message);

// "512MiB", "8G", "1073741824": a count of bytes. Units are powers of 1024.
Result<std::uint64_t> parse_bytes(const std::string& text);

// "token_count_max=1000000", ...: limits of an instance by name.
Result<std::vector<InstanceLimitValue>> parse_limits(const std::vector<std::string>& words);
// One of kInstanceLimits, and its value as the user wrote it.
std::optional<std::size_t> find_limit(std::string_view name);
Result<InstanceLimitValue> parse_limit_value(std::size_t index, std::string_view text);
std::string limit_names();

// "3=weight:2,instances:64": what a tenant may have.
Result<TenantOptions> parse_tenant(const std::string& text);

// "adaptive", "eager", "k-only:32", "t-only:2.5": when a batch is built.
Result<BatchingChoice> parse_batching(const std::string& text);

// All of them, and the name and the help of the program itself.
std::vector<Verb> add_verbs(CLI::App& app, CommandLine program = CommandLine::Quire);

Verb add_run(CLI::App& app);
Verb add_serve(CLI::App& app);
Verb add_serve_flags(CLI::App* verb);  // The same flags for a verb that is there.
Verb add_status(CLI::App& app);
Verb add_generate(CLI::App& app);
Verb add_chat(CLI::App& app);
Verb add_eval(CLI::App& app);
Verb add_tokenize(CLI::App& app);
Verb add_detokenize(CLI::App& app);
Verb add_template(CLI::App& app);
Verb add_build(CLI::App& app);
Verb add_new(CLI::App& app);
Verb add_doctor(CLI::App& app);
void add_model(CLI::App& app, std::vector<Verb>& verbs);
void add_adapter(CLI::App& app, std::vector<Verb>& verbs);
void add_config(CLI::App& app, std::vector<Verb>& verbs);
Verb add_usage(CLI::App& app);
void add_keys(CLI::App& app, std::vector<Verb>& verbs);
void add_kv(CLI::App& app, std::vector<Verb>& verbs);
void add_bench(CLI::App& app, std::vector<Verb>& verbs);
std::vector<Verb> add_measurements(CLI::App& app);  // Those of quire-bench.
Verb add_bench_pages(CLI::App& bench);
Verb add_completion(CLI::App& app);

}  // namespace quire::cli
