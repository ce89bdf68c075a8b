#include "main/modules/finish_module.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "main/modules/declared_options.h"
#include "main/modules/module_sections.h"
#include "support/wat.h"

namespace quire::modules {
namespace {

// A program whose initializer writes the address of its options, as constructors of globals do.
std::string program(const std::string& options, const std::string& more = "") {
  std::string escaped;
  for (const char each : options) escaped += each == '"' ? "\\\"" : std::string(1, each);
  return test::wasm_from_wat(
             "(module $_ZN1m1mEv (import \"host\" \"log\" (func $log))"
             "(memory (export \"memory\") 1) (data (i32.const 64) \"" +
             escaped +
             "\\00\") (global $at (mut i32) (i32.const 0))"
             "(func (export \"_initialize\") (global.set $at (i32.const 64)))"
             "(func $_ZN5quire5beginEi (export \"run\")) " +
             more + ")")
      .take();
}
constexpr const char* kExport = "(func (export \"quire_options\") (result i32) (global.get $at))";

FinishedModule finished(const std::string& wasm) {
  Result<FinishedModule> module = finish_module(wasm);
  if (!module.ok()) ADD_FAILURE() << module.error().message();
  return module.ok() ? std::move(module).take() : FinishedModule{};
}

std::optional<std::string_view> section(const FinishedModule& module, std::string_view name) {
  return find_custom(read_sections(module.wasm).value(), name);
}

TEST(FinishModule, WritesTheOptionsThatTheProgramReturnsAndReadableNames) {
  const std::string schema = R"({"properties":{"n":{"type":"integer"}}})";
  const FinishedModule module = finished(program(schema, kExport));
  EXPECT_EQ(module.options_failure, "");
  EXPECT_EQ(section(module, "quire.options"), schema);
  const std::string names(section(module, "name").value());
  EXPECT_NE(names.find("quire::begin"), std::string::npos) << names;
  EXPECT_EQ(names.find("_ZN"), std::string::npos) << names;
  EXPECT_EQ(finished(module.wasm).wasm, module.wasm) << "a second time changes nothing";
}

TEST(FinishModule, AProgramThatDeclaresNoOptionsHasNoSuchSection) {
  const FinishedModule without = finished(program("{}"));
  EXPECT_FALSE(section(without, "quire.options"));
  EXPECT_EQ(without.options_failure, "");
  const FinishedModule null =
      finished(program("{}", "(func (export \"quire_options\") (result i32) (i32.const 0))"));
  EXPECT_FALSE(section(null, "quire.options"));
  EXPECT_EQ(null.options_failure, "");
}

TEST(FinishModule, AnObjectThatIsNotLinkedStaysAsItIs) {
  const std::string object =
      write_module({{kCustomSection, "linking", "\2"}, {kCustomSection, "name", "not names"}});
  EXPECT_EQ(finished(object).wasm, object);
}

TEST(FinishModule, WhatKeepsTheOptionsFromItIsSaidAndTheModuleStays) {
  const std::pair<std::string, const char*> cases[] = {
      {"(func (export \"quire_options\") (result i32) unreachable)", "unreachable"},
      {"(func (export \"quire_options\") (result i32) (call $log) (i32.const 64))", "host"},
      {"(func (export \"quire_options\") (result i32) (loop (br 0)) (i32.const 64))", "fuel"},
      {"(func (export \"quire_options\") (result i32) (i32.const -1))", "4294967295"},
      {"(func (export \"quire_options\") (param i32) (result i32) (i32.const 64))", "() -> (i32)"},
      {"(func (export \"quire_options\") (result i32) (drop (memory.grow (i32.const 9000)))"
       "(i32.store (i32.const 70000) (i32.const 1)) (i32.const 64))",
       "out of bounds"},
      {"(func (export \"quire_options\") (result i32) (memory.fill (i32.const 64) (i32.const 65)"
       "(i32.const 60000)) (i32.const 64))",
       "quire.options"},
  };
  for (const auto& [code, why] : cases) {
    const FinishedModule module = finished(program("{}", code));
    EXPECT_NE(module.options_failure.find(why), std::string::npos) << module.options_failure;
    EXPECT_FALSE(section(module, "quire.options"));
    EXPECT_TRUE(section(module, "name"));
  }
  const FinishedModule wrong = finished(program("[1]", kExport));
  EXPECT_EQ(wrong.options_failure, "the declared options are not an object with \"properties\"");
}

TEST(FinishModule, AFileIsReplacedAsAWholeOrStays) {
  const std::string path = testing::TempDir() + "finish_module_test.wasm";
  std::ofstream(path, std::ios::binary) << program(R"({"properties":{}})", kExport);
  EXPECT_EQ(finish_module_file(path, path).value(), "");
  std::ifstream file(path, std::ios::binary);
  const std::string wasm(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(declared_options_of(wasm).value());
  for (const auto& each : std::filesystem::directory_iterator(testing::TempDir())) {
    EXPECT_FALSE(each.path().string().starts_with(path + ".")) << each.path();
  }
  std::ofstream(path, std::ios::binary) << "not a module";
  EXPECT_EQ(finish_module_file(path, path).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(std::filesystem::file_size(path), 12u);
  std::filesystem::remove(path);
  EXPECT_EQ(finish_module_file(path, path).error().code(), ErrorCode::NotFound);
}

TEST(FinishModule, AReaderSeesAWholeModuleWhileSeveralWriteIt) {
  const std::string folder = testing::TempDir() + "finish_module_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const std::string made = folder + "/made.wasm";
  const std::string output = folder + "/output.wasm";
  std::ofstream(made, std::ios::binary) << program(R"({"properties":{}})", kExport);
  ASSERT_TRUE(finish_module_file(made, output).ok());
  std::atomic<bool> is_done = false;
  std::vector<std::thread> writers(3);
  for (std::thread& each : writers) {
    each = std::thread([&] {
      while (!is_done) EXPECT_TRUE(finish_module_file(made, output).ok());
    });
  }
  for (int i = 0; i < 300; ++i) {
    std::ifstream file(output, std::ios::binary);
    const std::string wasm(std::istreambuf_iterator<char>(file), {});
    const auto options = declared_options_of(wasm);
    EXPECT_TRUE(options.ok() && options.value()) << wasm.size() << " bytes";
  }
  is_done = true;
  for (std::thread& each : writers) each.join();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quire::modules
