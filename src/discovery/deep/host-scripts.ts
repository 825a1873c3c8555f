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
 * Prints the login, the host's clock, its accounts and its sshd settings, then the line `end`. The line `effective` contains the settings, and a line `account`
 * follows for each account if there are Match blocks. If sshd cannot print its settings, the line `configured` contains the text of the configuration instead.
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
 * Reads the paths in $@ with the account's rights. A file that contains a private key is reported as denied, because a public key file may be a link to a
 * private key.
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
echo end
`;

/** Runs a command for at most `$1` seconds. Without the `timeout` command on the host, no limit applies. */
const WITHIN = `
if command -v timeout >/dev/null 2>&1; then within() { timeout -s KILL "$@"; }; else within() { shift; "$@"; }; fi
`;

/** Maximum time in seconds for reading one account's files, and for reading all accounts' files. */
const ACCOUNT_SECONDS = 5;
const ACCOUNTS_SECONDS = 40;
/** Maximum number of files that one path with wildcards may match. */
const MAX_MATCHES = 100;
/** Maximum output of all accounts in bytes, before base64 encoding. Each account gets at least ACCOUNT_BYTES and at most a quarter of the total. */
const ACCOUNTS_BYTES = 10_000_000;
const ACCOUNT_BYTES = 4096;

/**
 * Reads one line per account from standard input: the account's name and its authorized_keys files, separated by tabs. `*` in a path is a wildcard. When run as
 * root, the script reads each file with the rights of its account, as sshd does, so that a symbolic link cannot expose a file that the account cannot read.
 *
 * The account controls the process that runs with the account's privileges. The script therefore limits the time and output of that process, and prints the
 * output as one field of a line that names the account and the paths.
 */
export const READ = `
LC_ALL=C; export LC_ALL
${EMIT}
${WITHIN}
inner=${quoted(READ_FILES)}
tab=$(printf '\\t'); uid=$(id -u)
stop=$(($(date +%s) + ${ACCOUNTS_SECONDS})); left=${ACCOUNTS_BYTES}
input=$(cat); waiting=$(printf '%s\\n' "$input" | wc -l)
printf '%s\\n' "$input" | { while IFS="$tab" read -r account paths; do
  waiting=$((waiting - 1))
  set -f; IFS="$tab"; set -- $paths; set +f; IFS='
'
  found=
  for path; do
    case $path in *[*?[]*)
      number=0
      for one in $path; do
        case $one in *'
'*) continue;; esac
        [ -e "$one" ] || continue
        number=$((number + 1)); if [ "$number" -gt ${MAX_MATCHES} ]; then emit denied "$path"; break; fi
        found="$found$one
"; done; continue;; esac
    dir=\${path%/*}; while [ ! -e "$dir" ] && [ "$dir" != "\${dir%/*}" ]; do dir=\${dir%/*}; done
    if [ -e "$path" ] || [ -L "$path" ]; then found="$found$path
"
    elif [ -x "\${dir:-/}" ]; then emit missing "$path"; else emit denied "$path"; fi
  done
  [ -n "$found" ] || continue
  most=$((left - waiting * ${ACCOUNT_BYTES})); [ "$most" -le ${ACCOUNTS_BYTES / 4} ] || most=${ACCOUNTS_BYTES / 4}
  set -f; set -- $found; set +f; unset IFS
  if [ "$(date +%s)" -gt "$stop" ]; then said=
  else said=$({
    if [ "$uid" != 0 ] || [ "$account" = root ]; then within ${ACCOUNT_SECONDS} sh -c "$inner" sh "$@"
    elif command -v runuser >/dev/null 2>&1; then within ${ACCOUNT_SECONDS} runuser -u "$account" -- sh -c "$inner" sh "$@"
    else within ${ACCOUNT_SECONDS} su -s /bin/sh "$account" -c "$inner" sh "$@"; fi
  } </dev/null 2>/dev/null | within ${ACCOUNT_SECONDS} head -c "$most" | base64 | tr -d '\\n'); fi
  left=$((left - \${#said} * 3 / 4))
  printf 'of'; printf '\\t%s' "$(encode "$account")" "$(encode "$found")" "$said"; echo
done; }
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

/** Maximum number of files that are read, and maximum times in seconds for finding and reading files. */
const MAX_FILES = 5000;
const PLACE_SECONDS = 10;
const FIND_SECONDS = 40;
const READ_SECONDS = 60;
const FILE_SECONDS = 3;
/** Maximum output in bytes about all files, and about the files of one owner. */
const FILES_BYTES = 12_000_000;
const OWNER_BYTES = 3_000_000;

/**
 * Prints the relevant content of the file $1, which was found by its name. The script opens the file once and uses only this open file, so that the output
 * describes exactly the file that was read, even if an account replaces the path in the meantime.
 */
const READ_FILE = `
${EMIT}
path=$1
exec 3<"$path" || exit 1
file=/proc/self/fd/3
facts=$(stat -L -c '%U|%u|%Y|%s|%F' -- "$file")
case $facts in *'|regular file') facts=\${facts%|*};; *) exit 0;; esac
[ "\${facts##*|}" -le 524288 ] || exit 0
case $(od -An -v -tx1 -N 16 -- "$file" | tr -d ' \\n') in
  feedfeed*) emit store "$path" "$facts" JKS; exit 0;;
  cececece*) emit store "$path" "$facts" JCEKS; exit 0;;
  3082????020103*|3080020103*) emit store "$path" "$facts" PKCS12; exit 0;;
  3082????3082????a0030201*) emit der "$path" "$facts"; printf 'data\\t%s\\n' "$(head -c 524288 "$file" | base64 | tr -d '\\n')"; exit 0;;
  30*) exit 0;;
esac
if grep -aq -- '-----BEGIN CERTIFICATE-----' "$file"; then
  emit pem "$path" "$facts" "$(sed -n '/-----BEGIN CERTIFICATE-----/,/-----END CERTIFICATE-----/p' < "$file" | head -c 131072)"
fi
if [ "$(head -c 20 -- "$file" | tr -d '\\0')" = 'PuTTY-User-Key-File-' ]; then
  type=$(sed -n '1s/.*: *//p' < "$file" | tr -d '\\r' | head -c 200)
  blob=$(tr -d '\\r' < "$file" | sed -n '/^Public-Lines/,/^Private-Lines/p' | grep -v Lines: | tr -d '\\n' | head -c 16384)
  encrypted=yes; grep -aq '^Encryption: none' "$file" && encrypted=no
  emit key "$path" "$facts" PuTTY "$encrypted" "$type $blob" ""; exit 0
fi
begin=$(grep -a -m 1 -A 1 'PRIVATE KEY-----' "$file" | cut -c 1-80)
[ -n "$begin" ] || exit 0
encrypted=no
case $begin in
  *ENCRYPTED*) encrypted=yes;;
  *OPENSSH*) case $begin in *${NO_CIPHER}*) ;; *) encrypted=yes;; esac;;
esac
case $begin in *OPENSSH*) format=OpenSSH;; *) format=PEM;; esac
public=; [ "$encrypted" = no ] && public=$(cat -- "$file" | ssh-keygen -y -P '' -f /dev/stdin 2>/dev/null)
listed=; [ -n "$public" ] || listed=$(ssh-keygen -lf "$file" 2>/dev/null </dev/null)
if [ -f "$path.pub" ]; then
  format="$format+pub"
  [ -n "$public$listed" ] || listed=$(head -c 16384 -- "$path.pub" | ssh-keygen -lf /dev/stdin 2>/dev/null)
fi
emit key "$path" "$facts" "$format" "$encrypted" "$public" "$listed"
`;

/**
 * Finds private keys, certificates and key stores in directories read from standard input, one per line. Certificates are printed completely. Key stores are
 * recognized by their first bytes. For a private key, the script prints only the public key, as reported by ssh-keygen, and whether the key is encrypted.
 * No other part of a private key leaves the host.
 *
 * The script reads at most MAX_FILES files of up to 512 KiB within READ_SECONDS. Each file has a limit of FILE_SECONDS, because opening a FIFO blocks until a
 * writer opens it. Files are taken from each owner and directory in turn, and the output per owner is limited to OWNER_BYTES, so that no account can exhaust
 * the limits. Names with control characters are skipped, because the text after a line feed would be read as another path.
 *
 * The script then prints log lines of key-based logins. From the journal, it prints only lines written by root, because any user can log under the name of
 * sshd. It reads log files, to which any account may have written, only if the journal has no matching lines.
 */
export const WALK = `
LC_ALL=C; export LC_ALL
${EMIT}
${WITHIN}
file=${quoted(READ_FILE)}
stop=$(($(date +%s) + ${FIND_SECONDS}))
IFS='
'
set -f; set -- $(cat); set +f; unset IFS
tab=$(printf '\\t')
if [ $# -gt 0 ]; then
number=0
for place; do
  number=$((number + 1))
  if [ "$(date +%s)" -gt "$stop" ]; then echo cut; continue; fi
  within ${PLACE_SECONDS} find "$place" -xdev -maxdepth 6 \\( -name '*[[:cntrl:]]*' -o -name node_modules -o -name .git -o -name .cache -o -name ca-certificates \\) -prune -o -type f -size -1025 \\( ${FILE_NAMES} -o -path '*/.ssh/*' \\) -exec stat -c "$number\${tab}%u$tab%n" -- {} + 2>/dev/null
  [ $? -lt 124 ] || printf '\\ncut\\n'
done | awk -F "$tab" '
  $1 == "cut" { cut = 1 }
  NF == 3 { key = $1 "_" $2; rank = ++count[key]; if (rank <= ${MAX_FILES + 1} && (!($3 in best) || rank < best[$3])) { best[$3] = rank; of[$3] = key } }
  END { if (cut) print "0" FS "cut" FS; for (path in best) print best[path] FS of[path] FS path }' |
  sort -t "$tab" -k 1,1n -k 3 | head -n ${MAX_FILES + 2} | { number=0; left=${FILES_BYTES}; stop=$(($(date +%s) + ${READ_SECONDS}))
  while IFS="$tab" read -r rank owner path; do
  if [ "$owner" = cut ]; then echo cut; continue; fi
  number=$((number + 1))
  if [ "$number" -gt ${MAX_FILES} ] || [ "$left" -lt 0 ] || [ "$(date +%s)" -gt "$stop" ]; then echo cut; break; fi
  case $path in */authorized_keys*|*.pub|*/known_hosts*) continue;; esac
  if [ ! -f "$path" ] || [ -L "$path" ]; then continue; fi
  if [ ! -r "$path" ]; then emit denied "$path"; continue; fi
  eval "spent=\\\${spent_$owner:-0}"
  if [ "$spent" -gt ${OWNER_BYTES} ]; then echo cut; continue; fi
  if said=$(within ${FILE_SECONDS} sh -c "$file" sh "$path" </dev/null 2>/dev/null); then
    [ -z "$said" ] || printf '%s\\n' "$said"
    eval "spent_$owner=$((spent + \${#said}))"; left=$((left - \${#said}))
  else emit denied "$path"; eval "spent_$owner=$((spent + ${OWNER_BYTES / 2}))"; fi
done; }
fi
logins() { grep -aE '^([A-Z][a-z][a-z] +[0-9]+ [0-9:]+|[^ ]+) [^ ]+ sshd(-session)?\\[[0-9]+\\]: Accepted publickey for ' | tail -n 2000; }
found=$(within 20 journalctl -q -o short-iso --since=-90days -t sshd -t sshd-session _UID=0 2>/dev/null | logins)
from=journal
if [ -z "$found" ]; then from=files; found=$(cat /var/log/auth.log.1 /var/log/auth.log /var/log/secure 2>/dev/null | logins); fi
emit logins "$found" "$from"
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
