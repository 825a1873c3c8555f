import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCredentialFile } from '../../src/inventory/intake/key-files/credential-reader.js';
import type { CdxComponent } from '../../src/inventory/model/document.js';
import { DraftRefs } from '../../src/inventory/model/draft-refs.js';
import { Problem } from '../../src/platform/errors/problem.js';

export const PASSWORD = 'changeit';

/** Directory of files created by third-party programs, with methods that return what the inventory reads from the files. */
export class KeyFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'sealwright-keys-'));

  /** Creates a key and a certificate: `ec.pem`, `shop.pem`. */
  constructor() {
    this.run('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-out', 'ec.pem']);
    this.run('openssl', [
      'req',
      '-x509',
      '-key',
      'ec.pem',
      '-subj',
      '/CN=shop.example',
      '-days',
      '30',
      '-out',
      'shop.pem',
    ]);
  }

  run(program: string, words: readonly string[], env: Record<string, string> = {}): Buffer {
    const options = { cwd: this.path, env: { ...process.env, ...env } };
    return execFileSync(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  bytesOf(file: string): Buffer {
    return readFileSync(join(this.path, file));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export function isInstalled(program: string, ...words: string[]): boolean {
  return spawnSync(program, words).error === undefined;
}

export function readCredential(bytes: Buffer | string, password?: string) {
  const draft = readCredentialFile(Buffer.from(bytes), { source: 'host:/file', password });
  const components = [...draft.assets(new DraftRefs())].map(({ component }) => component);
  const names = components.map(({ name, cryptoProperties }) => `${cryptoProperties?.assetType} ${name}`);
  return { ...draft, components, names };
}

export function materialOf({ cryptoProperties }: CdxComponent = { type: '', name: '' }): Record<string, unknown> {
  return cryptoProperties?.relatedCryptoMaterialProperties ?? {};
}

export function keysIn(components: readonly CdxComponent[], type: string): CdxComponent[] {
  return components.filter((component) => materialOf(component)['type'] === type);
}

/** Returns the error code of a refusal, or `taken`. */
export function refusal(act: () => unknown): string {
  try {
    act();
    return 'taken';
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}
