// This file alone compiles the code of Asio and Beast: src/CMakeLists.txt sets
// BOOST_ASIO_SEPARATE_COMPILATION and BOOST_BEAST_SEPARATE_COMPILATION.
#ifndef NDEBUG
// Builds with assertions hand them to assertion_failed() below.
#define BOOST_ENABLE_ASSERT_HANDLER
#endif
#include <utility>  // Before Asio.

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>

#ifndef NDEBUG
#include <cstring>
#include <string>

#include "base/check.h"

namespace boost {

// The parser of Beast 1.74 asserts that the last chunk of a body has five bytes. If it is also the
// first one, and arrives in two pieces, it has four, and the code below the assertion handles that.
// So any client could end a server of such a build. Each other assertion stops the process.
void assertion_failed(char const* expression, char const* function, char const* file, long line) {
  const bool is_last_chunk = std::strcmp(expression, "n >= 5") == 0 &&
                             std::strstr(file, "beast/http/impl/basic_parser") != nullptr;
  const std::string why =
      std::string(expression) + " in " + function + ", " + file + ":" + std::to_string(line);
  QUIRE_CHECK(is_last_chunk, why.c_str());
}

}  // namespace boost
#endif
