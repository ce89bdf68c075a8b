#pragma once
// PageObject: a page by its handle.
//
// Thread   engine thread only.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/slab.h"
#include "control/api/adapter_runs.h"
#include "control/pages/page_trie.h"
#include "inference/api/batch.h"

namespace quire::control {

struct Operation;
struct Replica;

// A page that the guest handles itself; or a page of an export, which no instance handles.
//
// One that is shared is never written: it is sealed, or committed and then has a node. All others
// are Working pages with this one holder (I8).
struct PageObject {
  std::uint32_t generation = 0;
  Replica* replica = nullptr;
  inference::PageId page = inference::kNoPage;  // kNoPage: the allocation failed or is to come.
  std::uint32_t written = 0;                    // Bit for each slot that holds keys and values.
  std::uint32_t view = 0xffffffffu;             // Bit for each slot that mask_kvpage left visible.
  std::uint64_t writer_batch = 0;               // Batch of the last forward pass that wrote here,
  std::uint32_t writer_pass = 0;                // and the pass.
  std::uint64_t reader_batch = 0;               // Batch of the last forward pass that read it.
  bool is_shared = false;
  NodeId node = kNoNode;   // Of a committed page, held as a page.
  NodeId above = kNoNode;  // Of a sealed page whose content has a name: the page before it, held
  std::vector<inference::TokenId> tokens;  // by name, and the tokens.
  std::vector<std::uint32_t> positions;    // [page_size], of written slots.
  // [page_size], under which adapters each written slot was computed; empty: all under none.
  std::vector<ChosenAdaptersRef> adapters;
  std::uint32_t position_min = 0xffffffffu;  // A lower bound of the positions written.
  std::uint64_t stamp = 0;                   // Finds an object named twice in one command,
  std::uint32_t table_index = 0;             // and where it lies in the table of that command.
  Ref<Operation> last_operation;
  ChosenAdaptersRef adapters_of(std::uint32_t slot) const {
    return adapters.empty() ? ChosenAdaptersRef() : adapters[slot];
  }
  void set_adapters(std::uint32_t slot, ChosenAdaptersRef set) {
    if (adapters.empty() && set == nullptr) return;
    adapters.resize(positions.size());
    adapters[slot] = std::move(set);
  }
  void recycle() {
    replica = nullptr;
    page = inference::kNoPage;
    written = 0;
    view = 0xffffffffu;
    writer_batch = reader_batch = 0;
    is_shared = false;
    node = above = kNoNode;
    tokens.clear();
    positions.clear();
    adapters.clear();
    position_min = 0xffffffffu;
    last_operation = {};
  }
};

}  // namespace quire::control
