#pragma once
// HttpSession is a connection that speaks HTTP: it reads the heads of requests, one after another, asks
// the HttpRouter what becomes of each, and answers, or hands its socket to a WebSocketSession.
//
// Thread   io thread only.
#include "application/server/session.h"

namespace quire::server {

// `is_reserve`: the connection has a place of the reserve (connection_table.h), whose entry is there already. The host
// outlives the session.
SessionHandle make_http_session(SessionHost& host, Socket socket, ConnectionId id, bool is_reserve);

}  // namespace quire::server
