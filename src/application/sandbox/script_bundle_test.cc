#include "application/sandbox/script_bundle.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/seeds.h"

namespace quire::sandbox {
namespace {

ScriptBundle small_bundle() {
  ScriptBundle bundle;
  bundle.runtime = "javascript";
  bundle.version = "0.1.0";
  bundle.digest.fill(7);
  bundle.files = {{"main.ts", "export default 1;\n"}, {"lib/a.ts", ""}};
  bundle.entry = "main.ts";
  return bundle;
}

std::string write_error(const ScriptBundle& bundle) {
  const Result<std::string> written = write_script_bundle(bundle);
  return written.ok() ? "" : std::string(written.error().message());
}

std::string read_error(std::string_view bytes) {
  const Result<ScriptBundle> bundle = read_script_bundle(bytes);
  return bundle.ok() ? "" : std::string(bundle.error().message());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(ScriptBundle, ReadsWhatWasWritten) {
  const Result<std::string> written = write_script_bundle(small_bundle());
  ASSERT_TRUE(written.ok()) << written.error().message();
  const Result<ScriptBundle> read = read_script_bundle(written.value());
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read.value().runtime, "javascript");
  EXPECT_EQ(read.value().version, "0.1.0");
  EXPECT_EQ(read.value().digest, small_bundle().digest);
  ASSERT_EQ(read.value().files.size(), 2u);
  EXPECT_EQ(read.value().files[0].path, "lib/a.ts");
  EXPECT_EQ(read.value().files[1].content, "export default 1;\n");
  EXPECT_EQ(read.value().entry, "main.ts");
  EXPECT_EQ(read.value().options, "");
}

TEST(ScriptBundle, RandomBundlesAreReadAsTheyWereWritten) {
  for (const std::uint64_t seed : campaign_seeds(2'000)) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t most) { return random() % most; };
    std::map<std::string, std::string> files;
    for (std::uint64_t i = below(20) + 1; i > 0; --i) {
      std::string path;
      for (std::uint64_t names = below(3) + 1; names > 0; --names) {
        path += (path.empty() ? "" : "/") + std::string(below(5) + 1, char('a' + below(26)));
      }
      std::string content;
      for (std::uint64_t left = below(200); left > 0; --left) {
        content += below(4) == 0 ? "\u00e4" : std::string(1, static_cast<char>(below(128)));
      }
      files[path] = content;
    }
    ScriptBundle bundle = small_bundle();
    bundle.files.clear();
    for (const auto& [path, content] : files) bundle.files.push_back({path, content});
    std::shuffle(bundle.files.begin(), bundle.files.end(), random);
    const std::string entry = std::string(bundle.files[0].path);
    bundle.entry = entry;
    bundle.options = below(2) == 0 ? "" : "{\"properties\":{}}";
    const Result<std::string> written = write_script_bundle(bundle);
    ASSERT_TRUE(written.ok()) << written.error().message() << " seed " << seed;
    const Result<ScriptBundle> read = read_script_bundle(written.value());
    ASSERT_TRUE(read.ok()) << read.error().message() << " seed " << seed;
    ASSERT_EQ(read.value().files.size(), files.size());
    for (const ScriptFile& each : read.value().files) {
      ASSERT_EQ(files.at(std::string(each.path)), each.content) << "seed " << seed;
    }
    ASSERT_EQ(read.value().entry, entry);
    ASSERT_EQ(read.value().options, bundle.options);
    // Cut anywhere, it is refused.
    const std::string_view cut =
        std::string_view(written.value()).substr(0, below(written.value().size()));
    ASSERT_FALSE(read_script_bundle(cut).ok()) << "seed " << seed;
  }
}

TEST(ScriptBundle, RefusesPathsThatLeaveTheFolder) {
  for (const char* path : {"", "/a.ts", "../a.ts", "a/../b.ts", "a//b.ts", "a/", "./a.ts",
                           "a\\b.ts", "a\nb.ts", "\xff.ts"}) {
    ScriptBundle bundle = small_bundle();
    bundle.files.push_back({path, ""});
    EXPECT_TRUE(has(write_error(bundle), "not a valid script: the path")) << path;
  }
  ScriptBundle bundle = small_bundle();
  const std::string long_path(kScriptPathBytesMax + 1, 'a');
  bundle.files.push_back({long_path, ""});
  EXPECT_TRUE(has(write_error(bundle), "1 to 512 bytes"));
}

TEST(ScriptBundle, NamesTheFileAndLineThatIsNotUtf8) {
  ScriptBundle bundle = small_bundle();
  bundle.files.push_back({"z.ts", "one\ntwo \xc3\x28\n"});
  EXPECT_EQ(write_error(bundle), "z.ts:2: is not UTF-8");
}

TEST(ScriptBundle, RefusesMoreThanItsLimits) {
  const std::string large(kScriptSourceBytesMax, ' ');
  ScriptBundle bundle = small_bundle();
  bundle.files = {{"main.ts", large}};
  EXPECT_EQ(write_error(bundle), "");
  bundle.files.push_back({"one.ts", " "});
  EXPECT_TRUE(has(write_error(bundle), "script.source_bytes_max"));

  bundle = small_bundle();
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < kScriptFileCountMax; ++i) paths.push_back(std::to_string(i));
  for (const std::string& each : paths) bundle.files.push_back({each, ""});
  EXPECT_TRUE(has(write_error(bundle), "script.file_count_max"));

  bundle = small_bundle();
  bundle.version = "";
  EXPECT_TRUE(has(write_error(bundle), "the version of its runtime"));
}

TEST(ScriptBundle, RefusesAFileTwiceAndAnEntryThatIsNotThere) {
  ScriptBundle bundle = small_bundle();
  bundle.files.push_back({"main.ts", ""});
  EXPECT_TRUE(has(write_error(bundle), "there twice"));
  bundle = small_bundle();
  bundle.entry = "other.ts";
  EXPECT_TRUE(has(write_error(bundle), "its entry"));
}

TEST(ScriptBundle, RefusesBytesThatAreNotOne) {
  const std::string good = std::move(write_script_bundle(small_bundle())).take();
  EXPECT_TRUE(has(read_error(std::string_view("QSC2")), "first 4 bytes"));
  EXPECT_TRUE(has(read_error(std::string_view("QS")), "cut short at byte 0"));
  EXPECT_TRUE(has(read_error(good + "x"), "more bytes"));
  std::string many = good;
  many[4 + 4 + 10 + 4 + 5 + 32 + 3] = '\x7f';  // The count of files.
  EXPECT_TRUE(has(read_error(many), "script.file_count_max"));
}

TEST(ScriptBundle, AModuleIsAScriptOnlyIfItHasNothingElse) {
  const std::string header("\0asm\1\0\0\0", 8);
  const std::string section = std::string("\0\x10\x0cquire.script", 15) + "abc";
  const std::string other = std::string("\0\x03\x01xy", 5);
  const std::string types = std::string("\x01\x01\x00", 3);
  const auto found = [](const std::string& wasm) { return find_script(wasm); };
  EXPECT_EQ(found(header + other + section).value(), "abc");
  EXPECT_FALSE(found(header + other + types).value().has_value());
  EXPECT_FALSE(found("").value().has_value());
  EXPECT_FALSE(found(header + section + types).ok());
  EXPECT_FALSE(found(header + section + section).ok());
  EXPECT_FALSE(found(header + section.substr(0, 10)).ok());
}

}  // namespace
}  // namespace quire::sandbox
