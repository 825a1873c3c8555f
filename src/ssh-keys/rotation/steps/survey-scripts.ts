import { FIND_SSHD } from '../../../platform/ssh/sshd-script.js';

/**
 * $1 account. Prints the host's clock, the passwd entry of the account, and what sshd does with its keys: the effective settings
 * for a login from where we came, asked of the sshd that let us in (found among our ancestors, with the options that it was
 * started with); else the text of the configuration. POSIX shell.
 */
export const ACCOUNT_SURVEY = `
${FIND_SSHD}
date -u +%s
getent passwd "$1" 2>/dev/null || grep "^$1:" /etc/passwd || echo
set -f
effective=$(\${line:-false} -T -C "user=$1,host=$(hostname 2>/dev/null || echo localhost),addr=$from" 2>/dev/null)
if [ -n "$effective" ]; then echo effective; printf '%s\\n' "$effective"
else
  set +f; echo configured
  cat "$config" /etc/ssh/sshd_config.d/*.conf 2>/dev/null
fi
exit 0
`;

/** $@ paths. For each one line: free KiB of its file system, whether the directory takes new files, chattr flags. */
export const SSHD_CONDITIONS = `
LC_ALL=C; export LC_ALL
for path; do
  real=$(readlink -f -- "$path") || real=$path
  dir=$(dirname -- "$real")
  free=$(df -Pk -- "$dir" 2>/dev/null | tail -n 1 | awk '{print $4}')
  [ -w "$dir" ] && takes=yes || takes=no
  flags=$(lsattr -d -- "$real" 2>/dev/null | cut -d' ' -f1)
  echo "\${free:-0} $takes \${flags:--}"
done
`;

/** $1 seconds, $2 utc or local. The time so far ahead, by the host's own clock: sshd compares expiry-time with that one. */
export const TIME_AHEAD = `
at=$(($(date -u +%s) + $1))
if [ "$2" = utc ]; then date -u -d "@$at" +%Y%m%d%H%M%SZ; else date -d "@$at" +%Y%m%d%H%M%S; fi
`;
