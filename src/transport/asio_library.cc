// What Asio and Beast would compile into each file that includes them (CMakeLists.txt asks for it to be here alone).
#include <utility>  // Before Asio.

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
