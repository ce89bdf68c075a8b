#include "control/steps/read_steps.h"

#include <algorithm>
#include <utility>

#include "control/steps/draw_answers.h"
#include "control/steps/token_counts.h"

namespace quire::control {

using inference::DrawMasks;
using inference::TokenId;

void ReadSteps::describe(const Operation& operation, std::uint32_t place,
                         inference::DistributionRequest& request) const {
  using Kind = inference::DistributionKind;
  constexpr std::uint32_t kTopKDefault = 256;
  const std::uint32_t vocabulary = resources().model.vocabulary_size;
  const auto top_k = [&](std::uint32_t wanted) {
    return std::min(wanted == 0 ? kTopKDefault : wanted, vocabulary);
  };
  switch (operation.type) {
    case index_of<GetNextDist>(): {
      const GetNextDist& next = body_of<GetNextDist>(operation);
      request.top_k = top_k(next.top_k);
      request.temperature = next.temperature;
      break;
    }
    case index_of<GetNextDists>(): {
      const GetNextDists& next = body_of<GetNextDists>(operation);
      request.top_k = top_k(next.top_k);
      request.mask = next.mask;
      break;
    }
    case index_of<GetLogits>():
      request.kind = Kind::Logits;
      break;
    case index_of<GetLogprobs>():
      request.kind = Kind::Logprobs;
      for (const std::uint32_t token : body_of<GetLogprobs>(operation).tokens) {
        request.tokens.push_back(TokenId{token});
      }
      break;
    case index_of<GetLogprobsOf>():
      request.kind = Kind::Logprobs;
      request.tokens = {TokenId{body_of<GetLogprobsOf>(operation).tokens[place]}};
      break;
    case index_of<GetEntropy>():
      request.kind = Kind::Entropy;
      break;
    case index_of<GetEmbedding>():
      request.kind = Kind::Vector;
      break;
    default:
      draws_.describe(operation, place, request);
  }
}

namespace {

// To choose and sort takes as long as what is chosen is: the whole of a vocabulary of 49,152 takes
// 8 ms, and 256 of it a tenth of one.
constexpr std::uint64_t kBytesOfOneRead = 8u << 10;

std::uint64_t answer_bytes(const inference::DistributionRequest& request,
                           const inference::ModelInfo& model) {
  using Kind = inference::DistributionKind;
  switch (request.kind) {
    case Kind::TopK:
      return std::uint64_t{request.top_k} * (sizeof(TokenId) + sizeof(float));
    case Kind::Logits:
      return std::uint64_t{model.vocabulary_size} * sizeof(float);
    case Kind::Logprobs:
      return request.tokens.size() * sizeof(float);
    case Kind::Vector:
      return std::uint64_t{model.embedding_width} * sizeof(float);
    case Kind::Entropy:
      return sizeof(float);
    case Kind::Draw:
      return std::uint64_t{1 + request.draw.top_count} * (sizeof(TokenId) + sizeof(float));
  }
  return 0;
}

Error unwritten(const EmbedObject& embed) {
  return Error(ErrorCode::InvalidArgument,
               embed.state == EmbedState::Empty
                   ? "the embed holds nothing: no forward pass wrote it"
                   : "the embed holds an input token: no forward pass wrote it");
}

}  // namespace

Attempt ReadSteps::attempt(Operation& operation, BatchDraft* building) {
  BatchDraft& draft = *building;
  for (const EmbedObject* embed : operation.input_embeds) {
    if (embed->state == EmbedState::Failed) return fail(operation, embed->error->copy());
    if (embed->state != EmbedState::Output) return fail(operation, unwritten(*embed));
  }
  if (const std::optional<Attempt> waits = prepare_reads(operation)) return *waits;
  if (!draft.has_rowless_room(operation)) return Attempt::Later;
  std::vector<inference::DistributionRequest>& requests = draft.batch().distributions;
  const std::size_t first = requests.size();
  std::uint64_t bytes = 0;
  for (std::uint32_t place = 0; place < operation.input_embeds.size(); ++place) {
    inference::DistributionRequest& request = draft.add_request();
    describe(operation, place, request);
    bytes += answer_bytes(request, resources().model);
  }
  if (!draft.takes_answer(operation, bytes)) {
    requests.resize(first);
    return Attempt::Later;
  }
  draft.note_rowless(operation, static_cast<std::uint32_t>(1 + bytes / kBytesOfOneRead));
  for (std::uint32_t place = 0; place < operation.input_embeds.size(); ++place) {
    const EmbedObject& embed = *operation.input_embeds[place];
    inference::DistributionRequest& request = requests[first + place];
    std::uint32_t pass = inference::kNoSlot;
    if (draft.is_of_this(embed.batch)) {
      request.row = embed.row;
      pass = embed.pass;
    } else {
      request.embed = embed.slot;
    }
    draft.add_read({.owner = this,
                    .operation = Ref<Operation>(&operation),
                    .kind = request.kind,
                    .pass = pass,
                    .place = place});
  }
  tools_.table.place(operation);
  return Attempt::Placed;
}

// Prepares a read of a list, or a draw under masks. The draw waits for the masks, because it has no
// rows to compute meanwhile.
std::optional<Attempt> ReadSteps::prepare_reads(Operation& operation) {
  if (operation.read == nullptr) return std::nullopt;
  ReadProgress& read = *operation.read;
  read.wanted_count = static_cast<std::uint32_t>(operation.input_embeds.size());
  read.results.resize(operation.input_embeds.size());
  if (!read.matchers.empty() && read.masks == nullptr) draws_.start_masks(operation, {});
  if (read.masks == nullptr || read.masks->is_ready()) return std::nullopt;
  read.waits_for_masks = true;
  return Attempt::Blocked;
}

// A list that was read at once: of distributions, of logarithms, of draws.
void ReadSteps::finish_reads(Operation& operation) {
  ReadProgress& read = *operation.read;
  for (const auto& each : read.results) {
    if (!each->ok()) {
      tools_.table.finish(operation, each->error().copy());
      return;
    }
  }
  if (is<GetNextDists>(operation)) {
    NextDistributions all;
    for (auto& each : read.results) {
      Result<AnswerBody> one = answer_of(std::move(*each), inference::DistributionKind::TopK);
      all.all.push_back(std::get<NextDistribution>(std::move(one).take()));
    }
    count_generated(replica(), operation, all.all.size());
    tools_.table.finish(operation, AnswerBody(std::move(all)));
  } else if (is<GetLogprobsOf>(operation)) {
    Values values;
    for (const auto& each : read.results) values.all.push_back(each->value().values.front());
    tools_.table.finish(operation, AnswerBody(std::move(values)));
  } else {
    Draws draws;
    const DrawMasks* masks = read.masks.get();
    if (masks != nullptr && masks->filled().error) {
      tools_.table.finish(operation, masks->filled().error->copy());
      return;
    }
    if (masks != nullptr && masks->filled().places.empty()) draws.end = end_of(masks->filled().end);
    for (const auto& each : read.results) {
      if (each->value().tokens.empty()) continue;  // No place: see `end`.
      add_draw(draws, each->value(), masks != nullptr && masks->filled().places.front().is_forced);
    }
    count_generated(replica(), operation, draws.all.size());
    tools_.table.finish(operation, AnswerBody(std::move(draws)));
  }
}

void ReadSteps::read(const ReadRecord& record, Result<inference::Distribution> outcome) {
  Operation& operation = *record.operation.get();
  if (operation.read != nullptr) {
    operation.read->results[record.place] = std::move(outcome);
    if (--operation.read->wanted_count == 0) finish_reads(operation);
    return;
  }
  if (is<GetNextDist>(operation) && outcome.ok()) count_generated(replica(), operation, 1);
  tools_.table.finish(operation, answer_of(std::move(outcome), record.kind));
}

}  // namespace quire::control
