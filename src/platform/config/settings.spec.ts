import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Config } from './config.js';
import { envExample, SETTINGS } from './settings.js';

const text = readFileSync(join(import.meta.dirname, '../../../.env.example'), 'utf8');

describe('.env.example', () => {
  it('matches the output of `npm run env-example`', () => {
    expect(text).toBe(envExample());
  });

  it('contains every setting', () => {
    expect(Object.keys(SETTINGS).filter((name) => !text.includes(`${name}=`))).toEqual([]);
  });

  it('contains the defaults: used unchanged, it has no effect', () => {
    const everySetting = parseEnv(text.replaceAll(/^#(?=(?:SVC|OTEL)_)/gm, ''));
    expect(Object.keys(everySetting).sort()).toEqual(Object.keys(SETTINGS).sort());
    expect(valuesOf(new Config(everySetting))).toEqual(valuesOf(new Config({})));
  });
});

function valuesOf(config: Config): object {
  const values = JSON.parse(JSON.stringify(config));
  delete values.files;
  return values;
}

describe('the public URL', () => {
  const addressOf = (url: string) => new Config({ SVC_PUBLIC_URL: url }).publicUrl;

  it('is normalized so that paths can be appended', () => {
    for (const url of ['https://sign.example.org', 'https://sign.example.org/', 'https://sign.example.org//'])
      expect(addressOf(url)).toBe('https://sign.example.org');
    expect(addressOf(' HTTPS://Sign.example.org:443/')).toBe('https://sign.example.org');
    expect(addressOf('http://[2001:db8::1]:9090/')).toBe('http://[2001:db8::1]:9090');
    expect(addressOf('https://example.org/sign/')).toBe('https://example.org/sign');
  });

  it.each(['sign.example.org', 'ftp://x', 'https://x/?a', 'https://x/#/', 'https://a:b@x', 'https://'])(
    'rejects %s',
    (url) => expect(() => addressOf(url)).toThrow('SVC_PUBLIC_URL must be an HTTP(S) URL'),
  );
});

describe('read standbys', () => {
  const configOf = (url: string, more: Record<string, string> = {}) =>
    new Config({ SVC_DATABASE_READ_URL: url, ...more });

  it('are empty by default, and may be several read-only hosts', () => {
    expect(new Config({}).readDatabase).toBeUndefined();
    expect(configOf('postgres://u@db2,db3:5433/d').readDatabase).toMatchObject({
      hosts: [
        { host: 'db2', port: 5432 },
        { host: 'db3', port: 5433 },
      ],
      isWritable: false,
    });
  });

  it('are validated like the primary: a malformed URL and a remote host without TLS in prod are rejected', () => {
    expect(() => configOf('db2/d')).toThrow('SVC_DATABASE_READ_URL must be a URL with the scheme postgres://');
    const prod = { SVC_PROFILE: 'prod', SVC_JWT_SECRET: 'x'.repeat(40) };
    expect(() => configOf('postgres://u@db2/d', prod)).toThrow('SVC_DATABASE_READ_URL connects to another machine');
  });
});

describe('a malformed setting is rejected by name at startup', () => {
  it.each([
    ['SVC_TRUST_PROXY', 'true'],
    ['SVC_TRUST_PROXY', '10.0.0.0/8,proxy.internal'],
    ['SVC_DNS_SERVERS', 'dns.example.com'],
    ['SVC_DNS_SERVERS', '192.0.2.1:99999'],
    ['SVC_TSA_NTP_SERVERS', 'http://ntp.example.com'],
    ['SVC_TSA_NTP_SERVERS', 'ntp.example.com,2001:db8::1:ntp'],
    ['SVC_DATABASE_CA_FILE', '/no/such/file.pem'],
  ])('%s=%s', (name, value) => {
    expect(() => new Config({ [name]: value })).toThrow(`${name} `);
  });

  it('but valid settings are accepted', () => {
    const given = {
      SVC_TRUST_PROXY: '10.0.0.0/8, 2001:db8::/32, 192.0.2.7',
      SVC_DNS_SERVERS: '192.0.2.1, 192.0.2.1:5353, 2001:db8::1, [2001:db8::1]:5353',
      SVC_TSA_NTP_SERVERS: 'ntp.example.com, ntp.example.com:1123, 2001:db8::1, [2001:db8::1]:1123',
    };
    expect(() => new Config(given)).not.toThrow();
  });

  it('including SVC_ALERT_EMAIL_TO if alerts are mailed and no mail can be sent to it', () => {
    const configOf = (to: string, enabled = 'true') =>
      new Config({ SVC_ALERT_EMAIL_ENABLED: enabled, SVC_ALERT_EMAIL_TO: to });
    const good = 'security@example.com, Key Team <keys@example.com>';
    expect(configOf(good).alertEmailTo).toEqual(['security@example.com', 'Key Team <keys@example.com>']);
    for (const wrong of ['security', 'a@example.com; b@example.com', 'Key Team keys@example.com', 'a@example.com, <b>'])
      expect(() => configOf(wrong)).toThrow('SVC_ALERT_EMAIL_TO must consist of comma-separated email addresses');
    expect(configOf('security', 'false').alertEmailTo).toEqual([]);
  });

  it('including SVC_PKCS11_PIN, with the setting to use instead', () => {
    expect(() => new Config({ SVC_PKCS11_PIN: '123456' })).toThrow(
      'use SVC_PKCS11_PIN_FILE, which is the path of a file',
    );
  });

  it('including Redis certificates without TLS, because nothing would be encrypted', () => {
    const directory = mkdtempSync(join(tmpdir(), 'sealwright-ca-'));
    const SVC_REDIS_CA_FILE = join(directory, 'ca.pem');
    writeFileSync(SVC_REDIS_CA_FILE, '-----BEGIN CERTIFICATE-----\n');
    const configOf = (SVC_REDIS_URL: string) => new Config({ SVC_REDIS_CA_FILE, SVC_REDIS_URL });
    expect(() => configOf('redis://cache.example.com')).toThrow(
      'SVC_REDIS_CA_FILE requires a SVC_REDIS_URL with rediss://',
    );
    expect(() => configOf('rediss://cache.example.com')).not.toThrow();
    writeFileSync(SVC_REDIS_CA_FILE, 'nothing');
    expect(() => configOf('rediss://cache.example.com')).toThrow(
      'SVC_REDIS_CA_FILE refers to a file without PEM certificates',
    );
    rmSync(directory, { recursive: true });
  });
});
