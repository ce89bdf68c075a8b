#include "cli/parse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cli/verb.h"

namespace quire::cli {
namespace {

// A line of quire-bench begins with its name.
Parsed parse_line(std::vector<std::string> words) {
  if (words.empty() || words.front() != "quire-bench") return parse(words);
  words.erase(words.begin());
  return parse(words, CommandLine::QuireBench);
}

template <typename T>
T parsed_as(const std::vector<std::string>& arguments) {
  Parsed parsed = parse_line(arguments);
  EXPECT_TRUE(parsed.request.has_value()) << parsed.text;
  if (!parsed.request.has_value() || !std::holds_alternative<T>(*parsed.request)) {
    ADD_FAILURE() << "another verb";
    return T{};
  }
  return std::get<T>(*parsed.request);
}

std::string first_line_of_usage_error(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_line(arguments);
  EXPECT_FALSE(parsed.request.has_value());
  EXPECT_EQ(parsed.exit_code, ExitCode::Usage);
  return parsed.text.substr(0, parsed.text.find('\n'));
}

TEST(Parse, GenerateTakesEveryFlagOfItsContract) {
  const auto options = parsed_as<GenerateOptions>(
      {"generate", "--model",       "m.gguf", "--prompt",   "Hello", "--max-tokens",
       "7",        "--temperature", "0.5",    "--seed",     "9",     "--kv",
       "basic",    "--backend",     "avx2",   "--threads",  "2",     "--ignore-eos",
       "--json",   "--page-size",   "32",     "--kv-pages", "64",    "--kv-format",
       "bf16",     "--eviction",    "s3-fifo"});
  EXPECT_EQ(options.engine.model, "m.gguf");
  EXPECT_EQ(options.prompt.text, "Hello");
  EXPECT_EQ(options.max_tokens, 7u);
  EXPECT_EQ(options.sampling.temperature, 0.5);
  EXPECT_EQ(options.sampling.seed, 9u);
  EXPECT_EQ(options.engine.kv_mode, KvModeChoice::Basic);
  EXPECT_EQ(options.engine.backend, BackendChoice::Avx2);
  EXPECT_EQ(options.engine.thread_count, 2u);
  EXPECT_TRUE(options.ignore_eos);
  EXPECT_EQ(options.output, OutputStyle::Json);
  EXPECT_EQ(options.engine.page_size, 32u);
  EXPECT_EQ(options.engine.pool.page_count, 64u);
  EXPECT_EQ(options.engine.kv_format, KvFormatChoice::BF16);
  EXPECT_EQ(options.engine.eviction, PagePolicyChoice::S3Fifo);
}

TEST(Parse, ModelsAndProgramsOfARunAreGivenOneByOne) {
  const auto options = parsed_as<RunOptions>({"run", "-m", "a", "--model", "b.gguf", "p.wasm",
                                              "--program", "q.wasm", "--program", "folder"});
  EXPECT_EQ(options.engine.model, "a");
  EXPECT_EQ(options.engine.further_models, std::vector<std::string>{"b.gguf"});
  EXPECT_EQ(options.further_programs, (std::vector<std::string>{"q.wasm", "folder"}));
  EXPECT_EQ(first_line_of_usage_error({"run", "-m", "a", "-m", "b", "p.wasm", "--kv-why"}),
            "--kv-tree, --kv-why and --kv-report show one model's pages; give --model once");
  EXPECT_EQ(parsed_as<ServeOptions>({"serve", "-m", "a", "-m", "b"}).engine.further_models.size(),
            1u);
}

TEST(Parse, AllowHttpIsGivenOncePerPattern) {
  const auto options = parsed_as<RunOptions>(
      {"run", "--allow-http", "a.com", "--allow-http", "[::1]:80", "p.wasm", "--", "--allow-http"});
  EXPECT_EQ(options.instance.allow_http, (std::vector<std::string>{"a.com", "[::1]:80"}));
  EXPECT_EQ(options.program, "p.wasm");
  EXPECT_TRUE(parsed_as<RunOptions>({"run", "p.wasm"}).instance.allow_http.empty());
}

TEST(Parse, FilesOfARunAreNamedOneByOneHereAndOnAServer) {
  const auto options = parsed_as<RunOptions>(
      {"run", "--send-file", "a.txt", "--send-file", "b/c", "--save-files", "out", "p.wasm"});
  EXPECT_EQ(options.sent_files, (std::vector<std::string>{"a.txt", "b/c"}));
  EXPECT_EQ(options.save_folder, "out");
  EXPECT_EQ(options.program, "p.wasm");
  const auto remote = parsed_as<RunOptions>({"run", "--server", "ws://127.0.0.1:1", "--send-file",
                                             "a.txt", "--save-files", "out", "p.wasm"});
  EXPECT_EQ(remote.sent_files, std::vector<std::string>{"a.txt"});
}

TEST(Parse, TheProgramOfBenchLaunchHasArgumentsOfItsOwn) {
  const auto options = parsed_as<BenchLaunchOptions>(
      {"bench", "launch", "p.wasm", "--simultaneous", "1,896", "--json", "--", "--json", "x"});
  EXPECT_EQ(options.program, "p.wasm");
  EXPECT_EQ(options.simultaneous, (std::vector<std::uint32_t>{1, 896}));
  EXPECT_EQ(options.arguments, (std::vector<std::string>{"--json", "x"}));
  EXPECT_EQ(options.output, OutputStyle::Json);
  EXPECT_FALSE(
      parse_line({"bench", "launch", "p.wasm", "--simultaneous", "0"}).request.has_value());
}

TEST(Parse, WhatFollowsTwoDashesBelongsToTheProgram) {
  const auto options = parsed_as<RunOptions>(
      {"run", "p.wasm", "--model", "tiny", "--", "--prompt", "a b", "--model", "--"});
  EXPECT_EQ(options.program, "p.wasm");
  EXPECT_EQ(options.engine.model, "tiny");
  EXPECT_EQ(options.arguments, (std::vector<std::string>{"--prompt", "a b", "--model", "--"}));
  const auto build =
      parsed_as<BuildOptions>({"build", "a.cpp", "b.cpp", "-o", "x.wasm", "--", "-DX"});
  EXPECT_EQ(build.sources, (std::vector<std::string>{"a.cpp", "b.cpp"}));
  EXPECT_EQ(build.output, "x.wasm");
  EXPECT_EQ(build.flags, (std::vector<std::string>{"-DX"}));
}

TEST(Parse, ServeTakesProgramsAndEveryFlagOfItsContract) {
  const auto options = parsed_as<ServeOptions>(
      {"serve", "a.wasm",         "programs", "--listen",      "[::1]:0", "--instances",
       "7",     "--launch-queue", "9",        "--connections", "8",       "--grace",
       "0.5",   "--keep",         "3",        "--memory-max",  "1MiB",    "--cpu-seconds-max",
       "2",     "--model",        "tiny",     "--no-store",    "--json"});
  EXPECT_EQ(options.programs, (std::vector<std::string>{"a.wasm", "programs"}));
  EXPECT_EQ(options.listen, "[::1]:0");
  EXPECT_EQ(options.instance_count_max, 7u);
  EXPECT_EQ(options.waiting_launch_count_max, 9u);
  EXPECT_EQ(options.connection_count_max, 8u);
  EXPECT_EQ(options.grace_seconds, 0.5);
  EXPECT_EQ(options.keep_seconds, 3.0);
  EXPECT_EQ(options.instance.memory_bytes_max, 1u << 20);
  EXPECT_EQ(options.instance.cpu_seconds_max, 2.0);
  EXPECT_EQ(options.engine.model, "tiny");
  EXPECT_EQ(options.engine.store_use, StoreUse::Off);
  EXPECT_EQ(options.output, OutputStyle::Json);
  EXPECT_EQ(parsed_as<ServeOptions>({"serve"}).listen, "127.0.0.1:7847");
  EXPECT_EQ(parsed_as<ServeOptions>({"serve"}).instance.cpu_seconds_max, 3600.0);
}

TEST(Parse, ServeBoundsCompilersAndRefusesABoundThatNoneFits) {
  const auto options =
      parsed_as<ServeOptions>({"serve", "--compile-memory-max", "512MiB", "--compile-seconds-max",
                               "7", "--cranelift-only", "--compile-sandbox", "require"});
  EXPECT_EQ(options.compile.sandbox, CompileSandbox::Require);
  EXPECT_EQ(parsed_as<ServeOptions>({"serve"}).compile.sandbox, CompileSandbox::Auto);
  EXPECT_EQ(options.compile.memory_bytes_max, std::uint64_t{512} << 20);
  EXPECT_EQ(options.compile.seconds_max, 7u);
  EXPECT_TRUE(options.compile.has_cranelift_only);
  EXPECT_FALSE(parsed_as<ServeOptions>({"serve"}).compile.has_cranelift_only);
  EXPECT_TRUE(parsed_as<ServeOptions>({"serve"}).has_shipped_endpoints);
  EXPECT_FALSE(parsed_as<ServeOptions>({"serve", "--no-endpoints"}).has_shipped_endpoints);
  EXPECT_EQ(parsed_as<ServeOptions>({"serve"}).engine.misses, MissUse::Off);
  EXPECT_EQ(parsed_as<ServeOptions>({"serve", "--explain-misses"}).engine.misses, MissUse::Tell);
  EXPECT_TRUE(parsed_as<ServeOptions>({"serve", "--watch"}).is_watched);
  const auto behavior_of = [](const char* flag) {
    return parsed_as<ServeOptions>({"serve", flag}).endpoint_behavior;
  };
  EXPECT_TRUE(behavior_of("--prompt-repair").repairs_prompts);
  EXPECT_TRUE(behavior_of("--show-errors").shows_errors);
  EXPECT_TRUE(behavior_of("--pad-json").pads_json);
  EXPECT_FALSE(behavior_of("--show-errors").pads_json);
  EXPECT_EQ(behavior_of("--pad-json").ping_seconds, 5.0);
  EXPECT_EQ(
      parsed_as<ServeOptions>({"serve", "--ping-seconds", "0.5"}).endpoint_behavior.ping_seconds,
      0.5);
  EXPECT_TRUE(behavior_of("--show-errors").has_drafts);
  EXPECT_FALSE(behavior_of("--no-drafts").has_drafts);
  EXPECT_FALSE(behavior_of("--prompt-repair").shows_errors);
  EXPECT_EQ(first_line_of_usage_error({"serve", "--adapter", "french=f@0.5"}),
            "--adapter \"french=f@0.5\": a scale is for quire chat and quire generate; programs "
            "choose theirs, as in context.use({\"french\", 0.5})");
  EXPECT_EQ(first_line_of_usage_error({"serve", "--prompt-repair", "--no-store"}),
            "--prompt-repair keeps what it learns in the store: leave out --no-store");
  EXPECT_EQ(parsed_as<ServeOptions>({"serve"}).compile.memory_bytes_max, std::uint64_t{1} << 30);
  EXPECT_EQ(first_line_of_usage_error({"serve", "--compile-memory-max", "1MiB"}),
            "--compile-memory-max 1MiB: the compiler alone needs 64MiB");
  EXPECT_EQ(
      first_line_of_usage_error({"serve", "--compile-memory-max", "much"}),
      "--compile-memory-max: \"much\" is not a number of bytes (as in 512MiB, 8GiB, 1073741824)");
}

TEST(Parse, ARunOnAServerTakesWhatAClientMaySay) {
  const auto options =
      parsed_as<RunOptions>({"run", "--server", "ws://localhost:1", "p.wasm", "--cpu-seconds-max",
                             "2", "--pages-max", "300", "--json", "--", "--model"});
  EXPECT_EQ(options.server, "ws://localhost:1");
  EXPECT_TRUE(options.instance.has_cpu_seconds);
  EXPECT_FALSE(options.instance.has_memory);
  EXPECT_EQ(options.instance.page_count_max, 300u);
  EXPECT_EQ(options.arguments, (std::vector<std::string>{"--model"}));
  for (const char* flag : {"--model", "--kv-pages", "--kv-report", "--store"}) {
    EXPECT_EQ(
        first_line_of_usage_error({"run", "--server", "ws://localhost:1", "p.wasm", flag, "1"}),
        std::string(flag) + " is for the engine, which is the server's with --server");
  }
  EXPECT_EQ(
      first_line_of_usage_error({"run", "--server", "ws://localhost:1", "p.wasm", "--kv-why"}),
      "--kv-why is for the engine, which is the server's with --server");
  setenv("QUIRE_KV_PAGES", "64", 1);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "--server", "ws://localhost:1", "p.wasm"}).program,
            "p.wasm");
  unsetenv("QUIRE_KV_PAGES");
}

