#include "fake_host.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace quire::test {

FakeHost host;

std::int32_t failed_future(abi::ErrorCode code, std::string message) {
  const std::int32_t future = host.new_future();
  host.fail(future, code, std::move(message));
  return future;
}

// Computes what is queued; a failed future if it does not fit.
std::optional<std::int32_t> compute(FakeHost::Context& held) {
  if (host.compute_error) return failed_future(*host.compute_error, "no pass succeeds");
  const std::size_t length = held.computed.size() + held.queued.size();
  if (length > host.context_length && !held.beyond_context) {
    return failed_future(abi::ErrorCode::OutOfRange,
                         "the context would hold " + std::to_string(length) + " tokens");
  }
  held.computed.insert(held.computed.end(), held.queued.begin(), held.queued.end());
  held.queued.clear();
  return std::nullopt;
}

}  // namespace quire::test

namespace quire::abi {
namespace {

using test::compute;
using test::failed_future;
using test::host;

std::int32_t put(const std::string& bytes, void* buffer, std::uint32_t capacity) {
  if (bytes.size() <= capacity) std::memcpy(buffer, bytes.data(), bytes.size());
  return static_cast<std::int32_t>(bytes.size());
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::int32_t unknown(const char* what) {
  return host.refuse(ErrorCode::NotFound, std::string("no such ") + what);
}

std::int32_t make_handles(const char* kind, std::uint32_t count, void* into) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int32_t handle = host.new_handle(kind);
    std::memcpy(static_cast<char*>(into) + 4 * i, &handle, 4);
  }
  return 0;
}

std::int32_t forget_handles(const std::int32_t* handles, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!host.forget(handles[i])) return unknown("handle");
  }
  return 0;
}

// Full pages are committed as they fill, and freed when every token in them was dropped.
std::uint32_t committed_count_of(const test::FakeHost::Context& context) {
  std::uint32_t count = 0;
  for (std::uint32_t first = 0; first + 16 <= context.computed.size(); first += 16) {
    const auto begin = context.dropped.lower_bound(first);
    const auto end = context.dropped.lower_bound(first + 16);
    if (std::distance(begin, end) < 16) ++count;
  }
  return count;
}

std::string counters_of(const test::FakeHost::Context& context) {
  const auto length = static_cast<std::uint32_t>(context.computed.size());
  return bytes_of(std::vector<std::uint32_t>{
      length, committed_count_of(context),
      std::max((length % 16 + 15) / 16, context.reserved_page_count), length % 16, 0});
}

// Drops the last `count` tokens that are computed, within the page that is not full.
std::int32_t cut_tail(test::FakeHost::Context& held, std::uint32_t count) {
  if (count > held.computed.size() % 16) {
    return failed_future(ErrorCode::OutOfRange, "beyond the working tail");
  }
  held.computed.resize(held.computed.size() - count);
  return host.ready_future(counters_of(held));
}

test::FakeHost::Context* find_context(std::int32_t context) {
  const auto found = host.contexts.find(context);
  return found == host.contexts.end() ? nullptr : &found->second;
}

std::string name_of(const std::uint8_t* name, std::uint32_t count) {
  return std::string(reinterpret_cast<const char*>(name), count);
}

std::int32_t open_snapshot(std::int32_t queue, const std::string& name, bool takes) {
  if (!host.knows(queue)) return unknown("queue");
  if (host.open_error) return failed_future(*host.open_error, "the snapshot \"" + name + "\"");
  const auto found = host.snapshots.find(name);
  if (found == host.snapshots.end()) {
    return failed_future(ErrorCode::NotFound, "no snapshot \"" + name + "\"");
  }
  const std::int32_t handle = host.new_handle("context");
  host.contexts[handle] = found->second.context;
  host.contexts[handle].note = found->second.note;
  const auto queued = static_cast<std::int32_t>(found->second.context.queued.size());
  if (takes) host.snapshots.erase(found);
  return host.ready_future(bytes_of(std::vector<std::int32_t>{handle, queued}));
}

