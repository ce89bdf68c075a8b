#pragma once
// AdapterForms answers POST /v1/load_lora_adapter and /v1/unload_lora_adapter, in vLLM's form: a
// JSON object with lora_name and lora_path, and one line of text for an answer.
//
// Owns     the requests whose body is not whole, or whose adapter is being read.
// Thread   engine thread only.
// Errors   of a request become its response; nothing here fails.
// Bound    one request a connection, with kFormBytesMax of its body.
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "application/server/adapter_desk.h"
#include "application/server/link.h"
#include "application/server/outlet.h"

namespace quire::server {

inline constexpr std::size_t kFormBytesMax = 16u << 10;

class AdapterForms {
 public:
  // Null: the connection is gone.
  using FindPeer = std::function<Peer*(ConnectionId)>;

  // The desk and the outlet outlive the forms.
  AdapterForms(AdapterDesk& desk, Outlet& outlet, FindPeer find_peer)
      : desk_(desk), outlet_(outlet), find_peer_(std::move(find_peer)) {}

  // `bytes` is what the request counts as pending.
  void begin(Peer& peer, HttpRequest& request, std::uint64_t bytes);
  bool has(ConnectionId connection) const { return forms_.contains(connection); }
  // Requires: has().
  void body_part(Peer& peer, HttpBodyPart& part, std::uint64_t bytes);
  void gone(ConnectionId connection) { forms_.erase(connection); }
  std::size_t count() const { return forms_.size(); }

 private:
  struct Form {
    AdapterForm kind{};
    service::PrincipalHandle caller;
    std::string target, request_id, body;
  };

  // Does what a whole body asks for, or asks for the rest.
  void go_on(Peer& peer, Form& form, bool is_whole);
  void load(Peer& peer, const Form& form);
  void unload(Peer& peer, const Form& form);
  void answer(Peer& peer, HttpAnswer answer);
  void refuse(Peer& peer, const Form& form, const Error& error);

  AdapterDesk& desk_;
  Outlet& outlet_;
  const FindPeer find_peer_;
  std::map<ConnectionId, Form> forms_;  // A connection has no further request until its answer.
};

}  // namespace quire::server
