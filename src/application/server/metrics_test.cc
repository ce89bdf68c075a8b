#include "application/server/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "application/server/metrics_text.h"

namespace quire::server {
namespace {

std::size_t occurrences_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool has_line(const std::string& page, const std::string& line) {
  return page.find("\n" + line + "\n") != std::string::npos;
}

lifecycle::TenantUsage tenant_usage(std::uint32_t number) {
  lifecycle::TenantUsage usage;
  usage.tenant = control::TenantId{number};
  for (const char* each :
       {"instance_count_max", "page_count_max", "memory_bytes", "program_memory_bytes",
        "token_count", "cpu_ns", "output_bytes", "http.call_count", "launched_count",
        "refused_count", "adapter_count_max", "adapter_bytes_max"}) {
    usage.figures.push_back({each, lifecycle::kNoLimit, number});
  }
  return usage;
}

TEST(MetricsText, WritesFamiliesAndEscapesWhatComesFromOutside) {
  MetricsText page;
  page.family("a_total", "counter", "One\nor \\ two.");
  page.sample({{"name", "a\"b\\c\nd"}, {"other", ""}}, std::uint64_t{7});
  page.family("b", "gauge", "A share.");
  page.sample({}, 0.25);
  page.seconds({}, 1'234'567'890);
  page.seconds({}, 20'000'000'000);
  EXPECT_EQ(page.take(),
            "# HELP a_total One\\nor \\\\ two.\n# TYPE a_total counter\n"
            "a_total{name=\"a\\\"b\\\\c\\nd\",other=\"\"} 7\n"
            "# HELP b A share.\n# TYPE b gauge\nb 0.25\nb 1.23456789\nb 20\n");
}

TEST(MetricsText, BucketsCountAllThatIsAtMostTheirEdge) {
  Histogram histogram;
  for (const std::uint64_t ns : {100'000u, 100'001u, 1'000'000'000u}) histogram.observe(ns);
  MetricsText page;
  page.times("t_seconds", "Times.", histogram);
  const std::string text = page.take();
  EXPECT_TRUE(has_line(text, "t_seconds_bucket{le=\"0.0001\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "t_seconds_bucket{le=\"0.00025\"} 2")) << text;
  EXPECT_TRUE(has_line(text, "t_seconds_bucket{le=\"1\"} 3")) << text;
  EXPECT_TRUE(has_line(text, "t_seconds_bucket{le=\"+Inf\"} 3")) << text;
  EXPECT_TRUE(has_line(text, "t_seconds_sum 1.000200001")) << text;
}

TEST(Metrics, TenantsAndEndpointsBeyondTheLimitsAreSummedUp) {
  ServerSnapshot snapshot;
  snapshot.usage.emplace();
  std::uint64_t others = 0;
  for (std::uint32_t i = 1; i <= 300; ++i) {
    snapshot.usage->tenants.push_back(tenant_usage(i));
    if (i > kLabeledTenantCountMax) others += i;
  }
  std::vector<EndpointRule> rules(200);
  EndpointFigures endpoints;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    rules[i].method = "GET";
    rules[i].path = "/" + std::to_string(1000 + i);
    endpoints.counts[&rules[i]][0] = i;
  }
  const std::string page = metrics_page(snapshot, endpoints, {}, {});
  EXPECT_EQ(occurrences_of(page, "quire_tenant_instances{"), kLabeledTenantCountMax + 1);
  EXPECT_TRUE(has_line(page, "quire_tenant_tokens_total{tenant=\"32\"} 32")) << page;
  EXPECT_TRUE(
      has_line(page, "quire_tenant_tokens_total{tenant=\"other\"} " + std::to_string(others)))
      << page;
  EXPECT_EQ(occurrences_of(page, "outcome=\"ok\""), kLabeledEndpointCountMax + 1);
  EXPECT_TRUE(has_line(page, "quire_http_requests_total{endpoint=\"GET /1063\",outcome=\"ok\"} 63"))
      << page;
  EXPECT_NE(page.find("endpoint=\"other\""), std::string::npos) << page;
  EXPECT_LT(page.size(), 96u << 10);
}

// The rules of `promtool check metrics`, for a page with all families.
TEST(Metrics, NamesFollowTheRulesOfPrometheus) {
  ServerSnapshot snapshot;
  snapshot.usage.emplace();
  snapshot.usage->tenants.push_back(tenant_usage(0));
  std::istringstream page(metrics_page(snapshot, {}, {}, {}));
  std::set<std::string> names;
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string mark, what, name, type;
    words >> mark >> what >> name >> type;
    if (mark != "#" || what != "TYPE") continue;
    EXPECT_TRUE(names.insert(name).second) << name << " has two families";
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), name.npos) << name;
    EXPECT_EQ(name.ends_with("_total"), type == "counter") << name << " is a " << type;
    for (const char* each : {"_bucket", "_count", "_sum", "_info"}) {
      EXPECT_FALSE(name.ends_with(each) && type != "gauge") << name << " is a " << type;
    }
    for (const char* each : {"_ms", "_ns", "_us", "_sec", "_kb", "_mb", "_minutes", "_counter",
                             "_gauge", "_histogram"}) {
      EXPECT_EQ((name + "_").find(std::string(each) + "_"), name.npos) << name;
    }
    for (const char* unit : {"_seconds", "_bytes"}) {
      const std::size_t at = name.find(unit);
      if (at == name.npos) continue;
      const std::string rest = name.substr(at + std::string_view(unit).size());
      EXPECT_TRUE(rest.empty() || rest == "_total" || rest == "_max") << name;
    }
  }
  EXPECT_GT(names.size(), 40u);
}

}  // namespace
}  // namespace quire::server