// The tokenizer of the fake: a token is a byte; 1 begins a message, 2 ends one.
std::vector<std::uint32_t> tokens_of(std::string_view text) {
  std::vector<std::uint32_t> out;
  for (const char each : text) out.push_back(static_cast<std::uint8_t>(each));
  return out;
}

// A token for each of host.token_texts, and one for each other byte.
std::vector<std::uint32_t> special_tokens_of(std::string_view text) {
  std::vector<std::uint32_t> out;
  while (!text.empty()) {
    const auto special = std::find_if(
        host.token_texts.begin(), host.token_texts.end(),
        [&](const auto& each) { return !each.second.empty() && text.starts_with(each.second); });
    const bool is_special = special != host.token_texts.end();
    out.push_back(is_special ? special->first : static_cast<std::uint8_t>(text[0]));
    text.remove_prefix(is_special ? special->second.size() : 1);
  }
  return out;
}

// Just enough of a template: every "role" and "content" of the request, and the generation prompt.
std::optional<std::vector<std::uint32_t>> chat_tokens(std::string_view request) {
  std::vector<std::uint32_t> out;
  if (host.render_chat) {
    const auto text = host.render_chat(Json::parse(request).value());
    return text ? std::optional(special_tokens_of(*text)) : std::nullopt;
  }
  const auto value_after = [&](std::string_view key, std::size_t& at) {
    const std::size_t start = request.find(key, at);
    if (start == std::string_view::npos) return std::string_view();
    const std::size_t first = start + key.size();
    at = request.find('"', first);
    return request.substr(first, at - first);
  };
  for (std::size_t at = 0; request.find("\"role\":\"", at) != std::string_view::npos;) {
    const std::string_view role = value_after("\"role\":\"", at);
    const std::string_view content = value_after("\"content\":\"", at);
    out.push_back(1);
    for (const std::uint32_t each : tokens_of(role.substr(0, 1))) out.push_back(each);
    for (const std::uint32_t each : tokens_of(content)) out.push_back(each);
    out.push_back(2);
    out.push_back('\n');
  }
  if (request.find("\"add_generation_prompt\":true") != std::string_view::npos) {
    out.push_back(1);
    out.push_back('a');
  }
  return out;
}

}  // namespace

namespace future {

std::int32_t wait(const std::int32_t* futures, std::uint32_t count, std::int64_t timeout_ns) {
  host.wait_count += 1;
  const std::int64_t deadline = timeout_ns < 0 ? -1 : host.clock_ns + timeout_ns;
  for (;;) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto* each = host.future(futures[i]);
      if (each == nullptr) return unknown("future");
      if (each->ready) return static_cast<std::int32_t>(i);
    }
    if (timeout_ns == 0) return host.refuse(ErrorCode::Timeout, "none is ready");
    if (host.on_wait && host.on_wait()) continue;
    if (host.advance_clock(deadline)) continue;
    if (deadline < 0) return host.refuse(ErrorCode::Internal, "the test waits for ever");
    host.clock_ns = deadline;
    return host.refuse(ErrorCode::Timeout, "none is ready");
  }
}

std::int32_t poll(const std::int32_t* futures, std::uint32_t count, void* ready) {
  std::int32_t ready_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto* each = host.future(futures[i]);
    if (each == nullptr) return unknown("future");
    static_cast<std::uint8_t*>(ready)[i] = each->ready ? 1 : 0;
    ready_count += each->ready ? 1 : 0;
  }
  return ready_count;
}

std::int32_t take(std::int32_t future, void* buffer, std::uint32_t capacity) {
  const auto* pending = host.future(future);
  if (pending == nullptr) return unknown("future");
  if (!pending->ready) return host.refuse(ErrorCode::Unavailable, "not ready yet");
  const test::FakeHost::PendingFuture taken = *pending;
  if (taken.bytes.size() > capacity) return static_cast<std::int32_t>(taken.bytes.size());
  host.forget(future);
  if (taken.error != 0) {
    host.last_error = taken.message;
    return taken.error;
  }
  return put(taken.bytes, buffer, capacity);
}