TEST(Parse, KeysAreAddedListedAndRevokedInAFile) {
  const auto add = parsed_as<KeysOptions>(
      {"keys", "add", "alice", "--keys", "k.txt", "--tenant", "7", "--rights", "launch"});
  EXPECT_EQ(add.action, KeysAction::Add);
  EXPECT_EQ(add.name, "alice");
  EXPECT_EQ(add.file, "k.txt");
  EXPECT_EQ(add.tenant, 7u);
  EXPECT_EQ(add.rights, "launch");
  EXPECT_EQ(parsed_as<KeysOptions>({"keys", "list", "--keys", "k.txt"}).action, KeysAction::List);
  EXPECT_EQ(parsed_as<KeysOptions>({"keys", "revoke", "alice", "--keys", "k.txt"}).action,
            KeysAction::Revoke);
  EXPECT_EQ(parsed_as<ServeOptions>({"serve", "--keys", "k.txt", "--allow-host", "a.example"})
                .allowed.hosts,
            std::vector<std::string>{"a.example"});
  EXPECT_TRUE(first_line_of_usage_error({"serve", "--allow-host", "a.example"})
                  .starts_with("--allow-host: "));
  EXPECT_TRUE(first_line_of_usage_error({"run", "p.wasm", "--key-file", "k"})
                  .starts_with("--key-file is for a server"));
}

TEST(Parse, TenantsHaveAWeightAndBounds) {
  const auto options = parsed_as<ServeOptions>(
      {"serve", "--tenant", "0=weight:3", "--tenant",
       "7=weight:2,instances:64,pages:4096,memory:4GiB,http:0,requests_per_minute:60,"
       "launches_per_minute:6,tokens_per_minute:90000"});
  ASSERT_EQ(options.tenants.size(), 2u);
  EXPECT_EQ(options.tenants[0], (TenantOptions{.tenant = 0, .weight = 3}));
  EXPECT_EQ(options.tenants[1], (TenantOptions{.tenant = 7,
                                               .weight = 2,
                                               .instance_count_max = 64,
                                               .page_count_max = 4096,
                                               .memory_bytes_max = std::uint64_t{4} << 30,
                                               .http_exchange_count_max = 0,
                                               .requests_per_minute = 60,
                                               .launches_per_minute = 6,
                                               .tokens_per_minute = 90000}));
  const auto error = [](const std::string& text) {
    return first_line_of_usage_error({"serve", "--tenant", text});
  };
  EXPECT_EQ(error("x=weight:1"), "--tenant: \"x=weight:1\" is not N=weight:2,instances:64,...");
  EXPECT_EQ(error("7"), "--tenant: \"7\" is not N=weight:2,instances:64,...");
  EXPECT_EQ(error("7=weight:0"), "--tenant: \"weight:0\" is not a weight from 1 to 1000");
  EXPECT_EQ(error("7=requests_per_minute:0"),
            "--tenant: \"requests_per_minute:0\" has no count from 1 to 268435456");
  EXPECT_EQ(error("7=pages:-1"), "--tenant: \"pages:-1\" has no count from 0 to 67108864");
  EXPECT_EQ(error("7=memory:lots"),
            "--tenant: \"memory:lots\" has no count of bytes, as in memory:4GiB");
  EXPECT_EQ(error("7=cpu:1,pages:1"),
            "--tenant: \"cpu:1\" is none of weight:N, instances:N, pages:N, memory:BYTES, http:N, "
            "uploads:BYTES, frames:BYTES, snapshots:BYTES, adapters:N, adapter_bytes:BYTES, "
            "adapter_rank:N, allow-http:PATTERN, env:NAME, requests_per_minute:N, "
            "launches_per_minute:N, "
            "tokens_per_minute:N and the limits of --limit, as in token_count_max:1000000");
  EXPECT_EQ(error("7="),
            "--tenant: \"\" is none of weight:N, instances:N, pages:N, memory:BYTES, http:N, "
            "uploads:BYTES, frames:BYTES, snapshots:BYTES, adapters:N, adapter_bytes:BYTES, "
            "adapter_rank:N, allow-http:PATTERN, env:NAME, requests_per_minute:N, "
            "launches_per_minute:N, "
            "tokens_per_minute:N and the limits of --limit, as in token_count_max:1000000");
}

