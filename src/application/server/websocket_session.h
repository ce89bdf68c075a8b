#pragma once
// WebSocketSession is a connection that is a WebSocket: its frames become requests for the engine, and
// what the engine says its frames.
//
// Owns     the socket, the frames that it has not taken, and the program that is being uploaded.
// Thread   io thread only.
// Bound    SocketLimits: it reads while requests and replies have room, and pauses else.
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include "application/server/session.h"
#include "base/wipe.h"

namespace quire::server {

using UpgradeRequest =
    boost::beast::http::request<boost::beast::http::empty_body,
                                boost::beast::http::basic_fields<WipingAllocator<char>>>;

// Goes on with the connection of an HttpSession, whose request asked for it. start() answers it.
SessionHandle make_websocket_session(SessionHost& host, ConnectionStream stream,
                                     ConnectionHandle connection, UpgradeRequest request);

}  // namespace quire::server
