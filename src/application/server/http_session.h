#pragma once
// HttpSession is a connection that speaks HTTP: it reads the heads of requests, one after another, asks
// the HttpRouter what becomes of each, and answers, or hands its socket to a WebSocketSession.
//
// Thread   io thread only.
#include "application/server/session.h"

namespace quire::server {

// `is_refused`: the server has too many connections, and the session only says so to its client. The
// host outlives the session.
SessionHandle make_http_session(SessionHost& host, Socket socket, ConnectionId id, bool is_refused);

}  // namespace quire::server
