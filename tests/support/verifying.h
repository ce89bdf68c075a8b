#pragma once
// Shows whether a verify() is under way, for a report on why a process stopped.
namespace quire::test {

inline volatile bool is_verifying = false;  // One thread drives a test.

struct Verifying {
  Verifying() { is_verifying = true; }
  ~Verifying() { is_verifying = false; }
  Verifying(const Verifying&) = delete;
  Verifying& operator=(const Verifying&) = delete;
};

}  // namespace quire::test
