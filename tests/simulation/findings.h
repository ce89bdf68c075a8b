#pragma once
// Findings are the errors of a simulated world. The first one counts; later ones follow from it
// more often than not.
#include <string>

namespace quire::simulation {

class Findings {
 public:
  void add(std::string finding) {
    if (first_.empty()) first_ = std::move(finding);
  }
  bool any() const { return !first_.empty(); }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

}  // namespace quire::simulation