std::int32_t drop(std::int32_t handle) {
  return host.forget(handle) ? 0 : unknown("handle");
}

}  // namespace future

namespace runtime {

std::int32_t get_arg_count() {
  return static_cast<std::int32_t>(host.arguments.size());
}
std::int32_t get_arg(std::uint32_t index, void* buffer, std::uint32_t capacity) {
  if (index >= host.arguments.size()) return host.refuse(ErrorCode::OutOfRange, "no argument");
  return put(host.arguments[index], buffer, capacity);
}
std::int32_t get_version(void* buffer, std::uint32_t capacity) {
  return put("0.0.0-fake", buffer, capacity);
}
std::int64_t get_instance_id() {
  return 7;
}
std::int32_t log(std::uint32_t, const std::uint8_t* text, std::uint32_t count) {
  host.logged.emplace_back(reinterpret_cast<const char*>(text), count);
  return 0;
}
std::int32_t set_result(const std::uint8_t* result, std::uint32_t count) {
  host.result.assign(reinterpret_cast<const char*>(result), count);
  return 0;
}
std::int64_t clock_now() {
  return host.clock_ns;
}
std::int32_t sleep(std::int64_t duration_ns) {
  const std::int32_t future = host.new_future();
  host.future(future)->ready_at_ns = host.clock_ns + duration_ns;
  return future;
}
std::int32_t random(void* buffer, std::uint32_t capacity) {
  std::memset(buffer, 4, capacity);
  return 0;
}
std::int32_t last_error(void* buffer, std::uint32_t capacity) {
  return put(host.last_error, buffer, capacity);
}

std::int32_t get_tenant(void* buffer, std::uint32_t capacity) {
  return put("tenant", buffer, capacity);
}
std::int32_t limits(void* buffer, std::uint32_t capacity) {
  return put("memory_bytes_max 100 1\n", buffer, capacity);
}
std::int32_t launch(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::uint32_t,
                    std::uint32_t) {
  return host.refuse(ErrorCode::NotSupported, "the fake host launches nothing");
}
std::int32_t wait_child(std::int32_t) {
  return unknown("child");
}
std::int32_t kill_child(std::int32_t) {
  return unknown("child");
}
std::int32_t send_child(std::int32_t, const std::uint8_t*, std::uint32_t) {
  return unknown("child");
}
std::int32_t receive_child(std::int32_t) {
  return unknown("child");
}

}  // namespace runtime

namespace session {

std::int32_t send(const std::uint8_t* message, std::uint32_t count) {
  host.sent.emplace_back(reinterpret_cast<const char*>(message), count);
  return 0;
}
std::int32_t receive() {
  const std::int32_t future = host.new_future();
  if (host.inbox.empty()) {
    host.fail(future, ErrorCode::Unavailable, "the client has ended its side");
  } else {
    host.complete(future, host.inbox.front());
    host.inbox.pop_front();
  }
  return future;
}
std::int32_t send_file(const std::uint8_t* name, std::uint32_t name_count,
                       const std::uint8_t* media_type, std::uint32_t media_type_count,
                       std::uint64_t file_bytes) {
  if (name_count == 0) return host.refuse(ErrorCode::InvalidArgument, "file name is empty");
  const std::int32_t handle = host.new_handle("file");
  host.files[handle] = {std::string(reinterpret_cast<const char*>(name), name_count),
                        std::string(reinterpret_cast<const char*>(media_type), media_type_count),
                        file_bytes,
                        {}};
  return handle;
}
std::int32_t write_file(std::int32_t file, const std::uint8_t* part, std::uint32_t count) {
  test::FakeHost::File& known = host.files.at(file);
  if (count > known.file_bytes - known.parts_bytes()) {
    return host.refuse(ErrorCode::OutOfRange, "more than was announced");
  }
  known.parts.emplace_back(reinterpret_cast<const char*>(part), count);
  return host.ready_future("");
}
std::int32_t receive_file() {
  const std::int32_t future = host.new_future();
  if (host.files_in.empty()) {
    host.fail(future, ErrorCode::Unavailable, "the client has ended its side");
    return future;
  }
  const test::FakeHost::File file = host.files_in.front();
  host.files_in.pop_front();
  const std::int32_t handle = host.new_handle("file");
  const std::uint32_t head[4] = {static_cast<std::uint32_t>(handle),
                                 static_cast<std::uint32_t>(file.name.size()),
                                 static_cast<std::uint32_t>(file.media_type.size()), 0};
  std::string record(reinterpret_cast<const char*>(head), sizeof head);
  record.append(reinterpret_cast<const char*>(&file.file_bytes), sizeof file.file_bytes);
  host.files[handle] = file;
  host.complete(future, record + file.name + file.media_type);
  return future;
}
std::int32_t read_file(std::int32_t file) {
  std::deque<std::string>& parts = host.files.at(file).parts;
  std::string part = parts.empty() ? "" : parts.front();
  if (!parts.empty()) parts.pop_front();
  return host.ready_future(std::move(part));
}

}  // namespace session

