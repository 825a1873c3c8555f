import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Config } from './config.js';
import { envExample, SETTINGS } from './settings.js';

const text = readFileSync(join(import.meta.dirname, '../../../.env.example'), 'utf8');

describe('.env.example', () => {
  it('is what `npm run env-example` writes', () => {
    expect(text).toBe(envExample());
  });

  it('names every setting', () => {
    expect(Object.keys(SETTINGS).filter((name) => !text.includes(`${name}=`))).toEqual([]);
  });

  it('shows the defaults: taken as they are, they change nothing', () => {
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

describe('standbys to read from', () => {
  const configOf = (url: string, more: Record<string, string> = {}) =>
    new Config({ SVC_DATABASE_READ_URL: url, ...more });

  it('are none unless they are set, and may be several, none of which takes writes', () => {
    expect(new Config({}).readDatabase).toBeUndefined();
    expect(configOf('postgres://u@db2,db3:5433/d').readDatabase).toMatchObject({
      hosts: [
        { host: 'db2', port: 5432 },
        { host: 'db3', port: 5433 },
      ],
      isWritable: false,
    });
  });

  it('are refused as the primary is: a wrong address, and another machine without TLS in prod', () => {
    expect(() => configOf('db2/d')).toThrow('SVC_DATABASE_READ_URL must be a URL that starts with postgres://');
    const prod = { SVC_PROFILE: 'prod', SVC_JWT_SECRET: 'x'.repeat(40) };
    expect(() => configOf('postgres://u@db2/d', prod)).toThrow('SVC_DATABASE_READ_URL leads to another machine');
  });
});
