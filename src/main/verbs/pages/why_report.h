#pragma once
// WhyReport has the tokens that each program of a run saved, and why not more: for people
// (why_text), for programs (JSON), and back from a file that --kv-report wrote.
//
// It is for the operator of the engine, because reasons show what other tenants hold.
//
// Thread   any; plain values.
// Errors   of read_why_report: Corrupted, naming the first field that is not as it must be.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/api/control_port.h"
#include "control/objects/miss_log.h"

namespace quire {

struct WhyMiss {
  std::uint32_t context = 0;  // Of its instance, in the order in which they first missed.
  std::uint32_t page = 0;
  std::uint32_t position = 0;
  std::uint32_t token_count = 0;
  control::PageMiss why;
  std::string here_text;  // Of the tokens that differ.
  std::string there_text;
};

struct WhyInstance {
  std::uint64_t number = 0;  // In the order of launch, from 0.
  control::InstanceStatistics statistics;
  std::vector<WhyMiss> misses;
};

struct WhyReport {
  std::uint32_t page_size = 0;
  std::uint64_t forgotten_count = 0;  // Misses that newer ones took the place of.
  std::vector<WhyInstance> instances;
};

nlohmann::json why_json(const WhyReport& report);
Result<WhyReport> read_why_report(const nlohmann::json& json);

std::string why_text(const WhyReport& report);

}  // namespace quire
