#pragma once
// The files of a server's TLS, in PEM. An empty certificate: it has no TLS.
#include <string>

namespace quire::cli {

struct TlsPaths {
  std::string certificate{};
  std::string key{};
};

}  // namespace quire::cli
