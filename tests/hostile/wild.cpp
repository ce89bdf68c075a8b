// wild: a program of random calls with random, wrong and stale arguments. Arguments: the seed, how
// many calls, a URL that it may reach, and the name of another model. It sends how many it made; it
// ends with 1 where a call gave what none may give.
//
// Every import of the interface is in it, from the table that is written from the WIT. What calls
// give is kept under the names that parameters have, so that many calls come as far as they can.
#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call_table.h"

namespace {

using namespace quire::abi;

// The host may write to the end of the memory, after a heap that is large enough from the first. So
// the program does not break itself.
constexpr std::size_t kHeapBytes = 8u << 20;
constexpr std::size_t kRoomBytes = 1u << 20;
constexpr std::size_t kWrittenBytesMax = kRoomBytes / 2;
constexpr std::size_t kKeptCountMax = 64;  // Of each kind of handle.
constexpr std::size_t kStaleCount = 4;     // Kept of those that are dropped.
constexpr std::uint64_t kChildCallCount = 200;
constexpr Word kNumbers[] = {0,
                             1,
                             2,
                             3,
                             7,
                             15,
                             16,
                             17,
                             100,
                             255,
                             256,
                             1023,
                             1024,
                             65'535,
                             65'536,
                             0x7FFF'FFFF,
                             0x8000'0000,
                             0xFFFF'FFFE,
                             0xFFFF'FFFF,
                             0x7FFF'FFFF'FFFF'FFFF,
                             0x8000'0000'0000'0000,
                             ~Word{0}};
constexpr double kFloats[] = {0.0, 0.5, 1.0, -1.0, 1e300, 1e-300};

class Wild {
 public:
  Wild(std::uint64_t seed, std::vector<std::string> texts)
      : state_(seed * 0x9E37'79B9'7F4A'7C15 + 1), texts_(std::move(texts)) {
    std::free(std::malloc(kHeapBytes));
    room_ = __builtin_wasm_memory_grow(0, kRoomBytes / 65'536) * 65'536;
  }

  // False where a call gave what none may give.
  bool step() {
    if (below(16) == 0) have_something();
    const Call& call = kCalls[below(std::size(kCalls))];
    const std::string_view name = call.name;
    std::vector<Word> words(call.word_count);
    lists_.clear();
    is_careful_ = below(4) == 0;
    careful_count_ = 1 + below(3);
    for (std::uint32_t at = 0; at < call.word_count; ++at) {
      const Parameter& parameter = call.parameters[at];
      switch (parameter.kind) {
        case WordKind::Handle:
          words[at] = handle(call, parameter.name);
          break;
        case WordKind::Address:
          words[at] = address();
          break;
        case WordKind::ListPointer:
          list(call, parameter, words[at], words[at + 1]);
          break;
        case WordKind::ListCount:
          break;
        case WordKind::Number:
          words[at] = number(parameter.name);
          break;
        case WordKind::Float:
          words[at] = std::bit_cast<Word>(real());
          break;
      }
    }
    const std::int64_t value = call.make(words.data());
    ++count_;
    if (!is_possible(value)) {
      wrong_ =
          std::string(call.interface_name) + "." + call.name + " gave " + std::to_string(value);
      return false;
    }
    if (value >= 0) has_succeeded_[static_cast<std::size_t>(&call - kCalls)] = true;
    if (value > 0) keep(call, static_cast<std::uint32_t>(value));
    return true;
  }

  std::uint64_t count() const { return count_; }
  // How many of the calls came to something at least once.
  std::size_t succeeded_count() const { return has_succeeded_.count(); }
  // The others.
  std::string refused() const {
    std::string names;
    for (std::size_t at = 0; at < std::size(kCalls); ++at) {
      if (!has_succeeded_[at])
        names += std::string(" ") + kCalls[at].interface_name + "." + kCalls[at].name;
    }
    return names;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  using Pool = std::vector<std::uint32_t>;

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t count) { return next() % count; }

  // A value, or an error that has a name; and nothing of the host's own may have broken.
  static bool is_possible(std::int64_t value) {
    if (value >= 0) return true;
    if (value < -std::numeric_limits<std::int32_t>::max()) return false;
    const auto code = static_cast<ErrorCode>(-value);
    return code != ErrorCode::Internal && error_code_name(code) != std::string_view("unknown");
  }

  // Handles of one kind go by one name.
  static std::string_view kind_of(std::string_view interface_name, std::string_view parameter) {
    if (parameter == "pages" || parameter == "ikv" || parameter == "okv" || parameter == "target") {
      return "page";
    }
    if (parameter == "embeds" || parameter == "iemb" || parameter == "oemb") return "embed";
    if (parameter == "futures") return "future";
    if (parameter == "source") return interface_name == "context" ? "context" : "page";
    if (parameter == "matchers") return "matcher";
    return parameter;
  }
  // The kind that a call gives; empty for none.
  static std::string_view given_by(const Call& call) {
    constexpr std::array<std::string_view, 2> kGivers[] = {
        {"get-model", "model"},        {"create-queue", "queue"},  {"create", "context"},
        {"subscribe", "subscription"}, {"launch", "child"},        {"http-request", "exchange"},
        {"send-file", "file"},         {"generate", "generation"}, {"create-rule", "rule"},
        {"create-matcher", "matcher"}, {"fork-matcher", "matcher"}};
    if (call.gives_future) return "future";
    for (const auto& [name, kind] : kGivers) {
      if (name == call.name) return kind;
    }
    return "";
  }
  void keep_handle(std::string_view kind, std::uint32_t value) {
    Pool& pool = pools_[std::string(kind)];
    if (pool.size() < kKeptCountMax) {
      pool.push_back(value);
    } else {
      pool[below(pool.size())] = value;
    }
  }
  void keep(const Call& call, std::uint32_t value) {
    const std::string_view kind = given_by(call);
    if (!kind.empty()) keep_handle(kind, value);
    // The first number of a result may be a handle: of a fork, a file, a snapshot.
    std::uint32_t first = 0;
    std::memcpy(&first, reinterpret_cast<const void*>(room_), sizeof first);
    if (call.name == std::string_view("take")) keep_handle(below(2) ? "context" : "file", first);
  }
  // Pages, embeddings and contexts to do something with.
  void have_something() {
    // If it is not a model's name, the first model has the handle.
    const std::string& name = texts_.back();
    std::int32_t model =
        below(4) ? -1
                 : quire::abi::models::get_model(reinterpret_cast<const std::uint8_t*>(name.data()),
                                                 static_cast<std::uint32_t>(name.size()));
    if (model < 0) model = quire::abi::models::get_model(nullptr, 0);
    const std::int32_t queue = create_queue(model);
    std::int32_t some[4] = {};
    if (allocate::alloc_kvpage(queue, 4, some) == 4) {
      for (const std::int32_t each : some) keep_handle("page", static_cast<std::uint32_t>(each));
    }
    if (allocate::alloc_emb(queue, 4, some) == 4) {
      for (const std::int32_t each : some) keep_handle("embed", static_cast<std::uint32_t>(each));
    }
    const std::int32_t context = context::create(queue);
    const std::uint32_t tokens[5] = {3, 1, 4, 1, 5};
    context::append(context, tokens, 5);
    for (const auto& [kind, value] : std::initializer_list<std::pair<const char*, std::int32_t>>{
             {"model", model}, {"queue", queue}, {"context", context}}) {
      if (value > 0) keep_handle(kind, static_cast<std::uint32_t>(value));
    }
    if (pools_["matcher"].empty()) have_matcher(model);
    // Nothing has an end of its own here, so some objects go, even if they are in use.
    for (auto& [kind, pool] : pools_) {
      if (pool.size() == kKeptCountMax && below(4) == 0) {
        for (const std::uint32_t each : pool) future::drop(static_cast<std::int32_t>(each));
        pool.resize(kStaleCount);
      }
    }
  }
  void have_matcher(std::int32_t model) {
    constexpr std::uint8_t kSource[] = {'[', 'a', '-', 'c', ']', '+'};
    constexpr std::uint32_t kRegularExpression = 1;
    const std::int32_t compiled =
        constraint::compile_grammar(model, kRegularExpression, kSource, sizeof kSource);
    future::wait(&compiled, 1, 10'000'000);
    std::int32_t grammar = 0;
    if (future::take(compiled, &grammar, sizeof grammar) != sizeof grammar) return;
    keep_handle("grammar", static_cast<std::uint32_t>(grammar));
    const std::int32_t matcher = constraint::create_matcher(grammar);
    if (matcher > 0) keep_handle("matcher", static_cast<std::uint32_t>(matcher));
  }
  static std::int32_t create_queue(std::int32_t model) { return queue::create_queue(model, 1); }

  Word any_number() {
    if (below(8) == 0) {
      const Word any = next();
      // As a length: in the room, or in no memory.
      return static_cast<std::uint32_t>(any) < 0x1000'0000 ? any % (kWrittenBytesMax / 4) : any;
    }
    return kNumbers[below(std::size(kNumbers))];
  }
  Word handle(const Call& call, std::string_view parameter) {
    const std::string kind(kind_of(call.interface_name, parameter));
    const std::uint64_t choice = is_careful_ ? 15 : below(16);
    if (choice == 0) return static_cast<std::uint32_t>(any_number());
    if (choice < 3 && !pools_.empty()) {  // Of any kind.
      const Pool& pool = std::next(pools_.begin(), static_cast<long>(below(pools_.size())))->second;
      if (!pool.empty()) return pool[below(pool.size())];
    }
    const Pool& pool = pools_[kind == "handle" ? "future" : kind];
    if (pool.empty()) return static_cast<std::uint32_t>(any_number());
    const Word one = pool[below(pool.size())];
    if (choice == 3) return one ^ (Word{1} << below(32));
    // Made just before it, and perhaps not yet given to the program.
    return choice == 4 ? one - 1 : one;
  }
  Word address() {
    const std::uint64_t choice = below(16);
    if (choice == 0) return std::max<Word>(static_cast<std::uint32_t>(any_number()), room_);
    if (choice == 1) return memory_end() - below(64);
    return room_ + (choice < 4 ? below(64) : 0);
  }
  static Word memory_end() { return Word{__builtin_wasm_memory_size(0)} * 65'536; }

  // A list that may well be valid for the call: as many elements as the call's other lists have,
  // handles of one kind that were made in a row, positions that rise.
  void careful_list(const Call& call, const Parameter& parameter, Word& pointer, Word& count) {
    const std::string_view name = parameter.name;
    std::vector<std::uint32_t>& elements = lists_.emplace_back(32);
    count = careful_count_;
    if (name == "drafts") --count;                                  // Of one random number more.
    if (name == "mask" && parameter.element_bytes == 4) count = 0;  // All are allowed.
    if (parameter.holds_handles) {
      const Pool& pool = pools_[std::string(kind_of(call.interface_name, name))];
      count = std::min<Word>(count, pool.size());
      const std::uint64_t first = pool.empty() ? 0 : below(pool.size() - count + 1);
      std::copy_n(pool.begin() + static_cast<std::ptrdiff_t>(first), count, elements.begin());
    } else if (parameter.element_bytes == 1) {
      static const std::map<std::string_view, std::string> kMeant = {
          {"method", "POST"},   {"program", ""},
          {"arguments", ""},    {"headers", ""},
          {"mask", ""},         {"options", ""},
          {"source", "[a-c]+"}, {"request", R"({"messages":[{"role":"user","content":"a"}]})"}};
      const auto meant = kMeant.find(name);
      std::string text = meant != kMeant.end() ? meant->second : texts_[below(texts_.size())];
      if (name == "url") text = texts_[0];
      count = text.size();
      elements.resize(std::max<std::size_t>(elements.size(), text.size() / 4 + 1));
      std::memcpy(elements.data(), text.data(), text.size());
    } else {
      const std::uint64_t first = below(100);
      for (std::uint32_t at = 0; at < count; ++at) {
        elements[at] = static_cast<std::uint32_t>(first + at);
      }
    }
    pointer = reinterpret_cast<std::uintptr_t>(elements.data());
  }

  // In most cases a few elements that may be valid; else anything.
  void list(const Call& call, const Parameter& parameter, Word& pointer, Word& count) {
    if (is_careful_) return careful_list(call, parameter, pointer, count);
    count = below(16) == 0 ? static_cast<std::uint32_t>(any_number()) : below(20);
    pointer = address();
    if (below(8) == 0) return;
    std::vector<std::uint32_t>& elements = lists_.emplace_back(32);
    const std::string_view name = parameter.name;
    for (std::uint32_t& each : elements) {
      each = parameter.holds_handles ? static_cast<std::uint32_t>(handle(call, name))
                                     : static_cast<std::uint32_t>(below(1100));
    }
    if (parameter.element_bytes == 1) {
      const std::string& text = texts_[below(texts_.size())];
      const bool is_mask = name == "mask";
      if (is_mask) std::fill(elements.begin(), elements.end(), 0x0001'0001u);
      if (!is_mask)
        std::memcpy(elements.data(), text.data(), std::min(text.size(), 4 * elements.size()));
      if (below(8) > 0) count = is_mask ? 16 : text.size();
    }
    pointer = reinterpret_cast<std::uintptr_t>(elements.data());
  }
  Word number(std::string_view parameter) {
    // No wait may be longer than the test.
    if (parameter == "timeout-ns") return below(100'000);
    if (parameter == "duration-ns") return below(2) ? below(1'000'000) : next();
    if (parameter == "capacity") return below(4) ? below(65'536) : any_number();
    if (parameter == "flags" || parameter == "priority" || parameter == "kind") return below(4);
    if (parameter == "allowed") return below(3);
    if (parameter == "share") return below(110);
    if (parameter == "body-bytes" && is_careful_) return ~Word{0};  // In pieces.
    return below(2) ? below(24) : any_number();
  }
  double real() {
    const std::uint64_t choice = below(10);
    if (choice == 0) return std::bit_cast<double>(next());
    if (choice < 4) return kFloats[below(std::size(kFloats))];
    return static_cast<double>(below(1000)) / 1000.0;
  }

  std::uint64_t state_;
  std::vector<std::string> texts_;   // A URL first; names, bodies and methods; a model's name last.
  bool is_careful_ = false;          // The call at hand: it may well succeed.
  std::uint64_t careful_count_ = 0;  // Of the elements of its lists.
  std::uint64_t count_ = 0;
  std::map<std::string, Pool> pools_;
  std::vector<std::vector<std::uint32_t>> lists_;  // What the call at hand is given.
  std::string wrong_;
  std::bitset<std::size(kCalls)> has_succeeded_;
  std::uintptr_t room_ = 0;
};

std::string text_argument(std::uint32_t index) {
  char text[128] = {};
  runtime::get_arg(index, text, sizeof text - 1);
  return text;
}
std::uint64_t argument(std::uint32_t index) {
  return std::strtoull(text_argument(index).c_str(), nullptr, 10);
}

}  // namespace

extern "C" __attribute__((export_name("run"))) std::int32_t run();
extern "C" std::int32_t run() {
  // A child of a wild program has whatever arguments; it is wild too, for a while.
  const bool is_child = runtime::get_arg_count() != 4;
  const std::vector<std::string> texts = {
      is_child ? std::string("http://127.0.0.1/") : text_argument(2),
      "a",
      "name",
      "b",
      "GET",
      "{}",
      "text/plain",
      "\xFF",
      "forward",
      is_child ? std::string("c") : text_argument(3)};
  Wild wild(is_child ? static_cast<std::uint64_t>(runtime::get_instance_id()) : argument(0), texts);
  const std::uint64_t call_count = is_child ? kChildCallCount : argument(1);
  bool is_well = true;
  while (is_well && wild.count() < call_count) is_well = wild.step();
  const std::string text = is_well ? "\nCALLS " + std::to_string(wild.count()) + " " +
                                         std::to_string(wild.succeeded_count()) + "\nREFUSED" +
                                         wild.refused() + "\n"
                                   : "\nWRONG " + wild.wrong() + "\n";
  // The program's earlier output may wait for the client.
  while (session::send(reinterpret_cast<const std::uint8_t*>(text.data()),
                       static_cast<std::uint32_t>(text.size())) ==
         -static_cast<std::int32_t>(ErrorCode::QuotaExceeded)) {
    future::wait(nullptr, 0, 10'000'000);
  }
  return is_well ? 0 : 1;
}
