/**
 * Scripts for a POSIX shell with `stat`, `sha256sum`, `readlink` and `mv` from GNU coreutils or BusyBox. Exit statuses: 44 if nothing exists at the path, 76 if
 * the file does not have the expected content, 77 if root would write to a location that another account controls. Any other nonzero status is the exit status
 * of the command that failed.
 */

/** Maximum size of a hashed file in bytes. Larger files are never replaced. */
const MAX_HASHED_BYTES = 64 * 1024 * 1024;

/** Exits with 44 if nothing exists at $1. If the path cannot be read for another reason, prints the error message of stat. */
const MUST_BE_THERE = `
LC_ALL=C; export LC_ALL
kind=$(stat -L -c %F -- "$1" 2>&1) || case $kind in
  *'No such file'*|*'Not a directory'*) exit 44 ;;
  *) echo "$kind" >&2; exit 1 ;;
esac
`;

export const FILE_STATE = `${MUST_BE_THERE}
kind=plain; [ -L "$1" ] && kind=link
real=$(readlink -f -- "$1") || exit 1
facts=$(stat -c '%F|'"$kind"'|%a|%u|%g|%U|%h|%s|%Y' -- "$real") || exit 1
sum=
if [ -f "$real" ] && [ "$(stat -c %s -- "$real")" -le ${MAX_HASHED_BYTES} ]; then sum=$(sha256sum < "$real") || exit 1; sum=\${sum%% *}; fi
printf '%s\\n%s\\n%s\\n' "$facts" "$real" "$sum"
`;

export const READ_FILE = `${MUST_BE_THERE}
[ -f "$1" ] || { echo 'not a regular file' >&2; exit 1; }
exec cat -- "$1"
`;

/**
 * Exits with 77 if an account other than root could redirect the path to $1, to $file ($1 with links resolved), or to its directory. Otherwise, root could be
 * made to write to a location chosen by that account. sshd applies the same check to these files (StrictModes). Sticky directories such as /tmp are allowed as
 * ancestors, because only root can move root's entries in these directories. The check is skipped for other accounts, which can write only to their own files.
 */
const MUST_BE_ROOTS = `
if [ "$(id -u)" = 0 ]; then
  for at in "$1" "$file" "$(readlink -f -- "$dir")/."; do
    kind=
    while [ "$at" != / ] && [ "$at" != . ]; do
      at=$(dirname -- "$at")
      case $kind$(stat -c '%u %A' -- "$at") in
        '0 d'????-??-*|'above 0 d'????-??-*|'0 l'*|'above 0 l'*|'above 0 d'????????[tT]*) kind='above ' ;;
        *) echo "accounts other than root can change $at" >&2; exit 77 ;;
      esac
    done
  done
fi
`;

/** Finds the file and its directory, and deletes temporary files left in the directory by earlier attempts with the mark $2. */
const TIDY = `
set -eu; umask 077; LC_ALL=C; export LC_ALL
file=$1
if [ -L "$file" ]; then file=$(readlink -f -- "$file"); fi
dir=$(dirname -- "$file")
${MUST_BE_ROOTS}
rm -f -- "$dir/.sealwright.$2".*.tmp
`;

/** TIDY_FILE deletes temporary files left by earlier attempts. Arguments: $1 path, $2 mark. */
export const TIDY_FILE = TIDY;

/**
 * REPLACE_FILE replaces a file with standard input. Arguments: $1 path, $2 mark, $3 expected SHA-256 or "none", $4 SHA-256 of standard input, $5 mode of a new
 * file.
 *
 * The temporary file is in the same directory, so that it inherits the directory's SELinux label and the rename is atomic. Its name begins with a dot, so that
 * no glob in AuthorizedKeysFile matches the name. Each attempt uses a separate temporary file. If the script is still running after its worker crashed, the
 * next attempt deletes the temporary file, so the old script can no longer replace the file.
 *
 * The expected hash is checked immediately before the rename. A second hard link to the old file is used to detect later writes to the old file. An appended
 * line is copied to the new file. After any other write, the replacement is reverted, as if the write had preceded the replacement. On a file system without
 * hard links, later writes to the old file are lost.
 */
export const REPLACE_FILE = `${TIDY}
tmp="$dir/.sealwright.$2.$$.tmp"; old="$dir/.sealwright.$2.$$.old.tmp"
trap 'rm -f -- "$tmp"' EXIT HUP INT TERM
set -C; cat > "$tmp"; set +C
hash() { h=$(sha256sum < "$1"); printf '%s' "\${h%% *}"; }
[ "$(hash "$tmp")" = "$4" ] || { echo 'the file was not transferred completely' >&2; exit 75; }
if [ -e "$file" ]; then
  chmod "$(stat -c %a -- "$file")" "$tmp"
  want=$(stat -c %u:%g -- "$file"); [ "$(stat -c %u:%g -- "$tmp")" = "$want" ] || chown "$want" "$tmp"
  if command -v getfacl >/dev/null 2>&1; then getfacl -p -- "$file" 2>/dev/null | setfacl --set-file=- -- "$tmp" 2>/dev/null || :; fi
  if command -v getfattr >/dev/null 2>&1 && command -v setfattr >/dev/null 2>&1; then
    getfattr -d -m '^user\\.' --absolute-names -- "$file" 2>/dev/null | sed "s|^# file: .*|# file: $tmp|" | setfattr --restore=- 2>/dev/null || :
  fi
else
  chmod "$5" "$tmp"
fi
sync "$tmp" 2>/dev/null || sync
changed() { echo "the file was changed $1" >&2; exit 76; }
size=0; have=none
if [ -e "$file" ]; then
  ln -- "$file" "$old" 2>/dev/null || :
  size=$(stat -c %s -- "$file"); have=$(hash "$file")
fi
[ "$have" = "$3" ] || { rm -f -- "$old"; changed 'during the update'; }
mv -f -T -- "$tmp" "$file"
sync "$dir" 2>/dev/null || sync
if command -v restorecon >/dev/null 2>&1; then restorecon -F -- "$file" >/dev/null 2>&1 || :; fi
if [ -e "$old" ] && [ "$(hash "$old")" != "$3" ]; then
  begin=$(head -c "$size" "$old" | sha256sum)
  if [ "\${begin%% *}" = "$3" ] && tail -c "+$((size + 1))" "$old" >> "$file"; then rm -f -- "$old"; exit 0; fi
  mv -f -T -- "$old" "$file"
  changed 'while it was replaced'
fi
rm -f -- "$old"
[ "$(hash "$file")" = "$4" ] || changed 'by another program right after the update'
`;
