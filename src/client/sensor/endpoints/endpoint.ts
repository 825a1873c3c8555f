import { isIP } from 'node:net';
import { usageError } from '../../api/exit-codes.js';

export interface Endpoint {
  readonly kind: 'tls' | 'ssh';
  readonly host: string;
  readonly port: number;
  /** `tls://host:port`, also the location of what is found there. */
  readonly name: string;
}

/** `tls://host:port`, `ssh://host`, or `host:port`: port 22 speaks SSH, others TLS. ClientError for another text. */
export function endpointOf(text: string): Endpoint {
  const [, scheme, host, port] =
    /^(?:(tls|ssh|https):\/\/)?(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  const kind = scheme === 'ssh' || (scheme === undefined && port === '22') ? 'ssh' : 'tls';
  const number = Number(port ?? (kind === 'ssh' ? 22 : 443));
  if (host === undefined || (scheme === undefined && port === undefined) || number < 1 || number > 65_535)
    throw usageError(`${text} is not an endpoint: tls://HOST[:PORT], ssh://HOST[:PORT] or HOST:PORT.`);
  return { kind, host: host.replaceAll(/[[\]]/g, ''), port: number, name: `${kind}://${host}:${number}` };
}

/** An argument with a scheme or a port is an endpoint, anything else a path. */
export function isEndpoint(text: string): boolean {
  return /^(?:tls|ssh|https):\/\//.test(text) || /^(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(text);
}

/** Server names of TLS are names, never addresses (RFC 6066 section 3). */
export function serverName({ host }: Endpoint): string | undefined {
  return isIP(host) === 0 ? host : undefined;
}
