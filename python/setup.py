"""Build the package against the installed Coppice that pkg-config finds."""

import os
import subprocess
import sys

from setuptools import Extension, setup

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
sys.path.insert(0, here)
from build_coppice import build  # noqa: E402


def pkg_config(option):
    try:
        return subprocess.check_output(["pkg-config", option, "coppice"], text=True).split()
    except (OSError, subprocess.CalledProcessError):
        sys.exit("pkg-config does not find coppice: install it, or set PKG_CONFIG_PATH")


cflags = pkg_config("--cflags")
build(".", os.environ.get("CC", "cc").split() + cflags)
setup(
    name="coppice",
    version=pkg_config("--modversion")[0],
    description="A tree-based overlay network for tools",
    license="BSD-2-Clause",
    python_requires=">=3.9",
    install_requires=["cffi"],
    packages=["coppice"],
    package_data={"coppice": ["py.typed"]},
    ext_modules=[Extension(
        "_coppice", ["_coppice.c"], py_limited_api=True,
        define_macros=[("Py_LIMITED_API", "0x03090000")],
        extra_compile_args=cflags,
        extra_link_args=pkg_config("--libs"),
        runtime_library_dirs=pkg_config("--variable=libdir"),
    )],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
