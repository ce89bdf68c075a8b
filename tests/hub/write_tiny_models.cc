// Writes the tiny model as GGUF files for the tests of hubs, with a chat template so that it answers:
// FOLDER/tiny-F32.gguf, tiny-Q8_0.gguf and the shards tiny-shards-0000N-of-00003.gguf. The file
// tiny-IQ2_XXS.gguf has a tensor in a number format that is not read.
#include <cstdio>
#include <fstream>
#include <string>

#include "support/tiny_gguf.h"

namespace {

constexpr const char* kTemplate =
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

bool write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return file.flush().good();
}

std::string tiny_chat(quire::inference::NumberFormat format) {
  quire::test::GgufBuilder builder = quire::test::tiny_gguf_builder("tiny_qwen2", format);
  builder.add_text("tokenizer.chat_template", kTemplate);
  return builder.build();
}

std::string with_unread_format() {
  constexpr std::uint32_t kIq2Xxs = 16;  // GGML's id; 66 bytes hold 256 numbers.
  quire::test::GgufBuilder builder =
      quire::test::tiny_gguf_builder("tiny_qwen2", quire::inference::NumberFormat::F32);
  builder.add_tensor("further.weight", {256}, kIq2Xxs, std::string(66, '\0'));
  return builder.build();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_tiny_models FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  using quire::inference::NumberFormat;
  const bool written = write_file(folder + "/tiny-F32.gguf", tiny_chat(NumberFormat::F32)) &&
                       write_file(folder + "/tiny-Q8_0.gguf", tiny_chat(NumberFormat::Q8_0)) &&
                       write_file(folder + "/tiny-IQ2_XXS.gguf", with_unread_format());
  quire::test::write_tiny_shards(folder, "tiny-shards", "tiny_qwen2", {4, 4});
  return written ? 0 : 1;
}
