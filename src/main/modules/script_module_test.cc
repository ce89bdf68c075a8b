#include "main/modules/script_module.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/sha256.h"

namespace quire::modules {
namespace {

namespace fs = std::filesystem;

class ScriptModule : public ::testing::Test {
 protected:
  ScriptModule()
      : folder_(fs::temp_directory_path() / ("script_module_" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "agent");
  }
  ~ScriptModule() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }

  // The paths of the script agent/main.ts, or what is wrong.
  std::string collected() {
    const auto sources = collect_script((folder_ / "agent/main.ts").string());
    if (!sources.ok()) {
      std::string message(sources.error().message());
      for (std::size_t at; (at = message.find(folder_.string())) != std::string::npos;) {
        message.replace(at, folder_.string().size(), "F");
      }
      return message;
    }
    std::string text;
    for (const ScriptSource& each : sources.value()) text += each.path + " ";
    return text;
  }

  const fs::path folder_;
};

TEST_F(ScriptModule, TakesEveryFileThatIsImported) {
  write("agent/main.ts", "import './lib/a.js';\nimport b from './b';\nimport './d.json';");
  write("agent/lib/a.ts", "import '../b.ts'; import '../main.ts'; import('./later.js');");
  write("agent/b/index.ts", "");
  write("agent/b.ts", "");
  write("agent/d.json", "\"import './none.js'\"");
  write("agent/unused.ts", "");
  EXPECT_EQ(collected(), "main.ts lib/a.ts b.ts d.json ");
}

TEST_F(ScriptModule, NamesTheLineOfAnImportThatIsNotThere) {
  write("agent/main.ts", "\nimport './lib/a.ts';");
  write("agent/lib/a.ts", "import type { T } from './types';\n\nimport './none.ts';");
  EXPECT_EQ(collected(),
            "F/agent/lib/a.ts:3: imports \"./none.ts\", but F/agent/lib/none.ts is not a file");
}

TEST_F(ScriptModule, NeedsNoFileForTypes) {
  write("agent/main.ts",
        "import { type A } from './a'; import { B } from './b'; import { C } from './c.js';\n"
        "import { D } from './d.d.ts'; import type { E } from './none'; export * from './f';");
  for (const char* each : {"b.d.ts", "c.d.ts", "d.d.ts", "f/index.d.ts"}) {
    write(std::string("agent/") + each, "export interface X {}");
  }
  EXPECT_EQ(collected(), "main.ts ");
  write("agent/b.js", "");
  EXPECT_EQ(collected(), "main.ts b.js ");
  write("agent/main.ts", "import './lib.js';");
  write("agent/lib.js", "import './c';");
  EXPECT_EQ(collected(), "F/agent/lib.js:1: imports \"./c\", but F/agent/c is not a file");
}

TEST_F(ScriptModule, RefusesFilesThatAreNotOfAScriptByTheirKind) {
  for (const auto& [name, why] : std::map<std::string, std::string>{
           {"x.tsx", "JSX is not supported"},
           {"x.jsx", "JSX is not supported"},
           {"x.cjs",
            "modules of CommonJS are not supported: use import and export in a file that "
            "ends with .js"},
           {"x.css", "a script imports files that end with .js, .mjs, .ts, .mts and .json"}}) {
    write("agent/" + name, "");
    write("agent/main.ts", "\nimport './" + name + "';");
    EXPECT_EQ(collected(), "F/agent/main.ts:2: imports \"./" + name + "\": " + why);
  }
}

TEST_F(ScriptModule, FollowsImportsAfterAMarkOfByteOrderAndWhatHidesThem) {
  write("agent/main.ts",
        "\xef\xbb\xbf#!/usr/bin/env quire\r\nimport './a.js'; if (1) /`/.test('');\r\n"
        "await import('./b.js');");
  write("agent/a.js", "");
  write("agent/b.js", "");
  EXPECT_EQ(collected(), "main.ts a.js b.js ");
}

TEST_F(ScriptModule, NeverLeavesTheFolderOfItsEntry) {
  write("secret.ts", "");
  write("agent/main.ts", "import '../secret.ts';");
  EXPECT_EQ(collected(),
            "F/agent/main.ts:1: imports \"../secret.ts\", which lies outside of the folder of the "
            "script, F/agent");
  fs::create_symlink(folder_ / "secret.ts", folder_ / "agent/link.ts");
  write("agent/main.ts", "import './link.ts';");
  EXPECT_EQ(collected(),
            "F/agent/main.ts:1: F/agent/link.ts lies outside of the folder of the script, F/agent");
}

TEST_F(ScriptModule, RefusesASourceThatIsTooLarge) {
  write("agent/main.ts", std::string(sandbox::kScriptSourceBytesMax + 1, ' '));
  EXPECT_NE(collected().find("main.ts"), std::string::npos);
}

TEST_F(ScriptModule, BecomesAModuleThatHoldsItsFiles) {
  sandbox::ScriptRuntime runtime{"javascript", "1", sha256({}), "", ""};
  const auto module = script_module({{"main.ts", "", "one"}, {"a.ts", "", "two"}}, runtime, "{}");
  ASSERT_TRUE(module.ok()) << module.error().message();
  const auto script = sandbox::find_script(module.value());
  ASSERT_TRUE(script.ok() && script.value());
  const auto bundle = sandbox::read_script_bundle(*script.value());
  ASSERT_TRUE(bundle.ok()) << bundle.error().message();
  EXPECT_EQ(bundle.value().entry, "main.ts");
  EXPECT_EQ(bundle.value().digest, runtime.digest);
  EXPECT_EQ(bundle.value().files[0].content, "two");
}

TEST_F(ScriptModule, KnowsScriptsByTheirEndings) {
  for (const char* each : {"a.js", "a.mjs", "a.ts", "a.mts"}) {
    EXPECT_EQ(script_runtime_of(each), "javascript") << each;
  }
  for (const char* each : {"a.cpp", "a.d.ts", "a.json", "ts", "a.py"}) {
    EXPECT_EQ(script_runtime_of(each), "") << each;
  }
}

}  // namespace
}  // namespace quire::modules
