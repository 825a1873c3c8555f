import { Redis, type RedisOptions } from 'ioredis';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Config } from '../config/config.js';

type RedisClass = new (options: RedisOptions) => Redis;

/** newRedis connects to Redis. With sentinels, connects to the current master, also after a failover. */
export function newRedis(config: Config, options: RedisOptions, Connection: RedisClass = Redis): Redis {
  const { hosts, master, isEncrypted, user, password, sentinelPassword, database } = config.redis;
  const [{ host, port }] = hosts;
  const tls = isEncrypted ? { ...(isIP(host) === 0 ? { servername: host } : {}), ...authorities(config) } : undefined;
  const login = { ...(user === '' ? {} : { username: user }), ...(password === '' ? {} : { password }) };
  const sentinels = {
    sentinels: hosts.map((sentinel) => ({ ...sentinel })),
    name: master ?? '',
    ...(sentinelPassword === '' ? {} : { sentinelPassword }),
    ...(tls === undefined
      ? {}
      : { sentinelTLS: authorities(config), enableTLSForSentinelMode: true, tls: authorities(config) }),
  };
  const server = { host, port, ...(tls === undefined ? {} : { tls }) };
  return new Connection({ ...login, db: database, ...(master === undefined ? server : sentinels), ...options });
}

function authorities({ redisCaFile }: Config): { ca?: string } {
  return redisCaFile === '' ? {} : { ca: readFileSync(redisCaFile, 'utf8') };
}
