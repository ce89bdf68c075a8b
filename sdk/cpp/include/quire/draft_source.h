#pragma once
// DraftSource guesses the next tokens of a generation: GenerateOptions::draft.
//
//   options.draft = [&](const Context& context) -> Task<std::vector<std::uint32_t>> { ... };
//   options.draft = drafts_from(context);  // See prompt_drafts.h.
//
// If a source has a function note_drafts(DraftCounts), the generator calls it after each pass with
// what became of the guess. A copy of a DraftSource has a copy of its source.
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "quire/task.h"

namespace quire {

class Context;

// The drafts of one pass.
struct DraftCounts {
  std::uint32_t computed = 0;  // The host ignores drafts that have no room or would not pay off.
  std::uint32_t accepted = 0;  // Of these, the ones that were drawn.
};

class DraftSource {
  using Guess = Task<std::vector<std::uint32_t>>;

 public:
  DraftSource() = default;
  template <typename Source>
    requires(!std::same_as<std::remove_cvref_t<Source>, DraftSource> &&
             std::is_invocable_r_v<Guess, Source&, const Context&>)
  DraftSource(Source source) : held_(std::make_unique<Held<Source>>(std::move(source))) {}

  DraftSource(const DraftSource& other) : held_(other ? other.held_->copy() : nullptr) {}
  DraftSource& operator=(const DraftSource& other) {
    return *this = DraftSource(other);  // Moves.
  }
  DraftSource(DraftSource&&) = default;
  DraftSource& operator=(DraftSource&&) = default;
  ~DraftSource() = default;

  explicit operator bool() const { return held_ != nullptr; }
  // There is one. It outlives the task.
  Guess operator()(const Context& context) const { return held_->guess(context); }
  void note(DraftCounts counts) const { held_->note(counts); }

 private:
  class Holder {
   public:
    virtual ~Holder() = default;
    virtual Guess guess(const Context& context) = 0;
    virtual void note(DraftCounts counts) = 0;
    virtual std::unique_ptr<Holder> copy() const = 0;
  };
  template <typename Source>
  class Held final : public Holder {
   public:
    explicit Held(Source source) : source_(std::move(source)) {}
    Guess guess(const Context& context) override { return source_(context); }
    void note(DraftCounts counts) override {
      if constexpr (requires { source_.note_drafts(counts); }) source_.note_drafts(counts);
    }
    std::unique_ptr<Holder> copy() const override { return std::make_unique<Held>(source_); }

   private:
    Source source_;
  };
  std::unique_ptr<Holder> held_;
};

}  // namespace quire
