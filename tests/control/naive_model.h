#pragma once
// The simplest model of a page store that could be right. A context is its list of tokens, and
// which slots were dropped after how many of them; a page is its slots. What follows is a checksum
// of everything visible, by the rule of the simulated device
// (inference/devices/simulated/simulated_backend.h), which is worked out here from the first token
// on, each time.
#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "control/device_mix.h"

namespace quire::test {

using Sequence = std::vector<std::uint32_t>;

// Slots [begin, end) were dropped when `written` tokens were written.
struct Drop {
  std::uint32_t written = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  auto operator<=>(const Drop&) const = default;
};

// Tokens from `first` on are of this set of adapters (digest_of_set(); 0: the base model).
struct Switch {
  std::uint32_t first = 0;
  std::uint64_t set = 0;
};

// A token's keys and values.
struct Slot {
  bool is_written = false;
  std::uint32_t position = 0;
  std::uint64_t input = 0;
  std::uint64_t context = 0;  // What its token saw, and what it is.
  std::uint64_t set = 0;      // Of adapters, which `input` has in it.
};

struct Content {
  Sequence tokens{};
  std::vector<Drop> drops{};  // By rising `written`.
  std::vector<Slot> given{};  // Of the first tokens, if they were not computed here but handed in.
  std::vector<Switch> switches{};  // Of adapters, by rising `first`.
  bool has_states = false;         // The model's layers have some.

  std::uint32_t length() const { return static_cast<std::uint32_t>(tokens.size()); }

  // The set of the token at `slot`, or of the next one.
  std::uint64_t set_of(std::uint32_t slot) const {
    std::uint64_t set = 0;
    for (const Switch& each : switches) {
      if (each.first <= slot) set = each.set;
    }
    return set;
  }
  // Tokens appended from now on are of `set`.
  void use(std::uint64_t set) {
    std::erase_if(switches, [this](const Switch& each) { return each.first >= length(); });
    switches.push_back({length(), set});
  }

  // Whether a token at `at`, the next to be written or a later one, sees `slot`.
  bool sees(std::uint32_t at, std::uint32_t slot) const {
    return std::none_of(drops.begin(), drops.end(), [&](const Drop& drop) {
      return drop.written <= at && drop.begin <= slot && slot < drop.end;
    });
  }

  // Ends at `end` now; what was dropped stays dropped.
  void cut(std::uint32_t end) {
    const std::uint64_t in_force = set_of(length());
    tokens.resize(end);
    use(in_force);
    given.resize(std::min<std::size_t>(given.size(), end));
    for (Drop& drop : drops) {
      drop.written = std::min(drop.written, end);
      drop.end = std::min(drop.end, end);
    }
    std::erase_if(drops, [](const Drop& drop) { return drop.begin >= drop.end; });
  }

