#include "control/batches/batch_draft.h"

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/batches/ready_queue.h"
#include "control/contexts/give_back.h"

namespace quire::control {

BatchDraft::BatchDraft(Replica& replica, BatchId id, BatchBuffers buffers, const Limits& limits)
    : replica_(replica),
      limits_(limits),
      batch_(std::move(buffers.batch)),
      flight_(std::move(buffers.flight)),
      lookups_left_(limits.lookup_page_count_max),
      commands_left_(limits.command_count_max) {
  batch_.clear();
  batch_.id = id;
  batch_.model = inference::ModelId{static_cast<std::uint32_t>(replica.index)};
  flight_.clear();
  flight_.id = id;
  row_limit_ = device_row_limit();
}

bool BatchDraft::is_empty() const {
  return batch_.passes.empty() && batch_.distributions.empty() && batch_.loads.empty() &&
         batch_.copies.empty() && batch_.saves.empty();
}

std::uint32_t BatchDraft::device_row_limit() const {
  return replica_.resources.device.row_count_max + (is_planted(Fault::BatchOverLimit) ? 1 : 0);
}

bool BatchDraft::has_rowless_room(const Operation& operation) {
  Instance& instance = *operation.instance;
  const auto batch = static_cast<std::uint32_t>(id());
  if (instance.rowless_batch != batch) {
    instance.rowless_batch = batch;
    instance.rowless_count = 0;
  }
  if (instance.rowless_count >= limits_.rowless_count_max) return false;
  if (rowless_count_ < device_row_limit()) return true;
  replica_.shares.leave_waiting(replica_.share(instance));
  return false;
}

void BatchDraft::note_rowless(const Operation& operation, std::uint32_t count) {
  operation.instance->rowless_count += count;
  rowless_count_ += count;
  replica_.shares.charge(replica_.share(*operation.instance), FairShares::kRowsOfRowless * count);
}

bool BatchDraft::takes_answer(const Operation& operation, std::uint64_t bytes) {
  if (answer_bytes_ > 0 && answer_bytes_ + bytes > limits_.answer_bytes_max) {
    replica_.shares.leave_waiting(replica_.share(*operation.instance));
    return false;
  }
  answer_bytes_ += bytes;
  return true;
}

PassRecord& BatchDraft::begin_pass(PassOwner& owner, Operation& operation) {
  PassRecord& pass = flight_.passes.emplace_back();
  pass.owner = &owner;
  pass.operation = Ref<Operation>(&operation);
  pass.output_first = static_cast<std::uint32_t>(flight_.outputs.size());
  return pass;
}

void BatchDraft::want_output(EmbedObject& embed, std::uint32_t row) {
  take_slot(embed);
  embed.batch = static_cast<std::uint64_t>(batch_.id);
  embed.row = row;
  embed.pass = last_pass_index();
  embed.position = batch_.rows[row].position + 1;
  batch_.rows[row].output = embed.slot;
  flight_.outputs.push_back(Ref<EmbedObject>(&embed));
  ++flight_.passes.back().output_count;
}

void BatchDraft::end_pass(Operation& operation, inference::ForwardPass pass) {
  const std::uint32_t row_count = pass.row_count;
  batch_.passes.push_back(std::move(pass));
  if (is_prefilling_) {
    const std::uint32_t page_size = replica_.resources.cache.page_size();
    const std::uint32_t slot_count = slot_count_of(operation, page_size) + row_count / 2;
    flight_.step.prefill_row_count += row_count;
    flight_.step.prefill_slot_count += std::uint64_t{row_count} * slot_count;
    budget_.spend(row_count, slot_count);
  } else {
    flight_.step.decode_row_count += row_count;
  }
  operation.instance->statistics.computed_token_count += row_count;
  operation.ready_since_ns = kNotSeen;  // Whoever gets rows has not waited.
  replica_.shares.charge(replica_.share(*operation.instance), row_count);
}

}  // namespace quire::control
