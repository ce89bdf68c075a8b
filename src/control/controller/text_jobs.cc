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

bool TextJobs::start(InstanceId instance, FutureId future, CommandBody body,
                     const TextCodec& codec) {
  if (helper_ == nullptr || is_short(body)) {
    dispatcher_.answer(instance, future, work(body, codec));
    return true;
  }
  const std::uint64_t id = ++next_;
  jobs_.emplace(id, Job{.instance = instance, .future = future});
  Waiting waiting{.id = id, .body = std::move(body), .codec = &codec};
  if (running_count_ < CompletionInbox::kTextJobCountMax) {
    launch(std::move(waiting));
  } else {
    waiting_.push_back(std::move(waiting));
  }
  return false;
}

void TextJobs::launch(Waiting waiting) {
  ++running_count_;
  auto shared = std::make_shared<const Waiting>(std::move(waiting));
  helper_->run([shared, &inbox = inbox_] {
    inbox.deliver({.job = shared->id, .answer = work(shared->body, *shared->codec)});
  });
}

InstanceId TextJobs::finish(TextOutcome outcome) {
  --running_count_;
  const auto found = jobs_.find(outcome.job);
  QUIRE_CHECK(found != jobs_.end(), "a text job finished twice");
  const Job job = found->second;
  jobs_.erase(found);
  dispatcher_.answer(job.instance, job.future, std::move(outcome.answer));
  if (!waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    launch(std::move(next));
  }
  return job.instance;
}

void TextJobs::forget(InstanceId instance, FutureId future) {
  for (auto& [id, job] : jobs_) {
    if (job.instance == instance && job.future == future) job.future = kNoFuture;
  }
}

void TextJobs::forget_all(InstanceId instance) {
  for (auto& [id, job] : jobs_) {
    if (job.instance == instance) job.future = kNoFuture;
  }
}

}  // namespace quire::control
