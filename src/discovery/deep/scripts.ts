import { FIND_SSHD } from '../../platform/ssh/sshd-script.js';

/*
 * POSIX shell, with `base64`, `stat`, `head -c` and `od` of GNU coreutils or BusyBox. No file is made on the host. Each prints lines of fields that tabs
 * part: a tag, and then base64 of whatever was found.
 */

const SAY = `
tell() { printf '%s' "$1" | base64 | tr -d '\\n'; }
say() { printf '%s' "$1"; shift; for one; do printf '\\t'; tell "$one"; done; echo; }
`;

/**
 * Who we are, the host's clock, its accounts, and what sshd makes of its configuration: `effective` and one `account` for each where a Match block
 * could make a difference, else `configured`, the text. The last line is `end`.
 */
export const HOST_SURVEY = `
${FIND_SSHD}
${SAY}
say who "$(id -un)" "$(id -u)"
say clock "$(date -u +%s)" "$(date +%z)"
say os "$( . /etc/os-release 2>/dev/null; printf '%s' "\${PRETTY_NAME:-$(uname -sr)}")"
accounts=$(getent passwd 2>/dev/null | head -n 2000); [ -n "$accounts" ] || accounts=$(head -n 2000 /etc/passwd)
say accounts "$accounts"
set -f
host=$(hostname 2>/dev/null || echo localhost)
ask() { \${line:-false} -T -C "user=$1,host=$host,addr=$from" 2>/dev/null; }
global=$(ask root)
if [ -n "$global" ]; then
  say effective "$global"
  if grep -qiE '^[[:space:]]*(match|include)[[:space:]=]' "$config" 2>/dev/null; then
    printf '%s\\n' "$accounts" | cut -d: -f1 | while IFS= read -r user; do
      say account "$user" "$(ask "$user" | grep -iE '^(authorizedkeysfile|authorizedkeyscommand|trustedusercakeys|revokedkeys) ')"
    done
  fi
else
  set +f
  say configured "$(cat "$config" /etc/ssh/sshd_config.d/*.conf 2>/dev/null | head -c 262144)"
fi
echo end
`;

/**
 * $@ paths, read as the account itself. A file with a private key in it is not told: somebody may have put a link to one where public keys belong.
 */
const READ_FILES = `
${SAY}
for path; do
  if [ ! -e "$path" ] && [ ! -L "$path" ]; then say missing "$path"; continue; fi
  if [ ! -f "$path" ] || [ ! -r "$path" ]; then say denied "$path"; continue; fi
  data=$(head -c 1048577 -- "$path" | base64 | tr -d '\\n')
  if [ \${#data} -gt 1398104 ]; then say denied "$path"; continue; fi
  if printf '%s' "$data" | base64 -d | grep -aq 'PRIVATE KEY-----'; then say denied "$path"; continue; fi
  say lines "$path" "$(stat -L -c %Y -- "$path")"
  printf 'data\\t%s\\n' "$data"
done
`;

/**
 * Standard input: a line for each account, its name and the files that let keys in to it, parted by tabs; `*` in a path is a pattern. As root each file is
 * read with the rights of its account, which is how sshd reads it and leaves no link of theirs to follow.
 */
export const READ = `
LC_ALL=C; export LC_ALL
${SAY}
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
    elif [ -x "\${dir:-/}" ]; then say missing "$path"; else say denied "$path"; fi
  done
  [ -n "$found" ] || continue
  say of "$account"
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

/** First base64 of an OpenSSH private key that no cipher protects: its header alone says so. */
const NO_CIPHER = 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ';

/**
 * Standard input: directories, one a line. Tells private keys by what ssh-keygen says of their public half and by whether their header names a cipher, certificates
 * whole, key stores by their first bytes. Of a private key nothing else leaves the host. At most 5,000 files of up to 512 KiB, for 60 seconds.
 * Then the lines of its logs that tell of logins with keys.
 */
export const WALK = `
LC_ALL=C; export LC_ALL
${SAY}
stop=$(($(date +%s) + 60))
IFS='
'
set -f; set -- $(cat); set +f; unset IFS
if [ $# -gt 0 ]; then
find "$@" -xdev -maxdepth 6 \\( -name node_modules -o -name .git -o -name .cache -o -name ca-certificates \\) -prune -o -type f -size -1025 \\( ${FILE_NAMES} -o -path '*/.ssh/*' \\) -print 2>/dev/null |
  sort -u | head -n 5001 | { number=0; while IFS= read -r path; do
  number=$((number + 1))
  if [ "$number" -gt 5000 ] || [ "$(date +%s)" -gt "$stop" ]; then echo cut; break; fi
  case $path in */authorized_keys*|*.pub|*/known_hosts*) continue;; esac
  if [ ! -r "$path" ]; then say denied "$path"; continue; fi
  facts=$(stat -c '%U|%u|%Y|%s' -- "$path")
  case $(od -An -v -tx1 -N 16 -- "$path" | tr -d ' \\n') in
    feedfeed*) say store "$path" "$facts" JKS; continue;;
    cececece*) say store "$path" "$facts" JCEKS; continue;;
    3082????020103*|3080020103*) say store "$path" "$facts" PKCS12; continue;;
    3082????3082????a0030201*) say der "$path" "$facts"; printf 'data\\t%s\\n' "$(base64 < "$path" | tr -d '\\n')"; continue;;
    30*) continue;;
  esac
  if grep -aq -- '-----BEGIN CERTIFICATE-----' "$path"; then
    say pem "$path" "$facts" "$(sed -n '/-----BEGIN CERTIFICATE-----/,/-----END CERTIFICATE-----/p' < "$path" | head -c 131072)"
  fi
  if [ "$(head -c 20 -- "$path" | tr -d '\\0')" = 'PuTTY-User-Key-File-' ]; then
    type=$(sed -n '1s/.*: *//p' < "$path" | tr -d '\\r')
    blob=$(tr -d '\\r' < "$path" | sed -n '/^Public-Lines/,/^Private-Lines/p' | grep -v Lines: | tr -d '\\n')
    held=yes; grep -aq '^Encryption: none' "$path" && held=no
    say key "$path" "$facts" PuTTY "$held" "$type $blob" ""; continue
  fi
  begin=$(grep -a -m 1 -A 1 'PRIVATE KEY-----' "$path" | cut -c 1-80)
  [ -n "$begin" ] || continue
  held=no
  case $begin in
    *ENCRYPTED*) held=yes;;
    *OPENSSH*) case $begin in *${NO_CIPHER}*) ;; *) held=yes;; esac;;
  esac
  case $begin in *OPENSSH*) format=OpenSSH;; *) format=PEM;; esac
  public=; [ "$held" = no ] && public=$(cat -- "$path" | ssh-keygen -y -P '' -f /dev/stdin 2>/dev/null)
  told=; [ -n "$public" ] || told=$(ssh-keygen -lf "$path" 2>/dev/null </dev/null)
  [ -f "$path.pub" ] && format="$format+pub"
  say key "$path" "$facts" "$format" "$held" "$public" "$told"
done; }
fi
soon=; command -v timeout >/dev/null 2>&1 && soon='timeout 20'
say logins "$( { $soon journalctl -q -o short-iso --since=-90days -t sshd -t sshd-session; cat /var/log/auth.log.1 /var/log/auth.log /var/log/secure; } 2>/dev/null | grep -a 'Accepted publickey for ' | tail -n 2000)"
echo end
`;

function quoted(script: string): string {
  return `'${script.replaceAll("'", `'\\''`)}'`;
}
