#!/bin/sh
# Signs files with the identity token of this job; no secret is stored anywhere. Needs the command sealwright, or npx and SEALWRIGHT_CLIENT,
# the address of its npm package. Reads SEALWRIGHT_URL, SEALWRIGHT_KEY, SEALWRIGHT_ID_TOKEN or SEALWRIGHT_ID_TOKEN_FILE, SEALWRIGHT_FILES
# (names or patterns, one a line), SEALWRIGHT_RUN (a name that a repetition of the job has again), SEALWRIGHT_TRUST, SEALWRIGHT_FORMAT
# ("embedded": .exe, .jar and others are signed in themselves), SEALWRIGHT_TIMESTAMP (true), SEALWRIGHT_WAIT (seconds) and, for builds that
# can have more than one identity token, SEALWRIGHT_PROVENANCE (a key that attests how the files were built).
# Writes each signature beside its file. Ends with 5 while people have not approved yet: repeat the job later.
set -eu
if ! command -v sealwright >/dev/null; then
  if [ -z "${SEALWRIGHT_CLIENT:-}" ] || ! command -v npx >/dev/null; then
    echo 'sealwright-sign: install the sealwright client in this image, or set SEALWRIGHT_CLIENT in one that has npx' >&2
    exit 2
  fi
  sealwright() { npx --yes --package "$SEALWRIGHT_CLIENT" sealwright "$@"; }
fi
wait=${SEALWRIGHT_WAIT:-600}
set --
while IFS= read -r file; do
  if [ -n "$file" ]; then set -- "$@" "$file"; fi
done <<FILES
$SEALWRIGHT_FILES
FILES
if [ $# -eq 0 ]; then
  echo 'sealwright-sign: SEALWRIGHT_FILES does not name a file' >&2
  exit 2
fi
options="--wait $wait"
if [ "${SEALWRIGHT_FORMAT:-raw}" != embedded ]; then options="$options --format ${SEALWRIGHT_FORMAT:-raw}"; fi
if [ "${SEALWRIGHT_TIMESTAMP:-}" = true ]; then options="$options --timestamp"; fi
# The options hold no blanks.
# shellcheck disable=SC2086
sealwright sign --key "$SEALWRIGHT_KEY" $options -- "$@"
if [ -n "${SEALWRIGHT_PROVENANCE:-}" ]; then
  sealwright attest --provenance --key "$SEALWRIGHT_PROVENANCE" --wait "$wait" --out provenance.sigstore.json -- "$@" >&2
fi
