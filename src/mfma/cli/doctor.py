"""``doctor``: which tools are here, and how to install the others."""

from __future__ import annotations

import click

from mfma.cli.options import as_json
from mfma.cli.shell import Command
from mfma.render import Table, json, text

__all__ = ["doctor"]


@click.command(cls=Command, examples=("mfma doctor", "mfma doctor hip", "mfma doctor triton --json"))
@click.argument("features", nargs=-1, metavar="[FEATURE]...")
@as_json
def doctor(features: tuple[str, ...], as_json: bool) -> None:
    """Say which compilers and libraries are here, and the command that installs what is missing.

    Most of mfma needs none of them. FEATURE is hip, program or triton; with it only its tools are looked for, and the
    exit code is 1 if one is missing.

    On Debian 12, clang 22 is among the security updates. A release whose packages have no clang of at least 19 gets it
    from the apt repository of LLVM's project. ROCm is looked for in ROCM_PATH, HIP_PATH and /opt/rocm.
    """
    from mfma.integrations.doctor import FEATURES, examine, install

    names = tuple(dict.fromkeys(features)) or tuple(FEATURES)
    found = examine(names)
    missing = [finding.tool for finding in found if finding.path is None]
    command = install(missing) if missing else None
    lacking = {name: [tool.name for tool in missing if tool.name in FEATURES[name].needs] for name in names}
    if as_json:
        states = {name: {"what": FEATURES[name].what, "missing": lacking[name]} for name in names}
        tools = [
            {"tool": one.tool.name, "version": one.version or None, "path": str(one.path) if one.path else None,
             "needed_for": one.needed_for}
            for one in found
        ]  # fmt: skip
        click.echo(json({"features": states, "tools": tools, "install": command}))
    else:
        features_ = [(name, FEATURES[name].what, ", ".join(lacking[name]) or "nothing") for name in names]
        tools_ = [(one.tool.name, one.version, str(one.path or "not here"), ", ".join(one.needed_for)) for one in found]
        click.echo(text(Table(("feature", "what it is", "missing"), tuple(features_))))
        click.echo(f"\n{text(Table(('tool', 'version', 'where', 'needed for'), tuple(tools_)))}")
        if command:
            click.echo(f"\nTo install what is missing: {command}")
    if features and missing:
        raise click.exceptions.Exit(1)
