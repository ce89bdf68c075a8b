// Actions of scripted guests with queues, contexts, generations and snapshots.
#include <algorithm>

#include "simulation/guest_bytes.h"

#include "quire/draw_rule.h"

namespace quire::simulation {
namespace {

constexpr std::size_t kQueueCountMax = 3;
constexpr std::size_t kContextCountMax = 5;
constexpr std::size_t kCountersBytes = 20;
constexpr std::size_t kFoundAt = 16;  // The found tokens in them.
constexpr std::uint32_t kQueuesToken = 1;
constexpr std::int64_t kOverwrites = 1;
constexpr double kSomeTemperature = 0.8;

}  // namespace

// ---- Queues.

void ScriptedGuest::create_queue() {
  if (models_.empty() || queues_.size() >= kQueueCountMax) return;
  const auto model = dice_.below(models_.size());
  const OpenedModel opened =
      town_.adapters.is_open() ? open_model(model) : OpenedModel{.handle = models_[model]};
  const std::int64_t queue =
      call("queue.create-queue", {opened.handle, static_cast<std::int64_t>(dice_.below(3))});
  if (opened.is_own) {
    check("future.drop", call("future.drop", {opened.handle}));
    stale_.push_back(opened.handle);
  }
  if (!check("queue.create-queue", queue)) return;
  queues_.push_back({static_cast<std::int32_t>(queue), model, opened.set});
}

ScriptedGuest::Queue* ScriptedGuest::some_queue() {
  if (queues_.empty()) create_queue();
  if (queues_.empty()) return nullptr;
  return &queues_[dice_.below(queues_.size())];
}

// One that nothing of ours runs in.
void ScriptedGuest::destroy_queue() {
  if (queues_.empty()) return;
  const std::size_t index = dice_.below(queues_.size());
  const std::int32_t handle = queues_[index].handle;
  const auto uses_it = [&](const auto& each) { return each.second.queue == handle; };
  if (!pending_.empty() || std::any_of(contexts_.begin(), contexts_.end(), uses_it) ||
      std::any_of(runs_.begin(), runs_.end(), uses_it)) {
    const std::int64_t priority = dice_.below(3);
    check("queue.set-queue-priority", call("queue.set-queue-priority", {handle, priority}));
    return;
  }
  if (!check("queue.destroy-queue", call("queue.destroy-queue", {handle}))) return;
  stale_.push_back(handle);
  queues_.erase(queues_.begin() + static_cast<std::ptrdiff_t>(index));
}

void ScriptedGuest::synchronize() {
  const Queue* queue = some_queue();
  if (queue == nullptr) return;
  expect("queue.synchronize", call("queue.synchronize", {queue->handle}), Comes::Surely,
         [this](const Taken& taken) {
           if (!compute_failed("synchronize", taken) && !taken.bytes.empty()) {
             find("synchronize gives bytes");
           }
         });
}

// ---- Contexts.

ScriptedGuest::ContextKey ScriptedGuest::add_context(Context context) {
  const ContextKey key = next_context_++;
  contexts_.emplace(key, std::move(context));
  return key;
}

// Still: nothing is under way that changes it.
ScriptedGuest::Context* ScriptedGuest::look_for_context(bool wants_still) {
  if (contexts_.empty()) create_context();
  if (contexts_.empty()) return nullptr;
  auto at = contexts_.begin();
  std::advance(at, dice_.below(contexts_.size()));
  Context& context = at->second;
  return wants_still && context.is_changing ? nullptr : &context;
}

ScriptedGuest::Context* ScriptedGuest::some_context(bool wants_still) {
  Context* context = look_for_context(wants_still);
  if (context != nullptr) ++context->use_count;
  return context;
}

void ScriptedGuest::create_context() {
  if (contexts_.size() >= kContextCountMax) return;
  const Queue* queue = some_queue();
  if (queue == nullptr) return;
  const std::int64_t handle = call("context.create", {queue->handle});
  if (!check("context.create", handle)) return;
  Context made{
      .handle = static_cast<std::int32_t>(handle), .queue = queue->handle, .model = queue->model};
  made.content.has_states = town_.knobs.state_count > 0;
  made.content.use(queue->set);
  add_context(std::move(made));
  append();
}

// Runs of a few sequences that all guests know, so that they find one another's pages, and now and
// then tokens of its own.
std::uint32_t ScriptedGuest::some_tokens(std::vector<std::uint32_t>& tokens) {
  const std::uint32_t count = dice_.between(1, 24);
  const std::uint32_t first = dice_.one_in(4) ? dice_.below(400) : dice_.below(2);
  for (std::uint32_t index = 0; index < count; ++index) tokens.push_back((first + index * 7) % 512);
  return count;
}

void ScriptedGuest::append() {
  Context* context = some_context(true);
  if (context == nullptr) return;
  std::vector<std::uint32_t> tokens;
  if (context->content.length() + some_tokens(tokens) > kContentTokenCountMax) return;
  const std::int64_t list = put_list(tokens);
  if (!check("context.append",
             call("context.append", {context->handle, list, length_of(tokens)}))) {
    return;
  }
  std::vector<std::uint32_t>& all = context->content.tokens;
  all.insert(all.end(), tokens.begin(), tokens.end());
}

// The counters that come of it; `after` is what the context holds then, `computes`: all of it
// written.
void ScriptedGuest::expect_counters(const char* what, ContextKey key, std::int64_t future,
                                    const test::Content& after, bool computes) {
  const bool is_known = contexts_.at(key).is_known;
  const std::uint32_t use = contexts_.at(key).use_count;
  const bool made = expect(
      what, future, Comes::Surely,
      [this, what, key, length = after.length(), computes, is_known, use](const Taken& taken) {
        const auto found = contexts_.find(key);
        if (found != contexts_.end()) --found->second.pending_count;
        if (compute_failed(what, taken)) return;
        if (found != contexts_.end()) found->second.answered_use = use;
        if (taken.bytes.size() != kCountersBytes) {
          find(std::string(what) + " gives " + std::to_string(taken.bytes.size()) + " bytes");
          return;
        }
        if (found != contexts_.end()) {
          found->second.note_found(value_at<std::uint32_t>(taken.bytes, kFoundAt));
        }
        const auto written = value_at<std::uint32_t>(taken.bytes, 0);
        if (is_known && (computes ? written != length : written > length)) {
          find(std::string(what) + ": " + std::to_string(written) + " tokens were written of " +
               std::to_string(length) + " that the context has");
        }
      },
      [this, key] {
        if (const auto found = contexts_.find(key); found != contexts_.end()) {
          --found->second.pending_count;
        }
      });
  if (made) ++contexts_.at(key).pending_count;
}

void ScriptedGuest::flush() {
  Context* context = some_context(true);
  if (context == nullptr) return;
  const ContextKey key = key_of(*context);
  expect_counters("flush", key, call("context.flush", {context->handle}), context->content, true);
}

void ScriptedGuest::expect_top(const char* what, std::int64_t future,
                               std::optional<std::uint64_t> output) {
  std::vector<std::uint32_t> expected;
  if (output) expected = test::top_tokens(*output, kVocabularySize, kTopCount);
  expect(what, future, Comes::Surely, [this, what, expected](const Taken& taken) {
    if (compute_failed(what, taken)) return;
    const auto count = value_at<std::uint32_t>(taken.bytes, 0);
    if (count != kTopCount || taken.bytes.size() != 4 + 8 * kTopCount) {
      find(std::string(what) + " gives " + std::to_string(count) + " tokens in " +
           std::to_string(taken.bytes.size()) + " bytes");
      return;
    }
    for (std::uint32_t index = 0; index < expected.size(); ++index) {
      if (value_at<std::uint32_t>(taken.bytes, 4 + 4 * index) != expected[index]) {
        find(std::string(what) + ": a token is not what follows this context");
        return;
      }
    }
  });
}

// Makes a rule of the model of that queue; 0 if the host refused.
std::int64_t ScriptedGuest::make_rule(std::int32_t queue, double temperature) {
  const auto found = std::ranges::find(queues_, queue, &Queue::handle);
  if (found == queues_.end()) return 0;
  DrawRule rule;
  rule.temperature = temperature;
  rule.top_k = 16;
  rule.top_p = 0.9;
  const std::vector<std::uint8_t> options = draw_options(rule);
  const std::int64_t list =
      put_bytes({reinterpret_cast<const char*>(options.data()), options.size()});
  const std::int64_t made = call(
      "draw.create-rule", {models_[found->model], list, static_cast<std::int64_t>(options.size())});
  return check("draw.create-rule", made) ? made : 0;
}

void ScriptedGuest::drop_rule(std::int64_t rule) {
  check("future.drop", call("future.drop", {rule}));
  stale_.push_back(static_cast<std::int32_t>(rule));
}

// Draws a token, or asks what it would be.
void ScriptedGuest::sample() {
  Context* context = some_context(true);
  if (context == nullptr || !context->is_known || context->content.length() == 0) return;
  const ContextKey key = key_of(*context);
  const bool is_greedy = !dice_.one_in(4);
  const bool queues = context->content.length() < kContentTokenCountMax && !dice_.one_in(4);
  const std::int64_t rule = make_rule(context->queue, is_greedy ? 0.0 : kSomeTemperature);
  if (rule == 0) return;
  const std::int64_t future =
      call("draw.forward-draw",
           {context->handle, rule, 0, 0, 0, 0,
            bits(static_cast<double>(dice_.below(1000)) / 1000.0), 0, queues ? kQueuesToken : 0});
  drop_rule(rule);
  const bool is_compared = is_greedy && context->is_known;
  const std::uint32_t expected = is_compared ? most_probable(context->content) : 0;
  const bool made = expect(
      "forward-draw", future, Comes::Surely,
      [this, key, queues, is_compared, expected](const Taken& taken) {
        const auto found = contexts_.find(key);
        if (found != contexts_.end()) {
          --found->second.pending_count;
          if (queues) found->second.is_changing = false;
        }
        if (compute_failed("forward-draw", taken)) return;
        const auto token = value_at<std::uint32_t>(taken.bytes, 8);
        if (taken.bytes.size() != 24) find("forward-draw gives other than a token");
        if (is_compared && token != expected) {
          find("forward-draw draws " + std::to_string(token) + ", not " + std::to_string(expected));
        }
        if (queues && found != contexts_.end()) found->second.content.tokens.push_back(token);
      },
      [this, key, queues] {
        const auto found = contexts_.find(key);
        if (found == contexts_.end()) return;
        --found->second.pending_count;
        if (!queues) return;
        found->second.is_changing = false;
        found->second.is_known = false;  // Whether the token was drawn is not known.
      });
  if (!made) return;
  ++context->pending_count;
  if (queues) context->is_changing = true;
}

// Computes what is queued, and asks for what follows in one of its forms.
void ScriptedGuest::forward() {
  const auto output_of = [](const Context& context) {
    return context.is_known ? std::optional(test::output_after(context.content)) : std::nullopt;
  };
  Context* context = some_context(true);
  if (context == nullptr || !context->is_known || context->content.length() == 0) return;
  const ContextKey key = key_of(*context);
  const std::int64_t queue = context->queue;
  if (!check("allocate.alloc-emb", call("allocate.alloc-emb", {queue, 1, kTakenBytes}))) return;
  const auto embed = value_at<std::int32_t>(host_->get(kTakenBytes, 4), 0);
  const std::int64_t list = put_list(std::vector<std::int32_t>{embed});
  expect_counters("forward", key, call("context.forward", {context->handle, list, 1}),
                  context->content, true);
  const auto sized = [&](const char* what, std::int64_t future, std::size_t bytes) {
    expect(what, future, Comes::Surely, [this, what, bytes](const Taken& taken) {
      if (!compute_failed(what, taken) && taken.bytes.size() != bytes) {
        find(std::string(what) + " gives " + std::to_string(taken.bytes.size()) + " bytes");
      }
    });
  };
  // If the forward pass was refused, the embed holds no output, and its readers get the error.
  const bool has_output = !pending_.empty() && pending_.back().what == std::string_view("forward");
  if (has_output) {
    switch (dice_.below(10)) {
      case 0:
        sized("get-entropy", call("output.get-entropy", {queue, embed}), 12);
        break;
      case 1:
        sized("get-logits", call("output.get-logits", {queue, embed}), 8 + 4 * 512);
        break;
      case 2: {
        const std::int64_t tokens = put_list(std::vector<std::uint32_t>{1, 2, 3});
        sized("get-logprobs", call("output.get-logprobs", {queue, embed, tokens, 3}), 8 + 4 * 3);
        break;
      }
      case 3:
        sized("get-embedding", call("output.get-embedding", {queue, embed}), 8 + 4 * 64);
        break;
      case 4: {
        const std::int64_t mask = put_list(std::vector<std::uint32_t>(kVocabularySize / 32, 1));
        const std::int64_t embeds = put_list(std::vector<std::int32_t>{embed});
        sized("get-next-dists",
              call("output.get-next-dists",
                   {queue, embeds, 1, mask, kVocabularySize / 32, kTopCount}),
              4 + 8 * kTopCount);
        break;
      }
      case 5: {
        const std::int64_t tokens = put_list(std::vector<std::uint32_t>{1});
        const std::int64_t embeds = put_list(std::vector<std::int32_t>{embed});
        sized("get-logprobs-of", call("output.get-logprobs-of", {queue, embeds, 1, tokens, 1}),
              8 + 4);
        break;
      }
      case 6:
        draw_token(context->queue, embed, output_of(*context));
        break;
      default:
        expect_top("get-next-dist", call("output.get-next-dist", {queue, embed, kTopCount}),
                   output_of(*context));
    }
  }
  const std::int64_t again = put_list(std::vector<std::int32_t>{embed});
  if (check("allocate.dealloc-emb", call("allocate.dealloc-emb", {queue, again, 1}))) {
    stale_.push_back(embed);
  }
}

void ScriptedGuest::fork() {
  if (contexts_.size() >= kContextCountMax) return;
  const Context* context = some_context(true);
  if (context == nullptr) return;
  Context child = *context;
  child.pending_count = 0;
  child.use_count = child.answered_use = 0;
  expect("fork", call("context.fork", {context->handle}), Comes::Surely,
         [this, child](const Taken& taken) {
           if (compute_failed("fork", taken)) return;
           if (taken.bytes.size() != 4) find("fork gives no handle");
           Context made = child;
           made.handle = value_at<std::int32_t>(taken.bytes, 0);
           add_context(std::move(made));
         });
}

void ScriptedGuest::rewind() {
  Context* context = some_context(true);
  if (context == nullptr || !context->is_known) return;
  const ContextKey key = key_of(*context);
  const std::uint32_t length = dice_.below(context->content.length() + 1);
  edit("rewind", key, call("context.rewind", {context->handle, length}),
       [length](test::Content& content, std::uint32_t) { content.cut(length); }, {});
}

void ScriptedGuest::truncate() {
  Context* context = some_context(true);
  if (context == nullptr || !context->is_known) return;
  const ContextKey key = key_of(*context);
  const std::uint32_t count = dice_.below(std::min(context->content.length(), 4u) + 1);
  edit("truncate", key, call("context.truncate", {context->handle, count}),
       [count](test::Content& content, std::uint32_t) { content.cut(content.length() - count); },
       {ErrorCode::OutOfRange});
}

void ScriptedGuest::drop_range() {
  Context* context = some_context(true);
  if (context == nullptr || !context->is_known) return;
  const ContextKey key = key_of(*context);
  const std::int64_t written = call("context.seq-len", {context->handle});
  if (!check("context.seq-len", written)) return;
  const std::uint32_t begin = dice_.below(static_cast<std::uint64_t>(written) + 1);
  const std::uint32_t end = begin + dice_.below(static_cast<std::uint64_t>(written) - begin + 1);
  edit("drop-range", key, call("context.drop-range", {context->handle, begin, end}),
       [begin, end](test::Content& content, std::uint32_t written_then) {
         if (end > begin) content.drops.push_back({written_then, begin, end});
       },
       {ErrorCode::OutOfRange});
}

void ScriptedGuest::splice() {
  Context* context = some_context(true);
  const Context* source = some_context(true);
  if (context == nullptr || source == nullptr || !context->is_known || !source->is_known) return;
  if (source->model != context->model) return;
  const ContextKey key = key_of(*context);
  const std::uint32_t begin = dice_.below(source->content.length() + 1);
  const std::uint32_t end = begin + dice_.below(source->content.length() - begin + 1);
  if (context->content.length() + end - begin > kContentTokenCountMax) return;
  const std::vector<std::uint32_t> tokens(source->content.tokens.begin() + begin,
                                          source->content.tokens.begin() + end);
  edit("splice", key, call("context.splice", {context->handle, source->handle, begin, end}),
       [tokens](test::Content& content, std::uint32_t) {
         content.tokens.insert(content.tokens.end(), tokens.begin(), tokens.end());
       },
       {});
}

void ScriptedGuest::reserve() {
  const Context* context = some_context(true);
  if (context == nullptr || !context->is_known) return;
  edit("reserve", key_of(*context),
       call("context.reserve-working-pages", {context->handle, dice_.below(3)}),
       [](test::Content&, std::uint32_t) {}, {});
}

// An edit whose outcome is known when it is there: until then nothing else changes the context.
// What is answered with one of the errors `allowed` has done nothing.
void ScriptedGuest::edit(const char* what, ContextKey key, std::int64_t future, Edit apply,
                         std::initializer_list<ErrorCode> allowed) {
  const std::vector<ErrorCode> refusals(allowed);
  const std::uint32_t use = contexts_.at(key).use_count;
  const bool made = expect(
      what, future, Comes::Surely,
      [this, what, key, apply, refusals, use](const Taken& taken) {
        const auto found = contexts_.find(key);
        Context* context = found == contexts_.end() ? nullptr : &found->second;
        if (context != nullptr) {
          --context->pending_count;
          context->is_changing = false;
        }
        if (taken.error &&
            std::find(refusals.begin(), refusals.end(), *taken.error) != refusals.end()) {
          return;
        }
        if (compute_failed(what, taken)) {
          if (context != nullptr) context->is_known = false;
          return;
        }
        if (taken.bytes.size() != kCountersBytes) find(std::string(what) + " gives no counters");
        const auto written = value_at<std::uint32_t>(taken.bytes, 0);
        if (context == nullptr) return;
        context->answered_use = use;
        context->note_found(value_at<std::uint32_t>(taken.bytes, kFoundAt));
        apply(context->content, written);
        if (written > context->content.length()) {
          find(std::string(what) + ": more tokens are written than the context has");
        }
      },
      [this, key] {
        const auto found = contexts_.find(key);
        if (found == contexts_.end()) return;
        --found->second.pending_count;
        found->second.is_changing = false;
        found->second.is_known = false;
      });
  if (!made) return;
  Context& context = contexts_.at(key);
  ++context.pending_count;
  context.is_changing = true;
}

void ScriptedGuest::drop_context() {
  const Context* context = some_context(false);
  if (context == nullptr) return;
  const ContextKey key = key_of(*context);
  forget_generations_of(key);
  const std::int32_t handle = contexts_.at(key).handle;
  check("future.drop", call("future.drop", {handle}));
  stale_.push_back(handle);
  contexts_.erase(key);
}

void ScriptedGuest::hint() {
  const Context* context = some_context(false);
  if (context == nullptr) return;
  if (town_.knobs.state_count > 0 && dice_.one_in(2)) {
    check("context.mark", call("context.mark", {context->handle}), {ErrorCode::Unavailable});
    return;
  }
  const std::int64_t kind = dice_.below(5);
  const std::int64_t seconds = kind == 3 ? dice_.below(20) : 0;
  check("context.hint", call("context.hint", {context->handle, kind, seconds}),
        {ErrorCode::Unavailable});  // While a generation runs on it.
}

// ---- Snapshots.

namespace {

std::string note_of_name(const std::string& name) {
  return "the note of " + name;
}

constexpr std::initializer_list<ErrorCode> kDiskErrors = {
    ErrorCode::Io, ErrorCode::Unavailable, ErrorCode::Corrupted, ErrorCode::NotFound};

}  // namespace

bool ScriptedGuest::disk_failed(const char* what, const Taken& taken,
                                std::initializer_list<ErrorCode> allowed) {
  if (taken.ok()) return false;
  const Knobs& knobs = town_.knobs;
  const bool may_fail = knobs.disk_error > 0 || knobs.device_error > 0 || knobs.trouble.is_short;
  const bool has_none = !town_.knobs.has_disk && taken.error == ErrorCode::NotSupported;
  if (!has_none && !is_allowed(*taken.error, allowed) &&
      !(may_fail && is_allowed(*taken.error, kDiskErrors))) {
    find(std::string(what) + " fails: " + error_code_name(*taken.error) + ": " + taken.bytes);
  }
  return true;
}

void ScriptedGuest::save() {
  const Context* context = some_context(true);
  if (context == nullptr || !context->is_known || context->content.length() == 0) return;
  const std::string name = name_of_content("c", context->content, context->model);
  const std::int64_t at = put_bytes(name);
  // Other guests save the same content under this name, with the same note or without one.
  const std::string note = note_of_name(name);
  const std::int64_t note_at = put_bytes(note);
  const bool made = expect(
      "save",
      dice_.one_in(2) ? call("context.save", {context->handle, at, length_of(name), kOverwrites, 0})
                      : call("context.save-with-note", {context->handle, at, length_of(name),
                                                        kOverwrites, 0, note_at, length_of(note)}),
      Comes::Surely, [this](const Taken& taken) { disk_failed("save", taken, {}); }, {},
      {ErrorCode::NotSupported});
  if (made) town_.saved[name] = {context->content, context->model};
}

void ScriptedGuest::open() {
  if (town_.saved.empty() || contexts_.size() >= kContextCountMax) return;
  auto at = town_.saved.begin();
  std::advance(at, dice_.below(town_.saved.size()));
  const auto& [name, kept] = *at;
  const Queue* queue = some_queue();
  if (queue == nullptr) return;
  const std::int64_t address = put_bytes(name);
  if (dice_.one_in(4)) {
    expect("delete", call("context.delete", {address, length_of(name)}), Comes::Surely,
           [this](const Taken& taken) { disk_failed("delete", taken, {ErrorCode::NotFound}); }, {},
           {ErrorCode::NotSupported});
    return;
  }
  const bool is_other_model = kept.model != queue->model;
  const LoadedThen loaded = loaded_for(kept.content, queue->model);
  const char* import = dice_.one_in(4) ? "context.take" : "context.open";
  expect("open", call(import, {queue->handle, address, length_of(name)}), Comes::Surely,
         [this, content = kept.content, is_other_model, loaded, handle = queue->handle,
          model = queue->model, note = note_of_name(name)](const Taken& taken) {
           if (is_other_model && taken.error == ErrorCode::NotSupported) return;
           if (lacks_adapters(taken, loaded)) return;
           if (disk_failed("open", taken, {ErrorCode::NotFound, ErrorCode::Unavailable})) return;
           if (taken.bytes.size() != 8 || is_other_model ||
               value_at<std::uint32_t>(taken.bytes, 4) > content.length()) {
             find("open gives other than the context that was saved");
           }
           read_note(value_at<std::int32_t>(taken.bytes, 0), note);
           add_context({.handle = value_at<std::int32_t>(taken.bytes, 0),
                        .queue = handle,
                        .model = model,
                        .content = content});
         },
         {}, {ErrorCode::NotSupported});
}

void ScriptedGuest::read_note(std::int32_t context, const std::string& wanted) {
  const std::int64_t bytes = call("context.note-of", {context, kTakenBytes, kTakenBytesMax});
  if (!check("context.note-of", bytes) || bytes == 0) return;
  if (host_->get(kTakenBytes, static_cast<std::uint32_t>(bytes)) != wanted) {
    find("the note of a snapshot is another's");
  }
  if (call("context.note-of", {context, kTakenBytes, kTakenBytesMax}) != 0) {
    find("a note is given twice");
  }
}

void ScriptedGuest::list_snapshots() {
  expect("list", call("context.list", {}), Comes::Surely,
         [this](const Taken& taken) {
           if (!disk_failed("list", taken, {}) && taken.bytes.size() < 16) find("no list");
         },
         {}, {ErrorCode::NotSupported});
}

// ---- Generations.

void ScriptedGuest::generate() {
  Context* context = some_context(true);
  if (context == nullptr || !context->is_known || context->content.length() == 0) return;
  const std::uint32_t room =
      kContentTokenCountMax - std::min(kContentTokenCountMax, context->content.length());
  if (room == 0) return;
  const bool is_greedy = !dice_.one_in(4);
  const std::uint32_t count = dice_.between(1, std::min(room, 12u));
  const std::int64_t rule = make_rule(context->queue, is_greedy ? 0.0 : kSomeTemperature);
  if (rule == 0) return;
  const std::vector<std::uint32_t> stops = {dice_.below(512)};
  const std::int64_t list = put_list(stops);
  const std::int64_t handle =
      call("draw.generate", {context->handle, rule, 0, 0,
                             static_cast<std::int64_t>(dice_.next() >> 1), count, list, 1, 0, 0});
  drop_rule(rule);
  if (!check("draw.generate", handle)) return;
  context->is_changing = true;
  generations_[next_generation_++] = {.handle = static_cast<std::int32_t>(handle),
                                      .context = key_of(*context),
                                      .is_greedy = is_greedy};
  read_generation();
}

void ScriptedGuest::read_generation() {
  if (generations_.empty()) return;
  auto at = generations_.begin();
  std::advance(at, dice_.below(generations_.size()));
  Generation& generation = at->second;
  if (generation.has_reader) return;
  const std::int64_t count_min = dice_.below(6);
  generation.has_reader = expect(
      "next-draws", call("draw.next-draws", {generation.handle, count_min}), Comes::Surely,
      [this, key = at->first](const Taken& taken) { take_tokens(key, taken); },
      [this, key = at->first] {
        const auto found = generations_.find(key);
        if (found != generations_.end()) found->second.has_reader = false;
      });
}

void ScriptedGuest::take_tokens(std::uint32_t key, const Taken& taken) {
  const auto found = generations_.find(key);
  if (found == generations_.end()) {  // Dropped, or its context was.
    if (taken.error && !is_allowed(*taken.error, {ErrorCode::Cancelled})) {
      find("next-draws of a generation that was dropped fails otherwise: " + taken.bytes);
    }
    return;
  }
  Generation& generation = found->second;
  generation.has_reader = false;
  Context& context = contexts_.at(generation.context);
  const auto end_generation = [&] {
    context.is_changing = false;
    const std::int32_t handle = generation.handle;
    generations_.erase(found);
    check("future.drop", call("future.drop", {handle}));
    stale_.push_back(handle);
  };
  if (compute_failed("next-draws", taken)) return end_generation();
  const auto end = value_at<std::uint32_t>(taken.bytes, 0);
  const auto count = value_at<std::uint32_t>(taken.bytes, 4);
  if (taken.bytes.size() != 8 + 16 * std::size_t{count} || (end == 0 && count == 0)) {
    find("next-draws gives " + std::to_string(count) + " tokens in " +
         std::to_string(taken.bytes.size()) + " bytes");
    return;
  }
  for (std::uint32_t index = 0; index < count; ++index) {
    const auto token = value_at<std::uint32_t>(taken.bytes, 8 + 16 * std::size_t{index});
    if (generation.is_greedy && token != most_probable(context.content)) {
      find("generate: token " + std::to_string(context.content.length()) +
           " of the context is not what follows");
      return;
    }
    context.content.tokens.push_back(token);
  }
  if (end != 0) end_generation();
}

void ScriptedGuest::stop_generation() {
  if (generations_.empty()) return;
  const Generation& generation = generations_.begin()->second;
  expect("stop-generation", call("draw.stop-generation", {generation.handle}), Comes::Surely,
         [this](const Taken& taken) { compute_failed("stop-generation", taken); });
}

void ScriptedGuest::forget_generations_of(ContextKey key) {
  for (auto at = generations_.begin(); at != generations_.end();) {
    if (at->second.context != key) {
      ++at;
      continue;
    }
    check("future.drop", call("future.drop", {at->second.handle}));
    stale_.push_back(at->second.handle);
    at = generations_.erase(at);
  }
}

}  // namespace quire::simulation
