#pragma once
// The classes of low_calls.h, and the functions of `lowLevel`.
#include "low_calls.h"

namespace quire::javascript {

template <typename List, Name kAllocate, Name kRelease, Name kCount, Name kHandles>
void define_handle_list(JSContext* js, JSValueConst space, const char* name) {
  using namespace calls;
  define_class<List>(
      js, space, name,
      {function<kAllocate, list_allocate<List>>(), method<kRelease, list_release<List>>(),
       getter<kCount, Held<&List::count>::call>(), getter<kHandles, Held<&List::handles>::call>()});
}

inline void define_low_classes(JSContext* js, JSValueConst space) {
  using namespace calls;
  define_class<Queue>(js, space, "Queue",
                      {function<"Queue.create", queue_create>(),
                       method<"Queue.setPriority", Held<&Queue::set_priority>::call>(),
                       method<"Queue.synchronize", Held<&Queue::synchronize>::call>(),
                       getter<"Queue.handle", Held<&Queue::handle>::call>()});
  define_handle_list<KvPages, "KvPages.allocate", "KvPages.release", "KvPages.count",
                     "KvPages.handles">(js, space, "KvPages");
  define_handle_list<Embeds, "Embeds.allocate", "Embeds.release", "Embeds.count", "Embeds.handles">(
      js, space, "Embeds");
  define_class<Matcher>(js, space, "Matcher",
                        {method<"Matcher.fork", matcher_fork>(),
                         method<"Matcher.tokenMask", Held<&Matcher::token_mask>::call>(),
                         method<"Matcher.accept", Held<&Matcher::accept>::call>(),
                         method<"Matcher.rollBack", Held<&Matcher::roll_back>::call>(),
                         method<"Matcher.forced", matcher_forced>(),
                         getter<"Matcher.handle", Held<&Matcher::handle>::call>()});
  define_class<Drawer>(
      js, space, "Drawer",
      {function<"Drawer.create", drawer_create>(), method<"Drawer.constrain", drawer_constrain>(),
       method<"Drawer.allow", drawer_allow>(), method<"Drawer.reportTop", drawer_report_top>()});
}

inline void define_low_level(JSContext* js, JSValueConst space) {
  using namespace calls;
  define_low_classes(js, space);
  define_namespace(
      js, space, "lowLevel",
      {function<"lowLevel.copyKvpage", copy_page>(),
       function<"lowLevel.exportKvpage", export_pages>(),
       function<"lowLevel.importKvpage", import_pages>(),
       function<"lowLevel.unexportKvpage", unexport_pages>(),
       function<"lowLevel.listExports", list_exports>(),
       function<"lowLevel.embedTxt", embed_tokens>(), function<"lowLevel.forward", forward_pass>(),
       function<"lowLevel.maskKvpage", mask_page>(), function<"lowLevel.getNextDist", next_dist>(),
       function<"lowLevel.getNextDists", next_dists>(), function<"lowLevel.getLogits", logits_of>(),
       function<"lowLevel.getLogprobs", logprobs>(),
       function<"lowLevel.getLogprobsOf", logprobs_of>(),
       function<"lowLevel.getEntropy", entropy_of>(),
       function<"lowLevel.getEmbedding", embedding_of>(),
       function<"lowLevel.drawTokens", draw_all>()});
}

}  // namespace quire::javascript
