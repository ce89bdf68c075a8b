#pragma once
// The pieces that parse.cc puts together: one function adds one verb with its flags.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/flag.h"
#include "cli/parse.h"

namespace quire::cli {

// The value of --eviction: a policy, and for fcfs-kill also what --when-full would say.
struct EvictionChoice {
  PagePolicyChoice policy = PagePolicyChoice::Default;
  std::optional<WhenFullChoice> when_full = {};
  bool operator==(const EvictionChoice&) const = default;
};

Flag model_flag(std::string& model);
// The rows of verbs that start an engine, and what they say together.
struct EngineFlags {
  EngineOptions options;
  EvictionChoice eviction;
  std::optional<WhenFullChoice> when_full = {};
  bool has_no_store = false;
  bool has_snapshots = false;  // After store_rows().

  Flag model() { return model_flag(options.model); }
  Flag models();                             // For verbs whose programs may choose.
  Flag adapters_by_name(const char* whose);  // Programs put them in force, with scales.
  Flag adapters_in_force();
  std::vector<Flag> rows();
  std::vector<Flag> store_rows();  // For verbs whose programs may save contexts.
  Result<EngineOptions> finish() const;
};

template <typename Options>
struct EngineState {
  Options options;
  EngineFlags engine;
};
// A verb of which only the engine has flags that depend on each other.
template <typename Options>
Verb engine_verb(const Rows& rows, std::string footer,
                 std::shared_ptr<EngineState<Options>> state) {
  return rows.verb(std::move(footer), [state]() -> Result<Request> {
    state->options.engine = TRY(state->engine.finish());
    return Request(state->options);
  });
}

// Limits and grants of an instance.
struct InstanceFlags {
  InstanceOptions options;
  // `pages`: what an instance may have without --pages-max.
  // `of_server`: --limit also sets limits of the whole server.
  std::vector<Flag> limits(double cpu_seconds_max, const char* pages, bool of_server = false);
  std::vector<Flag> grants();
  InstanceOptions finish(const Rows& rows) const;
};

std::vector<Flag> sampling_rows(SamplingOptions& options);
// The flags of `quire chat` that /set changes, too.
std::vector<Flag> chat_rows(ChatSettings& settings);

struct GrammarFlags {
  std::string schema, regex, lark;
  std::vector<Flag> rows();
  GrammarOptions finish() const;
};

Flag log_level(LogLevel& level, const char* whose);
Flag key_file(std::string& file);
Flag json(OutputStyle& output);

// A number from `least` to `most`, in decimal. CLI::Range does not say which flag takes what, lets
// nan pass, and CLI11 reads 010 as 8: so whole_within() is given to transform(), not to check().
CLI::Validator whole_within(std::uint64_t least, std::uint64_t most);
CLI::Validator real_within(double least, double most);
CLI::Validator probability_above_zero();  // At most 1.
CLI::Validator byte_count();              // As parse_bytes() reads it.
CLI::Validator on_or_off();
// CLI11 puts "--flag: " before what a validator says: "--flag: must be" becomes "--flag must be".
std::string with_subject(std::string message);

// "512MiB", "8G", "1073741824": a count of bytes. Units are powers of 1024.
Result<std::uint64_t> parse_bytes(const std::string& text);

// The limits that --limit sets: of an instance, and for `quire serve` also of the whole server.
enum class LimitScope : std::uint8_t { Instance, Server };
std::vector<std::string> limit_names(LimitScope scope);
// "token_count_max=1000000", ...: limits of an instance by name. The error of another name lists
// those of `scope`.
Result<std::vector<InstanceLimitValue>> parse_limits(const std::vector<std::string>& words,
                                                     LimitScope scope = LimitScope::Instance);
// Takes those words that set a limit of the whole server (server_limits.inc, option "--limit").
Result<std::vector<ServerLimitValue>> take_server_limits(std::vector<std::string>& words);
// One of kInstanceLimits, and its value as the user wrote it.
std::optional<std::size_t> find_limit(std::string_view name);
Result<InstanceLimitValue> parse_limit_value(std::size_t index, std::string_view text);

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
Verb add_ps(CLI::App& app);
Verb add_attach(CLI::App& app);
Verb add_send(CLI::App& app);
Verb add_abort(CLI::App& app);
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
// `quire help VERB`, which parse() reads as `quire VERB --help`.
inline constexpr const char* kHelpVerb = "help";
Verb add_help(CLI::App& app);

}  // namespace quire::cli
