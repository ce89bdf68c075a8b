#!/usr/bin/env python3
"""Tests check_structure.py on files with planted violations, and its list of exceptions."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_structure as checker
from cpp_outline import Outline


def fields(count, prefix="m"):
    return "".join(f"  int {prefix}{number} = 0;\n" for number in range(count))


def broken(files):
    """The keys of what is over its limit in {path: text}."""
    return {each.key: each.count for each in checker.measure(files) if each.count > checker.LIMITS[each.kind]}


class Members(unittest.TestCase):
    def count(self, text, name="X", others=()):
        files = {"x.h": text, **{f"{at}.cc": other for at, other in enumerate(others)}}
        return {each.name: each.count for each in checker.measure_code(files) if each.kind == "members"}[name]

    def test_a_class_with_21_members_is_found_and_one_with_20_is_not(self):
        self.assertEqual(broken({"x.h": f"class X {{\n{fields(21)}}};\n"}), {("members", "x.h", "X"): 21})
        self.assertEqual(broken({"x.h": f"class X {{\n{fields(20)}}};\n"}), {})

    def test_no_entry_allows_a_class_of_the_inference_layer_more(self):
        text = f"class X {{\n{fields(21)}}};\n"
        for folder, failure_count in (("src/inference/models", 1), ("src/control", 0)):
            key = ("members", f"{folder}/x.h", "X")
            failures, over = checker.compare(list(checker.measure({key[1]: text})), {key: 21})
            self.assertEqual((len(failures), over), (failure_count, {key: 21}), failures)
        moved = {("members", "src/inference/x.h", "X"): 21}
        with self.assertRaises(ValueError):
            checker.updated(moved, {("members", "src/control/x.h", "X"): 21})

    def test_functions_types_and_statics_are_no_members(self):
        self.assertEqual(self.count("""
class X final : public Y<int, 2> {
 public:
  explicit X(int a, std::function<void(int)> b = {}) : a_(a), c_{b} { run(); }
  X& operator=(const X&) = delete;
  bool operator==(const X&) const = default;
  std::uint64_t sum() const { int x = 0; return x; }
  template <typename T>
  void each(T visit) const;
  using Word = std::string;
  enum class Kind : std::uint8_t { A, B };
  struct Inner {
    int one = 1;
  };
  static constexpr int kCount = 3;
  static X make(int count);
  friend class Z;

