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
    QUIRE_CHECK(static_cast<std::uint32_t>(load.page) < capabilities.page_count, "load into");
    loaded.push_back(load.page);
  }
  std::sort(loaded.begin(), loaded.end());
  QUIRE_CHECK(std::adjacent_find(loaded.begin(), loaded.end()) == loaded.end(),
              "a batch loads a page at most once");
  for (const PageSave& save : batch.saves) {
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
