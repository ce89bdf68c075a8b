#pragma once
// HttpSession is a connection that speaks HTTP: it reads the heads of requests, one after another, asks
// the HttpRouter what becomes of each, and answers, or hands its socket to a WebSocketSession.
//
// Thread   io thread only.
#include "application/server/session.h"

namespace quire::server {

// `is_refused`: there are too many connections, and this one is told so. The host outlives it.
SessionHandle make_http_session(SessionHost& host, Socket socket, ConnectionId id, bool is_refused);

}  // namespace quire::server
