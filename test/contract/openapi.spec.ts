import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { shippedDocument } from '../support/api-document.js';
import { runToEnd } from '../support/service.js';

const ROOT = join(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'sealwright-openapi-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function lint(file: string): { errors: number; output: string } {
  const redocly = join(ROOT, 'node_modules/.bin/redocly');
  const { stdout, stderr } = spawnSync(
    redocly,
    ['lint', file, '--config', join(ROOT, 'redocly.yaml'), '--format=json'],
    {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  return { errors: JSON.parse(stdout).totals.errors, output: stdout + stderr };
}

describe('docs/openapi.json', () => {
  it('matches the output of this build', async () => {
    const out = join(directory, 'openapi.json');
    await runToEnd(['openapi', '--out', out], {});
    expect(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')).toBe(readFileSync(out, 'utf8'));
  });

  it('has no errors, and the linter would find one', () => {
    expect(lint(join(ROOT, 'docs/openapi.json')).errors).toBe(0);
    const broken = shippedDocument();
    broken.components.schemas.CreateSigningKeyBody.properties.type.example = 'rsa-1024';
    delete broken.paths['/api/v1/sign/digest'].post.operationId;
    const file = join(directory, 'broken.json');
    writeFileSync(file, JSON.stringify(broken));
    expect(lint(file).errors).toBe(2);
  });
});
