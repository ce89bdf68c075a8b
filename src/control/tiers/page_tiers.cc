#include "control/tiers/page_tiers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/store/page_image.h"

namespace quire::control {
namespace {

constexpr std::size_t kSpareMemoryMax = 16;  // Pages.

std::uint32_t page_count_of(std::uint64_t bytes, std::uint64_t page_bytes) {
  if (page_bytes == 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes / page_bytes, 0x7fffffffu));
}

// A device that moves no pages has no tiers.
PageTierOptions settled(PageTierOptions options) {
  if (options.page_bytes == 0) options.host_bytes_max = options.disk_page_count_max = 0;
  return options;
}

}  // namespace

PageTiers::PageTiers(PageCache& cache, const PageTierOptions& options)
    : cache_(cache),
      options_(settled(options)),
      host_max_(page_count_of(options_.host_bytes_max, options_.page_bytes)),
      staged_max_(std::max(page_count_of(options_.staged_bytes_max, options_.page_bytes), 1u)),
      pins_(std::uint64_t{host_max_} + options_.disk_page_count_max) {}

bool PageTiers::Entry::is_pinned_by(TenantId tenant) const {
  return std::any_of(pins.begin(), pins.end(),
                     [&](const TenantPins& each) { return each.tenant == tenant; });
}

const PageTiers::Entry* PageTiers::find(NodeId node) const {
  const auto found = entries_.find(node);
  return found == entries_.end() ? nullptr : &found->second;
}

PageTiers::Entry* PageTiers::find(NodeId node, TransferId transfer) {
  Entry* entry = find(node);
  return entry != nullptr && entry->transfer == transfer ? entry : nullptr;
}

PageTiers::Entry& PageTiers::at(NodeId node) {
  Entry* entry = find(node);
  QUIRE_CHECK(entry != nullptr, "no such page on a tier");
  return *entry;
}

TierPlace PageTiers::place(NodeId node) const {
  const Entry* entry = find(node);
  if (entry == nullptr) return TierPlace::None;
  if (entry->use == Use::Leaving) return TierPlace::Leaving;
  return entry->is_host ? TierPlace::Host : TierPlace::Disk;
}

bool PageTiers::is_ready(NodeId node) const {
  const Entry* entry = find(node);
  return entry != nullptr && entry->bytes.byte_count() > 0;
}

bool PageTiers::is_to_be_read(NodeId node) const {
  const Entry* entry = find(node);
  return entry != nullptr && entry->use == Use::None && entry->bytes.byte_count() == 0;
}

bool PageTiers::fits_disk(NodeId node) const {
  const PageTrie& trie = cache_.trie();
  const std::size_t view_bytes = trie.mask(node).size();
  return view_bytes <= options_.disk_view_bytes_max &&
         store::page_extras_bytes(view_bytes, trie.media(node).size(), trie.adapters(node)) <=
             store::kPageExtrasBytesMax;
}

void PageTiers::touch(NodeId node) {
  Entry& entry = at(node);
  if (!entry.listed) return;
  Order& order = order_of(entry);
  order.splice(order.end(), order, *entry.listed);
}

bool PageTiers::can_pin(TenantId tenant, const std::vector<NodeId>& nodes) const {
  auto displaced = static_cast<std::uint32_t>(host_order_.size());
  auto disk_displaced = static_cast<std::uint32_t>(disk_order_.size());
  std::uint32_t missing = 0;
  std::uint32_t only_host = 0;
  std::uint32_t unpinned = 0;
  for (const NodeId node : nodes) {
    const Entry* entry = find(node);
    unpinned += entry == nullptr || !entry->is_pinned_by(tenant);
    missing += entry == nullptr;
    only_host += entry == nullptr && !fits_disk(node);
    // A page that is here already will not give way either.
    if (entry != nullptr && entry->listed) --(entry->is_host ? displaced : disk_displaced);
  }
  if (!pins_.may_take(tenant, unpinned)) return false;
  const std::uint32_t host = host_max_ - host_count_ + displaced;
  if (missing <= host) return true;
  if (only_host > host) return false;
  const std::uint32_t disk = options_.disk_page_count_max - disk_count_ + disk_displaced;
  // Pages that give way to it in host memory are staged first.
  const std::uint32_t staged = std::min(disk, staged_max_ - staged_count_);
  return staged > displaced && missing - host <= staged - displaced;
}

