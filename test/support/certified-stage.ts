import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority } from './authority.js';
import { certifiedKey } from './certified-keys.js';
import { portableExecutable } from './portable-executable.js';
import type { Service } from './service.js';
import { openStage, type Stage } from './stage.js';

/** A stage with a running service, a certificate authority, and certified keys named after their types. */
export interface CertifiedStage {
  readonly stage: Stage;
  readonly service: Service;
  readonly apiKey: string;
  readonly authority: Authority;
  /** Returns the path of a temporary file in the authority's directory. */
  at(name: string): string;
  close(): Promise<void>;
}

export async function openCertifiedStage(types: readonly string[], options = {}): Promise<CertifiedStage> {
  const stage = await openStage(options);
  const { apiKey } = await stage.seed();
  const service = await stage.start();
  const authority = new Authority();
  await Promise.all(types.map((type) => certifiedKey(service, apiKey, authority, { name: type, type })));
  return {
    stage,
    service,
    apiKey,
    authority,
    at: (name) => join(authority.directory, name),
    close: async () => {
      authority.remove();
      await stage.close();
    },
  };
}

/** Creates an unsigned Windows program that contains `text`. */
export function makeProgram(kind: string, file: string, text: string): void {
  rmSync(file, { force: true });
  if (kind === 'exe') writeFileSync(file, portableExecutable(text));
  else execFileSync('msibuild', [file, '-s', text, 'Example Ltd'], { stdio: 'pipe' });
}

/** Returns the output of `osslsigncode extract-data` for a file in base64. */
export function extractedData(file: string, hash: string): string {
  const out = `${file}.der`;
  rmSync(out, { force: true });
  execFileSync('osslsigncode', ['extract-data', '-h', hash, '-in', file, '-out', out], { stdio: 'pipe' });
  return readFileSync(out).toString('base64');
}
