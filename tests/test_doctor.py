"""``mfma doctor`` and its finders, on folders full of programs that only say their version."""

import dataclasses
import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import mfma
from mfma.cli import main
from mfma.integrations import doctor, toolchain

ALL = ("clang++-22", "lld", "ld.lld", "clang-offload-bundler", "llvm-objcopy", "cc")


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine on which nothing is installed but Python."""
    for variable in ("ROCM_PATH", "HIP_PATH", "CC"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "no_rocm"))
    monkeypatch.setattr(toolchain, "ROCM", str(tmp_path / "opt" / "rocm"))
    monkeypatch.setattr(toolchain, "INCLUDE", (str(tmp_path / "include"),))
    monkeypatch.setattr(toolchain, "BITCODE", (str(tmp_path / "lib" / "*" / "bitcode"),))
    monkeypatch.setattr(toolchain, "python_package", lambda name: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    there = dataclasses.replace(doctor.TOOLS["libpython"], find=lambda: Path(sys.executable))
    monkeypatch.setitem(doctor.TOOLS, "libpython", there)
    return tmp_path


def program(path, says="Some clang version 22.1.8 (more)\n1.2.3", code=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncase $1 in madison) shift;; esac\nprintf '%s\\n' '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


def hip(include, version=(5, 2, 21153)):
    (include / "hip").mkdir(parents=True)
    (include / "hip" / "hip_runtime.h").touch()
    names = zip(("MAJOR", "MINOR", "PATCH"), version, strict=True)
    lines = [f"#define HIP_VERSION_{name} {number}" for name, number in names]
    (include / "hip" / "hip_version.h").write_text("\n".join(lines))


def bitcode(folder):
    folder.mkdir(parents=True)
    (folder / "ocml.bc").touch()
    return folder


def everything(system):
    for name in ALL:
        program(system / "bin" / name)
    hip(system / "include")
    bitcode(system / "lib" / "amd" / "bitcode")


def apt(system, *known):
    program(system / "bin" / "apt-get")
    program(system / "bin" / "apt-cache", "\n".join(f" {name} | 1:1.0-1 | somewhere" for name in known))


def run(line, code=0):
    result = CliRunner().invoke(main, line.split(), prog_name="mfma")
    assert result.exit_code == code, result.output
    return result


# --- Finders ----------------------------------------------------------------------------------------------------------


def test_clang_22_is_preferred_and_19_is_the_oldest(system):
    assert toolchain.clang() is None
    program(system / "bin" / "clang++-18")
    plain = program(system / "bin" / "clang++", "clang version 18.1.8")
    assert toolchain.clang() is None
    plain = program(plain, "clang version 24.0.0")
    assert toolchain.clang() == toolchain.Clang(plain, 24)
    for number in (19, 21, 22):
        path = program(system / "bin" / f"clang++-{number}", "never asked", code=1)
        assert toolchain.clang() == toolchain.Clang(path, number)
    program(system / "bin" / "clang++-20")
    assert toolchain.clang().major == 22


@pytest.mark.parametrize("says", ["version?", ""])
def test_a_compiler_that_does_not_say_its_version_is_none(system, says):
    program(system / "bin" / "clang++", says)
    assert toolchain.clang() is None
    (system / "bin" / "clang++").write_text("no program")
    assert toolchain.clang() is None


@pytest.mark.parametrize("variable", ["ROCM_PATH", "HIP_PATH", None])
@pytest.mark.parametrize("place", ["llvm/bin", "lib/llvm/bin"])
def test_rocm_comes_before_what_the_system_has(system, monkeypatch, variable, place):
    everything(system)
    root = system / ("opt/rocm" if variable is None else "chosen")
    hip(root / "include", (7, 0, 1))
    own = [bitcode(root / "amdgcn" / "bitcode"), *(program(root / place / name) for name in ALL[1:5])]
    if variable:
        monkeypatch.setenv(variable, str(root))
    assert toolchain.rocm() == root
    assert toolchain.clang().path == system / "bin" / "clang++-22"  # this ROCm has no compiler
    compiler = program(root / place / "clang++", "AMD clang version 20.0.0git (roc-7.0.1)")
    assert toolchain.clang() == toolchain.Clang(compiler, 20)
    assert toolchain.linker(toolchain.clang()) == own[1]
    assert toolchain.bundler(toolchain.clang()) == own[3]
    assert toolchain.objcopy(toolchain.clang()) == own[4]
    assert (toolchain.headers(), toolchain.device_libraries()) == (root / "include", own[0])
    assert toolchain.headers_version(root / "include") == (7, 0, 1)
    versions = {finding.tool.name: finding.version for finding in doctor.examine(["hip"])}
    assert versions["clang"] == "20.0.0"
    assert versions["HIP headers"] == "7.0.1"


def test_packages_of_a_distribution_are_no_rocm(system, monkeypatch):
    monkeypatch.setattr(toolchain, "SYSTEM", str(system))
    hip(system / "include")
    monkeypatch.setenv("ROCM_PATH", f"{system}/")
    assert toolchain.rocm() is None
    assert toolchain.headers() == system / "include"


def test_headers_that_do_not_say_their_version(system):
    assert toolchain.headers_version(system) is None
    hip(system / "include")
    (system / "include" / "hip" / "hip_version.h").write_text("#define HIP_VERSION_MAJOR 5\n")
    assert toolchain.headers_version(system / "include") is None
    assert {f.tool.name: f.version for f in doctor.examine(["hip"])}["HIP headers"] == ""


def test_device_libraries_are_where_ocml_is(system):
    (system / "lib" / "a" / "bitcode").mkdir(parents=True)
    assert toolchain.device_libraries() is None
    folder = bitcode(system / "lib" / "b" / "bitcode")
    assert toolchain.device_libraries() == folder


def test_the_c_compiler_is_that_of_cc(system, monkeypatch):
    clang = program(system / "bin" / "clang-22")
    assert toolchain.c_compiler() == clang
    usual, chosen = (program(system / "bin" / name) for name in ("cc", "tcc"))
    assert toolchain.c_compiler() == usual
    monkeypatch.setenv("CC", "tcc")
    assert toolchain.c_compiler() == chosen


def test_libpython_is_the_one_of_this_python(monkeypatch, tmp_path):
    settings = {"INSTSONAME": "libpython3.so.1.0", "LIBDIR": str(tmp_path), "MULTIARCH": "some-linux"}
    monkeypatch.setattr(toolchain.sysconfig, "get_config_var", settings.get)
    assert toolchain.libpython() is None
    for folder in (tmp_path / "some-linux", tmp_path):
        folder.mkdir(exist_ok=True)
        (folder / "libpython3.so.1.0").touch()
        assert toolchain.libpython() == folder / "libpython3.so.1.0"
    settings["INSTSONAME"] = "libpython3.a"  # linked statically
    assert toolchain.libpython() is None
    settings["LIBDIR"] = None
    assert toolchain.libpython() is None


def test_a_python_package_is_found_without_importing_it():
    assert toolchain.python_package("click").name == "click"
    assert toolchain.package_version("click")
    assert toolchain.python_package("no_such_package") is None
    assert toolchain.package_version("no_such_package") == ""


# --- Features ---------------------------------------------------------------------------------------------------------


def test_every_tool_is_needed_and_every_need_is_a_tool():
    needs = {need for feature in doctor.FEATURES.values() for need in feature.needs}
    assert needs == set(doctor.TOOLS)
    assert all(name == feature.name for name, feature in doctor.FEATURES.items())


def test_what_is_all_here_is_not_missed(system):
    everything(system)
    doctor.require("hip")
    seen = json.loads(run("doctor hip --json").stdout)
    assert seen["features"]["hip"]["missing"] == []
    assert seen["install"] is None
    tools = {one["tool"]: one for one in seen["tools"]}
    assert tools["clang"]["path"] == str(system / "bin" / "clang++-22")
    assert tools["clang"]["version"] == "22.1.8"
    assert tools["C compiler"]["needed_for"] == ["hip", "program"]
    assert tools["device libraries"]["version"] is None
    assert set(tools) == set(doctor.FEATURES["hip"].needs)
    assert "To install" not in run("doctor hip").stdout


def test_the_exit_code_is_1_only_if_a_feature_was_asked_for(system):
    program(system / "bin" / "cc")
    assert "To install what is missing" in run("doctor").stdout
    assert run("doctor hip", code=1).stdout.count("not here") == 6
    assert json.loads(run("doctor triton program --json", code=1).stdout)["features"]["triton"]["missing"] == [
        "triton", "torch",
    ]  # fmt: skip
    assert "not here" not in run("doctor program").stdout


WHAT = {
    "hip": "building and running whole HIP programs (mfma run FILE.hip) needs clang, lld, clang-offload-bundler, "
    "llvm-objcopy, HIP headers, device libraries and C compiler, which are not here; to install: apt-get update && "
    "apt-get install clang-22 lld-22 clang-tools-22 llvm-22 libamdhip64-dev rocm-device-libs gcc libc6-dev",
    "program": "running built HIP programs (mfma run ./PROGRAM) needs C compiler, which is not here; to install: "
    "apt-get update && apt-get install gcc libc6-dev",
    "triton": "running Triton kernels on the CPU (mfma.triton) needs triton and torch, which are not here; to install: "
    "pip install triton==3.9.0 torch",
}


@pytest.mark.parametrize("name", doctor.FEATURES)
def test_a_feature_says_how_to_install_what_it_lacks(system, name):
    apt(system, "clang-19", "clang-22", "clang-20")
    with pytest.raises(mfma.MissingToolError) as refusal:
        doctor.require(name)
    assert str(refusal.value) == WHAT[name]
    command = WHAT[name].partition("to install: ")[2]
    assert json.loads(run(f"doctor {name} --json", code=1).stdout)["install"] == command


@pytest.mark.parametrize(("known", "number"), [(["clang-19"], 19), (["clang-21", "clang-19"], 21), ([], 22)])
def test_clang_is_the_best_that_apt_knows(system, known, number):
    apt(system, *known)
    packages = f"clang-{number} lld-{number} clang-tools-{number} llvm-{number} libamdhip64-dev"
    assert packages in json.loads(run("doctor hip --json", code=1).stdout)["install"]


def test_what_belongs_to_clang_has_the_version_of_the_clang_that_is_here(system):
    apt(system, "clang-22")
    everything(system)
    for name in ("clang++-22", "lld"):
        (system / "bin" / name).unlink()
    program(system / "bin" / "clang++-19")
    assert doctor.install([doctor.TOOLS["lld"]]) == "apt-get update && apt-get install lld-19"


def test_others_than_root_install_by_sudo(system, monkeypatch):
    apt(system)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    tools = [doctor.TOOLS["C compiler"], doctor.TOOLS["torch"]]
    expected = "sudo apt-get update && sudo apt-get install gcc libc6-dev && pip install torch"
    assert doctor.install(tools) == expected


def test_other_systems_get_words(system):
    with pytest.raises(
        mfma.MissingToolError, match=r"clang \(of at least 19; 22 is best\), lld, .* and C compiler, by "
    ):
        doctor.require("hip")
    both = doctor.install([doctor.TOOLS["C compiler"], doctor.TOOLS["torch"]])
    assert both == "pip install torch, and C compiler, by the package manager of this system"


def test_an_unknown_feature_is_refused(system):
    assert run("doctor hop", code=2).stderr == (
        "mfma: no feature is called 'hop'; there are hip, program and triton. Did you mean hip?\n"
    )
    with pytest.raises(mfma.OptionError, match="no feature is called 'x'"):
        doctor.require("x")
