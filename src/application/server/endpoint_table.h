#pragma once
// EndpointTable says which program answers which request: by method and path, the more exact path
// first.
//
// Thread   any; nothing changes.
// Errors   InvalidArgument for what is not an endpoint, AlreadyExists for two of one place.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quire::server {

// The paths of the requests for adapters (adapter_forms.h), by AdapterForm.
inline constexpr std::string_view kAdapterPaths[] = {"/v1/load_lora_adapter",
                                                     "/v1/unload_lora_adapter"};

struct EndpointRule {
  std::string method;  // GET, POST, PUT, PATCH or DELETE.
  std::string path;    // "/x", or "/x/" of all that begins so.
  bool is_prefix = false;
  std::string program;                 // A name, or a file.
  std::vector<std::string> arguments;  // Of each launch.
  // The program gets bodies without their content coding (body_decoder.h), and not as they were sent.
  bool decodes_bodies = false;

  std::string text() const { return method + " " + path + (is_prefix ? "*" : ""); }
};

// "POST /x=program", or "GET /x/*=program ARGUMENT...".
Result<EndpointRule> parse_endpoint_rule(std::string_view text);

class EndpointTable {
 public:
  EndpointTable() = default;
  static Result<EndpointTable> create(std::vector<EndpointRule> rules);

  // The rule for a request; a HEAD is answered as its GET. Null: there is none.
  const EndpointRule* find(std::string_view method, std::string_view path) const;
  // The methods of the endpoints at the path, as in "GET, HEAD, POST"; empty: none is there.
  std::string methods_at(std::string_view path) const;
  const std::vector<EndpointRule>& rules() const { return rules_; }

 private:
  template <typename Function>
  void each_at(std::string_view path, Function&& function) const;

  std::vector<EndpointRule> rules_;
  // Indexes in rules_, by path. Prefixes apart.
  std::map<std::string, std::vector<std::size_t>, std::less<>> exact_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> prefixes_;
};

}  // namespace quire::server
