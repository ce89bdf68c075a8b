// Drafts that scripted guests let verify, and grammars by hand: what comes of both is known.
#include "simulation/guest_bytes.h"
#include "simulation/machine.h"

namespace quire::simulation {
namespace {

constexpr std::uint32_t kDraftCountMax = 6;
constexpr std::uint32_t kMaskWords = kVocabularySize / 32;
constexpr std::int64_t kRegex = 1;

}  // namespace

// Drafts that are right up to some place, in one step: the tokens are those that would be drawn one
// after the other.
void ScriptedGuest::verify_drafts() {
  Context* context = some_context(true);
  if (context == nullptr || !context->is_known || context->content.length() == 0) return;
  if (context->content.length() + kDraftCountMax + 1 > kContentTokenCountMax) return;
  const ContextKey key = key_of(*context);
  std::vector<std::uint32_t> drafts, drawn;
  const std::uint32_t count = dice_.below(kDraftCountMax);
  const std::uint32_t wrong = dice_.below(kDraftCountMax);
  test::Content content = context->content;
  for (std::uint32_t i = 0; i <= count; ++i) {
    drawn.push_back(most_probable(content));
    content.tokens.push_back(drawn.back());
    if (i == count) break;
    drafts.push_back(i == wrong ? (drawn.back() + 1) % kVocabularySize : drawn.back());
    if (i == wrong) break;
  }
  const std::int64_t rule = make_rule(context->queue, 0.0);
  if (rule == 0) return;
  const std::vector<double> randoms(drafts.size() + 1, 0.5);
  const std::int64_t list = put_list(drafts);
  const std::int64_t numbers = put_list(randoms);
  const std::int64_t future =
      call("draw.verify", {context->handle, rule, 0, 0, 0, 0, list, length_of(drafts), numbers,
                           length_of(randoms), 0, 1});
  drop_rule(rule);
  const bool made = expect(
      "verify", future, Comes::Surely,
      [this, key, drawn](const Taken& taken) {
        const auto found = contexts_.find(key);
        if (found != contexts_.end()) {
          --found->second.pending_count;
          found->second.is_changing = false;
        }
        if (compute_failed("verify", taken)) return;
        std::vector<std::uint32_t> tokens;
        for (std::size_t at = 8; at + 16 <= taken.bytes.size(); at += 16) {
          tokens.push_back(value_at<std::uint32_t>(taken.bytes, at));
        }
        // Fewer where the pool has no page for all drafts.
        const bool is_prefix = !tokens.empty() && tokens.size() <= drawn.size() &&
                               std::equal(tokens.begin(), tokens.end(), drawn.begin());
        if (!is_prefix) {
          std::string line = "verify gives other tokens than drawing one by one:";
          for (const std::uint32_t each : tokens) line += " " + std::to_string(each);
          line += ", not";
          for (const std::uint32_t each : drawn) line += " " + std::to_string(each);
          find(line);
        }
        if (found == contexts_.end()) return;
        std::vector<std::uint32_t>& all = found->second.content.tokens;
        all.insert(all.end(), tokens.begin(), tokens.end());
      },
      [this, key] {
        const auto found = contexts_.find(key);
        if (found == contexts_.end()) return;
        --found->second.pending_count;
        found->second.is_changing = false;
        found->second.is_known = false;  // How many drafts stand is not known.
      });
  if (!made) return;
  ++context->pending_count;
  context->is_changing = true;
}

void ScriptedGuest::compile_grammar() {
  if (models_.empty()) return;
  const std::string source = std::to_string(dice_.below(5));  // Some are compiled already.
  const std::int64_t list = put_bytes(source);
  expect("compile-grammar",
         call("constraint.compile-grammar",
              {models_[dice_.below(models_.size())], kRegex, list, length_of(source)}),
         Comes::Surely, [this, source](const Taken& taken) {
           if (compute_failed("compile-grammar", taken)) return;
           const auto grammar = value_at<std::int32_t>(taken.bytes, 0);
           check_fits(grammar, source);
           match(grammar, source);
           check("future.drop", call("future.drop", {grammar}));
           stale_.push_back(grammar);
         });
}

// Texts, beside the same grammar of ours.
void ScriptedGuest::check_fits(std::int32_t grammar, const std::string& source) {
  for (const std::size_t length : {1, 30, 70}) {
    const std::string text(length, 'x');
    const std::int64_t list = put_bytes(text);
    const bool wanted = fake_grammar(source).fits(text).value();
    expect("fits", call("constraint.fits", {grammar, list, length_of(text)}), Comes::Surely,
           [this, wanted](const Taken& taken) {
             if (compute_failed("fits", taken)) return;
             const bool fits = value_at<std::uint32_t>(taken.bytes, 0) == 1;
             if (fits != wanted) find("fits gives something else");
           });
  }
}

// Compares matchers with one of the same grammar that is ours.
void ScriptedGuest::match(std::int32_t grammar, const std::string& source) {
  const auto matcher = static_cast<std::int32_t>(call("constraint.create-matcher", {grammar}));
  if (!check("constraint.create-matcher", matcher)) return;
  control::FakeMatcher own = fake_matcher(source);
  const auto same = [this](const char* what, std::vector<std::uint32_t> wanted) {
    return [this, what, wanted = std::move(wanted)](const Taken& taken) {
      if (compute_failed(what, taken)) return;
      std::vector<std::uint32_t> words;
      for (std::size_t at = 0; at + 4 <= taken.bytes.size(); at += 4) {
        words.push_back(value_at<std::uint32_t>(taken.bytes, at));
      }
      if (words != wanted) find(std::string(what) + " gives something else");
    };
  };
  const auto mask_of = [](control::FakeMatcher& of) {
    std::vector<std::uint32_t> words(kMaskWords);
    const Result<void> filled = of.fill_mask(words);
    QUIRE_CHECK(filled.ok(), "a mask of the fake grammar");
    return words;
  };
  const std::vector<std::uint32_t> first = mask_of(own);
  expect("token-mask", call("constraint.token-mask", {matcher}), Comes::Surely,
         same("token-mask", first));
  const auto fork = static_cast<std::int32_t>(call("constraint.fork-matcher", {matcher}));
  std::uint32_t token = dice_.below(kVocabularySize);
  while ((first[token / 32] >> (token % 32) & 1) == 0) token = (token + 1) % kVocabularySize;
  const inference::TokenId one{token};
  QUIRE_CHECK(own.accept(std::span(&one, 1)).ok(), "a token that the mask allows");
  const std::int64_t list = put_list(std::vector<std::uint32_t>{token});
  expect("accept-tokens", call("constraint.accept-tokens", {matcher, list, 1}), Comes::Surely,
         same("accept-tokens", {0}));
  std::vector<std::uint32_t> forced;
  for (const inference::TokenId each : own.forced(4)) {
    forced.push_back(static_cast<std::uint32_t>(each));
  }
  expect("forced-tokens", call("constraint.forced-tokens", {matcher, 4}), Comes::Surely,
         same("forced-tokens", forced));
  expect("token-mask", call("constraint.token-mask", {matcher}), Comes::Surely,
         same("token-mask", mask_of(own)));
  expect("roll-back", call("constraint.roll-back", {matcher, 1}), Comes::Surely,
         same("roll-back", {}));
  for (const std::int32_t each : {matcher, fork}) {
    if (each != matcher && !check("constraint.fork-matcher", each)) continue;
    expect("token-mask", call("constraint.token-mask", {each}), Comes::Surely,
           same("token-mask", first));
    check("future.drop", call("future.drop", {each}));
    stale_.push_back(each);
  }
}

void ScriptedGuest::look_at_token_kinds() {
  if (models_.empty()) return;
  const std::uint32_t count = dice_.between(1, 100);
  expect("get-token-kinds",
         call("tokenize.get-token-kinds", {models_.front(), dice_.below(400), count}),
         Comes::Surely, [this, count](const Taken& taken) {
           if (!compute_failed("get-token-kinds", taken) && taken.bytes.size() != count) {
             find("get-token-kinds gives " + std::to_string(taken.bytes.size()) + " bytes");
           }
         });
}

}  // namespace quire::simulation
