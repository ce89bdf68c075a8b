#include "control/objects/operation.h"

#include <gtest/gtest.h>

namespace quire::control {
namespace {

TEST(Operation, KeepsTheMemoryOfItsListsAndNothingElseWhenItIsRecycled) {
  Operation operation;
  PageObject page;
  EmbedObject embed;
  operation.generation = 7;
  operation.age = 3;
  operation.error = Error(ErrorCode::Io, "lost");
  operation.body = ContextForward{};
  operation.type = static_cast<std::uint8_t>(operation.body.index());
  operation.read = std::make_unique<ReadProgress>();
  operation.waiting.computed_row_count = 5;
  operation.input_pages.assign(100, &page);
  operation.output_pages.assign(10, &page);
  operation.input_embeds.assign(100, &embed);
  operation.output_embeds.assign(2, &embed);
  operation.requeries.resize(100);
  operation.output_tokens.resize(100);
  operation.successors.resize(100);
  const void* pages = operation.input_pages.data();
  const void* embeds = operation.input_embeds.data();
  operation.recycle();
  EXPECT_EQ(operation.generation, 7u);
  EXPECT_EQ(operation.age, 0u);
  EXPECT_FALSE(operation.error);
  EXPECT_EQ(operation.body.index(), CommandBody{}.index());
  EXPECT_EQ(operation.type, 0u);
  EXPECT_EQ(operation.read, nullptr);
  EXPECT_EQ(operation.waiting.computed_row_count, 0u);
  EXPECT_TRUE(operation.input_pages.empty() && operation.output_pages.empty());
  EXPECT_TRUE(operation.input_embeds.empty() && operation.output_embeds.empty());
  EXPECT_TRUE(operation.requeries.empty() && operation.output_tokens.empty());
  EXPECT_TRUE(operation.successors.empty());
  EXPECT_EQ(operation.input_pages.data(), pages);
  EXPECT_EQ(operation.input_embeds.data(), embeds);
  EXPECT_GE(operation.requeries.capacity(), 100u);
  EXPECT_GE(operation.output_tokens.capacity(), 100u);
  EXPECT_GE(operation.successors.capacity(), 100u);
}

}  // namespace
}  // namespace quire::control
