import { isIP } from 'node:net';
import { usageError } from '../../api/exit-codes.js';

export interface Endpoint {
  readonly kind: 'tls' | 'ssh';
  readonly host: string;
  readonly port: number;
  /** `tls://host:port` or `ssh://host:port`, which is also the location of findings at the endpoint. */
  readonly name: string;
}

/**
 * Parses `tls://host:port`, `ssh://host`, or `host:port`. In `host:port`, port 22 means SSH and any other port means TLS.
 *
 * @throws ClientError for any other text
 */
export function endpointOf(text: string): Endpoint {
  const [, scheme, host, port] =
    /^(?:(tls|ssh|https):\/\/)?(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  const kind = scheme === 'ssh' || (scheme === undefined && port === '22') ? 'ssh' : 'tls';
  const number = Number(port ?? (kind === 'ssh' ? 22 : 443));
  if (host === undefined || (scheme === undefined && port === undefined) || number < 1 || number > 65_535)
    throw usageError(`"${text}" is not an endpoint. Use tls://HOST[:PORT], ssh://HOST[:PORT] or HOST:PORT.`);
  return { kind, host: host.replaceAll(/[[\]]/g, ''), port: number, name: `${kind}://${host}:${number}` };
}

/** Reports whether an argument is an endpoint, which has a scheme or a port. Any other argument is a path. */
export function isEndpoint(text: string): boolean {
  return /^(?:tls|ssh|https):\/\//.test(text) || /^(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(text);
}

/** Returns the TLS server name, or undefined for an IP address, which cannot be a server name (RFC 6066 section 3). */
export function serverName({ host }: Endpoint): string | undefined {
  return isIP(host) === 0 ? host : undefined;
}
