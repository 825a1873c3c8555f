import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../support/peers.js';
import { portableExecutable } from '../support/portable-executable.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

const ROOT = join(import.meta.dirname, '../..');
/** Minimal document that yields a result. */
const CBOM = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  components: [
    { type: 'cryptographic-asset', name: 'AES-128-GCM', cryptoProperties: { assetType: 'algorithm' } },
    { type: 'library', name: 'shop', version: '1.0' },
  ],
};
const PEERS = ['curl', 'openssl', 'osslsigncode', 'jarsigner', 'sha256sum'];

let stage: Stage;
let service: Service;
let place: string;

beforeAll(async () => {
  stage = await openStage();
  const { apiKey } = await stage.seed();
  service = await stage.start();
  place = mkdtempSync(join(tmpdir(), 'sealwright-guides-'));
  furnish(apiKey);
});
afterAll(async () => {
  rmSync(place, { recursive: true, force: true });
  await stage.close();
});

/** Prepares the environment that the guides assume: the files named in the guides, `sealwright` on the PATH, and the variables written by `npm start`. */
function furnish(apiKey: string): void {
  const at = (name: string) => join(place, name);
  for (const folder of ['bin', 'home', '.data', 'dist']) mkdirSync(at(folder));
  for (const name of ['README.md', 'LICENSE', 'app.tar.gz', 'dist/one.bin', 'dist/two.bin'])
    writeFileSync(at(name), `content of ${name}`);
  writeFileSync(at('setup.exe'), portableExecutable('a program'));
  writeFileSync(at('key.txt'), apiKey);
  writeFileSync(at('.data/demo.env'), `BASE_URL=${service.url}\nAPI_KEY=${apiKey}\n`);
  program('sealwright', `exec "${process.execPath}" "${join(ROOT, 'dist/sealwright.js')}" "$@"`);
  // A rejected call ends the guide, because a reader would notice the error.
  program('curl', `PATH="$READERS_PATH" exec curl --fail-with-body "$@"`);
}

function program(name: string, line: string): void {
  const path = join(place, 'bin', name);
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
}

/** Returns the shell commands of a guide, in order. */
function commandsOf(guide: string): string {
  const text = readFileSync(join(ROOT, 'docs', guide), 'utf8');
  return [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block]) => block).join('\n');
}

/** Runs the commands and returns the combined output. Throws an error with the output if a command fails or a call is rejected. */
function follow(commands: string): Promise<string> {
  const readersPath = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = {
    HOME: join(place, 'home'),
    PATH: [join(place, 'bin'), readersPath].join(delimiter),
    READERS_PATH: readersPath,
    LC_ALL: 'C.UTF-8',
  };
  const script = `set -euo pipefail\n. .data/demo.env\n${commands}`;
  return new Promise((resolve, reject) => {
    const reader = execFile('bash', ['-c', script], { cwd: place, env, timeout: 120_000 }, (error, out, err) => {
      if (error === null) resolve(`${out}${err}`);
      else reject(new Error(`ended with ${error.code}:\n${out}\n${err}`));
    });
    reader.stdin?.end();
  });
}

describe.skipIf(!PEERS.every(has))('following a guide from start to end', () => {
  it('signs, and verifies signatures with independent tools (signing.md)', async () => {
    await follow('jar --create --file app.jar LICENSE');
    const said = await follow(commandsOf('signing.md'));
    expect(said).toContain('self-signature verify OK');
    expect(said).toContain('DISABLED');
    expect(said).toContain('CMS Verification successful');
    expect(said).toContain('jar verified.');
    expect(said).toContain('Verification: OK');
    expect(said).toContain('"signature":"vault:v1:');
  }, 150_000);

  it('uses the command line, and verifies the log and the evidence (command-line.md)', async () => {
    const first = 'curl -sS -H "Authorization: Bearer $API_KEY" "$BASE_URL/api/v1/audit/log/export" -o log.ndjson';
    const guide = commandsOf('command-line.md').replace('https://sign.example.org', service.url);
    const said = await follow(`${first}\n${guide}`);
    expect(said).toContain('valid');
  }, 150_000);

  it('requests approval and votes (approvals.md)', async () => {
    const said = await follow(commandsOf('approvals.md'));
    // The guide checks that the hash matches the document shown.
    expect(said).toMatch(/true$/m);
    expect(said.match(/"status":"SIGNED"/g)?.length).toBeGreaterThanOrEqual(3);
  }, 150_000);

  it('imports documents and key stores, and signs the export (inventory.md)', async () => {
    writeFileSync(join(place, 'cbom.json'), JSON.stringify(CBOM));
    const store = 'openssl pkcs12 -export -inkey root.key -in root.pem -out shop.p12 -passout pass:changeit';
    const login = `export SEALWRIGHT_URL="$BASE_URL" SEALWRIGHT_TOKEN="$API_KEY"`;
    const said = await follow(`${store}\n${login}\n${commandsOf('inventory.md')}`);
    expect(said).toContain('valid: RS256 by release');
  }, 150_000);

  it('receives the alert about an expiring certificate and forwards it (alerts.md)', async () => {
    const said = await follow(commandsOf('alerts.md'));
    expect(said).toContain('incident desk');
  }, 150_000);
});
