#pragma once
// The seeds that a campaign of random programs runs: all of them, or a share that rotates.
//
// QUIRE_SEED_SHARE=I/N takes the seeds s with s % N == I; 0/1 takes all, and so does `make
// campaign`. `make test` sets a share that changes from day to day and prints it. Unset is 0/8.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace quire {

struct SeedShare {
  std::uint64_t index = 0;
  std::uint64_t count = 8;
};

// A text that is not I/N with I < N gives the default.
inline SeedShare parse_seed_share(const char* text) {
  unsigned long long index = 0;
  unsigned long long count = 0;
  char rest = 0;
  if (text == nullptr || std::sscanf(text, "%llu/%llu%c", &index, &count, &rest) != 2) return {};
  if (count == 0 || index >= count) return {};
  return {index, count};
}

// This run's share of the seeds [0, total); at least one where total > 0.
inline std::vector<std::uint64_t> campaign_seeds(std::uint64_t total) {
  const SeedShare share = parse_seed_share(std::getenv("QUIRE_SEED_SHARE"));
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = share.index; seed < total; seed += share.count) seeds.push_back(seed);
  if (seeds.empty() && total > 0) seeds.push_back(share.index % total);
  return seeds;
}

}  // namespace quire
