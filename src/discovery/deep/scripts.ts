import { fromBase64 } from '../../formats/encoding/base64.js';
import { FIND_SSHD } from '../../platform/ssh/key-files.js';

/*
 * POSIX shell scripts that use `base64`, `stat`, `head -c` and `od` of GNU coreutils or BusyBox. They create no files on the host. Each output line has
 * tab-separated fields: a tag, then base64 values.
 */

const EMIT = `
encode() { printf '%s' "$1" | base64 | tr -d '\\n'; }
emit() { printf '%s' "$1"; shift; for one; do printf '\\t'; encode "$one"; done; echo; }
`;

/**
 * Prints the login, the host's clock, its accounts and the sshd settings: `effective`, plus one `account` per account if there are Match blocks; otherwise
 * `configured`, the text of the configuration. The last line is `end`.
 */
export const HOST_SURVEY = `
${FIND_SSHD}
${EMIT}
emit who "$(id -un)" "$(id -u)"
emit clock "$(date -u +%s)" "$(date +%z)"
emit os "$( . /etc/os-release 2>/dev/null; printf '%s' "\${PRETTY_NAME:-$(uname -sr)}")"
accounts=$(getent passwd 2>/dev/null | head -n 2000); [ -n "$accounts" ] || accounts=$(head -n 2000 /etc/passwd)
emit accounts "$accounts"
set -f
global=$(settings_for root)
if [ -n "$global" ]; then
  emit effective "$global"
  if grep -qiE '^[[:space:]]*(match|include)[[:space:]=]' "$config" 2>/dev/null; then
    printf '%s\\n' "$accounts" | cut -d: -f1 | while IFS= read -r user; do
      emit account "$user" "$(settings_for "$user" | grep -iE '^(authorizedkeysfile|authorizedkeyscommand|trustedusercakeys|revokedkeys) ')"
    done
  fi
else
  set +f
  emit configured "$(cat "$config" /etc/ssh/sshd_config.d/*.conf 2>/dev/null | head -c 262144)"
fi
echo end
`;

/**
 * Reads the paths in $@ as the account itself. A file that contains a private key is reported as denied, because a public key file may be a link to a private
 * key.
 */
const READ_FILES = `
${EMIT}
for path; do
  if [ ! -e "$path" ] && [ ! -L "$path" ]; then emit missing "$path"; continue; fi
  if [ ! -f "$path" ] || [ ! -r "$path" ]; then emit denied "$path"; continue; fi
  data=$(head -c 1048577 -- "$path" | base64 | tr -d '\\n')
  if [ \${#data} -gt 1398104 ]; then emit denied "$path"; continue; fi
  if printf '%s' "$data" | base64 -d | grep -aq 'PRIVATE KEY-----'; then emit denied "$path"; continue; fi
  emit lines "$path" "$(stat -L -c %Y -- "$path")"
  printf 'data\\t%s\\n' "$data"
done
`;

/**
 * Reads one line per account from standard input: its name and its authorized_keys files, separated by tabs. `*` in a path is a wildcard. When run as
 * root, each file is read with the rights of its account, as sshd does, so that a symbolic link cannot expose a file that the account cannot read.
 */
export const READ = `
LC_ALL=C; export LC_ALL
${EMIT}
inner=${quoted(READ_FILES)}
tab=$(printf '\\t'); uid=$(id -u)
while IFS="$tab" read -r account paths; do
  set -f; IFS="$tab"; set -- $paths; set +f; IFS='
'
  found=
  for path; do
    case $path in *[*?[]*) for one in $path; do [ -e "$one" ] && found="$found$one
"; done; continue;; esac
    dir=\${path%/*}; while [ ! -e "$dir" ] && [ "$dir" != "\${dir%/*}" ]; do dir=\${dir%/*}; done
    if [ -e "$path" ] || [ -L "$path" ]; then found="$found$path
"
    elif [ -x "\${dir:-/}" ]; then emit missing "$path"; else emit denied "$path"; fi
  done
  [ -n "$found" ] || continue
  emit of "$account"
  set -f; set -- $found; set +f; unset IFS
  if [ "$uid" != 0 ] || [ "$account" = root ]; then sh -c "$inner" sh "$@" </dev/null
  elif command -v runuser >/dev/null 2>&1; then runuser -u "$account" -- sh -c "$inner" sh "$@" </dev/null
  else su -s /bin/sh "$account" -c "$inner" sh "$@" </dev/null; fi
done
echo end
`;

const FILE_NAMES = [
  '*.pem',
  '*.crt',
  '*.cer',
  '*.der',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.jceks',
  '*.keystore',
  '*.ppk',
  'id_*',
]
  .map((pattern) => `-name '${pattern}'`)
  .join(' -o ');

/** First base64 characters of an OpenSSH private key whose header names the cipher `none`. */
const NO_CIPHER = 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ';

/**
 * Finds private keys, certificates and key stores in directories read from standard input, one per line. It reports the public half of a private key,
 * obtained from ssh-keygen, and from the cipher in its header whether the key is encrypted; nothing else of a private key leaves the host.
 * Certificates are printed completely. Key stores are recognized by their first bytes. The script reads at most 5,000 files of up to 512 KiB, for 60
 * seconds. It takes files from each directory in turn, so that no account uses up the limit. It skips names with control characters: a line feed in
 * one would make the rest of it a path.
 *
 * It then prints log lines of key-based logins. From the journal, it prints only lines written by root, since any user may log under the name of
 * sshd. It reads log files only if the journal has no matching lines.
 */