TEST(Parse, TenantsHaveSharesVariablesAndGrants) {
  const auto error = [](const std::string& text) {
    return first_line_of_usage_error({"serve", "--tenant", text});
  };
  const auto shares =
      parsed_as<ServeOptions>({"serve", "--tenant", "7=uploads:32MiB,frames:0"}).tenants.front();
  EXPECT_EQ(shares.upload_bytes_max, 32u << 20);
  EXPECT_EQ(shares.partial_frame_bytes_max, 0u);
  EXPECT_EQ(error("7=uploads:257MiB"),
            "--tenant: \"uploads:257MiB\" is more than the 256.0 MiB of all tenants "
            "(upload_bytes_total_max)");
  EXPECT_EQ(error("7=frames:1GiB"),
            "--tenant: \"frames:1GiB\" is more than the 64.0 MiB of all tenants "
            "(partial_frame_bytes_total_max)");
  EXPECT_EQ(error("7=frames:-1"),
            "--tenant: \"frames:-1\" has no count of bytes, as in frames:32MiB");
  EXPECT_EQ(error("7=allow-http:"),
            "--tenant: \"allow-http:\" names no host, as in allow-http:api.example.com");
  EXPECT_EQ(
      parsed_as<ServeOptions>(
          {"serve", "--tenant", "7=allow-http:[::1]:80,weight:2,allow-http:*.example.com:*"})
          .tenants.front(),
      (TenantOptions{.tenant = 7, .weight = 2, .allow_http = {"[::1]:80", "*.example.com:*"}}));
  EXPECT_EQ(first_line_of_usage_error({"serve", "--tenant", "7=pages:1", "--tenant", "7=http:1"}),
            "--tenant: 7 is given twice");
}

std::uint64_t limit_of(const std::vector<InstanceLimitValue>& limits, const std::string& name) {
  for (const InstanceLimitValue& each : limits) {
    if (name == kInstanceLimits[each.index].name) return each.value;
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(Parse, ATenantsProgramsGetVariablesByTheirNames) {
  EXPECT_EQ(parsed_as<ServeOptions>({"serve", "--tenant", "7=env:ONE,env:OTHER"}).tenants.front(),
            (TenantOptions{.tenant = 7, .env = {"ONE", "OTHER"}}));
  EXPECT_EQ(first_line_of_usage_error({"serve", "--tenant", "7=env:"}),
            "--tenant: \"env:\" names no variable; write env:API_KEY");
}

TEST(Parse, LimitsAreSetByNameForAllAndForATenant) {
  const auto options = parsed_as<ServeOptions>(
      {"serve", "--limit", "wall_ns_max=1.5h", "--limit", "file_bytes_max=2MiB", "--limit",
       "http.call_count_max=0", "--tenant", "7=weight:3,token_count_max:1000000,log_bytes_max:1k"});
  EXPECT_EQ(limit_of(options.instance.limits, "wall_ns_max"), 5'400'000'000'000u);
  EXPECT_EQ(limit_of(options.instance.limits, "file_bytes_max"), 2u << 20);
  EXPECT_EQ(limit_of(options.instance.limits, "http.call_count_max"), 0u);
  EXPECT_EQ(limit_of(options.tenants[0].limits, "token_count_max"), 1'000'000u);
  EXPECT_EQ(limit_of(options.tenants[0].limits, "log_bytes_max"), 1024u);
  EXPECT_EQ(options.tenants[0].weight, 3u);
  const auto error = [](const std::string& text) {
    return first_line_of_usage_error({"serve", "--limit", text});
  };
  EXPECT_EQ(error("wall_ns_max"), "--limit: \"wall_ns_max\" is not NAME=VALUE");
  EXPECT_NE(error("future_count_max=0")
                .find("future_count_max: \"0\" is no count from 1 to "
                      "1048576"),
            std::string::npos)
      << error("future_count_max=0");
  EXPECT_EQ(first_line_of_usage_error(
                {"serve", "--limit", "file_count_max=1", "--limit", "file_count_max=2"}),
            "--limit: file_count_max is given twice");
  EXPECT_EQ(first_line_of_usage_error({"serve", "--tenant", "7=file_count_max:1,file_count_max:2"}),
            "--tenant: \"file_count_max:2\" is given twice");
}

TEST(Parse, LimitsOfTheWholeServerAreSetByTheSameFlagOfServeAlone) {
  const auto of_server = [](const std::string& word) {
    return first_line_of_usage_error({"serve", "--limit", word});
  };
  std::vector<std::string> words = {"program_memory_bytes_max=2GiB", "file_count_max=3",
                                    "snapshot_bytes_total_max=1MiB"};
  const auto limits = take_server_limits(words);
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits.value(), (std::vector<ServerLimitValue>{
                                {ServerLimit::ProgramMemoryBytesMax, std::uint64_t{2} << 30},
                                {ServerLimit::SnapshotBytesTotalMax, std::uint64_t{1} << 20}}));
  EXPECT_EQ(words, std::vector<std::string>{"file_count_max=3"});
  EXPECT_EQ(
      of_server("program_memory_bytes_max=lots"),
      "--limit: \"program_memory_bytes_max=lots\" is no number of bytes (as in 512MiB) from 1 "
      "to 9007199254740992");
  EXPECT_TRUE(of_server("instance_count_max=3").starts_with("--limit: unknown limit"));
  EXPECT_TRUE(
      first_line_of_usage_error({"run", "x.wasm", "--limit", "program_memory_bytes_max=2GiB"})
          .starts_with("--limit: unknown limit"));
}

TEST(Parse, AnUnknownLimitIsRefusedWithTheNearestAndAllThatTheVerbTakes) {
  EXPECT_TRUE(first_line_of_usage_error({"serve", "--limit", "program_memory_byte_max=1"})
                  .starts_with("--limit: unknown limit \"program_memory_byte_max\"; did you mean "
                               "program_memory_bytes_max? (supported: memory_bytes_max, "));
  const auto end_of = [](const std::string& verb) {
    const std::string line =
        first_line_of_usage_error({verb, "x.wasm", "--limit", "nothing_like_it=1"});
    return line.substr(line.find(" (supported: "));
  };
  std::string names;
  for (const InstanceLimitName& each : kInstanceLimits) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  EXPECT_EQ(end_of("run"), " (supported: " + names + ")");
  EXPECT_EQ(end_of("serve"),
            " (supported: " + names + ", program_memory_bytes_max, snapshot_bytes_total_max)");
}

TEST(Parse, EveryLimitTakesItsLeastAndItsMostAndNothingBeyond) {
  for (const InstanceLimitName& each : kInstanceLimits) {
    const auto word = [&](std::uint64_t value) {
      return std::string(each.name) + "=" + std::to_string(value);
    };
    for (const std::uint64_t value : {each.least, each.most}) {
      const auto limits = parse_limits({word(value)});
      ASSERT_TRUE(limits.ok()) << word(value);
      EXPECT_EQ(limit_of(limits.value(), each.name), value);
    }
    EXPECT_FALSE(parse_limits({word(each.most + 1)}).ok()) << each.name;
    if (each.least > 0) {
      EXPECT_FALSE(parse_limits({word(each.least - 1)}).ok()) << each.name;
    }
    EXPECT_FALSE(parse_limits({std::string(each.name) + "=-1"}).ok()) << each.name;
  }
}

TEST(Parse, ARunNamesATenantOfAServerAlone) {
  const auto options = parsed_as<RunOptions>(
      {"run", "--server", "ws://localhost:1", "p.wasm", "--tenant", "7", "--deadline", "1.5"});
  EXPECT_EQ(options.launch.tenant, 7u);
  EXPECT_EQ(options.launch.deadline_seconds, 1.5);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm", "--deadline", "2"}).launch.deadline_seconds,
            2.0);
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--tenant", "7"}),
            "--tenant is one of a server, which --server names; programs that run here are tenant "
            "0");
  EXPECT_EQ(parsed_as<StatusOptions>({"status"}).server, "ws://127.0.0.1:7847");
  EXPECT_EQ(parsed_as<StatusOptions>({"status", "--json"}).output, OutputStyle::Json);
}