TransferId PageTiers::begin(Entry& entry, Use use) {
  QUIRE_CHECK(entry.use == Use::None, "one transfer of a page at a time");
  entry.use = use;
  entry.transfer = TransferId{++next_transfer_};
  if (entry.listed) {
    order_of(entry).erase(*entry.listed);
    entry.listed.reset();
  }
  return entry.transfer;
}

void PageTiers::settle(NodeId node, Entry& entry) {
  entry.use = Use::None;
  entry.transfer = kNoTransfer;
  if (!entry.is_pinned() && cache_.trie().is_opaque(node)) return forget(node);
  update_order(node, entry);
}

void PageTiers::update_order(NodeId node, Entry& entry) {
  const bool is_listed = !entry.is_pinned() && entry.use == Use::None;
  if (is_listed == entry.listed.has_value()) return;
  Order& order = order_of(entry);
  if (is_listed) {
    entry.listed = order.insert(order.end(), node);
  } else {
    order.erase(*entry.listed);
    entry.listed.reset();
  }
}

void PageTiers::stage(Entry& entry) {
  QUIRE_CHECK(!entry.is_staged && !entry.is_host, "staged twice");
  entry.is_staged = true;
  ++staged_count_;
}

void PageTiers::unstage(Entry& entry) {
  if (!entry.is_staged) return;
  entry.is_staged = false;
  --staged_count_;
  recycle(std::move(entry.bytes));
  entry.bytes = {};
}

// Pages that were read and not loaded yet give way; those to be written do not.
bool PageTiers::has_staging_room() {
  while (staged_count_ >= staged_max_ && !read_.empty()) unstage_oldest();
  return staged_count_ < staged_max_;
}

// The oldest page may have been loaded or forgotten meanwhile.
void PageTiers::unstage_oldest() {
  const auto [node, id] = read_.front();
  read_.pop_front();
  Entry* entry = find(node);
  if (entry != nullptr && entry->id == id && entry->use == Use::None) unstage(*entry);
}

bool PageTiers::make_host_room() {
  if (host_count_ < host_max_) return true;
  if (host_order_.empty()) return false;
  const NodeId oldest = host_order_.front();
  Entry& entry = at(oldest);
  if (fits_disk(oldest) && make_disk_room()) {
    to_disk(oldest, entry);
    ++counts_.spilled_count;
  } else {
    forget(oldest);
    ++counts_.forgotten_count;
  }
  return true;
}

bool PageTiers::make_disk_room() {
  const bool is_full = disk_count_ >= options_.disk_page_count_max;
  // Nothing gives way for a page that finds no place in the end.
  if ((is_full && disk_order_.empty()) || !has_staging_room()) return false;
  if (is_full) {
    forget(disk_order_.front());
    ++counts_.forgotten_count;
  }
  return true;
}

// Moves a page, whose bytes are in memory, to the disk.
void PageTiers::to_disk(NodeId node, Entry& entry) {
  if (entry.is_host) {
    begin(entry, Use::Unwritten);
    entry.is_host = false;
    --host_count_;
    ++disk_count_;
    stage(entry);
  } else {
    begin(entry, Use::Unwritten);
  }
  unwritten_.push_back(node);
}

void PageTiers::recycle(PageBytes bytes) {
  if (bytes.byte_count() == options_.page_bytes && memory_.size() < kSpareMemoryMax) {
    memory_.push_back(std::move(bytes));
  }
}

PageBytes PageTiers::take_memory() {
  if (memory_.empty()) return {};
  PageBytes bytes = std::move(memory_.back());
  memory_.pop_back();
  return bytes;
}

