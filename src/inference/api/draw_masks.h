#pragma once
// DrawMasks are the tokens that may be drawn at the places of one draw, one place after another. A
// thread computes them while the device works on the rows before. A batch can therefore carry masks
// that are not ready. A draw from such masks is deferred, and no thread waits.
//
// Thread   made by one thread, filled and published by a second; any may read once is_ready().
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inference/api/types.h"

namespace quire::inference {

class DrawMasks {
 public:
  struct Place {
    std::vector<std::uint32_t> words;  // Bit i % 32 of word i / 32: token i may come.
    bool is_forced = false;            // It allows one token, which uses no random number.
    std::uint32_t random_index = 0;    // Into randoms(), where it is not forced.
  };
  // Why nothing can be drawn after the last place.
  enum class End : std::uint8_t { Open, Complete, NoneAllowed };
  struct Filled {
    std::vector<Place> places;
    End end = End::Open;
    std::vector<TokenId> forced_run;  // What is forced to follow a last place that is forced.
    std::optional<Error> error;       // Then there are no places.
  };

  // `randoms` are the random numbers of the draw, for the places that are not forced, in order. If
  // they are empty, each request brings its own.
  explicit DrawMasks(std::vector<double> randoms) : randoms_(std::move(randoms)) {}

  void publish(Filled filled) {
    filled_ = std::move(filled);
    is_ready_.store(true, std::memory_order_release);
  }
  bool is_ready() const { return is_ready_.load(std::memory_order_acquire); }
  const Filled& filled() const { return filled_; }  // Requires: is_ready().
  const std::vector<double>& randoms() const { return randoms_; }

 private:
  const std::vector<double> randoms_;
  Filled filled_;
  std::atomic<bool> is_ready_{false};
};

}  // namespace quire::inference
