#pragma once
// KeyUseRecorder keeps when the keys of a server were last used: it writes every few seconds what
// has changed, to the file beside the file of keys (application/access/key_uses.h).
//
// Owns     the uses, and the thread that writes.
// Thread   uses() on any thread; writing on the recorder's own.
// Errors   Uses that cannot be written are kept and tried again; `tell` reports the first such
//          error, and when it is over.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "application/access/key_uses.h"
#include "base/result.h"
#include "main/machine/periodic_work.h"

namespace quire {

class KeyUseRecorder final {
 public:
  static Result<std::unique_ptr<KeyUseRecorder>> start(
      std::string keys_file, std::function<void(const std::string&)> tell);

  access::KeyUses& uses() { return uses_; }

 private:
  KeyUseRecorder(std::string keys_file, std::function<void(const std::string&)> tell)
      : keys_file_(std::move(keys_file)), tell_(std::move(tell)) {}
  void write();

  const std::string keys_file_;
  const std::function<void(const std::string&)> tell_;
  access::KeyUses uses_;
  // The thread's own.
  access::KeyUseTimes unwritten_;
  bool has_failed_ = false;
  std::unique_ptr<PeriodicWork> thread_;  // Writes what is left, before the rest goes.
};

}  // namespace quire
