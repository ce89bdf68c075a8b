#!/usr/bin/env python3
"""check_threads_test.py: which starts of threads check_threads.py finds."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_threads as checker

STARTS = [
    "void f() { std::thread t([] {}); }",
    "void f() { std::thread([] {}).detach(); }",
    "std::jthread t{[] {}};",
    "auto later = std::async([] {});",
    "pthread_create(&thread, nullptr, serve, nullptr);",
    "struct A { std::thread thread_; };\nA::A() : thread_([this] { run(); }) {}",
    "struct A { std::thread thread_; };\nvoid A::f() { thread_ = std::thread([this] { run(); }); }",
    "struct A { std::vector<std::thread> threads_; };\nvoid A::f() { threads_.emplace_back([this] { run(); }); }",
]
OTHERS = [
    "thread_ = TRY(start_thread(\"a purpose\", [this] { run(); }));",
    "struct A { std::thread thread_; };\nA::~A() { if (thread_.joinable()) thread_.join(); }",
    "struct A { A(int descriptor, std::thread thread); std::vector<std::thread> threads_; };",
    "for (std::thread& thread : threads_) thread.join();",
    "// A bare std::thread(f) throws.\nstd::optional<std::thread> thread_;",
    "struct A { std::vector<std::thread> threads_; };\nvoid f() { threads_.push_back(std::move(thread).take()); }",
]


class Threads(unittest.TestCase):
    def failures(self, **texts):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.items():
                (pathlib.Path(folder) / name.replace("__", ".")).write_text(text)
            return checker.failures_of(pathlib.Path(folder))

    def test_each_way_to_start_a_thread_is_found(self):
        for text in STARTS:
            self.assertEqual(len(self.failures(a__cc=text)), 1, text)

    def test_a_member_that_the_header_declares_is_found(self):
        found = self.failures(a__h="struct A { std::thread thread_; };", a__cc="A::A() : thread_([this] { run(); }) {}")
        self.assertEqual(len(found), 1)
        self.assertIn("src/a.cc:1", found[0])

    def test_other_uses_of_threads_are_right(self):
        for text in OTHERS:
            self.assertEqual(self.failures(a__cc=text), [], text)

    def test_tests_may_start_their_own(self):
        self.assertEqual(self.failures(a_test__cc=STARTS[0], a_test_support__h=STARTS[1]), [])


if __name__ == "__main__":
    unittest.main()
