#!/bin/sh
# Signs files with the identity token of this job; no secret is stored anywhere. Needs curl, openssl and jq.
# Reads SEALWRIGHT_URL, SEALWRIGHT_KEY, SEALWRIGHT_ID_TOKEN or SEALWRIGHT_ID_TOKEN_FILE, SEALWRIGHT_FILES (one a line),
# SEALWRIGHT_RUN (a name that a repetition of the job has again), SEALWRIGHT_TRUST, SEALWRIGHT_FORMAT, SEALWRIGHT_WAIT (seconds).
# Writes FILE.sig beside each file. Ends with 5 while people have not approved yet: repeat the job later.
set -eu
url=${SEALWRIGHT_URL%/}
wait_until=$(($(date +%s) + ${SEALWRIGHT_WAIT:-600}))
id_token=${SEALWRIGHT_ID_TOKEN:-}
if [ -z "$id_token" ]; then id_token=$(cat "$SEALWRIGHT_ID_TOKEN_FILE"); fi

# Tokens go through standard input: arguments of processes can be read by others on the machine.
token=$(printf %s "$id_token" | curl -sS --fail-with-body --retry 3 --max-time 30 "$url/oauth/token" \
  --data-urlencode grant_type=urn:ietf:params:oauth:grant-type:token-exchange \
  --data-urlencode subject_token_type=urn:ietf:params:oauth:token-type:jwt \
  --data-urlencode "trust=${SEALWRIGHT_TRUST:-}" --data-urlencode subject_token@-) || {
  echo "sealwright: $(printf %s "$token" | jq -r '.error_description // .detail // .')" >&2
  exit 4
}
access=$(printf %s "$token" | jq -r .access_token)

call() {
  printf 'header = "Authorization: Bearer %s"\n' "$access" |
    curl -sS --fail-with-body --retry 4 --max-time 60 -K - -H 'Content-Type: application/json' "$@"
}

failed() {
  echo "sealwright: $(printf %s "$1" | jq -r '.detail // .failure.detail // .')" >&2
  exit 1
}

sign() {
  digest=$(openssl dgst -sha256 -binary "$1" | openssl base64 -A)
  body=$(jq -n --arg digest "$digest" --arg key "$SEALWRIGHT_KEY" --arg format "${SEALWRIGHT_FORMAT:-raw}" --arg name "${1##*/}" \
    '{digest: $digest, key: $key, format: $format, metadata: {filename: $name}}')
  request=$(call -H "Idempotency-Key: ${SEALWRIGHT_RUN:-$digest}-$digest" --data-binary "$body" "$url/api/v1/sign/digest") ||
    failed "$request"
  id=$(printf %s "$request" | jq -r .requestId)
  while :; do
    case $(printf %s "$request" | jq -r .status) in
      SIGNED) break ;;
      FAILED) failed "$request" ;;
    esac
    if [ "$(date +%s)" -ge "$wait_until" ]; then
      echo "sealwright: $1 waits for approval (request $id); repeat the job when it is approved" >&2
      exit 5
    fi
    request=$(call "$url/api/v1/sign/requests/$id?wait=20") || failed "$request"
  done
  printf %s "$request" | jq -r .signature | openssl base64 -d -A >"$1.sig"
  echo "sealwright: $1.sig (request $id)"
}

printf '%s\n' "$SEALWRIGHT_FILES" | while IFS= read -r file; do
  if [ -n "$file" ]; then sign "$file"; fi
done
