#!/usr/bin/env python3
"""Draws bars from the JSON of `quire bench` as an SVG, with nothing but Python's own library.

    bench/plots/bar_plot.py FILE.json --label policy --y requests_per_s [--group device] \
        [--where device=simulated]... [--spread least,most] [--rows results] [--scale 100] \
        --title TEXT --y-label TEXT [--limit Y=TEXT]... --output FILE.svg

FILE holds {"results": [{...}, ...]}, or another list that --rows names. The option --where selects
its elements. Each value of the member --label is a row of horizontal bars. A row has a bar for each
value of the member --group and for each member of --y (joined by commas). The option --spread names
two members, the least and the largest figure of a bar, for a line across its end. The option
--scale multiplies what is drawn.
"""

import argparse
import json
import pathlib
from html import escape

from line_plot import COLOURS, limits_of, nice_step

WIDTH, RIGHT, TOP, BOTTOM = 760, 70, 44, 52
CHARACTER, BAR, GAP, LEGEND = 6.6, 14, 10, 18  # Widths and heights, in pixels.


def series_of(row, member, options):
    """Returns the name of a bar in its row, which decides its color: empty if a row has one bar."""
    names = [str(row[options.group])] if options.group else []
    if "," in options.y:
        names.append(member)
    return " ".join(names)


def bars_of(rows, options):
    """{label: [(series, value, and where it has a spread: least, most)]}, in the order of the file."""
    bars = {}
    for row in rows:
        if any(str(row.get(key)) != value for key, _, value in (w.partition("=") for w in options.where)):
            continue
        for member in options.y.split(","):
            if options.label not in row or member not in row:
                continue
            spread = [row[each] for each in options.spread.split(",")] if options.spread else []
            numbers = [each * options.scale for each in (row[member], *spread)]
            bars.setdefault(str(row[options.label]), []).append((series_of(row, member, options), *numbers))
    return bars


def draw(bars, limits, options) -> str:
    names = list(dict.fromkeys(each[0] for group in bars.values() for each in group))
    numbers = [each for group in bars.values() for bar in group for each in bar[1:]]
    numbers += [y for y, _ in limits]
    most, least = max(0.0, *numbers), min(0.0, *numbers)
    step = nice_step((most - least) or 1.0)
    left = 20 + CHARACTER * max(map(len, bars))
    top = TOP + (LEGEND if names != [""] else 0)
    height = top + sum(BAR * len(group) + GAP for group in bars.values()) + BOTTOM

    def at_x(value):
        return left + (value - least) / ((most - least) or 1.0) * (WIDTH - left - RIGHT)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="20" y="24" font-size="15">{escape(options.title)}</text>',
    ]
    x = left
    for index, name in enumerate(names if names != [""] else []):
        out.append(f'<rect x="{x:.1f}" y="{TOP - 6}" width="10" height="10" fill="{COLOURS[index % len(COLOURS)]}"/>')
        out.append(f'<text x="{x + 15:.1f}" y="{TOP + 3}">{escape(name)}</text>')
        x += 40 + CHARACTER * len(name)
    for i in range(int(least / step) - 1, int(most / step) + 1):
        if not least <= i * step <= most:
            continue
        tick = at_x(i * step)
        out.append(f'<path d="M{tick:.1f} {top}V{height - BOTTOM}" stroke="{"#888" if i == 0 else "#ddd"}"/>')
        out.append(f'<text x="{tick:.1f}" y="{height - BOTTOM + 17}" text-anchor="middle">{i * step:g}</text>')
    middle = (left + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle:.1f}" y="{height - 12}" text-anchor="middle">{escape(options.y_label)}</text>')
    y = top + GAP / 2
    for label, group in bars.items():
        centre = y + BAR * len(group) / 2
        out.append(f'<text x="{left - 8:.1f}" y="{centre + 4:.1f}" text-anchor="end">{escape(label)}</text>')
        for name, value, *spread in group:
            begin, end = sorted((at_x(0), at_x(value)))
            colour = COLOURS[names.index(name) % len(COLOURS)]
            out.append(f'<rect class="bar" x="{begin:.1f}" y="{y + 1:.1f}" width="{end - begin:.1f}" '
                       f'height="{BAR - 2}" fill="{colour}"/>')
            beside = end
            if spread:
                low, high = map(at_x, spread)
                out.append(f'<path d="M{low:.1f} {y + BAR / 2:.1f}H{high:.1f}" stroke="#222"/>')
                beside = max(end, high)
            out.append(f'<text x="{beside + 5:.1f}" y="{y + BAR - 3:.1f}" font-size="11">{value:.3g}</text>')
            y += BAR
        y += GAP
    for level, text in limits:
        out.append(f'<path d="M{at_x(level):.1f} {top}V{height - BOTTOM}" stroke="#444" stroke-dasharray="3 3"/>')
        out.append(f'<text x="{at_x(level) + 4:.1f}" y="{top - 3}" fill="#666">{escape(text)}</text>')
    out.append("</svg>\n")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    for name in ("label", "y", "title", "y-label"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--group")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--spread", help="two members, as least,most")
    parser.add_argument("--rows", default="results")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--limit", action="append", default=[])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    rows = json.loads(options.file.read_text()).get(options.rows, [])
    bars = bars_of(rows, options)
    if not bars:
        parser.error(f"no bar with {options.label} and {options.y} in {len(rows)} {options.rows}")
    options.output.write_text(draw(bars, limits_of(options), options))


if __name__ == "__main__":
    main()
