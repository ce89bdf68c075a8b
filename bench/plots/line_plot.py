#!/usr/bin/env python3
"""Draws lines from the JSON of `quire bench` as an SVG, with nothing but Python's own library.

    bench/plots/line_plot.py FILE.json... --x simultaneous --y p50_ms,p99_ms --line mode \
        --title TEXT --x-label TEXT --y-label TEXT [--limit Y=TEXT]... [--log-y] [--linear-x] \
        [--where device=simulated]... --output FILE.svg

Each FILE holds {"results": [{...}, ...]}, from which --where selects. A line is drawn for each
value of the member --line (or of several, joined by commas) and each member of --y. The x axis is
logarithmic unless --linear-x is given. With --log-y the y axis is logarithmic too. The option
--limit draws a level line.
"""

import argparse
import json
import math
import pathlib
from html import escape

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 44, 52
COLOURS = ["#1f6fb4", "#d1495b", "#2e8b57", "#8e5bb5", "#c77d0a", "#44707c"]
DASHES = ["", "6 4", "2 3"]


def nice_step(most: float, count: int = 6) -> float:
    raw = most / count
    power = 10 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw)


def limits_of(options):
    """Returns the lines that --limit asks for: [(y, text)]."""
    return [(float(y), text) for y, _, text in (each.partition("=") for each in options.limit)]


def scale_of(values, is_logarithmic):
    """Returns a function that maps a value to its place from 0 to 1, and the values to mark."""
    if not is_logarithmic:
        most = max(values) * 1.05
        step = nice_step(most)
        return lambda value: value / most, [i * step for i in range(int(most / step) + 1)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    return lambda value: (math.log10(value) - low) / (high - low), [10.0**i for i in range(low, high + 1)]


def lines_of(rows, options):
    lines = {}
    for row in rows:
        if any(str(row.get(key)) != value for key, _, value in (w.partition("=") for w in options.where)):
            continue
        name = " ".join(str(row[key]) for key in options.line.split(",") if key in row)
        for member in options.y.split(","):
            if options.x in row and member in row:
                lines.setdefault((name, member), []).append((row[options.x], row[member]))
    return {key: sorted(points) for key, points in lines.items() if len(points) > 1}


def draw(lines, limits, options) -> str:
    xs = sorted({x for points in lines.values() for x, _ in points})
    ys = [y for points in lines.values() for _, y in points] + [y for y, _ in limits]
    share, marks = scale_of(ys, options.log_y)
    scaled = float if options.linear_x else math.log
    low, high = scaled(xs[0]), scaled(xs[-1])

    def at_x(x):
        return LEFT + (scaled(x) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def at_y(y):
        return HEIGHT - BOTTOM - share(y) * (HEIGHT - TOP - BOTTOM)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(options.title)}</text>',
    ]
    for mark in marks:
        y = at_y(mark)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{mark:g}</text>')
    for x in xs:
        out.append(f'<path d="M{at_x(x):.1f} {HEIGHT - BOTTOM}v5" stroke="#444"/>')
        out.append(f'<text x="{at_x(x):.1f}" y="{HEIGHT - BOTTOM + 19}" text-anchor="middle">{x:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{escape(options.x_label)}</text>')
    out.append(
        f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(options.y_label)}</text>'
    )
    for y, text in limits:
        out.append(f'<path d="M{LEFT} {at_y(y):.1f}H{WIDTH - RIGHT}" stroke="#888" stroke-dasharray="1 3"/>')
        out.append(f'<text x="{LEFT + 6}" y="{at_y(y) - 4:.1f}" fill="#666">{escape(text)}</text>')
    names = sorted({name for name, _ in lines})
    members = options.y.split(",")
    for index, ((name, member), points) in enumerate(lines.items()):
        style = (
            f'stroke="{COLOURS[names.index(name) % len(COLOURS)]}" '
            f'stroke-dasharray="{DASHES[members.index(member) % len(DASHES)]}"'
        )
        path = "M" + "L".join(f"{at_x(x):.1f} {at_y(y):.1f}" for x, y in points)
        out.append(f'<path d="{path}" fill="none" stroke-width="2" {style}/>')
        y = TOP + 16 * index + 8
        out.append(f'<path d="M{WIDTH - RIGHT + 16} {y}h26" stroke-width="2" {style}/>')
        label = f"{name} {member.removesuffix('_ms').removesuffix('_us')}".replace('_', ' ').strip()
        out.append(f'<text x="{WIDTH - RIGHT + 48}" y="{y + 4}">{escape(label)}</text>')
    out.append("</svg>\n")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    for name in ("x", "y", "line", "title", "x-label", "y-label"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--limit", action="append", default=[])
    parser.add_argument("--log-y", action="store_true")
    parser.add_argument("--linear-x", action="store_true")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    rows = [row for file in options.files for row in json.loads(file.read_text())["results"]]
    lines = lines_of(rows, options)
    if not lines:
        parser.error(f"no line of two points with {options.x} and {options.y} in {len(rows)} results")
    options.output.write_text(draw(lines, limits_of(options), options))


if __name__ == "__main__":
    main()
