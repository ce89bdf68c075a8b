#include "main/modules/module_sections.h"

#include <gtest/gtest.h>

namespace quire::modules {
namespace {

const std::string kHeader("\0asm\1\0\0\0", 8);

TEST(ModuleSections, AModuleThatIsTakenApartAndPutTogetherIsTheSame) {
  const std::string wasm = kHeader + std::string("\x01\x04\x01\x60\x00\x00", 6) +
                           std::string("\x00\x05\x02hi\x07\x08", 7) + std::string("\x0a\x00", 2);
  const std::vector<ModuleSection> sections = read_sections(wasm).take();
  ASSERT_EQ(sections.size(), 3u);
  EXPECT_EQ(sections[0].id, 1);
  EXPECT_EQ(sections[1].name, "hi");
  EXPECT_EQ(sections[1].content, "\x07\x08");
  EXPECT_EQ(sections[2].content, "");
  EXPECT_EQ(write_module(sections), wasm);
  EXPECT_EQ(find_custom(sections, "hi"), "\x07\x08");
  EXPECT_FALSE(find_custom(sections, "ho"));
}

TEST(ModuleSections, OfTwoCustomSectionsOfOneNameTheLastCounts) {
  const std::string wasm =
      write_module({{kCustomSection, "a", "first"}, {kCustomSection, "a", std::string_view("")}});
  EXPECT_EQ(find_custom(read_sections(wasm).value(), "a"), "");
}

TEST(ModuleSections, ASectionOfManyBytesKeepsThem) {
  const std::string content(300'000, 'x');
  const std::string wasm = write_module({{kCustomSection, "big", content}});
  EXPECT_EQ(find_custom(read_sections(wasm).value(), "big"), content);
}

TEST(ModuleSections, SaysWhatIsWrongAtWhichByte) {
  const auto message = [](const std::string& wasm) {
    return std::string(read_sections(wasm).error().message());
  };
  EXPECT_EQ(message("no"), "not a core Wasm module of version 1: its first 8 bytes are other ones");
  EXPECT_EQ(message(kHeader + "\x01"), "not a valid Wasm module: cut short at byte 9");
  EXPECT_EQ(message(kHeader + "\x01\x05hi"), "not a valid Wasm module: cut short at byte 10");
  EXPECT_EQ(message(kHeader + std::string("\x00\x02\x04hi", 5)),
            "not a valid Wasm module: a name cut short at byte 11");
  EXPECT_EQ(message(kHeader + "\x01\xff\xff\xff\xff\xff\xff"),
            "not a valid Wasm module: a number too large at byte 14");
}

}  // namespace
}  // namespace quire::modules
