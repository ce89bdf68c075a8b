// output: what an output embedding says of the next token, in its several forms.
#include <algorithm>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/draw_arguments.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kTopKDefault = 256;
constexpr std::uint32_t kLogprobCountMax = 4096;
// Tokens of all distributions of one get-next-dists: 32 MiB of results.
constexpr std::uint64_t kDistributionTokenCountMax = 1u << 22;

}  // namespace

Result<ModelView> check_output(const HostCall& call, GuestHandle queue, GuestHandle embed) {
  const ModelView model = TRY(find_queue(call, queue, "output_text"));
  const HandleTable::Entry entry = TRY(call.guest.handles.find(embed, HandleKind::Embed));
  if (entry.model != static_cast<std::uint32_t>(model.index)) {
    return Error(ErrorCode::InvalidArgument, "embed belongs to another model than the queue");
  }
  return model;
}

Result<std::int32_t> submit_output(HostCall& call, control::CommandBody body, std::uint64_t bytes) {
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(call.guest.submit(std::move(body), bytes).handle);
}

Result<std::int32_t> output_get_next_dist(HostCall& call, GuestHandle queue, GuestHandle embed,
                                          std::uint32_t top_k) {
  const ModelView model = TRY(check_output(call, queue, embed));
  const std::uint32_t wanted = top_k == 0 ? kTopKDefault : top_k;
  return submit_output(
      call, control::GetNextDist{.queue = object(queue),
                                 .embed = object(embed),
                                 .top_k = std::min(wanted, model.description.vocabulary_size)});
}

Result<std::int32_t> output_get_next_dists(HostCall& call, GuestHandle queue,
                                           GuestList<std::int32_t> list,
                                           GuestList<std::uint32_t> mask, std::uint32_t top_k) {
  const ModelView model = TRY(find_queue(call, queue, "output_text"));
  control::GetNextDists body{.queue = object(queue), .embeds = {}, .mask = nullptr};
  body.embeds = TRY(read_embeds(call, list, model));
  body.mask = TRY(read_mask(call, mask, model));
  body.top_k = std::min(top_k == 0 ? kTopKDefault : top_k, model.description.vocabulary_size);
  const std::uint64_t token_count = std::uint64_t{body.top_k} * body.embeds.size();
  if (token_count > kDistributionTokenCountMax) {
    return Error(ErrorCode::TooLarge, std::to_string(body.embeds.size()) + " distributions of " +
                                          std::to_string(body.top_k) + " tokens are " +
                                          std::to_string(token_count) + " tokens; at most " +
                                          std::to_string(kDistributionTokenCountMax) +
                                          " are allowed in one read");
  }
  const std::uint64_t bytes = body.embeds.size() * sizeof(control::ObjectId) +
                              std::uint64_t{mask.count} * sizeof(std::uint32_t);
  return submit_output(call, std::move(body), bytes);
}

Result<std::int32_t> output_get_logits(HostCall& call, GuestHandle queue, GuestHandle embed) {
  TRY(check_output(call, queue, embed));
  return submit_output(call, control::GetLogits{object(queue), object(embed)});
}

Result<std::int32_t> output_get_logprobs(HostCall& call, GuestHandle queue, GuestHandle embed,
                                         GuestList<std::uint32_t> list) {
  const ModelView model = TRY(check_output(call, queue, embed));
  if (list.count > kLogprobCountMax) {
    return Error(ErrorCode::TooLarge, "tokens: " + std::to_string(list.count) + "; at most " +
                                          std::to_string(kLogprobCountMax) + " are allowed");
  }
  std::vector<std::uint32_t> tokens = TRY(call.memory.read(list, "tokens"));
  TRY(check_tokens(tokens, model));
  const std::uint64_t bytes = tokens.size() * sizeof(std::uint32_t);
  return submit_output(call, control::GetLogprobs{object(queue), object(embed), std::move(tokens)},
                       bytes);
}

Result<std::int32_t> output_get_logprobs_of(HostCall& call, GuestHandle queue,
                                            GuestList<std::int32_t> list,
                                            GuestList<std::uint32_t> token_list) {
  const ModelView model = TRY(find_queue(call, queue, "output_text"));
  control::GetLogprobsOf body{.queue = object(queue), .embeds = {}, .tokens = {}};
  body.embeds = TRY(read_embeds(call, list, model));
  if (token_list.count != body.embeds.size()) {
    return Error(ErrorCode::InvalidArgument, "tokens: " + std::to_string(token_list.count) +
                                                 " given, " + std::to_string(body.embeds.size()) +
                                                 " are needed: one for each embed");
  }
  body.tokens = TRY(call.memory.read(token_list, "tokens"));
  TRY(check_tokens(body.tokens, model));
  const std::uint64_t bytes =
      body.embeds.size() * (sizeof(control::ObjectId) + sizeof(std::uint32_t));
  return submit_output(call, std::move(body), bytes);
}

Result<std::int32_t> output_get_entropy(HostCall& call, GuestHandle queue, GuestHandle embed) {
  TRY(check_output(call, queue, embed));
  return submit_output(call, control::GetEntropy{object(queue), object(embed)});
}

Result<std::int32_t> output_get_embedding(HostCall& call, GuestHandle queue, GuestHandle embed) {
  TRY(check_output(call, queue, embed));
  return submit_output(call, control::GetEmbedding{object(queue), object(embed)});
}

}  // namespace quire::hostcalls
