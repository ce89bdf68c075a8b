#include "client/client_tls.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/system/error_code.hpp>

namespace quire::client {

Result<std::unique_ptr<ClientTls>> ClientTls::create() {
  std::unique_ptr<ClientTls> tls(new ClientTls());
  boost::system::error_code error;
  tls->context_.set_default_verify_paths(error);
  if (!error) tls->context_.set_verify_mode(boost::asio::ssl::verify_peer, error);
  if (error) return Error(ErrorCode::Internal, "TLS: " + error.message());
  if (SSL_CTX_set_min_proto_version(tls->context_.native_handle(), TLS1_2_VERSION) != 1) {
    return Error(ErrorCode::NotSupported, "this OpenSSL does not speak TLS 1.2");
  }
  return tls;
}

Result<void> expect_host(SSL* tls, const std::string& host) {
  // A certificate names an address as an address, and TLS does not send it as a host name.
  X509_VERIFY_PARAM* const rules = SSL_get0_param(tls);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1) return {};
  if (SSL_set1_host(tls, host.c_str()) == 1 && SSL_set_tlsext_host_name(tls, host.c_str()) == 1) {
    return {};
  }
  return Error(ErrorCode::InvalidArgument, host + " is not a name that TLS can ask for");
}

std::optional<std::string> certificate_fault(SSL* tls) {
  const long verdict = SSL_get_verify_result(tls);
  if (verdict == X509_V_OK) return std::nullopt;
  const bool is_of_another =
      verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH;
  const char* next = is_of_another ? "; give the server's address as its certificate has it"
                                   : "; SSL_CERT_FILE=FILE names one to trust";
  return std::string("the server's certificate: ") + X509_verify_cert_error_string(verdict) + next;
}

}  // namespace quire::client
