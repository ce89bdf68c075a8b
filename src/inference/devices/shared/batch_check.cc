#include "inference/devices/shared/batch_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace quire::inference {
namespace {

void check_embed(EmbedSlot slot, const BackendCapabilities& capabilities) {
  QUIRE_CHECK(
      slot == kNoEmbedSlot || static_cast<std::uint32_t>(slot) < capabilities.embed_slot_count,
      "an embed slot lies in the store");
}

void check_copies(const Batch& batch, const BackendCapabilities& capabilities) {
  QUIRE_CHECK(batch.copies.empty() || capabilities.kv_mode == KvMode::Paged,
              "page copies need paged memory");
  for (const PageCopy& copy : batch.copies) {
    QUIRE_CHECK(static_cast<std::uint32_t>(copy.from) < capabilities.page_count, "copy from");
    QUIRE_CHECK(static_cast<std::uint32_t>(copy.to) < capabilities.page_count, "copy to");
    QUIRE_CHECK(copy.slot_count <= capabilities.page_size, "copied slots fit a page");
    QUIRE_CHECK(copy.from_slot <= capabilities.page_size - copy.slot_count, "copy from slot");
    QUIRE_CHECK(copy.to_slot <= capabilities.page_size - copy.slot_count, "copy to slot");
  }
}

void check_transfers(const Batch& batch, const BackendCapabilities& capabilities) {
  if (capabilities.page_bytes == 0) return;  // Each is refused; page ids mean nothing.
  std::vector<PageId> loaded;
  loaded.reserve(batch.loads.size());
  for (const PageLoad& load : batch.loads) {
    if (load.state != kNoState) continue;  // check_states()
    QUIRE_CHECK(static_cast<std::uint32_t>(load.page) < capabilities.page_count, "load into");
    loaded.push_back(load.page);
  }
  std::sort(loaded.begin(), loaded.end());
  QUIRE_CHECK(std::adjacent_find(loaded.begin(), loaded.end()) == loaded.end(),
              "a batch loads a page at most once");
  for (const PageSave& save : batch.saves) {
    if (save.state != kNoState) continue;
    QUIRE_CHECK(static_cast<std::uint32_t>(save.page) < capabilities.page_count, "save of");
  }
}

void check_adapter_sets(const Batch& batch, const BackendCapabilities& capabilities,
                        const ModelInfo& model) {
  QUIRE_CHECK(batch.adapter_sets.empty() || capabilities.adapters, "the backend has adapters");
  for (const AdapterSet& set : batch.adapter_sets) {
    QUIRE_CHECK(set != nullptr && !set->empty(), "an adapter set names an adapter");
    const Digest* before = nullptr;
    for (const AdapterUse& use : *set) {
      QUIRE_CHECK(use.adapter != nullptr, "an adapter set has its adapters");
      QUIRE_CHECK(std::isfinite(use.scale), "an adapter's scale is finite");
      QUIRE_CHECK(use.scale != 0.0f, "an adapter's scale is not zero");
      const Digest& digest = use.adapter->digest();
      QUIRE_CHECK(before == nullptr || *before < digest, "an adapter set ascends by digest");
      before = &digest;
      QUIRE_CHECK(use.adapter->base().may_be_of(model), "an adapter is of the batch's model");
    }
  }
  for (const Row& row : batch.rows) {
    QUIRE_CHECK(row.adapters == kNoAdapters || row.adapters < batch.adapter_sets.size(),
                "a row's adapter set lies in the batch");
  }
}

void check_row(const Row& row, std::span<const TableEntry> table,
               const BackendCapabilities& capabilities, const ModelInfo& model) {
  check_embed(row.embed, capabilities);
  check_embed(row.output, capabilities);
  QUIRE_CHECK(
      row.embed != kNoEmbedSlot || static_cast<std::uint32_t>(row.token) < model.vocabulary_size,
      "a token lies in the vocabulary");
  if (row.slot == kNoSlot) return;
  const std::uint32_t index = row.slot / capabilities.page_size;
  QUIRE_CHECK(index < table.size(), "a written slot lies in the table");
  QUIRE_CHECK(table[index].page != kNoPage, "a written slot has a page");
}

// ---- states ----

void check_no_states(const Batch& batch) {
  QUIRE_CHECK(batch.state_writes.empty(), "state writes need a model with states");
  for (const ForwardPass& pass : batch.passes) {
    QUIRE_CHECK(pass.state_from == kNoState, "a state to begin from needs a model with states");
    QUIRE_CHECK(pass.state_write_count == 0, "state writes need a model with states");
  }
  for (const Row& row : batch.rows) {
    QUIRE_CHECK(!row.is_of_state, "a row of a state needs a model with states");
  }
}

void check_rows_of_state(const Batch& batch, const ForwardPass& pass) {
  for (std::uint32_t i = pass.row_first; i < pass.row_first + pass.row_count; ++i) {
    const Row& row = batch.rows[i];
    if (!row.is_of_state) continue;
    QUIRE_CHECK(pass.row_count == 1, "a row of a state is its pass's only one");
    QUIRE_CHECK(pass.state_from != kNoState, "a row of a state has a state");
    QUIRE_CHECK(pass.state_write_count == 0, "a row of a state changes no state");
    QUIRE_CHECK(row.slot == kNoSlot, "a row of a state writes no keys and values");
  }
}

void check_writes(std::span<const StateWrite> writes, const ForwardPass& pass,
                  const BackendCapabilities& capabilities) {
  std::uint32_t before = 1;
  for (const StateWrite& write : writes) {
    QUIRE_CHECK(static_cast<std::uint32_t>(write.slot) < capabilities.state_count,
                "a state is written into a slot");
    QUIRE_CHECK(write.row_count >= before, "state writes rise from the first row");
    QUIRE_CHECK(write.row_count <= pass.row_count, "a state is after a row of its pass");
    before = write.row_count;
  }
}

// Requires: passes that cover the rows.
void check_states(const Batch& batch, const BackendCapabilities& capabilities) {
  if (capabilities.state_count == 0) return check_no_states(batch);
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> writers(capabilities.state_count, kNone);  // The pass of each slot.
  for (const PageLoad& load : batch.loads) {
    if (load.state == kNoState) continue;
    QUIRE_CHECK(static_cast<std::uint32_t>(load.state) < capabilities.state_count,
                "a state is loaded into a slot");
    std::size_t& writer = writers[static_cast<std::uint32_t>(load.state)];
    QUIRE_CHECK(writer == kNone, "a batch loads a state slot at most once");
    writer = batch.passes.size();
  }
  for (const PageSave& save : batch.saves) {
    QUIRE_CHECK(
        save.state == kNoState || static_cast<std::uint32_t>(save.state) < capabilities.state_count,
        "a state is saved from a slot");
  }
  std::size_t write_count = 0;
  for (std::size_t i = 0; i < batch.passes.size(); ++i) {
    const ForwardPass& pass = batch.passes[i];
    QUIRE_CHECK(pass.state_write_count == 0 ||
                    std::uint64_t{pass.state_write_first} + pass.state_write_count <=
                        batch.state_writes.size(),
                "a pass's state writes lie in the batch");
    const auto writes =
        pass.state_write_count == 0
            ? std::span<const StateWrite>()
            : std::span(batch.state_writes).subspan(pass.state_write_first, pass.state_write_count);
    check_writes(writes, pass, capabilities);
    check_rows_of_state(batch, pass);
    for (const StateWrite& write : writes) {
      std::size_t& writer = writers[static_cast<std::uint32_t>(write.slot)];
      QUIRE_CHECK(writer == kNone, "a batch writes a state slot at most once");
      writer = i;
    }
    write_count += writes.size();
  }
  QUIRE_CHECK(write_count == batch.state_writes.size(), "each state write is of a pass");
  for (std::size_t i = 0; i < batch.passes.size(); ++i) {
    const ForwardPass& pass = batch.passes[i];
    if (pass.state_from == kNoState) continue;
    const auto from = static_cast<std::uint32_t>(pass.state_from);
    QUIRE_CHECK(from < capabilities.state_count, "a pass begins from a state slot");
    QUIRE_CHECK(writers[from] == kNone || writers[from] == i,
                "no pass reads a state that another writes");
    QUIRE_CHECK(writers[from] == kNone || pass.row_count == 1,
                "only a pass of one row changes its state in place");
  }
}

void check_passes(const Batch& batch, const BackendCapabilities& capabilities,
                  const ModelInfo& model, const PageTables& tables) {
  std::uint64_t row_next = 0;
  for (const ForwardPass& pass : batch.passes) {
    QUIRE_CHECK(pass.row_first == row_next, "passes cover the rows in order");
    QUIRE_CHECK(pass.row_count > 0, "a pass has rows");
    row_next += pass.row_count;
    QUIRE_CHECK(row_next <= batch.rows.size(), "passes end with the rows");
    QUIRE_CHECK(tables.exists(pass.sequence), "a pass is of a sequence that exists");
    const std::span<const TableEntry> table = tables.entries(pass.sequence);
    QUIRE_CHECK(pass.visible_slot_end <= std::uint64_t{table.size()} * capabilities.page_size,
                "visible slots lie in the table");
    if (pass.mask) {
      QUIRE_CHECK(
          pass.mask->words.size() == std::uint64_t{pass.row_count} * pass.mask->words_per_row(),
          "a mask has words for each of its rows");
    }
    for (std::uint32_t i = 0; i < pass.row_count; ++i) {
      check_row(batch.rows[pass.row_first + i], table, capabilities, model);
    }
  }
  QUIRE_CHECK(row_next == batch.rows.size(), "passes cover all rows");
}

}  // namespace

