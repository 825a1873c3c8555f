#!/bin/sh
# Makes the SoftHSM token of a trial installation, once; run again it changes nothing.
# SOFTHSM2_CONF names the configuration to write, beside which the token lives; SVC_PKCS11_TOKEN_LABEL its label;
# SVC_PKCS11_PIN_FILE and PKCS11_SO_PIN_FILE hold the PINs.
set -eu

label=${SVC_PKCS11_TOKEN_LABEL:-sealwright}
home=$(dirname "$SOFTHSM2_CONF")
umask 077

mkdir -p "$home/tokens"
cat > "$SOFTHSM2_CONF.new" <<CONF
directories.tokendir = $home/tokens
objectstore.backend = file
log.level = ERROR
slots.removable = false
CONF
mv "$SOFTHSM2_CONF.new" "$SOFTHSM2_CONF"

has_token() {
  softhsm2-util --show-slots | sed -n 's/^ *Label: *//p' | sed 's/ *$//' | grep -qxF "$label"
}

if has_token; then
  echo "The token \"$label\" is there."
  exit 0
fi
# softhsm2-util takes PINs from arguments or a terminal only. This runs in a container of its own that ends at once.
softhsm2-util --init-token --free --label "$label" \
  --so-pin "$(cat "$PKCS11_SO_PIN_FILE")" --pin "$(cat "$SVC_PKCS11_PIN_FILE")" > /dev/null
has_token
echo "The token \"$label\" was made."
