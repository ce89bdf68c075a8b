#pragma once
// TailPage is the content of a page after the head of a context, made of the context's tokens.
//
// Thread   engine thread only. It points into the context, which stays as it is meanwhile.
#include <array>
#include <cstdint>
#include <vector>

#include "control/contexts/context_parts.h"
#include "control/pages/page_name.h"

namespace quire::control {

class TailPage {
 public:
  // The page that is `index` pages after the head.
  TailPage(const ContextParts& parts, std::uint32_t page_size, std::uint32_t index);
  TailPage(const TailPage&) = delete;
  TailPage& operator=(const TailPage&) = delete;
  const PageContent& content() const { return content_; }

 private:
  std::array<std::uint32_t, inference::kPageSizeMax> positions_;
  std::vector<std::uint8_t> mask_;
  std::vector<AdapterRun> adapters_;
  PageContent content_;
};

// The pages of the tail that have written slots.
std::uint32_t written_tail_count(const ContextParts& parts);
// The slots of page `index` of the tail that were written and that the context can see. The bytes
// of the other slots may be another tenant's, and are not to leave the pool.
std::uint32_t visible_tail_slots(const ContextParts& parts, std::uint32_t index);

}  // namespace quire::control
