#pragma once
// draftsFrom(context) and class PromptDrafts of JavaScript.
#include "bind.h"
#include "context_object.h"

namespace quire::javascript {

namespace calls {

inline Object<PromptDrafts> drafts_from_context(Object<ContextObject> context) {
  return std::make_shared<PromptDrafts>(drafts_from(context->context));
}
inline Object<PromptDrafts> drafts_predict(Object<PromptDrafts> self,
                                           std::vector<std::uint32_t> tokens) {
  self->predict(tokens);
  return self;
}

}  // namespace calls

inline void define_drafts(JSContext* js, JSValueConst space) {
  define_class<PromptDrafts>(js, space, "PromptDrafts",
                             {method<"PromptDrafts.predict", calls::drafts_predict>()});
  define_members(js, space, space, {function<"draftsFrom", calls::drafts_from_context>()});
}

}  // namespace quire::javascript