namespace models {

std::int32_t available_models(void* buffer, std::uint32_t capacity) {
  return put("fake\nother", buffer, capacity);
}
std::int32_t get_model(const std::uint8_t* name, std::uint32_t count) {
  const std::string wanted(reinterpret_cast<const char*>(name), count);
  if (!wanted.empty() && wanted != "fake") {
    return host.refuse(ErrorCode::NotFound, "no model \"" + wanted + "\"");
  }
  return host.new_handle("model");
}
std::int32_t available_traits(std::int32_t, void* buffer, std::uint32_t capacity) {
  const std::string states = host.has_states ? "\nstates" : "";
  return put("allocate\nforward\ninput_text\ntokenize\noutput_text" + states, buffer, capacity);
}
std::int32_t trait_version(std::int32_t, const std::uint8_t* name, std::uint32_t count) {
  const std::string trait(reinterpret_cast<const char*>(name), count);
  if (trait == "forward" || trait == "tokenize") return 1;
  if (trait == "states" && host.has_states) return 1;
  return host.refuse(ErrorCode::NotSupported, "model fake lacks the trait " + trait);
}
std::int32_t model_info(std::int32_t, void* buffer, std::uint32_t capacity) {
  std::vector<std::uint32_t> record = {16,
                                       host.context_length,
                                       256,
                                       64,
                                       0xffffffffu,
                                       2,
                                       static_cast<std::uint32_t>(host.stop_tokens.size())};
  record.insert(record.end(), host.stop_tokens.begin(), host.stop_tokens.end());
  if (record.size() <= capacity) std::memcpy(buffer, record.data(), record.size() * 4);
  return static_cast<std::int32_t>(record.size());
}
std::int32_t model_name(std::int32_t, void* buffer, std::uint32_t capacity) {
  return put("fake", buffer, capacity);
}

}  // namespace models

namespace tokenize {

std::int32_t tokenize(std::int32_t, const std::uint8_t* text, std::uint32_t count, std::uint32_t) {
  return host.ready_future(bytes_of(tokens_of({reinterpret_cast<const char*>(text), count})));
}
std::int32_t detokenize(std::int32_t, const std::uint32_t* tokens, std::uint32_t count,
                        std::uint32_t flags) {
  std::string out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto text = host.token_texts.find(tokens[i]);
    if (text != host.token_texts.end()) {
      out += text->second;
    } else if (tokens[i] > 2 || (flags & 1) != 0) {
      out.push_back(static_cast<char>(tokens[i]));
    }
  }
  return host.ready_future(out);
}
std::int32_t get_vocabs(std::int32_t, std::uint32_t first, std::uint32_t count) {
  std::string out;
  for (std::uint32_t id = first; id < first + count; ++id) {
    const auto known = host.token_texts.find(id);
    const std::string text =
        known != host.token_texts.end() ? known->second : std::string(1, static_cast<char>(id));
    const auto bytes = static_cast<std::uint32_t>(text.size());
    out.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    out += text;
  }
  return host.ready_future(out);
}
std::int32_t get_token_kinds(std::int32_t, std::uint32_t first, std::uint32_t count) {
  std::string kinds;
  for (std::uint32_t id = first; id < first + count; ++id) kinds.push_back(id <= 2 ? 3 : 0);
  return host.ready_future(kinds);
}
std::int32_t apply_chat_template(std::int32_t, const std::uint8_t* request, std::uint32_t count) {
  const auto tokens = chat_tokens({reinterpret_cast<const char*>(request), count});
  if (!tokens) return failed_future(ErrorCode::InvalidArgument, "the template refuses this");
  return detokenize(0, tokens->data(), static_cast<std::uint32_t>(tokens->size()), 1);
}
std::int32_t tokenize_chat(std::int32_t, const std::uint8_t* request, std::uint32_t count) {
  const auto tokens = chat_tokens({reinterpret_cast<const char*>(request), count});
  if (!tokens) return failed_future(ErrorCode::InvalidArgument, "the template refuses this");
  return host.ready_future(bytes_of(*tokens));
}

}  // namespace tokenize

