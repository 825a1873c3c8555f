#!/bin/sh
# Runs the role of the container: all (default), api, worker, sealwright-admin COMMAND …, or init-token. Every setting can be passed as a file (NAME_FILE
# instead of NAME), so that the container description contains no secrets.
set -eu

role=${1:-all}
[ $# -gt 0 ] && shift
case "$role" in
  all | api) SVC_ROLE=$role exec node --enable-source-maps dist/main.js ;;
  worker) SVC_ROLE=worker exec node --enable-source-maps dist/worker.js ;;
  # `cli` is the former name of `sealwright-admin`.
  sealwright-admin | cli) exec node --enable-source-maps dist/cli.js "$@" ;;
  init-token) exec init-token.sh ;;
  *)
    echo "Unknown role \"$role\": all, api, worker, sealwright-admin or init-token" >&2
    exit 2
    ;;
esac
