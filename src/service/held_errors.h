#pragma once
// HeldErrors keeps the errors that an instance logged last. One of them may be the reason of the
// end that follows. Then it is shown with the end, and not as a line of the log as well.
//
// Thread   one at a time.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quire::service {

class HeldErrors {
 public:
  void add(std::string line) { lines_.push_back(std::move(line)); }
  bool empty() const { return lines_.empty(); }

  std::vector<std::string> take() { return std::exchange(lines_, {}); }
  // Leaves out the lines at the end that are the reason.
  std::vector<std::string> take_before(std::string_view reason) {
    std::vector<std::string> lines = take();
    if (reason.empty()) return lines;
    std::vector<std::string_view> wanted;
    for (std::size_t end; (end = reason.find('\n')) != std::string_view::npos;) {
      wanted.push_back(reason.substr(0, end));
      reason.remove_prefix(end + 1);
    }
    wanted.push_back(reason);
    if (wanted.size() > lines.size()) return lines;
    const auto begin = lines.end() - static_cast<std::ptrdiff_t>(wanted.size());
    if (std::equal(begin, lines.end(), wanted.begin())) lines.erase(begin, lines.end());
    return lines;
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace quire::service
