#pragma once
// Below generations: queues, pages, embeddings, passes and what is read of them, matchers and
// drawers, as in pages.h, forward.h, outputs.h, grammar.h and drawing.h of the SDK.
#include "bind_methods.h"
#include "context_calls.h"
#include "context_values.h"

namespace quire::javascript {

inline JSValue to_js(JSContext* js, const PageUse& use) {
  return ObjectMaker(js).set("index", use.index).set("written", use.written).take();
}
inline JSValue to_js(JSContext* js, const ExportInfo& info) {
  return ObjectMaker(js)
      .set("name", info.name)
      .set("pageCount", info.page_count)
      .set("tokenCount", info.token_count)
      .set("isPublic", info.is_public)
      .set("isOwn", info.is_own)
      .take();
}
inline JSValue to_js(JSContext* js, const Numbers& numbers) {
  return typed_array(js, numbers.values, JS_TYPED_ARRAY_FLOAT32);
}
inline JSValue to_js(JSContext* js, const Distributions& distributions) {
  return to_js(js, distributions.all);
}
inline JSValue to_js(JSContext* js, const Draws& draws) {
  constexpr const char* kEnds[] = {"none",    "stop-token",       "length",
                                   "stopped", "grammar-complete", "no-token-allowed"};
  return ObjectMaker(js)
      .set("end", kEnds[static_cast<std::uint32_t>(draws.end)])
      .set("tokens", draws.tokens)
      .set("draftCount", draws.draft_count)
      .take();
}
// Pages of an export or of a context.
struct SharedPagesObject {
  Object<KvPages> pages;
  std::vector<PageUse> uses;
};
inline JSValue to_js(JSContext* js, const SharedPagesObject& shared) {
  return ObjectMaker(js).set("pages", shared.pages).set("uses", shared.uses).take();
}
// A pass of a context.
struct PassObject {
  Object<Embeds> embeds;
  ContextCounters counters;
};
inline JSValue to_js(JSContext* js, const PassObject& pass) {
  return ObjectMaker(js).set("embeds", pass.embeds).set("counters", pass.counters).take();
}

template <>
struct FromJs<Priority> {
  static const char* read(JSContext* js, JSValueConst value, Priority& into) {
    constexpr const char* kNames[] = {"low", "normal", "high"};
    const std::string name = JS_IsString(value) ? text_of(js, value) : "";
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (name != kNames[i]) continue;
      into = Priority{i};
      return nullptr;
    }
    return "\"low\", \"normal\" or \"high\"";
  }
};
template <>
struct FromJs<SlotCopy> {
  static const char* read(JSContext* js, JSValueConst value, SlotCopy& into) {
    ObjectReader in(js, value);
    in.read("sourceSlot", into.source_slot).read("targetSlot", into.target_slot);
    in.read("count", into.count);
    return in.finish();
  }
};
// The lists that ForwardArguments points to.
struct ForwardOptions {
  std::vector<std::int32_t> input_pages, input_embeds, output_pages, output_embeds;
  Bytes mask;
  bool beyond_context = false;

  ForwardArguments arguments() const {
    return {input_pages,
            input_embeds,
            output_pages,
            output_embeds,
            {reinterpret_cast<const std::uint8_t*>(mask.bytes.data()), mask.bytes.size()},
            beyond_context};
  }
};
template <>
struct FromJs<ForwardOptions> {
  static const char* read(JSContext* js, JSValueConst value, ForwardOptions& into) {
    ObjectReader in(js, value);
    in.read("inputPages", into.input_pages).read("inputEmbeds", into.input_embeds);
    in.read("outputPages", into.output_pages).read("outputEmbeds", into.output_embeds);
    in.read("mask", into.mask).read("beyondContext", into.beyond_context);
    return in.finish();
  }
};
// The options of a rule, and the seed.
struct DrawerOptions {
  GenerateOptions options;
};
template <>
struct FromJs<DrawerOptions> {
  static const char* read(JSContext* js, JSValueConst value, DrawerOptions& into) {
    ObjectReader in(js, value);
    read_rule(in, into.options);
    return in.finish();
  }
};

