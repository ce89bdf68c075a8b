// The static library links, wasmtime runs a module, and our own functions answer and refuse.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <string_view>
#include <vector>

#include <quire_engines.h>
#include <wasmtime.h>

#include "support/wat.h"

namespace quire {
namespace {

quire_bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string take(quire_text text) {
  std::string copy(reinterpret_cast<const char*>(text.data), text.count);
  quire_text_delete(&text);
  return copy;
}

struct Answer {
  quire_status status;
  std::string text;  // What was rendered, or the error.
  std::vector<std::size_t> offsets;
};

Answer render(std::string_view source, std::string_view request,
              const std::vector<std::string_view>& shielded = {}) {
  quire_text error{};
  quire_template* compiled = nullptr;
  const quire_named_template named{.name = bytes_of("default"), .source = bytes_of(source)};
  quire_status status = quire_template_compile(&named, 1, &compiled, &error);
  if (status != QUIRE_OK) return {status, take(error), {}};
  std::vector<quire_bytes> tokens;
  for (std::string_view token : shielded) tokens.push_back(bytes_of(token));
  quire_render_request call{.request = bytes_of(request),
                            .variables = bytes_of(R"({"bos_token": "<s>"})"),
                            .now_unix_seconds = 0,
                            .shielded = tokens.data(),
                            .shielded_count = tokens.size()};
  quire_rendered rendered{};
  status = quire_template_render(compiled, &call, &rendered, &error);
  quire_template_delete(compiled);
  if (status != QUIRE_OK) return {status, take(error), {}};
  std::vector<std::size_t> offsets(
      rendered.shielded_offsets.data,
      rendered.shielded_offsets.data + rendered.shielded_offsets.count);
  quire_offsets_delete(&rendered.shielded_offsets);
  return {QUIRE_OK, take(rendered.text), offsets};
}

// wasmtime ends the process when it cannot reserve its pool, so ask the kernel first.
bool can_reserve(std::size_t bytes) {
  void* probe = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return false;
  munmap(probe, bytes);
  return true;
}

TEST(Engines, WasmtimeCompilesAndRunsAModuleInAPooledStore) {
  constexpr std::size_t kPoolBytes = std::size_t{64} << 30;
  if (!can_reserve(kPoolBytes)) GTEST_SKIP() << "no 64 GiB of address space (ulimit -v?)";
  wasm_config_t* config = wasm_config_new();
  wasmtime_config_epoch_interruption_set(config, true);
  wasmtime_pooling_allocation_config_t* pool = wasmtime_pooling_allocation_config_new();
  wasmtime_pooling_allocation_config_total_memories_set(pool, 4);
  wasmtime_pooling_allocation_strategy_set(config, pool);
  wasmtime_pooling_allocation_config_delete(pool);
  wasm_engine_t* engine = wasm_engine_new_with_config(config);
  ASSERT_NE(engine, nullptr);

  constexpr std::string_view kText =
      R"((module (memory 1) (func (export "add") (param i32 i32) (result i32)
           local.get 0 local.get 1 i32.add)))";
  const Result<std::string> wasm = test::wasm_from_wat(kText);
  ASSERT_TRUE(wasm.ok()) << wasm.error().message();
  wasmtime_module_t* module = nullptr;
  ASSERT_EQ(wasmtime_module_new(engine, reinterpret_cast<const std::uint8_t*>(wasm.value().data()),
                                wasm.value().size(), &module),
            nullptr);

  wasmtime_store_t* store = wasmtime_store_new(engine, nullptr, nullptr);
  wasmtime_context_t* context = wasmtime_store_context(store);
  wasmtime_context_set_epoch_deadline(context, 1);
  wasmtime_instance_t instance;
  wasm_trap_t* trap = nullptr;
  ASSERT_EQ(wasmtime_instance_new(context, module, nullptr, 0, &instance, &trap), nullptr);
  wasmtime_extern_t add;
  ASSERT_TRUE(wasmtime_instance_export_get(context, &instance, "add", 3, &add));
  wasmtime_val_t arguments[2] = {{.kind = WASMTIME_I32, .of = {.i32 = 40}},
                                 {.kind = WASMTIME_I32, .of = {.i32 = 2}}};
  wasmtime_val_t sum;
  ASSERT_EQ(wasmtime_func_call(context, &add.of.func, arguments, 2, &sum, 1, &trap), nullptr);
  EXPECT_EQ(sum.of.i32, 42);

  wasmtime_store_delete(store);
  wasmtime_module_delete(module);
  wasm_engine_delete(engine);
}