void check_batch(const Batch& batch, const BackendCapabilities& capabilities,
                 const ModelInfo& model, const PageTables& tables) {
  QUIRE_CHECK(batch.rows.size() <= capabilities.row_count_max, "rows of one batch");
  check_copies(batch, capabilities);
  check_transfers(batch, capabilities);
  check_adapter_sets(batch, capabilities, model);
  check_passes(batch, capabilities, model, tables);
  check_states(batch, capabilities);
  for (const DistributionRequest& request : batch.distributions) {
    const bool of_row = request.row != kNoSlot;
    QUIRE_CHECK(of_row != (request.embed != kNoEmbedSlot),
                "a distribution is of a row or of a kept vector");
    QUIRE_CHECK(!of_row || request.row < batch.rows.size(), "a distribution's row exists");
    check_embed(request.embed, capabilities);
    QUIRE_CHECK(request.kind != DistributionKind::Draw || request.draw.rule != nullptr,
                "a draw has a rule");
    QUIRE_CHECK(request.draw.top_count <= kTopCountMax, "the most probable tokens beside a draw");
    QUIRE_CHECK(!request.mask || request.mask->size() == (model.vocabulary_size + 31) / 32,
                "a mask has a bit for each token");
    for (const TokenId token : request.tokens) {
      QUIRE_CHECK(static_cast<std::uint32_t>(token) < model.vocabulary_size, "a logprob's token");
    }
  }
}

Error unread(EmbedSlot slot) {
  return Error(
      ErrorCode::NotFound,
      "embed slot " + std::to_string(static_cast<std::uint32_t>(slot)) + " holds no vector");
}

}  // namespace quire::inference
