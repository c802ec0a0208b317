"""Horizontal bars as SVG, readable on light and dark pages."""

from html import escape

WIDTH, BAR, GAP, LEFT, RIGHT, TOP = 760, 22, 8, 250, 90, 44
STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 } .note { font-size: 11px; fill: #57606a }
  .bar { fill: #8c959f } .ours { fill: #1a7f64 } .limit { fill: #d0d7de } .spread { stroke: #57606a; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .note { fill: #9198a1 }
    .bar { fill: #6e7681 } .ours { fill: #3fb68b } .limit { fill: #3d444d } .spread { stroke: #c9d1d9 }
  }
"""


def bars(title, note, rows):
    """Rows are (label, value, lowest, highest, class, text of the value)."""
    height = TOP + len(rows) * (BAR + GAP) + 8
    longest = max(row[3] for row in rows) or 1
    scale = (WIDTH - LEFT - RIGHT) / longest
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="4" y="16">{escape(title)}</text>',
        f'<text class="note" x="4" y="33">{escape(note)}</text>',
    ]
    for number, (label, value, low, high, kind, told) in enumerate(rows):
        top = TOP + number * (BAR + GAP)
        middle = top + BAR / 2
        end = LEFT + max(1, value * scale)
        parts.append(f'<text x="{LEFT - 10}" y="{middle + 4.5:.1f}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{end - LEFT:.1f}" height="{BAR}" rx="2"/>')
        if high > low:
            x = (LEFT + low * scale, LEFT + high * scale)
            parts.append(f'<path class="spread" d="M{x[0]:.1f} {middle}H{x[1]:.1f}"/>')
        told_at = max(end, LEFT + high * scale) + 7
        parts.append(f'<text x="{told_at:.1f}" y="{middle + 4.5:.1f}">{escape(told)}</text>')
    return "\n".join([*parts, "</svg>", ""])
