/**
 * Scripts for keys whose private key stays on a host. $1 is the path of the private key, and $2 is the rotation's mark. Each script can be repeated, and runs
 * as the account that holds the key. The scripts require a POSIX shell, and ssh and ssh-keygen of OpenSSH 8.0 or later. Exit status 3 means that the account
 * has not proven possession of the key. In that case, the last line of the output is the reason.
 */

/** HOLDER_NAMESPACE is the namespace of signatures that prove possession of a key (PROTOCOL.sshsig). */
export const HOLDER_NAMESPACE = 'holder@sealwright';
export const UNPROVEN = 3;

/**
 * Exits if another account could replace the key file, either through a symbolic link on the path or in a directory that other accounts can write to. sshd
 * applies the same check to authorized_keys (StrictModes). No agent is used, because an agent could sign with a key that is not in the file.
 */
const OWN_PLACE = `
set -u; umask 077; LC_ALL=C; export LC_ALL; unset SSH_AUTH_SOCK SSH_ASKPASS DISPLAY
unproven() { echo "$1"; exit ${UNPROVEN}; }
me=$(id -u); at=$1
[ "$(readlink -f -- "$1" 2>/dev/null)" = "$1" ] || unproven 'The path contains a symbolic link or does not exist.'
while [ "$at" != / ]; do
  at=$(dirname -- "$at")
  case $(stat -c '%u %A' -- "$at") in
    "$me d"????-??-*|'0 d'????-??-*) ;;
    *) unproven "The directory $at is owned by another account, or other accounts can change it." ;;
  esac
done
sign() { ssh-keygen -q -Y sign -n ${HOLDER_NAMESPACE} -f "$1" 2>/dev/null; }
`;
/** Maximum size of a key file in bytes. No OpenSSH or PEM key file is larger. */
const MAX_KEY_BYTES = 65_536;

/**
 * PROVE reads a message from standard input, signs it with the private key in the file, and prints the signature. The file must belong to this account alone.
 * The service verifies the signature with the public key, because an account can forge everything else that it reports about its files.
 */
export const PROVE = `${OWN_PLACE}
case $(stat -c '%F|%u|%h' -- "$1" 2>/dev/null) in
  "regular file|$me|1") ;;
  *) unproven 'The path is not a regular file, has more than one hard link, or is owned by another account.' ;;
esac
[ "$(stat -c %s -- "$1")" -le ${MAX_KEY_BYTES} ] || unproven 'The file is too large to be a private key.'
ssh-keygen -y -P '' -f "$1" </dev/null >/dev/null 2>&1 ||
  unproven 'The file is not a private key, has a passphrase, or can be read by other accounts.'
sign "$1" || unproven 'ssh-keygen could not sign with the key file: the .pub file contains a different key, or OpenSSH is older than 8.0.'
`;

/**
 * MAKE_KEY takes $3 comment, and reads a message from standard input. It creates the new key next to the old key, and prints the new public key and a signature
 * of the message made with the new key.
 */
export const MAKE_KEY = `${OWN_PLACE}
set -e
next="$1.$2.next"
public=$(ssh-keygen -y -P '' -f "$next" </dev/null 2>/dev/null) || {
  rm -f -- "$next" "$next.pub"
  ssh-keygen -q -t ed25519 -N '' -C "$3" -f "$next" </dev/null >/dev/null
  rm -f -- "$next.pub"
  public=$(ssh-keygen -y -P '' -f "$next" </dev/null)
}
printf '%s\\n' "$public"
sign "$next"
`;

/**
 * TRY_KEY takes $3 user, $4 address, $5 port, $6 old or new, and reads known_hosts lines from standard input. It logs in with the old or the new key, without
 * running a command. The new key is read from the file that currently contains the new key. The script prints accepted, denied, or unclear with the reason.
 * PIPE is trapped because SIGPIPE would end the shell without running its EXIT trap.
 */
export const TRY_KEY = `${OWN_PLACE}
key=$1
[ "$6" = old ] || { key="$1.$2.next"; [ -f "$key" ] || key=$1; }
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
 * TAKE_OVER replaces the old private key with the new private key in one rename. The new file has mode 600 regardless of the old mode. The .pub file is removed
 * first, because ssh would trust it and reject a private key that does not match.
 */
export const TAKE_OVER = `${OWN_PLACE}
set -e
next="$1.$2.next"; prev="$1.$2.prev"; public="$1.$2.pub"
if [ -f "$next" ]; then
  chmod 600 "$next"
  [ -f "$prev" ] || [ ! -f "$1" ] || ln -- "$1" "$prev"
  rm -f -- "$1.pub"
  mv -f -T -- "$next" "$1"
fi
[ -f "$1.pub" ] || {
  rm -f -- "$public"
  ssh-keygen -y -P '' -f "$1" </dev/null > "$public" && chmod 644 "$public" && mv -f -T -- "$public" "$1.pub"
}
sync "$(dirname -- "$1")" 2>/dev/null || sync
`;

/** FORGET_OLD removes the old private key, and the files of an interrupted trial. */
export const FORGET_OLD = `${OWN_PLACE}
rm -f -- "$1.$2.prev" "$(dirname -- "$1")/.sealwright.$2."*
`;

/** FORGET_NEW removes the new private key, and the files of an interrupted trial. */
export const FORGET_NEW = `${OWN_PLACE}
rm -f -- "$1.$2.next" "$1.$2.next.pub" "$(dirname -- "$1")/.sealwright.$2."*
`;