  // Full pages among the first `end` slots that can still be seen.
  std::uint32_t seen_page_count(std::uint32_t page_size, std::uint32_t end) const {
    std::uint32_t count = 0;
    for (std::uint32_t page = 0; page < end / page_size; ++page) {
      bool is_seen = false;
      for (std::uint32_t slot = page * page_size; slot < (page + 1) * page_size; ++slot) {
        is_seen |= sees(end, slot);
      }
      count += is_seen;
    }
    return count;
  }
};

inline std::uint64_t under(std::uint64_t input, std::uint64_t set) {
  return set == 0 ? input : mix(input, set);
}
inline std::uint64_t input_of_token(std::uint32_t token, std::uint64_t set = 0) {
  return under(mix(kDeviceSeed, token), set);
}
inline std::uint64_t input_of_output(std::uint64_t output, std::uint64_t set = 0) {
  return under(mix(kDeviceSeed + 1, output), set);
}

enum class Layer : std::uint8_t { Inputs, Contexts };

// The digest of a row that is `input` at `position` and sees these slots, in this order.
inline std::uint64_t attend(std::uint64_t input, std::uint32_t position,
                            const std::vector<const Slot*>& seen, Layer layer) {
  std::uint64_t digest = kDeviceSeed;
  for (const Slot* slot : seen) {
    const std::uint64_t content = layer == Layer::Inputs ? slot->input : slot->context;
    digest = mix(mix(digest, content), slot->position);
  }
  return mix(mix(input, position), digest);
}

// The slots before `end` that a token at `at` sees.
inline std::vector<const Slot*> seen_at(const Content& content, const std::vector<Slot>& slots,
                                        std::uint32_t at, std::uint32_t end) {
  std::vector<const Slot*> seen;
  for (std::uint32_t slot = 0; slot < end; ++slot) {
    if (content.sees(at, slot)) seen.push_back(&slots[slot]);
  }
  return seen;
}

inline std::vector<Slot> slots_of(const Content& content) {
  std::vector<Slot> slots = content.given;
  slots.resize(content.length());
  std::uint64_t state = mix(kDeviceSeed);
  for (auto at = static_cast<std::uint32_t>(content.given.size()); at < slots.size(); ++at) {
    slots[at] = {.is_written = true,
                 .position = at,
                 .input = input_of_token(content.tokens[at], content.set_of(at)),
                 .set = content.set_of(at)};
    slots[at].context =
        attend(slots[at].input, at, seen_at(content, slots, at, at + 1), Layer::Inputs);
    if (content.has_states) slots[at].context = state = mix(state, slots[at].context);
  }
  return slots;
}

// The output after the last token. Requires: there is one.
inline std::uint64_t output_after(const Content& content) {
  const std::uint32_t length = content.length();
  const std::vector<Slot> slots = slots_of(content);
  const std::uint64_t output =
      attend(input_of_token(content.tokens.back(), content.set_of(length - 1)), length - 1,
             seen_at(content, slots, length, length), Layer::Contexts);
  return content.has_states ? mix(slots.back().context, output) : output;
}

// A place in the table of a low-level forward pass.
struct Place {
  Slot* slot = nullptr;    // Null: a hole.
  bool is_visible = true;  // mask_kvpage.
};

// A row of a low-level forward pass, and where its keys and values go: an index into the table.
struct Row {
  std::uint64_t input = 0;
  std::uint32_t position = 0;
  std::size_t own = kNowhere;
  std::uint64_t set = 0;  // Of adapters, which `input` has in it.
  static constexpr std::size_t kNowhere = ~std::size_t{0};
};

// One pass over a table. `mask[row * table + place]`, or empty: what lies before it. Writes the
// rows' slots and returns the output of each row.
inline std::vector<std::uint64_t> forward_pass(const std::vector<Row>& rows,
                                               const std::vector<Place>& table,
                                               const std::vector<std::uint8_t>& mask) {
  for (const Row& row : rows) {
    if (row.own == Row::kNowhere) continue;
    Slot& own = *table[row.own].slot;
    own.is_written = true;
    own.position = row.position;
    own.input = row.input;
    own.set = row.set;
  }
  const auto seen_by = [&](std::size_t index) {
    const Row& row = rows[index];
    std::vector<const Slot*> seen;
    for (std::size_t at = 0; at < table.size(); ++at) {
      const Slot* slot = table[at].slot;
      if (slot == nullptr || !slot->is_written || !table[at].is_visible) continue;
      const bool is_before =
          slot->position < row.position || (slot->position == row.position && at <= row.own);
      if (mask.empty() ? is_before : mask[index * table.size() + at] != 0) seen.push_back(slot);
    }
    return seen;
  };
  std::vector<std::uint64_t> results;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    results.push_back(
        attend(rows[index].input, rows[index].position, seen_by(index), Layer::Inputs));
  }
  for (std::size_t index = 0; index < rows.size(); ++index) {
    if (rows[index].own != Row::kNowhere) table[rows[index].own].slot->context = results[index];
  }
  for (std::size_t index = 0; index < rows.size(); ++index) {
    results[index] =
        attend(rows[index].input, rows[index].position, seen_by(index), Layer::Contexts);
  }
  return results;
}

// The most probable tokens of an output, falling.
inline std::vector<std::uint32_t> top_tokens(std::uint64_t output, std::uint32_t vocabulary_size,
                                             std::size_t count) {
  std::vector<std::uint64_t> values;
  for (std::uint32_t token = 0; token < vocabulary_size; ++token) {
    values.push_back(mix(output, token) >> 40);
  }
  std::vector<std::uint32_t> tokens(vocabulary_size);
  std::iota(tokens.begin(), tokens.end(), 0u);
  const auto middle = tokens.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(
      tokens.begin(), middle, tokens.end(), [&](std::uint32_t left, std::uint32_t right) {
        return values[left] != values[right] ? values[left] > values[right] : left < right;
      });
  tokens.erase(middle, tokens.end());
  return tokens;
}

}  // namespace quire::test