TEST(Parse, ARunTakesASeedThatTheProtocolCanCarry) {
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).launch.seed, std::nullopt);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm", "--seed", "0"}).launch.seed, 0u);
  const std::string most = "9007199254740991";
  EXPECT_EQ(
      parsed_as<RunOptions>({"run", "p.wasm", "--server", "ws://a:1", "--seed", most}).launch.seed,
      (std::uint64_t{1} << 53) - 1);
  for (const char* each : {"9007199254740992", "-1", "1.5", "many", ""}) {
    const std::string error = first_line_of_usage_error(
        std::vector<std::string>{"run", "p.wasm", std::string("--seed=") + each});
    EXPECT_NE(error.find("--seed"), std::string::npos) << each << ": " << error;
  }
}

TEST(Parse, PoliciesForBatchesCarryTheirNumber) {
  const auto batching = [](const std::string& text) {
    return parsed_as<RunOptions>({"run", "p.wasm", "--batching", text}).engine.batching;
  };
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).engine.batching.kind, BatchingKind::Adaptive);
  EXPECT_EQ(batching("adaptive").kind, BatchingKind::Adaptive);
  EXPECT_EQ(batching("eager").kind, BatchingKind::Eager);
  EXPECT_EQ(batching("k-only:32").kind, BatchingKind::KOnly);
  EXPECT_EQ(batching("k-only:32").command_count, 32u);
  EXPECT_EQ(batching("t-only:2.5").kind, BatchingKind::TOnly);
  EXPECT_EQ(batching("t-only:2.5").period_ns, 2'500'000u);
}

TEST(Parse, ABudgetForPromptsIsMeasuredUnlessItIsGiven) {
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).engine.prefill_row_budget, 0u);
  EXPECT_EQ(
      parsed_as<RunOptions>({"run", "p.wasm", "--prefill-budget", "64"}).engine.prefill_row_budget,
      64u);
}

TEST(Parse, AWrongPolicyForBatchesIsToldWhatWouldBeRight) {
  const auto error = [](const std::string& text) {
    return first_line_of_usage_error({"run", "p.wasm", "--batching", text});
  };
  EXPECT_EQ(
      error("greedy"),
      "unknown policy for batches \"greedy\" (supported: adaptive, eager, k-only:K, t-only:MS)");
  EXPECT_EQ(error("eager:4"), "--batching eager:4: eager takes no number");
  for (const char* text : {"k-only", "k-only:", "k-only:0", "k-only:-3", "k-only:2.5", "k-only:8x",
                           "k-only:1e3", "k-only:99999999999999999999"}) {
    EXPECT_EQ(error(text),
              "--batching " + std::string(text) +
                  ": k-only takes a count of commands from 1 to 1000000, as in k-only:32");
  }
  for (const char* text : {"t-only", "t-only:0", "t-only:5ms", "t-only:1..2", "t-only:nan"}) {
    EXPECT_EQ(error(text), "--batching " + std::string(text) +
                               ": t-only takes milliseconds from 0.001 to 1000000, as in t-only:5");
  }
}

TEST(Parse, AnUnknownChoiceIsNamedWithWhatIsSupported) {
  EXPECT_EQ(first_line_of_usage_error({"chat", "--kv", "x"}),
            "unknown kv cache mode \"x\" (supported: basic, paged)");
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "a", "--backend", "gpu"}),
            "unknown backend \"gpu\" (supported: auto, scalar, avx2, avxvnni, avx512)");
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "a", "--kv-format", "q4"}),
            "unknown kv format \"q4\" (supported: f32, f16, bf16, q8)");
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "a", "--page-size", "12"}),
            "unknown page size \"12\" (supported: 8, 16, 32)");
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "a", "--eviction", "mru"}),
            "unknown eviction policy \"mru\" (supported: default, lru, s3-fifo, fcfs-kill)");
  EXPECT_EQ(first_line_of_usage_error(
                {"quire-bench", "pages", "--trace", "a", "--capacity", "5", "--policy", "mru"}),
            "unknown eviction policy \"mru\" (supported: default, lru, s3-fifo)");
  EXPECT_EQ(first_line_of_usage_error(
                {"quire-bench", "pages", "--trace", "a", "--capacity", "5", "--hints", "past"}),
            "unknown source of hints \"past\" (supported: none, future)");
  EXPECT_EQ(first_line_of_usage_error({"serve", "--log-format", "xml"}),
            "unknown log format \"xml\" (supported: text, json)");
  EXPECT_EQ(first_line_of_usage_error({"new", "x", "--language", "c"}),
            "unknown language \"c\" (supported: cpp, rust, js, ts)");
  EXPECT_EQ(first_line_of_usage_error({"completion", "tcsh"}),
            "unknown shell \"tcsh\" (supported: bash, zsh, fish)");
}

TEST(Parse, WrongUseExitsWithTwoAndSaysWhereHelpIs) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"nonsense"},
           {"generate", "--prompt"},
           {"generate", "a", "--prompt", "b"},
           {"generate", "--prompt", "a", "--prompt-file", "b"},
           {"generate", "--prompt", "a", "--no-such-flag"},
           {"generate", "--prompt", "a", "--max-tokens", "-1"},
           {"generate", "--prompt", "a", "--max-tokens", "many"},
           {"generate", "--prompt", "a", "--temperature", "nan"},
           {"generate", "--prompt", "a", "--kv-pages", "4", "--kv-memory", "1GiB"},
           {"generate", "--prompt", "a", "--kv-memory", "much"},
           {"eval"},
           {"eval", "--text-file", "a", "--ids", "b"},
           {"model"},
           {"adapter"},
           {"adapter", "add", "french"},
           {"adapter", "show"},
           {"help", "nonsense"},
           {"--no-such-flag"},
           {"quire-bench", "pages", "--trace", "a"},
           {"quire-bench", "pages", "--capacity", "5"},
           {"quire-bench", "pages", "--policy", "lru"},
           {"quire-bench", "pages", "--trace", "a", "--capacity", "0"},
           {"quire-bench", "pages", "--trace", "a", "--capacity", "5", "--from", "2"},
           {"quire-bench", "pages", "--trace", "a", "--capacity", "5", "--from", "0.5", "--to",
            "0.5"},
           {"run"}}) {
    const Parsed parsed = parse_line(arguments);
    EXPECT_FALSE(parsed.request.has_value());
    EXPECT_EQ(parsed.exit_code, ExitCode::Usage);
    EXPECT_NE(parsed.text.find("--help"), std::string::npos) << parsed.text;
  }
}

TEST(Parse, ATenantHasSharesOfAdapters) {
  const auto error = [](const char* text) {
    return first_line_of_usage_error({"serve", "--tenant", text});
  };
  const auto adapters =
      parsed_as<ServeOptions>(
          {"serve", "--tenant", "7=adapters:3,adapter_bytes:64MiB,adapter_rank:16"})
          .tenants.front();
  EXPECT_EQ(adapters.adapter_count_max, 3u);
  EXPECT_EQ(adapters.adapter_bytes_max, 64u << 20);
  EXPECT_EQ(adapters.adapter_rank_max, 16u);
  EXPECT_EQ(error("7=adapters:257"), "--tenant: \"adapters:257\" has no count from 0 to 256");
  EXPECT_EQ(error("7=adapter_rank:x"), "--tenant: \"adapter_rank:x\" has no count from 0 to 1024");
  EXPECT_EQ(error("7=adapter_bytes:5GiB"),
            "--tenant: \"adapter_bytes:5GiB\" is more than the 4.0 GiB of all tenants "
            "(adapter_bytes_max)");
}

