#include "control/contexts/context_tokens.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace quire::control {

using inference::TokenId;

TokenId token_at(const Context& context, std::uint32_t position) {
  const CommittedChain& chain = context.chain();
  const PageCache& cache = context.parts().cache();
  const std::uint32_t page_size = context.page_size();
  const std::uint32_t index = position / page_size;
  if (index >= chain.page_count()) {
    return context.tokens().all()[position - chain.page_count() * page_size];
  }
  NodeId node = chain.head();
  for (std::uint32_t each = chain.page_count() - 1; each > index; --each) {
    node = cache.parent(node);
  }
  return cache.trie().tokens(node)[position % page_size];
}

void copy_last_tokens(const Context& context, std::uint32_t count, std::vector<TokenId>& out) {
  const PageCache& cache = context.parts().cache();
  const TailTokens& tokens = context.tokens();
  std::uint64_t left = std::min<std::uint64_t>(count, context.held_token_count());
  const std::size_t first = out.size();
  out.resize(first + left);
  // From the end: the tail, then the pages above it.
  const std::span<const TokenId> of_tail =
      tokens.all().last(std::min<std::uint64_t>(left, tokens.count()));
  std::copy(of_tail.begin(), of_tail.end(),
            out.end() - static_cast<std::ptrdiff_t>(of_tail.size()));
  left -= of_tail.size();
  for (NodeId node = context.chain().head(); left > 0; node = cache.parent(node)) {
    const std::span<const TokenId> page = cache.trie().tokens(node);
    const std::uint64_t taken = std::min<std::uint64_t>(left, page.size());
    QUIRE_CHECK(taken > 0, "a page without tokens above one that has them");
    left -= taken;
    std::copy(page.end() - static_cast<std::ptrdiff_t>(taken), page.end(),
              out.begin() + static_cast<std::ptrdiff_t>(first + left));
  }
}

std::vector<TokenId> tokens_from(const Context& context, std::uint32_t first, std::uint32_t count) {
  std::vector<TokenId> tokens;
  copy_last_tokens(context, static_cast<std::uint32_t>(context.held_token_count()) - first, tokens);
  tokens.resize(count);
  return tokens;
}

}  // namespace quire::control
