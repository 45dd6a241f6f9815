"""The roofline of a device with a kernel on it, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mfma.render.svg import document, text

if TYPE_CHECKING:
    from mfma.gemm.report import Report

__all__ = ["roofline_svg"]

WIDTH, HEIGHT = 640, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 76, 50
FONT = 12

STYLE = (
    "<style>.mf .axis{fill:none;stroke:#8a919a;stroke-width:1}.mf .grid{fill:none;stroke:#8a919a;stroke-width:.4}"
    ".mf .roof{fill:none;stroke:#2257a8;stroke-width:2.5}.mf .dot{fill:#a8005c}.mf .drop{fill:none;stroke:#a8005c;"
    "stroke-width:1;stroke-dasharray:4 3}@media (prefers-color-scheme:dark){.mf .roof{stroke:#77aadd}"
    ".mf .dot{fill:#ff9bd0}.mf .drop{stroke:#ff9bd0}}</style>"
)


class _Axis:
    """A logarithmic scale from pixel ``start`` to pixel ``end``, over whole decades that hold all values."""

    def __init__(self, values: list[float], start: float, end: float):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def decades(self) -> Iterator[tuple[float, str]]:
        """Yield every power of ten with its label."""
        for power in range(self.low, self.high + 1):
            yield 10.0**power, f"{10**power}" if power >= 0 else f"{10.0**power:g}"


def roofline_svg(report: Report) -> str:
    """Draw useful operations a second over operations per byte: the two bounds of the device, and the kernel."""
    bandwidth, peak = report.device.hbm_tb_per_s, report.peak_tflops
    ridge = peak / bandwidth
    x = _Axis([ridge / 30, ridge * 30, report.intensity], LEFT, WIDTH - RIGHT)
    y = _Axis([peak * 1.5, bandwidth * 10.0**x.low, report.tflops], HEIGHT - BOTTOM, TOP)
    kernel = x(report.intensity), y(report.tflops)
    roof = min(peak, bandwidth * report.intensity)
    start, end = 10.0**x.low, 10.0**x.high
    unit = "TOPS" if report.gemm.compute.accumulator.is_integer else "TFLOPS"
    what = "v_fma_f32" if report.gemm.compute.owner_lanes == 1 else report.gemm.compute.op.name
    title = f"{what}, {report.m} × {report.n} × {report.k} on {report.device}"
    parts = [STYLE, text(LEFT, 22, title, "s h", 15)]
    said = f"{report.tflops:.1f} {unit} predicted, {report.share_of_peak:.1%} of the peak, bound by {report.bound}"
    parts.append(text(LEFT, 42, said, "s t d", FONT))
    parts += _grid(x, y)
    parts.append(
        f'<path class="roof" d="M{x(start):.1f} {y(bandwidth * start):.1f}L{x(ridge):.1f} {y(peak):.1f}H{x(end):.1f}"/>'
    )
    parts.append(text(x(end) - 4, y(peak) - 7, f"peak {peak:.1f} {unit}", "e t", FONT))
    middle = math.sqrt(start * ridge)
    parts.append(text(x(middle) - 8, y(bandwidth * middle) - 8, f"memory {bandwidth} TB/s", "e t", FONT))
    parts.append(f'<path class="drop" d="M{kernel[0]:.1f} {y(roof):.1f}V{kernel[1]:.1f}"/>')
    parts.append(f'<circle class="dot" cx="{kernel[0]:.1f}" cy="{kernel[1]:.1f}" r="5"/>')
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "useful operations per byte of memory", "t d", FONT))
    parts.append(text(12, TOP - 10, f"useful {unit}", "s t d", FONT))
    return document(title, WIDTH, HEIGHT, parts)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    """Axes, with a line and a label for every decade."""
    for value, label in x.decades():
        yield f'<path class="grid" d="M{x(value):.1f} {y.start}V{y.end}"/>'
        yield text(x(value), y.start + 16, label, "d", 11)
    for value, label in y.decades():
        yield f'<path class="grid" d="M{x.start} {y(value):.1f}H{x.end}"/>'
        yield text(x.start - 6, y(value) + 4, label, "e d", 11)
    yield f'<path class="axis" d="M{x.start} {y.end}V{y.start}H{x.end}"/>'