TEST(Parse, AnAdapterIsAddedToAServerAndShownFromAFile) {
  const auto add = parsed_as<AdapterOptions>(
      {"adapter", "add", "french", "folder", "--server", "ws://127.0.0.1:1", "--key-file", "k"});
  EXPECT_EQ(add.action, AdapterAction::Add);
  EXPECT_EQ(add.name, "french");
  EXPECT_EQ(add.path, "folder");
  EXPECT_TRUE(add.has_server);
  EXPECT_FALSE(add.on_server);
  EXPECT_EQ(add.key_file, "k");
  const auto show = parsed_as<AdapterOptions>({"adapter", "show", "a.gguf", "--model", "tiny"});
  EXPECT_EQ(show.path, "a.gguf");
  EXPECT_EQ(show.model, "tiny");
  EXPECT_FALSE(show.has_server);
  EXPECT_EQ(parsed_as<AdapterOptions>({"adapter", "list"}).path, "");
  EXPECT_EQ(parsed_as<AdapterOptions>({"adapter", "remove", "french"}).name, "french");
}

TEST(Parse, ARealNumberOutsideItsRangeIsRefusedAndSoIsWhatIsNone) {
  for (const char* each : {"nan", "-nan", "inf", "-inf", "-1", "1e7", "many", ""}) {
    for (const std::vector<std::string>& flag : std::vector<std::vector<std::string>>{
             {"serve", "--grace"},
             {"serve", "--keep"},
             {"serve", "--cpu-seconds-max"},
             {"run", "p.wasm", "--cpu-seconds-max"},
             {"run", "p.wasm", "--server", "ws://127.0.0.1:1", "--deadline"},
             {"quire-bench", "pages", "--trace", "a", "--capacity", "5", "--from"},
             {"quire-bench", "pages", "--trace", "a", "--capacity", "5", "--to"}}) {
      std::vector<std::string> arguments = flag;
      arguments.back() += std::string("=") + each;
      const std::string error = first_line_of_usage_error(arguments);
      EXPECT_NE(error.find(flag.back()), std::string::npos) << arguments.back() << ": " << error;
    }
  }
  EXPECT_EQ(first_line_of_usage_error({"serve", "--grace", "nan"}),
            "--grace: \"nan\" is not a number (it must be from 0 to 1000000)");
  EXPECT_EQ(parsed_as<ServeOptions>({"serve", "--grace", "1e6"}).grace_seconds, 1e6);
  EXPECT_EQ(parsed_as<ServeOptions>({"serve", "--grace", "0"}).grace_seconds, 0.0);
}

TEST(Parse, EveryVerbHasHelpWithExamplesOfItself) {
  const auto has_own_examples = [](const std::vector<std::string>& verb) {
    std::vector<std::string> arguments = verb;
    arguments.emplace_back("--help");
    const Parsed parsed = parse_line(arguments);
    std::string name = verb.front() == "quire-bench" ? "" : "quire ";
    for (const std::string& each : verb) name += each + " ";
    name.pop_back();
    EXPECT_EQ(parsed.exit_code, ExitCode::Ok) << name;
    EXPECT_NE(parsed.text.find("Usage: " + name + " "), std::string::npos) << parsed.text;
    const std::size_t examples = parsed.text.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << name;
    EXPECT_NE(parsed.text.find("  " + name, examples), std::string::npos) << parsed.text;
  };
  for (const char* verb :
       {"run", "serve", "status", "generate", "chat", "eval", "model", "tokenize", "detokenize",
        "template", "build", "new", "doctor", "kv", "bench", "completion"}) {
    has_own_examples({verb});
  }
  for (const char* verb : {"list", "show", "add", "remove", "verify"}) {
    has_own_examples({"model", verb});
  }
  for (const char* verb : {"list", "show", "add", "remove"}) has_own_examples({"adapter", verb});
  for (const char* verb :
       {"list", "show", "export", "import", "delete", "verify", "gc", "tree", "why"}) {
    has_own_examples({"kv", verb});
  }
  for (const char* verb : {"kv", "generate", "launch"}) has_own_examples({"bench", verb});
  for (const char* verb : {"restore", "pressure", "sink", "batching", "scheduler", "arrival",
                           "constraint", "overhead", "calls", "pages"}) {
    has_own_examples({"quire-bench", verb});
  }
  EXPECT_NE(parse_line({"--help"}).text.find("Exit codes:"), std::string::npos);
  EXPECT_EQ(parse_line({"--version"}).text, std::string("quire ") + QUIRE_VERSION + "\n");
}

TEST(Parse, HelpIsAVerbToo) {
  EXPECT_EQ(parse_line({"help"}).text, parse_line({"--help"}).text);
  EXPECT_EQ(parse_line({"help", "run"}).text, parse_line({"run", "--help"}).text);
  EXPECT_EQ(parse_line({"help", "model", "add"}).text, parse_line({"model", "add", "--help"}).text);
  EXPECT_EQ(parse_line({"quire-bench", "help", "pages"}).text,
            parse_line({"quire-bench", "pages", "--help"}).text);
  EXPECT_NE(parse_line({"help", "--help"}).text.find("Usage: quire help"), std::string::npos);
  EXPECT_EQ(first_line_of_usage_error({"help", "serv"}),
            "there is no verb \"serv\"; did you mean serve?");
}

std::ptrdiff_t line_count(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(Parse, HelpIsOfTheVerbAndFitsTwoScreensAndHelpAllAddsTheEngine) {
  constexpr std::ptrdiff_t kTwoScreens = 2 * 50;
  for (const char* verb : {"run", "serve", "generate", "chat", "eval", "doctor"}) {
    SCOPED_TRACE(verb);
    const std::string help = parse_line({verb, "--help"}).text;
    const std::string all = parse_line({verb, "--help-all"}).text;
    EXPECT_LE(line_count(parse({verb, "--help"}, CommandLine::Quire, 100).text), kTwoScreens);
    EXPECT_EQ(help.find("\n  --kv-format"), std::string::npos);
    EXPECT_NE(help.find("--help-all"), std::string::npos);
    EXPECT_NE(all.find("\nEngine:\n  --backend"), std::string::npos);
    EXPECT_NE(help.find("--model"), std::string::npos);
    EXPECT_NE(all.find("--model"), std::string::npos);
    EXPECT_EQ(help.find("\n\n\n"), std::string::npos);
  }
  EXPECT_EQ(parse_line({"serve", "--help"}).text.find("\n  --limit"), std::string::npos);
  EXPECT_NE(parse_line({"serve", "--help-all"}).text.find("\n  --limit"), std::string::npos);
  EXPECT_NE(parse_line({"quire-bench", "sink", "--help-all"}).text.find("--kv-format"),
            std::string::npos);
  // A verb without an engine takes the flag, and does not list it.
  EXPECT_EQ(parse_line({"status", "--help-all"}).text, parse_line({"status", "--help"}).text);
  EXPECT_EQ(parse_line({"status", "--help"}).text.find("--help-all"), std::string::npos);
  EXPECT_NE(parse_line({"--help-all"}).text.find("--kv-format"), std::string::npos);
}

TEST(Parse, HelpAfterAProgramAsksForTheOptionsOfTheProgram) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "p.wasm", "--help"},
        std::vector<std::string>{"run", "--json", "p.wasm", "--help"}}) {
    const Parsed parsed = parse_line(words);
    ASSERT_TRUE(parsed.request) << parsed.text;
    const auto& options = std::get<RunOptions>(*parsed.request);
    EXPECT_EQ(options.program, "p.wasm");
    EXPECT_TRUE(options.shows_options);
  }
  EXPECT_FALSE(parse_line({"run", "--help"}).request);
  EXPECT_FALSE(parse_line({"build", "p.cpp", "--help"}).request);
  EXPECT_FALSE(
      std::get<RunOptions>(*parse_line({"run", "p.wasm", "--", "--help"}).request).shows_options);
}

