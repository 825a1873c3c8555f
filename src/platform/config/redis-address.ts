import { type HostAndPort, readHostAndPort } from '../../formats/encoding/host-port.js';
import { readUserInfo, type UserInfo } from './user-info.js';

/** RedisAddress is a parsed Redis URL. */
export interface RedisAddress extends UserInfo {
  /** One server, or the sentinels that monitor the master. */
  readonly hosts: readonly [HostAndPort, ...HostAndPort[]];
  /** Name of the master monitored by the sentinels; undefined without sentinels. */
  readonly master: string | undefined;
  readonly isEncrypted: boolean;
  readonly sentinelPassword: string;
  readonly database: number;
}

const URL_SHAPE = /^(rediss?)(\+sentinel)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const EXPECTED =
  'must be redis://HOST:PORT, rediss:// for TLS, or redis+sentinel://HOST1:PORT,HOST2:PORT/MASTER (rediss+sentinel:// for TLS)';

/** readRedisUrl parses a Redis URL. Returns an error message if the URL is invalid. The message does not quote the URL, which may contain a password. */
export function readRedisUrl(text: string): RedisAddress | string {
  const match = URL_SHAPE.exec(text);
  if (match === null) return EXPECTED;
  const [, scheme, sentinel, login = '', authority = '', path = '', query = ''] = match;
  const hosts = hostsIn(authority, sentinel !== undefined);
  const place = placeIn(path, sentinel !== undefined);
  const person = readUserInfo(login);
  if (hosts === undefined || place === undefined || person === undefined) return EXPECTED;
  const sentinelPassword = new URLSearchParams(query).get('sentinelPassword') ?? '';
  return { hosts, ...place, ...person, isEncrypted: scheme === 'rediss', sentinelPassword };
}

function hostsIn(authority: string, isSentinel: boolean): RedisAddress['hosts'] | undefined {
  const hosts = authority.split(',').map((part) => readHostAndPort(part, isSentinel ? SENTINEL_PORT : REDIS_PORT));
  const [first, ...others] = hosts;
  if (first === undefined || hosts.includes(undefined) || (!isSentinel && others.length > 0)) return undefined;
  return [first, ...(others as HostAndPort[])];
}

/** Parses the path: `MASTER/DB` for sentinels, `DB` for a server. */
function placeIn(path: string, isSentinel: boolean): Pick<RedisAddress, 'master' | 'database'> | undefined {
  const parts = path.split('/');
  const master = isSentinel ? parts.shift() : undefined;
  const database = parts.shift() ?? '';
  if (master === '' || parts.length > 0 || !/^\d{0,4}$/.test(database)) return undefined;
  return { master, database: Number(database) };
}
