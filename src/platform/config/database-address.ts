import { isLoopback } from '../../formats/encoding/ip-address.js';
import { type HostAndPort, readHostAndPort } from '../../formats/encoding/host-port.js';
import { percentDecoded, readUserInfo, type UserInfo } from './user-info.js';

/** DatabaseAddress is a parsed PostgreSQL connection URI (libpq, "Connection URIs"). */
export interface DatabaseAddress extends UserInfo {
  /** Hosts in the order in which they are tried: names, addresses, or directories of Unix sockets. */
  readonly hosts: readonly [HostAndPort, ...HostAndPort[]];
  readonly database: string;
  /** `target_session_attrs`: whether read-only servers are skipped. */
  readonly isWritable: boolean;
  /** `sslmode`: TLS with certificate verification, or no TLS. */
  readonly isEncrypted: boolean;
  /** Files to which `sslrootcert`, `sslcert` and `sslkey` refer. */
  readonly files: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** All other parameters, passed to the driver. */
  readonly parameters: Readonly<Record<string, string>>;
}

const URI = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const DEFAULT_PORT = 5432;
const PLAIN = ['', 'disable'];
/**
 * Values of `sslmode` that verify the certificate. `require` also verifies the certificate, because an unverified certificate does not protect against
 * impersonation.
 */
const VERIFIED = ['require', 'verify-ca', 'verify-full'];
const ANY = ['', 'any'];
const WRITABLE = ['read-write', 'primary'];

/**
 * readDatabaseUrl parses a connection URI with one or more hosts. Returns an error message if the URI is invalid. The message does not quote the URI, which
 * may contain a password.
 */
export function readDatabaseUrl(text: string): DatabaseAddress | string {
  const match = URI.exec(text);
  if (match === null) return 'must be a URL with the scheme postgres:// or postgresql://';
  const [, login = '', authority = '', path = '', query = ''] = match;
  const parameters = Object.fromEntries(new URLSearchParams(query));
  const { sslmode = '', target_session_attrs: attributes = '' } = parameters;
  const hosts = hostsIn({ host: authority, ...parameters });
  if (hosts === undefined) return 'must contain one or more hosts, such as db1.example.com:5432,db2.example.com';
  if (![...PLAIN, ...VERIFIED].includes(sslmode)) return 'must use sslmode=disable or sslmode=verify-full';
  if (![...ANY, ...WRITABLE].includes(attributes)) return 'must use target_session_attrs=any or read-write';
  const person = readUserInfo(login);
  const database = percentDecoded(path);
  if (person === undefined || database === undefined)
    return 'contains a % that is not followed by two hexadecimal digits';
  return {
    ...person,
    database,
    hosts,
    isWritable: WRITABLE.includes(attributes) || (hosts.length > 1 && attributes === ''),
    isEncrypted: VERIFIED.includes(sslmode),
    files: filesIn(parameters),
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => !OWN.has(name))),
  };
}

/** isLocal returns true if connections to all hosts stay on this machine. */
export function isLocal({ hosts }: DatabaseAddress): boolean {
  return hosts.every(({ host }) => host.startsWith('/') || isLoopback(host));
}

const OWN = new Set(['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'target_session_attrs', 'host', 'port']);

function filesIn({ sslrootcert, sslcert, sslkey }: Readonly<Record<string, string>>): DatabaseAddress['files'] {
  return {
    ...(sslrootcert === undefined ? {} : { ca: sslrootcert }),
    ...(sslcert === undefined ? {} : { cert: sslcert }),
    ...(sslkey === undefined ? {} : { key: sslkey }),
  };
}

/** Directory of a Unix socket: verbatim in `host=`, percent-encoded in the authority of the URL. */
const SOCKET = /^(\/[^:]*|%2f[^:]*)(:\d{1,5})?$/i;

function hostIn(text: string, usualPort: number): HostAndPort | undefined {
  const [, socket, port = ''] = SOCKET.exec(text) ?? [];
  if (socket !== undefined) {
    const place = readHostAndPort(`localhost${port}`, usualPort);
    return place && { ...place, host: socket.replaceAll(/%2f/gi, '/') };
  }
  // An empty host name means this machine.
  return readHostAndPort(text === '' || text.startsWith(':') ? `localhost${text}` : text, usualPort);
}

/** Returns the hosts. `port` lists one port for each host, or one port for all hosts, and applies to hosts without a port (libpq). */
function hostsIn({ host, port = '' }: { host: string; port?: string }): DatabaseAddress['hosts'] | undefined {
  const ports = port.split(',').map((text) => (text === '' ? DEFAULT_PORT : /^\d+$/.test(text) ? Number(text) : NaN));
  const hosts = host.split(',').map((part, index) => hostIn(part, ports[index] ?? ports[0] ?? DEFAULT_PORT));
  const [first, ...others] = hosts;
  if (first === undefined || hosts.includes(undefined)) return undefined;
  return [first, ...(others as HostAndPort[])];
}
