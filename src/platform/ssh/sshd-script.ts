/**
 * POSIX shell. Puts the command line of the sshd that let us in into `$line`, with the options that it was started with (found among
 * our ancestors, else the one of the path), the address that we came from into `$from`, and its configuration file into `$config`.
 */
export const FIND_SSHD = `
LC_ALL=C; export LC_ALL; PATH="$PATH:/usr/sbin:/usr/local/sbin:/sbin"; export PATH
from=\${SSH_CONNECTION%% *}; from=\${from:-127.0.0.1}
line=; at=$$
while [ "$at" -gt 1 ] 2>/dev/null && [ -r "/proc/$at/cmdline" ]; do
  line=$(tr '\\0' ' ' < "/proc/$at/cmdline")
  case $line in 'sshd: '*'[listener]'*) break;; esac
  line=; at=$(sed 's/.*) //' "/proc/$at/stat" | cut -d' ' -f2)
done
line=\${line#sshd: }; line=\${line%%'[listener]'*}
[ -n "$line" ] || line=$(command -v sshd)
config=/etc/ssh/sshd_config; take=
for word in $line; do [ -n "$take" ] && config=$word; take=; [ "$word" = -f ] && take=yes; done
`;
