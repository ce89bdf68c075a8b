#include "inference/devices/simulated/simulated_backend.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "inference/devices/shared/batch_check.h"
#include "inference/devices/shared/output_forms.h"
#include "inference/devices/shared/page_transfer.h"

namespace quire::inference {
namespace {

// SplitMix64's finisher: every bit of the result depends on every bit of the argument.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ b);
}

// One visible slot as attention meets it.
struct Seen {
  std::uint32_t slot;
  std::uint32_t position;
  std::uint64_t content;
};

std::uint64_t fold(std::uint64_t digest, const Seen& seen) {
  return mix(mix(digest, seen.content), seen.position);
}

// The digest of the digests and scales: two sets act alike if these are equal.
std::uint64_t digest_of(const std::vector<AdapterUse>& set) {
  std::uint64_t digest = 0;
  for (const AdapterUse& use : set) {
    std::array<std::uint64_t, 4> words;
    static_assert(sizeof(words) == sizeof(Digest));
    std::memcpy(words.data(), use.adapter->digest().data(), sizeof(words));
    for (const std::uint64_t word : words) digest = mix(digest, word);
    digest = mix(digest, std::bit_cast<std::uint32_t>(use.scale));
  }
  return digest;
}

bool in_order(const std::vector<Seen>& seen) {
  return std::is_sorted(seen.begin(), seen.end(),
                        [](const Seen& a, const Seen& b) { return a.position < b.position; });
}

bool visible_to(const Row& row, std::uint32_t own_end, const Seen& seen) {
  return seen.position < row.position || (seen.position == row.position && seen.slot < own_end);
}

}  // namespace

ModelInfo simulated_model() {
  ModelInfo info;
  info.name = "simulated";
  info.architecture = "simulated";
  info.vocabulary_size = 512;
  info.context_length = 4096;
  info.embedding_width = 64;
  info.layer_count = 2;
  info.head_count = 4;
  info.kv_head_count = 2;
  info.head_dim = 16;
  info.bos_id = 1;
  info.eos_id = 0;
  info.stop_ids = {TokenId{0}};
  return info;
}

SimulatedBackend::SimulatedBackend(SimulatedBackendOptions options, CompletionSink& sink)
    : options_(std::move(options)),
      sink_(sink),
      tables_({.sequence_count = options_.sequence_count,
               .page_count = options_.page_count,
               .page_size = options_.page_size}),
      slots_(std::size_t{options_.page_count} * options_.page_size),
      embeds_(options_.embed_slot_count),
      states_(options_.state_count) {
  capabilities_.name = "simulated";
  capabilities_.numerics_id = "simulated-1-seed-" + std::to_string(options_.seed);
  capabilities_.batch_invariant = true;
  capabilities_.page_size = options_.page_size;
  capabilities_.page_count = options_.page_count;
  capabilities_.page_bytes = options_.page_size * sizeof(Slot);
  capabilities_.sequence_count = options_.sequence_count;
  capabilities_.embed_slot_count = options_.embed_slot_count;
  capabilities_.state_count = options_.state_count;
  capabilities_.state_bytes = options_.state_count == 0 ? 0 : sizeof(State);
  capabilities_.row_count_max = options_.row_count_max;
  capabilities_.inflight_max = options_.inflight_max;
  capabilities_.adapters = options_.adapters;
}

void SimulatedBackend::submit(Batch batch) {
  QUIRE_CHECK(inflight_.size() < options_.inflight_max, "batches under way");
  inflight_.push_back(std::move(batch));
  if (!options_.manual) complete_next();
}

std::uint64_t SimulatedBackend::next_duration_ns() const {
  QUIRE_CHECK(!inflight_.empty(), "a batch is under way");
  if (options_.duration_ns) return options_.duration_ns(inflight_.front());
  return 1000 + 1000 * static_cast<std::uint64_t>(inflight_.front().rows.size());
}

void SimulatedBackend::complete_next() {
  const std::uint64_t duration_ns = next_duration_ns();
  Batch batch = std::move(inflight_.front());
  inflight_.pop_front();
  Completion completion = execute(batch);
  completion.device_ns = duration_ns;
  completion.batch = std::move(batch);
  sink_.complete(std::move(completion));
}

SimulatedBackend::Slot& SimulatedBackend::slot_at(std::span<const TableEntry> table,
                                                  std::uint32_t slot) {
  const TableEntry& entry = table[slot / options_.page_size];
  return slots_[std::size_t{static_cast<std::uint32_t>(entry.page)} * options_.page_size +
                slot % options_.page_size];
}

