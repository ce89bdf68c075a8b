#!/usr/bin/env bash
# check_links.sh: every relative link in a document outside its blocks of code leads to a file, and so does each path that the
# architecture has in `code`. Each document that a file names, and each test that a document names, exists.
set -euo pipefail
cd "$(dirname "$0")/../.."
failed=0
while IFS= read -r file; do
  folder=$(dirname "$file")
  while IFS= read -r target; do
    case "$target" in http://* | https://* | "#"*) continue ;; esac
    [ -e "$folder/${target%%#*}" ] || {
      echo "$file: the link $target leads nowhere"
      failed=1
    }
  done < <(sed '/^ *```/,/^ *```/d' "$file" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\((.*)\)$/\1/')
done < <(find . -name '*.md' -not -path './build/*' -not -path './.git/*')
# Files that the architecture names.
while IFS= read -r target; do
  [ -e "$target" ] || {
    echo "ARCHITECTURE.md names $target, which is not there"
    failed=1
  }
done < <(grep -oE '`(src|tests|tools|docs|interface|sdk|inferlets|engines)/[A-Za-z0-9_./-]*`' ARCHITECTURE.md | tr -d '`')
# Documents that any file names: a comment, a help text, a message.
while IFS= read -r document; do
  [ -e "$document" ] || {
    grep -rlF "$document" --exclude-dir=build --exclude-dir=.git . | sed "s|\$|: there is no $document|"
    failed=1
  }
done < <(grep -rhoE '\bdocs/[A-Za-z_/]+\.(md|svg|json)\b' --exclude-dir=build --exclude-dir=.git --exclude=check_prose_test.py . | sort -u)
# Tests that the documents name.
while IFS= read -r test; do
  grep -rqE "TEST(_[FP])?\\(${test%%.*}, ${test##*.}\\)" src tests sdk || {
    echo "docs name the test $test, which is not there"
    failed=1
  }
done < <(grep -rhoE '`[A-Z][A-Za-z0-9]+\.[A-Z][A-Za-z0-9]+`' docs README.md ARCHITECTURE.md | tr -d '`' | sort -u)
exit "$failed"