namespace queue {

std::int32_t create_queue(std::int32_t model, std::uint32_t) {
  return host.knows(model) ? host.new_handle("queue") : unknown("model");
}
std::int32_t destroy_queue(std::int32_t queue) {
  return future::drop(queue);
}
std::int32_t synchronize(std::int32_t) {
  return host.ready_future("");
}
std::int32_t set_queue_priority(std::int32_t queue, std::uint32_t) {
  return host.knows(queue) ? 0 : unknown("queue");
}

}  // namespace queue

namespace allocate {

std::int32_t alloc_kvpage(std::int32_t queue, std::uint32_t count, void* pages) {
  return host.knows(queue) ? make_handles("page", count, pages) : unknown("queue");
}
std::int32_t dealloc_kvpage(std::int32_t queue, const std::int32_t* pages, std::uint32_t count) {
  return host.knows(queue) ? forget_handles(pages, count) : unknown("queue");
}
std::int32_t alloc_emb(std::int32_t queue, std::uint32_t count, void* embeds) {
  return host.knows(queue) ? make_handles("embed", count, embeds) : unknown("queue");
}
std::int32_t dealloc_emb(std::int32_t queue, const std::int32_t* embeds, std::uint32_t count) {
  return host.knows(queue) ? forget_handles(embeds, count) : unknown("queue");
}

}  // namespace allocate

namespace input {

std::int32_t embed_txt(std::int32_t, const std::int32_t* embeds, std::uint32_t count,
                       const std::uint32_t* tokens, std::uint32_t, const std::uint32_t*,
                       std::uint32_t) {
  for (std::uint32_t i = 0; i < count; ++i) host.embed_texts[embeds[i]] = {tokens[i]};
  return 0;
}

}  // namespace input

namespace forward {

std::int32_t forward(std::int32_t, const std::int32_t*, std::uint32_t, const std::int32_t* iemb,
                     std::uint32_t iemb_count, const std::int32_t*, std::uint32_t,
                     const std::int32_t* oemb, std::uint32_t oemb_count, const std::uint8_t*,
                     std::uint32_t, std::uint32_t) {
  for (std::uint32_t i = 0; i < oemb_count; ++i) {
    host.embed_texts[oemb[i]] = host.embed_texts[iemb[iemb_count - oemb_count + i]];
  }
  return host.ready_future("");
}
std::int32_t mask_kvpage(std::int32_t, std::int32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}

}  // namespace forward