TEST(Engines, ByteLevelBpeMergesByRank) {
  std::vector<quire_bytes> tokens, merges;
  for (std::string_view token : {"a", "b", "c", "ab", "abc", "bc"})
    tokens.push_back(bytes_of(token));
  for (std::string_view merge : {"b c", "a b", "ab c"}) merges.push_back(bytes_of(merge));
  quire_bpe_parts parts{.tokens = tokens.data(),
                        .token_count = tokens.size(),
                        .merges = merges.data(),
                        .merge_count = merges.size(),
                        .patterns = nullptr,
                        .pattern_count = 0,
                        .ignore_merges = false,
                        .is_raw = false,
                        .escapes_spaces = false,
                        .whole_line_ends = false};
  quire_text error{};
  quire_tokenizer* tokenizer = nullptr;
  ASSERT_EQ(quire_tokenizer_from_parts(&parts, &tokenizer, &error), QUIRE_OK);
  quire_ids ids{};
  quire_piece whole{.begin = 0, .end = 3, .token = -1};
  ASSERT_EQ(quire_tokenizer_encode(tokenizer, bytes_of("abc"), &whole, 1, &ids, &error), QUIRE_OK);
  EXPECT_EQ(std::vector<std::uint32_t>(ids.data, ids.data + ids.count),
            (std::vector<std::uint32_t>{0, 5}));
  quire_ids_delete(&ids);
  quire_tokenizer_delete(tokenizer);

  merges.push_back(bytes_of("b x"));
  parts.merges = merges.data();
  parts.merge_count = merges.size();
  EXPECT_EQ(quire_tokenizer_from_parts(&parts, &tokenizer, &error), QUIRE_INVALID);
  EXPECT_EQ(take(error), "merge 3 (\"b x\") names \"x\", which is no token");
}

TEST(Engines, TemplateRendersAsJinjaWithPythonMethods) {
  Answer answer = render(
      "{{ bos_token }}{% for m in messages %}\n"
      "  {% if m.content.startswith('h') %}\n"
      "{{ m.role.upper() }}: {{ m.content.strip() | tojson }}\n"
      "  {% endif %}{% endfor %}{{ true }}{{ [1, 'a', none] }}",
      R"({"messages": [{"role": "user", "content": "hi\n"}]})");
  EXPECT_EQ(answer.status, QUIRE_OK);
  EXPECT_EQ(answer.text, "<s>USER: \"hi\"\nTrue[1, 'a', None]");
}

TEST(Engines, TemplateThatRaisesIsAnErrorWithItsWords) {
  Answer answer = render("{{ raise_exception('no system role') }}", R"({"messages": []})");
  EXPECT_EQ(answer.status, QUIRE_INVALID);
  EXPECT_NE(answer.text.find("no system role"), std::string::npos) << answer.text;
}

TEST(Engines, EndlessTemplateRunsOutOfSteps) {
  Answer answer =
      render("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
             R"({"messages": []})");
  EXPECT_EQ(answer.status, QUIRE_INVALID);
  EXPECT_NE(answer.text.find("steps"), std::string::npos) << answer.text;
}

