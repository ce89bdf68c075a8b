#include "main/modules/runtime_image.h"

#include <gtest/gtest.h>

#include "main/modules/module_sections.h"
#include "support/wat.h"

namespace quire::modules {
namespace {

constexpr const char* kCounter = R"((module
  (memory (export "memory") 1)
  (table 1 funcref) (elem (i32.const 0) $read)
  (global $small (mut i32) (i32.const 0))
  (global $large (mut i64) (i64.const 0))
  (global $half (mut f32) (f32.const 0))
  (global $whole (mut f64) (f64.const 0))
  (global $constant i32 (i32.const 9))
  (data (i32.const 100) "begin")
  (func (export "_initialize") (global.set $small (i32.const -5)))
  (func (export "init")
    (global.set $large (i64.const -6000000000))
    (global.set $half (f32.const 0.5))
    (global.set $whole (f64.const -2.25))
    (drop (memory.grow (i32.const 1)))
    (i32.store (i32.const 70000) (i32.const 0x64636261)))
  (func $read (export "run") (result i32)
    (i32.add (global.get $small) (i32.load (i32.const 70000))))))";

std::string module_of(const std::string& text) {
  Result<std::string> wasm = quire::test::wasm_from_wat(text);
  EXPECT_TRUE(wasm.ok()) << wasm.error().message();
  return wasm.ok() ? std::move(wasm).take() : "";
}

std::string failure_of(const std::string& text) {
  const Result<std::string> started = started_module(module_of(text));
  return started.ok() ? "" : std::string(started.error().message());
}

std::string with(const std::string& item) {
  return "(module (memory (export \"memory\") 1) " + item + ")";
}

bool holds(const std::string& bytes, const std::string& part) {
  return bytes.find(part) != std::string::npos;
}

TEST(RuntimeImage, BeginsWithWhatInitLeftInMemoryAndGlobals) {
  const Result<std::string> started = started_module(module_of(kCounter));
  ASSERT_TRUE(started.ok()) << started.error().message();
  const std::string& wasm = started.value();
  EXPECT_TRUE(holds(wasm, "begin"));
  EXPECT_TRUE(holds(wasm, "abcd"));
  EXPECT_FALSE(holds(wasm, "_initialize"));
  EXPECT_FALSE(holds(wasm, "\4init"));
  EXPECT_TRUE(holds(wasm, "\3run"));
  // A second start adds nothing, except that the module has no init any more.
  const Result<std::string> again = started_module(wasm);
  ASSERT_FALSE(again.ok());
  EXPECT_TRUE(holds(std::string(again.error().message()), "no export init"));
  for (const ModuleSection& each : read_sections(wasm).value()) {
    constexpr std::uint8_t kGlobalSection = 6;
    if (each.id != kGlobalSection) continue;
    const std::string globals(each.content);
    EXPECT_EQ(globals, std::string("\x05\x7f\x01\x41\x7b\x0b"
                                   "\x7e\x01\x42\x80\x88\xfd\xd2\x69\x0b"
                                   "\x7d\x01\x43\x00\x00\x00\x3f\x0b"
                                   "\x7c\x01\x44\x00\x00\x00\x00\x00\x00\x02\xc0\x0b"
                                   "\x7f\x00\x41\x09\x0b",
                                   40));
  }
}

TEST(RuntimeImage, IsTheSameEachTime) {
  EXPECT_EQ(started_module(module_of(kCounter)).value(),
            started_module(module_of(kCounter)).value());
}

TEST(RuntimeImage, RefusesWhatItCouldNotKeep) {
  const std::string init = "(func (export \"init\")) ";
  EXPECT_TRUE(holds(failure_of("(module (import \"e\" \"m\" (memory 1)))"), "imports m, which"));
  EXPECT_TRUE(holds(failure_of("(module (import \"e\" \"g\" (global i32)) (memory 1))"),
                    "imports g, which"));
  EXPECT_TRUE(holds(failure_of("(module (func (export \"init\")))"), "has no memory"));
  EXPECT_TRUE(holds(failure_of(with(init + "(data \"passive\")")), "passive"));
  EXPECT_TRUE(holds(failure_of(with(init + "(func $s) (start $s)")), "a start function"));
  EXPECT_TRUE(holds(failure_of(with(init + "(global (mut funcref) (ref.null func))")),
                    "mutable global that is not a number"));
  EXPECT_TRUE(holds(failure_of(with("(table 1 funcref) (func (export \"init\") (table.set 0 "
                                    "(i32.const 0) (ref.null func)))")),
                    "could change a table"));
  EXPECT_TRUE(holds(failure_of(with("")), "no export init"));
}

TEST(RuntimeImage, RefusesAnInitThatCallsItsHostOrTraps) {
  const std::string calls = failure_of(
      "(module (import \"wasi\" \"clock\" (func $c)) (memory 1) (func (export \"init\") call $c))");
  EXPECT_TRUE(holds(calls, "the call of init")) << calls;
  EXPECT_TRUE(holds(calls, "clock")) << calls;
  EXPECT_TRUE(holds(failure_of(with("(func (export \"init\") unreachable)")), "unreachable"));
  EXPECT_NE(failure_of("(module (memory 2000) (func (export \"init\")))"), "");
}

TEST(RuntimeImage, RefusesBytesThatAreNotAModule) {
  const std::string module = module_of(kCounter);
  for (std::size_t bytes = 0; bytes + 60 < module.size(); bytes += 3) {
    EXPECT_FALSE(started_module(module.substr(0, bytes)).ok()) << bytes;
  }
}

}  // namespace
}  // namespace quire::modules