namespace output {

std::int32_t get_next_dist(std::int32_t, std::int32_t embed, std::uint32_t top_k) {
  const auto seen = host.embed_texts.find(embed);
  if (seen == host.embed_texts.end()) return unknown("output");
  auto pairs = host.next(seen->second);
  if (top_k > 0 && pairs.size() > top_k) pairs.resize(top_k);
  std::vector<std::uint32_t> tokens;
  std::vector<float> probabilities;
  for (const auto& [token, probability] : pairs) {
    tokens.push_back(token);
    probabilities.push_back(probability);
  }
  const std::vector<std::uint32_t> count = {static_cast<std::uint32_t>(pairs.size())};
  return host.ready_future(bytes_of(count) + bytes_of(tokens) + bytes_of(probabilities));
}

namespace {

std::int32_t ready_numbers(const std::vector<float>& values) {
  const std::vector<std::uint32_t> head = {0, static_cast<std::uint32_t>(values.size())};
  return host.ready_future(bytes_of(head) + bytes_of(values));
}

}  // namespace

// Natural logarithms of the probabilities, which are logits of them.
std::int32_t get_logits(std::int32_t, std::int32_t embed) {
  const auto seen = host.embed_texts.find(embed);
  if (seen == host.embed_texts.end()) return unknown("output");
  std::vector<float> logits(256, -100.0f);
  for (const auto& [token, probability] : host.next(seen->second)) {
    logits.at(token) = std::log(probability);
  }
  return ready_numbers(logits);
}
std::int32_t get_next_dists(std::int32_t queue, const std::int32_t* embeds, std::uint32_t count,
                            const std::uint32_t*, std::uint32_t, std::uint32_t top_k) {
  std::string records;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int32_t one = get_next_dist(queue, embeds[i], top_k);
    if (one < 0) return one;
    records += host.future(one)->bytes;
  }
  return host.ready_future(records);
}
std::int32_t get_logprobs_of(std::int32_t, const std::int32_t* embeds, std::uint32_t count,
                             const std::uint32_t* tokens, std::uint32_t) {
  std::vector<float> nats;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto seen = host.embed_texts.find(embeds[i]);
    if (seen == host.embed_texts.end()) return unknown("output");
    float probability = 1e-9f;
    for (const auto& [token, each] : host.next(seen->second)) {
      if (token == tokens[i]) probability = each;
    }
    nats.push_back(std::log(probability));
  }
  return ready_numbers(nats);
}
std::int32_t get_logprobs(std::int32_t, std::int32_t embed, const std::uint32_t* tokens,
                          std::uint32_t count) {
  const auto seen = host.embed_texts.find(embed);
  if (seen == host.embed_texts.end()) return unknown("output");
  std::vector<float> nats;
  for (std::uint32_t i = 0; i < count; ++i) {
    float probability = 1e-9f;
    for (const auto& [token, each] : host.next(seen->second)) {
      if (token == tokens[i]) probability = each;
    }
    nats.push_back(std::log(probability));
  }
  return ready_numbers(nats);
}
std::int32_t get_entropy(std::int32_t, std::int32_t) {
  return ready_numbers({0.5f});
}
std::int32_t get_embedding(std::int32_t, std::int32_t) {
  return ready_numbers({1.0f, 2.0f});
}

}  // namespace output

// One program alone: it hears itself.
namespace messaging {

std::int32_t broadcast(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}
std::int32_t subscribe(const std::uint8_t*, std::uint32_t) {
  return host.new_handle("subscription");
}
std::int32_t next_message(std::int32_t) {
  return host.new_future();
}
std::int32_t unsubscribe(std::int32_t handle) {
  return host.forget(handle) ? 0 : unknown("it");
}
std::int32_t push(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}
std::int32_t pull(const std::uint8_t*, std::uint32_t) {
  return host.new_future();
}

}  // namespace messaging