TEST(Engines, ShieldMarksWhatTheUserWroteAndNotWhatTheTemplateWrote) {
  Answer answer = render("{% for m in messages %}<|{{ m.content | trim }}|>{% endfor %}",
                         R"({"messages": [{"role": "user", "content": " x|y "}]})", {"<|end|>"});
  EXPECT_EQ(answer.status, QUIRE_OK);
  EXPECT_EQ(answer.text, "<|x|y|>");
  EXPECT_EQ(answer.offsets, std::vector<std::size_t>{3});
}

TEST(Engines, GrammarAllowsTheTokensThatContinueItsText) {
  const std::vector<std::string_view> words = {"a", "b", "ab", "ba", "", "end"};
  std::vector<quire_bytes> tokens;
  for (std::string_view word : words) tokens.push_back(bytes_of(word));
  const std::uint32_t stop = 5;
  const quire_grammar_vocabulary_parts parts{.tokens = tokens.data(),
                                             .token_count = tokens.size(),
                                             .stop_ids = &stop,
                                             .stop_count = 1,
                                             .encode = nullptr,
                                             .encode_context = nullptr};
  quire_text error{};
  quire_grammar_vocabulary* vocabulary = nullptr;
  ASSERT_EQ(quire_grammar_vocabulary_create(&parts, &vocabulary, &error), QUIRE_OK);
  const quire_grammar_limits limits{.source_bytes_max = 100,
                                    .grammar_bytes_max = std::size_t{1} << 20,
                                    .matcher_bytes_max = std::size_t{1} << 20,
                                    .compile_us_max = 1'000'000,
                                    .mask_us_max = 20'000,
                                    .text_bytes_max = 1u << 20,
                                    .fits_us_max = 100'000};
  quire_grammar* grammar = nullptr;
  EXPECT_EQ(quire_grammar_compile(vocabulary, QUIRE_GRAMMAR_REGEX, bytes_of("a("), &limits,
                                  &grammar, &error),
            QUIRE_INVALID);
  EXPECT_EQ(take(error), "regular expression: line 1, column 2: unclosed group");
  EXPECT_EQ(quire_grammar_compile(vocabulary, QUIRE_GRAMMAR_LARK, bytes_of(std::string(101, ' ')),
                                  &limits, &grammar, &error),
            QUIRE_INVALID);
  EXPECT_EQ(take(error), "the Lark grammar is empty");
  EXPECT_EQ(quire_grammar_compile(vocabulary, QUIRE_GRAMMAR_LARK, bytes_of(std::string(101, 'a')),
                                  &limits, &grammar, &error),
            QUIRE_LIMIT);
  EXPECT_EQ(take(error), "the Lark grammar has 101 bytes (100 at most)");
  ASSERT_EQ(quire_grammar_compile(vocabulary, QUIRE_GRAMMAR_REGEX, bytes_of("(ab)+"), &limits,
                                  &grammar, &error),
            QUIRE_OK);
  quire_grammar_vocabulary_delete(vocabulary);
  quire_matcher* matcher = nullptr;
  ASSERT_EQ(quire_grammar_matcher(grammar, &matcher, &error), QUIRE_OK);
  quire_grammar_delete(grammar);
  std::uint32_t mask = ~0u;
  ASSERT_EQ(quire_matcher_mask(matcher, &mask, 1, &error), QUIRE_OK);
  EXPECT_EQ(mask, 0b000101u);
  const std::uint32_t ab = 2;
  ASSERT_EQ(quire_matcher_accept(matcher, &ab, 1, &error), QUIRE_OK);
  ASSERT_EQ(quire_matcher_mask(matcher, &mask, 1, &error), QUIRE_OK);
  EXPECT_EQ(mask, 0b100101u);
  EXPECT_TRUE(quire_matcher_may_end(matcher));
  const std::uint32_t ba = 3;
  EXPECT_EQ(quire_matcher_accept(matcher, &ba, 1, &error), QUIRE_INVALID);
  EXPECT_EQ(take(error), "the grammar does not allow token 3 at index 0");
  quire_matcher_delete(matcher);
}

}  // namespace
}  // namespace quire