 private:
  int a_ = 0;  // int commented_ = 0;
  std::map<int, std::vector<std::pair<int, int>>> c_{{1, {}}};
  std::function<std::optional<int>(const X&, int)> call_{};
  float (*pointer_)(const float* x, int count);
  const char* text_ = "; int no_ = 0;";
  std::uint16_t array_[3][4], other_;
  std::array<int, 2> made_ = make(1, 2);
  alignas(64) float scores_[65'536];
};
"""), 9)

    def test_a_member_that_groups_members_of_this_file_counts_as_them(self):
        text = f"struct Group {{\n{fields(12)}}};\nclass X {{\n  Group first_;\n  int own_;\n  std::vector<Group> many_;\n}};\n"
        self.assertEqual(self.count(text), 14)
        self.assertEqual(self.count(text, others=["Group other;"]), 3, "others use the type: it is a value")
        with_function = text.replace("  int m0", "  void run();\n  int m0")
        self.assertEqual(self.count(with_function), 3, "a type with a function is a class of its own")

    def test_members_of_types_that_are_declared_on_the_spot_count(self):
        self.assertEqual(self.count("class X {\n  struct Y {\n    int a;\n  } y_;\n  union {\n    int b;\n  };\n  int c_;\n};"), 3)


class Functions(unittest.TestCase):
    def functions(self, text):
        return {each.name: (each.line, each.line_count) for each in Outline(text).functions}

    def test_a_function_of_61_lines_is_found_and_one_of_60_is_not(self):
        for count, found in ((61, {("function", "x.cc", "run"): 61}), (60, {})):
            body = "  call();\n" * (count - 2)
            self.assertEqual(broken({"x.cc": f"void run() {{\n{body}}}\n"}), found)

    def test_names_and_lines_of_all_kinds_of_functions(self):
        self.assertEqual(self.functions("""
namespace a {
namespace {
constexpr int kTable[] = {1, 2};
const auto lambda = [](int x) { return x; };
}
X::X(int a)
    : a_{a},
      b_(a) {
  run();
}
X::~X() {}
bool X::operator<(const X& other) const { return true; }
template <typename T, std::size_t N = 3>
std::vector<T> many(std::span<T> all = {}) {
  if (all) { run(); }
}
TEST_F(Page, IsShared) {
}
}  // namespace a
"""), {"X::X": (7, 5), "X::~X": (12, 1), "X::operator_": (13, 1), "many": (14, 4), "TEST_F(Page,IsShared)": (18, 2)})


class Texts(unittest.TestCase):
    def test_a_header_of_251_lines_is_found(self):
        self.assertEqual(broken({"x.h": "//\n" * 251}), {("header", "x.h", ""): 251})
        self.assertEqual(broken({"x.h": "//\n" * 250, "x.cc": "//\n" * 900}), {})

    def test_lines_over_100_columns_are_counted_outside_generated_files(self):
        line = "// " + "x" * 98 + "\n"
        self.assertEqual(broken({"x.cc": line * 3 + line[3:]}), {("columns", "x.cc", ""): 3})
        self.assertEqual(broken({"x.h": "// Written by tools/generate_x.py.\n" + line}), {})

    def test_a_readme_needs_a_first_sentence(self):
        for text in ("", "# client\n", "# client\n\n| a | b |\n|---|---|\n", "# client\n\nno end\n"):
            self.assertEqual(broken({"a/README.md": text}), {("readme", "a/README.md", ""): 1}, text)
        self.assertEqual(broken({"a/README.md": "# client\n\nThe end of a client\nin full.\n"}), {})


class Invariants(unittest.TestCase):
    POOL = "// Invariants:\n//   P1  One.\n//   P2  Two.\nclass Pool;\n"

    def test_cited_and_defined_once_is_right(self):
        uses = 'QUIRE_CHECK(a,\n            "P1: why");\n// It holds (P2; and more).\nread("F16");\n'
        self.assertEqual(broken({"pool.h": self.POOL, "pool.cc": uses}), {})

    def test_a_citation_of_what_is_defined_nowhere_is_found(self):
        for text in ('QUIRE_CHECK(a, "P3");', 'QUIRE_DCHECK(a, "Z1: why");', "// Free pages are listed (P2, P3).", "// P3: why"):
            name = "Z1" if "Z1" in text else "P3"
            self.assertEqual(broken({"pool.h": self.POOL, "pool.cc": text}), {("undefined", name, ""): 1}, text)

    def test_letters_that_two_headers_use_are_found(self):
        other = "// Invariant   P4  Four.\n"
        self.assertEqual(broken({"pool.h": self.POOL, "other.h": other}), {("prefix", "P", ""): 2})

    def test_a_name_that_is_defined_twice_in_a_header_is_found(self):
        self.assertEqual(broken({"pool.h": self.POOL.replace("P2", "P1")}), {("prefix", "P1", ""): 2})


class Exceptions(unittest.TestCase):
    def run_on(self, entries, line_count, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools").mkdir()
            (root / checker.LIST).write_text(entries)
            checker.subprocess.run(["git", "init", "-q", folder], check=True)
            (root / "x.h").write_text("//\n" * line_count)
            code = checker.main([*arguments, folder])
            return code, (root / checker.LIST).read_text()

    def test_an_entry_allows_its_number_and_less_but_no_more(self):
        for count, code in ((300, 0), (280, 0), (301, 1)):
            self.assertEqual(self.run_on("header x.h 300\n", count)[0], code)
        self.assertEqual(self.run_on("", 251)[0], 1)

    def test_an_entry_that_no_longer_applies_is_an_error(self):
        self.assertEqual(self.run_on("header x.h 300\n", 250)[0], 1)
        self.assertEqual(self.run_on("header gone.h 300\n", 1)[0], 1)
        self.assertEqual(self.run_on("cycle src/a.cc 1\n", 1)[0], 0, "that kind is another checker's")

    def test_an_update_lowers_follows_moves_and_never_adds(self):
        self.assertEqual(self.run_on("# Why.\nheader old.h 300\n", 280, "--update")[1], "# Why.\nheader x.h 280\n")
        self.assertEqual(self.run_on("header x.h 300\n", 301, "--update"), (1, "header x.h 300\n"))


if __name__ == "__main__":
    unittest.main()
