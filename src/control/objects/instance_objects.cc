#include "control/objects/instance_objects.h"

#include "control/objects/command_kinds.h"

namespace quire::control {
namespace {

void add_named(const ObjectEntry& entry, InstanceObjects& all) {
  switch (entry.kind) {
    case ObjectKind::Page:
      return all.pages.push_back(static_cast<PageObject*>(entry.object));
    case ObjectKind::Embed:
      return all.embeds.push_back(static_cast<EmbedObject*>(entry.object));
    case ObjectKind::Context:
      return all.contexts.push_back(static_cast<Context*>(entry.object));
    case ObjectKind::Queue:
      return all.queues.push_back(static_cast<QueueObject*>(entry.object));
    case ObjectKind::Matcher:
      return all.matchers.push_back(static_cast<MatcherObject*>(entry.object));
  }
}

void add_unnamed(const Operation& last, InstanceObjects& all) {
  if (is<DeallocPages>(last)) {
    all.pages.insert(all.pages.end(), last.output_pages.begin(), last.output_pages.end());
  } else if (is<DeallocEmbeds>(last)) {
    all.embeds.insert(all.embeds.end(), last.output_embeds.begin(), last.output_embeds.end());
  } else if (is<ContextDrop>(last)) {
    all.contexts.push_back(last.context);
  } else if (is<DestroyQueue>(last)) {
    all.queues.push_back(last.queue);
  } else if (is<DropMatcher>(last)) {
    all.matchers.push_back(last.read->matchers.front());
  } else if (is<ContextSave>(last) && last.child != nullptr) {
    all.contexts.push_back(last.child);
  }
}

}  // namespace

InstanceObjects objects_of(const Instance& instance) {
  InstanceObjects all;
  instance.objects.for_each(
      [&](std::uint32_t, const ObjectEntry& entry) { add_named(entry, all); });
  for (const Operation* each = instance.unfinished.first; each != nullptr;
       each = each->instance_next) {
    add_unnamed(*each, all);
  }
  return all;
}

}  // namespace quire::control
