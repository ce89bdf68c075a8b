#include "control/contexts/context_fetch.h"

#include <algorithm>

#include "control/contexts/model_resources.h"
#include "control/contexts/tail_page.h"

namespace quire::control {

std::vector<NodeId> find_on_tiers(const Context& context, std::uint32_t page_count_max) {
  const ModelResources& resources = *context.owner().resources;
  std::vector<NodeId> run;
  // A page that is partly written is finished sooner than fetched.
  if (!resources.tiers.is_on() || context.working().has_unnamed_start() ||
      context.tokens().written_count() > 0) {
    return run;
  }
  const std::uint32_t page_size = context.page_size();
  const std::uint32_t count = std::min(page_count_max, context.tokens().count() / page_size);
  NodeId parent = context.chain().head();
  while (run.size() < count) {
    const TailPage page(context.parts(), page_size, static_cast<std::uint32_t>(run.size()));
    const PageMatch match = resources.cache.find(parent, page.content());
    if (match.state != MatchState::Named || !resources.tiers.has(match.node)) break;
    run.push_back(parent = match.node);
  }
  return run;
}

}  // namespace quire::control
