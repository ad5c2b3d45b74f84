#!/usr/bin/env python3
"""Ratios of stacks of matrices over their size as an SVG: a panel per op, a line per dtype and number of threads.

    benchmarks/chart.py build/benchmarks.json > ratios.svg
"""
import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT, COLUMNS, LEFT, TOP = 190, 150, 4, 44, 46  # of a panel, and margins
COLOURS = ("#1f6fb4", "#d1651a", "#2a8a4a", "#8a4fb0", "#777777", "#b03060")


def points(report, of):
    """{op: {line: {n: ratio}}} of square matrices in stacks."""
    panels = {}
    for row in report["rows"]:
        sizes = [int(n) for n in row["shape"].split("x")]
        if len(sizes) != 3 or sizes[1] != sizes[2] or of not in row.get("ratios", {}):
            continue
        line = f"{row['dtype']}, {row['threads']} thread{'s' if row['threads'] > 1 else ''}"
        panels.setdefault(row["op"].removeprefix("linalg."), {}).setdefault(line, {})[sizes[1]] = row["ratios"][of]["ratio"]
    return panels


def text(x, y, words, anchor="middle", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(str(words))}</text>'


def svg(report, of="best"):
    panels = points(report, of)
    ratios = [r for lines in panels.values() for line in lines.values() for r in line.values()] or [1]
    sizes = sorted({n for lines in panels.values() for line in lines.values() for n in line}) or [1]
    bottom, top = math.floor(math.log2(min(*ratios, 1))), math.ceil(math.log2(max(*ratios, 2)))
    names = sorted({name for lines in panels.values() for name in lines})
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    rows = -(-max(len(panels), 1) // COLUMNS)
    total = COLUMNS * (WIDTH + LEFT) + 10, rows * (HEIGHT + TOP) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total[0]}" height="{total[1]}" font-family="sans-serif" fill="#222">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(10, 16, f"Times of {'the fastest framework' if of == 'best' else of} over ours, by rows of the matrices", "start", 13)]
    for i, name in enumerate(names):
        out.append(f'<rect x="{10 + 130 * i}" y="24" width="12" height="4" fill="{colour[name]}"/>' + text(26 + 130 * i, 30, name, "start"))
    for index, (op, lines) in enumerate(sorted(panels.items())):
        x0, y0 = LEFT + index % COLUMNS * (WIDTH + LEFT), TOP + 16 + index // COLUMNS * (HEIGHT + TOP)

        def x(n, x0=x0):
            return x0 + WIDTH * (math.log2(n / sizes[0]) / max(math.log2(sizes[-1] / sizes[0]), 1))

        def y(ratio, y0=y0):
            return y0 + HEIGHT * (top - math.log2(ratio)) / (top - bottom)
        out.append(text(x0 + WIDTH / 2, y0 - 5, op, size=12))
        for power in range(bottom, top + 1):
            shade = "#555" if power == 0 else "#ddd"
            out.append(f'<line x1="{x0}" x2="{x0 + WIDTH}" y1="{y(2 ** power):.1f}" y2="{y(2 ** power):.1f}" stroke="{shade}"/>')
            out.append(text(x0 - 5, y(2 ** power) + 4, f"{2.0 ** power:g}", "end", 9))
        out += [text(x(n), y0 + HEIGHT + 13, n, size=9) for n in sizes]
        for name, line in lines.items():
            where = " ".join(f"{x(n):.1f},{y(r):.1f}" for n, r in sorted(line.items()))
            out.append(f'<polyline points="{where}" fill="none" stroke="{colour[name]}" stroke-width="1.6"/>')
    return "\n".join([*out, "</svg>\n"])


if __name__ == "__main__":
    print(svg(json.loads(pathlib.Path(sys.argv[1]).read_text())), end="")
