#!/bin/sh
# Chooses what the container is: all (default), api, worker, cli COMMAND …, or init-token.
# A secret may be given as a file, NAME_FILE instead of NAME, so that it is in no container description.
set -eu

for name in SVC_JWT_SECRET SVC_DATABASE_URL SVC_REDIS_URL SVC_ADMIN_PASSWORD; do
  eval "file=\${${name}_FILE:-}"
  if [ -n "$file" ]; then
    value=$(cat "$file")
    export "$name=$value"
    unset "${name}_FILE"
  fi
done

role=${1:-all}
[ $# -gt 0 ] && shift
case "$role" in
  all | api) SVC_ROLE=$role exec node --enable-source-maps dist/main.js ;;
  worker) SVC_ROLE=worker exec node --enable-source-maps dist/worker.js ;;
  cli) exec node --enable-source-maps dist/cli.js "$@" ;;
  init-token) exec init-token.sh ;;
  *)
    echo "Unknown role \"$role\": all, api, worker, cli or init-token" >&2
    exit 2
    ;;
esac