std::uint64_t SimulatedBackend::content(const Slot& slot, const TableEntry& entry,
                                        std::uint32_t offset, Layer layer) const {
  if (slot.written == 1) return layer == Layer::Inputs ? slot.input : slot.context;
  const auto page = static_cast<std::uint64_t>(entry.page);
  return mix(mix(options_.seed, batch_count_), page * kPageSizeMax + offset);  // Noise.
}

Result<void> SimulatedBackend::begin_pass(const Batch& batch, std::size_t index,
                                          std::vector<RowState>& rows) {
  if (options_.fail_pass) {
    std::optional<Error> failure = options_.fail_pass(batch, index);
    if (failure) return std::move(*failure);
  }
  const ForwardPass& pass = batch.passes[index];
  for (std::uint32_t i = pass.row_first; i < pass.row_first + pass.row_count; ++i) {
    const Row& row = batch.rows[i];
    if (row.is_of_state) {
      rows[i].output = state_before(pass).output;
      continue;
    }
    if (row.embed == kNoEmbedSlot) {
      rows[i].input = mix(options_.seed, static_cast<std::uint64_t>(row.token));
    } else {
      const auto& kept = embeds_[static_cast<std::uint32_t>(row.embed)];
      if (!kept) return unread(row.embed);
      rows[i].input = mix(options_.seed + 1, *kept);
    }
    if (row.adapters == kNoAdapters) continue;
    rows[i].input = mix(rows[i].input, digest_of(*batch.adapter_sets[row.adapters]));
  }
  return {};
}

void SimulatedBackend::write_inputs(const Batch& batch, const ForwardPass& pass,
                                    const std::vector<RowState>& rows) {
  const std::span<const TableEntry> table = tables_.entries(pass.sequence);
  for (std::uint32_t i = pass.row_first; i < pass.row_first + pass.row_count; ++i) {
    const Row& row = batch.rows[i];
    if (row.slot == kNoSlot) continue;
    slot_at(table, row.slot) = {.input = rows[i].input, .position = row.position, .written = 1};
  }
}

void SimulatedBackend::attend(const Batch& batch, const ForwardPass& pass, Layer layer,
                              std::vector<RowState>& rows) {
  const std::span<const TableEntry> table = tables_.entries(pass.sequence);
  std::vector<Seen> seen;
  for (std::uint32_t s = 0; s < pass.visible_slot_end; ++s) {
    const TableEntry& entry = table[s / options_.page_size];
    const std::uint32_t offset = s % options_.page_size;
    if ((entry.visible >> offset & 1u) == 0) continue;
    const Slot& slot = slot_at(table, s);
    seen.push_back({s, slot.position, content(slot, entry, offset, layer)});
  }
  // If positions rise with the slots, a row sees a prefix: fold once for all rows.
  const bool by_prefix = !pass.mask && in_order(seen);
  std::vector<std::uint64_t> prefix(1, options_.seed);
  if (by_prefix) {
    for (const Seen& each : seen) prefix.push_back(fold(prefix.back(), each));
  }
  for (std::uint32_t r = 0; r < pass.row_count; ++r) {
    const Row& row = batch.rows[pass.row_first + r];
    RowState& state = rows[pass.row_first + r];
    const std::uint32_t own_end = row.slot == kNoSlot ? pass.visible_slot_end : row.slot + 1;
    std::uint64_t digest = options_.seed;
    if (by_prefix) {
      const auto end = std::partition_point(seen.begin(), seen.end(), [&](const Seen& each) {
        return visible_to(row, own_end, each);
      });
      digest = prefix[static_cast<std::size_t>(end - seen.begin())];
    } else {
      for (const Seen& each : seen) {
        bool is_visible = visible_to(row, own_end, each);
        if (pass.mask) {
          const std::size_t word = std::size_t{r} * pass.mask->words_per_row() + each.slot / 64;
          is_visible = each.slot < pass.mask->slot_count &&
                       (pass.mask->words[word] >> (each.slot % 64) & 1u) != 0;
        }
        if (is_visible) digest = fold(digest, each);
      }
    }
    const std::uint64_t self = mix(mix(state.input, row.position), digest);
    (layer == Layer::Inputs ? state.context : state.output) = self;
    if (has_states() && layer == Layer::Contexts) state.output = mix(state.state, self);
  }
}

SimulatedBackend::State SimulatedBackend::state_before(const ForwardPass& pass) const {
  if (pass.state_from == kNoState) return {.digest = mix(options_.seed), .output = 0};
  return state_in(pass.state_from);
}