export const WALK = `
LC_ALL=C; export LC_ALL
${EMIT}
stop=$(($(date +%s) + 60))
IFS='
'
set -f; set -- $(cat); set +f; unset IFS
tab=$(printf '\\t')
if [ $# -gt 0 ]; then
for place; do find "$place" -xdev -maxdepth 6 \\( -name '*[[:cntrl:]]*' -o -name node_modules -o -name .git -o -name .cache -o -name ca-certificates \\) -prune -o -type f -size -1025 \\( ${FILE_NAMES} -o -path '*/.ssh/*' \\) -print 2>/dev/null |
  sort | head -n 5001 | cat -n; done | sort -n | sort -t "$tab" -k 2 -u | sort -n | cut -f 2- | head -n 5001 | { number=0; while IFS= read -r path; do
  number=$((number + 1))
  if [ "$number" -gt 5000 ] || [ "$(date +%s)" -gt "$stop" ]; then echo cut; break; fi
  case $path in */authorized_keys*|*.pub|*/known_hosts*) continue;; esac
  if [ ! -f "$path" ] || [ -L "$path" ]; then continue; fi
  if [ ! -r "$path" ]; then emit denied "$path"; continue; fi
  facts=$(stat -c '%U|%u|%Y|%s' -- "$path")
  case $(od -An -v -tx1 -N 16 -- "$path" | tr -d ' \\n') in
    feedfeed*) emit store "$path" "$facts" JKS; continue;;
    cececece*) emit store "$path" "$facts" JCEKS; continue;;
    3082????020103*|3080020103*) emit store "$path" "$facts" PKCS12; continue;;
    3082????3082????a0030201*) emit der "$path" "$facts"; printf 'data\\t%s\\n' "$(base64 < "$path" | tr -d '\\n')"; continue;;
    30*) continue;;
  esac
  if grep -aq -- '-----BEGIN CERTIFICATE-----' "$path"; then
    emit pem "$path" "$facts" "$(sed -n '/-----BEGIN CERTIFICATE-----/,/-----END CERTIFICATE-----/p' < "$path" | head -c 131072)"
  fi
  if [ "$(head -c 20 -- "$path" | tr -d '\\0')" = 'PuTTY-User-Key-File-' ]; then
    type=$(sed -n '1s/.*: *//p' < "$path" | tr -d '\\r')
    blob=$(tr -d '\\r' < "$path" | sed -n '/^Public-Lines/,/^Private-Lines/p' | grep -v Lines: | tr -d '\\n')
    encrypted=yes; grep -aq '^Encryption: none' "$path" && encrypted=no
    emit key "$path" "$facts" PuTTY "$encrypted" "$type $blob" ""; continue
  fi
  begin=$(grep -a -m 1 -A 1 'PRIVATE KEY-----' "$path" | cut -c 1-80)
  [ -n "$begin" ] || continue
  encrypted=no
  case $begin in
    *ENCRYPTED*) encrypted=yes;;
    *OPENSSH*) case $begin in *${NO_CIPHER}*) ;; *) encrypted=yes;; esac;;
  esac
  case $begin in *OPENSSH*) format=OpenSSH;; *) format=PEM;; esac
  public=; [ "$encrypted" = no ] && public=$(cat -- "$path" | ssh-keygen -y -P '' -f /dev/stdin 2>/dev/null)
  listed=; [ -n "$public" ] || listed=$(ssh-keygen -lf "$path" 2>/dev/null </dev/null)
  [ -f "$path.pub" ] && format="$format+pub"
  emit key "$path" "$facts" "$format" "$encrypted" "$public" "$listed"
done; }
fi
soon=; command -v timeout >/dev/null 2>&1 && soon='timeout 20'
logins() { grep -aE '^([A-Z][a-z][a-z] +[0-9]+ [0-9:]+|[^ ]+) [^ ]+ sshd(-session)?\\[[0-9]+\\]: Accepted publickey for ' | tail -n 2000; }
found=$($soon journalctl -q -o short-iso --since=-90days -t sshd -t sshd-session _UID=0 2>/dev/null | logins)
[ -n "$found" ] || found=$(cat /var/log/auth.log.1 /var/log/auth.log /var/log/secure 2>/dev/null | logins)
emit logins "$found"
echo end
`;

function quoted(script: string): string {
  return `'${script.replaceAll("'", `'\\''`)}'`;
}

/** A line of script output with its tag and fields. */
export interface ScriptLine {
  readonly tag: string;
  readonly fields: readonly Buffer[];
}

/** Parses script output. Returns undefined if the last line is not `end`, because the output is then incomplete. */
export function readScriptOutput(output: Buffer): ScriptLine[] | undefined {
  const lines = output.toString('latin1').trimEnd().split('\n');
  if (lines.pop() !== 'end') return undefined;
  const read = lines.flatMap((line) => {
    const [tag = '', ...given] = line.split('\t');
    const fields = given.flatMap((field) => fromBase64(field) ?? []);
    return fields.length === given.length ? [{ tag, fields }] : [];
  });
  return read.length === lines.length ? read : undefined;
}

/** Returns a field as text. Invalid UTF-8 from the host is replaced. */
export function fieldTextOf({ fields }: ScriptLine, index: number): string {
  return fields[index]?.toString('utf8').replaceAll('\0', '') ?? '';
}

/** Returns text from a host without control characters, truncated to `maxLength`. */
export function shown(text: string, maxLength = 255): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, maxLength);
}
