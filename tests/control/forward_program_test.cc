// Random programs over pages and embeds by hand. Each program runs twice: alone with every command
// finished before the next, and issued as fast as it comes, from several queues, cut by small
// batches and among other guests. Both must give the same answers (I13), error for error. Each
// guest exports under names of its own, so that other guests change nothing. Exports to one another
// are in page_handle_program_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "control/harness.h"

namespace quire::control::forward_program_test {
namespace {

constexpr std::uint32_t kPageSize = 8;

// A step of a guest, with numbers of its own for its objects.
struct Step {
  enum class Kind {
    Alloc,
    Dealloc,
    Embed,
    Forward,
    Mask,
    Dist,
    Copy,
    Export,
    Import,
    Unexport,
  } kind{};
  std::size_t queue = 0;
  std::vector<std::size_t> pages{};
  std::vector<std::size_t> more_pages{};
  std::vector<std::size_t> embeds{};
  std::vector<std::size_t> outputs{};
  std::vector<std::uint32_t> tokens{};
  std::vector<std::uint32_t> positions{};
  std::vector<std::uint8_t> bytes{};
  std::vector<std::uint32_t> numbers{};
};

constexpr std::size_t kHole = 1'000'000;
constexpr std::size_t kPageObjects = 6;
constexpr std::size_t kEmbedObjects = 12;
constexpr std::size_t kQueues = 3;
constexpr std::size_t kNames = 3;

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  std::vector<Step> program(int step_count) {
    std::vector<Step> steps;
    steps.push_back({.kind = Step::Kind::Alloc, .pages = {0, 1, 2, 3, 4, 5}});
    for (int index = 0; index < step_count; ++index) steps.push_back(step());
    for (std::uint32_t name = 0; name < kNames; ++name) {
      steps.push_back({.kind = Step::Kind::Unexport, .numbers = {name}});
    }
    return steps;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  std::vector<std::size_t> some(std::size_t bound, std::size_t count) {
    std::vector<std::size_t> all(bound);
    for (std::size_t index = 0; index < bound; ++index) all[index] = index;
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(count);
    return all;
  }

  Step step() {
    Step made{.queue = below(kQueues)};
    const std::size_t choice = below(125);
    if (choice < 6) {
      // An old page goes, a new one takes its number.
      made.kind = Step::Kind::Dealloc;
      made.pages = some(kPageObjects, 1);
    } else if (choice < 30) {
      made.kind = Step::Kind::Embed;
      made.embeds = some(kEmbedObjects, 1 + below(4));
      position_ += static_cast<std::uint32_t>(below(3));
      for (std::size_t index = 0; index < made.embeds.size(); ++index) {
        made.tokens.push_back(static_cast<std::uint32_t>(below(512)));
        made.positions.push_back(position_ + static_cast<std::uint32_t>(below(4)));
      }
    } else if (choice < 38) {
      made.kind = Step::Kind::Mask;
      made.pages = some(kPageObjects, 1);
      for (std::uint32_t slot = 0; slot < kPageSize; ++slot) made.bytes.push_back(below(4) != 0);
    } else if (choice < 75) {
      forward(made);
    } else if (choice < 100) {
      made.kind = Step::Kind::Dist;
      made.embeds = {below(kEmbedObjects)};
    } else if (choice < 112) {
      copy(made);
    } else {
      by_name(made, choice < 117   ? Step::Kind::Export
                    : choice < 122 ? Step::Kind::Import
                                   : Step::Kind::Unexport);
    }
    return made;
  }

  // Now and then beyond the page, and often of slots that were not written.
  void copy(Step& made) {
    made.kind = Step::Kind::Copy;
    made.pages = {below(kPageObjects), below(kPageObjects)};
    for (const std::size_t bound : {3, 6, 4}) {
      made.numbers.push_back(static_cast<std::uint32_t>(below(bound)));
    }
    if (below(16) == 0) made.numbers[1] = kPageSize - 1;
  }

  void by_name(Step& made, Step::Kind kind) {
    made.kind = kind;
    made.pages = some(kPageObjects, 1 + below(2));
    made.numbers = {static_cast<std::uint32_t>(below(kNames))};
  }

  void forward(Step& made) {
    made.kind = Step::Kind::Forward;
    made.pages = some(kPageObjects, below(5));
    for (std::size_t& page : made.pages) {
      if (below(8) == 0) page = kHole;
    }
    made.more_pages = some(kPageObjects, below(3));
    const std::size_t count = 1 + below(4);
    for (std::size_t index = 0; index < count; ++index) made.embeds.push_back(below(kEmbedObjects));
    made.outputs = some(kEmbedObjects, below(count + 1));
    if (below(4) != 0) return;
    std::size_t columns = made.pages.size();
    for (const std::size_t page : made.more_pages) {
      columns += std::find(made.pages.begin(), made.pages.end(), page) == made.pages.end();
    }
    for (std::size_t index = 0; index < count * columns * kPageSize; ++index) {
      made.bytes.push_back(below(2) == 0);
    }
  }

  std::mt19937_64 random_;
  std::uint32_t position_ = 0;
};

// One guest that runs a program, step by step.
class Guest {
 public:
  Guest(Harness& harness, std::size_t number)
      : harness_(harness),
        prefix_("guest " + std::to_string(number) + " export "),
        id_(harness.start(TenantId{1 + static_cast<std::uint32_t>(number) % 2})) {
    for (std::size_t index = 0; index < kQueues; ++index) queues_.push_back(harness.queue(id_));
    embeds_ = harness.embeds(id_, queues_[0], kEmbedObjects);
    pages_ = harness.new_objects(kPageObjects);
  }