std::optional<TransferId> PageTiers::leave(NodeId node) {
  QUIRE_CHECK(!has(node), "it is on a tier already");
  const bool is_host = host_max_ > 0 && make_host_room();
  if (!is_host && !(fits_disk(node) && make_disk_room())) {
    ++counts_.refused_count;
    return std::nullopt;
  }
  Entry& entry = entries_[node];
  if (!is_planted(Fault::LoadedFromStaleSlot)) cache_.hold_name(node);
  entry.id = PinId{++next_id_};
  entry.is_host = is_host;
  if (is_host) {
    ++host_count_;
  } else {
    ++disk_count_;
    stage(entry);
  }
  return begin(entry, Use::Leaving);
}

void PageTiers::arrive(NodeId node, TransferId transfer, Result<PageBytes> bytes) {
  Entry* entry = find(node, transfer);
  if (entry == nullptr) {
    if (bytes.ok()) recycle(std::move(bytes).take());
    return;
  }
  if (!bytes.ok()) return lose(node, std::move(bytes).take_error());
  ++counts_.kept_count;
  entry->bytes = std::move(bytes).take();
  entry->checksum = store::checksum(entry->bytes.span());
  const bool is_host = entry->is_host;
  settle(node, *entry);
  Entry* kept = find(node);
  if (!is_host && kept != nullptr) to_disk(node, *kept);
}

PinId PageTiers::pin(TenantId tenant, NodeId node) {
  Entry& entry = at(node);
  if (!entry.is_pinned()) ++pinned_count_;
  if (!entry.is_pinned_by(tenant)) {
    entry.pins.push_back({.tenant = tenant});
    pins_.take(tenant, 1);
  }
  ++pins_of(entry, tenant)->count;
  update_order(node, entry);
  return entry.id;
}

PinId PageTiers::pin_again(TenantId tenant, NodeId node, PinId pin) {
  Entry* entry = find(node);
  if (entry != nullptr && entry->id == pin) {
    // So it costs no more of the tenant's share, and cannot be refused.
    QUIRE_CHECK(entry->is_pinned_by(tenant), "pinned again what was not pinned");
    return this->pin(tenant, node);
  }
  const auto lost = losses_.find(pin);
  QUIRE_CHECK(lost != losses_.end(), "pinned again what was not pinned");
  ++lost->second.pin_count;
  return pin;
}

std::vector<PageTiers::TenantPins>::iterator PageTiers::pins_of(Entry& entry, TenantId tenant) {
  return std::find_if(entry.pins.begin(), entry.pins.end(),
                      [&](const TenantPins& each) { return each.tenant == tenant; });
}

const Error* PageTiers::loss(PinId pin) const {
  const auto lost = losses_.find(pin);
  return lost == losses_.end() ? nullptr : &lost->second.error;
}

void PageTiers::unpin(TenantId tenant, NodeId node, PinId pin) {
  Entry* entry = find(node);
  if (entry == nullptr || entry->id != pin) {
    const auto lost = losses_.find(pin);
    QUIRE_CHECK(lost != losses_.end(), "unpinned what was not pinned");
    if (--lost->second.pin_count == 0) losses_.erase(lost);
    return;
  }
  const auto pins = pins_of(*entry, tenant);
  QUIRE_CHECK(pins != entry->pins.end(), "unpinned more often than pinned");
  if (--pins->count > 0) return;
  entry->pins.erase(pins);
  pins_.give(tenant, 1);
  if (entry->is_pinned()) return;
  --pinned_count_;
  if (entry->use == Use::None) return settle(node, *entry);
  const bool is_unwanted = entry->use == Use::Unwritten && entry->failed_count > 0;
  if (is_unwanted || cache_.trie().is_opaque(node)) forget(node);
}

void PageTiers::forget(NodeId node) {
  QUIRE_CHECK(!at(node).is_pinned(), "forgot what is pinned");
  erase(node);
}

// The bytes of the page are gone, or wrong.
void PageTiers::lose(NodeId node, Error error) {
  ++counts_.damaged_count;
  const Entry& entry = at(node);
  std::uint32_t pin_count = 0;
  for (const TenantPins& each : entry.pins) pin_count += each.count;
  if (pin_count > 0) losses_.emplace(entry.id, Loss{std::move(error), pin_count});
  erase(node);
}

