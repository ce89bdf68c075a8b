#pragma once
// ShownTokens: the tokens of an answer, each given once a byte of it is shown. A token that only a stop
// text consists of is never shown.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/quire.h"

namespace endpoints {

using namespace quire;

class ShownTokens {
 public:
  explicit ShownTokens(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  struct Token {
    Piece piece;
    std::size_t begin = 0;  // In the bytes of all tokens.
  };

  void draw(Piece piece, std::string_view bytes) {
    drawn_.push_back({std::move(piece), bytes_.size()});
    bytes_ += bytes;
  }
  // Bytes of a token that is not asked for.
  void pass(std::string_view bytes) { bytes_ += bytes; }
  // `more` is shown: gives the tokens that are shown with it.
  std::vector<Token> show(std::string_view more) {
    shown_count_ += more.size();
    return before(shown_count_);
  }
  // The answer is over: what a stop text did not cut is shown.
  std::vector<Token> finish(FinishReason reason) {
    std::size_t end = std::string::npos;
    for (const std::string& each : stops_) {
      if (reason == FinishReason::StopText) end = std::min(end, bytes_.find(each));
    }
    return before(end);
  }
  // How many characters begin before this byte.
  std::size_t characters_before(std::size_t byte) const {
    const auto begins = [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; };
    return static_cast<std::size_t>(
        std::ranges::count_if(std::string_view(bytes_).substr(0, byte), begins));
  }

 private:
  std::vector<Token> before(std::size_t end) {
    std::vector<Token> shown;
    while (given_count_ < drawn_.size() && drawn_[given_count_].begin < end) {
      shown.push_back(std::move(drawn_[given_count_++]));
    }
    return shown;
  }

  std::vector<std::string> stops_;
  std::string bytes_;
  std::vector<Token> drawn_;
  std::size_t given_count_ = 0;  // Of them.
  std::size_t shown_count_ = 0;
};

}  // namespace endpoints
