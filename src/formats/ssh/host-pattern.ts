/**
 * matchesHostPattern reports whether a name matches an OpenSSH pattern (ssh_config(5), PATTERNS). `*` matches any characters, including dots, and `?` matches
 * one character. Matching is case-sensitive. The running time is bounded by the product of both lengths.
 */
export function matchesHostPattern(pattern: string, name: string): boolean {
  let [at, inName, star, restart] = [0, 0, -1, 0];
  while (inName < name.length) {
    const one = pattern[at];
    if (one !== '*' && (one === '?' || one === name[inName])) [at, inName] = [at + 1, inName + 1];
    else if (one === '*') [star, restart, at] = [at, inName, at + 1];
    else if (star === -1) return false;
    else [at, inName, restart] = [star + 1, restart + 1, restart + 1];
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}

/** namesHost reports whether a pattern restricts host names. A pattern without letters and digits (`*`, `*.*`) does not restrict host names. */
export function namesHost(pattern: string): boolean {
  return /[\p{L}\p{N}]/u.test(pattern);
}