void PageTiers::erase(NodeId node) {
  Entry& entry = at(node);
  if (entry.listed) order_of(entry).erase(*entry.listed);
  if (entry.use == Use::Unwritten) unwritten_.remove(node);
  if (entry.is_pinned()) --pinned_count_;
  for (const TenantPins& each : entry.pins) pins_.give(each.tenant, 1);
  if (entry.is_host) {
    --host_count_;
    recycle(std::move(entry.bytes));
  } else {
    --disk_count_;
    unstage(entry);
    forgotten_.push_back(cache_.name(node));
  }
  entries_.erase(node);
  cache_.drop_name(node);
}

Result<PageTiers::Taken> PageTiers::take_bytes(NodeId node) {
  QUIRE_CHECK(is_ready(node), "took bytes that are not here");
  Entry& entry = at(node);
  if (store::checksum(entry.bytes.span()) != entry.checksum) {
    const Error error(ErrorCode::Corrupted, "a page in host memory is not what was written there");
    lose(node, error.copy());
    return error.copy();
  }
  Taken taken;
  if (entry.use == Use::Unwritten) {  // The disk goes on to want it.
    taken.bytes = entry.bytes.copy();
    return taken;
  }
  taken.bytes = std::exchange(entry.bytes, {});
  taken.transfer = begin(entry, Use::Loading);
  return taken;
}

void PageTiers::give_bytes(NodeId node, TransferId transfer, PageBytes bytes, bool is_loaded) {
  counts_.restored_count += is_loaded;
  Entry* entry = transfer == kNoTransfer ? nullptr : find(node, transfer);
  if (entry == nullptr) return recycle(std::move(bytes));
  counts_.damaged_count += !is_loaded;
  if (!is_loaded && !entry->is_pinned()) {
    // The cause is not known, and a page that is computed anew is right.
    entry->use = Use::None;
    return forget(node);
  }
  entry->bytes = std::move(bytes);
  if (!entry->is_host) {
    if (is_loaded) {
      unstage(*entry);
    } else {
      read_.push_back({node, entry->id});
    }
  }
  settle(node, *entry);
}

void PageTiers::verify() const {
  std::uint32_t host = 0;
  std::uint32_t disk = 0;
  std::uint32_t staged = 0;
  std::uint32_t pinned = 0;
  TenantShares pins(pins_.count_max());
  std::size_t listed = 0;
  std::size_t to_write = 0;
  for (const auto& [node, entry] : entries_) {
    QUIRE_CHECK(cache_.trie().has_name(node), "D1");
    QUIRE_CHECK(cache_.trie().name_hold_count(node) > 0, "D1");
    QUIRE_CHECK(entry.is_pinned() || !cache_.trie().is_opaque(node), "D1");
    QUIRE_CHECK(entry.listed.has_value() == (!entry.is_pinned() && entry.use == Use::None), "D2");
    QUIRE_CHECK(!entry.listed || **entry.listed == node, "D2");
    ++(entry.is_host ? host : disk);
    staged += entry.is_staged;
    pinned += entry.is_pinned();
    for (const TenantPins& each : entry.pins) {
      QUIRE_CHECK(each.count > 0, "D3");
      pins.take(each.tenant, 1);
    }
    listed += entry.listed.has_value();
    to_write += entry.use == Use::Unwritten;
    const bool has_bytes = entry.bytes.byte_count() > 0;
    const bool is_in_memory = entry.is_host || entry.is_staged;
    QUIRE_CHECK(!has_bytes || is_in_memory, "D3");
    QUIRE_CHECK(entry.is_staged || !entry.is_host || entry.use == Use::Leaving ||
                    entry.use == Use::Loading || has_bytes,
                "D3");
    QUIRE_CHECK(!has_bytes || store::checksum(entry.bytes.span()) == entry.checksum, "D4");
  }
  QUIRE_CHECK(listed == host_order_.size() + disk_order_.size(), "D2");
  QUIRE_CHECK(to_write == unwritten_.size(), "D2");
  QUIRE_CHECK(host == host_count_ && disk == disk_count_ && staged == staged_count_ &&
                  pinned == pinned_count_ && pins == pins_,
              "D3");
  QUIRE_CHECK(host <= host_max_ && disk <= options_.disk_page_count_max && staged <= staged_max_,
              "D3");
}

}  // namespace quire::control