SimulatedBackend::State SimulatedBackend::state_in(StateSlot of) const {
  const auto slot = static_cast<std::uint32_t>(of);
  if (states_[slot]) return *states_[slot];
  const std::uint64_t noise = mix(mix(~options_.seed, batch_count_), slot);
  return {.digest = noise, .output = mix(noise)};
}

void SimulatedBackend::advance_state(const ForwardPass& pass, std::vector<RowState>& rows) const {
  std::uint64_t digest = state_before(pass).digest;
  for (std::uint32_t i = pass.row_first; i < pass.row_first + pass.row_count; ++i) {
    digest = mix(digest, rows[i].context);
    rows[i].state = rows[i].context = digest;
  }
}

void SimulatedBackend::keep_states(const Batch& batch, const std::vector<RowState>& rows,
                                   const std::vector<Result<void>>& passes) {
  for (std::size_t p = 0; p < batch.passes.size(); ++p) {
    const ForwardPass& pass = batch.passes[p];
    for (std::uint32_t i = 0; i < pass.state_write_count; ++i) {
      const StateWrite& write = batch.state_writes[pass.state_write_first + i];
      std::optional<State>& kept = states_[static_cast<std::uint32_t>(write.slot)];
      kept.reset();
      const RowState& row = rows[pass.row_first + write.row_count - 1];
      if (passes[p].ok()) kept = {.digest = row.state, .output = row.output};
    }
  }
}

void SimulatedBackend::copy_slots(const PageCopy& copy) {
  const std::size_t page_size = options_.page_size;
  const Slot* from = &slots_[static_cast<std::uint32_t>(copy.from) * page_size + copy.from_slot];
  Slot* to = &slots_[static_cast<std::uint32_t>(copy.to) * page_size + copy.to_slot];
  if (to <= from) {
    std::copy(from, from + copy.slot_count, to);
  } else {
    std::copy_backward(from, from + copy.slot_count, to + copy.slot_count);
  }
}

std::span<SimulatedBackend::Slot> SimulatedBackend::page_slots(PageId page) {
  const std::size_t page_size = options_.page_size;
  return std::span(slots_).subspan(static_cast<std::uint32_t>(page) * page_size, page_size);
}

Result<void> SimulatedBackend::load(const Batch& batch, std::size_t index) {
  const PageLoad& load = batch.loads[index];
  const bool is_state = load.state != kNoState;
  if (is_state && !has_states()) return check_load(load, capabilities_);
  const std::span<Slot> slots = is_state ? std::span<Slot>() : page_slots(load.page);
  std::fill(slots.begin(), slots.end(), Slot{});
  if (is_state) states_[static_cast<std::uint32_t>(load.state)].reset();
  if (options_.fail_load) {
    std::optional<Error> failure = options_.fail_load(batch, index);
    if (failure) return std::move(*failure);
  }
  TRY(check_load(load, capabilities_));
  if (is_state) {
    State& state = states_[static_cast<std::uint32_t>(load.state)].emplace();
    std::memcpy(&state, load.bytes.span().data(), sizeof(State));
  } else {
    std::memcpy(slots.data(), load.bytes.span().data(), slots.size_bytes());
  }
  return {};
}

Result<PageBytes> SimulatedBackend::save(Batch& batch, std::size_t index) {
  if (options_.fail_save) {
    std::optional<Error> failure = options_.fail_save(batch, index);
    if (failure) return std::move(*failure);
  }
  PageSave& save = batch.saves[index];
  PageBytes bytes = TRY(take_memory(save, capabilities_));
  if (save.state != kNoState) {
    const State state = state_in(save.state);
    std::memcpy(bytes.span().data(), &state, sizeof(State));
    return bytes;
  }
  const std::span<const Slot> slots = page_slots(save.page);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot slot = (save.slots >> i & 1u) != 0 ? slots[i] : Slot{};
    std::memcpy(bytes.span().data() + i * sizeof(Slot), &slot, sizeof(Slot));
  }
  return bytes;
}

// An output that could not be computed leaves its slot empty, because the old vector must not be
// read.
void SimulatedBackend::keep_outputs(const Batch& batch, const std::vector<RowState>& rows,
                                    const std::vector<Result<void>>& passes) {
  for (std::size_t p = 0; p < batch.passes.size(); ++p) {
    const ForwardPass& pass = batch.passes[p];
    for (std::uint32_t i = pass.row_first; i < pass.row_first + pass.row_count; ++i) {
      if (batch.rows[i].output == kNoEmbedSlot) continue;
      auto& kept = embeds_[static_cast<std::uint32_t>(batch.rows[i].output)];
      kept.reset();
      if (passes[p].ok()) kept = rows[i].output;
    }
  }
}

