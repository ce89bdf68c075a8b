#!/usr/bin/env bash
# lint.sh [--fix]: checks the layout of the code (clang-format), the arrows between layers, and the rules of STYLE.md
# that can be counted, about code and about English.
set -euo pipefail
source "$(dirname "$0")/common.sh"
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.cc' '*.h' '*.cpp')
if [ "${1:-}" = "--fix" ]; then
  clang-format-22 -i "${files[@]}"
else
  step format "clang-format-22 over ${#files[@]} files" \
    clang-format-22 --dry-run --Werror "${files[@]}"
fi
step layers "tools/check_layers.py" python3 tools/check_layers.py .
step threads "tools/check_threads.py" python3 tools/check_threads.py .
step structure "tools/check_structure.py" python3 tools/check_structure.py .
step prose "tools/check_prose.py" python3 tools/check_prose.py .
