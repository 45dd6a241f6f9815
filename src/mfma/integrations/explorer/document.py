"""The page as one document: template, colours, style, script and data put together."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from importlib.resources import files

from mfma import __version__
from mfma.integrations.explorer.tables import tables
from mfma.render.svg import ACCENT, FILLS, INK, MUTED, PAPER, SHADES

__all__ = ["page"]

SCRIPTS = ("placement.js", "state.js", "controls.js", "grid.js", "map.js", "detail.js", "events.js")
"""The parts of the one script, in their order: each uses what the earlier ones declare."""


def page() -> str:
    """Return the explorer as one HTML document that loads nothing, and that no script or style can be added to.

    >>> document = page()
    >>> document.startswith("<!doctype html>"), len(document) < 1_000_000
    (True, True)
    """
    style = "\n".join([*_colours(), _part("page.css")])
    script = "\n".join(map(_part, SCRIPTS))
    parts = {
        "policy": f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}",
        "version": __version__,
        "style": style,
        "data": _data(),
        "script": script,
    }
    document = _part("page.html")
    for name, text in parts.items():
        document = document.replace(f"@{name}@", text)
    return document


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data() -> str:
    """Write the tables so that no text in them can end the element they stand in."""
    return json.dumps(tables(), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _hash(text: str) -> str:
    """Name an inline style or script by its hash, as a content security policy does."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _colours() -> Iterator[str]:
    """Write the colours of the pictures as style rules: a variable each, and a class for each lane group."""
    named = {"paper": PAPER, "ink": INK, "muted": MUTED, "accent": ACCENT}
    variables = (f"--{name}:light-dark({light},{dark})" for name, (light, dark) in named.items())
    yield f":root{{{';'.join(variables)}}}"
    for group, (light, dark) in enumerate(zip(*FILLS, strict=True)):
        yield f".g{group}{{--fill:light-dark({light},{dark})}}"
        for shade, opacity in enumerate(SHADES):
            alpha = f"{round(255 * opacity):02x}"
            yield f".g{group}.s{shade}{{--fill:light-dark({light}{alpha},{dark}{alpha})}}"