TEST(Parse, AVerbThatDoesNotExistIsNamedWithTheOneThatWasMeant) {
  EXPECT_EQ(first_line_of_usage_error({"serv"}), "there is no verb \"serv\"; did you mean serve?");
  EXPECT_EQ(first_line_of_usage_error({"genrate", "--prompt", "a"}),
            "there is no verb \"genrate\"; did you mean generate?");
  EXPECT_EQ(first_line_of_usage_error({"model", "help"}),
            "there is no verb \"help\" of quire model; quire model --help lists the verbs, and "
            "quire model VERB --help explains one");
  EXPECT_EQ(first_line_of_usage_error({"kv", "lst"}),
            "there is no verb \"lst\" of quire kv; did you mean list?");
  EXPECT_EQ(first_line_of_usage_error({"model"}),
            "quire model needs a verb: list, show, add, remove, verify");
  EXPECT_EQ(first_line_of_usage_error({"hello.wasm", "--json"}),
            "\"hello.wasm\" is not a verb; quire run hello.wasm runs it");
  EXPECT_EQ(first_line_of_usage_error({"hello.cpp"}),
            "\"hello.cpp\" is not a verb; quire build hello.cpp makes a program of it");
  EXPECT_NE(first_line_of_usage_error({"frobnicate"}).find("there are: run, serve, "),
            std::string::npos);
}

TEST(Parse, AnInstanceIsANumberAndOnlyAttachTakesItsName) {
  EXPECT_EQ(parsed_as<AttachOptions>({"attach", "9007199254740991"}).instance, 9007199254740991u);
  const std::string name = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(parsed_as<AttachOptions>({"attach", name, "--take"}).name, name);
  EXPECT_EQ(parsed_as<AbortOptions>({"abort", "3", "5"}).instances,
            (std::vector<std::uint64_t>{3, 5}));
  for (const std::string& wrong :
       {std::string("0"), std::string("9007199254740992"), std::string("x"), name}) {
    EXPECT_EQ(first_line_of_usage_error({"abort", wrong}).substr(0, 3), "ID:") << wrong;
  }
}

TEST(Parse, SendTakesItsMessageFromOnePlace) {
  EXPECT_EQ(parsed_as<SendOptions>({"send", "3", "hello"}).text, "hello");
  EXPECT_TRUE(parsed_as<SendOptions>({"send", "3"}).reads_lines);
  EXPECT_TRUE(parsed_as<SendOptions>({"send", "3", "-", "--end"}).reads_lines);
  EXPECT_FALSE(parsed_as<SendOptions>({"send", "3", "--end"}).reads_lines);
  EXPECT_FALSE(parsed_as<SendOptions>({"send", "3", "--send-file", "a.csv"}).reads_lines);
  EXPECT_NE(first_line_of_usage_error({"send", "3", "hello", "--file", "a"}), "");
}

TEST(Parse, DetachIsForAServerAndForClientsThatNeedNotStay) {
  const std::vector<std::string> run = {"run", "p.wasm", "--server", "ws://a:1", "--detach"};
  EXPECT_TRUE(parsed_as<RunOptions>(run).launch.detaches);
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--detach"}).substr(0, 45),
            "--detach is for a server, which --server name");
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--watch"}, {"--send-file", "a.csv"}, {"--save-files", "kept"}}) {
    std::vector<std::string> words = run;
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_NE(first_line_of_usage_error(words).find("--detach"), std::string::npos) << more[0];
  }
}

TEST(Parse, AFlagThatDoesNotExistIsNamedWithTheOneThatWasMeant) {
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "x", "--max-token", "5"}),
            "there is no flag --max-token of quire generate; did you mean --max-tokens?");
  EXPECT_EQ(first_line_of_usage_error({"run", "--hepl"}),
            "there is no flag --hepl of quire run; did you mean --help?");
  EXPECT_EQ(first_line_of_usage_error({"generate", "-prompt", "x"}),
            "there is no flag -prompt of quire generate; did you mean --prompt?");
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "x", "--temp=2"}),
            "there is no flag --temp of quire generate; did you mean --temperature?");
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "x", "--each", "f"}),
            "there is no flag --each of quire generate; quire run has it");
  EXPECT_EQ(first_line_of_usage_error({"--json", "generate"}).substr(0, 37),
            "--json follows the verb that it is fo");
  EXPECT_EQ(first_line_of_usage_error({"--verison"}),
            "there is no flag --verison; did you mean --version?");
}

TEST(Parse, AFlagOfTheProgramThatStandsBeforeTheDashesIsShownItsPlace) {
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--prompt", "hi you"}),
            "--prompt is not a flag of quire run. What follows \"--\" goes to the program: quire "
            "run p.wasm -- --prompt \"hi you\"");
  EXPECT_EQ(
      first_line_of_usage_error({"run", "p.wasm", "--prompt", "hi", "--", "--max-tokens", "5"}),
      "--prompt is not a flag of quire run. What follows \"--\" goes to the program: quire "
      "run p.wasm -- --prompt hi --max-tokens 5");
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--jsn"}),
            "there is no flag --jsn of quire run; did you mean --json? If it is for the program: "
            "quire run p.wasm -- --jsn");
  EXPECT_EQ(
      first_line_of_usage_error({"build", "p.cpp", "-O3"}),
      "-O3 is not a flag of quire build. What follows \"--\" goes to the compiler: quire build "
      "p.cpp -- -O3");
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "hi"}),
            "\"hi\" is one word too many: quire run takes only PROGRAM. What follows \"--\" goes "
            "to the program: quire run p.wasm -- hi");
  EXPECT_EQ(first_line_of_usage_error({"chat", "What", "is", "it?"}),
            "\"is\" is one word too many: quire chat takes only MESSAGE; put a text of several "
            "words in quotes");
}

// Standard input may hold the prompt: the command knows whether it does.
TEST(Parse, APromptIsAWordAFlagAFileOrStandardInput) {
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "Once upon"}).prompt.text, "Once upon");
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "-"}).prompt.text, "-");
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "--prompt", "-"}).prompt.text, "-");
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "--prompt-file", "f"}).prompt.file, "f");
  const auto neither = parsed_as<GenerateOptions>({"generate"});
  EXPECT_FALSE(neither.prompt.text.has_value());
  EXPECT_EQ(neither.prompt.file, "");
  EXPECT_EQ(parsed_as<ChatOptions>({"chat", "--prompt-file", "f"}).message.file, "f");
  EXPECT_FALSE(parsed_as<ChatOptions>({"chat"}).message.text.has_value());
}

TEST(Parse, AMissingValueIsNamed) {
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt"}), "--prompt needs a value: TEXT");
  EXPECT_EQ(first_line_of_usage_error({"generate", "--prompt", "--max-tokens", "5"}),
            "--prompt needs a value: TEXT; --max-tokens is a flag (if it is the value, write "
            "--prompt=--max-tokens)");
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "--prompt=--max-tokens"}).prompt.text,
            "--max-tokens");
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "--prompt", "-5 is"}).prompt.text, "-5 is");
  EXPECT_EQ(first_line_of_usage_error({"eval"}),
            "quire eval takes exactly one of TEXT, --text-file and --ids");
  EXPECT_NE(first_line_of_usage_error({"run"}).find("quire run needs PROGRAM: "),
            std::string::npos);
}

