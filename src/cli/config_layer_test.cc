// The configuration file under the flags and variables of `quire serve`.
#include "cli/config_layer.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>

#include "cli/verb.h"

namespace quire::cli {
namespace {

namespace fs = std::filesystem;

class ConfigLayers : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("quire-config-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_ / "quire");
    set("XDG_CONFIG_HOME", folder_.string());
  }
  void TearDown() override {
    for (const std::string& each : variables_) unsetenv(each.c_str());
    fs::remove_all(folder_);
  }
  void set(const std::string& name, const std::string& value) {
    variables_.insert(name);
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::string write(const std::string& text, const std::string& name = "q.toml") {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  static Parsed parsed(std::vector<std::string> words) { return parse(words); }
  static ServeOptions served(std::vector<std::string> words) {
    words.insert(words.begin(), "serve");
    const Parsed parsed = parse(words);
    EXPECT_TRUE(parsed.request) << parsed.text;
    return parsed.request ? std::get<ServeOptions>(*parsed.request) : ServeOptions{};
  }
  // Returns the error for the text, without the folder of the file.
  std::string problem(const std::string& text, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"serve", "--config", write(text)});
    const Parsed parsed = parse(words);
    EXPECT_FALSE(parsed.request);
    EXPECT_EQ(parsed.exit_code, ExitCode::Usage);
    const std::string prefix = folder_.string() + "/";
    std::string message = parsed.text.substr(0, parsed.text.find('\n'));
    for (std::size_t at; (at = message.find(prefix)) != message.npos;)
      message.erase(at, prefix.size());
    return message;
  }
  // "kv-pages 7 flag".
  std::string shown(std::vector<std::string> words, const std::string& key) {
    words.insert(words.begin(), {"config", "show"});
    const Parsed parsed = parse(words);
    EXPECT_TRUE(parsed.request) << parsed.text;
    if (!parsed.request) return "";
    for (const ShownValue& each : std::get<ConfigOptions>(*parsed.request).values) {
      if (each.key != key) continue;
      std::string text = key;
      for (const std::string& value : each.values) text += " " + value;
      return text + " " +
             (each.origin.starts_with(folder_.string()) ? fs::path(each.origin).filename().string()
                                                        : each.origin);
    }
    return "none";
  }

