/**
 * POSIX shell, with `stat`, `sha256sum`, `readlink` and `mv` of GNU coreutils or BusyBox. Exit status 44: there is nothing at the path; 76: the file is not
 * the one that was expected; 77: root would write where others may choose; others are those of the tool that failed.
 */

/** Maximum size of a file that is hashed: no larger file is ever replaced. */
const MAX_HASHED_BYTES = 64 * 1024 * 1024;

/** Ends the script with 44 when nothing is at $1, and with the message of stat when that cannot be read. */
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
[ -f "$1" ] || { echo 'it is no regular file' >&2; exit 1; }
exec cat -- "$1"
`;

/**
 * Ends the script with 77 when an account other than root could put something else in the way to $1 or to $file, whose links are resolved: then root would
 * write where somebody else chose. sshd asks the same of such files
 * (StrictModes); in a directory like /tmp nobody can move what is root's, so it may be one further up. An account that is not root can only reach what is its own.
 */
const MUST_BE_ROOTS = `
if [ "$(id -u)" = 0 ]; then
  for at in "$1" "$file" "$(readlink -f -- "$dir")/."; do
    kind=
    while [ "$at" != / ] && [ "$at" != . ]; do
      at=$(dirname -- "$at")
      case $kind$(stat -c '%u %A' -- "$at") in
        '0 d'????-??-*|'above 0 d'????-??-*|'0 l'*|'above 0 l'*|'above 0 d'????????[tT]*) kind='above ' ;;
        *) echo "others may change $at" >&2; exit 77 ;;
      esac
    done
  done
fi
`;

/** Finds the file and its directory, and takes away what earlier attempts with the mark $2 left beside it. */
const TIDY = `
set -eu; umask 077; LC_ALL=C; export LC_ALL
file=$1
if [ -L "$file" ]; then file=$(readlink -f -- "$file"); fi
dir=$(dirname -- "$file")
${MUST_BE_ROOTS}
rm -f -- "$dir/.sealwright.$2".*.tmp
`;

/** $1 path, $2 mark. */
export const TIDY_FILE = TIDY;

/**
 * $1 path, $2 mark, $3 SHA-256 that it must have or "none", $4 SHA-256 of standard input, $5 mode of a new file. The temporary file is in the same
 * directory, so that it gets the directory's label and the rename is one step; its name begins with a dot, so that no glob of
 * AuthorizedKeysFile finds it. Each attempt has its own: one that goes on here after its worker died loses it to the next attempt,
 * and can put nothing in place any more. The expectation is checked last, right before the rename; what somebody still writes to the old
 * file after that, or has it open for, is found by a second name of the old file, and carried over: an appended line is put behind what is
 * there now, and any other change takes our file away again, as if it had come before it. Where the file system has no second names, such a
 * line is lost.
 */
export const REPLACE_FILE = `${TIDY}
tmp="$dir/.sealwright.$2.$$.tmp"; old="$dir/.sealwright.$2.$$.old.tmp"
trap 'rm -f -- "$tmp"' EXIT HUP INT TERM
set -C; cat > "$tmp"; set +C
hash() { h=$(sha256sum < "$1"); printf '%s' "\${h%% *}"; }
[ "$(hash "$tmp")" = "$4" ] || { echo 'the bytes did not arrive whole' >&2; exit 75; }
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
[ "$have" = "$3" ] || { rm -f -- "$old"; changed meanwhile; }
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
[ "$(hash "$file")" = "$4" ] || changed 'at once by somebody else'
`;
