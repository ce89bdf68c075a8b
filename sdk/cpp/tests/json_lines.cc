// Reads JSON documents, one a line, and writes each as Json gives it back; an empty line for one that is refused.
#include <cstdio>
#include <iostream>
#include <string>

#include "quire/json.h"

namespace quire::abi::runtime {

// panic() logs before it traps.
std::int32_t log(std::uint32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}

}  // namespace quire::abi::runtime

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const quire::Result<quire::Json> json = quire::Json::parse(line);
    std::cout << (json.ok() ? json.value().str() : "") << '\n';
  }
  return std::cout.good() ? 0 : 1;
}
