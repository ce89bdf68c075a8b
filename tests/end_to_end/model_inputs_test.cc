// Model files and JSON as they are found in the world: in shards, under any name, and hostile.
#include <filesystem>

#include "end_to_end/support.h"
#include "support/tiny_gguf.h"

namespace quire::test {
namespace {

std::string bytes_of(const std::string& path) {
  return read_file(path, std::uint64_t{64} << 20).value();
}

std::string logits_of(const TemporaryFolder& folder, const std::string& model) {
  const std::string ids = folder.write("ids.json", "[1, 2, 3, 500, 7]");
  const std::string logits = folder.file("logits.npy");
  output_json(run_quire({"eval", "--model", model, "--ids", ids, "--logits", logits, "--kv-format",
                         "f32", "--json"}));
  return bytes_of(logits);
}

TEST(EndToEndShards, GiveTheLogitsOfTheWholeModel) {
  TemporaryFolder folder;
  const std::string whole = folder.write("whole.gguf", tiny_gguf("tiny_llama"));
  // The head, output.weight, lies in another shard than the embedding.
  const std::string first = write_tiny_shards(folder.file("."), "parts", "tiny_llama", {20, 10});
  EXPECT_EQ(logits_of(folder, first), logits_of(folder, whole));
  const nlohmann::json shown = output_json(run_quire({"model", "show", first, "--json"}));
  const nlohmann::json of_whole = output_json(run_quire({"model", "show", whole, "--json"}));
  EXPECT_EQ(shown["parameters"], of_whole["parameters"]);
  EXPECT_EQ(shown["path"], first);
}

TEST(EndToEndShards, AreAddedListedVerifiedAndRemovedAsOneModel) {
  TemporaryFolder folder;
  const ProcessOptions options{.environment = {{"QUIRE_DATA", folder.file("data")}}};
  const std::string first = write_tiny_shards(folder.file("."), "Parts", "tiny_qwen2", {4, 4});
  const nlohmann::json added = output_json(run_quire({"model", "add", first, "--json"}, options));
  EXPECT_EQ(added["name"], "parts");
  const nlohmann::json list = output_json(run_quire({"model", "list", "--json"}, options));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0], added);
  EXPECT_EQ(run_quire({"model", "verify", "parts"}, options).exit_code, 0);
  EXPECT_EQ(run_quire({"model", "show", "parts"}, options).exit_code, 0);
  EXPECT_EQ(run_quire({"model", "remove", "parts"}, options).exit_code, 0);
  EXPECT_TRUE(output_json(run_quire({"model", "list", "--json"}, options)).empty());
}