 private:
  fs::path folder_;
  std::set<std::string> variables_;
};

TEST_F(ConfigLayers, AFlagWinsOverAVariableThatOverTheFileThatOverTheDefault) {
  const std::string file = write("listen = \"127.0.0.1:1\"\ninstances = 11\nconnections = 12\n");
  set("QUIRE_INSTANCES", "21");
  set("QUIRE_CONNECTIONS", "22");
  const std::vector<std::string> words = {"--config", file, "--connections", "32"};
  const ServeOptions options = served(words);
  EXPECT_EQ(options.listen, "127.0.0.1:1");
  EXPECT_EQ(options.instance_count_max, 21u);
  EXPECT_EQ(options.connection_count_max, 32u);
  EXPECT_EQ(options.waiting_launch_count_max, 256u);
  EXPECT_EQ(shown(words, "listen"), "listen 127.0.0.1:1 q.toml:1");
  EXPECT_EQ(shown(words, "instances"), "instances 21 variable QUIRE_INSTANCES");
  EXPECT_EQ(shown(words, "connections"), "connections 32 flag");
  EXPECT_EQ(shown(words, "launch-queue"), "launch-queue 256 default");
}

TEST_F(ConfigLayers, EveryFlagOfAServerIsAKeyAndAVariable) {
  CLI::App app;
  const Verb serve = add_serve(app);
  for (const CLI::Option* each : serve.app->get_options()) {
    if (each->get_positional() || each->check_lname("help") || each->check_lname("json")) continue;
    std::string variable = "QUIRE";
    for (const char letter : "-" + each->get_lnames().front()) {
      variable += letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
    }
    EXPECT_EQ(each->get_envname(), variable);
  }
  const ServeOptions options = served(
      {"--config",
       write("programs = [\"a.wasm\", \"b\"]\nmodel = [\"one\", \"two\"]\nno-endpoints = true\n"
             "endpoint = \"POST /x=a\"\ngrace = 2\nkv-memory = \"1GiB\"\nmemory-max = 1048576\n"
             "tenant = [\"1=weight:2\", \"2=weight:3\"]\nlimit = [\"token_count_max=5\"]\n"
             "log-format = \"json\"\nno-store = false\ncranelift-only = true\n")});
  EXPECT_EQ(options.programs, (std::vector<std::string>{"a.wasm", "b"}));
  EXPECT_EQ(options.engine.model, "one");
  EXPECT_EQ(options.engine.further_models, std::vector<std::string>{"two"});
  EXPECT_FALSE(options.has_shipped_endpoints);
  EXPECT_EQ(options.endpoints, std::vector<std::string>{"POST /x=a"});
  EXPECT_EQ(options.grace_seconds, 2.0);
  EXPECT_EQ(options.engine.pool.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(options.instance.memory_bytes_max, 1u << 20);
  EXPECT_EQ(options.tenants.size(), 2u);
  EXPECT_EQ(options.instance.limits.size(), 1u);
  EXPECT_EQ(options.log.format, LogFormat::Json);
  EXPECT_TRUE(options.compile.has_cranelift_only);
}

TEST_F(ConfigLayers, WhatWinsAlsoWinsOverWhatItExcludes) {
  const std::string file = write("kv-pages = 100\nstore = \"there\"\nprograms = [\"a\"]\n");
  const ServeOptions options = served({"--config", file, "--kv-memory", "1GiB", "--no-store", "b"});
  EXPECT_FALSE(options.engine.pool.page_count);
  EXPECT_EQ(options.engine.store_use, StoreUse::Off);
  EXPECT_EQ(options.programs, std::vector<std::string>{"b"});
}

TEST_F(ConfigLayers, WhatIsWrongIsToldWithFileAndLine) {
  EXPECT_TRUE(problem("\nkv-page = 5\n")
                  .starts_with("q.toml:2: there is no key \"kv-page\"; did you mean kv-pages"))
      << problem("\nkv-page = 5\n");
  EXPECT_TRUE(problem("server = \"x\"\n").starts_with("q.toml:1: there is no key \"server\""));
  EXPECT_TRUE(problem("config = \"x\"\n").starts_with("q.toml:1: there is no key \"config\""));
  EXPECT_EQ(problem("kv-pages = \"many\"\n"), "q.toml:1: kv-pages: \"many\" is not a whole number");
  EXPECT_EQ(problem("listen = 5\n"), "q.toml:1: listen: 5 is not a text");
  EXPECT_EQ(problem("no-store = \"yes\"\n"), "q.toml:1: no-store: \"yes\" is not true or false");
  EXPECT_EQ(problem("grace = true\n"), "q.toml:1: grace: true is not a number");
  EXPECT_EQ(problem("listen = [\"a\", \"b\"]\n"), "q.toml:1: listen takes one value, not a list");
  EXPECT_EQ(problem("store = \"\"\n"), "q.toml:1: store: the text is empty");
  EXPECT_EQ(problem("\n\ninstances = 0\n"), "q.toml:3: instances must be from 1 to 65536, not 0");
  EXPECT_TRUE(problem("\nkv-format = \"f8\"\n").starts_with("q.toml:2: unknown kv format \"f8\""))
      << problem("\nkv-format = \"f8\"\n");
  EXPECT_TRUE(problem("tenant = \"x\"\n").starts_with("q.toml:1: tenant: \"x\" is not"))
      << problem("tenant = \"x\"\n");
  // A wrong value is one also where a flag wins over it.
  EXPECT_EQ(problem("kv-pages = true\n", {"--kv-pages", "5"}),
            "q.toml:1: kv-pages: true is not a whole number");
}

TEST_F(ConfigLayers, TheFileIsNamedByFlagVariableOrPlace) {
  const std::string own = write("instances = 1\n", "quire/quire.toml");
  EXPECT_EQ(served({}).instance_count_max, 1u);
  set("QUIRE_CONFIG", write("instances = 2\n", "two.toml"));
  EXPECT_EQ(served({}).instance_count_max, 2u);
  EXPECT_EQ(served({"--config=" + own}).instance_count_max, 1u);
  const Parsed missing = parsed({"serve", "--config", "/nowhere/q.toml"});
  EXPECT_EQ(missing.exit_code, ExitCode::Missing);
  EXPECT_NE(missing.text.find("/nowhere/q.toml"), std::string::npos) << missing.text;
}

}  // namespace
}  // namespace quire::cli
