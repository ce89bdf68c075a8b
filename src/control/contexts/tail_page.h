#pragma once
// TailPage is the content of a page after the head of a context, made of the context's tokens.
//
// Thread   engine thread only. It points into the context, which stays as it is meanwhile.
#include <array>
#include <cstdint>
#include <vector>

#include "control/contexts/context.h"
#include "control/pages/page_name.h"

namespace quire::control {

class TailPage {
 public:
  // The page that is `index` pages after the head.
  TailPage(const Context& context, std::uint32_t page_size, std::uint32_t index);
  TailPage(const TailPage&) = delete;
  TailPage& operator=(const TailPage&) = delete;
  const PageContent& content() const { return content_; }

 private:
  std::array<std::uint32_t, inference::kPageSizeMax> positions_;
  std::vector<std::uint8_t> mask_;
  std::vector<AdapterRun> adapters_;
  PageContent content_;
};

}  // namespace quire::control
