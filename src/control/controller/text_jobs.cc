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
  if (const auto* kinds = std::get_if<GetTokenKinds>(&body)) {
    TokenKinds all;
    all.all.reserve(kinds->count);
    for (std::uint32_t id = 0; id < kinds->count; ++id) {
      all.all.push_back(
          static_cast<std::uint8_t>(TRY(codec.token(TokenId{kinds->first + id})).kind));
    }
    return AnswerBody(std::move(all));
  }
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

AnswerBody answer_of(std::shared_ptr<const inference::Grammar> grammar) {
  const std::uint64_t bytes = grammar->memory_bytes();
  return AnswerBody(CompiledGrammar{.grammar = std::move(grammar), .bytes = bytes});
}

}  // namespace

Result<AnswerBody> TextJobs::run(const Work& work) {
  if (const auto* grammar = std::get_if<CompileGrammar>(&work.body)) {
    return answer_of(TRY(work.model.grammars->compile(grammar->kind, grammar->source)));
  }
  if (const auto* check = std::get_if<CheckText>(&work.body)) {
    return AnswerBody(TextChecked{.fits = TRY(check->grammar->fits(check->text))});
  }
  return control::work(work.body, *work.model.codec);
}

void TextJobs::start(Instance& instance, Command command, const Model& model) {
  if (command.future == kNoFuture) return;  // It changes nothing, and no answer is wanted.
  if (const auto* grammar = std::get_if<CompileGrammar>(&command.body)) {
    auto found = grammars_.find(GrammarCache::key_of(instance.tenant, *grammar));
    if (found != nullptr) {
      dispatcher_.answer(instance.id, command.future, answer_of(std::move(found)));
      return;
    }
  }
  Lane& lane = lane_of(command.body);
  const bool is_at_once = lane.helper == nullptr || is_short(command.body);
  Work work{.body = std::move(command.body), .model = model, .tenant = instance.tenant};
  if (is_at_once) {
    dispatcher_.answer(instance.id, command.future, run(work));
    return;
  }
  lane.jobs.add(instance, command.future, command.argument_bytes, std::move(work));
  fill(lane);
}

TextJobs::Lane& TextJobs::lane_of(const CommandBody& body) {
  const bool is_of_grammar =
      std::holds_alternative<CompileGrammar>(body) || std::holds_alternative<CheckText>(body);
  return is_of_grammar ? of_grammars_ : texts_;
}

void TextJobs::fill(Lane& lane) {
  while (lane.jobs.running_count() < lane.count_max) {
    std::optional<JobTurns<Work>::Turn> next = lane.jobs.take_next();
    if (!next) return;
    if (const auto* grammar = std::get_if<CompileGrammar>(&next->work.body)) {
      const TenantId tenant = next->work.tenant;
      compiling_.emplace(next->id, Compiling{tenant, GrammarCache::key_of(tenant, *grammar)});
    }
    const auto shared = std::make_shared<const Work>(std::move(next->work));
    const bool is_of_grammar = &lane == &of_grammars_;
    lane.helper->run([id = next->id, is_of_grammar, shared, &inbox = inbox_] {
      inbox.deliver({.job = id, .is_of_grammar = is_of_grammar, .answer = run(*shared)});
    });
  }
}

void TextJobs::finish(TextOutcome outcome) {
  Lane& lane = outcome.is_of_grammar ? of_grammars_ : texts_;
  const JobTurns<Work>::Owner owner = lane.jobs.finish(outcome.job);
  if (const auto compiling = compiling_.extract(outcome.job); !compiling.empty()) {
    const auto* compiled =
        outcome.answer.ok() ? std::get_if<CompiledGrammar>(&outcome.answer.value()) : nullptr;
    if (compiled != nullptr) {
      grammars_.insert(compiling.mapped().tenant, compiling.mapped().key, compiled->grammar);
    }
  }
  dispatcher_.answer(owner.instance, owner.future, std::move(outcome.answer));
  fill(lane);
}

void TextJobs::forget(InstanceId instance, FutureId future) {
  for (Lane* lane : {&texts_, &of_grammars_}) {
    lane->jobs.forget(instance, future, [](const Work&) { return false; });
  }
}

void TextJobs::forget_all(InstanceId instance) {
  for (Lane* lane : {&texts_, &of_grammars_}) lane->jobs.forget_all(instance);
}

PendingCommands TextJobs::count_of(InstanceId instance) const {
  PendingCommands all = texts_.jobs.count_of(instance);
  const PendingCommands of_grammars = of_grammars_.jobs.count_of(instance);
  all.count += of_grammars.count;
  all.bytes += of_grammars.bytes;
  return all;
}

void TextJobs::verify() const {
  for (const Lane* lane : {&texts_, &of_grammars_}) lane->jobs.verify();
}

}  // namespace quire::control
