/**
 * For keys whose private half stays on a host. $1 is the path of the private key, $2 the mark of the rotation. Each may run twice.
 * POSIX shell, with ssh and ssh-keygen of OpenSSH.
 */

/** $3 comment. Makes the new key beside the old one and prints its public half; the private half is never printed. */
export const MAKE_KEY = `
set -eu; umask 077
next="$1.$2.next"
public=$(ssh-keygen -y -P '' -f "$next" 2>/dev/null) || {
  rm -f -- "$next" "$next.pub"
  ssh-keygen -q -t ed25519 -N '' -C "$3" -f "$next" >/dev/null
  rm -f -- "$next.pub"
  public=$(ssh-keygen -y -P '' -f "$next")
}
printf '%s\\n' "$public"
`;

/**
 * $3 user, $4 address, $5 port; known_hosts lines on standard input. Logs in with the new key, wherever it is by now, without running
 * anything there. Prints accepted, denied, or unclear and why. When nobody listens any more, the shell would die of SIGPIPE without its EXIT trap.
 */
export const TRY_KEY = `
set -u; umask 077
key="$1.$2.next"; [ -f "$key" ] || key=$1
base="$(dirname -- "$1")/.sealwright.$2.$$"
ssh=
trap 'kill $ssh 2>/dev/null; rm -f -- "$base.hosts" "$base.log"' EXIT
trap 'exit 1' HUP INT PIPE TERM
cat > "$base.hosts"; : > "$base.log"
ssh -F none -v -N -T -i "$key" -p "$5" -l "$3" -o IdentitiesOnly=yes -o IdentityAgent=none -o CertificateFile=none -o BatchMode=yes \\
  -o PreferredAuthentications=publickey -o StrictHostKeyChecking=yes -o UserKnownHostsFile="$base.hosts" -o GlobalKnownHostsFile=/dev/null \\
  -o ConnectTimeout=10 -o ControlMaster=no -o ControlPath=none -o ForwardAgent=no "$4" </dev/null >/dev/null 2>"$base.log" &
ssh=$!
said=unclear; tries=0
while [ $tries -lt 150 ]; do
  if grep -q '^Authenticated to ' "$base.log"; then said=accepted; break; fi
  kill -0 $ssh 2>/dev/null || break
  tries=$((tries + 1)); sleep 0.1
done
kill $ssh 2>/dev/null; wait $ssh 2>/dev/null; ssh=
[ $said = accepted ] || ! grep -q 'Permission denied (' "$base.log" || said=denied
echo $said
[ $said = unclear ] && tail -n 1 "$base.log"
exit 0
`;

/**
 * Puts the new private key in the place of the old one, in one rename. The .pub file is away meanwhile: ssh would believe it
 * and refuse a private key that does not match.
 */
export const TAKE_OVER = `
set -eu; umask 077
next="$1.$2.next"; prev="$1.$2.prev"; public="$1.$2.pub"
if [ -f "$next" ]; then
  chmod "$(stat -c %a -- "$1" 2>/dev/null || echo 600)" "$next"
  [ -f "$prev" ] || [ ! -f "$1" ] || ln -- "$1" "$prev"
  rm -f -- "$1.pub"
  mv -f -T -- "$next" "$1"
fi
[ -f "$1.pub" ] || { ssh-keygen -y -P '' -f "$1" > "$public" && chmod 644 "$public" && mv -f -T -- "$public" "$1.pub"; }
sync "$(dirname -- "$1")" 2>/dev/null || sync
`;

/** The old private key is not needed any more, nor what a trial left that was cut off. */
export const FORGET_OLD = `
rm -f -- "$1.$2.prev" "$(dirname -- "$1")/.sealwright.$2."*
`;

/** The new key is not wanted any more, nor what a trial left that was cut off. */
export const FORGET_NEW = `
rm -f -- "$1.$2.next" "$1.$2.next.pub" "$(dirname -- "$1")/.sealwright.$2."*
`;
