#!/bin/sh
# Chooses what the container is: all (default), api, worker, sealwright-admin COMMAND …, or init-token.
# Every setting may be given as a file, NAME_FILE instead of NAME, so that secrets are in no container description.
set -eu

role=${1:-all}
[ $# -gt 0 ] && shift
case "$role" in
  all | api) SVC_ROLE=$role exec node --enable-source-maps dist/main.js ;;
  worker) SVC_ROLE=worker exec node --enable-source-maps dist/worker.js ;;
  # `cli` is what it was called before.
  sealwright-admin | cli) exec node --enable-source-maps dist/cli.js "$@" ;;
  init-token) exec init-token.sh ;;
  *)
    echo "Unknown role \"$role\": all, api, worker, sealwright-admin or init-token" >&2
    exit 2
    ;;
esac
