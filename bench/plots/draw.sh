#!/usr/bin/env bash
# draw.sh [--check]: draws the plots of docs/benchmarks/README.md and docs/benchmarks/techniques.md from the figures beside the benches, or fails
# where a checked-in one differs from its figures.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=docs/benchmarks
if [ "${1:-}" = "--check" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi

bench/plots/line_plot.py bench/launch/launches.json --x simultaneous --y p50_ms,p99_ms --line mode \
  --title "From the request to the program's first message" --x-label "launches at once" --y-label ms \
  --limit "50=warm, at most (p99)" --limit "81=cold, at most (p99)" --output "$folder/launch.svg"
bench/plots/line_plot.py bench/calls/calls.json --x instances --y p50_us,p99_us,one_way_us --line kind --log-y \
  --title "What a call costs a program" --x-label "programs alive, one of which calls" --y-label us \
  --limit "1=control, at most (alone)" --limit "6=one way to the device, at most" --output "$folder/calls.svg"
bench/plots/bar_plot.py bench/calls/calls.json --rows calls_per_token --label program --y control,device \
  --title "Calls a token of the answer takes" --y-label "calls a token" --output "$folder/calls_per_token.svg"
bench/plots/bar_plot.py bench/batching/simulated.json --label policy --y requests_per_s --spread least,most \
  --title "128 instances on a GPU's cost curve, by policy" \
  --y-label "requests a second, median of five rounds (least to most)" --output "$folder/batching.svg"
bench/plots/bar_plot.py bench/overhead/overhead.json --label way --y over_host_loop --where instances=32 --scale 100 \
  --title "What a token of each of 32 programs takes over the host's own loop" \
  --y-label "% over the host's loop, median of the differences in nine rounds" --output "$folder/overhead.svg"

programs=bench/programs
bench/plots/bar_plot.py $programs/techniques.json --label technique --group side --y seconds --where clients=1 \
  --spread seconds_least,seconds_most --title "Techniques: one client" \
  --y-label "seconds a task, median (least to most)" --output "$folder/techniques_latency.svg"
bench/plots/bar_plot.py $programs/techniques.json --label technique --group side --y tasks_per_minute \
  --where clients=16 --spread tasks_per_minute_least,tasks_per_minute_most --title "Techniques: 16 clients" \
  --y-label "tasks a minute" --output "$folder/techniques_throughput.svg"
bench/plots/bar_plot.py $programs/stacked.json --label technique --group side --y tasks_per_minute \
  --where clients=16 --spread tasks_per_minute_least,tasks_per_minute_most \
  --title "A workflow: 16 clients, optimizations added in turn" --y-label "tasks a minute" \
  --output "$folder/stacked.svg"
bench/plots/line_plot.py $programs/calls.json --x size --y seconds --line side --linear-x \
  --title "An agent of 96 tokens: one client, by calls" --x-label "calls of 10 ms" --y-label "seconds a task, median" \
  --output "$folder/technique_calls.svg"
bench/plots/line_plot.py $programs/depth.json --x size --y seconds --line side --linear-x \
  --title "Recursion of thought: one client, by depth" --x-label "depth" --y-label "seconds a task, median" \
  --output "$folder/technique_depth.svg"

[ "$folder" = docs/benchmarks ] && exit 0
failed=0
for drawn in "$folder"/*.svg; do
  cmp -s "$drawn" "docs/benchmarks/$(basename "$drawn")" || {
    echo "docs/benchmarks/$(basename "$drawn") is not what its figures say: run bench/plots/draw.sh"
    failed=1
  }
done
exit "$failed"
