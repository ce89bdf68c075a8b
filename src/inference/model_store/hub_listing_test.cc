#include "inference/model_store/hub_listing.h"

#include <gtest/gtest.h>

#include "inference/model_store/hub_answer.h"

namespace quire::inference::hub_listing_test {
namespace {

const std::string kBlob(40, 'b');
const std::string kDigest(64, 'd');

std::string entry(const std::string& members) {
  return R"([{"type": "directory", "path": "x"}, {"type": "file", )" + members + "}]";
}

// The files as "path bytes sha256 blob", or the error.
std::string listed(const std::string& text) {
  std::vector<HubFile> files;
  const Result<void> parsed = parse_hub_tree(text, "list", files);
  if (!parsed.ok()) return std::string(parsed.error().message());
  std::string all;
  for (const HubFile& each : files) {
    all += each.path + " " + std::to_string(each.bytes) + " " + each.sha256 + " " + each.git_blob;
  }
  return all;
}

TEST(HubListing, HasFilesOfGitAndOfLfs) {
  EXPECT_EQ(listed(entry(R"("path": "a/b.json", "size": 7, "oid": ")" + kBlob + "\"")),
            "a/b.json 7  " + kBlob);
  // The size of an LFS file is that of its bytes, whatever its pointer takes.
  EXPECT_EQ(
      listed(entry(R"("path": "m.gguf", "size": 134, "oid": ")" + kBlob + R"(", "lfs": {"oid": ")" +
                   kDigest + R"(", "size": 5000, "pointerSize": 134})")),
      "m.gguf 5000 " + kDigest + " " + kBlob);
  EXPECT_EQ(listed("[]"), "");
}

TEST(HubListing, RefusesWhatIsNotAList) {
  EXPECT_EQ(listed(R"({"error": "Not Found"})"), "list: it is not a JSON array");
  EXPECT_EQ(listed("[1]"), "list: an entry is not a JSON object");
  EXPECT_EQ(listed(entry(R"("size": 7)")), "list: a file has no path");
  EXPECT_EQ(listed(entry(R"("path": "a")")), "list: the file \"a\" has no size");
  EXPECT_EQ(listed(entry(R"("path": "a", "size": -1)")), "list: the file \"a\" has no size");
  EXPECT_EQ(listed(entry(R"("path": "a", "size": 1, "lfs": {"oid": "short", "size": 1})")),
            "list: the LFS file \"a\" has no SHA-256");
  EXPECT_NE(listed("<html>").find("not valid JSON"), std::string::npos);
}

TEST(HubListing, ARevisionHasACommitAndPerhapsAnArchitecture) {
  const HubRevision revision =
      parse_hub_revision(R"({"id": "a/b", "sha": ")" + kBlob +
                             R"(", "gguf": {"architecture": "gemma3", "total": 7}})",
                         "list")
          .value();
  EXPECT_EQ(revision.commit, kBlob);
  EXPECT_EQ(revision.architecture, "gemma3");
  EXPECT_EQ(parse_hub_revision(R"({"sha": ")" + kBlob + "\"}", "list").value().architecture, "");
  EXPECT_FALSE(parse_hub_revision(R"({"sha": "main"})", "list").ok());
  EXPECT_FALSE(parse_hub_revision("[]", "list").ok());
}

TEST(HubListing, FindsTheNextPage) {
  EXPECT_EQ(next_page_of(R"(<https://hub/api/tree?cursor=a%3D,b>; rel="next")").value(),
            "https://hub/api/tree?cursor=a%3D,b");
  EXPECT_EQ(next_page_of(R"(<https://hub/1>; rel="prev", <https://hub/3>; rel="next")").value(),
            "https://hub/3");
  for (const char* link : {"", "<", "<a", "<a>", R"(<a>; rel="last")"}) {
    EXPECT_FALSE(next_page_of(link).has_value()) << link;
  }
}

TEST(HubListing, ABlobIsNamedAsGitNamesIt) {
  // printf 'hello\n' | git hash-object --stdin
  EXPECT_EQ(git_blob_of("hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(git_blob_of(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(etag_text("\"abc\""), "abc");
  EXPECT_EQ(etag_text("W/\"abc\""), "abc");
  EXPECT_EQ(etag_text("abc"), "abc");
  EXPECT_EQ(etag_text("\""), "\"");
}

TEST(HubAnswer, ARangeIsWholeOrNone) {
  const ContentRange range = parse_content_range("bytes 5-98/99").value();
  EXPECT_EQ(range.first, 5u);
  EXPECT_EQ(range.last, 98u);
  EXPECT_EQ(range.bytes, 99u);
  for (const char* field :
       {"", "bytes", "bytes 5-/99", "bytes */99", "bytes 5-98/*", "bytes 7-5/99", "bytes 5-99/99",
        "bytes -5-98/99", "items 5-98/99", "bytes 5-98/99x"}) {
    EXPECT_FALSE(parse_content_range(field).has_value()) << field;
  }
  EXPECT_EQ(parse_byte_count("18446744073709551615").value(), UINT64_MAX);
  EXPECT_FALSE(parse_byte_count("18446744073709551616").has_value());
  EXPECT_FALSE(parse_byte_count(" 1").has_value());
}

std::string refused(long status, std::vector<std::pair<std::string, std::string>> fields,
                    bool has_token = false) {
  const Error error = refusal_of({status, std::move(fields)}, "a/b", has_token);
  return std::string(error_code_name(error.code())) + ": " + std::string(error.message());
}

TEST(HubAnswer, ARefusalSaysTheCauseAndWhatToDo) {
  const auto expect = [](const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
    }
  };
  expect(refused(401, {{"x-error-message", "Invalid username or password."}}),
         {"permission-denied", "a/b: the hub answered 401", "Invalid username", "set HF_TOKEN",
          "no such repository"});
  expect(refused(401, {}, true), {"does not take HF_TOKEN"});
  expect(refused(403, {{"x-error-code", "GatedRepo"}}), {"gated", "accept its terms", "HF_TOKEN"});
  expect(refused(404, {{"x-error-code", "RevisionNotFound"}}), {"not-found", "no such revision"});
  expect(refused(404, {{"x-error-code", "EntryNotFound"}}), {"no such file in the repository"});
  expect(refused(404, {{"x-error-code", "RepoNotFound"}}), {"no such repository"});
  expect(refused(429, {{"retry-after", "30"}}), {"quota-exceeded", "429", "try again after 30 s"});
  expect(refused(429, {{"retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"}}),
         {"try again at Wed, 21 Oct 2026"});
  expect(refused(429, {{"ratelimit", "\"api\";r=0;t=55"}}), {"try again after 55 s"});
  expect(refused(429, {}), {"try again later"});
  expect(refused(503, {}), {"unavailable", "503"});
  expect(refused(418, {}), {"io: ", "418"});
  // A limit that cuts a character in two leaves text.
  expect(refused(404, {{"x-error-message", std::string(299, 'a') + "\xc3\xa9"}}), {"aaa\\xc3"});
  // The hub's text does not drive a terminal.
  EXPECT_EQ(refused(404, {{"x-error-message", "\x1b[2J"}}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace quire::inference::hub_listing_test
