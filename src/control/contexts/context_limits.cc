#include "control/contexts/context_limits.h"

#include <algorithm>
#include <string>

#include "control/contexts/model_resources.h"

namespace quire::control {
namespace {

// Tokens that may stand between the first slot that is still seen and the end.
std::uint64_t length_max(const Context& context) {
  constexpr std::uint64_t kPositionEnd = std::uint64_t{1} << 31;
  if (context.wishes().is_beyond_context) return kPositionEnd;
  return std::min(kPositionEnd, std::uint64_t{context.view().dropped().first_outside()} +
                                    context.owner().resources->model.context_length);
}

Error too_long(std::uint64_t total, std::uint64_t limit, const ModelResources& resources) {
  return Error(
      ErrorCode::OutOfRange,
      "the context would hold " + std::to_string(total) + " tokens; the model's limit is " +
          std::to_string(resources.model.context_length) +
          (limit == resources.model.context_length
               ? std::string()
               : ", which counts from the first that was not dropped: " + std::to_string(limit)));
}

Error not_kept(std::uint64_t overflow_count) {
  const std::string count = std::to_string(overflow_count);
  return Error(ErrorCode::OutOfRange,
               "the tokens appended last (" + count +
                   ") did not fit the context at that time and were not kept; truncate by " +
                   count + " and append them again");
}

Error too_many_pages(std::uint64_t total, std::uint32_t pages, const ModelResources& resources) {
  return Error(ErrorCode::NoFreePage, "a context of " + std::to_string(total) + " tokens needs " +
                                          std::to_string(pages) + " KV pages; the pool has " +
                                          std::to_string(resources.cache.page_count()));
}

// The length with the tokens that are only counted.
std::uint64_t length_of(const Context& context) {
  return context.held_token_count() + context.tokens().overflow_count();
}

// Committed pages of which nothing is held.
std::uint32_t gone_count(const CommittedChain& chain) {
  return chain.page_count() - chain.held_count();
}

}  // namespace

std::uint64_t queue_room(const Context& context) {
  const std::uint64_t held = length_of(context);
  // One token more than can be computed is kept: the one that was drawn last from a full context.
  // It is computed once the program has dropped some tokens.
  const std::uint64_t kept_max = length_max(context) + 1;
  return held > kept_max ? 0 : kept_max - held;
}

bool is_overfull(const Context& context) {
  return length_of(context) > length_max(context);
}

std::uint64_t length_left(const Context& context) {
  const std::uint64_t page_count_max =
      std::uint64_t{context.parts().cache().page_count()} + gone_count(context.chain());
  const std::uint64_t pool = page_count_max * context.page_size();
  const std::uint64_t limit = std::min(length_max(context), pool);
  const std::uint64_t held = length_of(context);
  return limit > held ? limit - held : 0;
}

Result<void> check_fits(const Context& context) {
  const ModelResources& resources = context.parts().resources();
  const std::uint32_t page_size = context.page_size();
  const std::uint64_t total = length_of(context);
  const std::uint64_t pool = std::uint64_t{resources.cache.page_count()} * page_size;
  const std::uint64_t certain = std::min<std::uint64_t>(resources.model.context_length, pool);
  const std::uint64_t overflow = context.tokens().overflow_count();
  if (total <= certain && overflow == 0) return {};
  const std::uint64_t limit = length_max(context);
  if (total > limit) return too_long(total, limit, resources);
  if (overflow > 0) return not_kept(overflow);
  const std::uint32_t gone = gone_count(context.chain());
  const std::uint64_t page_count_max = std::uint64_t{resources.cache.page_count()} + gone;
  if (total > page_count_max * page_size) {
    return too_many_pages(total, page_count_for(total, page_size) - gone, resources);
  }
  return {};
}

}  // namespace quire::control
