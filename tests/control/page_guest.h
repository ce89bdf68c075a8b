#pragma once
// A guest that handles its pages itself, and looks at what they hold.
#include <string>
#include <vector>

#include "control/harness.h"

namespace quire::control {

class PageGuest {
 public:
  PageGuest(Harness& harness, TenantId tenant, const InstanceLimits& limits = {})
      : id(harness.start(tenant, limits)), queue(harness.queue(id)), harness_(harness) {
    inputs_ = harness.embeds(id, queue, 32);
    output_ = harness.embeds(id, queue, 1).front();
  }

  std::vector<ObjectId> alloc(std::size_t count) { return harness_.pages(id, queue, count); }
  FutureId dealloc(const std::vector<ObjectId>& pages) { return send(DeallocPages{queue, pages}); }
  // Tokens at positions from `position` on go to `okv`, after what it holds.
  FutureId write(const std::vector<ObjectId>& okv, const std::vector<std::uint32_t>& tokens,
                 std::uint32_t position, const std::vector<ObjectId>& ikv = {}) {
    const std::vector<ObjectId> embeds(
        inputs_.begin(), inputs_.begin() + static_cast<std::ptrdiff_t>(tokens.size()));
    std::vector<std::uint32_t> positions;
    for (std::size_t each = 0; each < tokens.size(); ++each) {
      positions.push_back(position + static_cast<std::uint32_t>(each));
    }
    harness_.send(id, EmbedText{queue, embeds, tokens, positions}, false);
    return send(Forward{queue, ikv, embeds, okv, {}, {}, false});
  }
  FutureId copy(ObjectId from, ObjectId to, std::uint32_t from_slot, std::uint32_t to_slot,
                std::uint32_t count) {
    return send(CopyPage{queue, from, to, from_slot, to_slot, count});
  }
  FutureId mask(ObjectId page, const std::vector<std::uint8_t>& visible) {
    return send(MaskPage{queue, page, visible});
  }
  FutureId export_pages(const std::vector<ObjectId>& pages, const std::string& name,
                        bool is_public = false) {
    return send(ExportPages{queue, pages, name, is_public});
  }
  FutureId import_pages(const std::string& name, const std::vector<ObjectId>& pages) {
    return send(ImportPages{queue, name, pages});
  }
  // New handles on the first `count` pages of the export.
  std::vector<ObjectId> import_pages(const std::string& name, std::size_t count) {
    std::vector<ObjectId> pages = harness_.new_objects(count);
    import_pages(name, pages);
    return pages;
  }
  FutureId unexport(const std::string& name) { return send(UnexportPages{name}); }
  FutureId send(CommandBody body) { return harness_.send(id, std::move(body)); }

  // Asks for the distribution after a token that sees all of the pages: it differs if their content
  // does.
  FutureId begin_probe(const std::vector<ObjectId>& ikv, std::uint32_t page_size) {
    harness_.send(id, EmbedText{queue, {inputs_[0]}, {7}, {kProbePosition}}, false);
    const std::vector<std::uint8_t> all(ikv.size() * page_size, 1);
    harness_.send(id, Forward{queue, ikv, {inputs_[0]}, {}, {output_}, all, true}, false);
    return send(GetNextDist{queue, output_, 4});
  }
  std::string probe(const std::vector<ObjectId>& ikv, std::uint32_t page_size) {
    const FutureId next = begin_probe(ikv, page_size);
    harness_.run();
    return text_of(next);
  }
  std::string text_of(FutureId next) const {
    const Result<AnswerBody>& body = harness_.at(id, next);
    if (!body.ok()) return std::string(error_code_name(body.error().code()));
    std::string text;
    const auto& distribution = std::get<NextDistribution>(body.value());
    for (std::size_t each = 0; each < distribution.tokens.size(); ++each) {
      text += std::to_string(distribution.tokens[each]) + "=" +
              std::to_string(distribution.probabilities[each]) + " ";
    }
    return text;
  }

  InstanceId id;
  ObjectId queue;

 private:
  static constexpr std::uint32_t kProbePosition = 1'000'000;
  Harness& harness_;
  std::vector<ObjectId> inputs_;
  ObjectId output_{};
};

}  // namespace quire::control