namespace calls {

using Handles = std::vector<std::int32_t>;
using Words = std::vector<std::uint32_t>;

inline Result<Object<Queue>> queue_create(ModelArgument which, std::optional<Priority> priority) {
  const Model model = TRY(which.open());
  return std::make_shared<Queue>(TRY(Queue::create(model, priority.value_or(Priority::Normal))));
}
template <typename List>
Result<Object<List>> list_allocate(Object<Queue> queue, std::uint32_t count) {
  return std::make_shared<List>(TRY(List::allocate(*queue, count)));
}
template <typename List>
void list_release(Object<List> self) {
  self->shrink(0);
}

inline Future<void> copy_page(Object<Queue> queue, std::int32_t source, std::int32_t target,
                              SlotCopy copy) {
  return copy_kvpage(*queue, source, target, copy);
}
inline Future<void> export_pages(Object<Queue> queue, Handles pages, std::string name,
                                 std::optional<bool> is_public) {
  return export_kvpage(*queue, pages, name,
                       is_public.value_or(false) ? ExportTo::Everyone : ExportTo::Tenant);
}
inline SharedPagesObject shared_object(SharedPages shared) {
  return {std::make_shared<KvPages>(std::move(shared.pages)), std::move(shared.uses)};
}
inline Task<SharedPagesObject> import_pages(Object<Queue> queue, std::string name,
                                            std::optional<std::uint32_t> count) {
  if (count) co_return shared_object(co_await import_kvpage(*queue, std::move(name), *count));
  co_return shared_object(co_await import_kvpage(*queue, std::move(name)));
}
inline Future<void> unexport_pages(std::string name) {
  return unexport_kvpage(name);
}

inline Result<void> embed_tokens(Object<Queue> queue, Handles embeds, Words tokens,
                                 Words positions) {
  return embed_txt(*queue, embeds, tokens, positions);
}
inline Future<void> forward_pass(Object<Queue> queue, ForwardOptions options) {
  return forward(*queue, options.arguments());
}
inline Result<void> mask_page(Object<Queue> queue, std::int32_t page, Bytes visible) {
  return mask_kvpage(
      *queue, page,
      {reinterpret_cast<const std::uint8_t*>(visible.bytes.data()), visible.bytes.size()});
}
inline Future<Distribution> next_dist(Object<Queue> queue, std::int32_t embed,
                                      std::optional<std::uint32_t> top_k) {
  return get_next_dist(*queue, embed, top_k.value_or(0));
}
inline Future<Distributions> next_dists(Object<Queue> queue, Handles embeds,
                                        std::optional<std::uint32_t> top_k,
                                        std::optional<Words> mask) {
  return get_next_dists(*queue, embeds, mask.value_or(Words()), top_k.value_or(0));
}
inline Future<Numbers> logits_of(Object<Queue> queue, std::int32_t embed) {
  return get_logits(*queue, embed);
}
inline Future<Numbers> logprobs(Object<Queue> queue, std::int32_t embed, Words tokens) {
  return get_logprobs(*queue, embed, tokens);
}
inline Future<Numbers> logprobs_of(Object<Queue> queue, Handles embeds, Words tokens) {
  return get_logprobs_of(*queue, embeds, tokens);
}
inline Task<float> entropy_of(Object<Queue> queue, std::int32_t embed) {
  const Numbers numbers = co_await get_entropy(*queue, embed);
  co_return numbers.values.at(0);
}
inline Future<Numbers> embedding_of(Object<Queue> queue, std::int32_t embed) {
  return get_embedding(*queue, embed);
}

inline Result<Object<Matcher>> matcher_fork(Object<Matcher> self) {
  return std::make_shared<Matcher>(TRY(self->fork()));
}
inline Task<Words> matcher_forced(Object<Matcher> self, std::optional<std::uint32_t> count_max) {
  constexpr std::uint32_t kForcedCountMax = 64;
  co_return co_await self->forced(count_max.value_or(kForcedCountMax));
}

inline Object<Drawer> drawer_create(DrawerOptions options) {
  return std::make_shared<Drawer>(options.options.rule(), options.options.seed);
}
inline void drawer_constrain(Object<Drawer> self, Object<Matcher> matcher) {
  self->constrain(*matcher);
}
inline void drawer_allow(Object<Drawer> self, Words mask) {
  self->allow(std::move(mask));
}
inline void drawer_report_top(Object<Drawer> self, std::uint32_t count) {
  self->report_top(count);
}
inline Task<Draws> draw_all(Object<Model> model, Object<Queue> queue, Handles embeds,
                            Object<Drawer> drawer) {
  co_return co_await draw_tokens(*model, *queue, std::move(embeds), *drawer);
}

inline Object<Queue> context_queue(Self self) {
  return std::make_shared<Queue>(self->context.queue());
}
inline Task<PassObject> context_forward(Self self, std::optional<std::uint32_t> count) {
  const Turn::Hold hold = co_await self->turn.take();
  ContextOutputs outputs = co_await self->context.forward(count.value_or(1));
  const ContextCounters counters = co_await std::move(outputs.passed);
  co_return PassObject{std::make_shared<Embeds>(std::move(outputs.embeds)), counters};
}
inline Task<DrawnToken> context_draw(Self self, Object<Drawer> drawer) {
  const Turn::Hold hold = co_await self->turn.take();
  co_return co_await self->context.draw(*drawer);
}
inline Task<Draws> context_verify(Self self, Words drafts, Object<Drawer> drawer) {
  const Turn::Hold hold = co_await self->turn.take();
  co_return co_await self->context.verify(std::move(drafts), *drawer);
}
inline Task<SharedPagesObject> context_pages(Self self) {
  const Turn::Hold hold = co_await self->turn.take();
  co_return shared_object(co_await self->context.pages());
}
inline Task<Self> context_from_pages(Object<Model> model, Object<Queue> queue, Handles pages,
                                     Words tokens) {
  co_return context_object(
      co_await Context::from_pages(*model, *queue, std::move(pages), std::move(tokens)));
}

}  // namespace calls

}  // namespace quire::javascript