  void take(const Step& step) {
    const ObjectId queue = queues_[step.queue];
    switch (step.kind) {
      case Step::Kind::Alloc:
        send(AllocPages{queue, names(pages_, step.pages)});
        break;
      case Step::Kind::Dealloc: {
        send(DeallocPages{queue, names(pages_, step.pages)});
        pages_[step.pages[0]] = harness_.new_object();
        send(AllocPages{queue, names(pages_, step.pages)});
        break;
      }
      case Step::Kind::Embed:
        send(EmbedText{queue, names(embeds_, step.embeds), step.tokens, step.positions});
        break;
      case Step::Kind::Mask:
        send(MaskPage{queue, pages_[step.pages[0]], step.bytes});
        break;
      case Step::Kind::Forward:
        send(Forward{queue, names(pages_, step.pages), names(embeds_, step.embeds),
                     names(pages_, step.more_pages), names(embeds_, step.outputs), step.bytes,
                     false});
        break;
      case Step::Kind::Dist:
        send(GetNextDist{queue, embeds_[step.embeds[0]], 6});
        break;
      case Step::Kind::Copy:
        send(CopyPage{queue, pages_[step.pages[0]], pages_[step.pages[1]], step.numbers[0],
                      step.numbers[1], step.numbers[2]});
        break;
      case Step::Kind::Export:
        send(ExportPages{queue, names(pages_, step.pages), name_of(step), false});
        break;
      case Step::Kind::Import:
        send(DeallocPages{queue, names(pages_, step.pages)});
        for (const std::size_t page : step.pages) pages_[page] = harness_.new_object();
        send(ImportPages{queue, name_of(step), names(pages_, step.pages)});
        break;
      case Step::Kind::Unexport:
        send(UnexportPages{name_of(step)});
        break;
    }
  }

  // Every answer as text, in the order of the questions.
  std::vector<std::string> answers() const {
    std::vector<std::string> all;
    for (const FutureId future : futures_) {
      const Result<AnswerBody>& body = harness_.at(id_, future);
      if (!body.ok()) {
        all.push_back(std::string(error_code_name(body.error().code())) + ": " +
                      std::string(body.error().message()));
      } else if (const auto* next = std::get_if<NextDistribution>(&body.value())) {
        std::string text;
        for (std::size_t index = 0; index < next->tokens.size(); ++index) {
          text += std::to_string(next->tokens[index]) + "=" +
                  std::to_string(next->probabilities[index]) + " ";
        }
        all.push_back(text);
      } else if (const auto* shared = std::get_if<SharedPages>(&body.value())) {
        std::string text = "imported";
        for (const SharedPages::Page& page : shared->all) {
          text += " " + std::to_string(page.index) + ":" + std::to_string(page.written);
        }
        all.push_back(text);
      } else {
        all.push_back("done");
      }
    }
    return all;
  }
  InstanceId id() const { return id_; }

