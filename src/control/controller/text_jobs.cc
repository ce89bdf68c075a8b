#include "control/controller/text_jobs.h"

#include <memory>
#include <utility>

#include "base/check.h"

namespace quire::control {
namespace {

using inference::TextCodec;
using inference::TokenId;

// Meant to stay below 100 us a job, which no benchmark has confirmed yet; templates never do.
constexpr std::size_t kShortTextBytes = 256;
constexpr std::size_t kShortTokenCount = 64;

bool is_short(const CommandBody& body) {
  if (const auto* tokenize = std::get_if<Tokenize>(&body)) {
    return tokenize->text.size() <= kShortTextBytes;
  }
  if (const auto* detokenize = std::get_if<Detokenize>(&body)) {
    return detokenize->tokens.size() <= kShortTokenCount;
  }
  return false;
}

Tokens to_tokens(const std::vector<TokenId>& ids) {
  Tokens tokens;
  tokens.ids.reserve(ids.size());
  for (const TokenId id : ids) tokens.ids.push_back(static_cast<std::uint32_t>(id));
  return tokens;
}

Result<AnswerBody> work(const CommandBody& body, const TextCodec& codec) {
  if (const auto* tokenize = std::get_if<Tokenize>(&body)) {
    return AnswerBody(
        to_tokens(TRY(codec.encode(tokenize->text, {.parse_special = tokenize->parse_special,
                                                    .add_bos = tokenize->add_bos}))));
  }
  if (const auto* detokenize = std::get_if<Detokenize>(&body)) {
    std::vector<TokenId> ids;
    ids.reserve(detokenize->tokens.size());
    for (const std::uint32_t token : detokenize->tokens) ids.push_back(TokenId{token});
    return AnswerBody(Text{.bytes = TRY(codec.decode(ids, detokenize->keep_special))});
  }
  if (const auto* vocabulary = std::get_if<GetVocabulary>(&body)) {
    TokenBytes bytes;
    bytes.all.reserve(vocabulary->count);
    for (std::uint32_t id = 0; id < vocabulary->count; ++id) {
      bytes.all.push_back(TRY(codec.decode({TokenId{vocabulary->first + id}}, true)));
    }
    return AnswerBody(std::move(bytes));
  }
  const auto* chat = std::get_if<ApplyChatTemplate>(&body);
  QUIRE_CHECK(chat != nullptr, "not a text job");
  if (chat->tokens) return AnswerBody(to_tokens(TRY(codec.encode_chat(chat->request))));
  return AnswerBody(Text{.bytes = TRY(codec.apply_chat_template(chat->request))});
}

}  // namespace

void TextJobs::start(Instance& instance, Command command, const TextCodec& codec) {
  if (command.future == kNoFuture) return;  // It changes nothing and nobody waits.
  if (helper_ == nullptr || is_short(command.body)) {
    dispatcher_.answer(instance.id, command.future, work(command.body, codec));
    return;
  }
  jobs_.add(instance, command.future, command.argument_bytes,
            {.body = std::move(command.body), .codec = &codec});
  fill();
}

void TextJobs::fill() {
  while (jobs_.running_count() < kOnHelperCountMax) {
    std::optional<JobTurns<Work>::Turn> next = jobs_.take_next();
    if (!next) return;
    const auto shared = std::make_shared<const Work>(std::move(next->work));
    helper_->run([id = next->id, shared, &inbox = inbox_] {
      inbox.deliver({.job = id, .answer = work(shared->body, *shared->codec)});
    });
  }
}

void TextJobs::finish(TextOutcome outcome) {
  const JobTurns<Work>::Owner owner = jobs_.finish(outcome.job);
  dispatcher_.answer(owner.instance, owner.future, std::move(outcome.answer));
  fill();
}

void TextJobs::forget(InstanceId instance, FutureId future) {
  jobs_.forget(instance, future, [](const Work&) { return false; });
}

void TextJobs::forget_all(InstanceId instance) {
  jobs_.forget_all(instance);
}

}  // namespace quire::control
