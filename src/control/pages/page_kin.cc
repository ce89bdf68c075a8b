#include "control/pages/page_kin.h"

#include <utility>

#include "base/check.h"

namespace quire::control {

PageKin::PageKin() : buckets_(16, kNone) {}

PageKin::Links& PageKin::make(NodeId node, std::uint64_t hash) {
  const auto index = static_cast<std::size_t>(node);
  if (index >= links_.size()) links_.resize(index + 1);
  links_[index] = {.hash = hash};
  return links_[index];
}

void PageKin::add_root(NodeId root, std::uint64_t hash) {
  make(root, hash);
}

void PageKin::add(NodeId node, NodeId parent, std::uint64_t hash, bool is_opaque) {
  Links& links = make(node, hash);
  links.next = std::exchange(at(parent).first_child, node);
  if (links.next != kNone) at(links.next).previous = node;
  if (!is_opaque) list(node);
}

void PageKin::remove(NodeId node, NodeId parent) {
  const Links links = at(node);
  QUIRE_CHECK(links.first_child == kNone, "K1: a parent outlives its children");
  (links.previous == kNone ? at(parent).first_child : at(links.previous).next) = links.next;
  if (links.next != kNone) at(links.next).previous = links.previous;
  if (links.is_listed) unlist(node);
  at(node) = {};
}

void PageKin::list(NodeId node) {
  if (++listed_count_ > buckets_.size()) grow();
  Links& links = at(node);
  links.is_listed = true;
  links.like = std::exchange(buckets_[bucket_of(links.hash)], node);
}

void PageKin::unlist(NodeId node) {
  NodeId* link = &buckets_[bucket_of(at(node).hash)];
  while (*link != node) {
    QUIRE_CHECK(*link != kNone, "K2");
    link = &at(*link).like;
  }
  *link = at(node).like;
  --listed_count_;
}

void PageKin::grow() {
  buckets_.assign(buckets_.size() * 2, kNone);
  for (std::uint32_t index = 0; index < links_.size(); ++index) {
    Links& links = links_[index];
    if (links.is_listed) links.like = std::exchange(buckets_[bucket_of(links.hash)], NodeId{index});
  }
}

void PageKin::verify() const {
  std::size_t listed = 0;
  std::vector<bool> seen(links_.size(), false);
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (NodeId each = buckets_[bucket]; each != kNone; each = at(each).like) {
      QUIRE_CHECK(at(each).is_listed && bucket_of(at(each).hash) == bucket, "K2");
      QUIRE_CHECK(!seen[static_cast<std::uint32_t>(each)], "K2");
      seen[static_cast<std::uint32_t>(each)] = true;
      ++listed;
    }
  }
  QUIRE_CHECK(listed == listed_count_, "K2");
  for (const Links& parent : links_) {
    NodeId before = kNone;
    for (NodeId each = parent.first_child; each != kNone; each = at(each).next) {
      QUIRE_CHECK(at(each).previous == before, "K1");
      before = each;
    }
  }
}

}  // namespace quire::control
