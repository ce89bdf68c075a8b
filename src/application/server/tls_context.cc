#include "application/server/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>

#include <string_view>

namespace quire::server {
namespace {

namespace ssl = boost::asio::ssl;

// The ciphers of TLS 1.2 with forward secrecy and authentication (RFC 9325, 4.2). TLS 1.3 has only
// such ciphers.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
using ErrorCodeOf = boost::system::error_code;

// HTTP/1.1 is all there is. A client that offers none of it goes on without an agreement.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                    const unsigned char* offered, unsigned int offered_bytes, void*) {
  static constexpr unsigned char kHttp[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int agreed =
      SSL_select_next_proto(&found, chosen_bytes, kHttp, sizeof kHttp - 1, offered, offered_bytes);
  if (agreed != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

Error wrong_file(const char* flag, const std::string& file, const std::string& why) {
  return Error(ErrorCode::InvalidArgument, std::string(flag) + ": " + file + ": " + why);
}

// OpenSSL compares a key with the certificate as soon as it has read it.
bool is_mismatch(const ErrorCodeOf& error) {
  const auto code = static_cast<unsigned long>(error.value());
  if (!error || ERR_GET_LIB(code) != ERR_LIB_X509) return false;
  return ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH ||
         ERR_GET_REASON(code) == X509_R_KEY_TYPE_MISMATCH;
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::open(const TlsFiles& files) {
  std::unique_ptr<TlsContext> tls(new TlsContext());
  TRY(tls->load(files));
  return tls;
}

Result<void> TlsContext::load(const TlsFiles& files) {
  SSL_CTX* native = context_.native_handle();
  // Some systems forbid 1.2 and all below; none may allow more than this server does.
  if (SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) != 1) {
    return Error(ErrorCode::NotSupported, "this OpenSSL does not speak TLS 1.2");
  }
  if (SSL_CTX_set_cipher_list(native, kCiphers) != 1) {
    return Error(ErrorCode::NotSupported, std::string("this OpenSSL has none of ") + kCiphers);
  }
  // OpenSSL wipes decrypted bytes, which may hold a key, once the session has read them.
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                  SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_CLEANSE_PLAINTEXT);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // Idle connections keep less.
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  ErrorCodeOf error;
  // Else OpenSSL would ask the terminal.
  context_.set_password_callback(
      [](std::size_t, ssl::context::password_purpose) { return std::string(); }, error);
  if (error) return Error(ErrorCode::Internal, "TLS: " + error.message());
  context_.use_certificate_chain_file(files.certificate, error);
  if (error) return wrong_file("--tls-certificate", files.certificate, error.message());
  context_.use_private_key_file(files.key, ssl::context::pem, error);
  const bool is_of_another = is_mismatch(error);
  if (error && !is_of_another) {
    return wrong_file("--tls-key", files.key,
                      error.message() + " (a PEM key without a password was expected)");
  }
  if (is_of_another || SSL_CTX_check_private_key(native) != 1) {
    return wrong_file("--tls-key", files.key, "it is not the key of " + files.certificate);
  }
  return {};
}

}  // namespace quire::server
