#pragma once
// AdapterBook: which adapters the server of a world has, by name. It also says what a set of them
// is to the simulated device.
//
// An adapter is a number: the seed of inference::small_adapter(). The same number is the same
// adapter under every name. In a world without adapters the book is not open, and stays empty.
//
// Thread   the world's.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "control/naive_model.h"

namespace quire::simulation {

class AdapterBook {
 public:
  using Number = std::uint32_t;
  struct Key {
    std::uint32_t model = 0;
    std::optional<std::uint32_t> tenant{};  // Empty: the server's.
    std::string name{};
    auto operator<=>(const Key&) const = default;
  };
  struct Scaled {
    Number adapter = 0;
    float scale = 1.0f;
  };

  void open() { is_open_ = true; }
  bool is_open() const { return is_open_; }
  void add(const Key& key, Number adapter);
  void remove(const Key& key);
  bool has(const Key& key) const { return loaded_.contains(key); }
  // The adapter of the name for programs of the tenant: the tenant's own, or else the server's.
  std::optional<Number> find(std::uint32_t tenant, std::uint32_t model,
                             const std::string& name) const;
  // The names that the tenant may use, rising, each once.
  std::vector<std::string> names(std::uint32_t tenant, std::uint32_t model) const;
  // Grows with each change, so that equal numbers mean that nothing changed in between.
  std::uint64_t change_count() const { return change_count_; }

  // The set as the simulated device takes it in; 0 for none. Requires: no adapter twice.
  std::uint64_t set_of(const std::vector<Scaled>& adapters);
  // Whether the tenant may use all adapters of the content's tokens, and of its next one.
  bool has_all_of(const test::Content& content, std::uint32_t tenant, std::uint32_t model) const;

 private:
  const Digest& digest_of(Number adapter);

  bool is_open_ = false;
  std::map<Key, Number> loaded_;
  std::map<Number, Digest> digests_;
  std::map<std::uint64_t, std::vector<Number>> sets_;  // Those of set_of(), with their members.
  std::uint64_t change_count_ = 0;
};

}  // namespace quire::simulation
