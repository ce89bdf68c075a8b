#!/usr/bin/env bash
# check_links.sh: every relative link in a document, and every path of ours in `code`, exists.
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
  done < <(grep -oE '\]\([^)]+\)' "$file" | sed -E 's/^\]\((.*)\)$/\1/')
done < <(find . -name '*.md' -not -path './build/*' -not -path './.git/*')
# Files that the architecture names.
while IFS= read -r target; do
  [ -e "$target" ] || {
    echo "ARCHITECTURE.md names $target, which is not there"
    failed=1
  }
done < <(grep -oE '`(src|tests|tools|docs|interface|sdk|inferlets|engines)/[A-Za-z0-9_./-]*`' ARCHITECTURE.md | tr -d '`')
exit "$failed"
