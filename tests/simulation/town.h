#pragma once
// Town: the record, outside of the engine, of all programs of a world and of the messages between
// them. Guests and clients write down what they did, and compare what they get with the rest.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "control/naive_model.h"
#include "simulation/adapter_book.h"
#include "simulation/dice.h"
#include "simulation/findings.h"
#include "simulation/knobs.h"
#include "simulation/trace.h"

namespace quire::simulation {

using TenantNumber = std::uint32_t;
using InstanceNumber = std::uint64_t;

// How a guest's own code came to its end; None: it did not, and was ended.
enum class Departure : std::uint8_t { None, Finished, Trapped };

struct Resident {
  TenantNumber tenant = 0;
  InstanceNumber parent = 0;      // 0: a client launched it.
  std::uint64_t said_count = 0;   // Messages that the instance sent to its client or parent.
  std::uint64_t heard_count = 0;  // Of these, what arrived there.
  std::uint64_t told_count = 0;   // Messages that its client sent to it.
  Departure departure = Departure::None;
  std::int32_t exit_code = 0;
  std::string result;
  bool has_ended = false;  // Its client, or parent, was notified.
  std::string waits_for;   // What its guest waits for, in words; for findings.
};

inline std::string model_name(std::uint32_t model) {
  return model == 0 ? "simulated" : "simulated-" + std::to_string(model);
}

// The operator loads adapters by these names, if the world has any.
inline constexpr const char* kAdapterNames[] = {"one", "two", "three"};

// Messages of a resident say whose they are and how many it sent before.
inline std::string message_text(InstanceNumber instance, std::uint64_t number) {
  return std::to_string(instance) + ":" + std::to_string(number);
}

// The content of any file of this world from `offset` on.
inline std::string file_part(std::uint64_t offset, std::uint64_t bytes) {
  std::string part;
  for (std::uint64_t at = offset; at < offset + bytes; ++at) {
    part.push_back(static_cast<char>('a' + at % 26));
  }
  return part;
}

struct Town {
  Town(Trace& the_trace, Findings& the_findings, ManualClock& the_clock, const Knobs& the_knobs,
       std::uint64_t seed)
      : trace(the_trace), findings(the_findings), clock(the_clock), knobs(the_knobs), dice(seed) {}

  Trace& trace;
  Findings& findings;
  ManualClock& clock;
  const Knobs& knobs;
  Dice dice;

  std::map<InstanceNumber, Resident> residents;
  std::map<std::pair<TenantNumber, std::string>, std::vector<std::string>> broadcasts;
  // The queues' messages: those that were pushed, and those that were taken.
  std::set<std::pair<TenantNumber, std::string>> pushed;
  std::set<std::pair<TenantNumber, std::string>> pulled;
  // The content of snapshots and exports. Their names are made of it, so a guest that opens one
  // knows it.
  struct Kept {
    test::Content content;
    std::uint32_t model = 0;
  };
  AdapterBook adapters;
  std::map<std::string, Kept> saved;
  std::map<std::string, Kept> exported;
  // Values of counters: guests tried to put some there, and of these the store took some.
  using Count = std::tuple<TenantNumber, std::string, std::uint64_t>;
  struct Counters {
    std::set<Count> tried;
    std::set<Count> put;
  } counters;
  // By the parent and its count of launches: who its child became, once that has begun.
  std::map<std::pair<InstanceNumber, std::uint32_t>, InstanceNumber> children;
  // Bodies of requests: that guests sent to their end, and that a server answered.
  std::set<std::string> posted;
  std::set<std::string> answered;
  std::map<std::string, std::uint64_t> call_counts;  // Of all guests, by "interface.name".
  bool is_closing = false;                           // Guests begin nothing new.
  std::uint32_t drop_count = 0;                      // How often all futures were to be dropped.

  // By instance and the number of its file: bytes that have arrived.
  std::map<std::pair<InstanceNumber, std::uint64_t>, std::uint64_t> files;

  // A part of a file that an instance sent has arrived.
  void heard_part(InstanceNumber from, std::uint64_t file, std::uint64_t offset,
                  std::string_view bytes);
  // A message that an instance sent has arrived, once and in its order.
  void heard(InstanceNumber from, const std::string& text);
  // The word of an instance's end has arrived.
  void ended(InstanceNumber instance, std::uint8_t kind, std::int32_t exit_code,
             const std::string& result);
};

}  // namespace quire::simulation