TEST(Parse, ANumberThatIsNoneIsNamedWithItsFlagAndWhatIsExpected) {
  const auto error = [](const std::string& flag, const std::string& value) {
    return first_line_of_usage_error({"generate", "--prompt", "x", flag, value});
  };
  EXPECT_EQ(error("--temperature", "hot"),
            "--temperature: \"hot\" is not a number (it must be from 0 to 100)");
  EXPECT_EQ(error("--max-tokens", "abc"),
            "--max-tokens: \"abc\" is not a whole number (it must be from 1 to 16777216)");
  EXPECT_EQ(error("--max-tokens", "0"), "--max-tokens must be from 1 to 16777216, not 0");
  EXPECT_EQ(error("--max-tokens", "-3"), "--max-tokens must be from 1 to 16777216, not -3");
  EXPECT_EQ(error("--top-p", "2"), "--top-p must be above 0 and at most 1, not 2");
  EXPECT_EQ(error("--top-p", "0"), "--top-p must be above 0 and at most 1, not 0");
  EXPECT_EQ(error("--top-k", "4294967296"), "--top-k must be from 0 to 4294967295, not 4294967296");
  EXPECT_EQ(error("--seed", "18446744073709551616"),
            "--seed must be from 0 to 18446744073709551615, not 18446744073709551616");
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "-p", "x", "-n", "010"}).max_tokens, 10u);
}

TEST(Parse, EveryFlagThatTakesANumberSaysWhichValueWasNone) {
  for (const std::vector<std::string>& flag :
       std::vector<std::vector<std::string>>{{"run", "p.wasm", "--threads"},
                                             {"run", "p.wasm", "--tenant"},
                                             {"run", "p.wasm", "--pages-max"},
                                             {"run", "p.wasm", "--memory-max"},
                                             {"run", "p.wasm", "--output-max"},
                                             {"run", "p.wasm", "--page-size"},
                                             {"run", "p.wasm", "--prefill-budget"},
                                             {"run", "p.wasm", "--kv-pages"},
                                             {"run", "p.wasm", "--kv-memory"},
                                             {"run", "p.wasm", "--kv-host"},
                                             {"serve", "--instances"},
                                             {"serve", "--launch-queue"},
                                             {"serve", "--connections"},
                                             {"serve", "--compile-seconds-max"},
                                             {"generate", "-p", "x", "--top-k"},
                                             {"generate", "-p", "x", "--min-p"},
                                             {"generate", "-p", "x", "--seed"},
                                             {"chat", "--max-tokens"},
                                             {"eval", "--text-file", "f", "--chunk"},
                                             {"kv", "list", "--tenant"},
                                             {"kv", "why", "r.json", "--instance"},
                                             {"bench", "kv", "--lengths"},
                                             {"bench", "generate", "--streams"},
                                             {"bench", "generate", "--repetitions"},
                                             {"quire-bench", "overhead", "--instances"},
                                             {"bench", "launch", "p.wasm", "--simultaneous"},
                                             {"quire-bench", "scheduler", "--requests"}}) {
    std::vector<std::string> arguments = flag;
    arguments.emplace_back("12x");
    const std::string error = first_line_of_usage_error(arguments);
    EXPECT_NE(error.find("\"12x\""), std::string::npos) << flag.back() << ": " << error;
    if (flag.back() != "--page-size") {
      EXPECT_EQ(error.find(flag.back() + ":"), 0u) << error;
    }
  }
  EXPECT_EQ(first_line_of_usage_error({"detokenize", "12x"}),
            "IDS: \"12x\" is not a whole number (it must be from 0 to 4294967295)");
}

TEST(Parse, AWrongValueOfAVariableIsNamedByTheVariable) {
  const auto error_with = [](const char* name, const char* value) {
    setenv(name, value, 1);
    const std::string error = first_line_of_usage_error({"run", "p.wasm"});
    unsetenv(name);
    return error;
  };
  EXPECT_EQ(error_with("QUIRE_KV_PAGES", "abc"),
            "QUIRE_KV_PAGES (which stands for --kv-pages): \"abc\" is not a whole number (it must "
            "be from 1 to 67108864)");
  EXPECT_EQ(error_with("QUIRE_KV_PAGES", "0"),
            "QUIRE_KV_PAGES (which stands for --kv-pages) must be from 1 to 67108864, not 0");
  EXPECT_EQ(error_with("QUIRE_KV", "x"),
            "QUIRE_KV: unknown kv cache mode \"x\" (supported: basic, paged)");
}

TEST(Parse, AFlagWinsOverAVariableThatExcludesIt) {
  setenv("QUIRE_KV_PAGES", "64", 1);
  const auto options = parsed_as<RunOptions>({"run", "p.wasm", "--kv-memory", "1GiB"});
  unsetenv("QUIRE_KV_PAGES");
  EXPECT_EQ(options.engine.pool.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_FALSE(options.engine.pool.page_count.has_value());
}

TEST(Parse, AMisspeltVariableIsAWarningAndStopsNothing) {
  setenv("QUIRE_KV_PAGE", "64", 1);
  setenv("QUIRE_SOMETHING_ELSE", "1", 1);
  const Parsed parsed = parse_line({"run", "p.wasm"});
  unsetenv("QUIRE_KV_PAGE");
  unsetenv("QUIRE_SOMETHING_ELSE");
  EXPECT_TRUE(parsed.request.has_value());
  EXPECT_EQ(parsed.warnings,
            std::vector<std::string>{
                "Quire reads no variable QUIRE_KV_PAGE; did you mean QUIRE_KV_PAGES?"});
}

TEST(Parse, TheVariableWithAKeyIsKnown) {
  setenv("QUIRE_KEY", "quire-key", 1);
  const Parsed parsed = parse_line({"run", "p.wasm"});
  unsetenv("QUIRE_KEY");
  EXPECT_EQ(parsed.warnings, std::vector<std::string>{});
}

TEST(Parse, AnEnvironmentVariableStandsInForAFlagAndAFlagWins) {
  ASSERT_EQ(setenv("QUIRE_KV", "basic", 1), 0);
  const auto from_environment = parsed_as<GenerateOptions>({"generate", "--prompt", "a"});
  const auto from_flag = parsed_as<GenerateOptions>({"generate", "--prompt", "a", "--kv", "paged"});
  ASSERT_EQ(unsetenv("QUIRE_KV"), 0);
  EXPECT_EQ(from_environment.engine.kv_mode, KvModeChoice::Basic);
  EXPECT_EQ(from_flag.engine.kv_mode, KvModeChoice::Paged);
}

TEST(Parse, BytesAreReadWithUnitsOf1024) {
  const auto options =
      parsed_as<GenerateOptions>({"generate", "--prompt", "a", "--kv-memory", "1.5GiB"});
  EXPECT_EQ(options.engine.pool.memory_bytes, std::uint64_t{3} << 29);
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "--prompt", "a", "--kv-memory", "4096"})
                .engine.pool.memory_bytes,
            4096u);
}

TEST(Parse, MeasurementsOfTheEngineBelongToQuireBench) {
  EXPECT_EQ(first_line_of_usage_error({"bench", "overhead"}),
            "there is no verb \"overhead\" of quire bench; there are: kv, generate, launch");
  for (const char* verb : {"kv", "generate"}) {
    EXPECT_EQ(parsed_as<BenchOptions>({"bench", verb}).kind,
              parsed_as<BenchOptions>({"quire-bench", verb}).kind);
  }
  const auto launch = parsed_as<BenchLaunchOptions>({"quire-bench", "launch", "p.wasm", "--", "x"});
  EXPECT_EQ(launch.arguments, std::vector<std::string>{"x"});
  EXPECT_EQ(parse_line({"quire-bench", "--version"}).text,
            std::string("quire-bench ") + QUIRE_VERSION + "\n");
}

