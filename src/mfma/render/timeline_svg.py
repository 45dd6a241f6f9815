"""A timeline as SVG: one row for each instruction or unit, bars along an axis of cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["PALETTE", "Bar", "Row", "timeline_svg"]


@dataclass(frozen=True)
class Bar:
    """What happens from cycle ``start`` to ``end``, the end not included: its kind and a sentence about it.

    A ``thin`` bar is drawn lower: nothing is busy.
    """

    start: int
    end: int
    kind: str
    title: str
    thin: bool = False


@dataclass(frozen=True)
class Row:
    """A label and its bars, in time order and apart from one another."""

    label: str
    bars: tuple[Bar, ...]


# Okabe and Ito's colours, which stay apart in every common kind of colour vision, on light and dark ground.
PALETTE = ("#0072b2", "#e69f00", "#56b4e9", "#d55e00", "#cc79a7", "#009e73")
"""Fills of the kinds, in the order of the legend."""

ROW, BAR, THIN, FONT, GAP, CHAR = 20, 14, 6, 12, 8, 7.3
TICKS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
MAX_TICKS = 14

STYLE = """
  .timeline { color-scheme: light dark; }
  .timeline text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1b1f24; }
  .timeline .ground { fill: #ffffff; } .timeline .line { stroke: #d0d7de; } .timeline .zebra { fill: #f6f8fa; }
  .timeline .minor { fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    .timeline text { fill: #e6edf3; } .timeline .ground { fill: #0d1117; } .timeline .line { stroke: #30363d; }
    .timeline .zebra { fill: #161b22; } .timeline .minor { fill: #9198a1; }
  }
"""


def timeline_svg(
    rows: Sequence[Row], cycles: int, legend: Mapping[str, str], caption: Sequence[str] = (), width: int = 1000
) -> str:
    """Draw rows of bars over an axis of cycles as one SVG, which follows the reader's light or dark theme.

    ``legend`` gives the words of every kind of bar, in the order of `PALETTE`; those that occur are drawn.
    ``caption`` holds the lines below the picture, and ``width`` is in pixels. A bar shows its title where the pointer
    rests. Text can be selected.

    >>> picture = timeline_svg([Row("v_nop", (Bar(0, 4, "issue", "issues"),))], 4, {"issue": "issue"})
    >>> picture.startswith("<svg"), "<title>issues</title>" in picture
    (True, True)
    """
    label = max((len(row.label) for row in rows), default=0) * CHAR + 2 * GAP
    chart = max(width - label - GAP, width / 3)
    scale = chart / max(cycles, 1)
    top = 2 * FONT + GAP
    bottom = top + ROW * len(rows)
    colours = {kind: PALETTE[n % len(PALETTE)] for n, kind in enumerate(legend)}
    drawn = {bar.kind for row in rows for bar in row.bars}
    shown = {kind: words for kind, words in legend.items() if kind in drawn}
    keys, key_height = _legend(shown, colours, label + chart, bottom + GAP)
    foot = bottom + GAP + key_height
    height = foot + ROW * len(caption) + GAP
    full = label + chart + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline" viewBox="0 0 {full:.0f} {height:.0f}" '
        f'width="{full:.0f}" height="{height:.0f}" role="img" aria-label="{escape(caption[0]) if caption else ""}">',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{full:.0f}" height="{height:.0f}"/>',
    ]
    parts += (
        f'<rect class="zebra" y="{top + ROW * n}" width="{full:.0f}" height="{ROW}"/>' for n in range(0, len(rows), 2)
    )
    parts += _axis(cycles, label, scale, top, bottom)
    for n, row in enumerate(rows):
        y = top + ROW * n
        parts.append(f'<text x="{GAP}" y="{y + FONT + 2}" xml:space="preserve">{escape(row.label)}</text>')
        parts += (_bar(bar, colours[bar.kind], label, scale, y) for bar in row.bars)
    parts += keys
    parts += (f'<text x="{GAP}" y="{foot + ROW * (n + 1) - 6}">{escape(line)}</text>' for n, line in enumerate(caption))
    return "\n".join([*parts, "</svg>"])


def _bar(bar: Bar, colour: str, left: float, scale: float, y: float) -> str:
    wide = max((bar.end - bar.start) * scale, 1)
    gap = min(1.0, wide / 4)
    high = THIN if bar.thin else BAR
    return (
        f'<rect x="{left + bar.start * scale:.2f}" y="{y + (ROW - high) / 2}" width="{wide - gap:.2f}" height="{high}" '
        f'rx="2" fill="{colour}"><title>{escape(bar.title)}</title></rect>'
    )


def _axis(cycles: int, left: float, scale: float, top: float, bottom: float) -> list[str]:
    step = next((tick for tick in TICKS if cycles / tick <= MAX_TICKS), TICKS[-1])
    parts = [f'<text class="minor" x="{GAP}" y="{top - GAP}">cycle</text>']
    for cycle in range(0, cycles + 1, step):
        x = left + cycle * scale
        parts.append(f'<line class="line" x1="{x:.2f}" x2="{x:.2f}" y1="{top - 4}" y2="{bottom}"/>')
        anchor = "end" if cycle == cycles and cycle else "middle"
        parts.append(f'<text class="minor" x="{x:.2f}" y="{top - GAP}" text-anchor="{anchor}">{cycle}</text>')
    return parts


def _legend(legend: Mapping[str, str], colours: Mapping[str, str], right: float, top: float) -> tuple[list[str], float]:
    parts, x, y = [], float(GAP), top
    for kind, words in legend.items():
        wide = BAR + GAP + len(words) * CHAR + 2 * GAP
        if x + wide > right and x > GAP:
            x, y = float(GAP), y + ROW
        parts.append(f'<rect x="{x:.1f}" y="{y + 3}" width="{BAR}" height="{BAR}" rx="2" fill="{colours[kind]}"/>')
        parts.append(f'<text x="{x + BAR + GAP:.1f}" y="{y + FONT + 2}">{escape(words)}</text>')
        x += wide
    return parts, y - top + ROW
