#pragma once
// Mistakes that a program can make in any call, derived from the kinds and names of its parameters.
// Part of harness.h.
#include <cmath>
#include <limits>
#include <utility>

namespace quire::conformance {

// Errors of a wrong pointer or length: some lengths are too large before the address is looked at.
inline const Codes kOutside = {ErrorCode::OutOfRange, ErrorCode::InvalidArgument,
                               ErrorCode::TooLarge, ErrorCode::QuotaExceeded};
inline constexpr Word kLengthsTooLarge[] = {0x8000'0000, 0xFFFF'FFFF};

// The child holds what it is not asked for and says under which numbers, then waits to be killed.
inline std::int32_t Harness::be_neighbour() {
  Handles all(400);
  const std::int32_t model = abi::models::get_model(nullptr, 0);
  const std::int32_t queue = abi::queue::create_queue(model, 1);
  // So many slots that no program here has a handle in those that follow.
  abi::allocate::alloc_emb(queue, 400, all.data());
  std::int32_t page = 0;
  abi::allocate::alloc_kvpage(queue, 1, &page);
  const Handles told = {abi::models::get_model(nullptr, 0),
                        abi::queue::create_queue(model, 1),
                        page,
                        all.back(),
                        abi::context::create(queue),
                        abi::runtime::sleep(kPatienceNs),
                        abi::messaging::subscribe(bytes("harness"), 7)};
  abi::session::send(reinterpret_cast<const std::uint8_t*>(told.data()),
                     static_cast<std::uint32_t>(told.size() * sizeof told[0]));
  const std::int32_t message = abi::session::receive();
  abi::future::wait(&message, 1, -1);
  return 0;
}

// A child that hears nothing, and waits to be killed.
inline std::int32_t Harness::be_deaf() {
  const std::int32_t night = abi::runtime::sleep(kPatienceNs);
  abi::future::wait(&night, 1, -1);
  return 0;
}

inline void Harness::begin_neighbour() {
  const char arguments[] = "\x09\0\0\0neighbour";
  neighbour_ = abi::runtime::launch(nullptr, 0, bytes(arguments), sizeof arguments - 1, 30);
  const std::int32_t message = abi::runtime::receive_child(neighbour_);
  wait(message);
  foreign_.resize(7);
  const std::int32_t count = abi::future::take(message, foreign_.data(), 7 * sizeof foreign_[0]);
  check(count == 7 * sizeof foreign_[0], "the harness has no neighbour");
}

// Numbers that are not a handle of the kind which the parameter of that name takes.
inline std::vector<Word> Harness::wrong_handles(const Call& call,
                                                const std::string& parameter) const {
  std::vector<Word> wrong = {0, 0xFFFF'FFFF, 0x7FFF'FFFF, 0x8000'0000, 12'345'678};
  for (const Handles* each : {&stale_, &foreign_}) {
    for (const std::int32_t handle : *each) wrong.push_back(static_cast<std::uint32_t>(handle));
  }
  if (parameter == "handle") return wrong;  // future.drop takes all kinds.
  const bool takes_context =
      parameter == "context" ||
      (parameter == "source" && call.interface_name == std::string("context"));
  const std::pair<std::int32_t, bool> others[] = {
      {model, parameter == "model"},
      {queue, parameter == "queue"},
      {page, parameter == "page" || parameter == "pages" || parameter == "ikv" ||
                 parameter == "okv" || parameter == "target" ||
                 (parameter == "source" && !takes_context)},
      {embed,
       parameter == "embed" || parameter == "embeds" || parameter == "iemb" || parameter == "oemb"},
      {context, takes_context},
      {subscription, parameter == "subscription"},
      {neighbour_, parameter == "child"}};
  for (const auto& [handle, is_right] : others) {
    const auto word = static_cast<std::uint32_t>(handle);
    if (!is_right) wrong.push_back(word);
    wrong.push_back(word ^ 0x0020'0000);  // Another generation of the slot.
  }
  return wrong;
}

inline void Harness::try_word(const Call& call, std::vector<Word> words, std::size_t at, Word value,
                              const Codes& allowed) {
  const Word before = std::exchange(words[at], value);
  expect(call, allowed, outcome(call, words),
         std::string(call.parameters[at].name) + " " + std::to_string(value) + " in the place of " +
             std::to_string(before));
}

inline void Harness::wrong_handle(const Call& call, const std::vector<Word>& words,
                                  std::size_t at) {
  for (const Word handle : wrong_handles(call, call.parameters[at].name)) {
    try_word(call, words, at, handle, {ErrorCode::NotFound});
  }
}

inline void Harness::wrong_list(const Call& call, const std::vector<Word>& words, std::size_t at) {
  for (const Word count : kLengthsTooLarge) {
    try_word(call, words, at + 1, count, kOutside);
    std::vector<Word> from_null = words;
    from_null[at] = 0;
    try_word(call, from_null, at + 1, count, kOutside);
  }
  // Beyond the end, across it, and so that pointer and length together are small again.
  std::vector<Word> two = words;
  two[at + 1] = std::max<Word>(words[at + 1], 2);
  for (const Word pointer : {memory_end(), memory_end() - 1, 0xFFFF'FFFEu}) {
    try_word(call, two, at, pointer, kOutside);
  }
}

inline void Harness::wrong_elements(const Call& call, const std::vector<Word>& words,
                                    std::size_t at) {
  const Word count = words[at + 1];
  if (count == 0) return;
  const auto* first = reinterpret_cast<const std::int32_t*>(static_cast<std::uintptr_t>(words[at]));
  const std::string parameter = call.parameters[at].name;
  for (const Word handle : wrong_handles(call, parameter)) {
    if (handle == 0 && parameter == "ikv") continue;  // A hole.
    Handles list(first, first + count);
    list.back() = static_cast<std::int32_t>(handle);
    try_word(call, words, at, reinterpret_cast<std::uintptr_t>(list.data()), {ErrorCode::NotFound});
  }
}

// Texts that must be text.
inline void Harness::wrong_text(const Call& call, const std::vector<Word>& words, std::size_t at) {
  const std::string_view parameter = call.parameters[at].name;
  constexpr std::string_view kTexts[] = {"name",    "topic", "program",
                                         "request", "url",   "media-type"};
  const bool is_text =
      std::find(std::begin(kTexts), std::end(kTexts), parameter) != std::end(kTexts) ||
      (parameter == "text" && call.interface_name == std::string("tokenize"));
  if (!is_text) return;
  for (const char* text : {"\xFF\xFE", "a\xC0\xAF", "\xED\xA0\x80", "cut \xE2\x82"}) {
    std::vector<Word> with_text = words;
    with_text[at + 1] = std::strlen(text);
    try_word(call, with_text, at, reinterpret_cast<std::uintptr_t>(text),
             {ErrorCode::InvalidArgument});
  }
}

inline void Harness::wrong_address(const Call& call, const std::vector<Word>& words,
                                   std::size_t at) {
  const bool has_capacity =
      at + 1 < call.word_count && call.parameters[at + 1].name == std::string_view("capacity");
  std::vector<Word> room = words;
  if (has_capacity) {
    for (const Word count : kLengthsTooLarge) try_word(call, words, at + 1, count, kOutside);
    room[at + 1] = 32;
  }
  for (const Word address : {memory_end(), 0xFFFF'FFFFu, 0xFFFF'FFF0u}) {
    try_word(call, room, at, address, kOutside);
  }
}

template <typename... A>
void Harness::mistakes(const char* name, const A&... arguments) {
  const Call& call = find(name);
  const std::vector<Word> words = Arguments(arguments...).words;
  if (words.size() != call.word_count) __builtin_trap();
  for (std::size_t at = 0; at < words.size(); ++at) {
    const abi::Parameter& parameter = call.parameters[at];
    if (parameter.kind == WordKind::Handle) wrong_handle(call, words, at);
    if (parameter.kind == WordKind::Address) wrong_address(call, words, at);
    if (parameter.kind == WordKind::ListPointer) {
      wrong_list(call, words, at);
      wrong_text(call, words, at);
      if (parameter.holds_handles) wrong_elements(call, words, at);
    }
    if (parameter.kind == WordKind::Float) {
      for (const double number : {std::nan(""), std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity(), -1.0, 1e300}) {
        try_word(call, words, at, std::bit_cast<Word>(number), {ErrorCode::InvalidArgument});
      }
    }
    if (parameter.name == std::string_view("flags")) {
      try_word(call, words, at, 0xFFFF'FFFF, {ErrorCode::InvalidArgument});
      try_word(call, words, at, 0x8000'0000, {ErrorCode::InvalidArgument});
    }
  }
}

template <typename... A>
void Harness::edges(const char* name, const A&... arguments) {
  const Call& call = find(name);
  const std::vector<Word> words = Arguments(arguments...).words;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (call.parameters[at].kind != WordKind::ListPointer) continue;
    const Word last = memory_end() - call.parameters[at].element_bytes;
    const std::pair<Word, Word> lists[] = {{0, 0}, {memory_end(), 0}, {0, 1}, {last, 1}};
    for (const auto& [pointer, count] : lists) {
      std::vector<Word> edge = words;
      edge[at] = pointer;
      edge[at + 1] = count;
      const std::int64_t value = outcome(call, edge);
      if (value == -static_cast<std::int64_t>(ErrorCode::Internal)) failed(call, "no such", value);
    }
  }
}

inline std::int32_t Harness::finish() {
  for (const std::int32_t each : {neighbour_, subscription, context, embed, page, queue, model}) {
    abi::future::drop(each);
  }
  for (int ms = 0; ms < finish_wait_ms && limits() != base_; ms += 10) sleep_ms(10);
  check(limits() == base_,
        ("not all was given back; at first:\n" + base_ + "now:\n" + limits()).c_str());
  std::string text;
  bool is_well = true;
  for (const std::string& line : lines_) {
    is_well = is_well && line.starts_with("CALL ");
    text += line + "\n";
  }
  const auto* const first = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto count = static_cast<std::uint32_t>(text.size());
  // A program that an HTTP request launched has no session: its notes wait for another instance.
  if (abi::session::send(first, count) == -static_cast<std::int32_t>(ErrorCode::NotSupported)) {
    abi::messaging::push(bytes(kNoted), std::strlen(kNoted), first, count);
  }
  return is_well ? 0 : 1;
}

}  // namespace quire::conformance
