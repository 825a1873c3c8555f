import { isLoopback } from '../../formats/addresses/address.js';

interface DatabaseHost {
  /** A name, an address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

/** A connection URI of PostgreSQL (libpq, "Connection URIs"), read once. */
export interface DatabaseAddress {
  /** In the order in which they are tried. */
  readonly hosts: readonly [DatabaseHost, ...DatabaseHost[]];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** `target_session_attrs`: whether a server that takes no writes is passed over. */
  readonly isWritable: boolean;
  /** `sslmode`: TLS with a verified certificate, or none. */
  readonly isEncrypted: boolean;
  /** Files of `sslrootcert`, `sslcert`, `sslkey`. */
  readonly files: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** All other parameters, as the driver takes them. */
  readonly parameters: Readonly<Record<string, string>>;
}

const URI = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const HOST = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]*)(?::(\d{1,5}))?$/;
const DEFAULT_PORT = 5432;
const MAX_PORT = 65_535;
const PLAIN = ['', 'disable'];
/** `require` verifies too: a certificate that is not looked at protects from nobody who can answer in the server's place. */
const VERIFIED = ['require', 'verify-ca', 'verify-full'];
const ANY = ['', 'any'];
const WRITABLE = ['read-write', 'primary'];

/** Reads a connection URI with one host or several. Answers what is wrong with it, without quoting it: it may hold a password. */
export function readDatabaseUrl(text: string): DatabaseAddress | string {
  const match = URI.exec(text);
  if (match === null) return 'must be a URL that starts with postgres:// or postgresql://';
  const [, login = '', authority = '', path = '', query = ''] = match;
  const parameters = Object.fromEntries(new URLSearchParams(query));
  const { sslmode = '', target_session_attrs: attributes = '' } = parameters;
  const hosts = hostsIn({ host: authority, ...parameters });
  if (hosts === undefined) return 'must name hosts like db1.example.com:5432,db2.example.com';
  if (![...PLAIN, ...VERIFIED].includes(sslmode)) return 'must have sslmode=disable or sslmode=verify-full';
  if (![...ANY, ...WRITABLE].includes(attributes)) return 'must have target_session_attrs=any or read-write';
  const person = personIn(login, path);
  if (person === undefined) return 'has a % that is not followed by two hexadecimal digits';
  return {
    ...person,
    hosts,
    isWritable: WRITABLE.includes(attributes) || (hosts.length > 1 && attributes === ''),
    isEncrypted: VERIFIED.includes(sslmode),
    files: filesIn(parameters),
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => !OWN.has(name))),
  };
}

/** Whether everything between this process and the server stays on this machine. */
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

/** The directory of a Unix socket: as it is in `host=`, percent-encoded before the path of the URL. */
const SOCKET = /^(\/[^:]*|%2f[^:]*)(?::(\d{1,5}))?$/i;

function hostIn(text: string, usual: string): DatabaseHost | undefined {
  const [, name = '', port = usual] = SOCKET.exec(text) ?? HOST.exec(text) ?? [];
  const isOne = SOCKET.test(text) || HOST.test(text);
  if (!isOne || !/^\d{1,5}$/.test(port) || Number(port) > MAX_PORT) return undefined;
  if (SOCKET.test(text)) return { host: name.replaceAll(/%2f/gi, '/'), port: Number(port) };
  return { host: name === '' ? 'localhost' : name.replaceAll(/[[\]]/g, ''), port: Number(port) };
}

/** `port`: of the hosts that name none, one for each or one for all (libpq). */
function hostsIn({ host, port = '' }: { host: string; port?: string }): DatabaseAddress['hosts'] | undefined {
  const ports = port.split(',');
  const usual = (index: number) => (ports[index] ?? ports[0] ?? '') || String(DEFAULT_PORT);
  const hosts = host.split(',').map((part, index) => hostIn(part, usual(index)));
  const [first, ...others] = hosts;
  if (first === undefined || hosts.includes(undefined)) return undefined;
  return [first, ...(others as DatabaseHost[])];
}

function personIn(login: string, path: string): Pick<DatabaseAddress, 'user' | 'password' | 'database'> | undefined {
  const [user = '', ...password] = login.split(':');
  try {
    return {
      user: decodeURIComponent(user),
      password: decodeURIComponent(password.join(':')),
      database: decodeURIComponent(path),
    };
  } catch {
    return undefined;
  }
}
