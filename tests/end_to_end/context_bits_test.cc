// Contexts that are forked, rewound, cut, saved, opened and suspended at random give the logits of
// a plain recomputation, bit for bit. That computes every token at once on a device of its own,
// without cache, scheduler or store. Dropped tokens are masked.
#include <cstring>
#include <random>

#include "base/seeds.h"
#include "end_to_end/saved_contexts.h"
#include "end_to_end/support.h"
#include "support/backend_driver.h"

namespace quire::test {
namespace {

constexpr std::uint32_t kPageSize = 8;
constexpr std::uint32_t kTokenCountMax = 64;
constexpr std::uint32_t kPagesEach = kTokenCountMax / kPageSize;
constexpr std::uint32_t kContextCountMax = 6;
// Half of what all contexts need: those that wait must give way to those that go on. Where slots
// were dropped a context may be unable to, so that no more than two are cut.
constexpr std::uint32_t kPageCount = 3 * kPagesEach;
constexpr std::uint32_t kCutCountMax = 2;
constexpr int kStepCount = 60;

struct Content {
  struct Drop {
    std::uint32_t written = 0;  // Slots [begin, end) were dropped after so many tokens.
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  std::vector<std::uint32_t> tokens;
  std::vector<Drop> drops;

  void cut(std::uint32_t length) {
    tokens.resize(length);
    for (Drop& drop : drops) {
      drop.written = std::min(drop.written, length);
      drop.end = std::min(drop.end, length);
    }
    std::erase_if(drops, [](const Drop& drop) { return drop.begin >= drop.end; });
  }
};

class PlainDevice {
 public:
  explicit PlainDevice(const std::string& model) {
    inference::DeviceOptions options;
    options.page_size = kPageSize;
    options.page_count = kPagesEach;
    device_ = Device::open(model, options);
  }
  bool ok() const { return device_ != nullptr; }
  std::uint32_t vocabulary() const { return device_->backend->model().vocabulary_size; }

  std::vector<float> logits_after(const Content& content) {
    const std::vector<std::int32_t> ids(content.tokens.begin(), content.tokens.end());
    const auto count = static_cast<std::uint32_t>(ids.size());
    Sequence sequence{.page_size = kPageSize};
    std::uint32_t done = 0;
    const auto compute = [&](std::uint32_t end, Span wanted) {
      inference::Batch batch;
      add_pass(batch, sequence, ids, {std::exchange(done, end), end}, wanted);
      return device_->run(std::move(batch));
    };
    for (const Content::Drop& drop : content.drops) {
      // The last token is computed last, so that its row is the one asked for.
      const std::uint32_t end = std::min(drop.written, count);
      if (end == count) break;  // Seen by no token yet.
      if (end > done) compute(end, {});
      sequence.masked.push_back({drop.begin, drop.end});
    }
    inference::Completion completion = compute(count, {count - 1, count});
    return logits_of(completion, 0);
  }

 private:
  std::unique_ptr<Device> device_;
};

class Program {
 public:
  Program(const std::string& model, PlainDevice& plain, std::uint64_t seed)
      : plain_(plain),
        random_(seed),
        engine_(model, folder_.file("store"), kPageCount, kPageSize) {}

  void run() {
    ASSERT_TRUE(engine_.ok());
    for (int step = 0; step < kStepCount && !testing::Test::HasFailure(); ++step) act();
  }
  std::uint64_t compared_count() const { return compared_count_; }
  std::uint64_t suspension_count() {
    return engine_.machine().control().statistics().suspension_count;
  }
  std::uint64_t opened_count() const { return opened_count_; }

 private:
  struct Known {
    std::unique_ptr<HostContext> context;
    Content content;  // All of it computed.
    std::uint32_t length() const { return static_cast<std::uint32_t>(content.tokens.size()); }
  };

  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  std::uint32_t cut_count() const {
    return static_cast<std::uint32_t>(
        std::count_if(contexts_.begin(), contexts_.end(),
                      [](const Known& each) { return !each.content.drops.empty(); }));
  }

  void act() {
    if (contexts_.size() < 2 || (contexts_.size() < kContextCountMax && below(8) == 0)) {
      contexts_.push_back({std::make_unique<HostContext>(engine_.loop()), {}});
      contexts_.back().context->create();
    }
    const std::uint32_t index = below(static_cast<std::uint32_t>(contexts_.size()));
    Known& known = contexts_[index];
    const std::uint32_t choice = below(100);
    if (known.length() == 0 || choice < 50) {
      go_on(known);
    } else if (choice < 58) {
      fork(known);
    } else if (choice < 67) {
      rewind(known);
    } else if (choice < 75) {
      drop_range(known);
    } else if (choice < 84) {
      save(known);
    } else if (choice < 95) {
      open();
    } else {
      contexts_.erase(contexts_.begin() + index);
    }
  }