TEST(EndToEndShards, OneAloneIsRefusedAndTheMissingOneNamed) {
  TemporaryFolder folder;
  const std::string first = write_tiny_shards(folder.file("."), "parts", "tiny_llama", {20});
  std::filesystem::remove(folder.file("parts-00002-of-00002.gguf"));
  const ProcessResult result = run_quire({"generate", "--model", first, "--prompt", "a"});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_NE(result.err.find("shard 2 of 2 is missing"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("parts-00002-of-00002.gguf"), std::string::npos) << result.err;
}

TEST(EndToEndModelFiles, AFolderOfGgufFilesAndAnEmptyFileAreNamedForWhatTheyAre) {
  TemporaryFolder folder;
  folder.write("a.gguf", "x");
  folder.write("b.gguf", "x");
  const ProcessResult many = run_quire({"generate", "--model", folder.file("."), "--prompt", "a"});
  EXPECT_EQ(many.exit_code, 3);
  EXPECT_NE(many.err.find("without config.json"), std::string::npos) << many.err;
  EXPECT_NE(many.err.find("it holds 2 GGUF models: name one"), std::string::npos) << many.err;
  const ProcessResult empty =
      run_quire({"generate", "--model", folder.write("zero.gguf", ""), "--prompt", "a"});
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_NE(empty.err.find("zero.gguf\": it is empty"), std::string::npos) << empty.err;
}

// The file's name and the model's own name, with bytes that are not UTF-8.
TEST(EndToEndModelFiles, NamesThatAreNotUtf8AreShownAsJson) {
  TemporaryFolder folder;
  const ProcessOptions options{.environment = {{"QUIRE_DATA", folder.file("d\xff")}}};
  std::string file = tiny_gguf("tiny_qwen2");
  file[file.find("tiny_qwen2")] = '\xff';  // general.name
  const std::string path = folder.write("n\xff\xc3m.gguf", file);
  const std::string replaced = "\xef\xbf\xbd";
  const nlohmann::json shown = output_json(run_quire({"model", "show", path, "--json"}, options));
  EXPECT_EQ(shown["name"], replaced + "iny_qwen2");
  EXPECT_NE(shown["path"].get<std::string>().find("n" + replaced + replaced + "m.gguf"),
            std::string::npos);
  const std::vector<std::string> run = {"run",        inferlet("text_completion"),
                                        "--model",    path,
                                        "--no-store", "--json",
                                        "--",         "--prompt",
                                        "a",          "--max-tokens",
                                        "1"};
  EXPECT_EQ(run_quire(run, options).exit_code, 0) << run_quire(run, options).err;
  EXPECT_EQ(run_quire({"generate", "--model", path, "--prompt", "a", "-n", "1", "--json"}, options)
                .exit_code,
            0);
  EXPECT_EQ(run_quire({"tokenize", "--model", path, "--json", "a"}, options).exit_code, 0);
  const nlohmann::json added =
      output_json(run_quire({"model", "add", path, "--name", "n", "--json"}, options));
  EXPECT_EQ(output_json(run_quire({"model", "list", "--json"}, options))[0], added);
  const nlohmann::json doctor =
      nlohmann::json::parse(run_quire({"doctor", "--json"}, options).out, nullptr, false);
  EXPECT_TRUE(doctor.is_object());
}

struct JsonInput {
  std::string what;
  std::vector<std::string> arguments;
  std::string standard_input = {};
  const char* program = "quire";
};

// Every way in which a verb reads JSON, with `json` there.
std::vector<JsonInput> json_inputs(const TemporaryFolder& folder, const std::string& json) {
  const std::string file = folder.write("input.json", json);
  const std::string each = folder.write("each.jsonl", json + "\n");
  const std::string trace =
      folder.write("trace.jsonl", "{\"timestamp\": 1, \"hash_ids\": " + json + "}\n");
  const std::string request = "{\"messages\": [], \"tools\": " + json + "}";
  std::filesystem::create_directories(folder.file("model"));
  folder.write("model/config.json", json);
  return {
      {"template, standard input", {"template", "--model", kTiny}, request},
      {"template, a file", {"template", "--model", kTiny, file}},
      {"detokenize", {"detokenize", "--model", kTiny}, json},
      {"eval --ids", {"eval", "--model", kTiny, "--ids", file}},
      {"run --each",
       {"run", inferlet("text_completion"), "--model", kTiny, "--no-store", "--each", each}},
      {"kv why", {"kv", "why", file}},
      {"kv tree", {"kv", "tree", file}},
      {"pages --trace", {"pages", "--trace", trace, "--capacity", "10"}, {}, "quire-bench"},
      {"config.json", {"model", "show", folder.file("model")}},
  };
}

void expect_refused(const JsonInput& input, const std::string& says) {
  const ProcessResult result =
      run_quire(input.arguments, {.input = input.standard_input}, input.program);
  EXPECT_EQ(result.exit_code, 1) << input.what << "\n" << result.err;
  EXPECT_EQ(result.err.substr(0, 7), "error: ") << input.what << "\n" << result.err;
  EXPECT_NE(result.err.find(says), std::string::npos) << input.what << "\n" << result.err;
}

TEST(EndToEndJson, NestedTooDeepIsRefusedByEveryVerbThatReadsIt) {
  TemporaryFolder folder;
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  for (const JsonInput& input : json_inputs(folder, deep)) {
    expect_refused(input, "JSON nested deeper than 64");
  }
}

TEST(EndToEndJson, WithAKeyTwiceOrBrokenIsRefusedByEveryVerbThatReadsIt) {
  TemporaryFolder folder;
  for (const JsonInput& input : json_inputs(folder, R"({"a": 1, "a": 2})")) {
    expect_refused(input, "the JSON key \"a\" appears twice");
  }
  for (const JsonInput& input : json_inputs(folder, R"([1, 2)")) {
    expect_refused(input, "not valid JSON");
  }
}

TEST(EndToEndJson, IdsThatAreNotIdsAreNamed) {
  TemporaryFolder folder;
  for (const char* id :
       {"-1", "4294967296", "1e3", "1.5", "18446744073709551616", "\"1\"", "null", "[1]", "1024"}) {
    const std::string ids = "[1, " + std::string(id) + "]";
    const ProcessResult eval =
        run_quire({"eval", "--model", kTiny, "--ids", folder.write("ids.json", ids)});
    EXPECT_EQ(eval.exit_code, 1) << id;
    EXPECT_NE(eval.err.find("at index 1 is not a token id"), std::string::npos) << id << eval.err;
    const ProcessResult text = run_quire({"detokenize", "--model", kTiny}, {.input = ids});
    EXPECT_EQ(text.exit_code, 1) << id << text.out;
    EXPECT_EQ(text.out, "") << id;
    EXPECT_NE(text.err.find("token"), std::string::npos) << id << text.err;
  }
  for (const char* ids : {"-1", "4294967296", "1e3", "1.5"}) {
    EXPECT_EQ(run_quire({"detokenize", "--model", kTiny}, {.input = ids}).exit_code, 1) << ids;
  }
}

}  // namespace
}  // namespace quire::test
