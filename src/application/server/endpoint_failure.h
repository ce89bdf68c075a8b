#pragma once
// The response to a request whose program ended without one.
//
// A client reads that there was an error, and under which id the log has more: the text of an
// error is the program's own business, and may hold its paths and its users' data. With
// `shows_errors` the client reads the text too.
#include <cstdint>

#include "application/server/error_forms.h"
#include "service/end.h"

namespace quire::server {

HttpAnswer failure_for(const RequestName& request, const service::End& end, bool shows_errors);

}  // namespace quire::server
