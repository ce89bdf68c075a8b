#include "main/verbs/text/conversation.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace quire {
namespace {

using Ids = std::vector<std::uint32_t>;

bool begins_with(const Ids& whole, const Ids& begin) {
  return whole.size() >= begin.size() && std::equal(begin.begin(), begin.end(), whole.begin());
}

Ids behind(const Ids& whole, std::size_t count) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(count), whole.end()};
}

}  // namespace

void Conversation::restore(ChatMessages messages) {
  const bool is_empty = messages.empty();
  messages_ = std::move(messages);
  history_.clear();
  gap_.reset();
  if (is_empty) gap_.emplace();
}

Result<Ids> Conversation::encode(const ChatMessages& messages, bool add_generation_prompt) const {
  OrderedJson all = OrderedJson::array();
  if (!system_.empty()) all.push_back({{"role", "system"}, {"content", system_}});
  for (const ChatMessage& each : messages) {
    all.push_back({{"role", role_name(each.role)}, {"content", each.content}});
  }
  const OrderedJson request = {{"messages", std::move(all)},
                               {"add_generation_prompt", add_generation_prompt}};
  const std::vector<inference::TokenId> tokens = TRY(codec_.encode_chat(dump_json(request)));
  Ids ids;
  ids.reserve(tokens.size());
  for (const inference::TokenId token : tokens) ids.push_back(static_cast<std::uint32_t>(token));
  return ids;
}

Result<Conversation::Turn> Conversation::user_says(const std::string& message) {
  ChatMessages messages = messages_;
  messages.push_back({ChatRole::User, message});
  const Ids whole = TRY(encode(messages, true));
  Turn turn;
  if (gap_ && begins_with(whole, history_)) {
    turn.tokens = *gap_;
    const Ids rest = behind(whole, history_.size());
    turn.tokens.insert(turn.tokens.end(), rest.begin(), rest.end());
  } else {
    turn.tokens = whole;
    turn.starts_over = true;
  }
  messages_ = std::move(messages);
  history_ = whole;
  gap_.emplace();
  return turn;
}

// Returns the tokens that the template puts after a reply. Two conversations that differ in the
// reply alone have these tokens in common at their ends. The reply is not encoded for this, because
// it was sampled in tokens that need not be those of its text.
Result<Ids> Conversation::closing() const {
  ChatMessages messages = messages_;
  messages.back().content = "x";
  const Ids one = TRY(encode(messages, false));
  messages.back().content = "7";
  const Ids other = TRY(encode(messages, false));
  std::size_t count = 0;
  while (count < one.size() && count < other.size() &&
         one[one.size() - 1 - count] == other[other.size() - 1 - count]) {
    ++count;
  }
  return behind(one, one.size() - count);
}

Result<void> Conversation::assistant_said(const std::string& text) {
  messages_.push_back({ChatRole::Assistant, text});
  const Ids whole = TRY(encode(messages_, false));
  const bool continues = begins_with(whole, history_);
  history_ = whole;
  gap_.reset();
  if (!continues) return {};
  gap_.emplace();
  const Ids end = TRY(closing());
  gap_->insert(gap_->end(), end.begin(), end.end());
  return {};
}

}  // namespace quire
