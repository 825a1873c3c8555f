/** witnessAddressFault returns why a witness address is invalid; undefined for an HTTPS URL or a file path. */
export function witnessAddressFault(witness: string): string | undefined {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(witness)) return undefined;
  const url = URL.canParse(witness) ? new URL(witness) : undefined;
  const isLocal = url?.hostname === '127.0.0.1' || url?.hostname === '[::1]' || url?.hostname === 'localhost';
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return undefined;
  return `must be the path of a file or an https:// URL, not "${witness}"`;
}
