import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Config } from './config.js';
import { SETTINGS } from './settings.js';

const SECRET = 'a-secret-of-the-test-that-is-long-enough';
let directory: string;
const file = (name: string, content: string) => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sealwright-settings-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('a setting in a file', () => {
  it('contains the file content without its trailing line break', () => {
    const config = new Config({ SVC_JWT_SECRET_FILE: file('secret', `${SECRET}\n`) });
    expect(config.jwtSecrets).toEqual([SECRET]);
  });

  it('may be any setting', () => {
    const given = (name: string, value: string) => new Config({ [`${name}_FILE`]: file('any', `${value}\n`) });
    for (const [name, { default: value }] of Object.entries(SETTINGS)) expect(() => given(name, value)).not.toThrow();
  });

  it('is rejected if the file is unreadable, or the value is given twice', () => {
    const missing = join(directory, 'none');
    expect(() => new Config({ SVC_REDIS_URL_FILE: missing })).toThrow(/SVC_REDIS_URL_FILE cannot be read.*ENOENT/);
    const twice = { SVC_SMTP_PASSWORD: 'one', SVC_SMTP_PASSWORD_FILE: file('two', 'two') };
    expect(() => new Config(twice)).toThrow('SVC_SMTP_PASSWORD and SVC_SMTP_PASSWORD_FILE are both set');
  });

  it('is rejected if empty where a default would apply, because the secret is missing', () => {
    for (const name of ['SVC_JWT_SECRET', 'SVC_DATABASE_URL', 'SVC_REDIS_URL'])
      expect(() => new Config({ [`${name}_FILE`]: file('empty', '\n') })).toThrow(
        `${name}_FILE refers to an empty file`,
      );
    expect(() => new Config({ SVC_JWT_SECRET_PREVIOUS_FILE: file('empty', '\n') })).not.toThrow();
  });

  it('for a password is read again at each use, and keeps its last value if the file disappears', () => {
    const path = file('password', 'first');
    const config = new Config({ SVC_SMTP_PASSWORD_FILE: path, SVC_DATABASE_PASSWORD_FILE: path });
    expect([config.smtpPassword, config.databasePassword]).toEqual(['first', 'first']);
    writeFileSync(path, 'second\n');
    expect([config.smtpPassword, config.databasePassword]).toEqual(['second', 'second']);
    rmSync(path);
    expect([config.smtpPassword, config.databasePassword]).toEqual(['second', 'second']);
  });
});

describe('previous secrets', () => {
  it('are one per line, in order after the current secret', () => {
    const config = new Config({
      SVC_JWT_SECRET: SECRET,
      SVC_JWT_SECRET_PREVIOUS: `${SECRET}-2\n\n${SECRET} 3, with a comma\n`,
    });
    expect(config.jwtSecrets).toEqual([SECRET, `${SECRET}-2`, `${SECRET} 3, with a comma`]);
  });

  it('must be as long as the current secret', () => {
    expect(() => new Config({ SVC_JWT_SECRET_PREVIOUS: 'short' })).toThrow(
      'SVC_JWT_SECRET_PREVIOUS must have at least 32',
    );
  });
});

describe('variables that Kubernetes adds for a service whose name starts with svc', () => {
  const LINKS = {
    SVC_SERVICE_HOST: '10.0.0.7',
    SVC_SERVICE_PORT: '80',
    SVC_SERVICE_PORT_HTTP: '80',
    SVC_PORT: 'tcp://10.0.0.7:80',
    SVC_PORT_80_TCP: 'tcp://10.0.0.7:80',
    SVC_PORT_80_TCP_PROTO: 'tcp',
    SVC_PORT_80_TCP_PORT: '80',
    SVC_PORT_80_TCP_ADDR: '10.0.0.7',
    SVC_SMTP_SERVICE_HOST: '10.0.0.8',
    SVC_SMTP_PORT: 'tcp://10.0.0.8:25',
  };

  it('are not treated as settings, and do not prevent startup', () => {
    expect(new Config(LINKS)).toMatchObject({ port: 9090, smtpPort: 587 });
  });

  it('do not affect settings of the same name', () => {
    expect(new Config({ ...LINKS, SVC_PORT: '8080', SVC_SMTP_PORT: '465' })).toMatchObject({
      port: 8080,
      smtpPort: 465,
    });
  });

  it('are rejected as misspelled settings without the host variable of such a service', () => {
    expect(() => new Config({ SVC_SERVICE_PORT: '80' })).toThrow('SVC_SERVICE_PORT is not a known setting');
  });
});
