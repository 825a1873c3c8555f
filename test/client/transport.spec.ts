import { afterEach, describe, expect, it, vi } from 'vitest';
import { readEnvironment, serviceAddress } from '../../src/client/api/transport.js';

describe('a service URL', () => {
  it.each([
    ['https://sealwright.example.com/', 'https://sealwright.example.com'],
    ['http://localhost:9090', 'http://localhost:9090'],
    ['http://127.0.0.1:9090//', 'http://127.0.0.1:9090'],
    ['http://[::1]:9090', 'http://[::1]:9090'],
    ['http://sw.localhost', 'http://sw.localhost'],
  ])('accepts %s for credentials', (text, expected) => expect(serviceAddress(text, false)).toBe(expected));

  it.each([
    'http://sealwright.example.com',
    'HTTP://192.0.2.1:9090',
    'http://127.0.0.1.attacker.example',
    'http://localhost.attacker.example',
    'http://[::ffff:192.0.2.1]:9090',
  ])('accepts %s only with explicit permission', (text) => {
    expect(() => serviceAddress(text, false)).toThrow(/https:\/\/, or set SEALWRIGHT_ALLOW_HTTP=yes/);
    expect(serviceAddress(text, true)).toBe(text);
  });

  it.each(['ftp://sw.example', 'sw.example', 'https://ann:word@sw.example'])('rejects %s', (text) => {
    expect(() => serviceAddress(text, true)).toThrow(/ URL/);
  });
});

describe('the client environment', () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each(['sw_a_b\n', 'sw_a_b\r\n', '\uFEFFsw_a_b', '  sw_a_b '])(
    'trims white space around the token from a file: %j',
    (text) => {
      vi.stubEnv('SEALWRIGHT_TOKEN', text);
      vi.stubEnv('SEALWRIGHT_URL', `https://sw.example\r\n`);
      expect(readEnvironment()).toMatchObject({ token: 'sw_a_b', url: 'https://sw.example' });
    },
  );
});
