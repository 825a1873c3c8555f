#!/bin/sh
# Creates the SoftHSM token of a trial installation. Does nothing if the token exists. SOFTHSM2_CONF is the path of the configuration to write; the token is
# stored next to it. SVC_PKCS11_TOKEN_LABEL is the label of the token. SVC_PKCS11_PIN_FILE and PKCS11_SO_PIN_FILE contain the PINs.
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
# softhsm2-util reads PINs only from arguments or a terminal. This command runs in a separate container that exits immediately.
softhsm2-util --init-token --free --label "$label" \
  --so-pin "$(cat "$PKCS11_SO_PIN_FILE")" --pin "$(cat "$SVC_PKCS11_PIN_FILE")" > /dev/null
has_token
echo "The token \"$label\" was made."