namespace {

float softmax_numerators(float* x, std::uint32_t count, float inverse_temperature) {
  const float largest = *std::max_element(x, x + count);
  float sum = 0.0f;
  for (std::uint32_t i = 0; i < count; ++i) {
    x[i] = std::exp((x[i] - largest) * inverse_temperature);
    sum += x[i];
  }
  return sum;
}

}  // namespace

Result<Distribution> SimulatedBackend::distribution(const Batch& batch, std::size_t index,
                                                    const std::vector<RowState>& rows,
                                                    const std::vector<Result<void>>& passes) {
  const DistributionRequest& request = batch.distributions[index];
  std::uint64_t digest = 0;
  if (request.row != kNoSlot) {
    const auto pass = std::find_if(
        batch.passes.begin(), batch.passes.end(),
        [&](const ForwardPass& each) { return request.row - each.row_first < each.row_count; });
    const auto& outcome = passes[static_cast<std::size_t>(pass - batch.passes.begin())];
    if (!outcome.ok()) return outcome.error().copy();
    digest = rows[request.row].output;
  } else {
    const auto& kept = embeds_[static_cast<std::uint32_t>(request.embed)];
    if (!kept) return unread(request.embed);
    digest = *kept;
  }
  const bool is_vector = request.kind == DistributionKind::Vector;
  std::vector<float> values(is_vector ? model().embedding_width : model().vocabulary_size);
  for (std::size_t each = 0; each < values.size(); ++each) {
    values[each] = static_cast<float>(mix(digest, each) >> 40) * 0x1p-24f * 16.0f - 8.0f;
  }
  if (options_.has_nan && options_.has_nan(batch, index)) {
    values[digest % values.size()] = std::numeric_limits<float>::quiet_NaN();
  }
  if (!is_vector) return output_form(request, values, softmax_numerators, scratch_);
  Distribution result;
  result.values = std::move(values);
  return result;
}

std::vector<SimulatedBackend::RowState> SimulatedBackend::run_passes(const Batch& batch,
                                                                     Completion& completion) {
  std::vector<RowState> rows(batch.rows.size());
  for (std::size_t i = 0; i < batch.passes.size(); ++i) {
    completion.passes.push_back(begin_pass(batch, i, rows));
  }
  const auto for_each_pass = [&](const auto& action) {
    for (std::size_t i = 0; i < batch.passes.size(); ++i) {
      const ForwardPass& pass = batch.passes[i];
      if (completion.passes[i].ok() && !batch.rows[pass.row_first].is_of_state) action(pass);
    }
  };
  for_each_pass([&](const ForwardPass& pass) { write_inputs(batch, pass, rows); });
  for_each_pass([&](const ForwardPass& pass) { attend(batch, pass, Layer::Inputs, rows); });
  if (has_states()) for_each_pass([&](const ForwardPass& pass) { advance_state(pass, rows); });
  for_each_pass([&](const ForwardPass& pass) {
    const std::span<const TableEntry> table = tables_.entries(pass.sequence);
    for (std::uint32_t i = pass.row_first; i < pass.row_first + pass.row_count; ++i) {
      const Row& row = batch.rows[i];
      if (row.slot != kNoSlot) slot_at(table, row.slot).context = rows[i].context;
    }
  });
  for_each_pass([&](const ForwardPass& pass) { attend(batch, pass, Layer::Contexts, rows); });
  if (has_states()) keep_states(batch, rows, completion.passes);
  return rows;
}

Completion SimulatedBackend::execute(Batch& batch) {
  ++batch_count_;
  for (const TableChange& change : batch.table_changes) tables_.apply(change);
  check_batch(batch, capabilities_, model(), tables_);

  Completion completion;
  completion.id = batch.id;
  for (std::size_t i = 0; i < batch.loads.size(); ++i) completion.loads.push_back(load(batch, i));
  for (const PageCopy& copy : batch.copies) copy_slots(copy);
  const std::vector<RowState> rows = run_passes(batch, completion);
  keep_outputs(batch, rows, completion.passes);
  for (std::size_t i = 0; i < batch.distributions.size(); ++i) {
    completion.distributions.push_back(distribution(batch, i, rows, completion.passes));
  }
  for (std::size_t i = 0; i < batch.saves.size(); ++i) completion.saves.push_back(save(batch, i));
  for (PageLoad& load : batch.loads) completion.load_bytes.push_back(std::move(load.bytes));
  return completion;
}

}  // namespace quire::inference
