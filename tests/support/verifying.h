#pragma once
// Says whether a verify() is under way, to whoever reports how a process came to stop.
namespace quire::test {

inline volatile bool is_verifying = false;  // One thread drives a test.

struct Verifying {
  Verifying() { is_verifying = true; }
  ~Verifying() { is_verifying = false; }
  Verifying(const Verifying&) = delete;
  Verifying& operator=(const Verifying&) = delete;
};

}  // namespace quire::test
