#!/bin/sh
# Runs sealwright-admin in a container: docker exec CONTAINER sealwright-admin doctor
exec node --enable-source-maps /app/dist/cli.js "$@"
