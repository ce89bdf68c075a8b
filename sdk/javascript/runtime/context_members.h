#pragma once
// The members of class Context of JavaScript.
#include "adapter_calls.h"
#include "context_calls.h"
#include "generator_calls.h"
#include "low_calls.h"

namespace quire::javascript {
namespace calls {

inline std::vector<Member> context_statics() {
  return {function<"Context.create", context_create>(),
          function<"Context.open", context_named<open_one>>(),
          function<"Context.take", context_named<take_one>>(),
          function<"Context.openOrCreate", context_named<Context::open_or_create>>(),
          function<"Context.openShared", context_named<Context::open_shared>>(),
          function<"Context.unshare", Context::unshare>(),
          function<"Context.remove", context_remove>(),
          function<"Context.delete", context_remove>(),
          function<"Context.list", Context::list>(),
          function<"Context.fromPages", context_from_pages>()};
}

inline std::vector<Member> context_methods() {
  return {
      method<"Context.append", context_append>(),
      method<"Context.appendText", InTurn<&Context::append_text>::call>(),
      method<"Context.system", context_system>(),
      method<"Context.user", context_user>(),
      method<"Context.assistant", context_assistant>(),
      method<"Context.add", context_add>(),
      method<"Context.prefill", InTurn<&Context::prefill>::call>(),
      method<"Context.flush", InTurn<&Context::flush>::call>(),
      method<"Context.nextDistribution", context_next_distribution>(),
      method<"Context.nextLogits", context_next_logits>(),
      method<"Context.fork", context_fork>(),
      method<"Context.truncate", InTurn<&Context::truncate>::call>(),
      method<"Context.rewind", InTurn<&Context::rewind>::call>(),
      method<"Context.dropRange", InTurn<&Context::drop_range>::call>(),
      method<"Context.splice", context_splice>(),
      method<"Context.reserveWorkingPages", InTurn<&Context::reserve_working_pages>::call>(),
      method<"Context.commitWorkingPages", InTurn<&Context::commit_working_pages>::call>(),
      method<"Context.releaseWorkingPages", InTurn<&Context::release_working_pages>::call>(),
      method<"Context.truncateWorkingPageTokens",
             InTurn<&Context::truncate_working_page_tokens>::call>(),
      method<"Context.hint", context_hint>(),
      method<"Context.use", context_use>(),
      method<"Context.allowBeyondContext", context_allow_beyond_context>(),
      method<"Context.mark", InTurn<&Context::mark>::call>(),
      method<"Context.save", InTurn<&Context::save>::call>(),
      method<"Context.share", InTurn<&Context::share>::call>(),
      method<"Context.constrain", context_constrain>(),
      method<"Context.unconstrain", context_unconstrain>(),
      method<"Context.choose", InTurn<&Context::choose>::call>(),
      method<"Context.score", InTurn<&Context::score>::call>(),
      {"Context.sample", Member::Kind::Method, bound<"Context.sample", context_sample, true>, 2},
      {"Context.generate", Member::Kind::Method, bound<"Context.generate", context_generate, true>,
       1},
      method<"Context.forward", context_forward>(),
      method<"Context.draw", context_draw>(),
      method<"Context.verify", context_verify>(),
      method<"Context.pages", context_pages>()};
}

inline std::vector<Member> context_getters() {
  return {getter<"Context.seqLen", Read<&Context::seq_len>::call>(),
          getter<"Context.pageSize", Read<&Context::page_size>::call>(),
          getter<"Context.committedPageCount", Read<&Context::committed_page_count>::call>(),
          getter<"Context.workingPageCount", Read<&Context::working_page_count>::call>(),
          getter<"Context.workingPageTokenCount", Read<&Context::working_page_token_count>::call>(),
          getter<"Context.pageCount", Read<&Context::page_count>::call>(),
          getter<"Context.foundTokenCount", Read<&Context::found_token_count>::call>(),
          getter<"Context.tokens", Read<&Context::tokens>::call>(),
          getter<"Context.tokenCount", Read<&Context::token_count>::call>(),
          getter<"Context.unknownTokenCount", Read<&Context::unknown_token_count>::call>(),
          getter<"Context.messages", Read<&Context::messages>::call>(),
          getter<"Context.model", context_model>(),
          getter<"Context.handle", Read<&Context::handle>::call>(),
          getter<"Context.queue", context_queue>()};
}

}  // namespace calls

inline void define_contexts(JSContext* js, JSValueConst space) {
  std::vector<Member> members = calls::context_statics();
  for (const Member& each : calls::context_methods()) members.push_back(each);
  for (const Member& each : calls::context_getters()) members.push_back(each);
  define_class<ContextObject>(js, space, "Context", members);
}

}  // namespace quire::javascript
