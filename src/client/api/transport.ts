import { isIPv4 } from 'node:net';
import { EXIT, ClientError } from './exit-codes.js';
import { trimEndOf } from '../../formats/encoding/trim-end.js';

/** Set to `yes`: credentials go over plain HTTP as well, for a network where nobody else listens. */
export const ALLOW_HTTP = 'SEALWRIGHT_ALLOW_HTTP';

/**
 * An address of the service, without the slash at its end.
 *
 * @throws ClientError when it is no http(s) address, or plain HTTP to another machine: everybody on the way would read the credential.
 */
export function serviceAddress(text: string, allowsHttp: boolean): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new ClientError(EXIT.usage, `"${text}" is no http(s) address of the service.`);
  if (url.username !== '' || url.password !== '')
    throw new ClientError(EXIT.usage, 'The address holds a name or a password: leave them out, and log in.');
  if (url.protocol === 'http:' && !isThisMachine(url.hostname) && !allowsHttp)
    throw new ClientError(
      EXIT.usage,
      `${url.origin} is plain HTTP to another machine: your credential could be read on the way. Use https://, or set ${ALLOW_HTTP}=yes where nobody else can listen.`,
    );
  return trimEndOf(text.trim(), '/');
}

/** 127.0.0.0/8, ::1, and the names of RFC 6761 section 6.3. */
function isThisMachine(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost') || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}
