#include "control/contexts/tail_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/seeds.h"

namespace quire::control {
namespace {

using inference::TokenId;

// Operations on tokens beside plain lists of them.
class TokenProgram {
 public:
  explicit TokenProgram(std::uint64_t seed) : random_(seed) {}

  void step() {
    switch (random_() % 10) {
      case 0:
      case 1:
        append();
        break;
      case 2:
      case 3:
        fly();
        break;
      case 4:
        commit();
        break;
      case 5:
        find();
        break;
      case 6:
        truncate();
        break;
      case 7:
        cut_queue();
        break;
      case 8:
        suspend();
        break;
      default:
        fork();
    }
    check();
  }

 private:
  std::uint32_t up_to(std::size_t count) {
    return static_cast<std::uint32_t>(random_() % (count + 1));
  }
  void take(std::vector<TokenId>& from, std::size_t count, std::vector<TokenId>& to) {
    to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
    from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void append() {
    std::vector<std::uint32_t> more(up_to(200));
    for (std::uint32_t& token : more) token = next_++;
    const std::size_t room = random_() % 4 == 0 ? up_to(more.size()) : more.size();
    tokens_.append(more, room);
    const std::size_t kept = overflow_ > 0 ? 0 : room;
    for (std::size_t index = 0; index < kept; ++index) queued_.push_back(TokenId{more[index]});
    overflow_ += more.size() - kept;
  }
  void fly() {
    const std::uint32_t count = up_to(queued_.size());
    std::vector<TokenId> drafts(count == queued_.size() ? up_to(4) : 0);
    for (TokenId& token : drafts) token = TokenId{next_++};
    const std::uint32_t rejected = up_to(drafts.size());
    const bool is_written = drafts.size() > 0 || random_() % 4 > 0;
    tokens_.begin_flight(count, drafts);
    tokens_.verify();
    EXPECT_EQ(tokens_.flight_count(), count + drafts.size());
    tokens_.end_flight(is_written, rejected);
    if (!is_written) return;
    lost_ -= std::min<std::uint32_t>(lost_,
                                     count + static_cast<std::uint32_t>(drafts.size()) - rejected);
    take(queued_, count, written_);
    drafts.resize(drafts.size() - rejected);
    take(drafts, drafts.size(), written_);
  }
  void commit() {
    const std::uint32_t count = up_to(written_.size());
    tokens_.commit(count);
    written_.erase(written_.begin(), written_.begin() + count);
  }
  void find() {
    const std::uint32_t found = up_to(queued_.size());
    EXPECT_EQ(tokens_.find(static_cast<std::uint32_t>(written_.size()) + found), found);
    written_.clear();
    queued_.erase(queued_.begin(), queued_.begin() + found);
    lost_ -= std::min(lost_, found);
  }
  void truncate() {
    const std::uint32_t count = up_to(overflow_ + queued_.size() + written_.size());
    const auto overflow = static_cast<std::uint32_t>(std::min<std::uint64_t>(overflow_, count));
    overflow_ -= overflow;
    const auto queued = std::min<std::size_t>(queued_.size(), count - overflow);
    queued_.resize(queued_.size() - queued);
    lost_ = std::min<std::uint32_t>(lost_, static_cast<std::uint32_t>(queued_.size()));
    const std::uint32_t left = tokens_.truncate(count);
    EXPECT_EQ(left, count - overflow - queued);
    if (left == 0) return;
    written_.resize(written_.size() - left);
    tokens_.cut_written(static_cast<std::uint32_t>(written_.size()));
  }
  void cut_queue() {
    if (random_() % 4 == 0) {
      tokens_.clear_queue();
      queued_.clear();
      lost_ = 0;
      overflow_ = 0;
      return;
    }
    const std::uint32_t kept = up_to(queued_.size());
    queued_.resize(kept);
    lost_ = std::min(lost_, kept);
    overflow_ = 0;
    tokens_.cut_queue(written_.size() + kept, 0, lost_);
  }
  // Committed pages go too.
  void suspend() {
    tokens_.lose_written();
    lost_ += static_cast<std::uint32_t>(written_.size());
    queued_.insert(queued_.begin(), written_.begin(), written_.end());
    written_.clear();
    tokens_.verify();
    if (random_() % 2 == 0) {
      const std::uint32_t count = up_to(lost_);
      tokens_.regain(count);
      take(queued_, count, written_);
      lost_ -= count;
      return;
    }
    std::vector<TokenId> more(up_to(100));
    for (TokenId& token : more) token = TokenId{next_++};
    tokens_.put_back(more);
    queued_.insert(queued_.begin(), more.begin(), more.end());
    lost_ += static_cast<std::uint32_t>(more.size());
  }
  void fork() {
    TailTokens child;
    child.append(std::vector<std::uint32_t>(up_to(3), 1), 3);
    child.fork_from(tokens_);
    tokens_ = std::move(child);
    if (random_() % 4 > 0) return;
    const std::uint32_t count = up_to(written_.size());
    written_.resize(count);
    const std::vector<TokenId> left = written_;
    tokens_.restart(left);
    queued_.clear();
    lost_ = 0;
    overflow_ = 0;
  }
  void check() const {
    tokens_.verify();
    EXPECT_TRUE(std::ranges::equal(tokens_.written(), written_));
    EXPECT_TRUE(std::ranges::equal(tokens_.unwritten(), queued_));
    EXPECT_EQ(tokens_.count(), written_.size() + queued_.size());
    EXPECT_EQ(tokens_.queued_count(), queued_.size());
    EXPECT_EQ(tokens_.lost_count(), lost_);
    EXPECT_EQ(tokens_.own_count(), queued_.size() - lost_);
    EXPECT_EQ(tokens_.overflow_count(), overflow_);
  }

  std::mt19937_64 random_;
  TailTokens tokens_;
  std::vector<TokenId> written_;
  std::vector<TokenId> queued_;
  std::uint32_t lost_ = 0;
  std::uint64_t overflow_ = 0;
  std::uint32_t next_ = 0;
};

TEST(TailTokens, AreWhatPlainListsOfThemAre) {
  for (const std::uint64_t seed : campaign_seeds(40)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TokenProgram program(seed);
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) program.step();
  }
}

TEST(TailTokensDeathTest, NoMoreFlyThanAreQueued) {
  TailTokens tokens;
  EXPECT_DEATH(tokens.begin_flight(1, {}), "X4");
}

}  // namespace
}  // namespace quire::control
