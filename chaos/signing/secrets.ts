import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Cluster } from './cluster.js';
import type { Environment } from './environment.js';
import { allPids, procFile } from './processes.js';

interface Needle {
  readonly secret: string;
  readonly encoding: string;
  readonly text: string;
}

/** Searches text for secrets in all common encodings. */
export class SecretSearch {
  readonly leaks = new Set<string>();
  /** Number of characters searched, keyed by the name of the sink. */
  readonly searched = new Map<string, number>();
  private needles: Needle[] = [];

  add(secret: string, value: string): void {
    this.needles.push(...encodingsOf(value).map(([encoding, text]) => ({ secret, encoding, text })));
  }

  /** @param allowed secrets that may be in the text */
  search(sink: string, where: string, text: string, allowed: readonly string[] = []): void {
    this.searched.set(sink, (this.searched.get(sink) ?? 0) + text.length);
    for (const needle of this.needles) {
      if (allowed.includes(needle.secret) || !text.includes(needle.text)) continue;
      this.leaks.add(`${needle.secret} (${needle.encoding}) in ${sink}: ${where}`);
    }
  }

  /** Searches the arguments of all processes on the machine, and the environment of the key processes, which must not contain any secret. */
  searchProcesses(cluster: Cluster): void {
    for (const pid of allPids()) {
      this.search('process arguments', `${pid}`, procFile(pid, 'cmdline') ?? '');
    }
    for (const slot of cluster.slots) {
      const { keyProcess } = slot;
      if (keyProcess === undefined) continue;
      const environment = procFile(keyProcess, 'environ') ?? '';
      // Between fork and the exec of env(1), the key process still has its parent's environment.
      if (!procFile(keyProcess, 'cmdline')?.includes('key-process') || environment.includes('SVC_')) continue;
      this.search('environment of key processes', slot.name, environment);
    }
  }

  async searchRedis(environment: Environment): Promise<void> {
    await environment.onRedis(async (redis) => {
      for (const key of await redis.keys('*')) {
        this.search('Redis', key, key + (await contentOf(redis, key)));
      }
    });
  }

  searchFiles(sink: string, files: readonly string[]): void {
    for (const file of files) this.search(sink, file.split('/').at(-1) ?? file, readFileSync(file, 'utf8'));
  }

  async searchDatabase(environment: Environment): Promise<void> {
    const tables = await environment.sql<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
       WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`,
    );
    for (const { name } of tables) {
      const rows = await environment.sql<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
      this.search('database', name, rows.map(({ text }) => text).join('\n'));
    }
  }

  get summary(): string {
    const sinks = [...this.searched].map(([sink, size]) => `${sink} ${(size / 1000).toFixed(0)} kB`);
    return `${this.needles.length} forms searched in ${sinks.join(', ')}`;
  }
}

/** Returns the encodings of a secret: plain, hexadecimal, URL-encoded, and base64 at each of the three offsets. */
function encodingsOf(value: string): [encoding: string, text: string][] {
  const bytes = Buffer.from(value);
  const base64 = [0, 1, 2].map((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const whole = Math.floor((padded.length * 8) / 6);
    return padded.toString('base64').slice(offset === 0 ? 0 : offset + 1, whole);
  });
  const forms: [string, string][] = [
    ['plain', value],
    ['hex', bytes.toString('hex')],
    ['hex', bytes.toString('hex').toUpperCase()],
    ['URL-encoded', encodeURIComponent(value)],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    ...base64.map((text): [string, string] => ['base64', text]),
    ...base64.map((text): [string, string] => ['base64url', text.replaceAll('+', '-').replaceAll('/', '_')]),
  ];
  return [...new Map(forms.map(([encoding, text]) => [text, encoding]))].map(([text, encoding]) => [encoding, text]);
}

async function contentOf(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return (await redis.get(key)) ?? '';
    case 'hash':
      return JSON.stringify(await redis.hgetall(key));
    case 'list':
      return JSON.stringify(await redis.lrange(key, 0, -1));
    case 'set':
      return JSON.stringify(await redis.smembers(key));
    case 'zset':
      return JSON.stringify(await redis.zrange(key, 0, -1));
    case 'stream':
      return JSON.stringify(await redis.xrange(key, '-', '+'));
    case 'none': // the key was deleted after it was listed
      return '';
    default:
      throw new Error(`a Redis key of type ${type} cannot be searched`);
  }
}