TEST(Parse, BenchAndModelHaveVerbsOfTheirOwn) {
  EXPECT_EQ(parsed_as<BenchOptions>({"bench", "kv", "--lengths", "8,16"}).lengths,
            (std::vector<std::uint32_t>{8, 16}));
  EXPECT_EQ(parsed_as<BenchPagesOptions>({"quire-bench", "pages", "--json"}).trace, "");
  const auto pages =
      parsed_as<BenchPagesOptions>({"quire-bench", "pages", "--trace", "a.gz", "--capacity", "5",
                                    "--policy", "s3-fifo", "--hints", "future", "--from", "0.5"});
  EXPECT_EQ(pages.capacity, 5u);
  EXPECT_EQ(pages.policy, PagePolicyChoice::S3Fifo);
  EXPECT_TRUE(pages.hints_from_future);
  EXPECT_EQ(pages.from, 0.5);
  EXPECT_EQ(parsed_as<ModelOptions>({"model", "show", "tiny"}).action, ModelAction::Show);
  EXPECT_EQ(parsed_as<ModelOptions>({"model", "add", "a.gguf", "--name", "b"}).name, "b");
  EXPECT_EQ(parsed_as<ModelOptions>({"model", "add", "hf:a/b:Q4_K_M"}).model, "hf:a/b:Q4_K_M");
  EXPECT_TRUE(parsed_as<ModelOptions>({"model", "list", "--available"}).available);
}

TEST(Parse, PagesThatThePoolHasNoRoomForGoWhereOneSays) {
  const auto usual = parsed_as<RunOptions>({"run", "p.wasm"});
  EXPECT_EQ(usual.engine.tiers.host_bytes, 0u);
  EXPECT_EQ(usual.engine.tiers.disk_bytes, 0u);
  const auto chosen =
      parsed_as<RunOptions>({"run", "p.wasm", "--kv-host", "512MiB", "--kv-disk", "2GiB"});
  EXPECT_EQ(chosen.engine.tiers.host_bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(chosen.engine.tiers.disk_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--kv-disk", "much"}),
            "--kv-disk: \"much\" is not a number of bytes (as in 512MiB, 8GiB, 1073741824)");
}

TEST(Parse, OnlyARunTakesTheStore) {
  EXPECT_EQ(parsed_as<GenerateOptions>({"generate", "-p", "a"}).engine.store_use, StoreUse::Off);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).engine.store_use, StoreUse::IfFree);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm", "--no-store"}).engine.store_use, StoreUse::Off);
  const auto given = parsed_as<RunOptions>({"run", "p.wasm", "--store", "here"});
  EXPECT_EQ(given.engine.store_use, StoreUse::Required);
  EXPECT_EQ(given.engine.store_folder, "here");
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--store", "here", "--no-store"}),
            "--store and --no-store exclude each other");
}

TEST(Parse, TheStoreMayComeFromTheEnvironment) {
  setenv("QUIRE_STORE", "there", 1);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).engine.store_folder, "there");
  EXPECT_EQ(parsed_as<KvOptions>({"kv", "list"}).store_folder, "there");
  unsetenv("QUIRE_STORE");
  setenv("QUIRE_NO_STORE", "1", 1);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).engine.store_use, StoreUse::Off);
  unsetenv("QUIRE_NO_STORE");
}

TEST(Parse, AFlagAboutTheStoreWinsOverTheEnvironment) {
  setenv("QUIRE_STORE", "there", 1);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm", "--no-store"}).engine.store_use, StoreUse::Off);
  unsetenv("QUIRE_STORE");
  setenv("QUIRE_NO_STORE", "1", 1);
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm", "--store", "here"}).engine.store_folder,
            "here");
  unsetenv("QUIRE_NO_STORE");
}

TEST(Parse, KvTakesItsVerbsAndWhatTheyNeed) {
  EXPECT_EQ(parsed_as<KvOptions>({"kv", "list"}).action, KvAction::List);
  const auto imported = parsed_as<KvOptions>(
      {"kv", "import", "f", "--as", "b", "--overwrite", "--tenant", "7", "--store", "s", "--json"});
  EXPECT_EQ(imported.action, KvAction::Import);
  EXPECT_EQ(imported.file, "f");
  EXPECT_EQ(imported.name, "b");
  EXPECT_TRUE(imported.overwrites);
  EXPECT_EQ(imported.tenant, 7u);
  EXPECT_EQ(imported.store_folder, "s");
  EXPECT_EQ(imported.output, OutputStyle::Json);
  EXPECT_NE(first_line_of_usage_error({"kv", "show"}).find("NAME"), std::string::npos);
  EXPECT_NE(first_line_of_usage_error({"kv", "export", "a"}).find("FILE"), std::string::npos);
  EXPECT_FALSE(first_line_of_usage_error({"kv"}).empty());
}

TEST(Parse, FcfsKillIsAPolicyByEitherName) {
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).engine.when_full, WhenFullChoice::Suspend);
  const auto full = parsed_as<RunOptions>({"run", "p.wasm", "--when-full", "fcfs-kill"}).engine;
  EXPECT_EQ(full.when_full, WhenFullChoice::FcfsKill);
  const auto lru =
      parsed_as<RunOptions>({"run", "p.wasm", "--when-full", "fcfs-kill", "--eviction", "lru"})
          .engine;
  EXPECT_EQ(lru.eviction, PagePolicyChoice::Lru);
  EXPECT_EQ(lru.when_full, WhenFullChoice::FcfsKill);
  const auto both = parsed_as<RunOptions>({"run", "p.wasm", "--eviction", "fcfs-kill"}).engine;
  EXPECT_EQ(both.eviction, PagePolicyChoice::Default);
  EXPECT_EQ(both.when_full, WhenFullChoice::FcfsKill);
  EXPECT_EQ(first_line_of_usage_error(
                {"run", "p.wasm", "--eviction", "fcfs-kill", "--when-full", "suspend"}),
            "--eviction fcfs-kill and --when-full suspend exclude each other");
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--when-full", "kill"}),
            "unknown policy for a full pool \"kill\" (supported: suspend, fcfs-kill)");
}

TEST(Parse, MissesAreExplainedOnlyWhereSomebodyAsks) {
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).engine.misses, MissUse::Off);
  const auto why = parsed_as<RunOptions>({"run", "p.wasm", "--kv-why"});
  EXPECT_TRUE(why.kv_why);
  EXPECT_EQ(why.engine.misses, MissUse::Explain);
  const auto report = parsed_as<RunOptions>({"run", "p.wasm", "--kv-report", "r.json"});
  EXPECT_FALSE(report.kv_why);
  EXPECT_EQ(report.kv_report_file, "r.json");
  EXPECT_EQ(report.engine.misses, MissUse::Explain);
}

TEST(Parse, KvTreeAndWhyReadWhatARunWrote) {
  const auto why = parsed_as<KvOptions>({"kv", "why", "r.json", "--instance", "3", "--json"});
  EXPECT_EQ(why.action, KvAction::Why);
  EXPECT_EQ(why.file, "r.json");
  EXPECT_EQ(why.instance, 3u);
  EXPECT_EQ(why.output, OutputStyle::Json);
  const auto tree = parsed_as<KvOptions>({"kv", "tree", "r.json", "--dot"});
  EXPECT_EQ(tree.action, KvAction::Tree);
  EXPECT_TRUE(tree.draws_dot);
  EXPECT_NE(first_line_of_usage_error({"kv", "why"}).find("FILE"), std::string::npos);
}

TEST(Parse, BenchesOfContextsWriteReportsAndOthersDoNot) {
  for (const char* kind : {"restore", "pressure", "sink"}) {
    const auto options = parsed_as<BenchOptions>({"quire-bench", kind, "--kv-report", "r.json"});
    EXPECT_EQ(options.kv_report_file, "r.json") << kind;
  }
  EXPECT_NE(first_line_of_usage_error({"bench", "generate", "--kv-report", "r.json"}), "");
}

TEST(Parse, APageGraphIsTextUnlessItIsDot) {
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm"}).kv_tree, KvTreeStyle::None);
  const auto text = parsed_as<RunOptions>({"run", "--kv-tree", "p.wasm"});
  EXPECT_EQ(text.kv_tree, KvTreeStyle::Text);
  EXPECT_EQ(text.program, "p.wasm");
  EXPECT_EQ(parsed_as<RunOptions>({"run", "p.wasm", "--kv-tree=dot"}).kv_tree, KvTreeStyle::Dot);
  EXPECT_EQ(first_line_of_usage_error({"run", "p.wasm", "--kv-tree=svg"}),
            "unknown page graph \"svg\" (supported: text, dot)");
}

}  // namespace
}  // namespace quire::cli