 private:
  static std::vector<ObjectId> names(const std::vector<ObjectId>& objects,
                                     const std::vector<std::size_t>& indices) {
    std::vector<ObjectId> ids;
    for (const std::size_t index : indices) {
      ids.push_back(index == kHole ? kNoObject : objects[index]);
    }
    return ids;
  }
  std::string name_of(const Step& step) const { return prefix_ + std::to_string(step.numbers[0]); }
  void send(CommandBody body) { futures_.push_back(harness_.send(id_, std::move(body))); }

  Harness& harness_;
  std::string prefix_;
  InstanceId id_;
  std::vector<ObjectId> queues_;
  std::vector<ObjectId> pages_;
  std::vector<ObjectId> embeds_;
  std::vector<FutureId> futures_;
};

Harness::Options options_of(std::uint32_t row_count_max, std::uint32_t sequence_count) {
  Harness::Options options;
  options.device.page_size = kPageSize;
  options.device.page_count = 64;
  options.device.row_count_max = row_count_max;
  options.device.sequence_count = sequence_count;
  return options;
}

std::vector<std::string> run_alone(const std::vector<Step>& program, std::size_t number) {
  Harness harness(options_of(512, 64));
  Guest guest(harness, number);
  for (const Step& step : program) {
    guest.take(step);
    harness.run();
  }
  return guest.answers();
}

TEST(ForwardPrograms, GiveTheSameIssuedAtOnceAndAmongNeighboursAsOneByOneAlone) {
  std::size_t distribution_count = 0;
  std::size_t import_count = 0;
  std::map<std::string, std::size_t> outcomes;  // By the first word.
  for (const std::uint64_t seed : test_seeds(16)) {
    SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t guest_count = 1 + random() % 3;
    std::vector<std::vector<Step>> programs;
    for (std::size_t index = 0; index < guest_count; ++index) {
      programs.push_back(Writer(seed * 31 + index).program(120));
    }
    constexpr std::uint32_t kRows[] = {4, 7, 64};
    Harness harness(options_of(kRows[random() % 3], random() % 2 == 0 ? 2 : 32));
    std::vector<Guest> guests;
    for (std::size_t index = 0; index < guest_count; ++index) guests.emplace_back(harness, index);
    std::vector<std::size_t> next(guest_count, 0);
    for (std::size_t left = guest_count * programs[0].size(); left > 0;) {
      const std::size_t pick = random() % guest_count;
      if (random() % 6 == 0) harness.step();
      if (next[pick] == programs[pick].size()) continue;
      guests[pick].take(programs[pick][next[pick]++]);
      --left;
    }
    harness.run();
    for (std::size_t index = 0; index < guest_count; ++index) {
      const auto wanted = run_alone(programs[index], index);
      const auto given = guests[index].answers();
      ASSERT_EQ(given.size(), wanted.size());
      for (std::size_t each = 0; each < given.size(); ++each) {
        ASSERT_EQ(given[each], wanted[each]) << "answer " << each << " of guest " << index;
        distribution_count += given[each].find('=') != std::string::npos;
        import_count += given[each].starts_with("imported");
        if (const std::size_t end = given[each].find(':'); end != std::string::npos) {
          ++outcomes[given[each].substr(0, end)];
        }
      }
    }
    for (const Guest& guest : guests) harness.controller->end_instance(guest.id());
    harness.run();
    harness.controller->verify();
    ASSERT_EQ(harness.free_page_count(), 64u);
  }
  EXPECT_GT(distribution_count, 0u);
  EXPECT_GT(import_count, 0u);
  for (const char* refused : {"already-exists", "not-found", "out-of-range", "page-committed",
                              "page-not-full", "no-free-page"}) {
    EXPECT_GT(outcomes[refused], 0u) << refused;
  }
}

// Pages are filled, then read: with one left out as a hole, and with the same one masked.
TEST(ForwardPrograms, LeftOutEqualsMasked) {
  const auto next_of = [](bool is_hole) {
    Harness harness(options_of(64, 8));
    const InstanceId guest = harness.start();
    const ObjectId queue = harness.queue(guest);
    const auto pages = harness.pages(guest, queue, 4);
    const auto inputs = harness.embeds(guest, queue, 25);
    const auto output = harness.embeds(guest, queue, 1);
    std::vector<std::uint32_t> positions;
    for (std::uint32_t index = 0; index < 25; ++index) positions.push_back(index);
    harness.send(guest, EmbedText{queue, inputs, count_tokens(25), positions}, false);
    const std::vector<ObjectId> prompt(inputs.begin(), inputs.end() - 1);
    const std::vector<ObjectId> three(pages.begin(), pages.end() - 1);
    harness.send(guest, Forward{queue, {}, prompt, three, {}, {}, false}, false);
    std::vector<ObjectId> read = three;
    if (is_hole) {
      read[1] = kNoObject;
    } else {
      harness.send(guest, MaskPage{queue, pages[1], std::vector<std::uint8_t>(kPageSize, 0)},
                   false);
    }
    harness.send(guest, Forward{queue, read, {inputs[24]}, {pages[3]}, output, {}, false}, false);
    const FutureId next = harness.send(guest, GetNextDist{queue, output[0]});
    EXPECT_EQ(harness.run(), 1);
    return harness.get<NextDistribution>(guest, next).probabilities;
  };
  EXPECT_EQ(next_of(true), next_of(false));
}

// Forward with nothing kept: tokens still see one another, and no page stays taken.
TEST(ForwardPrograms, WithoutOutputPagesTokensSeeOneAnotherAndLeaveNothing) {
  const auto next_of = [](bool keeps) {
    Harness harness(options_of(64, 8));
    const InstanceId guest = harness.start();
    const ObjectId queue = harness.queue(guest);
    const auto inputs = harness.embeds(guest, queue, 11);
    const auto output = harness.embeds(guest, queue, 1);
    std::vector<ObjectId> pages;
    if (keeps) pages = harness.pages(guest, queue, 2);
    std::vector<std::uint32_t> positions;
    for (std::uint32_t index = 0; index < 11; ++index) positions.push_back(index);
    harness.send(guest, EmbedText{queue, inputs, count_tokens(11), positions}, false);
    harness.send(guest, Forward{queue, {}, inputs, pages, output, {}, false}, false);
    const FutureId next = harness.send(guest, GetNextDist{queue, output[0]});
    harness.run();
    EXPECT_EQ(harness.free_page_count(), keeps ? 62u : 64u);
    return harness.get<NextDistribution>(guest, next).probabilities;
  };
  EXPECT_EQ(next_of(true), next_of(false));
}

TEST(ForwardPrograms, WhoReadsPagesOfAFailedPassFailsToo) {
  Harness::Options options = options_of(64, 8);
  options.device.fail_pass = [](const inference::Batch&, std::size_t pass) -> std::optional<Error> {
    if (pass != 0) return std::nullopt;
    return Error(ErrorCode::Io, "the device lost a pass");
  };
  Harness harness(options);
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const auto pages = harness.pages(guest, queue, 2);
  const auto embeds = harness.embeds(guest, queue, 4);
  harness.send(guest, EmbedText{queue, embeds, {1, 2, 3, 4}, {0, 1, 2, 0}}, false);
  const auto first =
      harness.send(guest, Forward{queue, {}, {embeds[0]}, {pages[0]}, {embeds[0]}, {}, false});
  const auto second =
      harness.send(guest, Forward{queue, {pages[0]}, {embeds[1]}, {pages[0]}, {}, {}, false});
  const auto apart =
      harness.send(guest, Forward{queue, {}, {embeds[3]}, {pages[1]}, {embeds[3]}, {}, false});
  const auto lost = harness.send(guest, GetNextDist{queue, embeds[0]});
  const auto fine = harness.send(guest, GetNextDist{queue, embeds[3]});
  harness.run();
  EXPECT_EQ(harness.error(guest, first), ErrorCode::Io);
  EXPECT_EQ(harness.error(guest, second), ErrorCode::Unavailable);
  EXPECT_FALSE(harness.error(guest, apart));
  EXPECT_EQ(harness.error(guest, lost), ErrorCode::Io);
  EXPECT_FALSE(harness.error(guest, fine));
}

}  // namespace
}  // namespace quire::control::forward_program_test
