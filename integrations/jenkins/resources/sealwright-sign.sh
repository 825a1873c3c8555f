#!/bin/sh
# Signs files with the identity token of this job, without a stored secret. Requires the command sealwright, or npx and SEALWRIGHT_CLIENT, the
# URL of the npm package. Reads SEALWRIGHT_URL, SEALWRIGHT_KEY, SEALWRIGHT_ID_TOKEN or SEALWRIGHT_ID_TOKEN_FILE, SEALWRIGHT_FILES (names or
# patterns, one per line), SEALWRIGHT_RUN (a name that stays the same when the job is repeated), SEALWRIGHT_TRUST, SEALWRIGHT_FORMAT
# ("embedded" embeds the signature in files such as .exe and .jar), SEALWRIGHT_TIMESTAMP (true), SEALWRIGHT_WAIT (seconds) and, for builds
# that can have more than one identity token, SEALWRIGHT_PROVENANCE (a key that attests how the files were built).
# Writes each signature next to its file. Exits with 5 if the approval is still pending. Repeat the job later.
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
# The options contain no spaces.
# shellcheck disable=SC2086
sealwright sign --key "$SEALWRIGHT_KEY" $options -- "$@"
if [ -n "${SEALWRIGHT_PROVENANCE:-}" ]; then
  sealwright attest --provenance --key "$SEALWRIGHT_PROVENANCE" --wait "$wait" --out provenance.sigstore.json -- "$@" >&2
fi
