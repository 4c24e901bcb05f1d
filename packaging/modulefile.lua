-- Lmod module of Coppice: install it as coppice/VERSION.lua and set `root` to
-- the prefix. No path to the library is needed: the programs find it themselves.
help("Coppice: where a parallel job hangs, and a tree-based overlay network")
local root = "/opt/coppice"
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
