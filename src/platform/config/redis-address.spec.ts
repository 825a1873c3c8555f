import { describe, expect, it } from 'vitest';
import { readRedisUrl } from './redis-address.js';

describe('a Redis URL', () => {
  it('may name a single server', () => {
    expect(readRedisUrl('redis://:p%40ss@redis.example.com:6380/2')).toEqual({
      hosts: [{ host: 'redis.example.com', port: 6380 }],
      master: undefined,
      isEncrypted: false,
      user: '',
      password: 'p@ss',
      sentinelPassword: '',
      database: 2,
    });
    expect(readRedisUrl('rediss://[2001:db8::1]')).toMatchObject({
      hosts: [{ host: '2001:db8::1', port: 6379 }],
      isEncrypted: true,
      database: 0,
    });
  });

  it('may name sentinels and the master they monitor', () => {
    expect(readRedisUrl('rediss+sentinel://seal:secret@s1,s2:26380/main/1?sentinelPassword=other')).toEqual({
      hosts: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 26_380 },
      ],
      master: 'main',
      isEncrypted: true,
      user: 'seal',
      password: 'secret',
      sentinelPassword: 'other',
      database: 1,
    });
  });

  it.each([
    'http://redis',
    'redis://one,two',
    'redis+sentinel://s1',
    'redis://host:70000',
    'redis://host/three',
    'redis://:%zz@host',
    'redis://',
  ])('is rejected: %s', (text) => {
    expect(readRedisUrl(text)).toContain('must be redis://HOST:PORT');
  });
});
