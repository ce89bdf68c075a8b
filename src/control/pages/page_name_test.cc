#include "control/pages/page_name.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace quire::control {
namespace {

struct Inputs {
  PageNameSpace space{.format_version = 1,
                      .model = {1},
                      .numerics_id = "scalar 1",
                      .kv_format = inference::KvFormat::F16,
                      .rope = "10000",
                      .page_size = 4,
                      .adapter = {},
                      .adapter_scale = 0.0f,
                      .sharing_domain = {2}};
  PageName parent{3};
  std::vector<TokenId> tokens{TokenId{1}, TokenId{2}, TokenId{3}, TokenId{4}};
  std::vector<std::uint32_t> positions{0, 1, 2, 3};
  std::vector<std::uint8_t> mask;
  std::vector<std::uint8_t> media;
  std::vector<AdapterRun> adapters;

  PageName name() const {
    return PageNamer(space).page(parent, {.tokens = tokens,
                                          .positions = positions,
                                          .mask = mask,
                                          .media = media,
                                          .adapters = adapters});
  }
};

// Snapshots name pages on disk: a change here is a change of the format.
TEST(PageName, IsWhatItAlwaysWas) {
  Inputs inputs;
  EXPECT_EQ(hex(inputs.name()), "75f0988060eeab29f006e9a37c7d165f64b89c106dd301a7a6717f34dac3292f");
  inputs.positions.back() = 4;
  inputs.mask = inputs.media = {1, 2};
  EXPECT_EQ(hex(inputs.name()), "67d1f5542662d964027cea102e9358c087cc13403705d585824a982fa87af0c1");
}

// I9: whatever the bits of a page depend on changes its name.
TEST(PageName, EachInputChangesIt) {
  const std::vector<std::function<void(Inputs&)>> mutations{
      [](Inputs& in) { in.space.format_version = 2; },
      [](Inputs& in) { in.space.model[31] ^= 1; },
      [](Inputs& in) { in.space.numerics_id = "avx2 1"; },
      [](Inputs& in) { in.space.kv_format = inference::KvFormat::BF16; },
      [](Inputs& in) { in.space.rope = "500000"; },
      [](Inputs& in) { in.space.page_size = 8; },
      [](Inputs& in) { in.space.adapter[0] = 1; },
      [](Inputs& in) { in.space.adapter_scale = 1.0f; },
      [](Inputs& in) { in.space.sharing_domain[0] ^= 1; },
      [](Inputs& in) { in.parent[0] ^= 1; },
      [](Inputs& in) { in.tokens[3] = TokenId{5}; },
      [](Inputs& in) { std::swap(in.tokens[0], in.tokens[1]); },
      [](Inputs& in) { in.positions[3] = 4; },
      [](Inputs& in) { in.mask = {1}; },
      [](Inputs& in) { in.media = {1}; },
      [](Inputs& in) { in.mask = {1}, in.media = {2}; },
      [](Inputs& in) { in.positions = {1, 2, 3, 4}; },
      [](Inputs& in) { in.adapters = {{0, {{{1}, 1.0f}}}}; },
      [](Inputs& in) { in.adapters = {{1, {{{1}, 1.0f}}}}; },
      [](Inputs& in) { in.adapters = {{0, {{{2}, 1.0f}}}}; },
      [](Inputs& in) { in.adapters = {{0, {{{1}, 0.5f}}}}; },
      [](Inputs& in) { in.adapters = {{0, {{{1}, 1.0f}, {{2}, 1.0f}}}}; },
      [](Inputs& in) { in.adapters = {{0, {{{1}, 1.0f}}}, {2, {}}}; },
      // The same bytes, parted otherwise: lengths are part of the encoding.
      [](Inputs& in) { in.space.numerics_id = "scalar 11", in.space.rope = "0000"; },
      [](Inputs& in) { in.tokens.pop_back(); },
  };
  std::set<PageName> names{Inputs{}.name()};
  EXPECT_EQ(Inputs{}.name(), *names.begin());
  for (std::size_t index = 0; index < mutations.size(); ++index) {
    Inputs inputs;
    mutations[index](inputs);
    EXPECT_TRUE(names.insert(inputs.name()).second) << "mutation " << index;
  }
  EXPECT_TRUE(names.insert(PageNamer(Inputs{}.space).root()).second);
}

}  // namespace
}  // namespace quire::control