namespace context {

std::int32_t create(std::int32_t queue) {
  if (!host.knows(queue)) return unknown("queue");
  const std::int32_t handle = host.new_handle("context");
  host.contexts[handle] = {};
  return handle;
}
std::int32_t append(std::int32_t context, const std::uint32_t* tokens, std::uint32_t count) {
  if (!host.contexts.contains(context)) return unknown("context");
  if (count > 262'144) return host.refuse(ErrorCode::TooLarge, "append in parts");
  auto& queued = host.contexts[context].queued;
  queued.insert(queued.end(), tokens, tokens + count);
  return 0;
}
std::int32_t flush(std::int32_t context) {
  for (const auto& [handle, loop] : host.loops) {
    if (loop.context == context && loop.end == 0) {
      return failed_future(ErrorCode::Unavailable, "a generation runs on the context");
    }
  }
  return forward(context, nullptr, 0);
}
std::int32_t forward(std::int32_t context, const std::int32_t* oemb, std::uint32_t count) {
  if (!host.contexts.contains(context)) return unknown("context");
  auto& held = host.contexts[context];
  if (const auto failed = compute(held)) return *failed;
  for (std::uint32_t i = 0; i < count; ++i) {
    host.embed_texts[oemb[i]] = {held.computed.begin(), held.computed.end() - (count - 1 - i)};
  }
  return host.ready_future(counters_of(held));
}
std::int32_t fork(std::int32_t context) {
  if (!host.contexts.contains(context)) return unknown("context");
  const std::int32_t child = host.new_handle("context");
  host.contexts[child] = host.contexts[context];
  host.contexts[child].note.clear();
  return host.ready_future(bytes_of(std::vector<std::int32_t>{child}));
}
std::int32_t truncate(std::int32_t context, std::uint32_t count) {
  if (!host.contexts.contains(context)) return unknown("context");
  auto& held = host.contexts[context];
  for (; count > 0 && !held.queued.empty(); --count) held.queued.pop_back();
  return cut_tail(held, count);
}
std::int32_t rewind(std::int32_t context, std::uint32_t length) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  if (length > held->computed.size() + held->queued.size()) {
    return failed_future(ErrorCode::OutOfRange, "the context has fewer tokens");
  }
  const auto computed = static_cast<std::uint32_t>(held->computed.size());
  held->queued.resize(length > computed ? length - computed : 0);
  held->computed.resize(std::min(length, computed));
  held->dropped.erase(held->dropped.lower_bound(length), held->dropped.end());
  return host.ready_future(counters_of(*held));
}
std::int32_t drop_range(std::int32_t context, std::uint32_t begin, std::uint32_t end) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  if (begin > end || end > held->computed.size()) {
    return failed_future(ErrorCode::OutOfRange, "beyond what was written");
  }
  for (std::uint32_t each = begin; each < end; ++each) held->dropped.insert(each);
  return host.ready_future(counters_of(*held));
}
std::int32_t splice(std::int32_t context, std::int32_t source, std::uint32_t begin,
                    std::uint32_t end) {
  auto* held = find_context(context);
  const auto* from = find_context(source);
  if (held == nullptr || from == nullptr) return unknown("context");
  std::vector<std::uint32_t> tokens = from->computed;
  tokens.insert(tokens.end(), from->queued.begin(), from->queued.end());
  if (begin > end || end > tokens.size()) {
    return failed_future(ErrorCode::OutOfRange, "the source has fewer tokens");
  }
  held->queued.insert(held->queued.end(), tokens.begin() + begin, tokens.begin() + end);
  return host.ready_future(counters_of(*held));
}
std::int32_t reserve_working_pages(std::int32_t context, std::uint32_t count) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  held->reserved_page_count = (held->computed.size() % 16 + 15) / 16 + count;
  return host.ready_future(counters_of(*held));
}
std::int32_t commit_working_pages(std::int32_t context, std::uint32_t count) {
  const auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  if (count > 0) return failed_future(ErrorCode::PageNotFull, "full pages are committed already");
  return host.ready_future(counters_of(*held));
}
std::int32_t release_working_pages(std::int32_t context, std::uint32_t count) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  const auto working = static_cast<std::uint32_t>(held->computed.size() % 16);
  const std::uint32_t pages = std::max((working + 15) / 16, held->reserved_page_count);
  if (count > pages) return failed_future(ErrorCode::OutOfRange, "fewer working pages");
  held->reserved_page_count = pages - count;
  return cut_tail(*held, pages == count ? working : 0);
}
std::int32_t truncate_working_page_tokens(std::int32_t context, std::uint32_t count) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  return cut_tail(*held, count);
}
std::int32_t hint(std::int32_t context, std::uint32_t kind, std::uint32_t value) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  held->hint = kind;
  held->hint_seconds = value;
  return 0;
}
std::int32_t allow_beyond_context(std::int32_t context, std::uint32_t allowed) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  held->beyond_context = allowed == 1;
  return 0;
}
std::int32_t mark(std::int32_t context) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  held->marks.push_back(held->computed.size() + held->queued.size());
  return 0;
}
std::int32_t save(std::int32_t context, const std::uint8_t* name, std::uint32_t count,
                  std::uint32_t flags, std::uint32_t ttl_seconds) {
  return save_with_note(context, name, count, flags, ttl_seconds, nullptr, 0);
}
std::int32_t save_with_note(std::int32_t context, const std::uint8_t* name, std::uint32_t count,
                            std::uint32_t flags, std::uint32_t ttl_seconds,
                            const std::uint8_t* note, std::uint32_t note_bytes) {
  const auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  const std::string wanted = name_of(name, count);
  if (note_bytes > 1u << 20) {
    return host.refuse(ErrorCode::TooLarge, "note: " + std::to_string(note_bytes) + " bytes");
  }
  if (host.snapshots.contains(wanted) && (flags & 1) == 0) {
    return failed_future(ErrorCode::AlreadyExists, "the snapshot \"" + wanted + "\" exists");
  }
  auto& kept = host.snapshots[wanted] = {*held, ttl_seconds};
  kept.context.note.clear();
  if (note_bytes > 0) kept.note = name_of(note, note_bytes);
  return host.ready_future("");
}
std::int32_t note_of(std::int32_t context, void* note, std::uint32_t capacity) {
  auto* held = find_context(context);
  if (held == nullptr) return unknown("context");
  const auto bytes = static_cast<std::uint32_t>(held->note.size());
  if (bytes == 0) return 0;
  std::memcpy(note, held->note.data(), std::min(bytes, capacity));
  if (bytes <= capacity) held->note.clear();
  return static_cast<std::int32_t>(bytes);
}
std::int32_t open(std::int32_t queue, const std::uint8_t* name, std::uint32_t count) {
  return open_snapshot(queue, name_of(name, count), false);
}
std::int32_t take(std::int32_t queue, const std::uint8_t* name, std::uint32_t count) {
  return open_snapshot(queue, name_of(name, count), true);
}
std::int32_t delete_(const std::uint8_t* name, std::uint32_t count) {
  if (host.snapshots.erase(name_of(name, count)) == 0) {
    return failed_future(ErrorCode::NotFound, "no such snapshot");
  }
  return host.ready_future("");
}
std::int32_t list() {
  const auto count = static_cast<std::uint32_t>(host.snapshots.size());
  std::string out = bytes_of(std::vector<std::uint32_t>{count, 0});
  out += bytes_of(std::vector<std::uint64_t>{100 * std::uint64_t{count}});
  for (const auto& [name, snapshot] : host.snapshots) {
    out += bytes_of(std::vector<std::uint64_t>{
        1000, snapshot.ttl_seconds == 0 ? 0 : 1000 + 1000 * std::uint64_t{snapshot.ttl_seconds},
        snapshot.context.computed.size(), 100});
    out += bytes_of(std::vector<std::uint32_t>{static_cast<std::uint32_t>(name.size())}) + name;
  }
  return host.ready_future(std::move(out));
}
std::int32_t seq_len(std::int32_t context) {
  return static_cast<std::int32_t>(host.contexts[context].computed.size());
}
std::int32_t page_size(std::int32_t) {
  return 16;
}
std::int32_t committed_page_count(std::int32_t context) {
  return static_cast<std::int32_t>(committed_count_of(host.contexts[context]));
}
std::int32_t working_page_count(std::int32_t context) {
  return (seq_len(context) % 16 + 15) / 16;
}
std::int32_t working_page_token_count(std::int32_t context) {
  return seq_len(context) % 16;
}
std::int32_t found_token_count(std::int32_t) {
  return 0;  // It has no cache.
}

}  // namespace context

}  // namespace quire::abi
