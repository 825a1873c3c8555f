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
