// Embeds, and the low-level pass over them.
#include <string>
#include <utility>

#include "control/controller/issue/issuer.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command, const AllocEmbeds& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(to.check_new(instance, body.embeds));
  const std::uint64_t held = instance.held.embeds;
  if (held + body.embeds.size() > instance.limits.embed_count_max) {
    return beyond("embed_count_max", body.embeds.size(), held, instance.limits.embed_count_max);
  }
  for (const ObjectId id : body.embeds) {
    EmbedObject* embed = to.table.embeds.make();
    embed->replica = queue->replica;
    embed->instance = &instance;
    instance.objects[static_cast<std::uint32_t>(id)] = {ObjectKind::Embed, embed};
  }
  instance.held.embeds += static_cast<std::uint32_t>(body.embeds.size());
  to.done(instance, command);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const DeallocEmbeds& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  EmbedList embeds;
  TRY(to.collect(instance, body.embeds, ObjectKind::Embed, queue->replica, true, embeds));
  for (const ObjectId id : body.embeds) instance.objects.erase(static_cast<std::uint32_t>(id));
  instance.held.embeds -= static_cast<std::uint32_t>(embeds.size());
  Operation* operation = to.enqueue(instance, command, *queue);
  operation->output_embeds = std::move(embeds);
  to.chain(*operation, operation->output_embeds);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const EmbedText& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  if (body.tokens.size() != body.embeds.size() || body.positions.size() != body.embeds.size()) {
    return Error(ErrorCode::InvalidArgument, std::to_string(body.embeds.size()) + " embeds, " +
                                                 std::to_string(body.tokens.size()) + " tokens, " +
                                                 std::to_string(body.positions.size()) +
                                                 " positions: not one length");
  }
  TRY(check_tokens(body.tokens, *queue->replica));
  EmbedList embeds;
  TRY(to.collect(instance, body.embeds, ObjectKind::Embed, queue->replica, false, embeds));
  Operation* operation = to.enqueue(instance, command, *queue);
  operation->output_embeds = std::move(embeds);
  to.chain(*operation, operation->output_embeds);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const Forward& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  Replica* model = queue->replica;
  std::vector<PageObject*> input_pages;
  std::vector<ObjectId> present;
  std::vector<PageObject*> found;
  for (const ObjectId id : body.input_pages) {
    if (id != kNoObject) present.push_back(id);
  }
  Operation* operation = to.enqueue(instance, command, *queue);
  const Forward& forward = std::get<Forward>(operation->body);
  const auto resolve = [&]() -> Result<void> {
    TRY(check_adapters(forward.adapters, *model));
    TRY(to.collect(instance, forward.output_embeds, ObjectKind::Embed, model, true,
                   operation->output_embeds));
    TRY(to.collect(instance, forward.input_embeds, ObjectKind::Embed, model, false,
                   operation->input_embeds));
    TRY(to.collect(instance, forward.output_pages, ObjectKind::Page, model, true,
                   operation->output_pages));
    TRY(to.collect(instance, present, ObjectKind::Page, model, true, found));
    if (forward.output_embeds.size() > forward.input_embeds.size()) {
      return Error(ErrorCode::InvalidArgument,
                   std::to_string(forward.output_embeds.size()) + " outputs of " +
                       std::to_string(forward.input_embeds.size()) + " tokens");
    }
    TRY(check_has_no_states(*model, "forward"));
    return check_is_paged(*model, "forward over pages");
  };
  if (Result<void> resolved = resolve(); !resolved.ok()) {
    operation->error = std::move(resolved).take_error();
  }
  std::size_t next = 0;
  for (const ObjectId id : forward.input_pages) {
    operation->input_pages.push_back(id == kNoObject || next >= found.size() ? nullptr
                                                                             : found[next++]);
  }
  to.chain(*operation, operation->output_embeds);
  to.chain(*operation, operation->input_embeds);
  to.chain(*operation, operation->output_pages);
  to.chain(*operation, found);
  to.table.issue(*operation);
  return {};
}

}  // namespace quire::control
