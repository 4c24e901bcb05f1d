#!/bin/sh
# The short search, for `make check`; `make check-models` runs the long one.
exec sh "$(dirname "$0")/check_models.sh" quick
