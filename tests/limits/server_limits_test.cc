// The limits that all tenants of a server share, row by row.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/readable.h"
#include "cli/parse.h"
#include "limits/proofs.h"

namespace quire::limits_test {

using control::TenantId;
using Among = LimitSharing::Among;

void expect_halves(std::uint64_t count_max, const TakeOne& take_one) {
  const auto take_all = [&](TenantId tenant) {
    std::uint64_t count = 0;
    while (count <= count_max && take_one(tenant)) ++count;
    return count;
  };
  const std::uint64_t first = take_all(TenantId{1});
  EXPECT_EQ(first, count_max / 2);
  const std::uint64_t second = take_all(TenantId{2});
  EXPECT_EQ(second, (count_max - first) / 2);
  EXPECT_GT(take_all(TenantId{3}), 0u) << "a third tenant finds some";
  EXPECT_FALSE(take_one(TenantId{1}))
      << "a tenant gets no more when other tenants have taken theirs";
}

namespace {

const Proofs& all_proofs() {
  static const Proofs all = [] {
    Proofs proofs = application_proofs();
    for (const auto& [limit, proof] : control_proofs()) {
      EXPECT_TRUE(proofs.emplace(limit, proof).second) << row_of(limit).name << " has two proofs";
    }
    return proofs;
  }();
  return all;
}

class ServerLimits : public testing::TestWithParam<std::size_t> {
 protected:
  const ServerLimitRow& row() const { return kServerLimits[GetParam()]; }
};

TEST_P(ServerLimits, CannotBeTakenWholeByOneOfThoseWhoShareIt) {
  const auto proof = all_proofs().find(static_cast<ServerLimit>(GetParam()));
  if (row().sharing.among == Among::Nobody) {
    EXPECT_EQ(proof, all_proofs().end()) << row().name << " is shared out: the row should say so";
    return;
  }
  ASSERT_NE(proof, all_proofs().end())
      << row().name << " has no proof; tests/limits/README.md says how to add one";
  proof->second();
}

std::string name_of(const testing::TestParamInfo<std::size_t>& at) {
  return kServerLimits[at.param].name;
}

INSTANTIATE_TEST_SUITE_P(Rows, ServerLimits,
                         testing::Range<std::size_t>(0, std::size(kServerLimits)), name_of);

TEST(ServerLimitRows, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const ServerLimitRow& each : kServerLimits) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
  }
}

std::string help_of_serve() {
  return cli::parse({"serve", "--help-all"}).text;
}

TEST(ServerLimitRows, AreNamedWithTheirDefaultByTheOptionsThatSetThem) {
  const std::string help = help_of_serve();
  for (const ServerLimitRow& each : kServerLimits) {
    SCOPED_TRACE(each.name);
    if (each.option[0] == '\0') continue;
    EXPECT_NE(help.find(each.option), std::string::npos) << each.option;
    if (each.value == 0) continue;
    EXPECT_NE(help.find(each.name), std::string::npos) << each.option << " does not name it";
  }
}

TEST(ServerLimitRows, HaveWordsThatTheOptionOfATenantKnows) {
  const std::string help = help_of_serve();
  for (const ServerLimitRow& each : kServerLimits) {
    if (each.word[0] == '\0') continue;
    EXPECT_NE(help.find(std::string(each.word) + ":"), std::string::npos) << each.word;
  }
}

// As people write them: 1,024 and 256 MiB.
std::string value_text(const ServerLimitRow& row) {
  if (row.value == 0) return "of the machine";
  if (row.unit == LimitUnit::Bytes) {
    std::string bytes = readable_bytes(row.value);
    const std::size_t zero = bytes.find(".0 ");
    return zero == std::string::npos ? bytes : bytes.erase(zero, 2);
  }
  std::string text = std::to_string(row.value);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string share_text(const ServerLimitRow& row) {
  if (row.sharing.among == Among::Nobody) return std::string("no: ") + row.sharing.why;
  if (row.sharing.among == Among::Addresses) return "by address";
  if (row.word[0] == '\0') return "by tenant";
  return std::string("by tenant, `") + row.word + "`";
}

std::string table_of_rows() {
  std::string table =
      "| of what | limit | default | shared out | beyond |\n|---|---|---|---|---|\n";
  for (const ServerLimitRow& each : kServerLimits) {
    const std::string option = each.option[0] == '\0' ? "" : "`" + std::string(each.option) + "`, ";
    table += std::string("| ") + each.of + " | " + option + "`" + each.name + "` | " +
             value_text(each) + " | " + share_text(each) + " | " + each.beyond + " |\n";
  }
  return table;
}

TEST(ServerLimitRows, MakeTheTableOfTheDocument) {
  const std::string begin =
      "<!-- From src/base/server_limits.inc: QUIRE_WRITE_DOCUMENT=1 quire_limits_test -->\n";
  const std::string end = "<!-- end -->\n";
  std::stringstream read;
  read << std::ifstream(QUIRE_LIMITS_DOCUMENT).rdbuf();
  const std::string document = read.str();
  const std::size_t from = document.find(begin);
  const std::size_t to = document.find(end, from == std::string::npos ? 0 : from);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos)
      << "docs/reference/limits.md lacks the marks";
  const std::size_t inner = from + begin.size();
  if (std::getenv("QUIRE_WRITE_DOCUMENT") != nullptr) {
    std::ofstream(QUIRE_LIMITS_DOCUMENT)
        << document.substr(0, inner) << table_of_rows() << document.substr(to);
    return;
  }
  EXPECT_EQ(document.substr(inner, to - inner), table_of_rows())
      << "QUIRE_WRITE_DOCUMENT=1 quire_limits_test writes it";
}

}  // namespace
}  // namespace quire::limits_test
