# SPDX-License-Identifier: BSD-3-Clause
"""Bar charts as SVG inside of an HTML page, without a library."""
import html

WIDTH, LABEL, BAR, SPACE = 860, 230, 16, 12
COLOURS = ("#1f5f8b", "#d9822b", "#4b8b3b", "#8e4585", "#7a6c5d", "#b03a2e", "#3a8f8f")


def bars(groups, unit):
    """groups: {"bulk 32": {"page_pool": 1.2, "ring": 1.4}}: a block of bars per group."""
    names = list(dict.fromkeys(name for values in groups.values() for name in values))
    most = max((value for values in groups.values() for value in values.values()), default=0) or 1
    rows, y = [], SPACE
    for group, values in groups.items():
        middle = y + len(values) * BAR / 2 + 4
        rows.append(f'<text x="{LABEL - 8}" y="{middle:.0f}" text-anchor="end">{html.escape(group)}</text>')
        for name, value in values.items():
            width = max(1, value / most * (WIDTH - LABEL - 90))
            colour = COLOURS[names.index(name) % len(COLOURS)]
            title = f"{group}, {name}: {value:g} {unit}"
            rows.append(f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR - 3}" fill="{colour}">'
                        f"<title>{html.escape(title)}</title></rect>")
            rows.append(f'<text x="{LABEL + width + 5:.1f}" y="{y + BAR - 5}" class="figure">{value:.3g}</text>')
            y += BAR
        y += SPACE
    legend = " ".join(f'<span style="color:{COLOURS[at % len(COLOURS)]}">&#9632;</span> {html.escape(name)}'
                      for at, name in enumerate(names))
    return (f'<p class="legend">{legend} &mdash; {html.escape(unit)}</p>\n'
            f'<svg viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">' + "".join(rows) + "</svg>")
