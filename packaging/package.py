# Spack recipe of Coppice. Copy it to packages/coppice/package.py of a Spack
# repository, and add `url` and `version` for the tarball that is to be built.
from spack.package import *


class Coppice(AutotoolsPackage):
    """Tree-based overlay network for parallel tools, whose trees repair
    themselves, and coppice-stat, which shows where a parallel job hangs."""

    license("BSD-2-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf", type="build", when="@main")
    depends_on("automake", type="build", when="@main")
    depends_on("libtool", type="build", when="@main")
    depends_on("pkgconfig", type="build")
    depends_on("libev")
    depends_on("tpl")
    depends_on("libsodium")
    depends_on("elfutils")
    depends_on("binutils+libiberty")
    depends_on("jansson")
    depends_on("uthash")
    depends_on("cunit", type="test")
