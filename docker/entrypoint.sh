#!/bin/sh
# The entry point of earlier images, for scripts that still name it.
exec /init "$@"