  void go_on(Known& known) {
    const std::uint32_t room = kTokenCountMax - known.length();
    if (room == 0) return rewind(known);
    const std::uint32_t count = 1 + below(std::min(room, std::uint32_t{20}));
    std::vector<std::uint32_t> tokens;
    // Few beginnings, so that pages are found.
    for (std::uint32_t each = 0; each < count; ++each) {
      tokens.push_back(5 + (below(6) == 0 ? below(plain_.vocabulary() - 5) : each % 2));
    }
    known.context->append(tokens);
    known.content.tokens.insert(known.content.tokens.end(), tokens.begin(), tokens.end());
    const Result<std::vector<float>> logits = known.context->logits();
    ASSERT_TRUE(logits.ok()) << logits.error().message();
    const std::vector<float> wanted = plain_.logits_after(known.content);
    ASSERT_EQ(logits.value().size(), wanted.size());
    ASSERT_EQ(std::memcmp(logits.value().data(), wanted.data(), wanted.size() * sizeof(float)), 0)
        << "behind " << known.length() << " tokens, cut " << known.content.drops.size() << " times";
    ++compared_count_;
  }

  void fork(const Known& known) {
    if (contexts_.size() >= kContextCountMax) return;
    if (!known.content.drops.empty() && cut_count() >= kCutCountMax) return;
    Known child{known.context->fork(), known.content};
    contexts_.push_back(std::move(child));
  }

  void rewind(Known& known) {
    const std::uint32_t length = below(known.length() + 1);
    const auto rewound = known.context->rewind(length);
    ASSERT_TRUE(rewound.ok()) << rewound.error().message();
    EXPECT_EQ(rewound.value().seq_len, length);
    known.content.cut(length);
  }

  void drop_range(Known& known) {
    if (known.content.drops.empty() && cut_count() >= kCutCountMax) return;
    const std::uint32_t begin = below(known.length());
    const std::uint32_t end = begin + 1 + below(known.length() - begin);
    if (begin == 0 && end == known.length()) return;  // Something must be left to see.
    const auto dropped = known.context->drop_range(begin, end);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message();
    known.content.drops.push_back({.written = known.length(), .begin = begin, .end = end});
  }

  void save(Known& known) {
    const std::uint32_t name = below(3);
    const Result<void> saved = known.context->save(std::to_string(name));
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    saved_[name] = known.content;
  }

  void open() {
    if (saved_.empty()) return;
    if (contexts_.size() >= kContextCountMax) contexts_.erase(contexts_.begin());
    const auto each = std::next(saved_.begin(), below(static_cast<std::uint32_t>(saved_.size())));
    if (!each->second.drops.empty() && cut_count() >= kCutCountMax) return;
    Known known{std::make_unique<HostContext>(engine_.loop()), each->second};
    const auto opened = known.context->open(std::to_string(each->first));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ(opened.value().seq_len, known.length());
    contexts_.push_back(std::move(known));
    ++opened_count_;
  }

  PlainDevice& plain_;
  std::mt19937_64 random_;
  TemporaryFolder folder_;
  SavingEngine engine_;
  std::vector<Known> contexts_;
  std::map<std::uint32_t, Content> saved_;
  std::uint64_t compared_count_ = 0;
  std::uint64_t opened_count_ = 0;
};

void expect_plain_bits(const std::string& model, std::uint64_t seed_count) {
  PlainDevice plain(model);
  ASSERT_TRUE(plain.ok());
  std::uint64_t compared = 0;
  std::uint64_t suspended = 0;
  std::uint64_t opened = 0;
  for (const std::uint64_t seed : campaign_seeds(seed_count)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program(model, plain, seed);
    program.run();
    if (testing::Test::HasFailure()) return;
    compared += program.compared_count();
    suspended += program.suspension_count();
    opened += program.opened_count();
  }
  EXPECT_GT(compared, 0u);
  std::cout << compared << " distributions compared, " << suspended << " suspensions, " << opened
            << " snapshots opened\n";
}

TEST(ContextBits, OfATinyModelAreThoseOfAPlainRecomputation) {
  expect_plain_bits(golden_path("tiny_llama"), 64);
}

TEST(ContextBits, OfSmolLM2AreThoseOfAPlainRecomputation) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  expect_plain_bits(default_model, 16);
}

}  // namespace
}  // namespace quire::test
