#!/usr/bin/env python3
"""The walls that the compiler and the linker put into the program: what a mistake of memory meets before it is of use."""
import re
import subprocess
import unittest

import attack

PROGRAM = attack.BUILD / "quire"


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class HardeningTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.elf = output_of("readelf", "-lhdW", PROGRAM)
        cls.imports = output_of("nm", "-D", "--undefined-only", PROGRAM)

    def test_is_position_independent_and_no_stack_is_executable(self):
        self.assertRegex(self.elf, r"Type:\s+DYN")
        self.assertRegex(self.elf, r"GNU_STACK\s.*RW ")

    def test_its_tables_of_functions_are_read_only_once_it_runs(self):
        self.assertIn("GNU_RELRO", self.elf)
        self.assertRegex(self.elf, r"BIND_NOW|FLAGS_1\S*\s.*NOW")

    def test_names_no_folder_for_libraries(self):
        self.assertNotRegex(self.elf, "RPATH|RUNPATH")

    def test_a_stack_that_overflows_and_a_buffer_that_is_too_small_end_it(self):
        self.assertTrue("__stack_chk_fail" in self.imports, "no protector of the stack")
        checked = re.search(r"__(memcpy|memmove|snprintf|vsnprintf|read|strcpy|fprintf)_chk", self.imports)
        self.assertIsNotNone(checked, "no checked calls of the library")

    def test_a_container_that_is_read_beyond_its_end_ends_it(self):
        self.assertTrue("__glibcxx_assert_fail" in self.imports, "no assertions of the standard library")


if __name__ == "__main__":
    attack.main()
