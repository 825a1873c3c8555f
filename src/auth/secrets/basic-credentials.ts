import { fromBase64 } from '../../formats/encoding/base64.js';

const BASIC = /^Basic +([A-Za-z0-9+/]+=*)$/i;

/**
 * The bearer credential that the password of HTTP Basic (RFC 7617) is, for clients that know no other scheme: an API key or an access token,
 * whatever the user is called. Any other header is left as it is; a password that cannot be one becomes an empty credential.
 */
export function bearerOfBasic(header: string | undefined): string | undefined {
  const [, credentials] = BASIC.exec(header ?? '') ?? [];
  if (credentials === undefined) return header;
  const text = fromBase64(credentials, 'optional')?.toString() ?? '';
  const [, password = ''] = /^[^:]*:([\x21-\x7e]+)$/.exec(text) ?? [];
  return `Bearer ${password}`;
}
